// Q1_0, Q2_0, TQ1_0, TQ2_0: one or two bits, or a third of a ternary digit, per element and one scale per block (gguf
// specification). All are small integers minus one: zero_point is 1.
//
// Bounds: |q - 1| <= 2, so |I| <= 256 * 2 * 4095 = 2.1e6.
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;

class TernaryDecoder : public Decoder {
public:
    constexpr TernaryDecoder(DType type, uint16_t block, uint8_t body_dwords)
        : Decoder({.type = type,
                   .segment = block,
                   .group = 32,
                   .header_bytes = 2,
                   .body_dwords = body_dwords,
                   .zero_point = 1}) {}

    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override {
        load_half_scale(site, out, segment, 0);
    }

protected:
    uint32_t groups_per_block() const { return traits().segment / 32u; }
};

// A set bit is +1, a clear bit -1: q = 2 * bit.
class Q1Decoder final : public TernaryDecoder {
public:
    constexpr Q1Decoder() : TernaryDecoder(DType::Q1_0, 128, 4) {}

    // file: d f16, qs u8[16]
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(block);
        for (uint32_t i = 0; i < 4; ++i) packed.body[i] = pack_bit_fields(read_u32(block + 2 + 4 * i));
    }
    std::vector<VectorConstant> constants(Isa) const override { return {broadcast(pair_mask(2))}; }
    size_t temporaries(Isa) const override { return 2; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const Xmm bits = site.temporary(0), pair = site.temporary(1);
        load(site.code, bits, site.body_dwords(group / groups_per_block(), group % groups_per_block()));
        for (uint32_t index = 0; index < 16; ++index) {
            const Xmm& shifted = index == 1 ? bits : pair;
            if (index != 1) shift_dwords(site.code, pair, bits, static_cast<int>(index) - 1);
            bit_and(site.code, pair, shifted, site.constant(0));
            sink(pair, index);
        }
    }
};

class TwoBitDecoder final : public TernaryDecoder {
public:
    using TernaryDecoder::TernaryDecoder;

    // file: Q2_0: d f16, qs u8[16], element e at bits 2(e % 4) of byte e / 4
    //       TQ2_0: qs u8[64], d f16, element e at bits 2(e % 128 / 32) of byte 32(e / 128) + e % 32
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        const bool is_scale_last = traits().type == DType::TQ2_0;
        const uint32_t elements = traits().segment;
        packed.header[0] = read_u16(is_scale_last ? block + elements / 4 : block);
        const auto* bytes = reinterpret_cast<const uint8_t*>(is_scale_last ? block : block + 2);
        uint8_t codes[256];
        if (is_scale_last) {
            for (int k = 0; k < 8; ++k)
                for (int l = 0; l < 32; ++l) codes[32 * k + l] = bytes[32 * (k / 4) + l] >> 2 * (k % 4) & 3;
        } else {
            for (uint32_t e = 0; e < elements; ++e) codes[e] = bytes[e / 4] >> 2 * (e % 4) & 3;
        }
        for (uint32_t i = 0; i < elements / 16; ++i) packed.body[i] = pack_fields<2>(codes + 16 * i);
    }
    std::vector<VectorConstant> constants(Isa) const override { return {broadcast(pair_mask(3))}; }
    size_t temporaries(Isa) const override { return 2; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const Xmm codes = site.temporary(0), pair = site.temporary(1);
        for (uint32_t index = 0; index < 16; ++index) {
            const uint32_t dword = 2 * (group % groups_per_block()) + index / 8;
            if (index % 8 == 0) load(site.code, codes, site.body_dwords(group / groups_per_block(), dword));
            extract_pair(site.code, pair, codes, 2, index % 8, site.constant(0));
            sink(pair, index);
        }
    }
};

// Twenty digits to a dword: ten elements of even index in the low half, ten of odd index in the high one, each half a
// fixed-point fraction x = ceil(value * 2^16 / 3^10), first digit foremost. The next digit is floor(3x), and the rest
// its fraction: exact for all ten, because rounding up adds less than 2^-16 < 3^-10.
class Tq1Decoder final : public TernaryDecoder {
public:
    constexpr Tq1Decoder() : TernaryDecoder(DType::TQ1_0, 256, kDwords) {}

    // file: qs u8[48], qh u8[4], d f16
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(block + 52);
        std::array<uint8_t, kDwords * 20> digits{};
        unpack_file_digits(reinterpret_cast<const uint8_t*>(block), digits.data());
        for (uint32_t i = 0; i < kDwords; ++i)
            packed.body[i] = encode(&digits[20 * i]) | encode(&digits[20 * i + 1]) << 16;
    }
    std::vector<VectorConstant> constants(Isa) const override { return {broadcast(pair_mask(3))}; }
    size_t temporaries(Isa) const override { return 2; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const Xmm rest = site.temporary(0), pair = site.temporary(1), three = site.constant(0);
        for (uint32_t index = 0; index < 16; ++index) {
            const uint32_t position = 16 * group + index, digit = position % kDigits;
            if (index == 0 || digit == 0) load(site.code, rest, site.body_dwords(0, position / kDigits));
            if (index == 0 && digit != 0) skip_digits(site.code, rest, digit);
            site.code.vpmulhuw(pair, rest, three);
            sink(pair, index);
            if (index != 15 && digit != kDigits - 1) site.code.vpmullw(rest, rest, three);
        }
    }

private:
    static constexpr uint32_t kDwords = 13, kDigits = 10;

    static constexpr uint32_t power_of_three(uint32_t exponent) {
        return exponent == 0 ? 1 : 3 * power_of_three(exponent - 1);
    }

    static void skip_digits(X86Emitter& code, const Xmm& rest, uint32_t count) {
        const VectorConstant factor = broadcast(pair_mask(power_of_three(count)));  // no embedded broadcast of words
        code.vpmullw(rest, rest, code.constant_bytes(&factor, sizeof factor));
    }

    static uint8_t file_digit(uint8_t byte, uint32_t n) {
        const uint32_t fraction = byte * power_of_three(n) & 0xff;
        return static_cast<uint8_t>(fraction * 3 >> 8);
    }
    static void unpack_file_digits(const uint8_t* bytes, uint8_t* digits) {
        for (uint32_t n = 0; n < 5; ++n) {
            for (uint32_t j = 0; j < 32; ++j) digits[32 * n + j] = file_digit(bytes[j], n);
            for (uint32_t j = 0; j < 16; ++j) digits[160 + 16 * n + j] = file_digit(bytes[32 + j], n);
        }
        for (uint32_t n = 0; n < 4; ++n)
            for (uint32_t j = 0; j < 4; ++j) digits[240 + 4 * n + j] = file_digit(bytes[48 + j], n);
    }
    static uint32_t encode(const uint8_t* every_second_digit) {
        uint32_t value = 0;
        for (uint32_t i = 0; i < kDigits; ++i) value = 3 * value + every_second_digit[2 * i];
        constexpr uint32_t kAll = power_of_three(kDigits);
        return ((value << 16) + kAll - 1) / kAll;
    }
};

const Q1Decoder kQ1_0;
const TwoBitDecoder kQ2_0(DType::Q2_0, 64, 4);
const TwoBitDecoder kTq2_0(DType::TQ2_0, 256, 16);
const Tq1Decoder kTq1_0;

}  // namespace

const Decoder* find_ternary_decoder(DType type) {
    switch (type) {
        case DType::Q1_0:
            return &kQ1_0;
        case DType::Q2_0:
            return &kQ2_0;
        case DType::TQ1_0:
            return &kTq1_0;
        case DType::TQ2_0:
            return &kTq2_0;
        default:
            return nullptr;
    }
}

}  // namespace riftjit::x86
