#include "graph/quantize/scale_search.h"

#include <array>
#include <cmath>

#include "graph/quantize/fit_any.h"

namespace riftjit::graph::blocks {

namespace {

constexpr size_t kMostValues = 32;

// Of some codes: what the best scale and its gain follow from.
struct Products {
    float with_values = 0, squares = 0;  // sum(w x l), sum(w l^2)

    void add(float weight, float value, float code) {
        with_values += weight * value * code;
        squares += weight * code * code;
    }
    float scale() const { return squares > 0 ? with_values / squares : 0; }
    // Whether the gain is above that of others; both sides multiplied by what is positive.
    bool gains_more_than(const Products& other) const {
        return with_values * with_values * other.squares > other.with_values * other.with_values * squares;
    }
};

}  // namespace

float extreme_of(Values x) {
    float extreme = 0;
    for (const float value : x)
        if (std::fabs(value) > std::fabs(extreme)) extreme = value;
    return extreme;
}

float sum_of_squares(Values x) {
    float sum = 0;
    for (const float value : x) sum += value * value;
    return sum;
}

void weigh(Values x, Values importance, float mean_square, std::span<float> weights) {
    for (size_t i = 0; i < x.size(); ++i) weights[i] = importance[i] * std::sqrt(mean_square + x[i] * x[i]);
}

float fit_signed(Values x, Values weights, int zero, Codes codes) {
    std::array<float, kMostValues> best{};
    const float scale = fit_any_signed<float>(x.data(), weights.data(), x.size(), zero, best.data());
    for (size_t i = 0; i < x.size(); ++i) codes[i] = uint8_t(best[i]);
    return scale;
}

float fit_signed_by_steps(Values x, int zero, Codes codes) {
    const float extreme = extreme_of(x);
    if (std::fabs(extreme) < kNothing) {
        std::ranges::fill(codes, uint8_t(0));
        return 0;
    }
    std::array<int, kMostValues> l{};
    Products best;
    for (size_t i = 0; i < x.size(); ++i) {
        l[i] = nearest(-float(zero) / extreme * x[i], -zero, zero - 1);
        best.add(x[i] * x[i], x[i], float(l[i]));
    }
    constexpr int kMostRounds = 5;
    bool has_changed = true;
    for (int round = 0; round < kMostRounds && has_changed; ++round) {
        has_changed = false;
        for (size_t i = 0; i < x.size(); ++i) {
            const float weight = x[i] * x[i];
            Products others = best;
            others.with_values -= weight * x[i] * float(l[i]);
            others.squares -= weight * float(l[i]) * float(l[i]);
            if (others.with_values <= 0) continue;
            const int moved = nearest(x[i] * others.squares / others.with_values, -zero, zero - 1);
            if (moved == l[i]) continue;
            others.add(weight, x[i], float(moved));
            if (others.squares <= 0 || !others.gains_more_than(best)) continue;
            l[i] = moved;
            best = others;
            has_changed = true;
        }
    }
    for (size_t i = 0; i < x.size(); ++i) codes[i] = uint8_t(l[i] + zero);
    return best.scale();
}

float fit_positive(Values x, Values weights, int most, Codes codes) {
    const float largest = std::max(0.0f, std::ranges::max(x));
    if (largest < kNothing) {
        std::ranges::fill(codes, uint8_t(0));
        return 0;
    }
    const auto error_at = [&](float inverse) {
        float error = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            const float difference = x[i] - 1 / inverse * float(nearest(inverse * x[i], 0, most));
            error += weights[i] * difference * difference;
        }
        return error;
    };
    float inverse = float(most) / largest, least = error_at(inverse);
    for (int step = -4; step <= 4; ++step) {
        if (step == 0) continue;
        const float tried = (0.1f * float(step) + float(most)) / largest;
        if (const float error = error_at(tried); error < least) {
            least = error;
            inverse = tried;
        }
    }
    Products best;
    for (size_t i = 0; i < x.size(); ++i) {
        codes[i] = uint8_t(nearest(inverse * x[i], 0, most));
        best.add(weights[i], x[i], float(codes[i]));
    }
    constexpr int kMostRounds = 5;
    bool has_changed = true;
    for (int round = 0; round < kMostRounds && has_changed; ++round) {
        has_changed = false;
        for (size_t i = 0; i < x.size(); ++i) {
            Products others = best;
            others.with_values -= weights[i] * x[i] * float(codes[i]);
            others.squares -= weights[i] * float(codes[i]) * float(codes[i]);
            if (others.with_values <= 0 || others.squares <= 0) continue;
            const int moved = nearest(x[i] * others.squares / others.with_values, 0, most);
            if (moved == codes[i]) continue;
            others.add(weights[i], x[i], float(moved));
            if (!others.gains_more_than(best)) continue;
            codes[i] = uint8_t(moved);
            best = others;
            has_changed = true;
        }
    }
    return best.scale();
}

ScaleAndMinimum fit_with_minimum(Values x, Values weights, int most, const MinimumSearch& search, Codes codes) {
    std::array<float, kMostValues> best{}, tried{};
    const auto fit =
        fit_any_with_minimum<float>(x.data(), weights.data(), x.size(), most, search, best.data(), tried.data());
    for (size_t i = 0; i < x.size(); ++i) codes[i] = uint8_t(best[i]);
    return {fit.scale, fit.minimum};
}

// Of two at the same distance the lower one below the middle entries, and the upper one from there on, as halving the
// table finds it: the first whose midpoint with the next is not below.
int nearest_entry(std::span<const int8_t, 16> table, float value) {
    int low = 0, high = 15;
    if (value <= float(table[0])) return 0;
    if (value >= float(table[15])) return 15;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        (value < float(table[size_t(middle)]) ? high : low) = middle;
    }
    return value - float(table[size_t(low)]) < float(table[size_t(high)]) - value ? low : high;
}

float fit_table(Values x, Values weights, std::span<const int8_t, 16> table) {
    const float extreme = extreme_of(x);
    if (std::fabs(extreme) < kNothing) return 0;
    const auto products_at = [&](float inverse) {
        Products products;
        for (size_t i = 0; i < x.size(); ++i)
            products.add(weights[i], x[i], float(table[size_t(nearest_entry(table, inverse * x[i]))]));
        return products;
    };
    // First with the extreme at the lower end's magnitude, on its own side.
    const Products first = products_at(-float(table[0]) / extreme);
    float scale = first.scale(), gain = scale * first.with_values;
    constexpr int kSteps = 7;
    for (int step = -kSteps; step <= kSteps; ++step) {
        const Products tried = products_at(float(step + table[0]) / extreme);
        if (tried.squares > 0 && tried.with_values * tried.with_values > gain * tried.squares) {
            scale = tried.scale();
            gain = scale * tried.with_values;
        }
    }
    return scale;
}

}  // namespace riftjit::graph::blocks
