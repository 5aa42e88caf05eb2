// Vector instructions whose mnemonics differ between VEX and EVEX, and the field extractions that decoders share.
#pragma once

#include "jit/x86/decoders/decoder.h"

namespace riftjit::x86 {

void load(X86Emitter& code, const Xbyak::Xmm& out, const Xbyak::Address& from);   // 64- or 32-byte aligned
void store(X86Emitter& code, const Xbyak::Address& to, const Xbyak::Xmm& value);  // likewise
void set_zero(X86Emitter& code, const Xbyak::Xmm& out);
void bit_and(X86Emitter& code, const Xbyak::Xmm& out, const Xbyak::Xmm& left, const Xbyak::Operand& right);
void bit_or(X86Emitter& code, const Xbyak::Xmm& out, const Xbyak::Xmm& left, const Xbyak::Operand& right);
// target |= bits & mask; clobbers bits.
void merge_bits(X86Emitter& code, const Xbyak::Xmm& target, const Xbyak::Xmm& bits, const Xbyak::Xmm& mask);
// Every dword shifted right by count, or left by -count.
void shift_dwords(X86Emitter& code, const Xbyak::Xmm& out, const Xbyak::Xmm& value, int count);

// How fields of 1, 2, 4 or 8 bits lie in a packed dword of 32 / bits elements: pair j has its first element at bit
// pair_shift(bits, j) and its second 16 bits higher. One shift and one mask give a pair, or in all four bytes pairs 2i
// and 2i + 1: quad i (decoder.h).
constexpr int pair_shift(int bits, uint32_t index) { return bits * static_cast<int>(index / 2) + 8 * (index % 2); }
template <int bits>
uint32_t pack_fields(const uint8_t* elements);  // 32 / bits values below 2^bits
template <>
uint32_t pack_fields<8>(const uint8_t* elements);
// The same for 32 elements of one bit, given as the bits of a word.
uint32_t pack_bit_fields(uint32_t bits);
constexpr uint32_t pair_mask(uint32_t element_mask) { return element_mask * 0x1'0001; }
constexpr uint32_t mask_of(Elements elements, uint32_t element_mask) {
    return elements == Elements::pairs ? pair_mask(element_mask) : element_mask * 0x101'0101;
}

// Where pair or quad `index` of such fields begins, and how many a dword has.
constexpr int shift_of(Elements elements, int bits, uint32_t index) {
    return elements == Elements::pairs ? pair_shift(bits, index) : bits * static_cast<int>(index);
}
constexpr uint32_t count_per_dword(Elements elements, uint32_t bits) { return 32 / bits / count_in(elements); }
// out = pair or quad `index` of fields of `bits` bits in `packed`; mask holds mask_of one field.
void extract(X86Emitter& code, Elements elements, const Xbyak::Xmm& out, const Xbyak::Xmm& packed, int bits,
             uint32_t index, const Xbyak::Xmm& mask);
// A group of 32 with nibbles from dword `first` of the block's body on. With fifth bits that dword has them and the
// nibbles follow. `nibble_mask` and `fifth_mask`, 0x10, are the decoder's constants; takes temporaries 0 and 1, 2
// and 3.
void unpack_nibbles(const DecodeSite& site, uint32_t block, uint32_t first, const Xbyak::Xmm& nibble_mask,
                    const Xbyak::Xmm* fifth_mask, const ElementSink& sink);

// out = field of `bits` bits at `shift` of the body's dword, as i32. mask holds 2^bits - 1.
void extract_field(const DecodeSite& site, const Xbyak::Xmm& out, uint32_t block, uint32_t dword, int shift,
                   const Xbyak::Xmm& mask);

// Sixteen 6-bit values in three dwords: five in each, and the last in the two topmost bits of all three.
std::array<uint32_t, 3> pack_six_bits(const std::array<uint8_t, 16>& values);
// out = value `index`, as i32; mask holds 63; clobbers scratch.
void extract_six_bits(const DecodeSite& site, const Xbyak::Xmm& out, uint32_t first_dword, uint32_t index,
                      const Xbyak::Xmm& mask, const Xbyak::Xmm& scratch);

// out = f16 field of the header, widened to f32.
void load_half_scale(const DecodeSite& site, const Xbyak::Xmm& out, uint32_t block, uint32_t field);

// Little-endian words of a file block, which has no alignment.
uint16_t read_u16(const std::byte* from);
uint32_t read_u32(const std::byte* from);

}  // namespace riftjit::x86
