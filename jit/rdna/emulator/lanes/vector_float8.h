// 8-bit floats to f32 over vectors.
#pragma once

#include "jit/rdna/emulator/lanes/vector_emitter.h"
#include "jit/rdna/emulator/valu/valu_float8.h"

namespace riftjit::rdna::emulator {

// Of each word the byte of that number, from 0, which is no NaN of fp8. One of bf8 gives a NaN.
void widen_float8_number(VectorEmitter& e, Float8 type, const Xbyak::Xmm& to, const Xbyak::Xmm& from, int byte);
// Of each word the byte of that number, from 0. A NaN gives one, of another payload. `scratch` is changed.
void widen_float8(VectorEmitter& e, Float8 type, const Xbyak::Xmm& to, const Xbyak::Xmm& from, int byte,
                  const Xbyak::Xmm& scratch);

}  // namespace riftjit::rdna::emulator
