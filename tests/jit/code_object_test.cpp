#include "jit/code_object.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>

#include "tests/host/oracle.h"
#include "tests/host/scratch.h"

namespace riftjit {
namespace code_object_test {

// mov eax, [rip + 0x39]; ret; padding; then the constant 42 at offset 64.
MachineCode answer_code() {
    MachineCode code{std::vector<std::byte>(68, std::byte{0}), 7};
    const uint8_t instructions[] = {0x8b, 0x05, 0x3a, 0x00, 0x00, 0x00, 0xc3};
    std::memcpy(code.bytes.data(), instructions, sizeof instructions);
    code.bytes[64] = std::byte{42};
    return code;
}

CodeObject answer_object(Isa isa = Isa::avx2) { return write_x86_object("rj_answer", isa, answer_code()); }

TEST(CodeObject, ReadsBackWhatWasWrittenAtEveryLevel) {
    for (Isa isa : all_isas()) {
        const CodeObject object = answer_object(isa);
        EXPECT_EQ(object.name, "rj_answer");
        const auto read = read_x86_object(object.elf);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(read->name, "rj_answer");
        EXPECT_EQ(read->isa, isa);
        EXPECT_EQ(read->code.bytes, answer_code().bytes);
        EXPECT_EQ(read->code.instruction_bytes, 7u);
    }
}

TEST(CodeObject, IsTheSameBytesForTheSameCode) {
    EXPECT_EQ(answer_object().elf, answer_object().elf);
    EXPECT_NE(answer_object(Isa::avx2).elf, answer_object(Isa::avx512).elf);
}

TEST(CodeObject, KeepsConstantsAlignedTo64Bytes) {
    const CodeObject object = answer_object();
    const std::byte constant{42};
    const auto at = std::find(object.elf.begin(), object.elf.end(), constant);
    ASSERT_NE(at, object.elf.end());
    EXPECT_EQ((at - object.elf.begin()) % 64, 0);
}

TEST(CodeObject, RefusesEveryTruncation) {
    const CodeObject object = answer_object();
    for (size_t length = 0; length < object.elf.size(); ++length) {
        const auto read = read_x86_object(std::span(object.elf).first(length));
        ASSERT_FALSE(read) << length;
        EXPECT_TRUE(has_text(read.error().message, "code object: "));
    }
}

TEST(CodeObject, RefusesTrailingBytes) {
    CodeObject object = answer_object();
    object.elf.push_back(std::byte{0});
    EXPECT_FALSE(read_x86_object(object.elf));
}

// A flip may hit padding or the code itself, which only the cache's checksum protects; whatever is still accepted must
// hold the same name, level and size.
TEST(CodeObject, SurvivesEveryBitFlip) {
    const CodeObject object = answer_object();
    size_t refused = 0;
    for (size_t bit = 0; bit < object.elf.size() * 8; ++bit) {
        std::vector<std::byte> flipped = object.elf;
        flipped[bit / 8] ^= std::byte(1u << (bit % 8));
        const auto read = read_x86_object(flipped);
        if (!read) {
            ++refused;
            continue;
        }
        EXPECT_EQ(read->code.instruction_bytes, 7u) << bit;
    }
    EXPECT_GT(refused, sizeof(uint64_t) * 64);
}

TEST(CodeObject, NamesWhatIsWrongWithForeignBytes) {
    const std::vector<std::byte> zeros(4096, std::byte{0});
    EXPECT_TRUE(has_text(read_x86_object(zeros).error().message, "not an x86-64 ELF object"));
    EXPECT_TRUE(has_text(read_x86_object(std::span(zeros).first(3)).error().message, "shorter than an ELF header"));

    std::vector<std::byte> renamed = answer_object().elf;
    const std::string_view text(reinterpret_cast<const char*>(renamed.data()), renamed.size());
    renamed[text.find("avx2")] = std::byte{'b'};
    EXPECT_TRUE(has_text(read_x86_object(renamed).error().message, "names none of avx2, avx_vnni"));
}

TEST(CodeObject, TellsItsNameFromItsFirstBytes) {
    const std::string longest(255, 'x');
    const CodeObject object = write_x86_object(longest, Isa::avx512, answer_code());
    const size_t prefix = std::min(object.elf.size(), kX86NameBytes);
    EXPECT_EQ(read_x86_object_name(std::span(object.elf).first(prefix)).value(), longest);
    EXPECT_FALSE(read_x86_object_name(std::span(object.elf).first(200)));
    EXPECT_FALSE(read_x86_object_name({}));
}

// Every letter of it, changed to what would break a line or a listing.
TEST(CodeObject, HasAPrintableName) {
    const CodeObject object = write_x86_object("rj_answer", Isa::avx2, answer_code());
    const size_t at =
        std::string_view(reinterpret_cast<const char*>(object.elf.data()), object.elf.size()).find("rj_answer");
    ASSERT_NE(at, std::string_view::npos);
    for (size_t letter = 0; letter < 9; ++letter) {
        for (const char byte : {'\n', ' ', '\x1b', '\x7f', '\xff'}) {
            std::vector<std::byte> renamed = object.elf;
            renamed[at + letter] = static_cast<std::byte>(byte);
            const auto read = read_x86_object(renamed);
            ASSERT_FALSE(read);
            EXPECT_EQ(read.error().message, "code object: the kernel has no name of 1 to 255 printable characters");
        }
    }
}

TEST(CodeObject, IsReadByObjdumpAndReadelf) {
    if (!has_command("objdump") || !has_command("readelf")) return lack_oracle("binutils (objdump, readelf)");
    const Scratch scratch;
    const std::string path = scratch.path("answer.o");
    write_file(path, answer_object().elf);

    const std::string listing = output_of("objdump -d -w " + path);
    EXPECT_TRUE(has_text(listing, "file format elf64-x86-64"));
    EXPECT_TRUE(has_text(listing, "<rj_answer>:"));
    EXPECT_TRUE(has_text(listing, "mov    0x3a(%rip),%eax"));
    EXPECT_TRUE(has_text(listing, "ret"));

    const std::string symbols = output_of("readelf -W -s " + path);
    EXPECT_TRUE(matches(symbols, "0000000000000000 +7 FUNC +GLOBAL DEFAULT +5 rj_answer"));
    EXPECT_TRUE(matches(symbols, "0000000000000007 +61 OBJECT +LOCAL +DEFAULT +5 rj_answer_constants"));
    EXPECT_TRUE(has_text(output_of("readelf -p .comment " + path), "riftjit x86_64 avx2"));
    EXPECT_EQ(output_of("readelf -a -W " + path + " 2>&1 | grep -i -E 'warning|error'"), "");
}

TEST(CodeObject, LinksAsAnOrdinaryObject) {
    if (!has_command("ld")) return lack_oracle("binutils (ld)");
    const Scratch scratch;
    write_file(scratch.path("answer.o"), answer_object().elf);
    EXPECT_EQ(output_of("ld -shared -o " + scratch.path("answer.so") + " " + scratch.path("answer.o") + " 2>&1"), "");
}

}  // namespace code_object_test
}  // namespace riftjit
