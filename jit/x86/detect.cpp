#include "jit/x86/detect.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace riftjit::x86 {

namespace {

struct Feature {
    uint32_t CpuidLeaves::* leaf;
    uint32_t bit;
    std::string_view name;
};

// SDM volume 2, CPUID; AMD manual volume 3, appendix E.
constexpr uint32_t kOsXsaveBit = 27;  // of leaf 1 ECX: XGETBV works
constexpr std::array kAvx2 = {
    Feature{&CpuidLeaves::leaf1_ecx, 28, "AVX"}, Feature{&CpuidLeaves::leaf7_ebx, 5, "AVX2"},
    Feature{&CpuidLeaves::leaf1_ecx, 12, "FMA"}, Feature{&CpuidLeaves::leaf1_ecx, 29, "F16C"},
    Feature{&CpuidLeaves::leaf7_ebx, 8, "BMI2"}, Feature{&CpuidLeaves::leaf1_ecx, 23, "POPCNT"},
};
constexpr std::array kAvxVnni = {Feature{&CpuidLeaves::leaf7_1_eax, 4, "AVX-VNNI"}};
constexpr std::array kAvx512 = {
    Feature{&CpuidLeaves::leaf7_ebx, 16, "AVX-512F"},
    Feature{&CpuidLeaves::leaf7_ebx, 17, "AVX-512DQ"},
    Feature{&CpuidLeaves::leaf7_ebx, 30, "AVX-512BW"},
    Feature{&CpuidLeaves::leaf7_ebx, 31, "AVX-512VL"},
};
constexpr std::array kAvx512Vnni = {Feature{&CpuidLeaves::leaf7_ecx, 11, "AVX512-VNNI"}};
constexpr std::array kAvx512Bf16 = {Feature{&CpuidLeaves::leaf7_1_eax, 5, "AVX512-BF16"}};
constexpr std::array kAvx512Fp16 = {Feature{&CpuidLeaves::leaf7_edx, 23, "AVX512-FP16"}};
constexpr std::array kAmxBf16 = {
    Feature{&CpuidLeaves::leaf7_edx, 24, "AMX-TILE"},
    Feature{&CpuidLeaves::leaf7_edx, 22, "AMX-BF16"},
};
constexpr std::array kAmxInt8 = {Feature{&CpuidLeaves::leaf7_edx, 25, "AMX-INT8"}};

// A level has its own features and those of the level it includes.
struct Level {
    Isa isa;
    std::optional<Isa> includes;
    std::span<const Feature> features;
};
constexpr std::array kLevels = {
    Level{Isa::avx2, std::nullopt, kAvx2},
    Level{Isa::avx_vnni, Isa::avx2, kAvxVnni},
    Level{Isa::avx512, Isa::avx2, kAvx512},
    Level{Isa::avx512_vnni, Isa::avx512, kAvx512Vnni},
    Level{Isa::avx512_bf16, Isa::avx512_vnni, kAvx512Bf16},
    Level{Isa::avx512_fp16, Isa::avx512_bf16, kAvx512Fp16},
    Level{Isa::amx_bf16, Isa::avx512_fp16, kAmxBf16},
    Level{Isa::amx_int8, Isa::amx_bf16, kAmxInt8},
};

constexpr uint64_t kYmmState = 0b110;        // SSE and AVX
constexpr uint64_t kZmmState = 0b1110'0110;  // also opmask, upper halves of zmm0-15, zmm16-31
constexpr int kTileDataComponent = 18;       // of the XSAVE area; 17 is the tiles' configuration
constexpr uint64_t kTileState = uint64_t{0b11} << 17 | kZmmState;

bool has(const CpuidLeaves& leaves, const Feature& feature) { return leaves.*feature.leaf >> feature.bit & 1; }

bool has_level(const CpuidLeaves& leaves, Isa isa) {
    const Level& level = kLevels[static_cast<size_t>(isa)];
    return std::ranges::all_of(level.features, [&](const Feature& feature) { return has(leaves, feature); }) &&
           (!level.includes || has_level(leaves, *level.includes));
}

bool is_saved(const CpuidLeaves& leaves, Isa isa) {
    const uint64_t state = has_amx(isa) ? kTileState : has_avx512(isa) ? kZmmState : kYmmState;
    return (leaves.xcr0 & state) == state && (leaves.may_use_tiles || !has_amx(isa));
}

// XGETBV with ECX = 0, in inline assembly because the intrinsic needs -mxsave.
uint64_t read_xcr0() {
    uint32_t low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t(high) << 32 | low;
}

// Linux hands the 8 KB of a thread's tiles out only to processes that asked (Documentation/arch/x86/xstate.rst).
bool request_tiles() {
    constexpr int kArchRequestXcompPermission = 0x1023;
    return syscall(SYS_arch_prctl, kArchRequestXcompPermission, kTileDataComponent) == 0;
}

std::string read_vendor() {
    uint32_t eax, ebx, ecx, edx;
    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx)) return {};
    std::string vendor;
    for (const uint32_t word : {ebx, edx, ecx}) vendor.append(reinterpret_cast<const char*>(&word), sizeof word);
    return vendor;
}

std::string read_brand() {
    constexpr uint32_t kFirstBrandLeaf = 0x8000'0002, kLastBrandLeaf = 0x8000'0004;
    if (__get_cpuid_max(0x8000'0000, nullptr) < kLastBrandLeaf) return "unnamed x86-64 processor";
    std::array<char, 49> text{};
    for (uint32_t leaf = kFirstBrandLeaf; leaf <= kLastBrandLeaf; ++leaf) {
        std::array<uint32_t, 4> words{};
        __get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]);
        std::memcpy(text.data() + 16 * (leaf - kFirstBrandLeaf), words.data(), sizeof words);
    }
    std::string brand = text.data();
    brand.erase(0, brand.find_first_not_of(' '));
    brand.erase(brand.find_last_not_of(' ') + 1);
    return brand;
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text.append(text.empty() ? "" : ", ").append(word);
    return text;
}

}  // namespace

CpuidLeaves read_cpuid() {
    CpuidLeaves leaves;
    uint32_t eax, ebx, ecx, edx;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) leaves.leaf1_ecx = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        leaves.leaf7_ebx = ebx;
        leaves.leaf7_ecx = ecx;
        leaves.leaf7_edx = edx;
        const uint32_t last_subleaf = eax;
        if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) leaves.leaf7_1_eax = eax;
    }
    if (leaves.leaf1_ecx >> kOsXsaveBit & 1) leaves.xcr0 = read_xcr0();
    if (leaves.xcr0 >> kTileDataComponent & 1) leaves.may_use_tiles = request_tiles();
    leaves.vendor = read_vendor();
    leaves.brand = read_brand();
    return leaves;
}

Processor interpret(const CpuidLeaves& leaves) {
    Processor processor{.name = leaves.brand};
    for (Isa isa : all_isas()) {
        const LevelSupport support{isa, has_level(leaves, isa), is_saved(leaves, isa)};
        processor.support.push_back(support);
        if (support.is_in_cpuid && support.is_saved_by_os) processor.levels.push_back(isa);
    }
    const bool has_tiles = !processor.levels.empty() && has_amx(processor.levels.back());
    if (leaves.vendor == "GenuineIntel" && !has_tiles) processor.fastest = Isa::avx512_vnni;
    for (const Feature& feature : kAvx2)
        if (!has(leaves, feature)) processor.missing.emplace_back(feature.name);
    if (!is_saved(leaves, Isa::avx2))
        processor.missing.emplace_back("saving of the ymm registers by the operating system");
    return processor;
}

Result<Isa> choose_isa(const Processor& processor, std::optional<Isa> limit) {
    if (processor.levels.empty())
        return fail(ErrorKind::Unsupported, "this processor ({}) cannot run avx2 kernels; missing: {}", processor.name,
                    join(processor.missing));
    const auto strongest = std::ranges::find_if(processor.levels.rbegin(), processor.levels.rend(),
                                                [&](Isa level) { return level <= limit.value_or(processor.fastest); });
    return *strongest;  // avx2 is among the levels, and no limit is below it
}

std::string support_text(const Processor& processor, Isa used) {
    std::vector<std::string> detected, enabled;
    for (const LevelSupport& support : processor.support) {
        if (support.is_in_cpuid) detected.emplace_back(name(support.level));
        if (support.is_saved_by_os) enabled.emplace_back(name(support.level));
    }
    const auto listed = [](const std::vector<std::string>& names) { return names.empty() ? "none" : join(names); };
    return fmt::format("detected by CPUID: {}\nregisters saved by the operating system for: {}\nlevel used: {}\n",
                       listed(detected), listed(enabled), name(used));
}

}  // namespace riftjit::x86
