#include "jit/x86/detect.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace riftjit::x86 {
namespace detect_test {

// A processor with everything; tests take features away.
CpuidLeaves everything() {
    CpuidLeaves leaves;
    leaves.leaf1_ecx = ~0u;
    leaves.leaf7_ebx = leaves.leaf7_ecx = leaves.leaf7_edx = leaves.leaf7_1_eax = ~0u;
    leaves.xcr0 = 0x600e7;
    leaves.may_use_tiles = true;
    leaves.vendor = "AuthenticAMD";
    leaves.brand = "Test 9000";
    return leaves;
}

std::vector<Isa> all() { return {all_isas().begin(), all_isas().end()}; }

TEST(Detect, FindsEveryLevelOnAProcessorWithEveryFeature) {
    EXPECT_EQ(interpret(everything()).levels, all());
    EXPECT_EQ(*choose_isa(interpret(everything()), std::nullopt), Isa::amx_bf16);
}

TEST(Detect, DropsALevelAndThoseAboveWhenOneOfItsFeaturesIsMissing) {
    CpuidLeaves leaves = everything();
    leaves.leaf7_ebx &= ~(1u << 17);  // AVX-512DQ
    EXPECT_EQ(interpret(leaves).levels, (std::vector{Isa::avx2, Isa::avx_vnni}));
    leaves = everything();
    leaves.leaf7_ecx &= ~(1u << 11);  // AVX512-VNNI
    EXPECT_EQ(interpret(leaves).levels, (std::vector{Isa::avx2, Isa::avx_vnni, Isa::avx512}));
}

TEST(Detect, NeedsTheOperatingSystemToSaveTheRegisters) {
    CpuidLeaves leaves = everything();
    leaves.xcr0 = 0x7;  // no opmask and zmm state
    const Processor processor = interpret(leaves);
    EXPECT_EQ(processor.levels, (std::vector{Isa::avx2, Isa::avx_vnni}));
    const LevelSupport& avx512 = processor.support[size_t(Isa::avx512)];
    EXPECT_TRUE(avx512.is_in_cpuid);
    EXPECT_FALSE(avx512.is_saved_by_os);
}

TEST(Detect, NeedsThePermissionToUseTiles) {
    CpuidLeaves leaves = everything();
    leaves.may_use_tiles = false;
    const Processor processor = interpret(leaves);
    EXPECT_EQ(processor.levels.back(), Isa::avx512_fp16);
    EXPECT_TRUE(processor.support[size_t(Isa::amx_int8)].is_in_cpuid);
    EXPECT_FALSE(processor.support[size_t(Isa::amx_int8)].is_saved_by_os);
    leaves = everything();
    leaves.xcr0 = 0xe7;
    EXPECT_EQ(interpret(leaves).levels.back(), Isa::avx512_fp16);
}

TEST(Detect, Avx512DoesNotImplyAvxVnni) {
    CpuidLeaves leaves = everything();
    leaves.leaf7_1_eax &= ~(1u << 4);
    const Processor processor = interpret(leaves);
    EXPECT_EQ(std::ranges::count(processor.levels, Isa::avx_vnni), 0);
    EXPECT_EQ(processor.levels.back(), Isa::amx_int8);
    EXPECT_EQ(*choose_isa(processor, Isa::avx_vnni), Isa::avx2);
}

TEST(Detect, TheLimitLowersButNeverRaises) {
    CpuidLeaves leaves = everything();
    leaves.leaf7_edx = 0;  // no AVX512-FP16
    const Processor processor = interpret(leaves);
    EXPECT_EQ(*choose_isa(processor, Isa::avx512_fp16), Isa::avx512_bf16);
    EXPECT_EQ(*choose_isa(processor, Isa::avx512_vnni), Isa::avx512_vnni);
    EXPECT_EQ(*choose_isa(processor, Isa::avx_vnni), Isa::avx_vnni);
    EXPECT_EQ(*choose_isa(processor, Isa::avx2), Isa::avx2);
}

TEST(Detect, TakesTheFastestLevelRatherThanTheLast) {
    CpuidLeaves leaves = everything();
    leaves.vendor = "GenuineIntel";
    const Processor intel = interpret(leaves);
    EXPECT_EQ(intel.levels, all());
    EXPECT_EQ(*choose_isa(intel, std::nullopt), Isa::amx_bf16);
    EXPECT_EQ(*choose_isa(intel, Isa::amx_int8), Isa::amx_int8);        // asked for
    EXPECT_EQ(*choose_isa(intel, Isa::avx512_bf16), Isa::avx512_bf16);  // asked for
    leaves.leaf7_edx &= ~(1u << 24);                                    // AMX-TILE
    EXPECT_EQ(*choose_isa(interpret(leaves), std::nullopt), Isa::avx512_vnni);
    leaves.leaf7_ebx &= ~(1u << 16);  // AVX-512F
    EXPECT_EQ(*choose_isa(interpret(leaves), std::nullopt), Isa::avx_vnni);
}

TEST(Detect, ReadsTheVendorOfThisProcessor) {
    EXPECT_EQ(read_cpuid().vendor.size(), 12u);
    EXPECT_EQ(detect().fastest == Isa::avx512_vnni,
              read_cpuid().vendor == "GenuineIntel" && !has_amx(detect().levels.back()));
}

TEST(Detect, NamesWhatIsMissingBelowAvx2) {
    CpuidLeaves leaves = everything();
    leaves.leaf1_ecx &= ~(1u << 12 | 1u << 29);
    leaves.leaf7_ebx &= ~(1u << 8);
    const auto isa = choose_isa(interpret(leaves), std::nullopt);
    ASSERT_FALSE(isa);
    EXPECT_EQ(isa.error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(isa.error().message, "this processor (Test 9000) cannot run avx2 kernels; missing: FMA, F16C, BMI2");
    leaves = everything();
    leaves.xcr0 = 0x3;
    EXPECT_EQ(choose_isa(interpret(leaves), std::nullopt).error().message,
              "this processor (Test 9000) cannot run avx2 kernels; missing: "
              "saving of the ymm registers by the operating system");
}

TEST(Detect, ReportsWhatIsDetectedEnabledAndUsed) {
    CpuidLeaves leaves = everything();
    leaves.xcr0 = 0x7;
    leaves.leaf7_edx = 0;
    EXPECT_EQ(support_text(interpret(leaves), Isa::avx2),
              "detected by CPUID: avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16\n"
              "registers saved by the operating system for: avx2, avx_vnni\n"
              "level used: avx2\n");
}

// The compiler's own run-time detection is the independent source.
TEST(Detect, AgreesWithTheCompilersRuntimeOnThisMachine) {
    __builtin_cpu_init();
    const std::vector<Isa> levels = detect().levels;
    const auto found = [&](Isa isa) { return std::ranges::count(levels, isa) == 1; };
    EXPECT_EQ(found(Isa::avx2),
              __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"));
    EXPECT_EQ(found(Isa::avx512), __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
    EXPECT_EQ(found(Isa::avx512_vnni), found(Isa::avx512) && __builtin_cpu_supports("avx512vnni"));
    EXPECT_EQ(found(Isa::avx512_bf16), found(Isa::avx512_vnni) && __builtin_cpu_supports("avx512bf16"));
    EXPECT_FALSE(detect().name.empty());
}

}  // namespace detect_test
}  // namespace riftjit::x86
