// IQ4_NL, IQ4_XS, MXFP4, NVFP4: four bits per element that select one of 16 codebook values (gguf specification).
#include "jit/formats/field_reader.h"
#include "jit/formats/quant_grids.h"
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;
using Codebook = std::array<int8_t, 16>;

class CodebookDecoder : public Decoder {
public:
    CodebookDecoder(const PackedShape& shape, const Codebook& codebook, uint32_t first_nibbles)
        : Decoder(shape), codebook_(codebook), first_nibbles_(first_nibbles) {}

    std::vector<VectorConstant> constants(Isa isa, Elements elements) const override {
        if (has_words(isa, elements)) return {word_table()};
        return {byte_table(), broadcast(0x0f0f0f0f)};
    }
    size_t temporaries(Isa isa, Elements elements) const override { return has_words(isa, elements) ? 2 : 3; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        const Elements elements = site.elements();
        const uint32_t group_dwords = traits().group / 8;
        const uint32_t groups_per_block = block_elements() / traits().group;
        for (uint32_t i = 0; i < group_dwords; ++i) {
            const uint32_t dword = first_nibbles_ + group % groups_per_block * group_dwords + i;
            load(site.code, site.temporary(0), site.body_dwords(group / groups_per_block, dword));
            const auto sink_part = [&](const Xmm& part, uint32_t index) {
                sink(part, count_per_dword(elements, 4) * i + index);
            };
            if (has_words(site.code.isa(), elements))
                look_up_words(site, sink_part);
            else if (elements == Elements::quads)
                look_up_bytes(site, sink_part);
            else
                look_up_bytes(site, [&](const Xmm& quad, uint32_t index) { widen(site, quad, index, sink_part); });
        }
    }

protected:
    uint32_t block_elements() const { return riftjit::traits(traits().type).block_elements; }

    template <DType type>
    static void pack_nibbles(const std::byte* block, uint32_t* out) {
        constexpr uint32_t kElements = kField<type, FieldRole::code>.planes[0].values();
        uint8_t codes[kElements];
        read_plane<type, FieldRole::code>(block, codes);
        for (uint32_t i = 0; i < kElements / 8; ++i) out[i] = pack_fields<4>(codes + 8 * i);
    }

private:
    static bool has_words(Isa isa, Elements elements) { return has_avx512(isa) && elements == Elements::pairs; }

    // VPERMW takes five bits of index: with the table there twice, the neighbouring nibble's lowest bit is harmless and
    // no mask is needed.
    void look_up_words(const DecodeSite& site, const ElementSink& sink) const {
        const Xmm nibbles = site.temporary(0), pair = site.temporary(1);
        for (uint32_t index = 0; index < 4; ++index) {
            if (index > 0) site.code.vpsrlw(pair, nibbles, static_cast<uint8_t>(pair_shift(4, index)));
            site.code.vpermw(pair, index > 0 ? pair : nibbles, site.constant(0));
            sink(pair, index);
        }
    }
    // The bytes of a dword hold quad 0 in their low nibbles and quad 1 in their high ones.
    void look_up_bytes(const DecodeSite& site, const ElementSink& sink) const {
        const Xmm nibbles = site.temporary(0), values = site.temporary(1);
        for (uint32_t index = 0; index < 2; ++index) {
            if (index > 0) site.code.vpsrlw(nibbles, nibbles, 4);
            bit_and(site.code, values, nibbles, site.constant(1));
            site.code.vpshufb(values, site.constant(0), values);
            sink(values, index);
        }
    }
    void widen(const DecodeSite& site, const Xmm& quad, uint32_t index, const ElementSink& sink) const {
        const Xmm pair = site.temporary(2);
        site.code.vpsllw(pair, quad, 8);
        site.code.vpsraw(pair, pair, 8);
        sink(pair, 2 * index);
        site.code.vpsraw(quad, quad, 8);
        sink(quad, 2 * index + 1);
    }
    VectorConstant word_table() const {
        std::array<int16_t, 32> words;
        for (size_t i = 0; i < words.size(); ++i) words[i] = codebook_[i % 16];
        return std::bit_cast<VectorConstant>(words);
    }
    VectorConstant byte_table() const {
        std::array<int8_t, 64> bytes;
        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = codebook_[i % 16];
        return std::bit_cast<VectorConstant>(bytes);
    }

    const Codebook& codebook_;
    uint32_t first_nibbles_;
};

class Iq4NlDecoder final : public CodebookDecoder {
public:
    Iq4NlDecoder()
        : CodebookDecoder({.type = DType::IQ4_NL, .header_bytes = 2, .body_dwords = 4}, kNonlinearCodebook, 0) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(start_of<DType::IQ4_NL, FieldRole::scale>(block));
        pack_nibbles<DType::IQ4_NL>(block, packed.body.data());
    }
    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override {
        load_half_scale(site, out, segment, 0);
    }
};

class Mxfp4Decoder final : public CodebookDecoder {
public:
    Mxfp4Decoder() : CodebookDecoder({.type = DType::MXFP4, .header_bytes = 1, .body_dwords = 4}, kFp4Codebook, 0) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = static_cast<uint8_t>(*start_of<DType::MXFP4, FieldRole::scale>(block));
        pack_nibbles<DType::MXFP4>(block, packed.body.data());
    }
    // 2^(x - 128) = 2^(x - 127) / 2. As f32 bits 2^(x - 127) is x << 23, except for x = 0, the subnormal 2^-127.
    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override {
        site.code.vpmovzxbd(out, site.header_bytes(segment));
        site.code.vpslld(out, out, 23);
        site.code.vpmaxsd(out, out, site.code.splat_u32(0x00400000));
        site.code.vmulps(out, out, site.code.splat(0.5f));
    }
};

// body: four scale bytes [1], nibbles [8]
class Nvfp4Decoder final : public CodebookDecoder {
public:
    Nvfp4Decoder() : CodebookDecoder({.type = DType::NVFP4, .header_bytes = 0, .body_dwords = 9}, kFp4Codebook, 1) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        uint8_t scales[4];
        read_plane<DType::NVFP4, FieldRole::scale>(block, scales);
        packed.body[0] = 0;
        for (uint32_t k = 0; k < 4; ++k) packed.body[0] |= canonical_scale(scales[k]) << 8 * k;
        pack_nibbles<DType::NVFP4>(block, packed.body.data() + 1);
    }
    // With its seven bits at the top of f32's mantissa and the bottom of its exponent, ue4m3 is off by the difference
    // of the biases, 2^120 (exact for subnormals too); half of that because the codebook is doubled.
    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override {
        load(site.code, out, site.body_dwords(segment / 4, 0));
        shift_dwords(site.code, out, out, static_cast<int>(8 * (segment % 4)) - 20);
        bit_and(site.code, out, out, site.code.splat_u32(0x7f << 20));
        site.code.vmulps(out, out, site.code.splat(0x1p119f));
    }

private:
    // 0x7f decodes to 0 and 0xff to 480, though the top bit is otherwise ignored: store them without that exception.
    static uint32_t canonical_scale(uint8_t scale) { return scale == 0x7f ? 0 : scale & 0x7f; }
};

// body: low four bits of the sub-scales [1], nibbles [32]; the sub-scales' high bits are the header's second field
class Iq4XsDecoder final : public CodebookDecoder {
public:
    Iq4XsDecoder()
        : CodebookDecoder({.type = DType::IQ4_XS, .header_bytes = 4, .body_dwords = 33}, kNonlinearCodebook, 1) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header = {read_u16(start_of<DType::IQ4_XS, FieldRole::scale>(block)),
                         read_u16(start_of<DType::IQ4_XS, FieldRole::sub_scale, 1>(block))};
        packed.body[0] = read_u32(start_of<DType::IQ4_XS, FieldRole::sub_scale>(block));
        pack_nibbles<DType::IQ4_XS>(block, packed.body.data() + 1);
    }
    void scale(const DecodeSite& site, uint32_t, const Xmm& out) const override { load_half_scale(site, out, 0, 0); }
    // (bits 4k .. 4k+3 of scales_l | bits 2k, 2k+1 of scales_h << 4) - 32
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        const Xmm low = site.temporary(0);
        site.code.vpmovzxwd(out, site.header_halves(0, 1));
        shift_dwords(site.code, out, out, 2 * static_cast<int>(group) - 4);
        bit_and(site.code, out, out, site.code.splat_u32(0x30));
        load(site.code, low, site.body_dwords(0, 0));
        shift_dwords(site.code, low, low, 4 * static_cast<int>(group));
        bit_and(site.code, low, low, site.code.splat_u32(15));
        bit_or(site.code, out, out, low);
        site.code.vpaddd(out, out, site.code.splat_u32(uint32_t(-32)));
    }
};

}  // namespace

const Decoder* find_codebook_decoder(DType type) {
    static const Iq4NlDecoder iq4_nl;
    static const Iq4XsDecoder iq4_xs;
    static const Mxfp4Decoder mxfp4;
    static const Nvfp4Decoder nvfp4;
    return decoder_of(type, {&iq4_nl, &iq4_xs, &mxfp4, &nvfp4});
}

}  // namespace riftjit::x86
