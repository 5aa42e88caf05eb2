// How far the integers of a weight format's lane program grow: range analysis over its steps. From it follow how many
// products may be summed in an int32, which every back end asks before it adds.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/formats/weight_format.h"

namespace riftjit {

// All values that can occur lie in [least, most]; not every one of them need.
struct IntegerRange {
    int64_t least = 0, most = 0;

    constexpr int64_t magnitude() const { return -least > most ? -least : most; }
    constexpr bool operator==(const IntegerRange&) const = default;
};

struct StepFacts {
    IntegerRange range;    // of an integer step
    uint32_t significand;  // bits, of a number
    uint32_t span;         // this many consecutive elements, from a multiple of it on, share the value
};

// One entry per step. Checks that every look-up stays in its table and every integer in i32.
std::vector<StepFacts> analyse(const WeightFormat& format);

struct WeightBounds {
    IntegerRange code;     // 1 without codes
    IntegerRange product;  // code * multiplier; the code without multipliers
    IntegerRange minimum;  // 0 without minima
    uint32_t group;        // elements that share multiplier, scale, offset and minimum
    uint32_t scale_span;   // elements that share the scale
    // Every product scale * multiplier * code fits the 24 bits of an f32's significand, so neither its order nor fusing
    // changes a bit. (Exponents: a scale that is neither 0, infinite nor NaN lies in [2^-128, 2^127].)
    bool is_exact;

    // The largest power of two, up to scale_span, of elements whose |sum of product * a|, |a| <= most, is below 2^31.
    uint32_t summable(int32_t most) const;
};
WeightBounds bounds(const WeightFormat& format);

// The blocks of integer sums that all back ends keep, since floats follow them: a group shares multiplier and minimum,
// a segment is whole groups whose sum of product * a, |a| <= most, stays below 2^31 and takes one scale.
struct Summation {
    uint32_t group;    // 16 or 32 elements
    uint32_t segment;  // at most `longest`
};
Summation summation(const WeightFormat& format, int32_t most, uint32_t longest);

}  // namespace riftjit
