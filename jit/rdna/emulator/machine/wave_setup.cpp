#include "jit/rdna/emulator/machine/wave_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "host/round_up.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr size_t kAlignment = 64;
constexpr unsigned kSpareVgprs = 32;  // so that no tuple can leave the array
constexpr unsigned kTtmp7 = 115, kTtmp9 = 117;

uint64_t mix(uint64_t x) {  // splitmix64
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

std::unique_ptr<uint32_t[], void (*)(void*)> allocate_words(size_t words) {
    const size_t bytes = round_up(words * sizeof(uint32_t), kAlignment);
    void* memory = std::aligned_alloc(kAlignment, bytes);
    if (!memory) throw std::bad_alloc();
    std::memset(memory, 0, bytes);
    return {static_cast<uint32_t*>(memory), &std::free};
}

// The descriptor rounds up; the metadata has the exact count.
uint32_t declared_vgprs(const LoadedKernel& kernel) {
    const uint32_t allocated = kernel.descriptor.vgprs(), exact = kernel.metadata.vgpr_count;
    return exact > 0 ? std::min<uint32_t>(allocated, exact) : allocated;
}

uint32_t mode_of(const KernelDescriptor& descriptor, Generation generation) {
    const FloatModes& modes = descriptor.float_modes;
    uint32_t mode = static_cast<uint32_t>(modes.round_f32) | static_cast<uint32_t>(modes.round_f16_f64) << 2 |
                    static_cast<uint32_t>(modes.denormals_f32) << kModeF32DenormalsShift |
                    static_cast<uint32_t>(modes.denormals_f16_f64) << kModeF16F64DenormalsShift;
    if (generation != Generation::gfx12)
        mode |= (descriptor.dx10_clamp ? 1u << 8 : 0) | (descriptor.ieee_mode ? 1u << 9 : 0);
    return mode | (descriptor.f16_overflow ? 1u << 23 : 0);
}

// Xorshift generators side by side (Marsaglia, "Xorshift RNGs", 2003), which the compiler turns into vector code.
struct Garbage {
    static constexpr size_t kStreams = 16;
    std::array<uint32_t, kStreams> streams;

    explicit Garbage(uint64_t seed) {
        for (uint32_t& stream : streams) stream = static_cast<uint32_t>(seed = mix(seed)) | 1;
    }
    void fill(uint32_t* words, size_t count) {          // a multiple of kStreams
        std::array<uint32_t, kStreams> next = streams;  // that `words` cannot be, as the compiler can tell
        for (size_t at = 0; at < count; at += kStreams) {
            for (uint32_t& word : next) word ^= word << 13;
            for (uint32_t& word : next) word ^= word >> 17;
            for (uint32_t& word : next) word ^= word << 5;
            std::copy(next.begin(), next.end(), words + at);
        }
        streams = next;
    }
};

void fill_with_garbage(Wave& wave, uint64_t seed) {
    WaveState& state = wave.state;
    Garbage garbage(seed ^ (uint64_t{state.group_number} << 20) ^ state.index);
    static_assert(kScalarRegisters % Garbage::kStreams == 0);
    garbage.fill(state.vgprs, size_t{state.vgpr_count} * state.lanes);
    garbage.fill(state.scalars, kScalarRegisters);
    state.scalars[null_register(state.generation).code] = 0;
    state.scc = garbage.streams[0] >> 7 & 1;
}

void mark_all_undefined(Wave& wave) {
    WaveState& state = wave.state;
    RegisterSet& undefined = wave.tracking.undefined;
    undefined = {};
    std::fill_n(state.vgpr_undefined, size_t{state.vgpr_count} * state.lanes, ~0u);
    std::fill_n(state.undefined_lanes, kVgprsNameable, uint64_t{0});
    std::fill_n(state.undefined_lanes, state.vgpr_count, state.all_lanes());
    undefined.add_vgprs(0, state.vgpr_count);
    const unsigned null = null_register(state.generation).code;
    std::fill_n(state.scalar_undefined, kScalarRegisters, 0u);
    std::fill_n(state.scalar_undefined, Operand::kExec, ~0u);
    state.scalar_undefined[null] = 0;
    undefined.add_scalars(0, Operand::kExec);
    undefined.remove_scalar(null);
    state.scc_undefined = 1;
}

void set_scalar(WaveState& state, unsigned code, uint32_t value) {
    state.scalars[code] = value;
    if (state.vgpr_undefined) mark_scalar(state, code, 0);
}

void set_scalar_pair(WaveState& state, unsigned code, uint64_t value) {
    set_scalar(state, code, static_cast<uint32_t>(value));
    set_scalar(state, code + 1, static_cast<uint32_t>(value >> 32));
}

}  // namespace

std::array<uint32_t, 3> LaunchContext::group_id(uint64_t number) const {
    const uint64_t row = number / grid.x;
    return {static_cast<uint32_t>(number % grid.x), static_cast<uint32_t>(row % grid.y),
            static_cast<uint32_t>(row / grid.y)};
}

void renew_wave(Wave& wave, const LaunchContext& launch) {
    if (wave.vgprs && wave.state.lanes != launch.lanes()) {
        wave.vgprs.reset();
        wave.undefined.reset();
        wave.vgprs_used = 0;
    }
    const uint32_t declared = declared_vgprs(*launch.kernel);
    if (wave.vgprs_used <= declared) return;
    const size_t first = size_t{declared} * launch.lanes(), count = size_t{wave.vgprs_used} * launch.lanes() - first;
    std::fill_n(wave.vgprs.get() + first, count, 0u);
    if (wave.undefined) std::fill_n(wave.undefined.get() + first, count, 0u);
    wave.vgprs_used = 0;
}

void prepare_wave(Wave& wave, const LaunchContext& launch, Group& group, uint32_t index) {
    WaveState& state = wave.state;
    const KernelDescriptor& descriptor = launch.kernel->descriptor;
    const KernelMetadata& metadata = launch.kernel->metadata;
    const size_t words = size_t{kVgprsNameable + kSpareVgprs} * launch.lanes();
    if (!wave.vgprs) {
        wave.vgprs = allocate_words(words);
        if (launch.checks.undefined) wave.undefined = allocate_words(words);
    }
    state.vgprs = wave.vgprs.get();
    state.vgpr_undefined = wave.undefined.get();
    state.lanes = launch.lanes();
    state.vgpr_count = declared_vgprs(*launch.kernel);
    wave.vgprs_used = std::max({wave.vgprs_used, state.vgpr_count, launch.vgpr_end});
    state.sgpr_count = metadata.sgpr_count > 0 ? std::min(metadata.sgpr_count, kNumberedSgprs) : kNumberedSgprs;
    state.target = launch.target;
    state.generation = generation(launch.target);
    state.mode = mode_of(descriptor, state.generation);
    state.op = state.next = launch.entry;
    state.index = index;
    state.group_number = group.number;
    state.group = &group;
    state.findings = launch.findings;
    state.tracking = launch.checks.any() ? &wave.tracking : nullptr;
    state.cycle = 0;
    if (state.tracking) {
        wave.tracking.checks = launch.checks;
        wave.tracking.lost_half = {};
        wave.tracking.waits.reset();
        wave.tracking.hazards.reset();
    }
    wave.status = Wave::Status::running;
    wave.joined_barrier = 0;
    wave.phases_signalled = wave.phases_waited = {};
}

namespace {

void initialise_user_sgprs(WaveState& state, const LaunchContext& launch, const MemorySystem& memory) {
    const KernelDescriptor& descriptor = launch.kernel->descriptor;
    const UserSgprLayout at = layout(descriptor.user_sgprs);
    if (at.private_segment_buffer) {
        const std::array<uint32_t, 4> resource = memory.scratch_resource(state);
        for (unsigned i = 0; i < 4; ++i) set_scalar(state, *at.private_segment_buffer + i, resource[i]);
    }
    if (at.dispatch_ptr) set_scalar_pair(state, *at.dispatch_ptr, launch.dispatch_packet_address);
    if (at.queue_ptr) set_scalar_pair(state, *at.queue_ptr, launch.queue_address);
    if (at.kernarg_ptr) set_scalar_pair(state, *at.kernarg_ptr, launch.kernarg_address);
    if (at.dispatch_id) set_scalar_pair(state, *at.dispatch_id, 1);
    if (at.flat_scratch_init) set_scalar_pair(state, *at.flat_scratch_init, memory.flat_scratch(state));
    if (at.private_segment_size) set_scalar(state, *at.private_segment_size, descriptor.scratch_bytes);
}

// After the user SGPRs: workgroup ids (gfx12: in ttmp9 and ttmp7), and on gfx10 the wave's scratch offset.
void initialise_system_sgprs(WaveState& state, const LaunchContext& launch) {
    const KernelDescriptor& descriptor = launch.kernel->descriptor;
    const std::array<uint32_t, 3>& id = state.group->id;
    unsigned next = descriptor.user_sgpr_count;
    if (state.generation == Generation::gfx12) {
        set_scalar(state, kTtmp9, id[0]);
        set_scalar(state, kTtmp7, (id[1] & 0xFFFF) | id[2] << 16);
    } else {
        if (descriptor.workgroup_ids.x) set_scalar(state, next++, id[0]);
        if (descriptor.workgroup_ids.y) set_scalar(state, next++, id[1]);
        if (descriptor.workgroup_ids.z) set_scalar(state, next++, id[2]);
    }
    if (descriptor.workgroup_info) set_scalar(state, next++, launch.waves_per_group());
    if (state.generation == Generation::gfx10 && descriptor.scratch_enabled) set_scalar(state, next++, 0);
}

void initialise_vgprs(WaveState& state, const LaunchContext& launch) {
    const uint64_t first = uint64_t{state.index} * state.lanes, items = launch.group.count();
    uint64_t exec = 0;
    const bool packed = state.generation != Generation::gfx10;
    const auto ids = static_cast<unsigned>(launch.kernel->descriptor.work_item_ids) + 1;
    const Dimensions& size = launch.group;
    auto x = static_cast<uint32_t>(first % size.x), y = static_cast<uint32_t>(first / size.x % size.y),
         z = static_cast<uint32_t>(first / size.x / size.y);
    for (unsigned lane = 0; lane < state.lanes && first + lane < items; ++lane) {
        exec |= uint64_t{1} << lane;
        // Packed or not, an id that the descriptor does not ask for is not given: compilers mask nothing off then.
        state.vgpr(0)[lane] = packed ? x | (ids > 1 ? y << 10 : 0) | (ids > 2 ? z << 20 : 0) : x;
        if (!packed && ids > 1) state.vgpr(1)[lane] = y;
        if (!packed && ids > 2) state.vgpr(2)[lane] = z;
        if (++x < size.x) continue;
        x = 0;
        if (++y < size.y) continue;
        y = 0;
        ++z;
    }
    state.scalars[Operand::kExec + 1] = 0;
    state.set_mask(Operand::kExec, exec);
    if (!state.vgpr_undefined) return;
    for (unsigned v = 0; v < (packed ? 1 : ids); ++v) mark_defined(state, v, exec);
}

}  // namespace

void initialise_registers(Wave& wave, const LaunchContext& launch, const MemorySystem& memory) {
    fill_with_garbage(wave, launch.seed);
    if (wave.state.vgpr_undefined) mark_all_undefined(wave);
    initialise_user_sgprs(wave.state, launch, memory);
    initialise_system_sgprs(wave.state, launch);
    initialise_vgprs(wave.state, launch);
}

namespace {

// gx etc. in groups; a remainder never occurs, since launches are made of whole groups.
uint64_t hidden_value(ValueKind kind, Dimensions grid, Dimensions group, uint32_t dynamic_lds, uint64_t queue) {
    switch (kind) {
        case ValueKind::hidden_block_count_x:
            return grid.x;
        case ValueKind::hidden_block_count_y:
            return grid.y;
        case ValueKind::hidden_block_count_z:
            return grid.z;
        case ValueKind::hidden_group_size_x:
            return group.x;
        case ValueKind::hidden_group_size_y:
            return group.y;
        case ValueKind::hidden_group_size_z:
            return group.z;
        case ValueKind::hidden_grid_dims:
            return grid.z * group.z > 1 ? 3 : grid.y * group.y > 1 ? 2 : 1;
        case ValueKind::hidden_dynamic_lds_size:
            return dynamic_lds;
        case ValueKind::hidden_queue_ptr:
            return queue;
        default:
            return 0;
    }
}

}  // namespace

Result<std::vector<std::byte>> build_arguments(const LoadedKernel& kernel, Dimensions grid, Dimensions group,
                                               std::span<const std::byte> explicit_arguments, uint32_t dynamic_lds,
                                               uint64_t queue_address) {
    const uint32_t size =
        kernel.descriptor.kernarg_bytes ? kernel.descriptor.kernarg_bytes : kernel.metadata.kernarg_bytes;
    std::vector<std::byte> bytes(size);
    if (explicit_arguments.size() > size)
        return fail(ErrorKind::Usage, "kernel {}: {} bytes of arguments are given, it takes {}", kernel.name,
                    explicit_arguments.size(), size);
    std::copy(explicit_arguments.begin(), explicit_arguments.end(), bytes.begin());
    for (const KernelArgument& argument : kernel.metadata.args) {
        if (!is_hidden(argument.value_kind)) continue;
        if (uint64_t{argument.offset} + argument.size > size)
            return fail(ErrorKind::Format, "kernel {}: the argument at {} lies beyond the segment's {} bytes",
                        kernel.name, argument.offset, size);
        const uint64_t value = hidden_value(argument.value_kind, grid, group, dynamic_lds, queue_address);
        std::memcpy(bytes.data() + argument.offset, &value, std::min<size_t>(argument.size, sizeof value));
    }
    return bytes;
}

std::vector<std::byte> dispatch_packet(const LoadedKernel& kernel, Dimensions grid, Dimensions group,
                                       uint64_t kernarg_address, uint32_t lds_bytes) {
    std::vector<std::byte> packet(64);
    const auto put = [&](size_t offset, auto value) { std::memcpy(packet.data() + offset, &value, sizeof value); };
    put(2, static_cast<uint16_t>(grid.z * group.z > 1 ? 3 : grid.y * group.y > 1 ? 2 : 1));
    put(4, static_cast<uint16_t>(group.x));
    put(6, static_cast<uint16_t>(group.y));
    put(8, static_cast<uint16_t>(group.z));
    put(12, grid.x * group.x);
    put(16, grid.y * group.y);
    put(20, grid.z * group.z);
    put(24, kernel.descriptor.scratch_bytes);
    put(28, lds_bytes);
    put(32, kernel.descriptor_address);
    put(40, kernarg_address);
    return packet;
}

}  // namespace riftjit::rdna::emulator
