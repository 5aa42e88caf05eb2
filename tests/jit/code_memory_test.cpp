#include "jit/code_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace riftjit {
namespace code_memory_test {

// mov eax, imm32; ret
std::vector<std::byte> return_value(uint8_t value) {
    return {std::byte{0xb8}, std::byte{value}, {}, {}, {}, std::byte{0xc3}};
}

int call(const std::byte* code) { return reinterpret_cast<int (*)()>(reinterpret_cast<uintptr_t>(code))(); }

// "rw-p" and the like of the mapping that holds the address.
std::string permissions(const std::byte* address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        uintptr_t begin = 0, end = 0;
        char flags[5] = "";
        if (sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, flags) != 3) continue;
        const auto value = reinterpret_cast<uintptr_t>(address);
        if (begin <= value && value < end) return flags;
    }
    return "unmapped";
}

TEST(CodeMemory, IsNeverWritableAndExecutableAtOnce) {
    CodeMemory memory;
    const std::byte* first = memory.add(return_value(1)).value();
    EXPECT_EQ(permissions(first), "rw-p");
    ASSERT_TRUE(memory.seal());
    EXPECT_EQ(permissions(first), "r-xp");

    const std::byte* second = memory.add(return_value(2)).value();
    EXPECT_EQ(permissions(second), "rw-p");
    EXPECT_EQ(permissions(first), "r-xp");
    ASSERT_TRUE(memory.seal());
    EXPECT_EQ(permissions(second), "r-xp");
    EXPECT_EQ(call(first), 1);
    EXPECT_EQ(call(second), 2);
}

TEST(CodeMemory, KeepsAddressesOf64ByteAlignedCopies) {
    CodeMemory memory;
    std::vector<const std::byte*> addresses;
    for (int i = 0; i < 100; ++i) addresses.push_back(memory.add(return_value(uint8_t(i))).value());
    ASSERT_TRUE(memory.seal());
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(addresses[i]) % 64, 0u);
        EXPECT_EQ(call(addresses[i]), i);
    }
}

TEST(CodeMemory, TakesCodeLargerThanARegion) {
    CodeMemory memory;
    std::vector<std::byte> large = return_value(7);
    large.resize((size_t(3) << 20) + 1);
    const std::byte* code = memory.add(large).value();
    ASSERT_TRUE(memory.seal());
    EXPECT_EQ(call(code), 7);
    EXPECT_EQ(permissions(code + large.size() - 1), "r-xp");
}

TEST(CodeMemory, UnmapsItsPages) {
    const std::byte* code = nullptr;
    {
        CodeMemory memory;
        code = memory.add(std::vector<std::byte>(size_t(64) << 20)).value();
        ASSERT_TRUE(memory.seal());
        ASSERT_EQ(permissions(code), "r-xp");
    }
    EXPECT_NE(permissions(code), "r-xp");
}

TEST(CodeMemory, ReportsThatTheSystemHasNoMoreMemory) {
    // More than the address space: refused before the first byte would be read.
    const std::vector<std::byte> code = return_value(1);
    CodeMemory memory;
    const auto added = memory.add(std::span(code.data(), size_t(1) << 47));
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().kind, ErrorKind::OutOfMemory);
    EXPECT_EQ(added.error().message, "code memory: cannot map 140737488355328 bytes: Cannot allocate memory");
}

}  // namespace code_memory_test
}  // namespace riftjit
