// Scales and codes of a group of values, by search. Codes l and a scale s stand for values x with weights w; the error
// is the sum of w (x - s l)^2.
//
// For given codes the best scale is s = sum(w x l) / sum(w l^2), and the error is then sum(w x^2) less
// sum(w x l)^2 / sum(w l^2), the gain. So a search tries some scales to round by, and keeps the codes of the largest
// gain. Which scales are tried, and sums in f32 in the values' order, are those of llama.cpp's quantiser, whose files
// then have the same errors.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace riftjit::graph::blocks {

using Values = std::span<const float>;
using Codes = std::span<uint8_t>;

// Below it a group is nothing but zeros.
inline constexpr float kNothing = 1e-15f;

// To nearest, ties to even, within bounds that f32 has exactly. Adding 1.5 * 2^23 leaves the integer in the low bits.
inline int nearest(float value, int low, int high) {
    const float bounded = std::clamp(value, float(low), float(high)) + 0x1.8p23f;
    return int(std::bit_cast<uint32_t>(bounded) & 0x7fffff) - 0x400000;
}

// The first of the largest magnitude.
float extreme_of(Values x);

// x = s * (code - zero), codes below 2 * zero. Scales such that the extreme has a code from -zero - 0.9 to -zero + 0.9.
float fit_signed(Values x, Values weights, int zero, Codes codes);

// The same with weights x^2, from one scale on: each code is moved to the best for the others' scale while that helps.
float fit_signed_by_steps(Values x, int zero, Codes codes);

// x = s * code, none below 0: scales such that the largest has a code from most - 0.4 to most + 0.4, then steps.
float fit_positive(Values x, Values weights, int most, Codes codes);

// x = s * code - minimum, codes up to `most`, minimum at least 0. For each of `steps` + 1 numbers of codes, from
// most + first on, that shall lie between minimum and largest value, codes are rounded; scale and minimum then solve
// the least squares, and the next codes begin at the minimum if it is better. The error is of squares, or of
// magnitudes.
struct MinimumSearch {
    float first, step;
    int steps;
    bool by_magnitude = false;
};
struct ScaleAndMinimum {
    float scale, minimum;
};
ScaleAndMinimum fit_with_minimum(Values x, Values weights, int most, const MinimumSearch& search, Codes codes);

// x = s * table[code], 16 values in ascending order: scales such that the extreme is at the table's lower end, seven
// less or seven more.
int nearest_entry(std::span<const int8_t, 16> table, float value);
float fit_table(Values x, Values weights, std::span<const int8_t, 16> table);

// How much a column's error counts: its importance, and more where the value is large beside the others, whose mean
// square is `mean_square`.
void weigh(Values x, Values importance, float mean_square, std::span<float> weights);
float sum_of_squares(Values x);

}  // namespace riftjit::graph::blocks
