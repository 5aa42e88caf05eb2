// IQ4_NL, IQ4_XS, MXFP4, NVFP4: four bits per element that select one of 16 codebook values (gguf specification).
//
// Bounds: blocks of 32 or less |I| <= 32 * 127 * 4095 = 16.6e6. IQ4_XS multiplies by -32 to 31: in 128 elements
// 128 * 32 * 127 * 4095 = 2130e6 < 2^31, hence two segments.
#include "jit/formats/quant_grids.h"
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;
using Codebook = std::array<int8_t, 16>;

class CodebookDecoder : public Decoder {
public:
    constexpr CodebookDecoder(const DecoderTraits& traits, const Codebook& codebook, uint32_t first_nibbles)
        : Decoder(traits), codebook_(codebook), first_nibbles_(first_nibbles) {}

    std::vector<VectorConstant> constants(Isa isa) const override {
        if (has_avx512(isa)) return {word_table()};
        return {byte_table(), broadcast(0x0f0f0f0f)};
    }
    size_t temporaries(Isa isa) const override { return has_avx512(isa) ? 2 : 3; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const uint32_t group_dwords = traits().group / 8;
        const uint32_t groups_per_block = block_elements() / traits().group;
        for (uint32_t i = 0; i < group_dwords; ++i) {
            const uint32_t dword = first_nibbles_ + group % groups_per_block * group_dwords + i;
            load(site.code, site.temporary(0), site.body_dwords(group / groups_per_block, dword));
            const auto sink_pair = [&](const Xmm& pair, uint32_t index) { sink(pair, 4 * i + index); };
            if (has_avx512(site.code.isa()))
                look_up_words(site, sink_pair);
            else
                look_up_bytes(site, sink_pair);
        }
    }

protected:
    uint32_t block_elements() const { return riftjit::traits(traits().type).block_elements; }

    // file: 16 bytes for 32 elements; byte j holds elements j (low nibble) and j + 16
    static void pack_nibbles32(const std::byte* file, uint32_t* out) {
        const auto* bytes = reinterpret_cast<const uint8_t*>(file);
        uint8_t codes[32];
        for (int j = 0; j < 16; ++j) codes[j] = bytes[j] & 15;
        for (int j = 0; j < 16; ++j) codes[j + 16] = bytes[j] >> 4;
        for (uint32_t i = 0; i < 4; ++i) out[i] = pack_fields<4>(codes + 8 * i);
    }

private:
    // VPERMW takes five bits of index: with the table there twice, the neighbouring nibble's lowest bit is harmless and
    // no mask is needed.
    void look_up_words(const DecodeSite& site, const PairSink& sink) const {
        const Xmm nibbles = site.temporary(0), pair = site.temporary(1);
        for (uint32_t index = 0; index < 4; ++index) {
            if (index > 0) site.code.vpsrlw(pair, nibbles, static_cast<uint8_t>(4 * index));
            site.code.vpermw(pair, index > 0 ? pair : nibbles, site.constant(0));
            sink(pair, index);
        }
    }
    // Bytes 0 to 3 of a dword hold in their low nibbles the first elements of pairs 0 and 2, then the second ones; in
    // their high nibbles those of pairs 1 and 3.
    void look_up_bytes(const DecodeSite& site, const PairSink& sink) const {
        const Xmm nibbles = site.temporary(0), values = site.temporary(1), pair = site.temporary(2);
        for (uint32_t index = 0; index < 2; ++index) {
            if (index > 0) site.code.vpsrlw(nibbles, nibbles, 4);
            bit_and(site.code, values, nibbles, site.constant(1));
            site.code.vpshufb(values, site.constant(0), values);
            site.code.vpsllw(pair, values, 8);
            site.code.vpsraw(pair, pair, 8);
            sink(pair, index);
            site.code.vpsraw(values, values, 8);
            sink(values, index + 2);
        }
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
    constexpr Iq4NlDecoder()
        : CodebookDecoder({.type = DType::IQ4_NL, .segment = 32, .group = 32, .header_bytes = 2, .body_dwords = 4},
                          kNonlinearCodebook, 0) {}

    // file: d f16, qs u8[16]
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(block);
        pack_nibbles32(block + 2, packed.body.data());
    }
    void scale(const DecodeSite& site, uint32_t segment, const Xmm& out) const override {
        load_half_scale(site, out, segment, 0);
    }
};

class Mxfp4Decoder final : public CodebookDecoder {
public:
    constexpr Mxfp4Decoder()
        : CodebookDecoder({.type = DType::MXFP4, .segment = 32, .group = 32, .header_bytes = 1, .body_dwords = 4},
                          kFp4Codebook, 0) {}

    // file: x u8, qs u8[16]
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = static_cast<uint8_t>(block[0]);
        pack_nibbles32(block + 1, packed.body.data());
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
    constexpr Nvfp4Decoder()
        : CodebookDecoder({.type = DType::NVFP4, .segment = 16, .group = 16, .header_bytes = 0, .body_dwords = 9},
                          kFp4Codebook, 1) {}

    // file: x u8[4], qs u8[32]; sub-block k of 16: byte 8k + j holds elements j (low nibble) and j + 8
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.body[0] = 0;
        for (uint32_t k = 0; k < 4; ++k) packed.body[0] |= canonical_scale(static_cast<uint8_t>(block[k])) << 8 * k;
        for (uint32_t k = 0; k < 4; ++k) {
            const auto* bytes = reinterpret_cast<const uint8_t*>(block + 4 + 8 * k);
            uint8_t codes[16];
            for (int j = 0; j < 8; ++j) codes[j] = bytes[j] & 15;
            for (int j = 0; j < 8; ++j) codes[j + 8] = bytes[j] >> 4;
            for (uint32_t i = 0; i < 2; ++i) packed.body[1 + 2 * k + i] = pack_fields<4>(codes + 8 * i);
        }
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
    constexpr Iq4XsDecoder()
        : CodebookDecoder({.type = DType::IQ4_XS,
                           .segment = 128,
                           .group = 32,
                           .header_bytes = 4,
                           .body_dwords = 33,
                           .sub_scale = SubScale::integer},
                          kNonlinearCodebook, 1) {}

    // file: d f16, scales_h u16, scales_l u8[4], qs u8[128]
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header = {read_u16(block), read_u16(block + 2)};
        packed.body[0] = read_u32(block + 4);
        for (uint32_t k = 0; k < 8; ++k) pack_nibbles32(block + 8 + 16 * k, packed.body.data() + 1 + 4 * k);
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

const Iq4NlDecoder kIq4Nl;
const Iq4XsDecoder kIq4Xs;
const Mxfp4Decoder kMxfp4;
const Nvfp4Decoder kNvfp4;

}  // namespace

const Decoder* find_codebook_decoder(DType type) {
    switch (type) {
        case DType::IQ4_NL:
            return &kIq4Nl;
        case DType::IQ4_XS:
            return &kIq4Xs;
        case DType::MXFP4:
            return &kMxfp4;
        case DType::NVFP4:
            return &kNvfp4;
        default:
            return nullptr;
    }
}

}  // namespace riftjit::x86
