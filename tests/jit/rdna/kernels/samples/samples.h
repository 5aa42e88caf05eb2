// Kernels that no model asks for: they show the assembler, its passes and the software machine work of every kind,
// cross-lane sums, matrices, LDS, atomics and barriers over the grid among it. A workgroup is one-dimensional, of
// spec.group_lanes lanes: a power of two, whole waves.
#pragma once

#include <compare>
#include <cstdint>

#include "jit/rdna/emit/assembler.h"

namespace riftjit::rdna::kernels {

// out[i] = a[i] + b[i] for i < count; a workgroup for every group_lanes elements, the last perhaps partly idle.
struct VectorAddSpec {
    uint32_t group_lanes = 256;
    auto operator<=>(const VectorAddSpec&) const = default;
};
struct VectorAddArgs {
    const float *a, *b;
    float* out;
    uint32_t count;
};
Result<KernelProgram> vector_add(KernelTarget target, const VectorAddSpec& spec, PassOptions options = {});

// y = exp(x - max x) / sum of that, by row; a workgroup per row.
struct SoftmaxSpec {
    uint32_t width = 1024;  // multiple of group_lanes, at most 16 times
    uint32_t group_lanes = 128;
    auto operator<=>(const SoftmaxSpec&) const = default;
};
struct SoftmaxArgs {
    const float* x;
    float* y;
};
Result<KernelProgram> softmax(KernelTarget target, const SoftmaxSpec& spec, PassOptions options = {});

// index[row] = where the row's largest number lies, the first if it occurs twice; a wave per row.
struct ArgmaxSpec {
    uint32_t width = 1000;
    auto operator<=>(const ArgmaxSpec&) const = default;
};
struct ArgmaxArgs {
    const float* x;
    uint32_t* index;
};
Result<KernelProgram> argmax(KernelTarget target, const ArgmaxSpec& spec, PassOptions options = {});

// y[row] = sum over blocks of 32 columns of scale * input_scale * (weights . input), weights and input in signed bytes.
// weights: [rows][columns] bytes, scales: [rows][columns / 32] f16, input: [columns] bytes, input_scales: [columns /
// 32] f32. A wave per row, spec.rows_per_group waves in a workgroup.
struct GemvQ8Spec {
    uint32_t columns = 2080;  // multiple of 32
    uint32_t rows_per_group = 4;
    auto operator<=>(const GemvQ8Spec&) const = default;
};
struct GemvQ8Args {
    const int8_t* weights;
    const uint16_t* scales;
    const int8_t* input;
    const float* input_scales;
    float* y;
};
Result<KernelProgram> gemv_q8(KernelTarget target, const GemvQ8Spec& spec, PassOptions options = {});

// c[m][n] = sum over k of a[m][k] * b[n][k]; f16 inputs, f32 sums. A workgroup of 128 lanes per tile of 32 x 32.
// wave32.
struct MatmulF16Spec {
    uint32_t m = 64, n = 96, k = 64;  // multiples of 32, 32, 16
    auto operator<=>(const MatmulF16Spec&) const = default;
};
struct MatmulF16Args {
    const uint16_t *a, *b;
    float* c;
};
Result<KernelProgram> matmul_f16(KernelTarget target, const MatmulF16Spec& spec, PassOptions options = {});

// out[column][row] = in[row][column], dwords, by tiles of 32 x 32 through LDS; a workgroup of 256 lanes per tile.
struct TransposeSpec {
    uint32_t rows = 64, columns = 96;  // multiples of 32
    auto operator<=>(const TransposeSpec&) const = default;
};
struct TransposeArgs {
    const uint32_t* in;
    uint32_t* out;
};
Result<KernelProgram> transpose(KernelTarget target, const TransposeSpec& spec, PassOptions options = {});

// bins[b] += how often byte b occurs; a workgroup of 256 lanes counts 1024 * spec.rounds bytes.
struct HistogramSpec {
    uint32_t rounds = 4;
    auto operator<=>(const HistogramSpec&) const = default;
};
struct HistogramArgs {
    const uint32_t* data;
    uint32_t* bins;
};
Result<KernelProgram> histogram(KernelTarget target, const HistogramSpec& spec, PassOptions options = {});

// spec.phases times: to[i] = from[(i + group_lanes) mod n] + i, n = groups * group_lanes, then a barrier over the whole
// grid and the buffers change places. All workgroups must be resident. `counter` starts at 0.
struct GridBarrierSpec {
    uint32_t groups = 4, group_lanes = 128, phases = 3;
    auto operator<=>(const GridBarrierSpec&) const = default;
};
struct GridBarrierArgs {
    uint32_t *first, *second, *counter;
};
Result<KernelProgram> grid_barrier(KernelTarget target, const GridBarrierSpec& spec, PassOptions options = {});

// Copies chunks of group_lanes float4, each reversed; the next chunk is loaded across the barrier. A workgroup copies
// spec.chunks of them.
struct ReverseCopySpec {
    uint32_t chunks = 6, group_lanes = 128;
    auto operator<=>(const ReverseCopySpec&) const = default;
};
struct ReverseCopyArgs {
    const float* in;
    float* out;
};
Result<KernelProgram> reverse_copy(KernelTarget target, const ReverseCopySpec& spec, PassOptions options = {});

// *result = sum of a[i] * b[i] in f64, by one workgroup.
struct DotF64Spec {
    uint32_t count = 2048;  // multiple of group_lanes
    uint32_t group_lanes = 256;
    auto operator<=>(const DotF64Spec&) const = default;
};
struct DotF64Args {
    const double *a, *b;
    double* result;
};
Result<KernelProgram> dot_f64(KernelTarget target, const DotF64Spec& spec, PassOptions options = {});

}  // namespace riftjit::rdna::kernels
