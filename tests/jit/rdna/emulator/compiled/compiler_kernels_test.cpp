// Kernels that clang-19 compiled, with code, encodings and ABI that nobody here wrote: they give the right answer in
// every generation, wave size and schedule, at -O0 and -O2, and nothing is reported.
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "tests/jit/rdna/emulator/compiled/compiled_kernels.h"

namespace riftjit::rdna::emulator {
namespace compiler_kernels_test {

std::vector<uint32_t> reduced(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
    std::vector<uint32_t> sums(kGroups);
    for (uint32_t i = 0; i < kItems; ++i) sums[i / 64] += a[i] ^ b[i];
    return sums;
}
std::vector<uint32_t> scanned(const std::vector<uint32_t>& a, const std::vector<uint32_t>&) {
    std::vector<uint32_t> sums(a);
    for (uint32_t i = 0; i < kItems; ++i)
        if (i % 64) sums[i] += sums[i - 1];
    return sums;
}
std::vector<uint32_t> counted(const std::vector<uint32_t>& a, const std::vector<uint32_t>&) {
    std::vector<uint32_t> bins(32);
    for (const uint32_t value : a) ++bins[value & 31];
    return bins;
}
uint32_t diverged(uint32_t x) {
    uint32_t r = 0;
    switch (x & 7) {
        case 0:
            r = x * 3;
            break;
        case 1:
            for (uint32_t k = 0; k < (x & 31); ++k) {
                if (k == 7) continue;
                r += k * x;
                if (r > 100000) break;
            }
            break;
        case 2:
            r = x / 7;
            break;
        case 3:
            r = x % 13;
            break;
        case 4:
            r = static_cast<uint32_t>(std::popcount(x));
            break;
        case 5:
            r = static_cast<uint32_t>(std::countl_zero(x | 1));
            break;
        case 6:
            r = x << (x & 15);
            break;
        default:
            r = ~x;
    }
    while (r > 1000) r = (r >> 1) ^ (r & 5);
    return r;
}

struct Padded {
    int8_t c;
    int32_t x;
    int16_t s;
    double d;
};

KernelCase padded_case() {
    std::vector<Padded> a(kItems), b(kItems), expected(kItems);
    KernelCase result{"pad", {}, {}, {}};
    for (int32_t i = 0; i < static_cast<int32_t>(kItems); ++i) {
        a[i] = {static_cast<int8_t>(i - 64), i * 1000, static_cast<int16_t>(-i), i * 0.5};
        b[i] = {0, 0, 0, i * 0.25};
        expected[i] = a[i];
        expected[i].x += a[i].c;
        if (i & 1) expected[i].d = b[i].d * 2;
        for (const size_t at : {1, 2, 3, 10, 11, 12, 13, 14, 15})
            result.ignored.push_back(static_cast<size_t>(i) * sizeof(Padded) + at);
    }
    result.a = bytes_of(a), result.b = bytes_of(b), result.expected = bytes_of(expected);
    return result;
}

KernelCase wide_case() {
    return make_case<uint64_t>(
        "wide", [](uint32_t i) { return (i + 1) * 0x9E3779B97F4A7C15; }, [](uint32_t i) { return ~uint64_t{i}; },
        [](const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
            std::vector<uint64_t> out(kItems);
            for (uint32_t i = 0; i < kItems; ++i)
                out[i] = a[i] * a[i] + a[i] / (i + 3) + a[i] % 1000003 + (b[i] >> (a[i] & 63));
            return out;
        });
}

KernelCase bytes_case() {
    return make_case<uint32_t>(
        "bytes", [](uint32_t i) { return i * 0x01030507; }, [](uint32_t i) { return i * 0x0B0D1113; },
        [](const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
            std::vector<uint32_t> out(kItems);
            const auto byte = [](uint32_t word, unsigned n) { return word >> 8 * n & 0xFF; };
            for (uint32_t i = 0; i < kItems; ++i)
                out[i] = (byte(a[i], 0) + byte(b[i], 0)) / 2 | (byte(a[i], 1) ^ byte(b[i], 2)) << 8 |
                         ((byte(a[i], 3) - byte(b[i], 3)) & 0xFF) << 16 | byte(a[i], 2) << 24;
            return out;
        });
}

std::vector<KernelCase> integer_cases() {
    std::vector<KernelCase> cases;
    cases.push_back(make_case<uint32_t>("reduce", some_number, other_number, reduced));
    cases.push_back(make_case<uint32_t>("scan", some_number, other_number, scanned));
    cases.push_back(make_case<uint32_t>("histogram", some_number, other_number, counted));
    cases.push_back(make_case<uint32_t>("diverge", some_number, other_number, [](const auto& a, const auto&) {
        std::vector<uint32_t> out;
        for (const uint32_t x : a) out.push_back(diverged(x));
        return out;
    }));
    // LLVM's search for partial forwarding visits each block once: it misses a loop that is left in its middle.
    cases.back().broken_by_clang = FindingKind::valu_partial_forwarding;
    cases.push_back(make_case<uint32_t>("spill", some_number, other_number, [](const auto& a, const auto& b) {
        std::vector<uint32_t> out;
        for (uint32_t i = 0; i < kItems; ++i) {
            const uint32_t first = a[i] & 15, second = b[i] & 15;
            out.push_back(2 * a[i] + first * first + second * second);
        }
        return out;
    }));
    return cases;
}

std::vector<KernelCase> all_cases() {
    std::vector<KernelCase> cases = integer_cases();
    const auto a = [](uint32_t i) { return static_cast<float>(i) * 1.5f - 20.0f; };
    const auto b = [](uint32_t i) { return static_cast<float>(i) * -0.37f - 1.0f; };
    cases.push_back(make_case<float>("add", a, b, [](const auto& x, const auto& y) {
        std::vector<float> out;
        for (uint32_t i = 0; i < kItems; ++i) out.push_back(x[i] + y[i]);
        return out;
    }));
    cases.push_back(make_case<float>("divide", a, b, [](const auto& x, const auto& y) {
        std::vector<double> out;
        for (uint32_t i = 0; i < kItems; ++i)
            out.push_back(static_cast<double>(x[i]) / static_cast<double>(y[i]) + static_cast<double>(x[i] / y[i]));
        return out;
    }));
    cases.push_back(wide_case());
    cases.push_back(bytes_case());
    cases.push_back(padded_case());
    return cases;
}

class CompilerKernels : public testing::TestWithParam<Target> {};

TEST_P(CompilerKernels, RunRightUnderEverySchedule) { run_everywhere("basic.cl", GetParam(), all_cases()); }

TEST_P(CompilerKernels, LoadThroughGenericPointers) {
    const KernelCase cases[] = {
        make_case<uint32_t>("adds_up", some_number, other_number, [](const auto& a, const auto& b) {
            std::vector<uint32_t> out;
            for (uint32_t i = 0; i < kItems; ++i) out.push_back((a[i] * 3 ^ a[i] >> 5) + (b[i] * 3 ^ b[i] >> 5) + b[i]);
            return out;
        })};
    run_everywhere("generic.cl", GetParam(), cases);
}

// With every check: LLVM 22 knows the rule of gfx12's SGPR reads.
TEST(CompilerKernelsByLlvm22, KeepEveryRuleOfGfx12) {
    run_everywhere("basic.cl", Target::gfx1201, all_cases(), CodeGenerator::llvm22);
}

INSTANTIATE_TEST_SUITE_P(Targets, CompilerKernels, testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1201),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace compiler_kernels_test
}  // namespace riftjit::rdna::emulator
