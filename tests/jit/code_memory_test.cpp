#include "jit/code_memory.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
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

// Makes a system call fail for the rest of this process, where its third argument has one of the bits.
void forbid(uint32_t call, uint32_t bits_of_third) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits_of_third, 0, uint8_t(bits_of_third == 0 ? 0 : 1)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{.len = std::size(filter), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        std::perror("seccomp");
        std::_Exit(9);
    }
}

// As systemd's MemoryDenyWriteExecute does.
void forbid_exec_gain() { forbid(SYS_mprotect, PROT_EXEC); }

// Two pieces of code, one after the other, as a model's kernels are made while others run.
void run_two() {
    CodeMemory memory;
    for (const int value : {41, 42}) {
        const std::byte* code = memory.add(return_value(uint8_t(value))).value();
        const auto sealed = memory.seal();
        if (!sealed) {
            std::fprintf(stderr, "%s\n", sealed.error().message.c_str());
            std::_Exit(1);
        }
        std::fprintf(stderr, "%d %s\n", call(code), permissions(code).c_str());
    }
    std::_Exit(0);
}

// In child processes, because what is forbidden once stays so.
TEST(CodeMemoryDeathTest, RunsWhereWrittenPagesNeverBecomeExecutable) {
    const auto guarded = [] {
        forbid_exec_gain();
        run_two();
    };
    EXPECT_EXIT(guarded(), testing::ExitedWithCode(0), "^41 r-xp\n42 r-xp\n$");
}

TEST(CodeMemoryDeathTest, RunsWhereTheKernelDeniesWriteExecute) {
    const auto guarded = [] {
        constexpr int kSetMdwe = 65, kRefuseExecGain = 1;  // PR_SET_MDWE, since Linux 6.3
        if (prctl(kSetMdwe, kRefuseExecGain, 0, 0, 0) != 0) std::fprintf(stderr, "(this kernel has no such guard)\n");
        run_two();
    };
    EXPECT_EXIT(guarded(), testing::ExitedWithCode(0), "41 r-xp\n42 r-xp\n$");
}

TEST(CodeMemoryDeathTest, SaysWhatTheSystemForbids) {
    const auto guarded = [] {
        forbid(SYS_memfd_create, 0);
        forbid_exec_gain();
        run_two();
    };
    EXPECT_EXIT(guarded(), testing::ExitedWithCode(1),
                "^code memory: this system makes no 1048576 bytes executable that were written \\(mprotect: Permission "
                "denied; a sealed memfd: Permission denied\\)\n$");
}

}  // namespace code_memory_test
}  // namespace riftjit
