#include "graph/dequantize.h"

#include <array>
#include <bit>
#include <cstring>

#include "host/half.h"
#include "host/result.h"
#include "jit/formats/cache_format.h"
#include "jit/formats/quant_grids.h"

#ifdef __FMA__
#error "every product must be rounded before it is added: build this file for baseline x86-64"
#endif

// Layouts and formulae: ggml-quants.c and the GGUF specification. Element e of a block; integer division throughout.
namespace riftjit::graph {

namespace {

using Bytes = const uint8_t*;

uint16_t u16(Bytes at) { return static_cast<uint16_t>(at[0] | at[1] << 8); }
uint32_t u32(Bytes at) { return u16(at) | static_cast<uint32_t>(u16(at + 2)) << 16; }
float f16(Bytes at) { return half_to_float(u16(at)); }
int i8(uint8_t byte) { return static_cast<int8_t>(byte); }
int nibble(uint8_t byte, bool high) { return high ? byte >> 4 : byte & 15; }
float negate_if(bool negative, float value) { return negative ? -value : value; }

// ---- plain ----------------------------------------------------------------------------------------------------------

void decode_f32(Bytes block, float* out) { *out = std::bit_cast<float>(u32(block)); }
void decode_f16(Bytes block, float* out) { *out = f16(block); }
void decode_bf16(Bytes block, float* out) { *out = bfloat_to_float(u16(block)); }

// ---- blocks of 32: byte j of qs holds element j in its low nibble and element j + 16 in its high one ----

int nibble32(Bytes qs, int e) { return nibble(qs[e % 16], e >= 16); }
int bit32(Bytes qh, int e) { return u32(qh) >> e & 1; }

void decode_q4_0(Bytes block, float* out) {
    const float d = f16(block);
    for (int e = 0; e < 32; ++e) out[e] = d * float(nibble32(block + 2, e) - 8);
}

void decode_q4_1(Bytes block, float* out) {
    const float d = f16(block), m = f16(block + 2);
    for (int e = 0; e < 32; ++e) out[e] = d * float(nibble32(block + 4, e)) + m;
}

void decode_q5_0(Bytes block, float* out) {
    const float d = f16(block);
    for (int e = 0; e < 32; ++e) out[e] = d * float((nibble32(block + 6, e) | bit32(block + 2, e) << 4) - 16);
}

void decode_q5_1(Bytes block, float* out) {
    const float d = f16(block), m = f16(block + 2);
    for (int e = 0; e < 32; ++e) out[e] = d * float(nibble32(block + 8, e) | bit32(block + 4, e) << 4) + m;
}

void decode_q8_0(Bytes block, float* out) {
    const float d = f16(block);
    for (int e = 0; e < 32; ++e) out[e] = d * float(i8(block[2 + e]));
}

void decode_iq4_nl(Bytes block, float* out) {
    const float d = f16(block);
    for (int e = 0; e < 32; ++e) out[e] = d * float(kNonlinearCodebook[nibble32(block + 2, e)]);
}

void decode_rq4(Bytes block, float* out) {
    const float d = f16(block);
    for (int e = 0; e < 32; ++e) out[e] = d * float(kNormalCodebook[nibble32(block + 2, e)]);
}

// ---- 4-bit floats ---------------------------------------------------------------------------------------------------

// 2^(x - 128): half of the E8M0 scale, because the codebook is doubled. 0 and 1 are subnormal.
float half_e8m0(uint8_t x) {
    return std::bit_cast<float>(x < 2 ? 0x00200000u << x : static_cast<uint32_t>(x - 1) << 23);
}

void decode_mxfp4(Bytes block, float* out) {
    const float d = half_e8m0(block[0]);
    for (int e = 0; e < 32; ++e) out[e] = d * float(kFp4Codebook[nibble32(block + 1, e)]);
}

// Half of an unsigned E4M3: exponent bias 7, subnormals m * 2^-9. Only 0x00 and 0x7f are zero; bit 7 is ignored.
float half_ue4m3(uint8_t x) {
    if (x == 0 || x == 0x7f) return 0;
    const int exponent = x >> 3 & 15, mantissa = x & 7;
    if (exponent == 0) return float(mantissa) * 0x1p-10f;
    return std::bit_cast<float>(uint32_t(exponent + 127 - 7 - 1) << 23 | uint32_t(mantissa) << 20);
}

void decode_nvfp4(Bytes block, float* out) {
    for (int e = 0; e < 64; ++e) {
        const int part = e / 16, l = e % 16;
        out[e] = half_ue4m3(block[part]) * float(kFp4Codebook[nibble(block[4 + 8 * part + l % 8], l >= 8)]);
    }
}

// ---- one and two bits -----------------------------------------------------------------------------------------------

void decode_q1_0(Bytes block, float* out) {
    const float d = f16(block);
    for (int e = 0; e < 128; ++e) out[e] = negate_if((block[2 + e / 8] >> e % 8 & 1) == 0, d);
}

void decode_q2_0(Bytes block, float* out) {
    const float d = f16(block);
    for (int e = 0; e < 64; ++e) out[e] = float((block[2 + e / 4] >> 2 * (e % 4) & 3) - 1) * d;
}

// ---- K-quants -------------------------------------------------------------------------------------------------------

// Two-bit codes of 256 elements in 64 bytes: four per byte, 32 elements apart.
int crumb256(Bytes qs, int e) { return qs[e / 128 * 32 + e % 32] >> e % 128 / 32 * 2 & 3; }

void decode_q2_k(Bytes block, float* out) {
    const float d = f16(block + 80), dmin = f16(block + 82);
    for (int e = 0; e < 256; ++e) {
        const uint8_t scale = block[e / 16];
        out[e] = d * float(scale & 15) * float(crumb256(block + 16, e)) - dmin * float(scale >> 4);
    }
}

int q3_k_scale(Bytes scales, int k) {
    const int low = nibble(scales[k % 8], k >= 8), high = scales[8 + k % 4] >> 2 * (k / 4) & 3;
    return (low | high << 4) - 32;
}

void decode_q3_k(Bytes block, float* out) {
    const float d = f16(block + 108);
    for (int e = 0; e < 256; ++e) {
        const bool has_high = block[e % 32] >> e / 32 & 1;
        const int q = crumb256(block + 32, e) - (has_high ? 0 : 4);
        out[e] = d * float(q3_k_scale(block + 96, e / 16)) * float(q);
    }
}

struct ScaleAndMin {
    int scale, min;
};

// Six-bit scales and minima of Q4_K and Q5_K in 12 bytes.
ScaleAndMin k4_scale(Bytes s, int k) {
    if (k < 4) return {s[k] & 63, s[k + 4] & 63};
    return {(s[k + 4] & 15) | s[k - 4] >> 6 << 4, s[k + 4] >> 4 | s[k] >> 6 << 4};
}

void decode_q4_k(Bytes block, float* out) {
    const float d = f16(block), dmin = f16(block + 2);
    for (int e = 0; e < 256; ++e) {
        const int k = e / 32;
        const ScaleAndMin part = k4_scale(block + 4, k);
        const int q = nibble(block[16 + 32 * (k / 2) + e % 32], k % 2 == 1);
        out[e] = d * float(part.scale) * float(q) - dmin * float(part.min);
    }
}

void decode_q5_k(Bytes block, float* out) {
    const float d = f16(block), dmin = f16(block + 2);
    for (int e = 0; e < 256; ++e) {
        const int k = e / 32;
        const ScaleAndMin part = k4_scale(block + 4, k);
        const int q = nibble(block[48 + 32 * (k / 2) + e % 32], k % 2 == 1) | (block[16 + e % 32] >> k & 1) << 4;
        out[e] = d * float(part.scale) * float(q) - dmin * float(part.min);
    }
}

void decode_q6_k(Bytes block, float* out) {
    const float d = f16(block + 208);
    for (int e = 0; e < 256; ++e) {
        const int half = e / 128, quarter = e % 128 / 32, l = e % 32;
        const int low = nibble(block[64 * half + 32 * (quarter & 1) + l], quarter >= 2);
        const int high = block[128 + 32 * half + l] >> 2 * quarter & 3;
        out[e] = d * float(i8(block[192 + e / 16])) * float((low | high << 4) - 32);
    }
}

// ---- IQ4_XS, ternary ------------------------------------------------------------------------------------------------

void decode_iq4_xs(Bytes block, float* out) {
    const float d = f16(block);
    for (int e = 0; e < 256; ++e) {
        const int k = e / 32;
        const int scale = nibble(block[4 + k / 2], k % 2 == 1) | (u16(block + 2) >> 2 * k & 3) << 4;
        out[e] = d * float(scale - 32) * float(kNonlinearCodebook[nibble32(block + 8 + 16 * k, e % 32)]);
    }
}

// Digit n of a byte that holds five base-3 digits as a fraction of 256.
int ternary_digit(uint8_t byte, int n) {
    constexpr std::array<int, 5> kPowersOf3 = {1, 3, 9, 27, 81};
    return ((byte * kPowersOf3[n] & 255) * 3 >> 8) - 1;
}

void decode_tq1_0(Bytes block, float* out) {
    const float d = f16(block + 52);
    for (int e = 0; e < 160; ++e) out[e] = float(ternary_digit(block[e % 32], e / 32)) * d;
    for (int e = 160; e < 240; ++e) out[e] = float(ternary_digit(block[32 + (e - 160) % 16], (e - 160) / 16)) * d;
    for (int e = 240; e < 256; ++e) out[e] = float(ternary_digit(block[48 + (e - 240) % 4], (e - 240) / 4)) * d;
}

void decode_tq2_0(Bytes block, float* out) {
    const float d = f16(block + 64);
    for (int e = 0; e < 256; ++e) out[e] = float(crumb256(block, e) - 1) * d;
}

// ---- grids: 32 groups of eight elements; k = sub-block of 32, l = group within it ----

// out[j] = scale * row[j], negated where bit j of signs is set.
void store_signed(float scale, const int8_t* row, uint32_t signs, int count, float* out) {
    for (int j = 0; j < count; ++j) out[j] = negate_if(signs >> j & 1, scale * float(row[j]));
}

void decode_iq2_xxs(Bytes block, float* out) {
    const int8_t* grid = grid_bytes(QuantGrid::iq2xxs).data();
    const float d = f16(block);
    for (int k = 0; k < 8; ++k) {
        const Bytes part = block + 2 + 8 * k;
        const uint32_t word = u32(part + 4);
        const float scale = d * (0.5f + float(word >> 28)) * 0.25f;
        for (int l = 0; l < 4; ++l)
            store_signed(scale, grid + 8 * part[l], expand_sign_code(word >> 7 * l & 127), 8, out + 32 * k + 8 * l);
    }
}

void decode_iq2_xs(Bytes block, float* out) {
    const int8_t* grid = grid_bytes(QuantGrid::iq2xs).data();
    const float d = f16(block);
    for (int group = 0; group < 32; ++group) {
        const uint16_t word = u16(block + 2 + 2 * group);
        const float scale = d * (0.5f + float(nibble(block[66 + group / 4], group % 4 >= 2))) * 0.25f;
        store_signed(scale, grid + 8 * (word & 511), expand_sign_code(word >> 9), 8, out + 8 * group);
    }
}

void decode_iq2_s(Bytes block, float* out) {
    const int8_t* grid = grid_bytes(QuantGrid::iq2s).data();
    const float d = f16(block);
    for (int group = 0; group < 32; ++group) {
        const int row = block[2 + group] | (block[66 + group / 4] >> 2 * (group % 4) & 3) << 8;
        const float scale = d * (0.5f + float(nibble(block[74 + group / 4], group % 4 >= 2))) * 0.25f;
        store_signed(scale, grid + 8 * row, block[34 + group], 8, out + 8 * group);
    }
}

void decode_iq3_xxs(Bytes block, float* out) {
    const int8_t* grid = grid_bytes(QuantGrid::iq3xxs).data();
    const float d = f16(block);
    for (int group = 0; group < 32; ++group) {
        const uint32_t word = u32(block + 66 + 4 * (group / 4));
        const float scale = d * (0.5f + float(word >> 28)) * 0.5f;
        const uint32_t signs = expand_sign_code(word >> 7 * (group % 4) & 127);
        store_signed(scale, grid + 4 * block[2 + 2 * group], signs, 4, out + 8 * group);
        store_signed(scale, grid + 4 * block[3 + 2 * group], signs >> 4, 4, out + 8 * group + 4);
    }
}

void decode_iq3_s(Bytes block, float* out) {
    const int8_t* grid = grid_bytes(QuantGrid::iq3s).data();
    const float d = f16(block);
    for (int quad = 0; quad < 64; ++quad) {  // four elements each
        const int row = block[2 + quad] | (block[66 + quad / 8] >> quad % 8 & 1) << 8;
        const float scale = d * float(1 + 2 * nibble(block[106 + quad / 16], quad / 8 % 2 == 1));
        store_signed(scale, grid + 4 * row, block[74 + quad / 2] >> 4 * (quad % 2), 4, out + 4 * quad);
    }
}

// out[j] = scale * (row[j] +- 1/8).
void store_shifted(float scale, const int8_t* row, bool is_minus, float* out) {
    const float shift = is_minus ? -0.125f : 0.125f;
    for (int j = 0; j < 8; ++j) out[j] = scale * (float(row[j]) + shift);
}

void decode_iq1_s(Bytes block, float* out) {
    const int8_t* grid = grid_bytes(QuantGrid::iq1s).data();
    const float d = f16(block);
    for (int group = 0; group < 32; ++group) {
        const uint16_t high = u16(block + 34 + 2 * (group / 4));
        const int row = block[2 + group] | (high >> 3 * (group % 4) & 7) << 8;
        const float scale = d * float(2 * (high >> 12 & 7) + 1);
        store_shifted(scale, grid + 8 * row, high >> 15, out + 8 * group);
    }
}

void decode_iq1_m(Bytes block, float* out) {
    const int8_t* grid = grid_bytes(QuantGrid::iq1s).data();
    const Bytes scales = block + 48;  // four words of four 3-bit scales; their top nibbles make up d
    const auto top = [&](int i) { return u16(scales + 2 * i) >> 12; };
    const float d = half_to_float(static_cast<uint16_t>(top(0) | top(1) << 4 | top(2) << 8 | top(3) << 12));
    for (int group = 0; group < 32; ++group) {
        const int high = nibble(block[32 + group / 2], group % 2 == 1);
        const int row = block[group] | (high & 7) << 8;
        const int code = u16(scales + 2 * (group / 8)) >> 3 * (group / 2 % 4) & 7;
        store_shifted(d * float(2 * code + 1), grid + 8 * row, high & 8, out + 8 * group);
    }
}

struct BlockDecoder {
    DType type;
    void (*decode)(Bytes block, float* out);
};

constexpr BlockDecoder kDecoders[] = {
    {DType::F32, decode_f32},         {DType::F16, decode_f16},       {DType::BF16, decode_bf16},
    {DType::Q4_0, decode_q4_0},       {DType::Q4_1, decode_q4_1},     {DType::Q5_0, decode_q5_0},
    {DType::Q5_1, decode_q5_1},       {DType::Q8_0, decode_q8_0},     {DType::Q2_K, decode_q2_k},
    {DType::Q3_K, decode_q3_k},       {DType::Q4_K, decode_q4_k},     {DType::Q5_K, decode_q5_k},
    {DType::Q6_K, decode_q6_k},       {DType::IQ1_S, decode_iq1_s},   {DType::IQ1_M, decode_iq1_m},
    {DType::IQ2_XXS, decode_iq2_xxs}, {DType::IQ2_XS, decode_iq2_xs}, {DType::IQ2_S, decode_iq2_s},
    {DType::IQ3_XXS, decode_iq3_xxs}, {DType::IQ3_S, decode_iq3_s},   {DType::IQ4_NL, decode_iq4_nl},
    {DType::IQ4_XS, decode_iq4_xs},   {DType::TQ1_0, decode_tq1_0},   {DType::TQ2_0, decode_tq2_0},
    {DType::MXFP4, decode_mxfp4},     {DType::NVFP4, decode_nvfp4},   {DType::Q1_0, decode_q1_0},
    {DType::Q2_0, decode_q2_0},       {DType::RQ4, decode_rq4},
};

const BlockDecoder& block_decoder(DType type) {
    for (const BlockDecoder& decoder : kDecoders)
        if (decoder.type == type) return decoder;
    check_failed("no decoder for a type that holds no weights", std::source_location::current());
}

}  // namespace

void dequantize_row(DType type, const std::byte* row, uint32_t width, float* out) {
    const DTypeTraits& shape = traits(type);
    check(width % shape.block_elements == 0, "a row is whole blocks");
    const auto decode = block_decoder(type).decode;
    const auto* block = reinterpret_cast<Bytes>(row);
    for (uint32_t e = 0; e < width; e += shape.block_elements, block += shape.block_bytes) decode(block, out + e);
}

}  // namespace riftjit::graph
