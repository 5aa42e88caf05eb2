// Dot products of f8 over lanes, in f32.
#include "jit/rdna/emulator/lanes_operations.h"
#include "jit/rdna/emulator/vector_float8.h"

namespace riftjit::rdna::emulator {
namespace {

using E = LaneEmitter;

// The lowest bytes first, rounded to f32 each time.
template <Float8 A, Float8 B>
void dot4(E& e) {
    for (int byte = 0; byte < 4; ++byte) {
        widen_float8(e, A, e.t, e.a, byte, e.found_lanes);
        widen_float8(e, B, e.u, e.b, byte, e.found_lanes);
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
