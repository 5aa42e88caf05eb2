#include "sim/equations/propagators.h"

#include <algorithm>
#include <cmath>

namespace riftjit::sim {

namespace {

SquareMatrix identity(size_t size) {
    SquareMatrix one(size);
    for (size_t i = 0; i < size; ++i) one(i, i) = 1;
    return one;
}

SquareMatrix product(const SquareMatrix& a, const SquareMatrix& b) {
    SquareMatrix result(a.size);
    for (size_t i = 0; i < a.size; ++i)
        for (size_t k = 0; k < a.size; ++k)
            for (size_t j = 0; j < a.size; ++j) result(i, j) += a(i, k) * b(k, j);
    return result;
}

SquareMatrix sum(SquareMatrix a, const SquareMatrix& b, long double scale) {
    for (size_t i = 0; i < a.values.size(); ++i) a.values[i] += scale * b.values[i];
    return a;
}

// Greatest sum of magnitudes in a row.
long double norm(const SquareMatrix& a) {
    long double greatest = 0;
    for (size_t i = 0; i < a.size; ++i) {
        long double row = 0;
        for (size_t j = 0; j < a.size; ++j) row += std::fabs(a(i, j));
        greatest = std::max(greatest, row);
    }
    return greatest;
}

long double power_of_two_near(long double value) { return std::exp2(std::round(std::log2(value))); }

// Units of the states (powers of two, hence exact) in which couplings are not large beside the rates themselves, so
// that the norm, and with it the number of squarings, tells the fastest rate and not the choice of units.
std::vector<long double> balance(SquareMatrix& a, long double step) {
    constexpr int kSweeps = 12;
    std::vector<long double> scale(a.size, 1);
    long double fastest = 0;
    for (size_t i = 0; i < a.size; ++i) fastest = std::max(fastest, std::fabs(a(i, i)));
    const long double wanted = (fastest > 0 ? fastest : 1 / step) / 8;
    for (int sweep = 0; sweep < kSweeps; ++sweep)
        for (size_t i = 0; i < a.size; ++i) {
            long double row = 0, column = 0;
            for (size_t j = 0; j < a.size; ++j) {
                if (j == i) continue;
                row += std::fabs(a(i, j));
                column += std::fabs(a(j, i));
            }
            // Where nothing comes in or nothing goes out, the other side can be made as small as is wanted.
            long double factor = 1;
            if (row > 0 && column > 0)
                factor = power_of_two_near(std::sqrt(row / column));
            else if (row > wanted)
                factor = power_of_two_near(row / wanted);
            else if (column > wanted)
                factor = power_of_two_near(wanted / column);
            scale[i] *= factor;
            for (size_t j = 0; j < a.size; ++j) {
                if (j == i) continue;
                a(i, j) /= factor;
                a(j, i) *= factor;
            }
        }
    return scale;
}

}  // namespace

Propagators propagators(const SquareMatrix& rates, long double step) {
    constexpr int kTerms = 26;  // (1/2)^26 / 26! < 2^-114
    const size_t size = rates.size;
    SquareMatrix scaled = rates;
    const std::vector<long double> scale = balance(scaled, step);
    for (long double& value : scaled.values) value *= step;
    const long double size_of_step = norm(scaled);
    const int squarings = size_of_step > 0.5L ? static_cast<int>(std::ceil(std::log2(size_of_step))) + 1 : 0;
    for (long double& value : scaled.values) value = std::ldexp(value, -squarings);

    // exp(X) and (exp(X) - 1) / X from their series, then for 2X: exp(X)^2 and (exp(X) + 1) (exp(X) - 1) / X / 2.
    const SquareMatrix one = identity(size);
    SquareMatrix exponential = one, integral = one;
    for (int term = kTerms; term >= 1; --term) {  // Horner
        exponential = sum(one, product(scaled, exponential), 1.0L / term);
        integral = sum(one, product(scaled, integral), 1.0L / (term + 1));
    }
    for (int i = 0; i < squarings; ++i) {
        integral = product(sum(exponential, one, 1), integral);
        for (long double& value : integral.values) value /= 2;
        exponential = product(exponential, exponential);
    }
    for (size_t i = 0; i < size; ++i)
        for (size_t j = 0; j < size; ++j) {
            exponential(i, j) *= scale[i] / scale[j];
            integral(i, j) *= step * scale[i] / scale[j];
        }
    SquareMatrix change = product(rates, integral);
    return {std::move(exponential), std::move(change), std::move(integral)};
}

}  // namespace riftjit::sim
