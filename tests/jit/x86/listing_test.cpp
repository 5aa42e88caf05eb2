#include "jit/x86/listing.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "tests/host/oracle.h"
#include "tests/jit/x86/decoders/decoding.h"
#include "tests/jit/x86/ops/kernel_runner.h"
#include "tests/kernel_cases.h"

namespace riftjit::x86 {
namespace listing_test {

MachineCode code_of(std::initializer_list<unsigned> bytes) {
    MachineCode code{{}, static_cast<uint32_t>(bytes.size())};
    for (const unsigned byte : bytes) code.bytes.push_back(static_cast<std::byte>(byte));
    return code;
}

TEST(ListingX86, ShowsOffsetsBytesAndLabels) {
    // xor eax, eax; inc rax; cmp rax, rdi; jne -8; ret
    const auto listing = disassemble(code_of({0x31, 0xc0, 0x48, 0xff, 0xc0, 0x48, 0x39, 0xf8, 0x75, 0xf8, 0xc3}));
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_EQ(listing->instructions, 5u);
    EXPECT_EQ(listing->registers, "rax rdi");
    EXPECT_NE(listing->text.find("L0002:\n    inc rax"), std::string::npos) << listing->text;
    EXPECT_NE(listing->text.find("jnz L0002"), std::string::npos) << listing->text;
    EXPECT_NE(listing->text.find("# 0008: 75 f8\n"), std::string::npos) << listing->text;
}

TEST(ListingX86, NamesVectorAndMaskRegistersInRanges) {
    // vaddps zmm2 {k1}, zmm1, zmm0; vaddps ymm17, ymm17, ymm17
    const auto listing = disassemble(code_of({0x62, 0xf1, 0x74, 0x49, 0x58, 0xd0, 0x62, 0xa1, 0x74, 0x20, 0x58, 0xc9}));
    ASSERT_TRUE(listing) << listing.error().message;
    EXPECT_EQ(listing->registers, "zmm0-zmm2 zmm17 k1");
    EXPECT_EQ(listing->vector_registers, 4u);
    EXPECT_EQ(listing->mask_registers, 1u);
    EXPECT_EQ(listing->general_registers, 0u);
}

TEST(ListingX86, CountsInstructionsByMnemonic) {
    // xor eax, eax; inc rax; inc rcx; ret
    const auto listing = disassemble(code_of({0x31, 0xc0, 0x48, 0xff, 0xc0, 0x48, 0xff, 0xc1, 0xc3}));
    ASSERT_TRUE(listing);
    const std::vector<std::pair<std::string, uint32_t>> expected = {{"inc", 2}, {"ret", 1}, {"xor", 1}};
    EXPECT_EQ(listing->histogram, expected);
    EXPECT_EQ(listing->general_registers, 2u);
}

TEST(ListingX86, PrintsConstantsAsWords) {
    MachineCode code = code_of({0xc3, 0, 0, 0, 0x78, 0x56, 0x34, 0x12});
    code.instruction_bytes = 1;
    const auto listing = disassemble(code);
    ASSERT_TRUE(listing);
    EXPECT_NE(listing->text.find("    .long 0x12345678  # 0004\n"), std::string::npos) << listing->text;
}

TEST(ListingX86, RefusesBytesThatAreNoInstructions) {
    const auto listing = disassemble(code_of({0x90, 0x06}));
    ASSERT_FALSE(listing);
    EXPECT_EQ(listing.error().message, "byte 1 of the code is no instruction");
}

struct Scratch {
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("riftjit-listing-" + std::to_string(getpid()));
    Scratch() { std::filesystem::create_directories(folder); }
    ~Scratch() { std::filesystem::remove_all(folder); }
};

// Those of VEX instructions that llvm-mc knows to be commutative and kernels use.
bool is_commutative(const std::string& name) {
    static const std::set<std::string> names = {"vaddps",   "vaddss",   "vmulps",  "vandps",  "vorps",    "vxorps",
                                                "vpand",    "vpor",     "vpxor",   "vpaddd",  "vpaddw",   "vpmaxsd",
                                                "vpmaddwd", "vpmulhuw", "vpmulld", "vpmullw", "vpcmpeqd", "vaddpd",
                                                "vmulpd",   "vandpd",   "vorpd",   "vxorpd",  "vpaddq",   "vpmuludq"};
    return names.contains(name);
}

// What llvm-mc makes of a file of listings.
std::optional<MachineCode> assemble(const std::string& text, const Scratch& scratch) {
    const std::string source = (scratch.folder / "listing.s").string(),
                      object = (scratch.folder / "listing.o").string(),
                      binary = (scratch.folder / "listing.bin").string();
    std::ofstream(source) << ".intel_syntax noprefix\n" << text;
    const std::string command =
        "llvm-mc-19 -triple x86_64 -mattr=+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512vnni,"
        "+avx512bf16,+avx512fp16,+avxvnni,+fma,+f16c,+bmi2 -filetype=obj -o " +
        object + " " + source + " && llvm-objcopy-19 -O binary -j .text " + object + " " + binary;
    if (std::system(command.c_str()) != 0) return std::nullopt;
    std::ifstream file(binary, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    MachineCode code{{}, static_cast<uint32_t>(bytes.size())};
    for (const char byte : bytes) code.bytes.push_back(static_cast<std::byte>(byte));
    return code;
}

// The text of an instruction that is no branch. Where llvm-mc has exchanged the sources of a commutative operation (for
// a shorter prefix) they are in alphabetical order. Lengths of encodings, and so of displacements, do not show.
std::string canonical(const DecodedInstruction& one) {
    ZydisFormatter formatter;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
    const std::string name = ZydisMnemonicGetString(one.instruction.mnemonic);
    const uint8_t count = one.instruction.operand_count_visible;
    std::array<std::string, 5> operands;
    for (uint8_t i = 0; i < count; ++i) {
        char text[128];
        ZydisFormatterFormatOperand(&formatter, &one.instruction, &one.operands[i], text, sizeof text, 0, nullptr);
        operands[i] = text;
    }
    const bool is_equality = name.starts_with("vcmpp") && one.operands[3].imm.value.u == 0;
    if (((count == 3 && is_commutative(name)) || (count == 4 && is_equality)) &&
        one.operands[2].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[2] < operands[1])
        std::swap(operands[1], operands[2]);
    return fmt::format("{} {}", name, fmt::join(operands, " "));
}

// A text per instruction that is the same for both assemblers' choices: branches name the instruction they go to by
// its distance in instructions. Texts are kept by the bytes they stand for: few are different.
std::vector<std::string_view> canonical_instructions(const MachineCode& code) {
    static std::unordered_map<std::string, std::string> by_bytes;
    static std::set<std::string> branches;
    struct Branch {
        size_t index;
        uint64_t target;
        const char* name;
    };
    std::vector<Branch> branches_of_code;
    std::vector<int64_t> index_at(code.bytes.size(), -1);
    std::vector<std::string_view> texts;
    uint64_t offset = 0;
    each_instruction(code, [&](const DecodedInstruction& one) {
        const ZydisDecodedOperand& first = one.operands[0];
        index_at[offset] = static_cast<int64_t>(texts.size());
        const std::string bytes(reinterpret_cast<const char*>(&code.bytes[offset]), one.instruction.length);
        offset += one.instruction.length;
        if (first.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && first.imm.is_relative) {
            branches_of_code.push_back({texts.size(), offset + static_cast<uint64_t>(first.imm.value.s),
                                        ZydisMnemonicGetString(one.instruction.mnemonic)});
            texts.emplace_back();
            return;
        }
        const auto [found, is_new] = by_bytes.try_emplace(bytes);
        if (is_new) found->second = canonical(one);
        texts.push_back(found->second);
    });
    for (const Branch& branch : branches_of_code) {
        const int64_t distance = index_at.at(branch.target) - static_cast<int64_t>(branch.index);
        texts[branch.index] = *branches.insert(fmt::format("{} {:+}", branch.name, distance)).first;
    }
    return texts;
}

// The instructions alone: no bytes, no constants.
std::string without_comments(const std::string& text) {
    std::string result;
    std::istringstream stream(text.substr(0, text.find("    .long")));
    for (std::string line; std::getline(stream, line);) result += line.substr(0, line.find('#')) + "\n";
    return result;
}

// The lines of instructions in a listing without comments: neither labels nor directives.
std::vector<std::string> instruction_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        if (line.starts_with("    ") && line.find_first_not_of(' ') != std::string::npos && line[4] != '.')
            lines.push_back(line);
    return lines;
}

// Every eighth kernel as a whole, of the others the lines that no kernel had before, branches excepted.
TEST(ListingX86, AssemblesBackToTheSameInstructions) {
    if (std::system("command -v llvm-mc-19 llvm-objcopy-19 > /dev/null") != 0) return lack_oracle("llvm-19");
    constexpr size_t kTextBytes = size_t(4) << 20;  // assembled at a time
    const Scratch scratch;
    std::set<std::vector<std::byte>> seen;  // most kernels are the same at several levels
    std::unordered_set<std::string> known_lines;
    std::string text;
    std::vector<std::string_view> expected;
    const auto assemble_and_compare = [&] {
        const auto assembled = assemble(text, scratch);
        ASSERT_TRUE(assembled);
        const auto found = canonical_instructions(*assembled);
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], expected[i]) << "instruction " << i;
        text.clear();
        expected.clear();
    };
    for (Isa isa : all_isas()) {
        SCOPED_TRACE(name(isa));
        size_t count = 0;
        for (const KernelSpec& spec : kernel_cases::all()) {
            // Emission.OnlyMatricesDifferBetweenLevelsOfOneVectorWidth
            const bool is_matrix = std::holds_alternative<MatmulSpec>(spec) ||
                                   std::holds_alternative<EmbedSpec>(spec) ||
                                   std::holds_alternative<ExpertMatmulSpec>(spec);
            if (!is_matrix && isa != Isa::avx2 && isa != Isa::avx512) continue;
            const MachineCode code = RunnableKernel::machine_code(spec, isa);
            if (!seen.insert(code.bytes).second) continue;
            const auto listing = disassemble(code, fmt::format("kernel{}_", count++));
            ASSERT_TRUE(listing) << listing.error().message;
            const std::string bare = without_comments(listing->text);
            const auto instructions = canonical_instructions(code);
            const auto lines = instruction_lines(bare);
            EXPECT_EQ(listing->instructions, instructions.size());
            ASSERT_EQ(lines.size(), instructions.size());
            const bool is_whole = seen.size() % 8 == 1;
            if (is_whole) {
                text += bare;
                expected.insert(expected.end(), instructions.begin(), instructions.end());
            }
            for (size_t i = 0; i < lines.size(); ++i) {
                if (!known_lines.insert(lines[i]).second || is_whole || lines[i].starts_with("    j")) continue;
                text += lines[i] + "\n";
                expected.push_back(instructions[i]);
            }
            if (text.size() > kTextBytes) {
                ASSERT_NO_FATAL_FAILURE(assemble_and_compare());
            }
        }
        ASSERT_NO_FATAL_FAILURE(assemble_and_compare());
    }
}

}  // namespace listing_test
}  // namespace riftjit::x86
