// Q2_K to Q6_K: super-blocks of 256 with integer sub-scales under one f16 scale (gguf specification, ggml-common.h).
//
// Bounds, with |a| <= 4095 and |m * (q - z)| at its largest in every element:
//   Q2_K 256 *  15 *  3 * 4095 =   47e6      Q3_K 256 * 32 *  4 * 4095 =  134e6      Q4_K 256 * 63 * 15 * 4095 = 991e6
//   Q5_K 256 *  63 * 31 * 4095 = 2047e6      Q6_K 128 * 128 * 32 * 4095 = 2146.96e6 < 2^31 = 2147.48e6, hence two
//   segments. The integer minima: 16 * 15 * (16 * 4095) = 16e6 (Q2_K), 8 * 63 * (32 * 4095) = 66e6 (Q4_K, Q5_K).
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

namespace {

using Xbyak::Xmm;

const uint8_t* bytes_at(const std::byte* block, uint32_t offset) {
    return reinterpret_cast<const uint8_t*>(block + offset);
}

// Q4_K and Q5_K. body: six-bit scales and minima [3], then for each group fifth bits [1] (Q5_K) and nibbles [4]
class MinimumKDecoder final : public Decoder {
public:
    enum class FifthBit : uint8_t { absent, present };

    constexpr MinimumKDecoder(DType type, FifthBit fifth_bit)
        : Decoder({.type = type,
                   .segment = 256,
                   .group = 32,
                   .header_bytes = 4,
                   .body_dwords = static_cast<uint8_t>(fifth_bit == FifthBit::present ? 43 : 35),
                   .sub_scale = SubScale::integer,
                   .minimum = Minimum::integer}),
          has_fifth_bit_(fifth_bit == FifthBit::present) {}

    // file: d, dmin f16, scales u8[12], [qh u8[32]], qs u8[128]
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header = {read_u16(block), read_u16(block + 2)};
        const auto scales = pack_six_bits(unpack_file_scales(bytes_at(block, 4)));
        std::copy(scales.begin(), scales.end(), packed.body.begin());
        uint8_t codes[256];
        const uint8_t* nibbles = bytes_at(block, has_fifth_bit_ ? 48 : 16);
        for (int k = 0; k < 8; k += 2) {
            for (int j = 0; j < 32; ++j) codes[32 * k + j] = nibbles[16 * k + j] & 15;
            for (int j = 0; j < 32; ++j) codes[32 * k + 32 + j] = nibbles[16 * k + j] >> 4;
        }
        for (uint32_t i = 0; i < 32; ++i) packed.body[nibbles_of(i / 4) + i % 4] = pack_fields<4>(codes + 8 * i);
        if (has_fifth_bit_) pack_fifth_bits(bytes_at(block, 16), packed);
    }
    std::vector<VectorConstant> constants(Isa) const override {
        if (has_fifth_bit_) return {broadcast(pair_mask(0xf)), broadcast(63), broadcast(pair_mask(0x10))};
        return {broadcast(pair_mask(0xf)), broadcast(63)};
    }
    size_t temporaries(Isa) const override { return has_fifth_bit_ ? 4 : 2; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const Xmm nibbles = site.temporary(0), pair = site.temporary(1);
        if (has_fifth_bit_) load(site.code, site.temporary(2), site.body_dwords(0, group_start(group)));
        for (uint32_t index = 0; index < 16; ++index) {
            if (index % 4 == 0) load(site.code, nibbles, site.body_dwords(0, nibbles_of(group) + index / 4));
            extract_pair(site.code, pair, nibbles, 4, index % 4, site.constant(0));
            if (has_fifth_bit_) {
                shift_dwords(site.code, site.temporary(3), site.temporary(2), static_cast<int>(index) - 4);
                merge_bits(site.code, pair, site.temporary(3), site.constant(2));
            }
            sink(pair, index);
        }
    }
    void scale(const DecodeSite& site, uint32_t, const Xmm& out) const override { load_half_scale(site, out, 0, 0); }
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        extract_six_bits(site, out, 0, group, site.constant(1), site.temporary(0));
    }
    void minimum(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        extract_six_bits(site, out, 0, 8 + group, site.constant(1), site.temporary(0));
    }
    void minimum_scale(const DecodeSite& site, const Xmm& out) const override { load_half_scale(site, out, 0, 1); }

private:
    uint32_t group_start(uint32_t group) const { return 3 + group * (has_fifth_bit_ ? 5 : 4); }
    uint32_t nibbles_of(uint32_t group) const { return group_start(group) + (has_fifth_bit_ ? 1 : 0); }

    // Scales 0 to 7, then minima 0 to 7.
    static std::array<uint8_t, 16> unpack_file_scales(const uint8_t* s) {
        std::array<uint8_t, 16> values;
        for (int k = 0; k < 4; ++k) {
            values[k] = s[k] & 63;
            values[8 + k] = s[k + 4] & 63;
            values[4 + k] = static_cast<uint8_t>((s[k + 8] & 15) | s[k] >> 6 << 4);
            values[12 + k] = static_cast<uint8_t>(s[k + 8] >> 4 | s[k + 4] >> 6 << 4);
        }
        return values;
    }
    void pack_fifth_bits(const uint8_t* high, PackedBlock& packed) const {
        for (uint32_t k = 0; k < 8; ++k) {
            uint8_t bits[32];
            for (int j = 0; j < 32; ++j) bits[j] = high[j] >> k & 1;
            packed.body[group_start(k)] = pack_fields<1>(bits);
        }
    }

    bool has_fifth_bit_;
};

// body: scales i8 [4], then for each group two high bits [1] and four low bits [2]
class Q6KDecoder final : public Decoder {
public:
    constexpr Q6KDecoder()
        : Decoder({.type = DType::Q6_K,
                   .segment = 128,
                   .group = 16,
                   .header_bytes = 2,
                   .body_dwords = 52,
                   .zero_point = 32,
                   .sub_scale = SubScale::integer}) {}

    // file: ql u8[128], qh u8[64], scales i8[16], d f16
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(block + 208);
        std::memcpy(packed.body.data(), block + 192, 16);
        uint8_t low[256], high[256];
        for (int h = 0; h < 2; ++h) {
            const uint8_t *ql = bytes_at(block, 64 * h), *qh = bytes_at(block, 128 + 32 * h);
            for (int l = 0; l < 64; ++l) low[128 * h + l] = ql[l] & 15;
            for (int l = 0; l < 64; ++l) low[128 * h + 64 + l] = ql[l] >> 4;
            for (int g = 0; g < 4; ++g)
                for (int l = 0; l < 32; ++l) high[128 * h + 32 * g + l] = qh[l] >> 2 * g & 3;
        }
        for (uint32_t i = 0; i < 16; ++i) packed.body[group_start(i)] = pack_fields<2>(high + 16 * i);
        for (uint32_t i = 0; i < 32; ++i) packed.body[group_start(i / 2) + 1 + i % 2] = pack_fields<4>(low + 8 * i);
    }
    std::vector<VectorConstant> constants(Isa) const override {
        return {broadcast(pair_mask(0xf)), broadcast(pair_mask(0x30))};
    }
    size_t temporaries(Isa) const override { return 4; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const Xmm low = site.temporary(0), high = site.temporary(1), pair = site.temporary(2), top = site.temporary(3);
        load(site.code, high, site.body_dwords(0, group_start(group)));
        for (uint32_t index = 0; index < 8; ++index) {
            if (index % 4 == 0) load(site.code, low, site.body_dwords(0, group_start(group) + 1 + index / 4));
            extract_pair(site.code, pair, low, 4, index % 4, site.constant(0));
            shift_dwords(site.code, top, high, 2 * static_cast<int>(index) - 4);
            merge_bits(site.code, pair, top, site.constant(1));
            sink(pair, index);
        }
    }
    void scale(const DecodeSite& site, uint32_t, const Xmm& out) const override { load_half_scale(site, out, 0, 0); }
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        load(site.code, out, site.body_dwords(0, group / 4));
        if (group % 4 != 3) site.code.vpslld(out, out, static_cast<uint8_t>(24 - 8 * (group % 4)));
        site.code.vpsrad(out, out, 24);
    }

private:
    static uint32_t group_start(uint32_t group) { return 4 + 3 * group; }
};

// body: six-bit scales [3], then for each two groups high bits [1] and two low bits [1] each
class Q3KDecoder final : public Decoder {
public:
    constexpr Q3KDecoder()
        : Decoder({.type = DType::Q3_K,
                   .segment = 256,
                   .group = 16,
                   .header_bytes = 2,
                   .body_dwords = 27,
                   .zero_point = 4,
                   .sub_scale = SubScale::integer}) {}

    // file: hmask u8[32], qs u8[64], scales u8[12], d f16
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header[0] = read_u16(block + 108);
        const auto scales = pack_six_bits(unpack_file_scales(bytes_at(block, 96)));
        std::copy(scales.begin(), scales.end(), packed.body.begin());
        const uint8_t* mask = bytes_at(block, 0);
        uint8_t low[256], high[256];
        for (int k = 0; k < 8; ++k) {
            const uint8_t* bytes = bytes_at(block, 32 + 32 * (k / 4));
            for (int l = 0; l < 32; ++l) low[32 * k + l] = bytes[l] >> 2 * (k % 4) & 3;
            for (int l = 0; l < 32; ++l) high[32 * k + l] = mask[l] >> k & 1;
        }
        for (uint32_t i = 0; i < 8; ++i) packed.body[high_of(2 * i)] = pack_fields<1>(high + 32 * i);
        for (uint32_t i = 0; i < 16; ++i) packed.body[low_of(i)] = pack_fields<2>(low + 16 * i);
    }
    std::vector<VectorConstant> constants(Isa) const override {
        return {broadcast(pair_mask(3)), broadcast(pair_mask(4)), broadcast(63), broadcast(static_cast<uint32_t>(-32))};
    }
    size_t temporaries(Isa) const override { return 4; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const Xmm low = site.temporary(0), high = site.temporary(1), pair = site.temporary(2), top = site.temporary(3);
        load(site.code, low, site.body_dwords(0, low_of(group)));
        load(site.code, high, site.body_dwords(0, high_of(group)));
        for (uint32_t index = 0; index < 8; ++index) {
            extract_pair(site.code, pair, low, 2, index, site.constant(0));
            shift_dwords(site.code, top, high, static_cast<int>(8 * (group % 2) + index) - 2);
            merge_bits(site.code, pair, top, site.constant(1));
            sink(pair, index);
        }
    }
    void scale(const DecodeSite& site, uint32_t, const Xmm& out) const override { load_half_scale(site, out, 0, 0); }
    void sub_scale(const DecodeSite& site, uint32_t group, const Xmm& out) const override {
        extract_six_bits(site, out, 0, group, site.constant(2), site.temporary(0));
        site.code.vpaddd(out, out, site.constant(3));
    }

private:
    static uint32_t high_of(uint32_t group) { return 3 + group / 2 * 3; }
    static uint32_t low_of(uint32_t group) { return high_of(group) + 1 + group % 2; }

    static std::array<uint8_t, 16> unpack_file_scales(const uint8_t* s) {
        std::array<uint8_t, 16> values;
        for (int k = 0; k < 16; ++k) {
            const int low = k < 8 ? s[k] & 15 : s[k - 8] >> 4;
            values[k] = static_cast<uint8_t>(low | (s[8 + k % 4] >> 2 * (k / 4) & 3) << 4);
        }
        return values;
    }
};

// body: scale (low nibble) and minimum (high nibble) bytes [4], codes [16]
class Q2KDecoder final : public Decoder {
public:
    constexpr Q2KDecoder()
        : Decoder({.type = DType::Q2_K,
                   .segment = 256,
                   .group = 16,
                   .header_bytes = 4,
                   .body_dwords = 20,
                   .sub_scale = SubScale::integer,
                   .minimum = Minimum::integer}) {}

    // file: scales u8[16], qs u8[64], d, dmin f16
    void pack_block(const std::byte* block, PackedBlock& packed) const override {
        packed.header = {read_u16(block + 80), read_u16(block + 82)};
        std::memcpy(packed.body.data(), block, 16);
        uint8_t codes[256];
        for (int k = 0; k < 8; ++k) {
            const uint8_t* bytes = bytes_at(block, 16 + 32 * (k / 4));
            for (int l = 0; l < 32; ++l) codes[32 * k + l] = bytes[l] >> 2 * (k % 4) & 3;
        }
        for (uint32_t i = 0; i < 16; ++i) packed.body[kCodes + i] = pack_fields<2>(codes + 16 * i);
    }
    std::vector<VectorConstant> constants(Isa) const override { return {broadcast(pair_mask(3)), broadcast(15)}; }
    size_t temporaries(Isa) const override { return 2; }

    void unpack(const DecodeSite& site, uint32_t group, const PairSink& sink) const override {
        const Xmm codes = site.temporary(0), pair = site.temporary(1);
        load(site.code, codes, site.body_dwords(0, kCodes + group));
        for (uint32_t index = 0; index < 8; ++index) {
            extract_pair(site.code, pair, codes, 2, index, site.constant(0));
            sink(pair, index);
        }
    }
    void scale(const DecodeSite& site, uint32_t, const Xmm& out) const override { load_half_scale(site, out, 0, 0); }
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

const Q2KDecoder kQ2K;
const Q3KDecoder kQ3K;
const MinimumKDecoder kQ4K(DType::Q4_K, MinimumKDecoder::FifthBit::absent);
const MinimumKDecoder kQ5K(DType::Q5_K, MinimumKDecoder::FifthBit::present);
const Q6KDecoder kQ6K;

}  // namespace

const Decoder* find_k_decoder(DType type) {
    switch (type) {
        case DType::Q2_K:
            return &kQ2K;
        case DType::Q3_K:
            return &kQ3K;
        case DType::Q4_K:
            return &kQ4K;
        case DType::Q5_K:
            return &kQ5K;
        case DType::Q6_K:
            return &kQ6K;
        default:
            return nullptr;
    }
}

}  // namespace riftjit::x86
