// Instruction-set levels that kernels are generated for. The level is chosen once, while planning.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace riftjit {

// x86 levels, each including the ones before it except where noted:
//   avx2         AVX2, FMA, F16C, BMI2, POPCNT
//   avx_vnni     + AVX-VNNI (VEX encoded); not implied by the AVX-512 levels
//   avx512       AVX-512 F, BW, DQ, VL (and avx2)
//   avx512_vnni  + AVX512_VNNI
//   avx512_bf16  + AVX512_BF16
//   avx512_fp16  + AVX512_FP16
//   amx_bf16     + AMX-TILE, AMX-BF16: products of bf16 weights
//   amx_int8     + AMX-INT8: those of quantised weights and many rows
enum class Isa : uint8_t { avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16, avx512_fp16, amx_bf16, amx_int8 };

std::string_view name(Isa isa);
std::optional<Isa> isa_from_name(std::string_view name);
std::span<const Isa> all_isas();  // weakest first
std::string isa_names();          // "avx2, avx_vnni, ...", for messages

constexpr bool has_avx512(Isa isa) { return isa >= Isa::avx512; }
// VPDPWSSD and VPDPBUSD, in VEX or EVEX form.
constexpr bool has_vnni(Isa isa) { return isa == Isa::avx_vnni || isa >= Isa::avx512_vnni; }
// Activations beside bf16 weights are bf16, not f32.
constexpr bool has_bf16(Isa isa) { return isa >= Isa::avx512_bf16; }
constexpr bool has_amx(Isa isa) { return isa >= Isa::amx_bf16; }

}  // namespace riftjit
