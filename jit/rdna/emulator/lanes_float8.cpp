// Dot products of f8 over lanes: each byte becomes an f16, then an f32.
#include "jit/rdna/emulator/lanes_operations.h"
#include "jit/rdna/emulator/valu_float8.h"

namespace riftjit::rdna::emulator {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;

// bf8 has the exponent of f16. found_lanes is used.
void widen_bf8(E& e, const Xmm& to, const Xmm& from, int byte) {
    byte == 0 ? e.vpslld(to, from, 8) : e.vpsrld(to, from, static_cast<uint8_t>(8 * (byte - 1)));
    e.load_word(e.found_lanes, 0xFF00);
    e.and_bits(to, to, e.found_lanes);
    e.widen(to, to);
}
// fp8, three bits up, is an f16 whose exponent counts from 2^8 less. All ones but for the sign is its only NaN, which
// f32's NaN is put over: found_lanes.
void widen_fp8(E& e, const Xmm& to, const Xmm& from, int byte) {
    constexpr uint32_t kSign = 0x80, kMagnitude = 0x7F, kNan = 0x7FC00000, kTwoTo8 = 0x43800000;
    const Xmm &nan = e.found_lanes, &part = e.condition_lanes;
    e.vpsrld(to, from, static_cast<uint8_t>(8 * byte));
    e.load_word(nan, kSign);
    e.and_bits(part, to, nan);
    e.vpslld(part, part, 8);
    e.load_word(nan, kMagnitude);
    e.and_bits(to, to, nan);
    e.load_word(nan, 1);
    e.vpaddd(nan, nan, to);
    e.vpslld(nan, nan, 24);
    e.vpsrad(nan, nan, 31);
    e.vpslld(to, to, 7);
    e.or_bits(to, to, part);
    e.load_word(part, kNan);
    e.and_bits(nan, nan, part);
    e.widen(to, to);
    e.load_word(part, kTwoTo8);
    e.vmulps(to, to, part);
    e.or_bits(to, to, nan);
}
template <Float8 Type>
void widen_byte(E& e, const Xmm& to, const Xmm& from, int byte) {
    Type == Float8::fp8 ? widen_fp8(e, to, from, byte) : widen_bf8(e, to, from, byte);
}
// The lowest bytes first, rounded to f32 each time.
template <Float8 A, Float8 B>
void dot4(E& e) {
    for (int byte = 0; byte < 4; ++byte) {
        widen_byte<A>(e, e.t, e.a, byte);
        widen_byte<B>(e, e.u, e.b, byte);
        e.vfmadd231ps(e.c, e.t, e.u);
    }
    e.move(e.d, e.c);
}
template <Float8 A, Float8 B>
constexpr LaneOperation dot(Opcode opcode) {
    return {opcode, 3, LaneKernelResult::words, LaneCheck::nan_result, {}, dot4<A, B>};
}

constexpr LaneOperation kOperations[] = {
    dot<Float8::fp8, Float8::bf8>(Opcode::v_dot4_f32_fp8_bf8),
    dot<Float8::bf8, Float8::fp8>(Opcode::v_dot4_f32_bf8_fp8),
    dot<Float8::fp8, Float8::fp8>(Opcode::v_dot4_f32_fp8_fp8),
    dot<Float8::bf8, Float8::bf8>(Opcode::v_dot4_f32_bf8_bf8),
};

}  // namespace

std::span<const LaneOperation> float8_lane_operations() { return kOperations; }

}  // namespace riftjit::rdna::emulator
