#include "jit/x86/listing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "jit/x86/backend.h"

namespace riftjit::x86 {
namespace {

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

// The instructions without offsets, bytes, constants and the encodings of branches.
std::vector<std::string> instructions(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        line = line.substr(0, line.find('#'));
        while (line.ends_with(' ')) line.pop_back();
        const bool is_instruction = line.starts_with("    ") && !line.starts_with("    .");
        if (is_instruction) lines.push_back(line.substr(0, line.find(" L")));
    }
    return lines;
}

struct Scratch {
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("riftjit-listing-" + std::to_string(getpid()));
    Scratch() { std::filesystem::create_directories(folder); }
    ~Scratch() { std::filesystem::remove_all(folder); }
};

// Bytes of .text after llvm-mc has assembled the listing.
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
    MachineCode code;
    for (const char byte : bytes) code.bytes.push_back(static_cast<std::byte>(byte));
    return code;
}

// Up to the first return: what follows are constants, whose place may move with the size of branches.
TEST(ListingX86, AssemblesBackToTheSameInstructions) {
    if (std::system("command -v llvm-mc-19 llvm-objcopy-19 > /dev/null") != 0) GTEST_SKIP() << "needs llvm-19";
    const Scratch scratch;
    const std::vector<KernelSpec> specs = {
        RmsNormSpec{100, 1e-5f, Presence::present, Addend::residual, RowFormat::i16, RowRange::all},
        QuantizeSpec{256, RowFormat::bf16},
        MatmulSpec{DType::Q4_K, 32, 512, 32, MatmulForm::vector, Epilogue::store, Presence::absent},
        MatmulSpec{DType::IQ3_S, 32, 512, 32, MatmulForm::tile, Epilogue::accumulate, Presence::present},
        SwigluSpec{100, 256, RowFormat::i16},
    };
    for (const KernelSpec& spec : specs) {
        for (const Isa isa : all_isas()) {
            const auto object = compile(spec, isa);
            ASSERT_TRUE(object) << object.error().message;
            const auto read = read_x86_object(object->elf);
            ASSERT_TRUE(read);
            const auto listing = disassemble(read->code);
            ASSERT_TRUE(listing) << listing.error().message;
            const std::string code_only = listing->text.substr(0, listing->text.find("    .long"));
            auto assembled = assemble(code_only, scratch);
            ASSERT_TRUE(assembled) << object->name << " at " << name(isa) << "\n" << code_only;
            assembled->instruction_bytes = static_cast<uint32_t>(assembled->bytes.size());
            const auto again = disassemble(*assembled);
            ASSERT_TRUE(again) << again.error().message;
            EXPECT_EQ(instructions(again->text), instructions(listing->text)) << object->name << " at " << name(isa);
        }
    }
}

}  // namespace
}  // namespace riftjit::x86
