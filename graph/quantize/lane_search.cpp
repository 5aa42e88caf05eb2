#include "graph/quantize/lane_search.h"

#include <array>

// Vectors of eight floats are passed to nothing that is not inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "graph/quantize/fit_any.h"

namespace riftjit::graph::blocks {

namespace {

constexpr size_t kMostOfLane = 32;
using Lanes = float __attribute__((vector_size(4 * kLanes)));
using LaneArray = std::array<Lanes, kMostOfLane>;

RIFTJIT_INLINE size_t to_lanes(Values values, LaneArray& out) {
    const size_t size = values.size() / kLanes;
    for (size_t i = 0; i < size; ++i)
        for (size_t lane = 0; lane < kLanes; ++lane) out[i][lane] = values[lane * size + i];
    return size;
}

RIFTJIT_INLINE void from_lanes(const LaneArray& lanes, Codes codes) {
    const size_t size = codes.size() / kLanes;
    for (size_t i = 0; i < size; ++i)
        for (size_t lane = 0; lane < kLanes; ++lane) codes[lane * size + i] = uint8_t(lanes[i][lane]);
}

RIFTJIT_INLINE void with_minimum(Values x, Values weights, int most, const MinimumSearch& search, Codes codes,
                                 std::span<ScaleAndMinimum, kLanes> found) {
    LaneArray values{}, factors{}, best{}, tried{};
    const size_t size = to_lanes(x, values);
    to_lanes(weights, factors);
    const auto fit =
        fit_any_with_minimum<Lanes>(values.data(), factors.data(), size, most, search, best.data(), tried.data());
    for (size_t lane = 0; lane < kLanes; ++lane) found[lane] = {fit.scale[lane], fit.minimum[lane]};
    from_lanes(best, codes);
}

RIFTJIT_INLINE void with_signs(Values x, Values weights, int zero, Codes codes, std::span<float, kLanes> scales) {
    LaneArray values{}, factors{}, best{};
    const size_t size = to_lanes(x, values);
    to_lanes(weights, factors);
    const Lanes fit = fit_any_signed<Lanes>(values.data(), factors.data(), size, zero, best.data());
    for (size_t lane = 0; lane < kLanes; ++lane) scales[lane] = fit[lane];
    from_lanes(best, codes);
}

// Without FMA, which would round once where two operations do twice. tests/check_baseline.sh knows such functions by
// the end of their names.
__attribute__((target("avx2"), noinline)) void with_minimum_avx2(Values x, Values weights, int most,
                                                                 const MinimumSearch& search, Codes codes,
                                                                 std::span<ScaleAndMinimum, kLanes> found) {
    with_minimum(x, weights, most, search, codes, found);
}
__attribute__((target("avx2"), noinline)) void with_signs_avx2(Values x, Values weights, int zero, Codes codes,
                                                               std::span<float, kLanes> scales) {
    with_signs(x, weights, zero, codes, scales);
}

}  // namespace

void fit_eight_with_minimum(Values x, Values weights, int most, const MinimumSearch& search, Codes codes,
                            std::span<ScaleAndMinimum, kLanes> found) {
    if (__builtin_cpu_supports("avx2")) return with_minimum_avx2(x, weights, most, search, codes, found);
    with_minimum(x, weights, most, search, codes, found);
}

void fit_eight_signed(Values x, Values weights, int zero, Codes codes, std::span<float, kLanes> scales) {
    if (__builtin_cpu_supports("avx2")) return with_signs_avx2(x, weights, zero, codes, scales);
    with_signs(x, weights, zero, codes, scales);
}

}  // namespace riftjit::graph::blocks
