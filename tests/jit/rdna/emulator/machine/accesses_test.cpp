// What the table says that an instruction reads and writes, against the software machine, which does not ask it: every
// vector and scalar row is executed on registers whose contents are exchanged, and what follows is compared.
#include "jit/rdna/table/accesses.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"
#include "tests/jit/rdna/emulator/valu/valu_wave.h"
#include "tests/jit/rdna/encode/random_instruction.h"

namespace riftjit::rdna::emulator {
namespace accesses_test {

// So many instructions of a form are executed, and more where lanes off and the like have hidden an operand.
constexpr unsigned kAtLeast = 2, kAtMost = 40, kOfAScalarRow = 24;
constexpr unsigned kVgprCodes = Operand::kFirstVgpr;

// All registers, by hardware code: one word of a scalar, `lanes` of a VGPR.
class RegisterFile {
public:
    explicit RegisterFile(unsigned lanes) : lanes_(lanes), words_(kVgprCodes + size_t{kVgprsNameable} * lanes) {}

    std::span<uint32_t> of(unsigned code) {
        if (code < kVgprCodes) return std::span(words_).subspan(code, 1);
        return std::span(words_).subspan(kVgprCodes + size_t{code - kVgprCodes} * lanes_, lanes_);
    }
    void take(RegisterFile& other, RegisterRange range) {
        for (unsigned code = range.first; code < range.first + unsigned{range.count}; ++code)
            std::ranges::copy(other.of(code), of(code).begin());
    }
    static constexpr unsigned end() { return kVgprCodes + kVgprsNameable; }

private:
    unsigned lanes_;
    std::vector<uint32_t> words_;
};

// Whole numbers, numbers about 1 of both widths, and any bits.
uint32_t random_value(std::mt19937& random) {
    const auto bits = static_cast<uint32_t>(random());
    switch (random() % 4) {
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

class Experiments {
public:
    Experiments(Target target, WaveSize size, uint32_t seed)
        : target_(target), size_(size), wave_(target, size), random_(seed), first_(lanes(size)), second_(lanes(size)) {
        for (RegisterFile* file : {&first_, &second_})
            for (unsigned code = 0; code < RegisterFile::end(); ++code)
                for (uint32_t& word : file->of(code)) word = random_value(random_);
        const unsigned null = null_register(generation(target)).code;
        first_.of(null)[0] = second_.of(null)[0] = 0;
    }

    void run(const Instruction& instruction, const std::function<void(WaveState&)>& execute) {
        SCOPED_TRACE(print(target_, size_, instruction));
        wave_.op.instruction = instruction;
        choose_lanes(info(instruction.opcode).wmma);
        const Accesses list = accesses(generation(target_), size_, instruction);
        RegisterFile after = result(first_, execute);
        expect_only_writes(list, first_, after);
        expect_no_other_input(instruction, list, after, execute);
        if (!reads_across_lanes(instruction)) expect_no_lane_that_is_off(list, after, execute);
        // A comparison of random numbers hardly ever depends on one of them.
        const InstructionInfo& row = info(instruction.opcode);
        const bool compares = row.format == Format::VOPC || (row.destinations == 0 && row.writes_scc);
        if (instruction.encoding != Encoding::vopd && !compares) note_uses(instruction, list, after, execute);
    }

    bool is_settled(const InstructionInfo& row) const {
        return std::ranges::none_of(used_,
                                    [&](const auto& entry) { return entry.first.first == row.name && !entry.second; });
    }
    void expect_every_use(const std::set<std::pair<std::string_view, std::string>>& exceptions) const {
        for (const auto& [what, is_used] : used_)
            EXPECT_TRUE(is_used || exceptions.contains(what)) << what.first << ": " << what.second;
    }

private:
    void choose_lanes(bool needs_all) {
        const bool some_off = !needs_all && random_() % 2 != 0;
        for (unsigned word = 0; word < lanes(size_) / 32; ++word) {
            first_.of(Operand::kExec + word)[0] = some_off ? static_cast<uint32_t>(random_()) | 1 : ~0u;
            second_.of(Operand::kExec + word)[0] = static_cast<uint32_t>(random_()) | 1;
        }
        first_.of(Operand::kScc)[0] = random_() % 2;
        second_.of(Operand::kScc)[0] = first_.of(Operand::kScc)[0] ^ 1;
    }

    RegisterFile result(RegisterFile before, const std::function<void(WaveState&)>& execute) {
        WaveState& wave = wave_.state;
        for (unsigned code = 0; code < kScalarRegisters; ++code) wave.scalars[code] = before.of(code)[0];
        wave.scc = before.of(Operand::kScc)[0];
        std::ranges::copy(std::span(before.of(kVgprCodes).data(), size_t{kVgprsNameable} * lanes(size_)), wave.vgprs);
        wave.mode = kDefaultMode;
        execute(wave);
        for (unsigned code = 0; code < kScalarRegisters; ++code) before.of(code)[0] = wave.scalars[code];
        before.of(Operand::kScc)[0] = wave.scc;
        std::copy_n(wave.vgprs, size_t{kVgprsNameable} * lanes(size_), before.of(kVgprCodes).data());
        return before;
    }

    static bool writes(const Accesses& list, unsigned code) {
        return std::ranges::any_of(list,
                                   [&](const Access& access) { return access.writes && access.range.contains(code); });
    }

    static void expect_only_writes(const Accesses& list, RegisterFile& before, RegisterFile& after) {
        for (unsigned code = 0; code < RegisterFile::end(); ++code)
            EXPECT_TRUE(writes(list, code) || std::ranges::equal(before.of(code), after.of(code)))
                << "register " << code << " is written";
    }

    // With all registers exchanged but those that are read, what is written comes out the same, and what stays the
    // same of a register that is written stays so only where the table says that a part is kept.
    void expect_no_other_input(const Instruction& instruction, const Accesses& list, RegisterFile& after,
                               const std::function<void(WaveState&)>& execute) {
        RegisterFile before = second_;
        for (const Access& access : list)
            if (access.reads) before.take(first_, access.range);
        RegisterFile other = result(before, execute);
        expect_only_writes(list, before, other);
        for (const Access& access : list) {
            if (!access.writes) continue;
            for (unsigned code = access.range.first; code < access.range.first + unsigned{access.range.count}; ++code)
                for (size_t i = 0; i < after.of(code).size(); ++i) {
                    const uint32_t differs = after.of(code)[i] ^ other.of(code)[i];
                    const uint32_t kept =
                        ~(after.of(code)[i] ^ first_.of(code)[i]) & ~(other.of(code)[i] ^ before.of(code)[i]);
                    EXPECT_EQ(differs & ~kept, 0u) << "register " << code << " depends on what is not read";
                    const bool is_off = code >= kVgprCodes && !is_active(static_cast<unsigned>(i));
                    if (access.keeps || is_off) continue;
                    EXPECT_EQ(differs & ~left_alone(instruction, code), 0u)
                        << "register " << code << " keeps what it is not said to keep";
                }
        }
    }
    // With the lanes that are off exchanged, those that are on come out the same.
    void expect_no_lane_that_is_off(const Accesses& list, RegisterFile& after,
                                    const std::function<void(WaveState&)>& execute) {
        RegisterFile before = first_;
        for (unsigned code = kVgprCodes; code < RegisterFile::end(); ++code)
            for (unsigned lane = 0; lane < lanes(size_); ++lane)
                if (!is_active(lane)) before.of(code)[lane] = second_.of(code)[lane];
        RegisterFile other = result(before, execute);
        for (unsigned code = 0; code < RegisterFile::end(); ++code) {
            if (!writes(list, code)) continue;
            for (unsigned lane = 0; lane < after.of(code).size(); ++lane)
                EXPECT_TRUE(after.of(code)[lane] == other.of(code)[lane] || (code >= kVgprCodes && !is_active(lane)))
                    << "register " << code << " depends on a lane that is off";
        }
    }
    bool is_active(unsigned lane) { return first_.of(Operand::kExec + lane / 32)[0] >> lane % 32 & 1; }

    // A lower half is written as if the upper one meant nothing, whatever the chip does with it: whoever needs both
    // names the upper half.
    static uint32_t left_alone(const Instruction& instruction, unsigned code) {
        if (code < kVgprCodes) return 0;
        const InstructionInfo& row = info(instruction.opcode);
        const bool is_half = (row.halves & 8) != 0 || (row.wmma && (row.modifiers[1].op_sel & 4) != 0);
        return is_half ? 0xFFFF0000 : 0;
    }

    // Each read makes a difference at some time, and each write is one.
    void note_uses(const Instruction& instruction, const Accesses& list, RegisterFile& after,
                   const std::function<void(WaveState&)>& execute) {
        const InstructionInfo& row = info(instruction.opcode);
        unsigned number = 0;
        for (const Access& access : list) {
            ++number;
            if (access.role == AccessRole::lane_enable) continue;
            const std::string name = access.slot == kNoSlot ? "implied " + std::to_string(access.range.first)
                                                            : "operand " + std::to_string(access.slot);
            if (access.writes) {
                bool& is_written = used_[{row.name, name + " written"}];
                for (unsigned code = access.range.first; code < access.range.first + unsigned{access.range.count};
                     ++code)
                    is_written |= !std::ranges::equal(first_.of(code), after.of(code));
            }
            if (!access.reads) continue;
            bool& is_read = used_[{row.name, name + " read"}];
            if (is_read) continue;
            RegisterFile before = first_;
            before.take(second_, access.range);
            RegisterFile other = result(before, execute);
            for (unsigned code = 0; code < RegisterFile::end(); ++code)
                if (writes(list, code)) is_read |= !std::ranges::equal(after.of(code), other.of(code));
        }
    }

    Target target_;
    WaveSize size_;
    TestWave wave_;
    std::mt19937 random_;
    RegisterFile first_, second_;
    std::map<std::pair<std::string_view, std::string>, bool> used_;
};

using Setting = std::pair<Target, WaveSize>;

class AccessesOfRows : public testing::TestWithParam<Setting> {};

TEST_P(AccessesOfRows, AreThoseOfTheVectorUnit) {
    const auto [target, size] = GetParam();
    RandomInstructions random(target, size, 21);
    Experiments experiments(target, size, 22);
    ValuUnit unit(target, size);
    const auto run = [&](const Instruction& instruction) {
        const auto call = unit.prepare(instruction);
        if (!call || info(instruction.opcode).relative) return;  // m0 chooses other registers
        if (instruction.opcode == Opcode::v_permlane64_b32 && size == WaveSize::wave32) return;  // does nothing
        experiments.run(instruction, [&](WaveState& wave) { call->run(wave, call->data); });
    };
    for (const InstructionInfo* row : random.rows()) {
        if (!is_valu(row->format)) continue;
        for (const Encoding form : random.forms(*row))
            for (unsigned i = 0; i < kAtLeast || (i < kAtMost && !experiments.is_settled(*row)); ++i)
                if (const auto instruction = random.next(*row, form)) run(*instruction);
    }
    const bool has_duals = generation(target) != Generation::gfx10 && size == WaveSize::wave32;
    for (unsigned i = 0; has_duals && i < 2000; ++i)
        if (const Instruction instruction = random.next(); instruction.encoding == Encoding::vopd) run(instruction);
    if (size == WaveSize::wave32)  // whose lanes are all below 32
        experiments.expect_every_use({{"v_mbcnt_hi_u32_b32", "operand 1 read"}});
    else
        experiments.expect_every_use({});
}

// Random instructions of the scalar rows, one behind the other.
LoadedObject scalar_instructions(Target target, WaveSize size) {
    RandomInstructions random(target, size, 23);
    Segment segment{.address = 4096, .access = SegmentAccess::read_execute, .bytes = {}};
    for (const InstructionInfo* row : random.rows()) {
        if (!is_salu(row->format) || row->relative) continue;
        for (unsigned i = 0; i < kOfAScalarRow; ++i) {
            const auto instruction = random.next(*row, Encoding::native);
            if (!instruction) continue;
            const auto encoded = encode(target, size, *instruction);
            const auto bytes = std::as_bytes(encoded->span());
            segment.bytes.insert(segment.bytes.end(), bytes.begin(), bytes.end());
        }
    }
    LoadedObject object{};
    object.target = target;
    object.text.push_back(segment.range());
    object.segments.push_back(std::move(segment));
    return object;
}

TEST_P(AccessesOfRows, AreThoseOfTheScalarUnit) {
    const auto [target, size] = GetParam();
    const LoadedObject object = scalar_instructions(target, size);
    const Program program(object, size);
    Experiments experiments(target, size, 24);
    unsigned executed = 0;
    for (uint64_t at = object.text[0].address; at < object.text[0].address + object.text[0].size; at += 4) {
        const Op* op = program.at(at);
        const bool has_mode =
            op && std::ranges::any_of(info(op->instruction.opcode).operands, [](const OperandInfo& o) {
                return o.type == OperandType::hwreg;  // a register of its own
            });
        if (!op || op->kind != OpKind::scalar || has_mode) continue;
        ++executed;
        experiments.run(op->instruction, [&](WaveState& wave) {
            wave.op = op;
            op->scalar(wave, *op);
        });
    }
    EXPECT_GT(executed, 2000u);
    // Trace data go nowhere.
    const std::string m0 = "implied " + std::to_string(m0_register(generation(target)).code) + " read";
    experiments.expect_every_use({{"s_ttracedata", m0}});
}

INSTANTIATE_TEST_SUITE_P(
    Targets, AccessesOfRows,
    testing::Values(Setting{Target::gfx1030, WaveSize::wave32}, Setting{Target::gfx1100, WaveSize::wave32},
                    Setting{Target::gfx1100, WaveSize::wave64}, Setting{Target::gfx1201, WaveSize::wave32}),
    [](const auto& info) {
        return std::string(name(info.param.first)) + "Wave" + std::to_string(lanes(info.param.second));
    });

}  // namespace accesses_test
}  // namespace riftjit::rdna::emulator
