// Codes of four bits that name values of a table.
#include <array>
#include <cmath>
#include <cstring>

#include "graph/quantize/block_encoders.h"
#include "jit/formats/quant_grids.h"

namespace riftjit::graph::blocks {

namespace {

constexpr size_t kGroup = 32;
using GroupCodes = std::array<uint8_t, kGroup>;

std::span<const int8_t, 16> nonlinear_table() { return std::span<const int8_t, 16>(kNonlinearCodebook); }

// The group's best scale, by importance or by squares.
float fit_group(const BlockInput& input, size_t at, float mean_square) {
    const Values x = input.x.subspan(at, kGroup);
    std::array<float, kGroup> weights{};
    if (!input.importance.empty())
        weigh(x, input.importance.subspan(at, kGroup), mean_square, weights);
    else
        for (size_t i = 0; i < kGroup; ++i) weights[i] = x[i] * x[i];
    return fit_table(x, weights, nonlinear_table());
}

GroupCodes entries(Values x, float scale) {
    const float inverse = scale != 0 ? 1 / scale : 0;
    GroupCodes codes;
    for (size_t i = 0; i < kGroup; ++i) codes[i] = uint8_t(nearest_entry(nonlinear_table(), inverse * x[i]));
    return codes;
}

}  // namespace

void encode_iq4_nl(const BlockInput& input, uint8_t* block) {
    const float scale = fit_group(input, 0, 2 * sum_of_squares(input.x) / kGroup);
    put_half(block, scale);
    put_nibbles(entries(input.x, scale).data(), block + 2);
}

void encode_iq4_xs(const BlockInput& input, uint8_t* block) {
    constexpr size_t kGroups = kSuperBlock / kGroup;
    constexpr int kScaleZero = 32;
    const float mean_square = 2 * sum_of_squares(input.x) / kSuperBlock;
    std::array<float, kGroups> scales;
    for (size_t group = 0; group < kGroups; ++group) scales[group] = fit_group(input, kGroup * group, mean_square);
    const float scale = -extreme_of(scales) / kScaleZero;
    const float inverse = scale != 0 ? 1 / scale : 0;
    put_half(block, scale);
    std::memset(block + 2, 0, 6);
    for (size_t group = 0; group < kGroups; ++group) {
        const int code = nearest(inverse * scales[group], -kScaleZero, kScaleZero - 1);
        const auto stored = unsigned(code + kScaleZero);
        block[2 + group / 4] |= uint8_t((stored >> 4) << 2 * (group % 4));
        block[4 + group / 2] |= uint8_t((stored & 15) << 4 * (group % 2));
        put_nibbles(entries(input.x.subspan(kGroup * group, kGroup), scale * float(code)).data(),
                    block + 8 + 16 * group);
    }
}

namespace {

// Codes of the FP4 table, whose values are doubled, so `scale` is half of a block's: those of 2 n values in n bytes.
void put_fp4(Values x, float scale, uint8_t* bytes) {
    std::array<uint8_t, kGroup> codes{};
    for (size_t i = 0; i < x.size(); ++i) {
        float least = std::fabs(float(kFp4Codebook[0]) * scale - x[i]);
        for (int entry = 1; entry < 16; ++entry)
            if (const float error = std::fabs(float(kFp4Codebook[size_t(entry)]) * scale - x[i]); error < least) {
                least = error;
                codes[i] = uint8_t(entry);
            }
    }
    for (size_t j = 0; j < x.size() / 2; ++j) bytes[j] = uint8_t(codes[j] | codes[j + x.size() / 2] << 4);
}

}  // namespace

// The scale is a power of two: the largest magnitude's, less the table's two binary places above 1.
void encode_mxfp4(const BlockInput& input, uint8_t* block) {
    const float largest = std::fabs(extreme_of(input.x));
    const int exponent = largest > 0 ? std::clamp(std::ilogb(largest) - 2 + 127, 0, 254) : 0;
    block[0] = uint8_t(exponent);
    put_fp4(input.x, std::ldexp(1.0f, exponent - 128), block + 1);
}

// Four scales of 16 values each, unsigned E4M3 (3 bits below the binary point, exponents from -6 to 8, 448 the
// largest): that for which the largest magnitude is the table's 6.
void encode_nvfp4(const BlockInput& input, uint8_t* block) {
    constexpr size_t kPart = 16;
    for (size_t part = 0; part < 4; ++part) {
        const Values x = input.x.subspan(kPart * part, kPart);
        const float wanted = std::min(std::fabs(extreme_of(x)) / 6, 448.0f);
        const int exponent = wanted > 0 ? std::max(std::ilogb(wanted), -6) : -6;
        const int eighths = int(std::ldexp(wanted, 3 - exponent) + 0.5f);  // 8 to 16, fewer of subnormals
        block[part] = uint8_t(8 * (exponent + 6) + eighths);
        put_fp4(x, std::ldexp(float(eighths), exponent - 4), block + 4 + 8 * part);
    }
}

}  // namespace riftjit::graph::blocks
