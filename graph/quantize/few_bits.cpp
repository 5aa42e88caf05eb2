// One and two bits, and ternary digits, by the block's largest magnitude or its mean: for weights that were trained so.
#include <array>
#include <cmath>
#include <cstring>

#include "graph/quantize/block_encoders.h"

namespace riftjit::graph::blocks {

namespace {

float inverse_of(float scale) { return scale != 0 ? 1 / scale : 0; }

// -1, 0 or 1, as 0, 1 or 2.
std::array<uint8_t, 256> ternary_codes(Values x, float scale) {
    std::array<uint8_t, 256> codes;
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = uint8_t(std::lround(x[i] * inverse_of(scale)) + 1);
    return codes;
}

}  // namespace

void encode_q1_0(const BlockInput& input, uint8_t* block) {
    float sum = 0;
    for (const float value : input.x) sum += std::fabs(value);
    put_half(block, sum / 128);
    std::memset(block + 2, 0, 16);
    for (size_t i = 0; i < 128; ++i) block[2 + i / 8] |= uint8_t((input.x[i] >= 0) << i % 8);
}

void encode_q2_0(const BlockInput& input, uint8_t* block) {
    const float scale = std::fabs(extreme_of(input.x));
    put_half(block, scale);
    std::memset(block + 2, 0, 16);
    for (size_t i = 0; i < 64; ++i) {
        const int code = std::clamp(int(std::round(input.x[i] * inverse_of(scale))) + 1, 0, 3);
        block[2 + i / 4] |= uint8_t(code << 2 * (i % 4));
    }
}

// Five digits in a byte, as a fraction of 256 rounded up: multiplied by 3, the next digit is what carries out.
void encode_tq1_0(const BlockInput& input, uint8_t* block) {
    const float scale = std::fabs(extreme_of(input.x));
    const auto codes = ternary_codes(input.x, scale);
    const auto packed = [&](size_t first, size_t stride, int digits) {
        unsigned number = 0;
        for (int n = 0; n < 5; ++n) number = 3 * number + (n < digits ? codes[first + size_t(n) * stride] : 0);
        return uint8_t((number * 256 + 242) / 243);
    };
    for (size_t byte = 0; byte < 32; ++byte) block[byte] = packed(byte, 32, 5);
    for (size_t byte = 0; byte < 16; ++byte) block[32 + byte] = packed(160 + byte, 16, 5);
    for (size_t byte = 0; byte < 4; ++byte) block[48 + byte] = packed(240 + byte, 4, 4);
    put_half(block + 52, scale);
}

void encode_tq2_0(const BlockInput& input, uint8_t* block) {
    const float scale = std::fabs(extreme_of(input.x));
    const auto codes = ternary_codes(input.x, scale);
    std::memset(block, 0, 64);
    for (size_t i = 0; i < 256; ++i) block[i / 128 * 32 + i % 32] |= uint8_t(codes[i] << 2 * (i % 128 / 32));
    put_half(block + 64, scale);
}

}  // namespace riftjit::graph::blocks
