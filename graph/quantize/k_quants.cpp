// Super-blocks of 256: groups of 16 or 32 whose scales, and minima, are codes of the block's own scales. First each
// group has its best scale; then these become codes, and last the values are rounded again by what a reader will have.
#include <array>
#include <cmath>
#include <cstring>

#include "graph/quantize/block_encoders.h"
#include "graph/quantize/lane_search.h"

namespace riftjit::graph::blocks {

namespace {

using SuperCodes = std::array<uint8_t, kSuperBlock>;
constexpr MinimumSearch kWithImportance{-0.9f, 0.05f, 36};

// Two bits of each code: byte l of 32 has those of elements l, l + 32, l + 64 and l + 96, then the same of the second
// half.
void put_crumbs(const SuperCodes& codes, int shift, uint8_t* bytes) {
    for (size_t half = 0; half < 2; ++half)
        for (size_t l = 0; l < 32; ++l) {
            const uint8_t* first = codes.data() + 128 * half + l;
            uint8_t byte = 0;
            for (size_t quarter = 0; quarter < 4; ++quarter)
                byte |= uint8_t((first[32 * quarter] >> shift & 3) << 2 * quarter);
            bytes[32 * half + l] = byte;
        }
}

// ---- groups with scale and minimum: Q2_K, Q4_K, Q5_K ----------------------------------------------------------------

struct MinimumFormat {
    size_t group;
    int most, most_scale;  // codes of values, and of scales and minima
    MinimumSearch search;  // without importance
};

// Of a group without importance: Q2_K counts magnitudes by magnitudes, the others squares by magnitude and mean.
void default_weights(const MinimumFormat& format, Values x, std::span<float> weights) {
    const float base = format.search.by_magnitude ? 0 : std::sqrt(sum_of_squares(x) / float(x.size()));
    for (size_t i = 0; i < x.size(); ++i) weights[i] = base + std::fabs(x[i]);
}

struct MinimumBlock {
    SuperCodes codes{};
    std::array<uint8_t, 16> scales{}, minima{};
    float scale = 0, minimum = 0;  // of the block
};

// Codes of the groups' values by the largest alone, or, where columns have importance, by search.
float fit_group_values(Values values, Values weights, int most, bool is_searched, Codes codes) {
    if (is_searched) return fit_positive(values, weights, most, codes);
    const float largest = std::max(0.0f, std::ranges::max(values));
    const float inverse = largest > 0 ? float(most) / largest : 0;
    for (size_t i = 0; i < values.size(); ++i) codes[i] = uint8_t(nearest(inverse * values[i], 0, most));
    return largest / float(most);
}

MinimumBlock fit_minimum_block(const MinimumFormat& format, const BlockInput& input) {
    const size_t groups = kSuperBlock / format.group;
    const bool has_importance = !input.importance.empty();
    // Q2_K's mean square is that of the block, the others' twice that.
    const float mean_square = sum_of_squares(input.x) / kSuperBlock * (format.search.by_magnitude ? 1 : 2);
    MinimumBlock block;
    std::array<float, 16> scales{}, minima{}, sums{};
    std::array<float, kSuperBlock> all_weights{};
    for (size_t group = 0; group < groups; ++group) {
        const size_t at = group * format.group;
        const Values x = input.x.subspan(at, format.group);
        const std::span weights = std::span(all_weights).subspan(at, format.group);
        if (has_importance)
            weigh(x, input.importance.subspan(at, format.group), mean_square, weights);
        else
            default_weights(format, x, weights);
        for (const float weight : weights) sums[group] += weight;
    }
    for (size_t first = 0; first < groups; first += kLanes) {
        const size_t at = first * format.group, size = kLanes * format.group;
        std::array<ScaleAndMinimum, kLanes> found;
        fit_eight_with_minimum(input.x.subspan(at, size), Values(all_weights).subspan(at, size), format.most,
                               has_importance ? kWithImportance : format.search,
                               std::span(block.codes).subspan(at, size), found);
        for (size_t lane = 0; lane < kLanes; ++lane) {
            scales[first + lane] = found[lane].scale;
            minima[first + lane] = found[lane].minimum;
        }
    }
    const Values all_sums = std::span(sums).first(groups);
    block.scale = fit_group_values(std::span(scales).first(groups), all_sums, format.most_scale, has_importance,
                                   std::span(block.scales).first(groups));
    block.minimum = fit_group_values(std::span(minima).first(groups), all_sums, format.most_scale, has_importance,
                                     std::span(block.minima).first(groups));
    return block;
}

// By the scales that a reader will have.
void round_again(const MinimumFormat& format, Values x, float scale, float minimum, MinimumBlock& block) {
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const size_t group = i / format.group;
        const float group_scale = scale * float(block.scales[group]);
        if (group_scale == 0) continue;
        const float group_minimum = minimum * float(block.minima[group]);
        block.codes[i] = uint8_t(nearest((x[i] + group_minimum) / group_scale, 0, format.most));
    }
}

// The codes that go with both factors as `halves` hold them.
MinimumBlock encode_minimum_block(const MinimumFormat& format, const BlockInput& input, uint8_t* halves) {
    MinimumBlock found = fit_minimum_block(format, input);
    const float scale = put_half(halves, found.scale), minimum = put_half(halves + 2, found.minimum);
    round_again(format, input.x, scale, minimum, found);
    return found;
}

// Eight scales and minima of six bits in 12 bytes.
void put_six_bits(const MinimumBlock& block, uint8_t* bytes) {
    for (size_t k = 0; k < 4; ++k) {
        bytes[k] = uint8_t(block.scales[k] | (block.scales[k + 4] >> 4) << 6);
        bytes[k + 4] = uint8_t(block.minima[k] | (block.minima[k + 4] >> 4) << 6);
        bytes[k + 8] = uint8_t((block.scales[k + 4] & 15) | (block.minima[k + 4] & 15) << 4);
    }
}

// Low four bits: byte l of 32 has those of elements l and l + 32 of 64.
void put_nibble_pairs(const SuperCodes& codes, uint8_t* bytes) {
    for (size_t pair = 0; pair < 4; ++pair)
        for (size_t l = 0; l < 32; ++l)
            bytes[32 * pair + l] = uint8_t((codes[64 * pair + l] & 15) | (codes[64 * pair + 32 + l] & 15) << 4);
}

}  // namespace

void encode_q2_k(const BlockInput& input, uint8_t* block) {
    constexpr MinimumFormat kFormat{16, 3, 15, {-0.5f, 0.1f, 15, true}};
    const MinimumBlock found = encode_minimum_block(kFormat, input, block + 80);
    for (size_t group = 0; group < 16; ++group) block[group] = uint8_t(found.scales[group] | found.minima[group] << 4);
    put_crumbs(found.codes, 0, block + 16);
}

void encode_q4_k(const BlockInput& input, uint8_t* block) {
    constexpr MinimumFormat kFormat{32, 15, 63, {-1, 0.1f, 20}};
    const MinimumBlock found = encode_minimum_block(kFormat, input, block);
    put_six_bits(found, block + 4);
    put_nibble_pairs(found.codes, block + 16);
}

void encode_q5_k(const BlockInput& input, uint8_t* block) {
    constexpr MinimumFormat kFormat{32, 31, 63, {-0.5f, 0.1f, 15}};
    const MinimumBlock found = encode_minimum_block(kFormat, input, block);
    put_six_bits(found, block + 4);
    std::memset(block + 16, 0, 32);
    for (size_t i = 0; i < kSuperBlock; ++i) block[16 + i % 32] |= uint8_t((found.codes[i] >> 4) << i / 32);
    put_nibble_pairs(found.codes, block + 48);
}

// ---- groups with a signed scale: Q3_K, Q6_K -------------------------------------------------------------------------

namespace {

// Groups of 16.
void fit_sixteen_signed(Values x, Values weights, int zero, SuperCodes& codes, std::span<float, 16> scales) {
    constexpr size_t kHalf = kSuperBlock / 2;
    fit_eight_signed(x.first(kHalf), weights.first(kHalf), zero, std::span(codes).first(kHalf), scales.first<kLanes>());
    fit_eight_signed(x.last(kHalf), weights.last(kHalf), zero, std::span(codes).last(kHalf), scales.last<kLanes>());
}

}  // namespace

void encode_q3_k(const BlockInput& input, uint8_t* block) {
    constexpr size_t kGroup = 16, kGroups = kSuperBlock / kGroup;
    constexpr int kZero = 4, kScaleZero = 32;
    SuperCodes codes{};
    std::array<float, kGroups> scales{}, sums{};
    std::array<float, kSuperBlock> weights{};
    const float mean_square = 2 * sum_of_squares(input.x) / kSuperBlock;
    for (size_t group = 0; group < kGroups; ++group) {
        const Values x = input.x.subspan(kGroup * group, kGroup);
        const std::span group_codes = std::span(codes).subspan(kGroup * group, kGroup);
        if (input.importance.empty()) {
            scales[group] = fit_signed_by_steps(x, kZero, group_codes);
            continue;
        }
        const std::span group_weights = std::span(weights).subspan(kGroup * group, kGroup);
        weigh(x, input.importance.subspan(kGroup * group, kGroup), mean_square, group_weights);
        for (const float weight : group_weights) sums[group] += weight;
    }
    if (!input.importance.empty()) fit_sixteen_signed(input.x, weights, kZero, codes, scales);
    std::array<uint8_t, kGroups> scale_codes{};
    float scale = 0;
    if (!input.importance.empty()) {
        scale = fit_signed(scales, sums, kScaleZero, scale_codes);
    } else if (const float extreme = extreme_of(scales); extreme != 0) {
        const float inverse = -float(kScaleZero) / extreme;
        for (size_t group = 0; group < kGroups; ++group)
            scale_codes[group] = uint8_t(nearest(inverse * scales[group], -kScaleZero, kScaleZero - 1) + kScaleZero);
        scale = 1 / inverse;
    }
    const float read_scale = put_half(block + 108, scale);
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const float group_scale = read_scale * float(scale_codes[i / kGroup] - kScaleZero);
        if (group_scale != 0) codes[i] = uint8_t(nearest(input.x[i] / group_scale, -kZero, kZero - 1) + kZero);
    }
    std::memset(block, 0, 32);
    for (size_t i = 0; i < kSuperBlock; ++i) block[i % 32] |= uint8_t((codes[i] >> 2) << i / 32);
    put_crumbs(codes, 0, block + 32);
    std::memset(block + 96, 0, 12);
    for (size_t group = 0; group < kGroups; ++group) {
        block[96 + group % 8] |= uint8_t((scale_codes[group] & 15) << 4 * (group / 8));
        block[104 + group % 4] |= uint8_t((scale_codes[group] >> 4) << 2 * (group / 4));
    }
}

void encode_q6_k(const BlockInput& input, uint8_t* block) {
    constexpr size_t kGroup = 16, kGroups = kSuperBlock / kGroup;
    constexpr int kZero = 32;
    SuperCodes codes{};
    std::array<float, kGroups> scales{};
    std::array<float, kSuperBlock> weights{};
    for (size_t i = 0; i < kSuperBlock; ++i)
        weights[i] = input.importance.empty() ? input.x[i] * input.x[i] : input.importance[i];
    fit_sixteen_signed(input.x, weights, kZero, codes, scales);
    const float extreme = extreme_of(scales);
    if (std::fabs(extreme) < kNothing) {
        std::memset(block, 0, 210);
        return;
    }
    const float inverse = -128 / extreme;
    const float scale = put_half(block + 208, 1 / inverse);
    for (size_t group = 0; group < kGroups; ++group)
        block[192 + group] = uint8_t(int8_t(nearest(inverse * scales[group], -128, 127)));
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const float group_scale = scale * float(int8_t(block[192 + i / kGroup]));
        if (group_scale != 0) codes[i] = uint8_t(nearest(input.x[i] / group_scale, -kZero, kZero - 1) + kZero);
    }
    for (size_t half = 0; half < 2; ++half)
        for (size_t l = 0; l < 32; ++l) {
            const uint8_t* first = codes.data() + 128 * half + l;
            block[64 * half + l] = uint8_t((first[0] & 15) | (first[64] & 15) << 4);
            block[64 * half + 32 + l] = uint8_t((first[32] & 15) | (first[96] & 15) << 4);
        }
    put_crumbs(codes, 4, block + 128);
}

}  // namespace riftjit::graph::blocks
