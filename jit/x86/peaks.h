// Loops that do nothing but one kind of work, to measure what this processor reaches at best.
#pragma once

#include <cstdint>
#include <optional>

#include "jit/code_object.h"
#include "jit/isa.h"

namespace riftjit::x86 {

enum class Peak : uint8_t {
    read,       // bytes of memory, read in order
    f32_fma,    // VFMADD231PS
    bf16_dot,   // VDPBF16PS; nothing below avx512_bf16
    i16_dot,    // VPDPWSSD; VPMADDWD and VPADDD where there is no VNNI
    i8_dot,     // VPDPBUSD; VPMADDUBSW, VPMADDWD and VPADDD where there is no VNNI
    bf16_tile,  // TDPBF16PS, whole tiles; nothing below amx_bf16
    i8_tile,    // TDPBSSD, likewise; nothing below amx_int8
};

// One unit of Peak::read; `data` of PeakArgs holds unit after unit.
inline constexpr uint64_t kPeakReadBytes = 4096;

struct PeakArgs {
    const std::byte* data;
};

// A kernel as any other: void(const PeakArgs*, begin, end). nullopt: the level lacks the instruction.
std::optional<MachineCode> generate_peak(Peak peak, Isa isa);

// What one unit does: bytes for Peak::read, else multiplications and additions.
uint64_t peak_work_per_unit(Peak peak, Isa isa);

}  // namespace riftjit::x86
