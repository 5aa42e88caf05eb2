// Steps of a plan run on the processor and on RDNA targets in the software machine, and compared bit by bit
// (runtime/trial/step_trial.h): what they leave behind is read as f32, or, where rows are quantised, as codes, scales
// and sums, which both back ends must have alike wherever they keep them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "host/half.h"
#include "jit/rdna/kernels/rows.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/rdna/rdna_device.h"
#include "runtime/trial/step_trial.h"

namespace riftjit::runtime::same_bits {

using namespace trial;
using Result = trial::Found;

// 13-bit codes and scales, as rows of activations have them.
inline Quantized random_codes(uint32_t width, uint32_t seed) {
    std::mt19937 random(seed);
    Quantized row;
    const uint32_t blocks = rdna::kernels::I16Row{width}.blocks();
    for (uint32_t i = 0; i < blocks * kI16Block; ++i)
        row.codes.push_back(i < width ? int32_t(random() % (2 * kI16Max + 1)) - kI16Max : 0);
    for (uint32_t i = 0; i < blocks * 16; ++i)
        row.sums16.push_back(std::accumulate(&row.codes[i * 16], &row.codes[i * 16] + 16, 0));
    for (uint32_t i = 0; i < blocks; ++i)
        row.scales.push_back(std::bit_cast<uint32_t>(std::ldexp(float(1 + random() % 1000), -20)));
    return row;
}

inline std::vector<Result> run(const Case& test, Device& device) {
    auto outcome = run_case(test, device);
    EXPECT_TRUE(outcome) << test.name << ": " << (outcome ? "" : outcome.error().message);
    return outcome ? std::move(outcome->found) : std::vector<Result>{};
}

inline const std::vector<rdna::Target>& chips() {
    static const std::vector<rdna::Target> kChips = {rdna::Target::gfx1030, rdna::Target::gfx1100,
                                                     rdna::Target::gfx1201};
    return kChips;
}

// On every chip what the processor has at AVX2, whose bits are those of every level; where `of_gpu` is given, it says
// the same in steps that the processor lacks.
inline void expect_same_bits(const Case& test, const Case* of_gpu = nullptr) {
    KernelCache cpu_cache(x86::compile, DiskCache::disabled());
    const auto cpu = CpuDevice::create(Isa::avx2, 1, Helpers::always, cpu_cache).value();
    const std::vector<Result> expected = run(test, *cpu);
    for (const rdna::Target chip : chips()) {
        KernelCache gpu_cache(compile_rdna, DiskCache::disabled());
        RdnaDevice gpu(chip, gpu_cache);
        EXPECT_EQ(difference(expected, run(of_gpu == nullptr ? test : *of_gpu, gpu)), "")
            << test.name << " on " << rdna::name(chip);
    }
}

inline std::vector<float> random_floats(size_t count, uint32_t seed, float scale = 1) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(count);
    for (float& value : values) value = normal(engine);
    return values;
}

inline Weight vector_weight(const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {DType::F32, 1, uint32_t(values.size()), {bytes.begin(), bytes.end()}, true};
}

// Rows at the positions first, first + 1, ... of one sequence.
inline std::vector<BatchRow> positions(uint32_t first, uint32_t count, uint32_t sequence = 0) {
    std::vector<BatchRow> rows;
    for (uint32_t i = 0; i < count; ++i) rows.push_back({sequence, first + i});
    return rows;
}

}  // namespace riftjit::runtime::same_bits
