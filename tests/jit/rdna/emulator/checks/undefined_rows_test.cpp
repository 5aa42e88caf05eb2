// Undefined bits against the vector ALU itself, over every row and form of the table: an instruction is executed with
// one operand's undefined bits filled in several ways, and whatever differs between these runs must have been followed
// as undefined. What no operand left undefined must not be.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/machine/relative.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"
#include "tests/jit/rdna/emulator/valu/valu_wave.h"
#include "tests/jit/rdna/encode/random_instruction.h"
#include "tests/jit/rdna/split_mix.h"

namespace riftjit::rdna::emulator {
namespace undefined_rows_test {

constexpr unsigned kLanes = 32, kWords = kVgprsNameable * kLanes, kFillings = 8, kInstructionsOfAForm = 2, kDuals = 200,
                   kMost = 30;           // more where lanes off and the like have hidden a source
constexpr unsigned kFirstDefined = 124;  // m0, null and exec

// All registers.
struct Registers {
    std::array<uint32_t, kWords> lanes{};
    std::array<uint32_t, kScalarRegisters> scalars{};

    std::span<uint32_t> words(const OperandRange& range) {
        if (range.scalar) return std::span(scalars).subspan(range.first, range.count);
        return std::span(lanes).subspan(range.first * kLanes, range.count * kLanes);
    }
    bool operator==(const Registers&) const = default;
};
// Calls f(range of one register) for each.
template <class F>
void for_each_register(const RegisterSet& set, F f) {
    for (uint16_t v = 0; v < kVgprsNameable; ++v)
        if (set.has_vgpr(v)) f(OperandRange{false, v, 1});
    for (uint16_t code = 0; code < kScalarRegisters; ++code)
        if (set.has_scalar(code)) f(OperandRange{true, code, 1});
}
class Wave {
public:
    explicit Wave(Target target) : target_(target), wave_(target) {
        undefined_.resize(kWords);
        wave_.state.vgpr_undefined = undefined_.data();
        wave_.state.tracking = &tracking_;
    }

    bool take(const Instruction& instruction) {
        const auto call = wave_.unit.prepare(instruction);
        if (!call) return false;
        call_ = *call;
        checks_ = make_checks(instruction, target_, WaveSize::wave32);
        wave_.op.instruction = instruction;
        wave_.op.checks = &checks_;
        return true;
    }
    // What it writes, now that its registers are set.
    RegisterSet writes() const {
        if (info(wave_.op.instruction.opcode).relative)
            return relative_ranges(wave_.state, wave_.op.instruction).writes();
        return checks_.footprint.writes;
    }
    const RegisterSet& reads() const { return checks_.footprint.reads; }

    std::span<uint32_t> words(const OperandRange& range) {
        if (range.scalar) return std::span(wave_.state.scalars).subspan(range.first, range.count);
        return {wave_.state.vgpr(range.first), range.count * size_t{kLanes}};
    }
    void set(const Registers& registers) {
        std::ranges::copy(registers.lanes, wave_.state.vgprs);
        std::ranges::copy(registers.scalars, wave_.state.scalars);
    }
    Registers get() const {
        Registers registers;
        std::copy_n(wave_.state.vgprs, kWords, registers.lanes.begin());
        std::ranges::copy(wave_.state.scalars, registers.scalars.begin());
        return registers;
    }
    // What becomes undefined if these bits of those registers are. False: a finding says so instead.
    bool follow(const OperandRange& range, uint32_t bits, Registers& undefined) {
        std::ranges::fill(undefined_, 0);
        std::ranges::fill(wave_.state.undefined_lanes, 0);
        std::ranges::fill(wave_.state.scalar_undefined, 0);
        tracking_.undefined = {};
        std::array<uint32_t, kLanes> words;
        words.fill(bits);
        for (unsigned r = range.first; r < range.first + unsigned{range.count}; ++r)
            if (range.scalar)
                mark_scalar(wave_.state, r, bits);
            else
                mark_lanes(wave_.state, r, wave_.state.all_lanes(), ~0u, words.data());
        const uint64_t before = wave_.findings.reported();
        spread_valu(wave_.state, wave_.op);
        std::ranges::copy(undefined_, undefined.lanes.begin());
        std::ranges::copy(wave_.state.scalar_undefined, undefined.scalars.begin());
        return wave_.findings.reported() == before;
    }
    void execute() { call_.run(wave_.state, call_.data); }

private:
    Target target_;
    TestWave wave_;
    WaveTracking tracking_;
    std::vector<uint32_t> undefined_;
    ValuCall call_;
    OpChecks checks_;
};

class Experiments {
public:
    Experiments(Target target, uint32_t seed) : target_(target), wave_(target), random_(seed) {}

    // Of a row and the number of a source: whether what the row writes ever has an undefined bit, all of that source
    // being undefined.
    std::map<std::pair<std::string_view, unsigned>, bool> heeded;

    bool heeds(const InstructionInfo& row) const {
        return std::ranges::none_of(
            heeded, [&](const auto& source) { return source.first.first == row.name && !source.second; });
    }

    void run(const Instruction& instruction) {
        if (!wave_.take(instruction)) return;
        SCOPED_TRACE(print(target_, WaveSize::wave32, instruction));
        const bool is_dual = instruction.encoding == Encoding::vopd;
        const InstructionInfo& row = info(instruction.opcode);
        fill_registers(row);
        if (is_dual) {
            for (const VopdHalf& half : instruction.dual) run_dual(half);
            return;
        }
        if (row.destinations > 0 && !row.operands[0].reads)
            fresh_destination(range_of(instruction.destination(), row.operands[0].size(WaveSize::wave32)));
        for (unsigned i = 0; i < row.sources; ++i) undefined_source(row, i, source_range(row, instruction, i));
    }

private:
    // Whole numbers, numbers about 1 of both widths, and any bits.
    uint32_t value() {
        const uint32_t bits = static_cast<uint32_t>(random_());
        switch (random_() % 4) {
            case 0:
                return bits % 8;
            case 1:
                return (bits & 0x80FFFFFF) | 0x3F000000;
            case 2:
                return (bits & 0x83FF83FF) | 0x3C003800;
            default:
                return bits;
        }
    }
    void fill_registers(const InstructionInfo& row) {
        for (uint32_t& word : base_.lanes) word = value();
        for (uint32_t& word : base_.scalars) word = value();
        base_.scalars[null_register(generation(target_)).code] = 0;
        if (row.reads_m0) base_.scalars[m0_register(generation(target_)).code] = random_() % 2;
        const bool some_lanes_off = row.name.find("mma") == std::string_view::npos && random_() % 2;
        base_.scalars[Operand::kExec] = some_lanes_off ? static_cast<uint32_t>(random_()) | 1 : ~0u;
    }

    static OperandRange source_range(const InstructionInfo& row, const Instruction& instruction, unsigned i) {
        const OperandInfo& described = row.source_operands()[i];
        Operand operand = instruction.source(i);
        if (!operand.exists() && described.type == OperandType::mask) operand = {Operand::kVcc};
        return range_of(operand, described.size(WaveSize::wave32));
    }

    void fill(const OperandRange& range, uint32_t bits, unsigned filling) {
        for (uint32_t& word : wave_.words(range)) {
            const uint32_t with = filling == 0 ? 0 : filling == 1 ? ~0u : value();
            word = (word & ~bits) | (with & bits);
        }
    }
    // Which bits differ between runs with different `bits` in the range; after one of them, nothing else than what the
    // instruction writes differs from before.
    void vary(const OperandRange& range, uint32_t bits) {
        varying_ = {};
        RegisterSet touched = wave_.writes();
        add(touched, range);
        for (unsigned filling = 0; filling < kFillings; ++filling) {
            fill(range, bits, filling);
            wave_.execute();
            for_each_register(touched, [&](const OperandRange& one) {
                const std::span<uint32_t> after = wave_.words(one), first = first_.words(one);
                if (filling == 0) std::ranges::copy(after, first.begin());
                const std::span<uint32_t> varying = varying_.words(one);
                for (size_t i = 0; i < after.size(); ++i) varying[i] |= after[i] ^ first[i];
                std::ranges::copy(base_.words(one), after.begin());
            });
        }
        EXPECT_TRUE(wave_.get() == base_) << "writes what is not among the registers that it is said to write";
    }

    // Nothing is undefined but what stood in the destination: it stays so exactly where the instruction writes nothing.
    void fresh_destination(const OperandRange& range) {
        if (range.count == 0 || range.scalar || reads(range)) return;
        wave_.set(base_);
        wave_.follow(range, ~0u, undefined_);
        vary(range, ~0u);
        expect_equal_lanes();
    }
    void run_dual(const VopdHalf& half) {
        const InstructionInfo& row = info(half.opcode);
        if (!info(half.opcode).operands[0].reads) fresh_destination(range_of(half.operands[0], 1));
        for (unsigned i = 1; i < half.operands.size(); ++i) undefined_source(row, i - 1, range_of(half.operands[i], 1));
    }
    bool reads(const OperandRange& range) const {
        RegisterSet set;
        set.add_vgprs(range.first, range.count);
        return set.meets(wave_.reads());
    }
    void expect_equal_lanes() {
        for (size_t i = 0; i < kWords; ++i)
            if (undefined_.lanes[i] != varying_.lanes[i]) {
                ADD_FAILURE() << fmt::format("v{} lane {}: undefined {:#x}, kept {:#x}", i / kLanes, i % kLanes,
                                             undefined_.lanes[i], varying_.lanes[i]);
                return;
            }
    }

    void undefined_source(const InstructionInfo& row, unsigned source, const OperandRange& range) {
        const bool may_be = !range.scalar || range.first + unsigned{range.count} <= kFirstDefined;
        if (range.count == 0 || !may_be) return;
        for (const uint32_t bits : {~0u, 0xFFFFu, 0xFFFF0000u, 0xFFu, 0xFF0000u}) {
            wave_.set(base_);
            const RegisterSet result = wave_.writes();
            const bool is_silent = wave_.follow(range, bits, undefined_);
            vary(range, bits);
            if (is_silent) expect_followed();
            if (bits == ~0u) heeded[{row.name, source}] |= !is_silent || is_marked(result);
        }
    }
    void expect_followed() {
        for (size_t i = 0; i < kWords; ++i)
            if (const uint32_t missed = varying_.lanes[i] & ~undefined_.lanes[i]) {
                ADD_FAILURE() << fmt::format("v{} lane {}: {:#x} varies", i / kLanes, i % kLanes, missed);
                return;
            }
        for (unsigned code = 0; code < kScalarRegisters; ++code)
            if (const uint32_t missed = varying_.scalars[code] & ~undefined_.scalars[code]) {
                ADD_FAILURE() << fmt::format("{}: {:#x} varies", scalar_name(code), missed);
                return;
            }
    }
    bool is_marked(const RegisterSet& writes) const {
        for (unsigned v = 0; v < kVgprsNameable; ++v)
            for (unsigned lane = 0; lane < kLanes && writes.has_vgpr(v); ++lane)
                if (undefined_.lanes[v * kLanes + lane]) return true;
        for (unsigned code = 0; code < kScalarRegisters; ++code)
            if (writes.has_scalar(code) && undefined_.scalars[code]) return true;
        return false;
    }

    Target target_;
    Wave wave_;
    test::SplitMix random_;
    Registers base_, first_, undefined_, varying_;
};

class UndefinedRows : public testing::TestWithParam<Target> {};

// Sources that may be undefined altogether and leave no trace in what the row writes.
const std::set<std::pair<std::string_view, unsigned>> kWithoutTrace = {
    {"v_permlane64_b32", 0},  // does nothing in a wave of 32 lanes
};

TEST_P(UndefinedRows, FollowWhateverAnUndefinedOperandChanges) {
    RandomInstructions random(GetParam(), WaveSize::wave32, 11);
    Experiments experiments(GetParam(), 12);
    for (const InstructionInfo* row : random.rows()) {
        if (row->format < Format::VOP1 || row->format > Format::VOP3P) continue;
        for (const Encoding form : random.forms(*row))
            for (unsigned i = 0; i < kInstructionsOfAForm || (i < kMost && !experiments.heeds(*row)); ++i)
                if (const auto instruction = random.next(*row, form)) experiments.run(*instruction);
    }
    for (const auto& [source, is_heeded] : experiments.heeded)
        EXPECT_EQ(is_heeded, !kWithoutTrace.contains(source)) << source.first << ", source " << source.second;
}

TEST_P(UndefinedRows, FollowBothHalvesOfADualInstruction) {
    if (generation(GetParam()) == Generation::gfx10) GTEST_SKIP() << "gfx10 has none";
    RandomInstructions random(GetParam(), WaveSize::wave32, 13);
    Experiments experiments(GetParam(), 14);
    for (unsigned made = 0; made < kDuals;) {
        const Instruction instruction = random.next();
        if (instruction.encoding != Encoding::vopd) continue;
        experiments.run(instruction);
        ++made;
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, UndefinedRows, testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1201),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace undefined_rows_test
}  // namespace riftjit::rdna::emulator
