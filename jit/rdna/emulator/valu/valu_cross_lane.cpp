#include "jit/rdna/emulator/valu/valu_cross_lane.h"

#include <algorithm>
#include <array>
#include <bit>

#include "jit/rdna/emulator/lanes/lanes_sources.h"
#include "jit/rdna/emulator/lanes/lanes_x86.h"
#include "jit/rdna/emulator/machine/executors.h"
#include "jit/rdna/emulator/machine/relative.h"

namespace riftjit::rdna::emulator {
namespace {

uint32_t word(const WaveState& wave, const ValuSource& source, unsigned lane) {
    return static_cast<uint32_t>(source.raw(wave, lane));
}

using Words = std::array<uint32_t, 64>;
Words words_of(const WaveState& wave, unsigned reg) {
    Words words;
    std::copy_n(wave.vgpr(reg), wave.lanes, words.begin());
    return words;
}
void write_lanes(WaveState& wave, unsigned reg, const uint32_t* words, uint64_t lanes) {
    constexpr unsigned kAtOnce = 32;
    static const auto move = lane_kernel(host_lane_isa(), Opcode::v_mov_b32, 0, kAtOnce);
    if (move) {
        for (unsigned first = 0; first < wave.lanes; first += kAtOnce)
            move->function(wave.vgpr(reg) + first, words + first, nullptr, nullptr, lanes >> first & 0xFFFFFFFF);
        return;
    }
    for (; lanes != 0; lanes &= lanes - 1) {
        const int lane = std::countr_zero(lanes);
        wave.vgpr(reg)[lane] = words[lane];
    }
}

void write_scalar(WaveState& wave, const CrossLaneOp& op, uint32_t value) {
    if (op.scalar != 0xFFFF) wave.scalars[op.scalar] = value;
}
void read_lane(WaveState& wave, const CrossLaneOp& op) {
    write_scalar(wave, op, word(wave, op.value, word(wave, op.selects[0], 0) & (wave.lanes - 1)));
}
void read_first_lane(WaveState& wave, const CrossLaneOp& op) {
    const uint64_t exec = wave.exec();
    const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
    write_scalar(wave, op, word(wave, op.value, lane));
}
void write_lane(WaveState& wave, const CrossLaneOp& op) {
    wave.vgpr(op.vgpr)[word(wave, op.selects[0], 0) & (wave.lanes - 1)] = word(wave, op.value, 0);
}

// Lanes whose source is inactive get nothing, or zero.
template <class SourceOf>
void write_permuted(WaveState& wave, const CrossLaneOp& op, Words& results, SourceOf source_of) {
    const uint64_t exec = wave.exec();
    uint64_t valid = ~uint64_t{0};
    if (!op.fetch_inactive && exec != wave.all_lanes())
        for (unsigned lane = 0; lane < wave.lanes; ++lane)
            if ((exec >> source_of(lane) & 1) == 0) results[lane] = 0, valid &= ~(uint64_t{1} << lane);
    write_lanes(wave, op.vgpr, results.data(), op.zero_invalid ? exec : exec & valid);
}
// `source_of` gives the lane that a lane reads. Every lane is read before any is written.
template <class SourceOf>
void permute(WaveState& wave, const CrossLaneOp& op, SourceOf source_of) {
    const uint32_t* const before = wave.vgpr(op.value.index);
    Words results;
    for (unsigned lane = 0; lane < wave.lanes; ++lane) results[lane] = before[source_of(lane)];
    write_permuted(wave, op, results, source_of);
}

// The row of the source: a lane's own, or its neighbour (rows 0 and 1, 2 and 3).
enum class Rows : uint8_t { same, exchanged };
template <Rows R>
unsigned in_row(unsigned lane, unsigned select) {
    const unsigned row = lane / kRowLanes ^ (R == Rows::exchanged ? 1u : 0u);
    return row * kRowLanes + select;
}
template <Rows R>
void permute_row(WaveState& wave, const CrossLaneOp& op) {
    static const auto permute_row = lane_source_functions(host_lane_isa()).permute_row;
    const uint32_t low = word(wave, op.selects[0], 0), high = word(wave, op.selects[1], 0);
    const uint64_t nibbles = low | static_cast<uint64_t>(high) << 32;
    Words results;
    for (unsigned first = 0; first < wave.lanes; first += kRowLanes)
        permute_row(&results[first], wave.vgpr(op.value.index) + in_row<R>(first, 0), low, high);
    write_permuted(wave, op, results, [&](unsigned lane) {
        return in_row<R>(lane, static_cast<unsigned>(nibbles >> 4 * (lane % kRowLanes) & 15));
    });
}
template <Rows R>
void permute_row_variable(WaveState& wave, const CrossLaneOp& op) {
    const uint32_t* const selects = wave.vgpr(op.selects[0].index);
    permute(wave, op, [&](unsigned lane) { return in_row<R>(lane, selects[lane] & 15); });
}
// The halves of a wave64; nothing happens in wave32.
void permute_64(WaveState& wave, const CrossLaneOp& op) {
    if (wave.lanes == 32) return;
    CrossLaneOp fetching = op;
    fetching.fetch_inactive = true;
    permute(wave, fetching, [](unsigned lane) { return lane ^ 32u; });
}

void exchange(WaveState& wave, unsigned a, unsigned b) {
    const Words before = words_of(wave, a);
    write_lanes(wave, a, wave.vgpr(b), wave.exec());
    write_lanes(wave, b, before.data(), wave.exec());
}
void swap(WaveState& wave, const CrossLaneOp& op) { exchange(wave, op.vgpr, op.second_vgpr); }

// The register at a distance, or a report.
constexpr unsigned kOutside = ~0u;
unsigned indexed(WaveState& wave, unsigned first, uint32_t distance) {
    const uint64_t index = uint64_t{first} + distance;
    const unsigned limit = std::min(wave.vgpr_count, kVgprsNameable);
    if (index < limit) return static_cast<unsigned>(index);
    wave.findings->report(
        FindingKind::register_index, wave, kNoLane,
        fmt::format("v{} + {} of m0 lies beyond the {} registers of the wave", first, distance, limit));
    return kOutside;
}

void copy(WaveState& wave, unsigned to, const ValuSource& from) {
    if (from.kind == SourceKind::vgpr) return write_lanes(wave, to, wave.vgpr(from.index), wave.exec());
    Words words;
    words.fill(word(wave, from, 0));
    write_lanes(wave, to, words.data(), wave.exec());
}
template <Opcode kOpcode>
void move_relative(WaveState& wave, const CrossLaneOp& op) {
    if (wave.exec() == 0) return;
    const Distances by = distances(kOpcode, wave.m0());
    const unsigned to = indexed(wave, op.vgpr, by.written);
    if (to == kOutside) return;
    ValuSource from = op.value;
    if (from.kind == SourceKind::vgpr) {
        const unsigned index = indexed(wave, from.index, by.read);
        if (index == kOutside) return;
        from.index = static_cast<uint16_t>(index);
    }
    copy(wave, to, from);
}
void swap_relative(WaveState& wave, const CrossLaneOp& op) {
    if (wave.exec() == 0) return;
    const Distances by = distances(Opcode::v_swaprel_b32, wave.m0());
    const unsigned a = indexed(wave, op.vgpr, by.written);
    const unsigned b = a == kOutside ? kOutside : indexed(wave, op.second_vgpr, by.read);
    if (b != kOutside) exchange(wave, a, b);
}

struct CrossLaneRow {
    Opcode opcode;
    void (*run)(WaveState& wave, const CrossLaneOp& op);
    uint8_t selects;  // sources after the value that choose lanes
};
constexpr CrossLaneRow kCrossLaneRows[] = {
    {Opcode::v_readlane_b32, read_lane, 1},
    {Opcode::v_readfirstlane_b32, read_first_lane, 0},
    {Opcode::v_writelane_b32, write_lane, 1},
    {Opcode::v_permlane16_b32, permute_row<Rows::same>, 2},
    {Opcode::v_permlanex16_b32, permute_row<Rows::exchanged>, 2},
    {Opcode::v_permlane16_var_b32, permute_row_variable<Rows::same>, 1},
    {Opcode::v_permlanex16_var_b32, permute_row_variable<Rows::exchanged>, 1},
    {Opcode::v_permlane64_b32, permute_64, 0},
    {Opcode::v_swap_b32, swap, 0},
    {Opcode::v_swaprel_b32, swap_relative, 0},
    {Opcode::v_movreld_b32, move_relative<Opcode::v_movreld_b32>, 0},
    {Opcode::v_movrels_b32, move_relative<Opcode::v_movrels_b32>, 0},
    {Opcode::v_movrelsd_b32, move_relative<Opcode::v_movrelsd_b32>, 0},
    {Opcode::v_movrelsd_2_b32, move_relative<Opcode::v_movrelsd_2_b32>, 0},
};
const CrossLaneRow* find(Opcode opcode) {
    const auto* found = std::ranges::find(kCrossLaneRows, opcode, &CrossLaneRow::opcode);
    return found == std::end(kCrossLaneRows) ? nullptr : found;
}

ValuSource locate(const Operand& operand, uint32_t literal) {
    ValuSource source;
    if (operand.is_vgpr()) {
        source.kind = SourceKind::vgpr;
        source.index = static_cast<uint16_t>(operand.vgpr());
    } else if (operand.is_scalar_register()) {
        source.kind = SourceKind::scalar;
        source.index = operand.code;
    } else if (operand.is_inline_constant() || operand.is_literal()) {
        source.kind = SourceKind::constant;
        source.constant = constant_bits(operand, literal, OperandType::i32, LiteralSign::zero_extended);
    } else {
        source.kind = SourceKind::aperture;
        source.index = operand.code;
    }
    return source;
}

}  // namespace

bool is_cross_lane(Opcode opcode) { return find(opcode) != nullptr; }

Result<CrossLaneOp> prepare_cross_lane(const Instruction& instruction, Generation generation) {
    const CrossLaneRow* row = find(instruction.opcode);
    const InstructionInfo& described = info(instruction.opcode);
    check(row != nullptr, "prepare_cross_lane is given one of its instructions");
    if (instruction.encoding != Encoding::native && instruction.encoding != Encoding::e64)
        return fail(ErrorKind::Unsupported, "{}: DPP and SDWA of a register chosen by m0 are not implemented",
                    described.name);
    CrossLaneOp op{row->run};
    op.fetch_inactive = (instruction.op_sel & 1) != 0;
    op.zero_invalid = (instruction.op_sel & 2) != 0;
    // movreld, movrelsd: no destination in the table, since m0 chooses it; the first operand is where it starts.
    const unsigned value = described.destinations == 0 ? 1 : described.destinations;
    const Operand& destination = instruction.operands[0];
    if (destination.is_vgpr())
        op.vgpr = static_cast<uint16_t>(destination.vgpr());
    else if (destination != null_register(generation))
        op.scalar = destination.code;
    // A swap's operands: two destinations, then the same registers as sources.
    if (described.destinations == 2) op.second_vgpr = static_cast<uint16_t>(instruction.operands[1].vgpr());
    op.value = locate(instruction.operands[value], instruction.literal);
    for (unsigned i = 0; i < row->selects; ++i)
        op.selects[i] = locate(instruction.operands[value + 1 + i], instruction.literal);
    return op;
}

}  // namespace riftjit::rdna::emulator
