// Random encodings of the whole table against LLVM 19, and LLVM 22 where halves of registers are spelled: our text of
// the bytes is LLVM's, and reading it gives the bytes.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/encode/random_instruction.h"
#include "tests/jit/rdna/llvm_oracle.h"
#include "tests/jit/rdna/long_checks.h"

namespace riftjit::rdna {
namespace text_random_test {

using test::InstructionWords;
using test::LlvmOracle;
using test::LlvmOracles;

size_t random_count() { return test::asked_count("RIFTJIT_RANDOM_ENCODINGS", 20000); }

InstructionWords words_of(const EncodedInstruction& encoded) {
    return {encoded.words.begin(), encoded.words.begin() + encoded.count};
}

bool same_in_text_and_bytes_otherwise(uint16_t simm16, Opcode opcode, Generation generation) {
    const auto fields = [&](uint16_t mask) { return (simm16 & ~mask) == 0; };
    switch (opcode) {
        case Opcode::s_delay_alu:  // fields beyond their names are spelled as comments; bits 11 to 15 not at all
            return fields(0x7FF) && (simm16 & 15) < 12 && (simm16 >> 4 & 7) < 6 && (simm16 >> 7 & 15) < 12;
        case Opcode::s_waitcnt:  // the bits between the counters
            return generation == Generation::gfx10 ? fields(0xFF7F) : fields(0xFFF7);
        case Opcode::s_sendmsg:
        case Opcode::s_sendmsghalt:  // a known message is named whatever the bits above it hold
            return generation == Generation::gfx10 ? fields(0x37F) : fields(0xFF);
        default:
            return true;
    }
}

// Both halves, through one port: src0, vsrc1, or src2, which is fmac's destination and stands as vsrc1 in fmamk.
bool read_one_register(const std::array<VopdHalf, 2>& halves) {
    const auto& x = halves[0].operands;
    const auto& y = halves[1].operands;
    const auto is_one = [](Operand a, Operand b) { return a.is_vgpr() && a == b; };
    return is_one(x[1], y[1]) || is_one(x[2], y[2]) || is_one(x[0], y[2]) || is_one(x[2], y[0]);
}

// Why several encodings have this instruction's text, or why llvm-mc cannot read its own; empty if neither is so.
std::string why_not_unique(Target target, const Instruction& made) {
    const InstructionInfo& row = info(made.opcode);
    const Generation gen = generation(target);
    if (made.encoding == Encoding::vopd) {
        bool has_mask = false, names_vcc = false;
        for (const VopdHalf& half : made.dual) {
            has_mask |= half.opcode == Opcode::v_cndmask_b32;
            names_vcc |= half.operands[1].code == Operand::kVcc;
        }
        if (gen == Generation::gfx12 && read_one_register(made.dual))
            return "one register for both halves, which llvm-mc reads from 2026 on";
        return has_mask && names_vcc ? "vcc as a mask and as a source, which llvm-mc counts twice" : "";
    }
    if (!same_in_text_and_bytes_otherwise(made.simm16, made.opcode, gen))
        return "bits of the immediate that the text leaves out";
    if (made.opcode == Opcode::ds_swizzle_b32 && (made.address.offset & 0x8000) == 0) {
        const int and_mask = made.address.offset & 31, or_mask = made.address.offset >> 5 & 31,
                  xor_mask = made.address.offset >> 10 & 31;
        if ((and_mask & or_mask) != 0 || (or_mask & xor_mask) != 0 || (xor_mask & ~and_mask) != 0)
            return "masks of a swizzle that mean the same";
    }
    if (row.memory == MemoryKind::atomic && made.address.cache.temporal_hint >= 5 &&
        (made.address.cache.temporal_hint & 1) != 0)
        return "a cascading atomic that returns: the hint's name hides the bit";
    if (row.format == Format::MUBUF && row.memory == MemoryKind::store && made.address.tfe)
        return "tfe of a store, which llvm-mc does not read";
    for (unsigned i = 0; i < row.sources; ++i) {
        const Operand source = made.source(i);
        const OperandType type = row.operands[row.destinations + i].type;
        if (source.is_literal() && type == OperandType::f64 && ((made.neg | made.abs) >> i & 1) != 0)
            return "a sign or bars around a literal of 64 bits, which llvm-mc does not read";
        const bool names_16_bits = spells_halves(gen, made) && names_half(gen, row, row.destinations + i);
        const bool is_half =
            type == OperandType::f16 || type == OperandType::bf16 || type == OperandType::i16 || names_16_bits;
        constexpr uint16_t kInverseTwoPi = 248;
        if (names_16_bits && made.opcode == Opcode::v_ldexp_f16 && i == 1 && source.code == kInverseTwoPi)
            return "a float as an exponent, which LLVM 22 prints as a constant and reads as a literal";
        if (source.is_literal() && is_half && made.literal > 0xFFFF) return "a literal of 32 bits where 16 are read";
        if (source.is_literal() && (made.opcode == Opcode::v_readlane_b32 || made.opcode == Opcode::v_writelane_b32))
            return "a literal as a lane, which llvm-mc does not read";
    }
    const CachePolicy& cache = made.address.cache;
    const bool is_atomic = row.memory == MemoryKind::atomic;
    const bool is_numeric = is_atomic ? cache.temporal_hint >= 4 && cache.scope < 2
                                      : row.memory != MemoryKind::store && cache.temporal_hint == 7;
    if (is_numeric || (is_atomic && cache.temporal_hint == 3 && cache.scope == 3))
        return "a temporal hint that llvm-mc prints and does not read";
    if (row.destinations + row.sources == 0 && row.format == Format::VOP1)
        return "v_nop and its kin: both forms have one text";
    if (row.name.starts_with("s_waitcnt_") && row.format == Format::SOPK && made.operands[0] != null_register(gen))
        return "llvm-mc reads no register but null";
    if (made.opcode == Opcode::v_cndmask_b32 && gen == Generation::gfx12 && made.encoding == Encoding::dpp16 &&
        (made.abs & 2) != 0)
        return "LLVM 19 misplaces the closing bar";
    return "";
}

struct Sample {
    Instruction instruction;
    std::string text;
    InstructionWords words;
};

void check(Target target, WaveSize wave, std::vector<Sample> samples) {
    std::erase_if(samples, [&](const Sample& sample) { return !LlvmOracles::judge(target, sample.instruction); });
    const LlvmOracles llvm(target, wave);
    std::vector<InstructionWords> words;
    std::vector<std::string> lines;
    for (const Sample& sample : samples) words.push_back(sample.words), lines.push_back(sample.text);
    const auto texts = llvm.disassemble(words);
    const std::vector<std::optional<InstructionWords>> assembled = llvm.assemble(lines);
    std::map<std::string, size_t> reasons;
    size_t shown = 0;
    for (size_t i = 0; i < samples.size() && shown < 20; ++i) {
        const Sample& sample = samples[i];

        const std::string reason = why_not_unique(target, sample.instruction);
        const bool is_misprint = reason == "LLVM 19 misplaces the closing bar";
        if (!is_misprint && texts[i] != sample.text) {
            ADD_FAILURE() << name(target) << ": ours  " << sample.text << "\n         llvm  "
                          << texts[i].value_or("rejected") << "\n         " << testing::PrintToString(sample.words);
            ++shown;
        }
        if (!reason.empty()) {
            ++reasons[reason];
            continue;
        }
        if (assembled[i] != sample.words) {
            ADD_FAILURE() << name(target) << ": llvm-mc reads " << sample.text << " as "
                          << testing::PrintToString(assembled[i].value_or(InstructionWords{}));
            ++shown;
        }
        const Result<Parsed> parsed = parse(target, wave, sample.text);
        const Result<EncodedInstruction> encoded = parsed ? encode(target, wave, parsed->instruction)
                                                          : Result<EncodedInstruction>(std::unexpected(parsed.error()));
        if (!encoded || words_of(*encoded) != sample.words) {
            ADD_FAILURE() << name(target) << ": we read " << sample.text << " as "
                          << (encoded ? testing::PrintToString(words_of(*encoded)) : encoded.error().message)
                          << ", not " << testing::PrintToString(sample.words);
            ++shown;
        }
    }
    for (const auto& [reason, count] : reasons)
        std::printf("    %zu of %zu not compared: %s\n", count, samples.size(), reason.c_str());
}

std::optional<Sample> sample_of(Target target, WaveSize wave, const Instruction& made) {
    const Result<EncodedInstruction> encoded = encode(target, wave, made);
    if (!encoded) return std::nullopt;
    const Decoded decoded = decode(target, wave, encoded->span());
    if (!decoded.ok) {
        ADD_FAILURE() << name(target) << ": decode refuses what encode wrote for " << print(target, wave, made);
        return std::nullopt;
    }
    return Sample{decoded.instruction, print(target, wave, decoded.instruction), words_of(*encoded)};
}

void check_random(Target target, WaveSize wave, size_t count, uint32_t seed) {
    RandomInstructions random(target, wave, seed);
    std::vector<Sample> samples;
    while (samples.size() < count)
        if (auto sample = sample_of(target, wave, random.next())) samples.push_back(std::move(*sample));
    check(target, wave, samples);
}

class RandomText : public testing::TestWithParam<Target> {
protected:
    void SetUp() override {
        if (!LlvmOracle::is_present()) return lack_oracle("llvm-mc-19");
    }
};

TEST_P(RandomText, EqualsThatOfLlvmInWave32) {
    check_random(GetParam(), WaveSize::wave32, random_count(), test::asked_seed(7));
}
TEST_P(RandomText, EqualsThatOfLlvmInWave64) {
    check_random(GetParam(), WaveSize::wave64, random_count() / 4, test::asked_seed(11));
}

INSTANTIATE_TEST_SUITE_P(Generations, RandomText,
                         testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1200),
                         [](const auto& info) { return std::string(name(info.param)); });

class RowText : public RandomText {};

TEST_P(RowText, EqualsThatOfLlvmForEachRowAndForm) {
    RandomInstructions random(GetParam(), WaveSize::wave32, 3);
    std::vector<Sample> samples;
    for (const InstructionInfo* row : random.rows()) {
        for (const Encoding form : random.forms(*row)) {
            const std::optional<Instruction> made = random.next(*row, form);
            EXPECT_TRUE(made.has_value()) << row->name << ": no instruction of form " << static_cast<int>(form);
            if (!made) continue;
            if (auto sample = sample_of(GetParam(), WaveSize::wave32, *made)) samples.push_back(std::move(*sample));
        }
    }
    check(GetParam(), WaveSize::wave32, samples);
}

std::vector<Target> every_target() {
    std::vector<Target> targets;
    for (const TargetInfo& target : all_targets())  // gfx1153 is younger than LLVM 19
        if (target.target != Target::gfx1153) targets.push_back(target.target);
    return targets;
}
INSTANTIATE_TEST_SUITE_P(Targets, RowText, testing::ValuesIn(every_target()),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace text_random_test
}  // namespace riftjit::rdna
