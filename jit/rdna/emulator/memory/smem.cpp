// Scalar memory: loads, buffer loads, clocks, cache controls.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "jit/rdna/emulator/memory/buffer_resource.h"
#include "jit/rdna/emulator/memory/vmem.h"

namespace riftjit::rdna::emulator::memory {
namespace {

constexpr int kWholeWave = kNoLane;

// `in_range` bytes from `address`; the rest of the registers is 0.
void load(Issue& issue, MemoryEffect& effect, uint64_t address, unsigned in_range) {
    const MemoryShape& shape = issue.op.shape;
    // Whatever is smaller than a dword is aligned by itself; the hardware drops the low bits.
    const unsigned alignment = std::min<unsigned>(shape.bytes, 4);
    if (!issue.model.aligned(issue, kWholeWave, address, alignment)) address -= address % alignment;
    effect.lanes = issue.op.discards_result ? 0 : 1;
    for (unsigned d = 0; d < shape.dwords(); ++d) {
        const unsigned bytes = std::min<unsigned>(shape.bytes, 4);
        std::array<std::byte, 4> memory{}, undefined{};
        if (4 * d + bytes <= in_range) {
            const Place place = issue.model.locate(issue, kWholeWave, Space::global, address + 4 * d, bytes);
            issue.model.read(issue, kWholeWave, place, bytes, memory.data(),
                             effect.undefined == nullptr ? nullptr : undefined.data());
        }
        uint32_t value, unknown;
        std::memcpy(&value, memory.data(), sizeof value);
        std::memcpy(&unknown, undefined.data(), sizeof unknown);
        if (shape.sign_extend) {
            const unsigned shift = 32 - 8 * bytes;
            value = static_cast<uint32_t>(static_cast<int32_t>(value << shift) >> shift);
            unknown = static_cast<uint32_t>(static_cast<int32_t>(unknown << shift) >> shift);
        }
        if (issue.op.discards_result) continue;
        effect.values[d] = value;
        if (effect.undefined != nullptr) effect.undefined[d] = unknown;
    }
    issue.memory.counts.scalar_bytes_loaded += shape.bytes;
    const unsigned loaded = std::min<unsigned>(shape.bytes, in_range);
    if (issue.model.shape.counts_lines && loaded > 0) issue.model.touch(issue.memory, Touch::load, address, loaded);
}

}  // namespace

void run_scalar_load(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    const uint64_t address = op.saddr.read_pair(wave) + static_cast<uint64_t>(op.offset) + op.soffset.read(wave);
    load(issue, effect, address, op.shape.bytes);
    model.finish(issue, effect);
}

void run_scalar_buffer_load(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    const MemoryOp& op = *static_cast<const MemoryOp*>(data);
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, op);
    const BufferResource resource = buffer_resource(wave.scalars + op.resource, op.generation);
    if (resource.is_null())
        model.findings.report(
            FindingKind::out_of_bounds, wave, kWholeWave,
            fmt::format("the buffer resource in s[{}:{}] has no address", op.resource, op.resource + 3u));
    // The scalar unit knows plain buffers only: as many bytes as there are records of a stride.
    const uint64_t size = uint64_t{resource.records} * std::max(resource.stride, 1u);
    const uint64_t offset = static_cast<uint64_t>(op.offset) + op.soffset.read(wave);
    const uint64_t in_range = resource.is_null() || offset >= size ? 0 : size - offset;
    load(issue, effect, resource.base + offset, static_cast<unsigned>(std::min<uint64_t>(in_range, op.shape.bytes)));
    model.finish(issue, effect);
}

void run_clock(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect& effect) {
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, *static_cast<const MemoryOp*>(data));
    effect.lanes = 1;
    effect.values[0] = static_cast<uint32_t>(wave.cycle);
    effect.values[1] = static_cast<uint32_t>(wave.cycle >> 32);
    if (effect.undefined != nullptr) effect.undefined[0] = effect.undefined[1] = 0;
    model.finish(issue, effect);
}

void run_cache_control(MemorySystem& system, WaveState& wave, const void* data, MemoryEffect&) {
    MemoryModel& model = MemoryAccessor::model(system);
    Issue issue = model.begin(wave, *static_cast<const MemoryOp*>(data));
    model.invalidate(issue);
}

// Prefetches, which do nothing for an address that does not exist, and ds_nop.
void run_nothing(MemorySystem&, WaveState&, const void*, MemoryEffect&) {}

}  // namespace riftjit::rdna::emulator::memory
