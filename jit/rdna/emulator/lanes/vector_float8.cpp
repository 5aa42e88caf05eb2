#include "jit/rdna/emulator/lanes/vector_float8.h"

namespace riftjit::rdna::emulator {

using Xbyak::Xmm;

// bf8 has the exponent of f16. fp8, with the sign a bit further up, is an f16 whose exponent counts from 2^8 less.
void widen_float8_number(VectorEmitter& e, Float8 type, const Xmm& to, const Xmm& from, int byte) {
    constexpr uint32_t kSignAndByte = 0xBF80, kTwoTo8 = 0x43800000;
    byte == 0 ? e.vpslld(to, from, 8) : e.vpsrld(to, from, static_cast<uint8_t>(8 * (byte - 1)));
    if (type == Float8::fp8) e.vpsraw(to, to, 1);
    e.and_word(to, to, type == Float8::fp8 ? kSignAndByte : 0xFF00);
    e.widen(to, to);
    if (type == Float8::fp8) e.vmulps(to, to, e.every_word(kTwoTo8));
}

// All ones but for the sign is fp8's only NaN, which would be 480.
void widen_float8(VectorEmitter& e, Float8 type, const Xmm& to, const Xmm& from, int byte, const Xmm& scratch) {
    constexpr uint32_t kMagnitude = 0x7FFFFFFF, kNan = 0x43F00000;
    widen_float8_number(e, type, to, from, byte);
    if (type == Float8::bf8) return;
    e.and_word(scratch, to, kMagnitude);
    e.equal_i32(scratch, scratch, e.every_word(kNan));
    e.or_bits(to, to, scratch);
}

}  // namespace riftjit::rdna::emulator
