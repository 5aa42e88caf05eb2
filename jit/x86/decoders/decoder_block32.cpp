// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0: blocks of 32 with one f16 scale, and one f16 minimum in the _1 types (gguf
// specification, ggml-common.h).
//
// Bounds: 32 elements per segment, so |I| <= 32 * 128 * kI16Max = 16.8e6 < 2^24 (Q8_0), and less for the others:
// float(I) is exact.
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;

class Q8Decoder final : public Decoder {
public:
    constexpr Q8Decoder()
        : Decoder({.type = DType::Q8_0, .segment = 32, .group = 32, .header_bytes = 2, .body_dwords = 8}) {}

    // file: d f16, qs i8[32]
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(block);
        const auto* codes = reinterpret_cast<const uint8_t*>(block + 2);
        for (uint32_t i = 0; i < 8; ++i) packed.body[i] = pack_fields<8>(codes + 4 * i);
    }
    std::vector<VectorConstant> constants(Isa) const override { return {}; }
    size_t temporaries(Isa) const override { return 2; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const Xmm bytes = site.temporary(0), pair = site.temporary(1);
        for (uint32_t i = 0; i < 8; ++i) {
            load(site.code, bytes, site.body_dwords(group, i));
            site.code.vpsllw(pair, bytes, 8);
            site.code.vpsraw(pair, pair, 8);
            sink(pair, 2 * i);
            site.code.vpsraw(bytes, bytes, 8);
            sink(bytes, 2 * i + 1);
        }
    }
    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override {
        load_half_scale(site, out, segment, 0);
    }
};

// Four low bits per element, and for the Q5 types a plane of fifth bits before them.
class NibbleDecoder final : public Decoder {
public:
    enum class FifthBit : uint8_t { absent, present };

    constexpr NibbleDecoder(DType type, FifthBit fifth_bit, int16_t zero_point, Minimum minimum)
        : Decoder({.type = type,
                   .segment = 32,
                   .group = 32,
                   .header_bytes = static_cast<uint8_t>(minimum == Minimum::real ? 4 : 2),
                   .body_dwords = static_cast<uint8_t>(fifth_bit == FifthBit::present ? 5 : 4),
                   .zero_point = zero_point,
                   .minimum = minimum}),
          has_fifth_bit_(fifth_bit == FifthBit::present) {}

    // file: d f16, [m f16], [qh u32], qs u8[16]; byte j of qs holds elements j (low nibble) and j + 16
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        const uint32_t header_bytes = traits().header_bytes;
        for (uint32_t i = 0; i < header_bytes / 2; ++i) packed.header[i] = read_u16(block + 2 * i);
        if (has_fifth_bit_) packed.body[0] = pack_bit_fields(read_u32(block + header_bytes));
        const auto* bytes = reinterpret_cast<const uint8_t*>(block + header_bytes + (has_fifth_bit_ ? 4 : 0));
        uint8_t codes[32];
        for (int j = 0; j < 16; ++j) codes[j] = bytes[j] & 15;
        for (int j = 0; j < 16; ++j) codes[j + 16] = bytes[j] >> 4;
        for (uint32_t i = 0; i < 4; ++i) packed.body[first_nibbles() + i] = pack_fields<4>(codes + 8 * i);
    }
    std::vector<VectorConstant> constants(Isa) const override {
        if (has_fifth_bit_) return {broadcast(pair_mask(0xf)), broadcast(pair_mask(0x10))};
        return {broadcast(pair_mask(0xf))};
    }
    size_t temporaries(Isa) const override { return has_fifth_bit_ ? 4 : 2; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const Xmm nibbles = site.temporary(0), pair = site.temporary(1);
        const auto fifth_bits = [&] { return site.temporary(2); };
        if (has_fifth_bit_) load(site.code, fifth_bits(), site.body_dwords(group, 0));
        for (uint32_t index = 0; index < 16; ++index) {
            if (index % 4 == 0) load(site.code, nibbles, site.body_dwords(group, first_nibbles() + index / 4));
            extract_pair(site.code, pair, nibbles, 4, index % 4, site.constant(0));
            if (has_fifth_bit_) {
                const Xmm bit = site.temporary(3);
                shift_dwords(site.code, bit, fifth_bits(), static_cast<int>(index) - 4);
                merge_bits(site.code, pair, bit, site.constant(1));
            }
            sink(pair, index);
        }
    }
    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override {
        load_half_scale(site, out, segment, 0);
    }
    void minimum(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        load_half_scale(site, out, group, 1);
    }

private:
    uint32_t first_nibbles() const { return has_fifth_bit_ ? 1 : 0; }

    bool has_fifth_bit_;
};

using enum NibbleDecoder::FifthBit;
const Q8Decoder kQ8_0;
const NibbleDecoder kQ4_0(DType::Q4_0, absent, 8, Minimum::none);
const NibbleDecoder kQ4_1(DType::Q4_1, absent, 0, Minimum::real);
const NibbleDecoder kQ5_0(DType::Q5_0, present, 16, Minimum::none);
const NibbleDecoder kQ5_1(DType::Q5_1, present, 0, Minimum::real);

}  // namespace

const Decoder* find_block32_decoder(DType type) {
    switch (type) {
        case DType::Q4_0:
            return &kQ4_0;
        case DType::Q4_1:
            return &kQ4_1;
        case DType::Q5_0:
            return &kQ5_0;
        case DType::Q5_1:
            return &kQ5_1;
        case DType::Q8_0:
            return &kQ8_0;
        default:
            return nullptr;
    }
}

}  // namespace riftjit::x86
