#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

using Xbyak::Address;
using Xbyak::Operand;
using Xbyak::Xmm;
using Xbyak::Ymm;

void load(X86Emitter& code, const Xmm& out, const Address& from) {
    has_avx512(code.isa()) ? code.vmovdqa32(out, from) : code.vmovdqa(out, from);
}

void store(X86Emitter& code, const Address& to, const Xmm& value) {
    has_avx512(code.isa()) ? code.vmovdqa32(to, value) : code.vmovdqa(to, value);
}

// A ymm or xmm VEX form clears the whole register.
void set_zero(X86Emitter& code, const Xmm& out) {
    out.getIdx() < 16 ? code.vpxor(Xmm(out.getIdx()), Xmm(out.getIdx()), Xmm(out.getIdx()))
                      : code.vpxord(out, out, out);
}

void bit_and(X86Emitter& code, const Xmm& out, const Xmm& left, const Operand& right) {
    has_avx512(code.isa()) ? code.vpandd(out, left, right) : code.vpand(out, left, right);
}

void bit_or(X86Emitter& code, const Xmm& out, const Xmm& left, const Operand& right) {
    has_avx512(code.isa()) ? code.vpord(out, left, right) : code.vpor(out, left, right);
}

void merge_bits(X86Emitter& code, const Xmm& target, const Xmm& bits, const Xmm& mask) {
    if (has_avx512(code.isa())) {
        constexpr uint8_t kTargetOrBitsAndMask = 0xf8;  // a | (b & c): index a*4 + b*2 + c
        code.vpternlogd(target, bits, mask, kTargetOrBitsAndMask);
    } else {
        code.vpand(bits, bits, mask);
        code.vpor(target, target, bits);
    }
}

void shift_dwords(X86Emitter& code, const Xmm& out, const Xmm& value, int count) {
    if (count < 0)
        code.vpslld(out, value, static_cast<uint8_t>(-count));
    else
        code.vpsrld(out, value, static_cast<uint8_t>(count));
}

namespace {
// Moves the four 16-bit lanes' low fields together: lane i to bit pair_shift(bits, i).
template <int bits>
uint32_t gather_lanes(uint64_t lanes) {
    constexpr uint64_t kFactor = 1ull << 48 | 1ull << (32 + pair_shift(bits, 1)) | 1ull << (16 + pair_shift(bits, 2)) |
                                 1ull << pair_shift(bits, 3);
    constexpr uint32_t kMask = ((1u << 2 * bits) - 1) * 0x101;
    return static_cast<uint32_t>(lanes * kFactor >> 48) & kMask;
}
}  // namespace

template <>
uint32_t pack_fields<8>(const uint8_t* elements) {
    return elements[0] | uint32_t(elements[1]) << 16 | uint32_t(elements[2]) << 8 | uint32_t(elements[3]) << 24;
}

template <int bits>
uint32_t pack_fields(const uint8_t* elements) {
    constexpr uint64_t kEvenBytes = 0x00ff00ff00ff00ff;
    uint32_t first = 0, second = 0;
    for (int i = 0; i < 4 / bits; ++i) {  // eight elements at a time
        uint64_t bytes;
        std::memcpy(&bytes, elements + 8 * i, 8);
        first |= gather_lanes<bits>(bytes & kEvenBytes) << 2 * bits * i;
        second |= gather_lanes<bits>(bytes >> 8 & kEvenBytes) << 2 * bits * i;
    }
    return first | second << 16;
}
template uint32_t pack_fields<1>(const uint8_t*);
template uint32_t pack_fields<2>(const uint8_t*);
template uint32_t pack_fields<4>(const uint8_t*);

namespace {
// Bits 0, 2, 4 ... moved together to bits 0 to 15.
uint32_t even_bits(uint32_t bits) {
    bits &= 0x55555555;
    bits = (bits | bits >> 1) & 0x33333333;
    bits = (bits | bits >> 2) & 0x0f0f0f0f;
    bits = (bits | bits >> 4) & 0x00ff00ff;
    return (bits | bits >> 8) & 0xffff;
}
}  // namespace

uint32_t pack_bit_fields(uint32_t bits) {
    const auto halves_of_pairs = [](uint32_t firsts) { return even_bits(firsts) | even_bits(firsts >> 1) << 8; };
    return halves_of_pairs(even_bits(bits)) | halves_of_pairs(even_bits(bits >> 1)) << 16;
}

void extract(X86Emitter& code, Elements elements, const Xmm& out, const Xmm& packed, int bits, uint32_t index,
             const Xmm& mask) {
    const int shift = shift_of(elements, bits, index);
    if (shift == 0) return bit_and(code, out, packed, mask);
    if (elements == Elements::quads)
        code.vpsrld(out, packed, static_cast<uint8_t>(shift));
    else
        code.vpsrlw(out, packed, static_cast<uint8_t>(shift));
    const bool is_alone = elements == Elements::pairs && shift + bits == 16;
    if (!is_alone) bit_and(code, out, out, mask);
}

void unpack_nibbles(const DecodeSite& site, uint32_t block, uint32_t first, const Xmm& nibble_mask,
                    const Xmm* fifth_mask, const ElementSink& sink) {
    const Xmm nibbles = site.temporary(0), out = site.temporary(1);
    const uint32_t per_dword = count_per_dword(site.elements(), 4);
    if (fifth_mask != nullptr) load(site.code, site.temporary(2), site.body_dwords(block, first++));
    for (uint32_t index = 0; index < 32 / count_in(site.elements()); ++index) {
        if (index % per_dword == 0) load(site.code, nibbles, site.body_dwords(block, first + index / per_dword));
        extract(site.code, site.elements(), out, nibbles, 4, index % per_dword, nibble_mask);
        if (fifth_mask != nullptr) {
            const Xmm bit = site.temporary(3);
            shift_dwords(site.code, bit, site.temporary(2), shift_of(site.elements(), 1, index) - 4);
            merge_bits(site.code, out, bit, *fifth_mask);
        }
        sink(out, index);
    }
}

void extract_field(const DecodeSite& site, const Xmm& out, uint32_t block, uint32_t dword, int shift, const Xmm& mask) {
    if (shift == 0) return bit_and(site.code, out, mask, site.body_dwords(block, dword));
    load(site.code, out, site.body_dwords(block, dword));
    shift_dwords(site.code, out, out, shift);
    bit_and(site.code, out, out, mask);
}

std::array<uint32_t, 3> pack_six_bits(const std::array<uint8_t, 16>& values) {
    std::array<uint32_t, 3> packed{};
    for (uint32_t i = 0; i < 15; ++i) packed[i / 5] |= uint32_t(values[i]) << 6 * (i % 5);
    for (uint32_t i = 0; i < 3; ++i) packed[i] |= uint32_t(values[15] >> 2 * i & 3) << 30;
    return packed;
}

void extract_six_bits(const DecodeSite& site, const Xmm& out, uint32_t first_dword, uint32_t index, const Xmm& mask,
                      const Xmm& scratch) {
    if (index < 15) return extract_field(site, out, 0, first_dword + index / 5, 6 * static_cast<int>(index % 5), mask);
    set_zero(site.code, out);
    for (uint32_t i = 0; i < 3; ++i) {
        load(site.code, scratch, site.body_dwords(0, first_dword + i));
        shift_dwords(site.code, scratch, scratch, 30);
        if (i > 0) shift_dwords(site.code, scratch, scratch, -2 * static_cast<int>(i));
        bit_or(site.code, out, out, scratch);
    }
}

void load_half_scale(const DecodeSite& site, const Xmm& out, uint32_t block, uint32_t field) {
    site.code.vcvtph2ps(out, site.header_halves(block, field));
}

uint16_t read_u16(const std::byte* from) {
    uint16_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

uint32_t read_u32(const std::byte* from) {
    uint32_t value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

}  // namespace riftjit::x86
