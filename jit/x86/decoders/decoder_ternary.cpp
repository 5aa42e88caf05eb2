// Q1_0, Q2_0, TQ1_0, TQ2_0: one or two bits, or a third of a ternary digit, per element and one scale per block (gguf
// specification). All are small integers minus one: zero_point is 1.
#include "jit/formats/field_reader.h"
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;

class TernaryDecoder : public Decoder {
public:
    TernaryDecoder(DType type, uint8_t body_dwords)
        : Decoder({.type = type, .header_bytes = 2, .body_dwords = body_dwords, .zero_point = 1}) {}

    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override {
        load_half_scale(site, out, segment, 0);
    }

protected:
    uint32_t groups_per_block() const { return traits().segment / 32u; }  // a block is a segment
};

// A set bit is +1, a clear bit -1: q = 2 * bit.
class Q1Decoder final : public TernaryDecoder {
public:
    Q1Decoder() : TernaryDecoder(DType::Q1_0, 4) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(start_of<DType::Q1_0, FieldRole::scale>(block));
        const std::byte* bits = start_of<DType::Q1_0, FieldRole::code>(block);
        for (uint32_t i = 0; i < 4; ++i) packed.body[i] = pack_bit_fields(read_u32(bits + 4 * i));
    }
    std::vector<VectorConstant> constants(Isa, Elements elements) const override {
        return {broadcast(mask_of(elements, 2))};
    }
    size_t temporaries(Isa, Elements) const override { return 2; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        const Xmm bits = site.temporary(0), out = site.temporary(1);
        load(site.code, bits, site.body_dwords(group / groups_per_block(), group % groups_per_block()));
        for (uint32_t index = 0; index < 32 / count_in(site.elements()); ++index) {
            const int shift = shift_of(site.elements(), 1, index) - 1;
            if (shift != 0) shift_dwords(site.code, out, bits, shift);
            bit_and(site.code, out, shift == 0 ? bits : out, site.constant(0));
            sink(out, index);
        }
    }
};

template <DType type>
class TwoBitDecoder final : public TernaryDecoder {
    static constexpr uint32_t kElements = kField<type, FieldRole::code>.planes[0].values();

public:
    TwoBitDecoder() : TernaryDecoder(type, kElements / 16) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(start_of<type, FieldRole::scale>(block));
        uint8_t codes[kElements];
        read_plane<type, FieldRole::code>(block, codes);
        for (uint32_t i = 0; i < kElements / 16; ++i) packed.body[i] = pack_fields<2>(codes + 16 * i);
    }
    std::vector<VectorConstant> constants(Isa, Elements elements) const override {
        return {broadcast(mask_of(elements, 3))};
    }
    size_t temporaries(Isa, Elements) const override { return 2; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        const Xmm codes = site.temporary(0), out = site.temporary(1);
        const uint32_t per_dword = count_per_dword(site.elements(), 2);
        for (uint32_t index = 0; index < 32 / count_in(site.elements()); ++index) {
            const uint32_t dword = 2 * (group % groups_per_block()) + index / per_dword;
            if (index % per_dword == 0) load(site.code, codes, site.body_dwords(group / groups_per_block(), dword));
            extract(site.code, site.elements(), out, codes, 2, index % per_dword, site.constant(0));
            sink(out, index);
        }
    }
};

// Twenty digits to a dword: ten elements of even index in the low half, ten of odd index in the high one, each half a
// fixed-point fraction x = ceil(value * 2^16 / 3^10), first digit foremost. The next digit is floor(3x), and the rest
// its fraction: exact for all ten, because rounding up adds less than 2^-16 < 3^-10.
class Tq1Decoder final : public TernaryDecoder {
public:
    Tq1Decoder() : TernaryDecoder(DType::TQ1_0, kDwords) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(start_of<DType::TQ1_0, FieldRole::scale>(block));
        std::array<uint8_t, kDwords * 20> digits{};
        unpack_file_digits(block, digits.data());
        for (uint32_t i = 0; i < kDwords; ++i)
            packed.body[i] = encode(&digits[20 * i]) | encode(&digits[20 * i + 1]) << 16;
    }
    std::vector<VectorConstant> constants(Isa, Elements) const override { return {broadcast(pair_mask(3))}; }
    size_t temporaries(Isa, Elements elements) const override { return elements == Elements::pairs ? 2 : 3; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        if (site.elements() == Elements::pairs) return unpack_pairs(site, group, sink);
        const Xmm even_pair = site.temporary(2);  // one after the other
        unpack_pairs(site, group, [&](const Xmm& pair, uint32_t index) {
            if (index % 2 == 0) return site.code.vmovaps(even_pair, pair);
            site.code.vpsllw(pair, pair, 8);
            bit_or(site.code, pair, pair, even_pair);
            sink(pair, index / 2);
        });
    }

private:
    void unpack_pairs(const DecodeSite& site, uint32_t group, const ElementSink& sink) const {
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
    static constexpr uint32_t kDwords = 13, kDigits = 10;

    static constexpr uint32_t power_of_three(uint32_t exponent) {
        return exponent == 0 ? 1 : 3 * power_of_three(exponent - 1);
    }

    static void skip_digits(X86Emitter& code, const Xmm& rest, uint32_t count) {
        const VectorConstant factor = broadcast(pair_mask(power_of_three(count)));  // no embedded broadcast of words
        code.vpmullw(rest, rest, code.constant_bytes(&factor, sizeof factor));
    }

    // Digit n of a byte is the first of byte * 3^n, as a fraction of 256.
    static void unpack_file_digits(const std::byte* block, uint8_t* digits) {
        read_values<DType::TQ1_0, FieldRole::digits>(block, digits);
        for (const int8_t power : lane_table(LaneTable::ternary_powers))
            for (int j = 0; j < 4; ++j, ++digits) *digits = static_cast<uint8_t>((*digits * power & 255) * 3 >> 8);
    }
    static uint32_t encode(const uint8_t* every_second_digit) {
        uint32_t value = 0;
        for (uint32_t i = 0; i < kDigits; ++i) value = 3 * value + every_second_digit[2 * i];
        constexpr uint32_t kAll = power_of_three(kDigits);
        return ((value << 16) + kAll - 1) / kAll;
    }
};

}  // namespace

const Decoder* find_ternary_decoder(DType type) {
    static const Q1Decoder q1_0;
    static const TwoBitDecoder<DType::Q2_0> q2_0;
    static const TwoBitDecoder<DType::TQ2_0> tq2_0;
    static const Tq1Decoder tq1_0;
    return decoder_of(type, {&q1_0, &q2_0, &tq2_0, &tq1_0});
}

}  // namespace riftjit::x86
