#include "jit/rdna/emulator/memory/vmem.h"

#include <algorithm>
#include <cstring>

namespace riftjit::rdna::emulator::memory {
namespace {

uint32_t dword_at(const std::byte* bytes, unsigned dword) {
    uint32_t value;
    std::memcpy(&value, bytes + size_t{4} * dword, sizeof value);
    return value;
}

uint32_t replaced_bits(RegisterPart part) {
    return part == RegisterPart::whole ? ~0u : part == RegisterPart::low_half ? 0xFFFFu : 0xFFFF0000u;
}

// A byte or short as the register gets it.
uint32_t extended(const MemoryShape& shape, uint32_t value) {
    if (shape.sign_extend) {
        const unsigned shift = 32 - 8 * shape.bytes;
        value = static_cast<uint32_t>(static_cast<int32_t>(value << shift) >> shift);
    }
    return shape.part == RegisterPart::high_half ? value << 16 : value;
}

void put_dword(MemoryEffect& effect, size_t at, uint32_t value, uint32_t undefined) {
    effect.values[at] = (effect.values[at] & ~effect.bits) | (value & effect.bits);
    if (effect.undefined != nullptr)
        effect.undefined[at] = (effect.undefined[at] & ~effect.bits) | (undefined & effect.bits);
}

// Where the parts of a lane's element lie: whole unless the lanes' dwords are interleaved or a range ends within.
struct Parts {
    unsigned bytes, step, in_range;
    unsigned count(unsigned done) const { return step == 4 ? bytes - done : std::min(4u, bytes - done); }
};

Parts parts_of(const MemoryOp& op, const LaneTargets& targets, int lane) {
    const unsigned bytes = op.shape.bytes;
    return {bytes, targets.dword_step,
            targets.checks_range ? std::min<unsigned>(bytes, targets.bytes_in_range[lane]) : bytes};
}

void load_lane(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, int lane, unsigned element) {
    MemoryModel& model = issue.model;
    const MemoryShape& shape = issue.op.shape;
    std::array<std::byte, kMaxPieceBytes> bytes{};
    UndefinedBits undefined{};
    std::byte* unknown = effect.undefined == nullptr ? nullptr : undefined.data();
    const Parts parts = parts_of(issue.op, targets, lane);
    const uint64_t address = targets.address[lane] + issue.op.element_offset[element];
    for (unsigned done = 0; done < parts.in_range;) {
        const unsigned count = std::min(parts.count(done), parts.in_range - done);
        const Place place =
            model.locate(issue, lane, targets.space[lane], address + uint64_t{done} / 4 * parts.step, count);
        model.read(issue, lane, place, count, bytes.data() + done, unknown == nullptr ? nullptr : unknown + done);
        done += count;
    }
    const unsigned lanes = issue.wave.lanes, first = element * shape.dwords();
    for (unsigned d = 0; d < shape.dwords(); ++d)
        put_part(effect, (first + d) * lanes + static_cast<unsigned>(lane), shape, dword_at(bytes.data(), d),
                 dword_at(undefined.data(), d));
}

void store_lane(Issue& issue, const LaneTargets& targets, int lane, unsigned element) {
    MemoryModel& model = issue.model;
    const WaveState& wave = issue.wave;
    const MemoryShape& shape = issue.op.shape;
    std::array<std::byte, kMaxPieceBytes> bytes{};
    UndefinedBits undefined{};
    const unsigned source = issue.op.data[element];
    const unsigned shift = shape.part == RegisterPart::high_half ? 16 : 0;
    for (unsigned d = 0; d < shape.dwords(); ++d) {
        const unsigned at = (source + d) * wave.lanes + static_cast<unsigned>(lane);
        const uint32_t value = wave.vgprs[at] >> shift;
        std::memcpy(bytes.data() + size_t{4} * d, &value, sizeof value);
        if (wave.vgpr_undefined == nullptr) continue;
        const uint32_t not_known = wave.vgpr_undefined[at] >> shift;
        std::memcpy(undefined.data() + size_t{4} * d, &not_known, sizeof not_known);
    }
    const std::byte* unknown = wave.vgpr_undefined == nullptr ? nullptr : undefined.data();
    const Parts parts = parts_of(issue.op, targets, lane);
    const uint64_t address = targets.address[lane] + issue.op.element_offset[element];
    for (unsigned done = 0; done < parts.in_range;) {
        const unsigned count = std::min(parts.count(done), parts.in_range - done);
        const Place place =
            model.locate(issue, lane, targets.space[lane], address + uint64_t{done} / 4 * parts.step, count);
        model.write(issue, lane, place, count, bytes.data() + done, unknown == nullptr ? nullptr : unknown + done);
        done += count;
    }
}

uint64_t lane_mask(int first, unsigned lanes) {
    return (lanes == kMaxLanes ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1) << first;
}

// A lane that reads what the one before it has read without a finding gets the same and leaves the same behind.
void load_same(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, int first, unsigned lanes,
               unsigned element) {
    const uint64_t reported = issue.model.findings.reported();
    load_lane(issue, effect, targets, first, element);
    const bool repeat = issue.model.findings.reported() != reported;
    const unsigned dwords = issue.op.shape.dwords();
    for (unsigned i = 1; i < lanes; ++i) {
        if (repeat) {
            load_lane(issue, effect, targets, first + static_cast<int>(i), element);
            continue;
        }
        for (unsigned d = 0; d < dwords; ++d) {
            const unsigned from = (element * dwords + d) * issue.wave.lanes + static_cast<unsigned>(first);
            put_dword(effect, from + i, effect.values[from], effect.undefined == nullptr ? 0 : effect.undefined[from]);
        }
    }
}

void load_lanes(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, unsigned element) {
    const bool by_runs = goes_by_runs(issue, targets);
    if (by_runs && !targets.consecutive && load_all_lanes(issue, effect, targets, element)) return;
    for (uint64_t left = targets.active; left != 0;) {
        const int lane = std::countr_zero(left);
        unsigned lanes = by_runs ? consecutive_lanes(issue.op, targets, lane) : 1;
        if (lanes == 1 || !load_run(issue, effect, targets, lane, lanes, element)) {
            lanes = by_runs ? lanes_that_read_the_same(targets, lane) : 1;
            load_same(issue, effect, targets, lane, lanes, element);
        }
        left &= ~lane_mask(lane, lanes);
    }
}

void store_lanes(Issue& issue, const LaneTargets& targets, unsigned element) {
    const bool by_runs = goes_by_runs(issue, targets);
    if (by_runs && !targets.consecutive && store_all_lanes(issue, targets, element)) return;
    for (uint64_t left = targets.active; left != 0;) {
        const int lane = std::countr_zero(left);
        unsigned lanes = by_runs ? consecutive_lanes(issue.op, targets, lane) : 1;
        if (lanes == 1 || !store_run(issue, targets, lane, lanes, element)) {
            store_lane(issue, targets, lane, element);
            lanes = 1;
        }
        left &= ~lane_mask(lane, lanes);
    }
}

uint64_t data_register(const WaveState& wave, unsigned first, int lane, unsigned dwords, uint32_t& undefined) {
    uint64_t value = wave.vgpr(first)[lane];
    if (dwords == 2) value |= static_cast<uint64_t>(wave.vgpr(first + 1)[lane]) << 32;
    if (wave.vgpr_undefined != nullptr)
        for (unsigned d = 0; d < dwords; ++d)
            undefined |= bytes_of_bits(wave.vgpr_undefined[(first + d) * wave.lanes + static_cast<unsigned>(lane)])
                         << 4 * d;
    return value;
}

void update_lane(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, int lane, unsigned element) {
    MemoryModel& model = issue.model;
    const MemoryOp& op = issue.op;
    const unsigned dwords = op.shape.dwords(), lanes = issue.wave.lanes;
    uint32_t undefined = 0;
    uint64_t first = data_register(issue.wave, op.data[element], lane, dwords, undefined), second = 0;
    if (op.shape.second_operand) {
        const bool adjacent = op.format != Format::DS;  // FLAT and MUBUF take both from one run of registers
        const unsigned at = adjacent ? op.data[0] + dwords : op.data[1];
        second = data_register(issue.wave, at, lane, dwords, undefined);
        if (op.shape.compare_first) std::swap(first, second);
    }
    if (targets.checks_range && targets.bytes_in_range[lane] < op.shape.bytes) {
        for (unsigned d = 0; op.returns && d < dwords; ++d)
            put_dword(effect, d * lanes + static_cast<unsigned>(lane), 0, 0);
        return;
    }
    uint64_t address = targets.address[lane] + op.element_offset[element];
    if (!model.aligned(issue, lane, address, op.shape.bytes)) address -= address % op.shape.bytes;
    const Place place = model.locate(issue, lane, targets.space[lane], address, op.shape.bytes);
    const uint64_t old =
        model.modify(issue, lane, place, static_cast<AtomicWidth>(op.shape.bytes), first, second, undefined);
    if (!op.returns) return;
    for (unsigned d = 0; d < dwords; ++d)
        put_dword(effect, (element * dwords + d) * lanes + static_cast<unsigned>(lane),
                  static_cast<uint32_t>(old >> 32 * d), bits_of_bytes(undefined >> 4 * d & 15));
}

uint64_t distinct_lines(const LaneTargets& targets, uint64_t mask, unsigned bytes) {
    std::array<uint64_t, 2 * kMaxLanes> lines;
    size_t count = 0;
    for_each_lane(mask, [&](int lane) {
        const uint64_t last = (targets.address[lane] + bytes - 1) / kCacheLineBytes;
        for (uint64_t line = targets.address[lane] / kCacheLineBytes; line <= last; ++line) {
            if (count > 0 && lines[count - 1] == line) continue;
            if (std::find(lines.begin(), lines.begin() + count, line) == lines.begin() + count) lines[count++] = line;
        }
    });
    return count;
}

// AlignmentMode::natural: 12 bytes count as 16.
void check_alignment(Issue& issue, const LaneTargets& targets, unsigned element) {
    const unsigned alignment = std::bit_ceil<unsigned>(issue.op.shape.bytes);
    for_each_lane(targets.active, [&](int lane) {
        issue.model.aligned(issue, lane, targets.address[lane] + issue.op.element_offset[element], alignment);
    });
}

}  // namespace

void put_part(MemoryEffect& effect, size_t at, const MemoryShape& shape, uint32_t value, uint32_t undefined) {
    if (shape.bytes >= 4) return put_dword(effect, at, value, undefined);
    put_dword(effect, at, extended(shape, value), extended(shape, undefined));
}

void perform(Issue& issue, MemoryEffect& effect, const LaneTargets& targets, unsigned element) {
    if (targets.active == 0) return;
    if (issue.model.configuration.alignment == AlignmentMode::natural && issue.op.shape.action != MemoryAction::atomic)
        check_alignment(issue, targets, element);
    switch (issue.op.shape.action) {
        case MemoryAction::load:
            effect.bits = replaced_bits(issue.op.shape.part);
            effect.lanes = targets.active;
            load_lanes(issue, effect, targets, element);
            return;
        case MemoryAction::store:
            store_lanes(issue, targets, element);
            return;
        default:
            if (issue.op.returns) effect.lanes = targets.active;
            for_each_lane(targets.active, [&](int lane) { update_lane(issue, effect, targets, lane, element); });
    }
}

namespace {

bool loads(const MemoryOp& op) { return op.shape.action == MemoryAction::load || op.returns; }
bool stores(const MemoryOp& op) { return op.shape.action != MemoryAction::load; }

// In LDS there is then no conflict.
void count_consecutive(Counts& counts, const MemoryOp& op, const LaneTargets& targets, unsigned lanes) {
    const uint64_t bytes = uint64_t{lanes} * op.shape.bytes, first = targets.address[0];
    const bool global = targets.space[0] == Space::global;
    if (loads(op)) (global ? counts.global_bytes_loaded : counts.lds_bytes_loaded) += bytes;
    if (stores(op)) (global ? counts.global_bytes_stored : counts.lds_bytes_stored) += bytes;
    if (global) counts.cache_lines += (first + bytes - 1) / kCacheLineBytes - first / kCacheLineBytes + 1;
}

void touch_lines(Issue& issue, const LaneTargets& targets) {
    const MemoryOp& op = issue.op;
    const Touch how = !stores(op) ? Touch::load : op.shape.action == MemoryAction::store ? Touch::store : Touch::update;
    for_each_lane(targets.active, [&](int lane) {
        if (targets.space[lane] != Space::global) return;
        const Parts parts = parts_of(op, targets, lane);
        for (unsigned element = 0; element < op.shape.elements; ++element) {
            const uint64_t address = targets.address[lane] + op.element_offset[element];
            for (unsigned done = 0; done < parts.in_range;) {
                const unsigned count = std::min(parts.count(done), parts.in_range - done);
                issue.model.touch(issue.memory, how, address + uint64_t{done} / 4 * parts.step, count);
                done += count;
            }
        }
    });
}

}  // namespace

void count_access(Issue& issue, const LaneTargets& targets) {
    const MemoryOp& op = issue.op;
    Counts& counts = issue.memory.counts;
    if (targets.active == 0) return;
    if (issue.model.shape.counts_lines) touch_lines(issue, targets);
    if (targets.consecutive && op.shape.elements == 1 && targets.space[0] != Space::scratch &&
        (targets.space[0] == Space::global || targets.address[0] % 4 == 0)) {
        return count_consecutive(counts, op, targets, issue.wave.lanes);
    }
    std::array<uint64_t, 3> masks{};  // by Space
    for_each_lane(targets.active, [&](int lane) {
        if (!targets.checks_range || targets.bytes_in_range[lane] > 0)
            masks[static_cast<size_t>(targets.space[lane])] |= uint64_t{1} << lane;
    });
    const auto add = [&](Space space, uint64_t& loaded, uint64_t& stored) {
        const uint64_t bytes = static_cast<uint64_t>(std::popcount(masks[static_cast<size_t>(space)])) *
                               op.shape.bytes * op.shape.elements;
        if (loads(op)) loaded += bytes;
        if (stores(op)) stored += bytes;
    };
    add(Space::global, counts.global_bytes_loaded, counts.global_bytes_stored);
    add(Space::lds, counts.lds_bytes_loaded, counts.lds_bytes_stored);
    add(Space::scratch, counts.scratch_bytes_loaded, counts.scratch_bytes_stored);
    counts.cache_lines += distinct_lines(targets, masks[static_cast<size_t>(Space::global)], op.shape.bytes);
    if (masks[static_cast<size_t>(Space::lds)] != 0)
        for (unsigned element = 0; element < op.shape.elements; ++element) {
            LdsLanes lds{masks[static_cast<size_t>(Space::lds)], op.shape.bytes, {}};
            for_each_lane(lds.active, [&](int lane) {
                lds.address[lane] = static_cast<uint32_t>(targets.address[lane]) + op.element_offset[element];
            });
            counts.lds_bank_conflicts += bank_conflicts(lds, issue.wave.lanes);
        }
}

}  // namespace riftjit::rdna::emulator::memory
