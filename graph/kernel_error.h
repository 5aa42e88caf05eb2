// How far off kernels may be, whose floats are f32 and which add in the order that their specs name: bounds beside the
// reference in double. Each is argued where it stands, by counting what is rounded.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/batch.h"
#include "jit/formats/lane_reference.h"
#include "jit/formats/weight_bounds.h"
#include "jit/kernel_spec.h"

namespace riftjit::graph {

// What one rounding takes or adds, relatively.
inline constexpr double kRounding = 0x1p-24;

struct Bounded {
    double value = 0, bound = 0;
};

// Of a part of a row as HadamardSpec has it: 15 sums of 16 products, one for each doubling, the factor and its product.
// Each rounds what is no larger than the sum of all magnitudes.
inline std::vector<Bounded> hadamard_of(std::span<const float> x) {
    const auto size = uint32_t(x.size());
    double magnitudes = 0;
    for (const float value : x) magnitudes += std::abs(value);
    const double factor = 1 / std::sqrt(double(size));
    const double bound = (15 + std::bit_width(size / 16) - 1 + 2) * kRounding * magnitudes * factor;
    std::vector<Bounded> result;
    for (uint32_t i = 0; i < size; ++i) {
        double sum = 0;
        for (uint32_t j = 0; j < size; ++j) sum += std::popcount(i & j) % 2 == 0 ? x[j] : -x[j];
        result.push_back({sum * factor, bound});
    }
    return result;
}

// ---- rows ----------------------------------------------------------------------------------------------------------

// Of silu 3 ulp, and the product.
inline constexpr double kSwigluError = 8 * kRounding;
inline double swiglu_of(double gate, double up) { return gate / (1 + std::exp(-gate)) * up; }

// Sums of positive numbers, an addition for each 64 and 6 for the 64 sums, halved by the root; so are the mean and
// epsilon; root, inverse and two products are four.
inline double rms_norm_error(uint32_t width) { return ((width / 64 + 1 + 6 + 2) / 2.0 + 5) * kRounding; }

inline std::vector<Bounded> layer_norm_of(std::span<const float> x, std::span<const float> gain,
                                          std::span<const float> bias, double epsilon) {
    const auto width = double(x.size());
    double mean = 0, size = 0, squares = 0, differences = 0;
    for (const float value : x) mean += value, size += std::abs(value);
    mean /= width, size /= width;
    for (const float value : x) {
        squares += (value - mean) * (value - mean);
        differences += std::abs(value - mean);
    }
    const double scale = 1 / std::sqrt(squares / width + epsilon);
    // The mean is off by what its sums round, and so is each difference, which rounds once more. Squares take twice
    // that along and round as sums do; the root halves it; root, inverse, product and fma are four.
    const double chain = double(x.size() / 64) + 1 + 6, of_mean = (chain + 1) * size * kRounding;
    const double of_squares = 2 * differences * of_mean / squares + (chain + 4) * kRounding;
    std::vector<Bounded> result;
    for (size_t i = 0; i < x.size(); ++i) {
        const double normed = (x[i] - mean) * scale, value = normed * gain[i] + (bias.empty() ? 0.0 : bias[i]);
        const double relative = of_squares / 2 + 5 * kRounding;
        result.push_back(
            {value, (of_mean * scale + std::abs(normed) * relative) * std::abs(gain[i]) + std::abs(value) * kRounding});
    }
    return result;
}

// How far off the elements of a row of codes are, whose own are off by `before`, relative to the largest of their
// block: half a scale, and scale, inverse and product round once each.
inline std::vector<double> quantisation_error(std::span<const double> x, double before) {
    std::vector<double> error(x.size());
    for (size_t first = 0; first < x.size(); first += kI16Block) {
        const size_t end = std::min<size_t>(first + kI16Block, x.size());
        double largest = 0;
        for (size_t i = first; i < end; ++i) largest = std::max(largest, std::abs(x[i]));
        for (size_t i = first; i < end; ++i) error[i] = largest / kI16Max / 2 + largest * (before + 4 * kRounding);
    }
    return error;
}

// ---- the cache -----------------------------------------------------------------------------------------------------

// How far off what lies in the cache is, whose elements were off by `before`, relative to the largest of their block
// of 32. Of Q8_0 half a scale, and as much more as a scale of 11 bits, quotient, inverse and product change. Packed
// types are left out: what lies there is compared with graph/quantize_row.h itself.
inline std::vector<double> cache_error(DType type, std::span<const double> x, double before) {
    constexpr size_t kBlock = 32;
    std::vector<double> error(x.size());
    for (size_t first = 0; first < x.size(); first += kBlock) {
        const size_t end = std::min(first + kBlock, x.size());
        double largest = 0;
        for (size_t i = first; i < end; ++i) largest = std::max(largest, std::abs(x[i]));
        for (size_t i = first; i < end; ++i) {
            error[i] = largest * before;
            if (type == DType::F16) error[i] += std::max(std::abs(x[i]) * 0x1p-11, 0x1p-25);
            if (type == DType::Q8_0) error[i] += largest / 127 * 0.5 * (1 + 0x1p-10) + largest * 4 * kRounding;
        }
    }
    return error;
}

// Which positions a query sees, and what its scores are capped at (0: nothing).
struct Seen {
    uint32_t begin, end;
    double softcap = 0;
};
// One query over positions of its KV head, which lie `stride` apart from position 0 on.
//
// Scores: head_dim fused multiply-adds of terms q k, then the scale: off by |scale| (head_dim + 1) sum |q k| roundings
// at most, which a cap does not enlarge; its quotient's two are one of tanh's result at most, tanh is off by two
// roundings of 1 and the product by one. A probability depends on its own score and, through the differences of maxima
// that rescale its block and those after it in its segment, and its segment and those after it, on no other: they
// cancel but for a rounding and an exp (within 1.4 ulp, that is 3 roundings) each. Each position adds a rounding to the
// sum and to the output, each block and each merge a product's; the division and the last product add three. All this
// is relative to sum p |v| / sum p, of numerator and denominator.
inline std::vector<Bounded> attention_of(const float* q, const double* keys, const double* values, const Seen& seen,
                                         size_t stride, uint32_t head_dim, double scale) {
    const uint32_t positions = seen.end - seen.begin;
    keys += seen.begin * stride;
    values += seen.begin * stride;
    std::vector<double> scores(positions), sizes(head_dim);
    std::vector<Bounded> out(head_dim);
    double largest = -INFINITY, score_error = 0, sum = 0;
    for (uint32_t j = 0; j < positions; ++j) {
        double terms = 0;
        for (uint32_t d = 0; d < head_dim; ++d) {
            const double term = q[d] * keys[j * stride + d];
            scores[j] += term;
            terms += std::abs(term);
        }
        scores[j] *= scale;
        score_error = std::max(score_error, kRounding * ((head_dim + 1) * terms * std::abs(scale) + 4 * seen.softcap));
        if (seen.softcap != 0) scores[j] = seen.softcap * std::tanh(scores[j] / seen.softcap);
        largest = std::max(largest, scores[j]);
    }
    for (double& score : scores) sum += score = std::exp(score - largest);
    for (uint32_t j = 0; j < positions; ++j)
        for (uint32_t d = 0; d < head_dim; ++d) {
            const double term = scores[j] / sum * values[j * stride + d];
            out[d].value += term;
            sizes[d] += std::abs(term);
        }
    const uint32_t segments = segment_count(seen.end - 1) - seen.begin / kKvPage;
    const uint32_t blocks = (seen.end + 63) / 64 - seen.begin / 64;
    const double factors = std::min(blocks, 4u) + segments;  // blocks of one segment, and merges
    const double roundings = positions + 4 * (factors + 1) + 3;
    const double probability_error = score_error + kRounding * std::abs(largest) * (factors + 1);
    const double relative = 2 * (probability_error + kRounding * roundings);
    for (uint32_t d = 0; d < head_dim; ++d) out[d].bound = relative * sizes[d] + 1e-37;
    return out;
}

// ---- products with weights -----------------------------------------------------------------------------------------

// A row of weights as it lies in a file, and the sizes of what is added up to be each element.
struct WeightRow {
    std::vector<double> values, sizes;
};
inline WeightRow weight_row(DType type, const std::byte* block, uint32_t width) {
    const WeightFormat& format = weight_format(type);
    const uint32_t elements = traits(type).block_elements, count = std::min(elements, kMostLanes);
    WeightRow row;
    for (uint32_t done = 0; done < width; done += elements, block += traits(type).block_bytes)
        for (uint32_t first = 0; first < elements; first += count) {
            const LaneGroup group = decode_group(format, block, first, count);
            for (uint32_t i = 0; i < count; ++i) {
                const double product = double{group.scale[i]} * group.multiplier[i] * group.code[i];
                const double minimum = group.minimum[i] == 0 ? 0 : double{group.minimum_scale[i]} * group.minimum[i];
                const double offset = group.offset[i];
                row.values.push_back(product + offset - minimum);
                row.sizes.push_back(std::abs(product) + std::abs(offset) + std::abs(minimum));
            }
        }
    return row;
}

// Of a sum over a row. Quantised: sums of integers are converted, codes' and minima's, and added, a segment each and
// the minima once; the last block of 256 takes part in as many sums as there are blocks.
inline double product_roundings(DType type, uint32_t width) {
    if (type == DType::F32 || type == DType::F16 || type == DType::BF16) return width;
    const Summation sums = summation(weight_format(type), kI16Max, kI16Block);
    return 2 + kI16Block / sums.segment + 1 + (width + kI16Block - 1) / kI16Block;
}

// Of a row of weights and one of activations, whose elements are off by x_error.
inline Bounded product_of(const WeightRow& weights, double roundings, std::span<const double> x,
                          std::span<const double> x_error = {}) {
    Bounded product;
    for (size_t k = 0; k < x.size(); ++k) {
        product.value += weights.values[k] * x[k];
        product.bound += weights.sizes[k] * std::abs(x[k]) * roundings * kRounding;
        if (!x_error.empty()) product.bound += weights.sizes[k] * x_error[k] * (1 + roundings * kRounding);
    }
    return product;
}
// Two more roundings, of a bias and of what lies there; they may cancel each other.
inline Bounded plus(const Bounded& product, double bias, double there) {
    const double sizes = std::abs(product.value) + 2 * std::abs(bias) + std::abs(there);
    return {product.value + bias + there, product.bound * (1 + 2 * kRounding) + 2 * sizes * kRounding};
}
// silu is at most as large as its argument, and 1.1 times as steep.
inline Bounded gated(const Bounded& gate, const Bounded& up) {
    const double value = swiglu_of(gate.value, up.value);
    const double bound = 1.1 * gate.bound * (std::abs(up.value) + up.bound) + std::abs(gate.value) * up.bound;
    return {value, bound + (std::abs(value) + bound) * kSwigluError};
}

}  // namespace riftjit::graph
