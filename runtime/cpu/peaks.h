// What this processor reaches at best, measured: the roofs that kernels are compared with.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "host/result.h"
#include "jit/isa.h"
#include "jit/x86/peaks.h"

namespace riftjit::runtime {

inline constexpr std::array kPeaks = {x86::Peak::read,   x86::Peak::f32_fma,   x86::Peak::bf16_dot, x86::Peak::i16_dot,
                                      x86::Peak::i8_dot, x86::Peak::bf16_tile, x86::Peak::i8_tile};

struct MeasuredPeak {
    double one_thread, all_threads;  // 10^9 bytes or operations per second
};

struct Peaks {
    Isa isa;
    uint32_t threads;
    std::array<std::optional<MeasuredPeak>, kPeaks.size()>
        values;  // in the order of kPeaks; nullopt: not at this level
};

std::string_view name(x86::Peak peak);  // "read_gb_per_s", "f32_fma_gflops", ...: keys in JSON

// Bytes per second at which `threads` threads together read `data`, again and again from front to back.
Result<double> measure_read_rate(Isa isa, uint32_t threads, std::span<const std::byte> data);

// The best of several short runs each, some 1.5 seconds in all. Memory is read from a buffer of 512 MiB.
Result<Peaks> measure_peaks(Isa isa, uint32_t threads);

}  // namespace riftjit::runtime
