// The encoder and decoder against LLVM 19, and LLVM 22 for halves of registers, which name what they accept.
#include "jit/rdna/encode/encoding.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "jit/rdna/encode/encoding_plan.h"
#include "jit/rdna/encode/pack.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/llvm_oracle.h"
#include "tests/jit/rdna/split_mix.h"

namespace riftjit::rdna {
namespace encoding_test {

using Words = test::InstructionWords;

constexpr Target kChips[] = {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201};
constexpr WaveSize kWaves[] = {WaveSize::wave32, WaveSize::wave64};

std::string hex(const Words& words) {
    std::string text;
    for (const uint32_t word : words) text += fmt::format("{:08X} ", word);
    return text;
}

// Field values that are often valid together: small, extreme or any.
class RandomFields {
public:
    explicit RandomFields(uint64_t seed) : random_(seed) {}

    uint32_t value(unsigned width) {
        const uint32_t mask = mask_of_width(width), any = static_cast<uint32_t>(random_());
        switch (random_() % 8) {
            case 0:
                return any & mask;
            case 1:
                return mask;
            case 2:
                return width == 9 ? 256 + (any & 255) : any & mask & 126;
            case 3:
                return width == 9 ? 128 + any % 81 : any & mask & 124;
            case 4:
                return width == 9 ? 240 + any % 16 : 124 & mask;
            case 5:
                return width == 9 ? 256 + (any & 127) : 125 & mask;
            default:
                return width == 9 ? 256 + (any & 63) : 0;
        }
    }
    uint64_t any() { return random_(); }

private:
    test::SplitMix random_;
};

// Words of this row in this form with random fields and, from a DPP or SDWA form on, what it needs.
Words random_words(RandomFields& random, Generation generation, const EncodingPlan& plan) {
    FieldValues values;
    const auto fill = [&](Layout layout) {
        for (const FieldPlace& place : layout_info(layout, generation).fields)
            values[place.field] = random.value(place.width);
    };
    fill(plan.base);
    if (plan.operand_count == 0) {
        values = {};
        values[Field::saddr] = null_register(generation).code;
    }
    values[Field::op] = plan.number;
    if (plan.slots[0].place == Place::exec && plan.slots[0].field == Field::vdst) values[Field::vdst] = Operand::kExec;
    if (plan.base == Layout::VOP3P && random.any() % 2 == 0)
        values[Field::op_sel_hi01] = 3, values[Field::op_sel_hi2] = 1;
    if (plan.base == Layout::MUBUF) values[Field::data_format] = kUntypedFormat;
    // Reserved or unused fields are mostly zero.
    for (const Field field :
         {Field::clamp, Field::omod, Field::neg, Field::abs, Field::op_sel, Field::tfe, Field::lds, Field::gds,
          Field::src2, Field::src1, Field::data1, Field::data0, Field::vdst, Field::offset_enable})
        if (random.any() % 2 == 0 && !(field == Field::vdst && values[field] == Operand::kExec)) values[field] = 0;
    if (plan.base == Layout::DS && random.any() % 2 == 0) values[Field::gds] = 1;
    if (plan.extra != Layout::none) {
        const Field masked[] = {Field::row_mask, Field::bank_mask};
        fill(plan.extra);
        for (const Field field : masked) values[field] = 15;
        values[Field::src0] = plan.extra == Layout::DPP16  ? kDpp16Follows
                              : plan.extra == Layout::DPP8 ? kDpp8Follows
                                                           : kSdwaFollows;
        for (const Field field : {Field::word_neg0, Field::word_neg1, Field::word_abs0, Field::word_abs1,
                                  Field::sign_extend0, Field::sign_extend1})
            if (random.any() % 2 == 0) values[field] = 0;
    }
    EncodedInstruction encoded;
    write_fields(layout_info(plan.base, generation), values, encoded);
    if (plan.extra != Layout::none) write_fields(layout_info(plan.extra, generation), values, encoded);
    Words words(encoded.span().begin(), encoded.span().end());
    words.push_back(static_cast<uint32_t>(random.any()));  // a literal, if one is called for
    return words;
}

struct Instance {
    Words words;
    Instruction instruction;
};

// Six valid instances of one row in one form, or as many as are found; for all tests of a process.
const std::vector<Instance>& instances(Target target, WaveSize wave, Opcode opcode, Encoding encoding) {
    static std::map<std::tuple<Target, WaveSize, Opcode, Encoding>, std::vector<Instance>> by_form;
    const auto [place, is_new] = by_form.try_emplace({target, wave, opcode, encoding});
    std::vector<Instance>& found = place->second;
    const EncodingPlan& plan = encoding_plan(generation(target), opcode, encoding);
    if (!is_new || !plan.exists || !has(target, opcode)) return found;
    RandomFields random(static_cast<uint64_t>(opcode) * 64 + static_cast<uint64_t>(encoding));
    for (size_t attempt = 0; attempt < 6000 && found.size() < 6; ++attempt) {
        Words words = random_words(random, generation(target), plan);
        const Decoded decoded = decode(target, wave, words);
        if (!decoded.ok || decoded.instruction.opcode != opcode || decoded.instruction.encoding != encoding) continue;
        words.resize(decoded.instruction.size / 4u);
        found.push_back({words, decoded.instruction});
    }
    return found;
}

// "v_add_f32" of "v_add_f32_e64_dpp v0, ...".
std::string mnemonic_of(std::string_view text) {
    std::string_view word = text.substr(0, text.find(' '));
    for (const std::string_view suffix : {"_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"})
        if (word.ends_with(suffix)) return std::string(word.substr(0, word.size() - suffix.size()));
    return std::string(word);
}

TEST(Encoding, HoldsForEveryRowAndFormAsLlvmReadsIt) {
    if (!test::LlvmOracle::is_present()) return lack_oracle("llvm-mc-19 and llvm-objdump-19");
    for (const Target target : kChips)
        for (const WaveSize wave : kWaves) {
            std::vector<Instance> all;
            for (const InstructionInfo& row : all_instructions()) {
                if (!has(target, row.opcode)) continue;
                size_t of_row = 0;
                for (unsigned encoding = 0; encoding < static_cast<unsigned>(Encoding::vopd); ++encoding) {
                    const auto form = static_cast<Encoding>(encoding);
                    const bool exists = encoding_plan(generation(target), row.opcode, form).exists;
                    const std::vector<Instance>& some = instances(target, wave, row.opcode, form);
                    EXPECT_TRUE(!exists || !some.empty())
                        << "no instance of " << row.name << " in form " << encoding << " on " << name(target);
                    of_row += some.size();
                    all.insert(all.end(), some.begin(), some.end());
                }
                EXPECT_NE(of_row, 0u) << row.name;
            }
            std::erase_if(
                all, [&](const Instance& instance) { return !test::LlvmOracles::judge(target, instance.instruction); });
            std::vector<Words> words;
            for (const Instance& instance : all) words.push_back(instance.words);
            const auto texts = test::LlvmOracles(target, wave).disassemble(words);
            size_t wrong = 0;
            for (size_t i = 0; i < all.size(); ++i) {
                const Instruction& instruction = all[i].instruction;
                const std::string expected(mnemonic(instruction.opcode, generation(target)));
                const bool same = texts[i] && mnemonic_of(*texts[i]) == mnemonic_of(expected);
                if (!same && wrong++ < 20)
                    ADD_FAILURE() << name(target) << " wave" << lanes(wave) << ": " << expected << ": "
                                  << hex(all[i].words) << "is " << texts[i].value_or("rejected");
            }
            EXPECT_EQ(wrong, 0u) << "of " << all.size();
        }
}

TEST(Encoding, GivesBackWhatWasDecoded) {
    for (const Target target : kChips)
        for (const WaveSize wave : kWaves)
            for (const InstructionInfo& row : all_instructions())
                for (unsigned form = 0; form < static_cast<unsigned>(Encoding::vopd); ++form)
                    for (const Instance& instance : instances(target, wave, row.opcode, static_cast<Encoding>(form))) {
                        const auto encoded = encode(target, wave, instance.instruction);
                        ASSERT_TRUE(encoded.has_value()) << encoded.error().message;
                        ASSERT_EQ(Words(encoded->span().begin(), encoded->span().end()), instance.words) << row.name;
                        const Decoded again = decode(target, wave, encoded->span());
                        ASSERT_TRUE(again.ok && again.instruction == instance.instruction) << row.name;
                    }
}

TEST(Encoding, RefusesRowsThatTheChipLacks) {
    for (const TargetInfo& chip : all_targets())
        for (const InstructionInfo& row : all_instructions()) {
            if (has(chip.target, row.opcode)) continue;
            Instruction instruction;
            instruction.opcode = row.opcode;
            const auto encoded = encode(chip.target, WaveSize::wave32, instruction);
            ASSERT_FALSE(encoded.has_value()) << row.name << " on " << chip.name;
            EXPECT_NE(encoded.error().message.find("no such instruction"), std::string::npos);
        }
}

}  // namespace encoding_test
}  // namespace riftjit::rdna
