// The 8-bit floats of gfx12: fp8 is OCP E4M3 (no infinity, one NaN per sign), bf8 OCP E5M2.
#pragma once

#include <cstdint>

#include "jit/rdna/emulator/valu/valu_float.h"

namespace riftjit::rdna::emulator {

enum class Float8 : uint8_t { fp8, bf8 };

uint64_t float8_to_f32(Float8 type, uint8_t byte);     // exact
enum class Overflow8 : uint8_t { special, saturate };  // NaN or infinity; the largest number (MODE.FP16_OVFL)
uint8_t f32_to_float8(Float8 type, uint64_t f32, Overflow8 overflow);
uint8_t f32_to_float8_stochastic(Float8 type, uint64_t f32, uint32_t seed, Overflow8 overflow);

}  // namespace riftjit::rdna::emulator
