#include "jit/rdna/object/occupancy.h"

#include <algorithm>
#include <regex>

#include "tests/host/oracle.h"
#include "tests/jit/rdna/object/code_object_cases.h"

namespace riftjit::rdna {
namespace occupancy_test {

using namespace test;

// What clang remarks of kernels: those named vN use exactly N vector registers.
struct Remark {
    uint32_t vgprs, lds_bytes, waves_per_simd;
};

std::vector<Remark> remarks_of(const Scratch& scratch, Target target, WaveSize wave_size, const std::string& source) {
    write_text(scratch.path("k.cl"), source);
    const std::string told = output_of(
        fmt::format("clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu={} -nogpulib -O2 {} -S -o /dev/null "
                    "-Rpass-analysis=kernel-resource-usage {} 2>&1",
                    name(target), wave_size == WaveSize::wave64 ? "-mwavefrontsize64" : "", scratch.path("k.cl")));
    std::vector<Remark> remarks;
    const std::regex pattern(R"( VGPRs: (\d+)| Occupancy \[waves/SIMD\]: (\d+)| LDS Size \[bytes/block\]: (\d+))");
    Remark remark{};
    for (auto match = std::sregex_iterator(told.begin(), told.end(), pattern); match != std::sregex_iterator();
         ++match) {
        const auto number = [&](size_t group) { return static_cast<uint32_t>(std::stoul((*match)[group])); };
        if ((*match)[1].matched) remark.vgprs = number(1);
        if ((*match)[2].matched) remark.waves_per_simd = number(2);
        if ((*match)[3].matched) {  // the last of a kernel
            remark.lds_bytes = number(3);
            remarks.push_back(remark);
        }
    }
    return remarks;
}

bool can_ask_clang() { return has_command("clang-19"); }

TEST(Occupancy, IsWhatClangRemarksForTwentyRegisterCounts) {
    if (!can_ask_clang()) return lack_oracle("clang-19");
    constexpr std::array kCounts = {8U,   32U,  64U,  65U,  72U,  73U,  80U,  96U,  97U,  112U,
                                    120U, 121U, 128U, 144U, 145U, 160U, 168U, 192U, 216U, 256U};
    const Scratch scratch;
    for (const TargetInfo& target : all_targets()) {
        if (!known_to_llvm(target.target)) continue;
        for (const WaveSize wave_size : {WaveSize::wave32, WaveSize::wave64}) {
            // One wave per workgroup: whole groups then round nothing away, and clang's figure knows no groups.
            std::string source;
            for (uint32_t count : kCounts)
                source += fmt::format(
                    "__kernel __attribute__((reqd_work_group_size({0}, 1, 1))) void v{1}() "
                    "{{ __asm volatile(\"\" ::: \"v{2}\"); }}\n",
                    lanes(wave_size), count, count - 1);
            const auto remarks = remarks_of(scratch, target.target, wave_size, source);
            ASSERT_EQ(remarks.size(), kCounts.size()) << target.name;
            for (size_t i = 0; i < kCounts.size(); ++i) {
                ASSERT_EQ(remarks[i].vgprs, kCounts[i]);
                const auto ours = occupancy(target.target, wave_size, kCounts[i], 0, lanes(wave_size));
                ASSERT_TRUE(ours.has_value());
                EXPECT_EQ(ours->waves_per_simd, remarks[i].waves_per_simd) << target.name << ' ' << kCounts[i];
                EXPECT_EQ(ours->groups_per_wgp, 4 * remarks[i].waves_per_simd);
            }
        }
    }
}

TEST(Occupancy, IsWhatClangRemarksForLocalMemory) {
    if (!can_ask_clang()) return lack_oracle("clang-19");
    const Scratch scratch;
    for (const Target target : {Target::gfx1030, Target::gfx1100, Target::gfx1201}) {
        std::string source;
        std::vector<uint32_t> threads_of;
        for (uint32_t threads : {64U, 128U, 256U, 512U, 1024U})
            for (uint32_t kib : {4U, 8U, 16U, 32U, 64U}) {
                source += fmt::format(
                    "__kernel __attribute__((reqd_work_group_size({0}, 1, 1))) void k{0}_{1}(__global int* b, int i) "
                    "{{ __local int l[{2}]; l[i] = b[i]; __builtin_amdgcn_s_barrier(); b[i] = l[i + 1]; }}\n",
                    threads, kib, kib * 256);
                threads_of.push_back(threads);
            }
        const auto remarks = remarks_of(scratch, target, WaveSize::wave32, source);
        ASSERT_EQ(remarks.size(), threads_of.size());
        for (size_t i = 0; i < remarks.size(); ++i) {
            const auto ours =
                occupancy(target, WaveSize::wave32, remarks[i].vgprs, remarks[i].lds_bytes, threads_of[i]);
            ASSERT_TRUE(ours.has_value());
            EXPECT_EQ(ours->waves_per_simd, remarks[i].waves_per_simd)
                << name(target) << ' ' << threads_of[i] << " threads, " << remarks[i].lds_bytes << " bytes";
        }
    }
}

TEST(Occupancy, CountsWholeWorkgroups) {
    // 192 registers leave 5 waves on each of 4 SIMDs of a normal chip; groups of 8 waves fit twice, so 4 waves on each.
    const auto normal = occupancy(Target::gfx1030, WaveSize::wave32, 192, 0, 256);
    ASSERT_TRUE(normal.has_value());
    EXPECT_EQ(normal->groups_per_wgp, 2U);
    EXPECT_EQ(normal->waves_per_simd, 4U);
    // 256 registers leave 4: a group of 32 waves never fits.
    EXPECT_EQ(occupancy(Target::gfx1030, WaveSize::wave32, 256, 0, 1024)->groups_per_wgp, 0U);
    // Local memory is allotted in steps of 1 KiB: 2049 bytes take 3 KiB of 128, else 63 groups would fit.
    EXPECT_EQ(occupancy(Target::gfx1100, WaveSize::wave32, 8, 2049, 32)->groups_per_wgp, 42U);
}

TEST(Occupancy, RefusesWhatNoKernelCanBe) {
    EXPECT_TRUE(has_text(occupancy(Target::gfx1100, WaveSize::wave32, 257, 0, 32).error().message, "257 VGPRs"));
    EXPECT_TRUE(has_text(occupancy(Target::gfx1100, WaveSize::wave32, 8, 65537, 32).error().message, "65537 bytes"));
    EXPECT_TRUE(has_text(occupancy(Target::gfx1100, WaveSize::wave32, 8, 0, 0).error().message, "0 threads"));
    EXPECT_TRUE(has_text(occupancy(Target::gfx1100, WaveSize::wave32, 8, 0, 1025).error().message, "1025 threads"));
}

}  // namespace occupancy_test
}  // namespace riftjit::rdna
