// Blocks of 32 with one scale: evenly spaced codes around zero, or from a minimum on.
#include <array>
#include <cmath>

#include "graph/quantize/block_encoders.h"

namespace riftjit::graph::blocks {

namespace {

constexpr size_t kSmallBlock = 32;
using SmallCodes = std::array<uint8_t, kSmallBlock>;
using SmallWeights = std::array<float, kSmallBlock>;

constexpr MinimumSearch kSmallSearch{-0.9f, 0.05f, 36};

SmallWeights weights_of(const BlockInput& input) {
    SmallWeights weights{};
    weigh(input.x, input.importance, input.row_mean_square, weights);
    return weights;
}

// Without importance the extreme becomes -zero, and no other scale is tried.
float signed_codes(const BlockInput& input, int zero, SmallCodes& codes) {
    if (!input.importance.empty()) return fit_signed(input.x, weights_of(input), zero, codes);
    const float scale = extreme_of(input.x) / float(-zero);
    const float inverse = scale != 0 ? 1 / scale : 0;
    for (size_t i = 0; i < kSmallBlock; ++i)
        codes[i] = uint8_t(std::clamp(int(input.x[i] * inverse + float(zero) + 0.5f), 0, 2 * zero - 1));
    return scale;
}

// Without importance smallest and largest value are both met.
ScaleAndMinimum codes_from_minimum(const BlockInput& input, int most, SmallCodes& codes) {
    if (!input.importance.empty()) return fit_with_minimum(input.x, weights_of(input), most, kSmallSearch, codes);
    const auto [smallest, largest] = std::ranges::minmax(input.x);
    const float scale = (largest - smallest) / float(most);
    const float inverse = scale != 0 ? 1 / scale : 0;
    for (size_t i = 0; i < kSmallBlock; ++i)
        codes[i] = uint8_t(std::clamp(int((input.x[i] - smallest) * inverse + 0.5f), 0, most));
    return {scale, -smallest};
}

// Scale and minimum as two halves.
SmallCodes encode_from_minimum(const BlockInput& input, int most, uint8_t* halves) {
    SmallCodes codes;
    const auto [scale, minimum] = codes_from_minimum(input, most, codes);
    put_half(halves, scale);
    put_half(halves + 2, -minimum);
    return codes;
}

void put_fifth_bits(const SmallCodes& codes, uint8_t* bytes) {
    for (size_t byte = 0; byte < 4; ++byte) {
        bytes[byte] = 0;
        for (size_t bit = 0; bit < 8; ++bit) bytes[byte] |= uint8_t((codes[8 * byte + bit] >> 4) << bit);
    }
}

}  // namespace

void encode_q4_0(const BlockInput& input, uint8_t* block) {
    SmallCodes codes;
    put_half(block, signed_codes(input, 8, codes));
    put_nibbles(codes.data(), block + 2);
}

void encode_q4_1(const BlockInput& input, uint8_t* block) {
    const SmallCodes codes = encode_from_minimum(input, 15, block);
    put_nibbles(codes.data(), block + 4);
}

void encode_q5_0(const BlockInput& input, uint8_t* block) {
    SmallCodes codes;
    put_half(block, signed_codes(input, 16, codes));
    put_fifth_bits(codes, block + 2);
    put_nibbles(codes.data(), block + 6);
}

void encode_q5_1(const BlockInput& input, uint8_t* block) {
    const SmallCodes codes = encode_from_minimum(input, 31, block);
    put_fifth_bits(codes, block + 4);
    put_nibbles(codes.data(), block + 8);
}

void encode_q8_0(const BlockInput& input, uint8_t* block) {
    const float scale = std::fabs(extreme_of(input.x)) / 127;
    const float inverse = scale != 0 ? 1 / scale : 0;
    put_half(block, scale);
    for (size_t i = 0; i < kSmallBlock; ++i) block[2 + i] = uint8_t(int8_t(std::round(input.x[i] * inverse)));
}

}  // namespace riftjit::graph::blocks
