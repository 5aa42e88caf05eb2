// The two searches that most blocks need, over floats or over vectors of them (GCC's vector extension): a lane is a
// group. V and its comparisons behave alike in both: what a scalar would branch on is chosen lane by lane.
#pragma once

#include <cstddef>
#include <span>

#include "graph/quantize/scale_search.h"

namespace riftjit::graph::blocks {

#define RIFTJIT_INLINE inline __attribute__((always_inline))

template <class V>
RIFTJIT_INLINE V all(float value) {
    return V{} + value;
}

template <class V>
RIFTJIT_INLINE V magnitude(const V& value) {
    return value < all<V>(0) ? -value : value;
}

// As nearest() of scale_search.h, as a float.
template <class V>
RIFTJIT_INLINE V nearest_of(const V& value, float low, float high) {
    const V bounded = value < all<V>(low) ? all<V>(low) : all<V>(high) < value ? all<V>(high) : value;
    return (bounded + 0x1.8p23f) - 0x1.8p23f;
}

template <class V>
struct AnyFit {
    V scale, minimum;
};

// fit_with_minimum(); codes, below 256, as floats.
template <class V>
RIFTJIT_INLINE AnyFit<V> fit_any_with_minimum(const V* x, const V* weights, size_t size, int most,
                                              const MinimumSearch& search, V* codes, V* tried) {
    V smallest = x[0], largest = x[0], sum_w = all<V>(0), sum_wx = all<V>(0);
    for (size_t i = 0; i < size; ++i) {
        smallest = x[i] < smallest ? x[i] : smallest;
        largest = largest < x[i] ? x[i] : largest;
        sum_w += weights[i];
        sum_wx += weights[i] * x[i];
    }
    const V low = smallest < all<V>(0) ? smallest : all<V>(0);
    const auto is_flat = largest <= low;
    const V range = is_flat ? all<V>(1) : largest - low;
    V scale = 1 / (float(most) / range), offset = low;
    const auto round_over = [&](float codes_in_range) __attribute__((always_inline)) {
        const V inverse = codes_in_range / (is_flat ? all<V>(1) : largest - offset);
        for (size_t i = 0; i < size; ++i) tried[i] = nearest_of<V>(inverse * (x[i] - offset), 0, float(most));
    };
    const auto error_with = [&](const V& by, const V& from) __attribute__((always_inline)) {
        V error = all<V>(0);
        for (size_t i = 0; i < size; ++i) {
            const V difference = by * tried[i] + from - x[i];
            error += weights[i] * (search.by_magnitude ? magnitude(difference) : difference * difference);
        }
        return error;
    };
    round_over(float(most));
    V least = error_with(scale, offset);
    for (size_t i = 0; i < size; ++i) codes[i] = is_flat ? all<V>(0) : tried[i];
    for (int step = 0; step <= search.steps; ++step) {
        round_over(search.first + search.step * float(step) + float(most));
        V sum_wl = all<V>(0), sum_wll = all<V>(0), sum_wxl = all<V>(0);
        for (size_t i = 0; i < size; ++i) {
            const V weighted = weights[i] * tried[i];
            sum_wl += weighted;
            sum_wll += weighted * tried[i];
            sum_wxl += weighted * x[i];
        }
        const V determinant = sum_w * sum_wll - sum_wl * sum_wl;
        const auto has_solution = determinant > all<V>(0);
        const V divisor = has_solution ? determinant : all<V>(1);
        const V solved_scale = (sum_w * sum_wxl - sum_wx * sum_wl) / divisor;
        const V solved_offset = (sum_wll * sum_wx - sum_wl * sum_wxl) / divisor;
        // A minimum above 0 is none.
        const auto is_above = solved_offset > all<V>(0);
        const V tried_scale = is_above ? sum_wxl / (has_solution ? sum_wll : all<V>(1)) : solved_scale;
        const V tried_offset = is_above ? all<V>(0) : solved_offset;
        const V error = error_with(tried_scale, tried_offset);
        const auto is_better = has_solution & (error < least);
        least = is_better ? error : least;
        scale = is_better ? tried_scale : scale;
        offset = is_better ? tried_offset : offset;
        for (size_t i = 0; i < size; ++i) codes[i] = is_better & (is_flat == 0) ? tried[i] : codes[i];
    }
    return {is_flat ? all<V>(0) : scale, is_flat ? -low : -offset};
}

// fit_signed(); codes from 0 to 2 zero - 1, as floats.
template <class V>
RIFTJIT_INLINE V fit_any_signed(const V* x, const V* weights, size_t size, int zero, V* codes) {
    V extreme = all<V>(0);
    for (size_t i = 0; i < size; ++i) extreme = magnitude(x[i]) > magnitude(extreme) ? x[i] : extreme;
    const auto is_nothing = magnitude(extreme) < all<V>(kNothing);
    const V divisor = is_nothing ? all<V>(1) : extreme;
    struct Products {
        V with_values, squares;
    };
    const auto products_at = [&](const V& inverse) __attribute__((always_inline)) {
        Products products{all<V>(0), all<V>(0)};
        for (size_t i = 0; i < size; ++i) {
            const V code = nearest_of<V>(inverse * x[i], -float(zero), float(zero - 1));
            products.with_values += weights[i] * x[i] * code;
            products.squares += weights[i] * code * code;
        }
        return products;
    };
    V best_inverse = -float(zero) / divisor;
    const Products best = products_at(best_inverse);
    V scale = best.squares > all<V>(0) ? best.with_values / best.squares : all<V>(0);
    V gain = scale * best.with_values;
    for (int step = -9; step <= 9; ++step) {
        if (step == 0) continue;
        const V inverse = -(float(zero) + 0.1f * float(step)) / divisor;
        const Products tried = products_at(inverse);
        const auto has_codes = tried.squares > all<V>(0);
        const auto is_better = has_codes & (tried.with_values * tried.with_values > gain * tried.squares);
        const V tried_scale = tried.with_values / (has_codes ? tried.squares : all<V>(1));
        best_inverse = is_better ? inverse : best_inverse;
        scale = is_better ? tried_scale : scale;
        gain = is_better ? tried_scale * tried.with_values : gain;
    }
    for (size_t i = 0; i < size; ++i) {
        const V code = nearest_of<V>(best_inverse * x[i], -float(zero), float(zero - 1)) + float(zero);
        codes[i] = is_nothing ? all<V>(0) : code;
    }
    return is_nothing ? all<V>(0) : scale;
}

}  // namespace riftjit::graph::blocks
