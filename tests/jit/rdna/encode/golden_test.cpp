// tests/golden/rdna/<target>.txt: one line for each row of the table and each form of it, "words ; assembly" as
// LLVM pairs them (19, and 22 where halves of registers are named), checked both ways without LLVM. RIFTJIT_BLESS=1
// writes the files anew, with LLVM's text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"
#include "tests/host/oracle.h"
#include "tests/jit/rdna/encode/random_instruction.h"
#include "tests/jit/rdna/llvm_oracle.h"
#include "tests/jit/rdna/table/opcode_probes.h"

namespace riftjit::rdna {
namespace golden_test {

using test::InstructionWords;
using test::LlvmOracles;

constexpr WaveSize kWave = WaveSize::wave32;

struct Line {
    InstructionWords words;
    std::string text;
};

// What a line stands for: a row in one form, or one half of a VOPD pair.
struct Subject {
    Opcode opcode{};
    Encoding form{};
    uint8_t half = 0;
    auto operator<=>(const Subject&) const = default;
};

std::string text_of(const Subject& subject) {
    static constexpr std::string_view kForms[] = {"",      " e64",       " SDWA",     " DPP16",
                                                  " DPP8", " e64 DPP16", " e64 DPP8", " VOPD"};
    return fmt::format("{}{}{}", info(subject.opcode).name, kForms[static_cast<size_t>(subject.form)],
                       subject.form != Encoding::vopd ? ""
                       : subject.half == 0            ? " X"
                                                      : " Y");
}

// v_nop and its kin: their long form has the text of the short one.
bool has_text_of_its_own(const InstructionInfo& row, Encoding form) {
    return row.format != Format::VOP1 || row.destinations + row.sources != 0 || form == Encoding::native;
}

std::set<Subject> subjects(Target target) {
    std::set<Subject> all;
    for (const InstructionInfo& row : all_instructions())
        for (unsigned encoding = 0; encoding < static_cast<unsigned>(Encoding::vopd); ++encoding) {
            const auto form = static_cast<Encoding>(encoding);
            if (has(target, row.opcode) && encoding_plan(generation(target), row.opcode, form).exists &&
                has_text_of_its_own(row, form))
                all.insert({row.opcode, form});
        }
    for (const DualInfo& dual : dual_instructions()) {
        if (generation(target) < dual.first || generation(target) > dual.last) continue;
        if (dual.x.exists()) all.insert({dual.opcode, Encoding::vopd, 0});
        if (dual.y.exists()) all.insert({dual.opcode, Encoding::vopd, 1});
    }
    return all;
}

std::vector<Subject> subjects_of(const Instruction& instruction) {
    if (instruction.encoding != Encoding::vopd) return {{instruction.opcode, instruction.encoding}};
    return {{instruction.dual[0].opcode, Encoding::vopd, 0}, {instruction.dual[1].opcode, Encoding::vopd, 1}};
}

std::string hex(std::span<const uint32_t> words) {
    std::string text;
    for (const uint32_t word : words) text += fmt::format("{}{:08X}", text.empty() ? "" : " ", word);
    return text;
}

// Our words of a text, or why there are none.
std::string assembled(Target target, const std::string& text) {
    const Result<Parsed> parsed = parse(target, kWave, text);
    if (!parsed) return parsed.error().message;
    const Result<EncodedInstruction> encoded = encode(target, kWave, parsed->instruction);
    return encoded ? hex(encoded->span()) : encoded.error().message;
}

std::filesystem::path file_of(Target target) {
    return std::filesystem::path(RIFTJIT_SOURCE_DIR) / "tests/golden/rdna" / fmt::format("{}.txt", name(target));
}

std::vector<Line> read_golden(Target target) {
    std::ifstream file(file_of(target));
    std::vector<Line> lines;
    for (std::string line; std::getline(file, line);) {
        const size_t separator = line.find(';');
        Line golden{.text = separator == std::string::npos ? "" : line.substr(separator + 2)};
        for (size_t at = 0; at + 8 <= std::min(separator, line.size()) && line[at] != ' '; at += 9)
            golden.words.push_back(static_cast<uint32_t>(std::stoul(line.substr(at, 8), nullptr, 16)));
        lines.push_back(std::move(golden));
    }
    return lines;
}

// ---- Writing the files

// The same for a row whatever the other rows are.
uint32_t seed_of(const Subject& subject, uint32_t attempt) {
    uint32_t seed = 2166136261u + attempt;  // FNV-1a
    for (const char c : text_of(subject)) seed = (seed ^ static_cast<uint8_t>(c)) * 16777619u;
    return seed;
}

// VOPD pairs, and what RandomInstructions does not make.
std::map<Subject, InstructionWords> plain_examples(Target target) {
    std::map<Subject, InstructionWords> examples;
    for (const test::OpcodeProbe& probe : test::OpcodeProbes(generation(target)).numbers()) {
        const Decoded decoded = decode(target, kWave, probe.words);
        if (!decoded.ok || decoded.instruction.size != 4 * probe.words.size()) continue;
        const std::vector<Subject> of = subjects_of(decoded.instruction);
        examples.emplace(of[probe.key.half], probe.words);
    }
    return examples;
}

std::optional<InstructionWords> candidate(Target target, const Subject& subject, uint32_t attempt) {
    RandomInstructions random(target, kWave, seed_of(subject, attempt));
    const std::optional<Instruction> made = random.next(info(subject.opcode), subject.form);
    if (!made) return std::nullopt;
    const Result<EncodedInstruction> encoded = encode(target, kWave, *made);
    if (!encoded) return std::nullopt;
    return InstructionWords(encoded->span().begin(), encoded->span().end());
}

// The first random instance of each subject that LLVM reads and writes as we do; without one the file lacks a line,
// which the tests below report.
std::map<Subject, Line> golden_lines(Target target) {
    constexpr uint32_t kAttempts = 12;
    const LlvmOracles llvm(target, kWave);
    const std::map<Subject, InstructionWords> plain = plain_examples(target);
    std::map<Subject, Line> lines;
    std::set<Subject> open = subjects(target);
    for (uint32_t attempt = 0; attempt <= kAttempts && !open.empty(); ++attempt) {
        std::vector<Subject> tried;
        std::vector<InstructionWords> words;
        for (const Subject& subject : open) {
            const bool is_last = attempt == kAttempts, is_random = subject.form != Encoding::vopd && !is_last;
            const auto made = is_random ? candidate(target, subject, attempt) : std::nullopt;
            const auto example = plain.find(subject);
            if (!made && example == plain.end()) continue;
            tried.push_back(subject);
            words.push_back(made ? *made : example->second);
        }
        const auto read = llvm.disassemble(words);
        std::vector<std::string> texts;
        for (const auto& text : read) texts.push_back(text.value_or(""));
        const auto written = llvm.assemble(texts);
        for (size_t i = 0; i < tried.size(); ++i) {
            if (!read[i] || written[i] != words[i] || assembled(target, texts[i]) != hex(words[i])) continue;
            lines[tried[i]] = {words[i], texts[i]};
            open.erase(tried[i]);
        }
    }
    return lines;
}

void bless(Target target) {
    std::filesystem::create_directories(file_of(target).parent_path());
    std::ofstream file(file_of(target));
    std::set<std::string> seen;  // a VOPD pair may stand for two subjects
    for (const auto& [subject, line] : golden_lines(target))
        if (seen.insert(line.text).second) file << fmt::format("{:<35} ; {}\n", hex(line.words), line.text);
}

// ---- The tests

class GoldenEncodings : public testing::TestWithParam<Target> {
protected:
    static void SetUpTestSuite() {
        if (std::getenv("RIFTJIT_BLESS") == nullptr) return;
        ASSERT_TRUE(LlvmOracles::are_present()) << "RIFTJIT_BLESS=1 wants LLVM 19 and 22";
        for (const Target target : kTargets) bless(target);
    }

public:
    static constexpr std::array kTargets = {Target::gfx1030, Target::gfx1100, Target::gfx1150, Target::gfx1201};
};

TEST_P(GoldenEncodings, AreReadAndWrittenAsTheFileSays) {
    const Target target = GetParam();
    for (const Line& line : read_golden(target)) {
        EXPECT_EQ(assembled(target, line.text), hex(line.words)) << line.text;
        const Decoded decoded = decode(target, kWave, line.words);
        ASSERT_TRUE(decoded.ok) << hex(line.words) << " ; " << line.text;
        EXPECT_EQ(print(target, kWave, decoded.instruction), line.text);
        EXPECT_EQ(decoded.instruction.size, 4 * line.words.size());
    }
}

TEST_P(GoldenEncodings, HoldEveryRowInEveryForm) {
    std::set<Subject> missing = subjects(GetParam());
    for (const Line& line : read_golden(GetParam())) {
        const Decoded decoded = decode(GetParam(), kWave, line.words);
        if (!decoded.ok) continue;
        for (const Subject& subject : subjects_of(decoded.instruction)) missing.erase(subject);
    }
    for (const Subject& subject : missing)
        ADD_FAILURE() << file_of(GetParam()) << ": no line of " << text_of(subject) << "; RIFTJIT_BLESS=1 writes one";
}

TEST_P(GoldenEncodings, AreThoseOfLlvm) {
    if (!test::LlvmOracle::is_present()) return lack_oracle("llvm-mc-19");
    std::vector<InstructionWords> words;
    std::vector<std::string> texts;
    for (const Line& line : read_golden(GetParam()))
        if (LlvmOracles::judge(GetParam(), decode(GetParam(), kWave, line.words).instruction))
            words.push_back(line.words), texts.push_back(line.text);
    const LlvmOracles llvm(GetParam(), kWave);
    const auto read = llvm.disassemble(words);
    const auto written = llvm.assemble(texts);
    for (size_t i = 0; i < words.size(); ++i) {
        EXPECT_EQ(read[i], texts[i]) << hex(words[i]);
        EXPECT_EQ(written[i], words[i]) << texts[i];
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, GoldenEncodings, testing::ValuesIn(GoldenEncodings::kTargets),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace golden_test
}  // namespace riftjit::rdna
