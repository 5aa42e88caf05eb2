// One function per weight type that fills a block: the inverse of graph/dequantize.cpp, where the layouts are. Families
// lie in legacy.cpp, k_quants.cpp, table_quants.cpp (IQ4_NL, IQ4_XS, MXFP4, NVFP4), grid_quants.cpp (IQ2, IQ3),
// ternary_quants.cpp (IQ1) and few_bits.cpp.
#pragma once

#include "graph/quantize/scale_search.h"
#include "host/half.h"

namespace riftjit::graph::blocks {

struct BlockInput {
    Values x;               // of the block
    Values importance;      // of its columns, or empty
    float row_mean_square;  // of the whole row's values
};
using EncodeBlock = void (*)(const BlockInput& input, uint8_t* block);

void encode_q4_0(const BlockInput& input, uint8_t* block);
void encode_q4_1(const BlockInput& input, uint8_t* block);
void encode_q5_0(const BlockInput& input, uint8_t* block);
void encode_q5_1(const BlockInput& input, uint8_t* block);
void encode_q8_0(const BlockInput& input, uint8_t* block);

void encode_q2_k(const BlockInput& input, uint8_t* block);
void encode_q3_k(const BlockInput& input, uint8_t* block);
void encode_q4_k(const BlockInput& input, uint8_t* block);
void encode_q5_k(const BlockInput& input, uint8_t* block);
void encode_q6_k(const BlockInput& input, uint8_t* block);

void encode_iq4_nl(const BlockInput& input, uint8_t* block);
void encode_iq4_xs(const BlockInput& input, uint8_t* block);
void encode_mxfp4(const BlockInput& input, uint8_t* block);
void encode_nvfp4(const BlockInput& input, uint8_t* block);

void encode_iq2_xxs(const BlockInput& input, uint8_t* block);
void encode_iq2_xs(const BlockInput& input, uint8_t* block);
void encode_iq2_s(const BlockInput& input, uint8_t* block);
void encode_iq3_xxs(const BlockInput& input, uint8_t* block);
void encode_iq3_s(const BlockInput& input, uint8_t* block);

void encode_iq1_s(const BlockInput& input, uint8_t* block);
void encode_iq1_m(const BlockInput& input, uint8_t* block);

void encode_q1_0(const BlockInput& input, uint8_t* block);
void encode_q2_0(const BlockInput& input, uint8_t* block);
void encode_tq1_0(const BlockInput& input, uint8_t* block);
void encode_tq2_0(const BlockInput& input, uint8_t* block);

inline constexpr size_t kSuperBlock = 256;

inline void put_u16(uint8_t* at, uint16_t value) {
    at[0] = uint8_t(value);
    at[1] = uint8_t(value >> 8);
}

// Writes a scale, and gives what a reader will have of it.
inline float put_half(uint8_t* at, float value) {
    const uint16_t half = float_to_half(value);
    put_u16(at, half);
    return half_to_float(half);
}

// 32 codes of 4 bits: byte j has those of elements j and j + 16.
inline void put_nibbles(const uint8_t* codes, uint8_t* bytes) {
    for (int j = 0; j < 16; ++j) bytes[j] = uint8_t((codes[j] & 15) | codes[j + 16] << 4);
}

}  // namespace riftjit::graph::blocks
