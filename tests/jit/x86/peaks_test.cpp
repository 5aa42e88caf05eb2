#include "jit/x86/peaks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>

#include "jit/code_memory.h"
#include "jit/kernel_spec.h"
#include "jit/x86/detect.h"

namespace riftjit::x86 {
namespace peaks_test {

constexpr Peak kAll[] = {Peak::read,   Peak::f32_fma,   Peak::bf16_dot, Peak::i16_dot,
                         Peak::i8_dot, Peak::bf16_tile, Peak::i8_tile};

TEST(PeaksX86, EveryLevelHasAllButBf16AndTiles) {
    const std::map<Peak, Isa> first_levels = {
        {Peak::bf16_dot, Isa::avx512_bf16}, {Peak::bf16_tile, Isa::amx_bf16}, {Peak::i8_tile, Isa::amx_int8}};
    for (const Isa isa : all_isas())
        for (const Peak peak : kAll) {
            const auto first = first_levels.find(peak);
            EXPECT_EQ(generate_peak(peak, isa).has_value(), first == first_levels.end() || isa >= first->second)
                << name(isa);
        }
}

// 12 sums in 64 rounds, two operations per product.
TEST(PeaksX86, WorkIsCountedPerInstruction) {
    EXPECT_EQ(peak_work_per_unit(Peak::read, Isa::avx2), 4096u);
    EXPECT_EQ(peak_work_per_unit(Peak::f32_fma, Isa::avx2), 12u * 64 * 8 * 2);
    EXPECT_EQ(peak_work_per_unit(Peak::f32_fma, Isa::avx512), 12u * 64 * 16 * 2);
    EXPECT_EQ(peak_work_per_unit(Peak::bf16_dot, Isa::avx512_bf16), 12u * 64 * 32 * 2);
    EXPECT_EQ(peak_work_per_unit(Peak::i16_dot, Isa::avx_vnni), 12u * 64 * 16 * 2);
    EXPECT_EQ(peak_work_per_unit(Peak::i8_dot, Isa::avx512_vnni), 12u * 64 * 64 * 2);
    EXPECT_EQ(peak_work_per_unit(Peak::bf16_tile, Isa::amx_bf16), 12u * 64 * 16 * 16 * 32 * 2);
    EXPECT_EQ(peak_work_per_unit(Peak::i8_tile, Isa::amx_int8), 12u * 64 * 16 * 16 * 64 * 2);
}

// Three blocks with an unmapped page before and behind: what is read beyond them ends the test.
TEST(PeaksX86, RunAndReadNoByteOutsideTheirUnits) {
    constexpr size_t kPages = 3 + 2;
    void* const mapped = mmap(nullptr, kPages * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const blocks = static_cast<std::byte*>(mapped) + 4096;
    ASSERT_EQ(mprotect(blocks, 3 * 4096, PROT_READ | PROT_WRITE), 0);
    const PeakArgs args{blocks - 4096};  // units 1 to 3
    for (const Isa isa : detect().levels) {
        for (const Peak peak : kAll) {
            const auto code = generate_peak(peak, isa);
            if (!code) continue;
            CodeMemory memory;
            const auto address = memory.add(code->bytes);
            ASSERT_TRUE(address);
            ASSERT_TRUE(memory.seal());
            const auto function = reinterpret_cast<KernelFunction>(reinterpret_cast<uintptr_t>(*address));
            function(&args, 1, 4);
            function(&args, 2, 2);
        }
    }
    munmap(mapped, kPages * 4096);
}

}  // namespace peaks_test
}  // namespace riftjit::x86
