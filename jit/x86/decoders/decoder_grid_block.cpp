#include "jit/x86/decoders/decoder_grid_block.h"

#include "jit/formats/quant_grids.h"
#include "jit/x86/decoders/decoder_ops.h"

// Field offsets: gguf specification, ggml-common.h.
namespace riftjit::x86 {

namespace {

constexpr uint32_t kEights = 32;  // groups of eight elements in a block

uint8_t u8(const std::byte* from) { return static_cast<uint8_t>(*from); }
uint8_t nibble(const std::byte* from, uint32_t index) { return u8(from + index / 2) >> 4 * (index % 2) & 15; }

// d f16, 8 x { row numbers u8[4], word u32 }; word: 4 sign codes of 7 bits, a scale of 4
void read_iq2_xxs(const std::byte* block, GridBlock& out) {
    out.scale = read_u16(block);
    for (uint32_t k = 0; k < 8; ++k) {
        const std::byte* part = block + 2 + 8 * k;
        const uint32_t word = read_u32(part + 4);
        out.sub_scales[k] = word >> 28;
        for (uint32_t l = 0; l < 4; ++l) {
            out.rows[4 * k + l] = u8(part + l);
            out.signs[4 * k + l] = expand_sign_code(word >> 7 * l & 127);
        }
    }
}

// d f16, words u16[32]: row number of 9 bits, sign code of 7; scales u4[16]
void read_iq2_xs(const std::byte* block, GridBlock& out) {
    out.scale = read_u16(block);
    for (uint32_t i = 0; i < kEights; ++i) {
        const uint16_t word = read_u16(block + 2 + 2 * i);
        out.rows[i] = word & 511;
        out.signs[i] = expand_sign_code(word >> 9);
    }
    for (uint32_t g = 0; g < 16; ++g) out.sub_scales[g] = nibble(block + 66, g);
}

// d f16, row numbers u8[32], signs u8[32], high bits u2[32], scales u4[16]
void read_iq2_s(const std::byte* block, GridBlock& out) {
    out.scale = read_u16(block);
    for (uint32_t i = 0; i < kEights; ++i) {
        const uint32_t high = u8(block + 66 + i / 4) >> 2 * (i % 4) & 3;
        out.rows[i] = static_cast<uint16_t>(u8(block + 2 + i) | high << 8);
        out.signs[i] = u8(block + 34 + i);
    }
    for (uint32_t g = 0; g < 16; ++g) out.sub_scales[g] = nibble(block + 74, g);
}

// d f16, row numbers u8[64], words u32[8]: 4 sign codes of 7 bits, a scale of 4
void read_iq3_xxs(const std::byte* block, GridBlock& out) {
    out.scale = read_u16(block);
    for (uint32_t i = 0; i < 2 * kEights; ++i) out.rows[i] = u8(block + 2 + i);
    for (uint32_t k = 0; k < 8; ++k) {
        const uint32_t word = read_u32(block + 66 + 4 * k);
        out.sub_scales[k] = word >> 28;
        for (uint32_t l = 0; l < 4; ++l) out.signs[4 * k + l] = expand_sign_code(word >> 7 * l & 127);
    }
}

// d f16, row numbers u8[64], high bits u1[64], signs u8[32], scales u4[8]
void read_iq3_s(const std::byte* block, GridBlock& out) {
    out.scale = read_u16(block);
    for (uint32_t i = 0; i < 2 * kEights; ++i) {
        const uint32_t high = u8(block + 66 + i / 8) >> i % 8 & 1;
        out.rows[i] = static_cast<uint16_t>(u8(block + 2 + i) | high << 8);
    }
    for (uint32_t i = 0; i < kEights; ++i) out.signs[i] = u8(block + 74 + i);
    for (uint32_t k = 0; k < 8; ++k) out.sub_scales[k] = nibble(block + 106, k);
}

// d f16, row numbers u8[32], words u16[8]: high bits u3[4], a scale of 3 bits, the shift's sign
void read_iq1_s(const std::byte* block, GridBlock& out) {
    out.scale = read_u16(block);
    for (uint32_t i = 0; i < kEights; ++i) {
        const uint16_t word = read_u16(block + 34 + 2 * (i / 4));
        const uint32_t high = word >> 3 * (i % 4) & 7;
        out.rows[i] = static_cast<uint16_t>(u8(block + 2 + i) | high << 8);
        out.signs[i] = static_cast<uint8_t>(word >> 15);
        out.sub_scales[i / 4] = word >> 12 & 7;
    }
}

// row numbers u8[32], nibbles u4[32]: 3 high bits and the shift's sign; words u16[4]: 4 scales of 3 bits, a nibble of d
void read_iq1_m(const std::byte* block, GridBlock& out) {
    for (uint32_t i = 0; i < kEights; ++i) {
        const uint32_t high = nibble(block + 32, i);
        out.rows[i] = static_cast<uint16_t>(u8(block + i) | (high & 7) << 8);
        out.signs[i] = static_cast<uint8_t>(high >> 3);
    }
    uint32_t scale = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t word = read_u16(block + 48 + 2 * i);
        scale |= word >> 12 << 4 * i;
        for (uint32_t l = 0; l < 4; ++l) out.sub_scales[4 * i + l] = word >> 3 * l & 7;
    }
    out.scale = static_cast<uint16_t>(scale);
}

}  // namespace

ReadGridBlock find_grid_block_reader(DType type) {
    switch (type) {
        case DType::IQ2_XXS:
            return read_iq2_xxs;
        case DType::IQ2_XS:
            return read_iq2_xs;
        case DType::IQ2_S:
            return read_iq2_s;
        case DType::IQ3_XXS:
            return read_iq3_xxs;
        case DType::IQ3_S:
            return read_iq3_s;
        case DType::IQ1_S:
            return read_iq1_s;
        case DType::IQ1_M:
            return read_iq1_m;
        default:
            return nullptr;
    }
}

}  // namespace riftjit::x86
