// 16-bit arithmetic as compilers write it: LLVM 19 gives each value a register of its own, LLVM 22 a half of one from
// gfx11 on.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "host/half.h"
#include "tests/jit/rdna/emulator/compiled/compiled_kernels.h"

namespace riftjit::rdna::emulator {
namespace compiler_halves_test {

// A half and its arithmetic. Float has more than twice the bits and two, so that rounding twice is rounding once
// (S. Figueroa, "When is double rounding innocuous?", 1995); the sums of fma below are exact in it.
struct Half {
    uint16_t bits;
    explicit Half(float value) : bits(float_to_half(value)) {}
    static Half of(uint16_t bits) {
        Half half(0.0f);
        half.bits = bits;
        return half;
    }
    operator float() const { return half_to_float(bits); }
};
Half add(Half x, Half y) { return Half(float(x) + float(y)); }
Half subtract(Half x, Half y) { return Half(float(x) - float(y)); }
Half multiply(Half x, Half y) { return Half(float(x) * float(y)); }

std::vector<uint16_t> arithmetic(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
    std::vector<uint16_t> out;
    for (uint32_t i = 0; i < kItems; ++i) {
        const Half x = Half::of(a[i]), y = Half::of(b[i]);
        const Half sum = add(x, y), product = multiply(x, y), difference = subtract(sum, product);
        const Half larger = difference > sum ? product : Half(float(x) * float(y) + float(sum));
        out.push_back(multiply(difference, larger).bits);
        const auto bits = int16_t(a[i] ^ b[i]);
        const auto shifted = int16_t(int16_t(bits << (i & 7)) + int16_t(bits >> 3));
        // In C the comparison and the difference are of ints.
        out.push_back(uint16_t(shifted * 5 > bits ? shifted : bits - shifted));
        out.push_back(float(x) < float(y) ? uint16_t(int16_t(float(x))) : uint16_t(uint32_t(std::abs(float(y)))));
    }
    return out;
}

std::vector<uint16_t> recurrence(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
    std::vector<uint16_t> out;
    for (uint32_t i = 0; i < kItems; ++i) {
        Half p = Half::of(a[i]), q = Half::of(b[i]), r(0.5f);
        uint16_t count = 0, mask = a[i];
        for (uint32_t k = 0; k < 5 + (i & 3); ++k) {
            const Half next = subtract(multiply(p, r), q);
            p = multiply(q, Half(0.25f));
            q = next;
            r = float(next) < float(p) ? multiply(r, Half(0.5f)) : Half(-float(r));
            count = uint16_t(count + (float(next) > 1.0f) + (mask & 1));
            mask = uint16_t(mask >> 1 | mask << 15);
        }
        out.insert(out.end(), {p.bits, q.bits, r.bits, count, mask});
    }
    return out;
}

std::vector<KernelCase> cases() {
    // Sixteenths of at most four: products and sums of them have few bits.
    const auto a = [](uint32_t i) { return float_to_half(float(int32_t(i * 37 % 129) - 64) / 16); };
    const auto b = [](uint32_t i) { return float_to_half(float(int32_t(i * 53 % 127) - 60) / 16); };
    return {make_case<uint16_t>("half_arithmetic", a, b, arithmetic),
            make_case<uint16_t>("half_recurrence", a, b, recurrence)};
}

class CompilerHalves : public testing::TestWithParam<std::tuple<Target, CodeGenerator>> {};

TEST_P(CompilerHalves, RunRightUnderEverySchedule) {
    const auto& [target, generator] = GetParam();
    run_everywhere("halves.cl", target, cases(), generator);
}

INSTANTIATE_TEST_SUITE_P(Targets, CompilerHalves,
                         testing::Combine(testing::Values(Target::gfx1030, Target::gfx1100, Target::gfx1150,
                                                          Target::gfx1201),
                                          testing::Values(CodeGenerator::llvm19, CodeGenerator::llvm22)),
                         [](const auto& info) {
                             const bool is_young = std::get<1>(info.param) == CodeGenerator::llvm22;
                             return std::string(name(std::get<0>(info.param))) + (is_young ? "_llvm22" : "_llvm19");
                         });

}  // namespace compiler_halves_test
}  // namespace riftjit::rdna::emulator
