// Exact steps of linear systems x' = A x + b, b constant over the step h: x(t + h) = P x(t) + Q b with P = exp(A h) and
// Q = the integral of exp(A s) over 0..h (Rotter & Diesmann 1999).
#pragma once

#include <cstddef>
#include <vector>

namespace riftjit::sim {

struct SquareMatrix {
    explicit SquareMatrix(size_t size) : size(size), values(size * size) {}
    long double& operator()(size_t row, size_t column) { return values[row * size + column]; }
    long double operator()(size_t row, size_t column) const { return values[row * size + column]; }

    size_t size;
    std::vector<long double> values;
};

struct Propagators {
    SquareMatrix states;  // P
    SquareMatrix change;  // P - 1, without the cancellation
    SquareMatrix inputs;  // Q
};

// Equal time constants need no limit of their own: no eigenvalue is ever divided by. For the cascades of synapses and
// membranes (triangular A, couplings of one sign per path) every entry is right to about 2^(s-62) of itself, where 2^s
// is the first power of two above 2 h / (least time constant): Taylor terms of matrices with norm at most 1/2 cancel by
// less than a factor e, and squaring adds numbers of one sign.
Propagators propagators(const SquareMatrix& rates, long double step);

}  // namespace riftjit::sim
