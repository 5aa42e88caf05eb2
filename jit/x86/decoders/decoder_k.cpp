// Q2_K to Q6_K: super-blocks of 256 with integer sub-scales under one f16 scale (gguf specification, ggml-common.h).
#include <algorithm>

#include "jit/formats/field_reader.h"
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;

// One f16 scale, the header's first field.
class KDecoder : public Decoder {
public:
    using Decoder::Decoder;

    void scale(const DecodeSite& site, uint32_t, const Xmm& out) const override { load_half_scale(site, out, 0, 0); }
};

// Q4_K and Q5_K. body: six-bit scales and minima [3], then for each group fifth bits [1] (Q5_K) and nibbles [4]
template <DType type>
class MinimumKDecoder final : public KDecoder {
public:
    MinimumKDecoder() : KDecoder({.type = type, .header_bytes = 4, .body_dwords = kHasFifthBit ? 43 : 35}) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header = {read_u16(start_of<type, FieldRole::scale>(block)),
                         read_u16(start_of<type, FieldRole::minimum_scale>(block))};
        std::array<uint8_t, 16> scales_and_minima;
        read_values<type, FieldRole::sub_scale>(block, scales_and_minima.data());
        read_values<type, FieldRole::sub_minimum>(block, scales_and_minima.data() + 8);
        std::ranges::copy(pack_six_bits(scales_and_minima), packed.body.begin());
        uint8_t codes[256];
        read_plane<type, FieldRole::code>(block, codes);
        for (uint32_t i = 0; i < 32; ++i) packed.body[nibbles_of(i / 4) + i % 4] = pack_fields<4>(codes + 8 * i);
        if constexpr (kHasFifthBit) {
            read_plane<type, FieldRole::code, 1>(block, codes);
            for (uint32_t k = 0; k < 8; ++k) packed.body[group_start(k)] = pack_fields<1>(codes + 32 * k);
        }
    }
    std::vector<VectorConstant> constants(Isa, Elements elements) const override {
        if (kHasFifthBit) return {broadcast(mask_of(elements, 0xf)), broadcast(63), broadcast(mask_of(elements, 0x10))};
        return {broadcast(mask_of(elements, 0xf)), broadcast(63)};
    }
    size_t temporaries(Isa, Elements) const override { return kHasFifthBit ? 4 : 2; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        if constexpr (kHasFifthBit) {
            const Xmm fifth_mask = site.constant(2);
            unpack_nibbles(site, 0, group_start(group), site.constant(0), &fifth_mask, sink);
        } else {
            unpack_nibbles(site, 0, group_start(group), site.constant(0), nullptr, sink);
        }
    }
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        extract_six_bits(site, out, 0, group, site.constant(1), site.temporary(0));
    }
    void minimum(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        extract_six_bits(site, out, 0, 8 + group, site.constant(1), site.temporary(0));
    }
    void minimum_scale(const DecodeSite& site, const Xmm& out) const override { load_half_scale(site, out, 0, 1); }

private:
    static constexpr bool kHasFifthBit = kField<type, FieldRole::code>.planes.size() == 2;
    static constexpr uint32_t group_start(uint32_t group) { return 3 + group * (kHasFifthBit ? 5 : 4); }
    static constexpr uint32_t nibbles_of(uint32_t group) { return group_start(group) + (kHasFifthBit ? 1 : 0); }
};

// body: scales i8 [4], then for each group two high bits [1] and four low bits [2]
class Q6KDecoder final : public KDecoder {
public:
    Q6KDecoder() : KDecoder({.type = DType::Q6_K, .header_bytes = 2, .body_dwords = 52, .zero_point = 32}) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(start_of<DType::Q6_K, FieldRole::scale>(block));
        std::memcpy(packed.body.data(), start_of<DType::Q6_K, FieldRole::sub_scale>(block), 16);
        uint8_t low[256], high[256];
        read_plane<DType::Q6_K, FieldRole::code>(block, low);
        read_plane<DType::Q6_K, FieldRole::code, 1>(block, high);
        for (uint32_t i = 0; i < 16; ++i) packed.body[group_start(i)] = pack_fields<2>(high + 16 * i);
        for (uint32_t i = 0; i < 32; ++i) packed.body[group_start(i / 2) + 1 + i % 2] = pack_fields<4>(low + 8 * i);
    }
    std::vector<VectorConstant> constants(Isa, Elements elements) const override {
        return {broadcast(mask_of(elements, 0xf)), broadcast(mask_of(elements, 0x30))};
    }
    size_t temporaries(Isa, Elements) const override { return 4; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        const Xmm low = site.temporary(0), high = site.temporary(1), out = site.temporary(2), top = site.temporary(3);
        const uint32_t per_dword = count_per_dword(site.elements(), 4);
        load(site.code, high, site.body_dwords(0, group_start(group)));
        for (uint32_t index = 0; index < 16 / count_in(site.elements()); ++index) {
            if (index % per_dword == 0)
                load(site.code, low, site.body_dwords(0, group_start(group) + 1 + index / per_dword));
            extract(site.code, site.elements(), out, low, 4, index % per_dword, site.constant(0));
            shift_dwords(site.code, top, high, shift_of(site.elements(), 2, index) - 4);
            merge_bits(site.code, out, top, site.constant(1));
            sink(out, index);
        }
    }
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        load(site.code, out, site.body_dwords(0, group / 4));
        if (group % 4 != 3) site.code.vpslld(out, out, static_cast<uint8_t>(24 - 8 * (group % 4)));
        site.code.vpsrad(out, out, 24);
    }

private:
    static uint32_t group_start(uint32_t group) { return 4 + 3 * group; }
};

// body: six-bit scales [3], then for each two groups high bits [1] and two low bits [1] each
class Q3KDecoder final : public KDecoder {
public:
    Q3KDecoder() : KDecoder({.type = DType::Q3_K, .header_bytes = 2, .body_dwords = 27, .zero_point = 4}) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(start_of<DType::Q3_K, FieldRole::scale>(block));
        std::array<uint8_t, 16> scales;
        read_values<DType::Q3_K, FieldRole::sub_scale>(block, scales.data());
        std::ranges::copy(pack_six_bits(scales), packed.body.begin());
        uint8_t low[256], high[256];
        read_plane<DType::Q3_K, FieldRole::code>(block, low);
        read_plane<DType::Q3_K, FieldRole::code, 1>(block, high);
        for (uint32_t i = 0; i < 8; ++i) packed.body[high_of(2 * i)] = pack_fields<1>(high + 32 * i);
        for (uint32_t i = 0; i < 16; ++i) packed.body[low_of(i)] = pack_fields<2>(low + 16 * i);
    }
    std::vector<VectorConstant> constants(Isa, Elements elements) const override {
        return {broadcast(mask_of(elements, 3)), broadcast(mask_of(elements, 4)), broadcast(63),
                broadcast(static_cast<uint32_t>(-32))};
    }
    size_t temporaries(Isa, Elements) const override { return 4; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        const Xmm low = site.temporary(0), high = site.temporary(1), out = site.temporary(2), top = site.temporary(3);
        const uint32_t count = 16 / count_in(site.elements());
        load(site.code, low, site.body_dwords(0, low_of(group)));
        load(site.code, high, site.body_dwords(0, high_of(group)));
        for (uint32_t index = 0; index < count; ++index) {
            extract(site.code, site.elements(), out, low, 2, index, site.constant(0));
            shift_dwords(site.code, top, high, shift_of(site.elements(), 1, count * (group % 2) + index) - 2);
            merge_bits(site.code, out, top, site.constant(1));
            sink(out, index);
        }
    }
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        extract_six_bits(site, out, 0, group, site.constant(2), site.temporary(0));
        site.code.vpaddd(out, out, site.constant(3));
    }

private:
    static uint32_t high_of(uint32_t group) { return 3 + group / 2 * 3; }
    static uint32_t low_of(uint32_t group) { return high_of(group) + 1 + group % 2; }
};

// body: scale (low nibble) and minimum (high nibble) bytes [4], codes [16]
class Q2KDecoder final : public KDecoder {
public:
    Q2KDecoder() : KDecoder({.type = DType::Q2_K, .header_bytes = 4, .body_dwords = 20}) {}

    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header = {read_u16(start_of<DType::Q2_K, FieldRole::scale>(block)),
                         read_u16(start_of<DType::Q2_K, FieldRole::minimum_scale>(block))};
        std::memcpy(packed.body.data(), start_of<DType::Q2_K, FieldRole::sub_scale>(block), 16);
        uint8_t codes[256];
        read_plane<DType::Q2_K, FieldRole::code>(block, codes);
        for (uint32_t i = 0; i < 16; ++i) packed.body[kCodes + i] = pack_fields<2>(codes + 16 * i);
    }
    std::vector<VectorConstant> constants(Isa, Elements elements) const override {
        return {broadcast(mask_of(elements, 3)), broadcast(15)};
    }
    size_t temporaries(Isa, Elements) const override { return 2; }

    void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const override {
        const Xmm codes = site.temporary(0), out = site.temporary(1);
        load(site.code, codes, site.body_dwords(0, kCodes + group));
        for (uint32_t index = 0; index < 16 / count_in(site.elements()); ++index) {
            extract(site.code, site.elements(), out, codes, 2, index, site.constant(0));
            sink(out, index);
        }
    }
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        extract_field(site, out, 0, group / 4, 8 * static_cast<int>(group % 4), site.constant(1));
    }
    void minimum(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        extract_field(site, out, 0, group / 4, 8 * static_cast<int>(group % 4) + 4, site.constant(1));
    }
    void minimum_scale(const DecodeSite& site, const Xmm& out) const override { load_half_scale(site, out, 0, 1); }

private:
    static constexpr uint32_t kCodes = 4;
};

}  // namespace

const Decoder* find_k_decoder(DType type) {
    static const Q2KDecoder q2_k;
    static const Q3KDecoder q3_k;
    static const MinimumKDecoder<DType::Q4_K> q4_k;
    static const MinimumKDecoder<DType::Q5_K> q5_k;
    static const Q6KDecoder q6_k;
    return decoder_of(type, {&q2_k, &q3_k, &q4_k, &q5_k, &q6_k});
}

}  // namespace riftjit::x86
