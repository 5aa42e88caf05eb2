// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0: blocks of 32 with one f16 scale, and one f16 minimum in the _1 types (gguf
// specification, ggml-common.h). A segment is 32 elements, so |I| < 2^24 and float(I) is exact.
#include "jit/formats/field_reader.h"
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;

class Q8Decoder final : public Decoder {
public:
    Q8Decoder() : Decoder({.type = DType::Q8_0, .header_bytes = 2, .body_dwords = 8}) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(start_of<DType::Q8_0, FieldRole::scale>(block));
        const auto* codes = reinterpret_cast<const uint8_t*>(start_of<DType::Q8_0, FieldRole::code>(block));
        for (uint32_t i = 0; i < 8; ++i) packed.body[i] = pack_fields<8>(codes + 4 * i);
    }
    std::vector<VectorConstant> constants(Isa, Elements) const override { return {}; }
    size_t temporaries(Isa, Elements) const override { return 2; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        const Xmm bytes = site.temporary(0), pair = site.temporary(1);
        for (uint32_t i = 0; i < 8; ++i) {
            load(site.code, bytes, site.body_dwords(group, i));
            if (site.elements() == Elements::quads) {
                sink(bytes, i);
                continue;
            }
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
template <DType type>
class NibbleDecoder final : public Decoder {
public:
    explicit NibbleDecoder(int16_t zero_point)
        : Decoder({.type = type,
                   .header_bytes = kHasOffset ? 4 : 2,
                   .body_dwords = kHasFifthBit ? 5 : 4,
                   .zero_point = zero_point}) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(start_of<type, FieldRole::scale>(block));
        if constexpr (kHasOffset) packed.header[1] = read_u16(start_of<type, FieldRole::offset>(block));
        if constexpr (kHasFifthBit)
            packed.body[0] = pack_bit_fields(read_u32(start_of<type, FieldRole::code, 1>(block)));
        uint8_t codes[32];
        read_plane<type, FieldRole::code>(block, codes);
        for (uint32_t i = 0; i < 4; ++i) packed.body[first_nibbles() + i] = pack_fields<4>(codes + 8 * i);
    }
    std::vector<VectorConstant> constants(Isa, Elements elements) const override {
        if (kHasFifthBit) return {broadcast(mask_of(elements, 0xf)), broadcast(mask_of(elements, 0x10))};
        return {broadcast(mask_of(elements, 0xf))};
    }
    size_t temporaries(Isa, Elements) const override { return kHasFifthBit ? 4 : 2; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        if constexpr (kHasFifthBit) {
            const Xmm fifth_mask = site.constant(1);
            unpack_nibbles(site, group, 0, site.constant(0), &fifth_mask, sink);
        } else {
            unpack_nibbles(site, group, 0, site.constant(0), nullptr, sink);
        }
    }
    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override {
        load_half_scale(site, out, segment, 0);
    }
    void minimum(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        load_half_scale(site, out, group, 1);
    }

private:
    static constexpr bool kHasFifthBit = kField<type, FieldRole::code>.planes.size() == 2;
    static constexpr bool kHasOffset = kWeightFormat<type>.results.offset != kNoStep;
    static constexpr uint32_t first_nibbles() { return kHasFifthBit ? 1 : 0; }
};

}  // namespace

const Decoder* find_block32_decoder(DType type) {
    static const Q8Decoder q8_0;
    static const NibbleDecoder<DType::Q4_0> q4_0(8);
    static const NibbleDecoder<DType::Q4_1> q4_1(0);
    static const NibbleDecoder<DType::Q5_0> q5_0(16);
    static const NibbleDecoder<DType::Q5_1> q5_1(0);
    return decoder_of(type, {&q8_0, &q4_0, &q4_1, &q5_0, &q5_1});
}

}  // namespace riftjit::x86
