#include "sim/equations/propagators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace riftjit::sim {
namespace propagators_test {

struct PropagatorCase {
    std::string name;
    size_t size;
    long double step;
    std::vector<long double> rates, states, inputs;
};
const std::vector<PropagatorCase> kCases = {
#define PROPAGATOR_CASES
#include "tests/sim/equations/references.inc"
#undef PROPAGATOR_CASES
};

void expect_close(const SquareMatrix& matrix, const std::vector<long double>& expected, const std::string& name) {
    // The bound of propagators.h with s = 7 for the fastest of the cases, far below a double's 2^-53.
    const long double bound = std::ldexp(1.0L, 7 - 62);
    for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_LE(std::fabs(matrix.values[i] - expected[i]), bound * std::fabs(expected[i])) << name << ", entry " << i;
}

TEST(Propagators, AreExactInEveryEntryAlsoWhereTimeConstantsAgree) {
    for (const PropagatorCase& one : kCases) {
        SquareMatrix rates(one.size);
        rates.values = one.rates;
        const Propagators result = propagators(rates, one.step);
        expect_close(result.states, one.states, one.name + ": exp(A h)");
        expect_close(result.inputs, one.inputs, one.name + ": its integral");
    }
}

TEST(Propagators, ChangeIsTheirDifferenceFromOneWithoutCancellation) {
    SquareMatrix rates(1);
    rates(0, 0) = -0x1p-40L;
    const Propagators result = propagators(rates, 1);
    EXPECT_LE(std::fabs(result.change(0, 0) - std::expm1(-0x1p-40L)), 0x1p-60L * 0x1p-40L);
}

TEST(Propagators, TurnAnOscillatorByItsAngle) {  // couplings of both signs: right to the norm
    SquareMatrix rates(2);
    rates(0, 1) = 3;
    rates(1, 0) = -3;
    const Propagators result = propagators(rates, 0.7L);
    const long double angle = 3 * 0.7L;
    EXPECT_LE(std::fabs(result.states(0, 0) - std::cos(angle)), 0x1p-58L);
    EXPECT_LE(std::fabs(result.states(0, 1) - std::sin(angle)), 0x1p-58L);
    EXPECT_LE(std::fabs(result.inputs(0, 0) - std::sin(angle) / 3), 0x1p-58L);
    EXPECT_LE(std::fabs(result.inputs(0, 1) - (1 - std::cos(angle)) / 3), 0x1p-58L);
}

}  // namespace propagators_test
}  // namespace riftjit::sim
