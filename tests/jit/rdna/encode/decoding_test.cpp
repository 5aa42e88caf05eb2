// Random words: the decoder accepts nothing that LLVM rejects, and whatever it rejects though LLVM accepts it has a
// reason that holds against LLVM's own assembler.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/table/formats.h"
#include "jit/rdna/text/text.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/encode/random_instruction.h"
#include "tests/jit/rdna/llvm_oracle.h"
#include "tests/jit/rdna/long_checks.h"

namespace riftjit::rdna {
namespace decoding_test {

using test::InstructionWords;
using test::LlvmOracle;
using test::LlvmVersion;

constexpr Target kChips[] = {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201};

// How many random words a chip and wave size get.
size_t word_count() { return test::asked_count("RIFTJIT_RDNA_WORDS", 10000); }

// Half of them start as some format does and some name a DPP or SDWA word, or most would be no instruction.
InstructionWords any_words(std::mt19937_64& random) {
    static constexpr uint32_t kPrefixes[] = {0x80000000, 0xB0000000, 0xBE800000, 0xBF000000, 0xBF800000,
                                             0xF4000000, 0x7E000000, 0x00000000, 0x7C000000, 0xD4000000,
                                             0xCC000000, 0xC8000000, 0xD8000000, 0xDC000000, 0xEC000000,
                                             0xED000000, 0xEE000000, 0xE0000000, 0xC4000000};
    InstructionWords words(kMaxInstructionWords);
    for (uint32_t& word : words) word = static_cast<uint32_t>(random() & (random() % 3 == 0 ? random() : ~0ull));
    if (random() % 4 != 0) words[0] = (words[0] & 0x07FFFFFF) | kPrefixes[random() % std::size(kPrefixes)];
    if (random() % 4 == 0) words[0] = (words[0] & ~0x1FFu) | (random() % 2 == 0 ? kDpp16Follows : kSdwaFollows);
    // LLVM 19 crashes where SDWA selects by the seventh value, which means nothing.
    for (const unsigned low : {8, 16, 24})
        if ((words[0] & 0x1FF) == kSdwaFollows && (words[1] >> low & 7) == 7) words[1] ^= 1u << low;
    return words;
}

std::string hex(const InstructionWords& words) {
    std::string text;
    for (const uint32_t word : words) text += fmt::format("{:08X} ", word);
    return text;
}

// Rows that LLVM has and the table leaves out: what interpolates for pixels, gfx11's loads into LDS, which its manual
// does not have, and LLVM's name for a zero word. table_coverage_test.cpp compares all numbers.
bool is_left_out(std::string_view text) {
    for (const std::string_view start : {"v_interp_", "buffer_load_lds_", "v_illegal"})
        if (text.starts_with(start)) return true;
    return false;
}

// Operands that LLVM's assembler takes too and the table leaves out.
std::string operand_left_out(const Decoded& refused) {
    const Refusal& refusal = refused.refusal;
    const std::string_view why = refusal.why, part = refusal.part == nullptr ? "" : refusal.part;
    if (why.find("left out") != std::string_view::npos) return std::string(why);
    const Format format = info(refused.instruction.opcode).format;
    if ((format == Format::MUBUF || format == Format::SMEM) && part == "offset")
        return "a negative offset into a buffer, which LLVM 22 refuses too";
    if (refusal.kind == DecodeError::form && refused.instruction.opcode == Opcode::v_pk_fmac_f16)
        return "v_pk_fmac_f16 with a DPP word, which LLVM 19 alone has from gfx11 on";
    const InstructionInfo& row = info(refused.instruction.opcode);
    const auto is_odd_mask = [&](unsigned operand) {
        const Operand given = refused.instruction.operands[operand];
        return row.operands[operand].type == OperandType::mask &&
               (!given.is_scalar_register() || given.code >= Operand::kExec);
    };
    if (refusal.operand >= 0 && is_odd_mask(static_cast<unsigned>(refusal.operand)))
        return "a value that is no SGPR, or exec, as a mask of lanes";
    switch (refused.instruction.opcode) {
        // Manuals give the signs of these words to floats; what they do to a pair of halves, or to ldexp's integer,
        // they do not say.
        case Opcode::v_dot2acc_f32_f16:
        case Opcode::v_pk_fmac_f16:
        case Opcode::v_ldexp_f16:
        case Opcode::v_mov_b16:
            return part == "neg" || part == "abs" || part == "sext"
                       ? "a sign in a DPP or SDWA word for a source that is no float"
                       : "";
        case Opcode::v_cvt_pk_u8_f32:  // LLVM spells the bit of a float's sign sext()
            return part == "neg" ? "a sign for a source that is no float" : "";
        case Opcode::v_readfirstlane_b32:
            return refusal.operand == 0 ? "a constant as a destination" : "";
        case Opcode::s_movrels_b32:
        case Opcode::s_movrels_b64:
            return refusal.operand == 1 ? "a value that is no SGPR as the one that m0 counts from" : "";
        default:
            return "";
    }
}

// A word that LLVM reads and the decoder refuses.
struct Refused {
    InstructionWords words;  // as many as LLVM reads
    Decoded ours;
    std::string theirs;
};

// Why it is right to refuse; empty where it is not. `assembled` is what llvm-mc makes of LLVM's own text.
std::string explanation(const Refused& refused, const std::optional<InstructionWords>& assembled) {
    switch (refused.ours.refusal.kind) {
        case DecodeError::family_left_out:
            return refused.ours.refusal.part;
        case DecodeError::unknown_opcode:
            return is_left_out(refused.theirs) ? "row left out" : "";
        case DecodeError::reserved_bits:
        case DecodeError::operand:
        case DecodeError::form:
            if (!assembled) return "llvm-mc refuses the text of these words";
            if (*assembled != refused.words) return "llvm-mc makes other words of the text";
            return operand_left_out(refused.ours);
        case DecodeError::no_format:
        case DecodeError::truncated:
            break;
    }
    return "";
}

class JudgedWords : public testing::TestWithParam<std::tuple<Target, WaveSize>> {
protected:
    void SetUp() override {
        if (!LlvmOracle::is_present()) return lack_oracle("llvm-mc-19 and llvm-objdump-19");
    }
    Target target() const { return std::get<0>(GetParam()); }
    WaveSize wave() const { return std::get<1>(GetParam()); }

    uint32_t seed() const {
        return test::asked_seed(static_cast<uint32_t>(target()) * 2 + (wave() == WaveSize::wave64));
    }

    // None of the samples may be accepted where LLVM does not, or refused where it does without a reason.
    void judge(std::vector<InstructionWords> samples) {
        sort(std::move(samples));
        judge_halves();
        std::vector<std::string> texts;
        for (const Refused& refused : refused_) texts.push_back(refused.theirs);
        const auto assembled = LlvmOracle(target(), wave()).assemble(texts);
        std::map<std::string, size_t> reasons;
        size_t unexplained = 0;
        for (size_t i = 0; i < refused_.size(); ++i) {
            const Refused& refused = refused_[i];
            const std::string why = explanation(refused, assembled[i]);
            ++reasons[fmt::format("{}: {}", name(refused.ours.refusal.kind), why)];
            if (why.empty() && unexplained++ < 20)
                ADD_FAILURE() << hex(refused.words) << "is " << refused.theirs
                              << "; we refuse it: " << reason(target(), wave(), refused.ours);
        }
        EXPECT_EQ(unexplained, 0u);
        fmt::print("accepted {}, rejected by LLVM too {}\n", accepted_, rejected_by_both_);
        for (const auto& [reason, count] : reasons) fmt::print("    {:6} {}\n", count, reason);
    }
    size_t accepted() const { return accepted_; }

private:
    // By who accepts them.
    void sort(std::vector<InstructionWords> samples) {
        const auto readings = LlvmOracle(target(), wave()).read(samples);
        for (size_t i = 0; i < samples.size(); ++i) {
            const Decoded ours = decode(target(), wave(), samples[i]);
            const size_t words = readings[i] ? readings[i]->words : 0;
            if (ours.ok) {
                ++accepted_;
                if (spells_halves(generation(target()), ours.instruction))
                    with_halves_.push_back(samples[i]);
                else
                    expect_size(samples[i], ours, words);
            } else if (readings[i]) {
                samples[i].resize(words);
                refused_.push_back({samples[i], ours, readings[i]->text});
            } else {
                ++rejected_by_both_;
            }
        }
    }

    static void expect_size(const InstructionWords& sample, const Decoded& ours, size_t theirs) {
        if (theirs == ours.instruction.size / 4u) return;
        ADD_FAILURE() << hex(sample) << "has " << ours.instruction.size / 4u << " words, says decode, " << theirs
                      << ", says LLVM";
    }

    // LLVM 22 loses the eighth bit of DPP8 selectors below 256, takes the constant of fmaak and fmamk for an inline
    // one's code (0xc4: -4), and writes lit() where the 16 bits that are read of a literal would do as an inline
    // constant.
    static bool tells_alike(const Instruction& instruction, std::string_view theirs) {
        if (is_dpp8(instruction.encoding) && instruction.dpp.selectors < 256) return false;
        const bool has_constant =
            instruction.opcode == Opcode::v_fmaak_f16 || instruction.opcode == Opcode::v_fmamk_f16;
        if (has_constant && instruction.literal < 256) return false;
        return theirs.find("lit(") == std::string_view::npos;
    }

    // The halves of registers that LLVM 19 cannot name.
    void judge_halves() {
        if (!may_ask(LlvmOracle::is_present(LlvmVersion::v22), "llvm-mc-22 and llvm-objdump-22")) return;
        const auto readings = LlvmOracle(target(), wave(), LlvmVersion::v22).read(with_halves_);
        for (size_t i = 0; i < with_halves_.size(); ++i) {
            const Decoded ours = decode(target(), wave(), with_halves_[i]);
            expect_size(with_halves_[i], ours, readings[i] ? readings[i]->words : 0);
            if (readings[i] && tells_alike(ours.instruction, readings[i]->text)) {
                EXPECT_EQ(print(target(), wave(), ours.instruction), readings[i]->text);
            }
        }
        fmt::print("halves of registers named: {}\n", with_halves_.size());
    }

    size_t accepted_ = 0, rejected_by_both_ = 0;
    std::vector<Refused> refused_;
    std::vector<InstructionWords> with_halves_;  // accepted
};

std::string chip_and_wave(const testing::TestParamInfo<std::tuple<Target, WaveSize>>& info) {
    return fmt::format("{}_wave{}", name(std::get<0>(info.param)), lanes(std::get<1>(info.param)));
}

class RandomWords : public JudgedWords {};

TEST_P(RandomWords, AreAcceptedOnlyWhereLlvmDoesAndRefusedWithAReason) {
    std::mt19937_64 random(seed());
    std::vector<InstructionWords> samples(word_count());
    for (InstructionWords& sample : samples) sample = any_words(random);
    judge(std::move(samples));
    EXPECT_GT(accepted(), word_count() / 10);
}

INSTANTIATE_TEST_SUITE_P(Chips, RandomWords,
                         testing::Combine(testing::ValuesIn(kChips),
                                          testing::Values(WaveSize::wave32, WaveSize::wave64)),
                         chip_and_wave);

// Where a format has the codes of sources: word and lowest bit; scalar formats give them eight bits, vector ones nine.
struct SourceFields {
    unsigned word, bits;
    std::vector<unsigned> first_bits;
};
SourceFields source_fields(const InstructionInfo& row, Encoding form) {
    switch (row.format) {
        case Format::SOP1:
            return {0, 8, {0}};
        case Format::SOP2:
        case Format::SOPC:
            return {0, 8, {0, 8}};
        case Format::VOP1:
        case Format::VOP2:
        case Format::VOPC:
            if (form == Encoding::native) return {0, 9, {0}};
            return {1, 9, {0, 9, 18}};
        case Format::VOP3:
        case Format::VOP3P:
            return {1, 9, {0, 9, 18}};
        default:
            return {0, 0, {}};
    }
}

class SpecialSources : public JudgedWords {};

TEST_P(SpecialSources, AreAcceptedOnlyWhereLlvmDoesAndRefusedWithAReason) {
    // null and m0, exec, an aperture, pops_exiting_wave_id, vccz, scc, lds_direct
    constexpr unsigned kCodes[] = {124, 125, 126, 235, 239, 251, 253, 254};
    RandomInstructions random(target(), wave(), seed());
    std::vector<InstructionWords> samples;
    for (const InstructionInfo* row : random.rows())
        for (const Encoding form : random.forms(*row)) {
            if (form != Encoding::native && form != Encoding::e64) continue;
            const auto made = random.next(*row, form);
            if (!made) continue;
            const EncodedInstruction encoded = *encode(target(), wave(), *made);
            const SourceFields fields = source_fields(*row, form);
            for (const unsigned bit : fields.first_bits)
                for (const unsigned code : kCodes) {
                    InstructionWords words(encoded.words.begin(), encoded.words.end());
                    const uint32_t mask = ((1u << fields.bits) - 1) << bit;
                    words[fields.word] = (words[fields.word] & ~mask) | code << bit;
                    samples.push_back(std::move(words));
                }
        }
    const size_t count = samples.size();
    judge(std::move(samples));
    EXPECT_GT(accepted(), count / 20);
}

INSTANTIATE_TEST_SUITE_P(Chips, SpecialSources,
                         testing::Combine(testing::ValuesIn(kChips),
                                          testing::Values(WaveSize::wave32, WaveSize::wave64)),
                         chip_and_wave);

std::string refusal(Target target, const InstructionWords& words) {
    const Decoded decoded = decode(target, WaveSize::wave32, words);
    return decoded.ok ? "accepted" : reason(target, WaveSize::wave32, decoded);
}

TEST(Decoding, SaysWhyItRefuses) {
    EXPECT_EQ(refusal(Target::gfx1030, {0xF800000F, 0}), "family left out: EXP");
    EXPECT_EQ(refusal(Target::gfx1201, {0xC42084F9, 0x04B48112, 0xCC0A5A04}), "family left out: MTBUF");
    EXPECT_EQ(refusal(Target::gfx1100, {0xFFFFFFFF}), "no format starts with 0xffffffff");
    EXPECT_EQ(refusal(Target::gfx1100, {0}), "unknown opcode: VOP2 0");
    EXPECT_EQ(refusal(Target::gfx1100, {0x7E0002FF}), "truncated");
    EXPECT_EQ(refusal(Target::gfx1100, {0xD5030000, 0x00040200}),
              "reserved bits: v_add_f32_e64: 0x00040000 of word 1");  // src2
    EXPECT_EQ(refusal(Target::gfx1100, {0xD503C000, 0x00000200}),
              "operand: v_add_f32_e64: op_sel names a source that does not take it");
    EXPECT_EQ(refusal(Target::gfx1030, {0x7E0002FB}),
              "operand: v_mov_b32_e32: source 0 (src_vccz) is a source that is left out");
    EXPECT_EQ(refusal(Target::gfx1030, {0x7ECC04FE}),
              "operand: v_readfirstlane_b32: source 0 (src_lds_direct) is a source that is left out");
    EXPECT_EQ(refusal(Target::gfx1030, {0xBE8020ED}), "accepted");  // s_setpc_b64 src_private_base
    EXPECT_EQ(refusal(Target::gfx1100, {0xBE810102}),
              "operand: s_mov_b64: destination (s[1:2]) is no aligned group of SGPRs of its size");
    EXPECT_EQ(refusal(Target::gfx1100, {0xC9000000, 0}),
              "operand: v_dual_add_f32 :: v_dual_fmac_f32: vsrc1 of both halves share a bank");
}

TEST(Decoding, SurvivesEveryTruncation) {
    std::mt19937_64 random(1);
    for (const Target target : kChips)
        for (size_t i = 0; i < 20000; ++i) {
            const InstructionWords words = any_words(random);
            const Decoded whole = decode(target, WaveSize::wave32, words);
            for (size_t length = 0; length < words.size(); ++length) {
                const Decoded cut = decode(target, WaveSize::wave32, std::span(words).first(length));
                if (whole.ok) {
                    ASSERT_EQ(cut.ok, length >= whole.instruction.size / 4u);
                }
            }
        }
}

}  // namespace decoding_test
}  // namespace riftjit::rdna
