// Matrix multiply-add of 16x16 tiles held across a wave: WMMA of gfx11 and gfx12, SWMMAC of gfx12.
//
// What the code relies on is where D lies, and which elements of A and B meet. Lanes fall into groups of 16; a lane of
// group g holds, for row (A) or column (B) lane mod 16, the same positions of K as the other operand's lanes of group
// g. Results do not depend on which K those are. gfx11 repeats A and B in every group, so one group is all of K.
//
// Sums: starting from C, groups in order, positions within a lane in order, each product added by a fused multiply-add
// to f32, to nearest (no document says what the hardware does; compare with a tolerance). Narrow results are rounded
// once at the end. Integer sums are exact; clamp saturates at the end on gfx11, after each half of K on gfx12 (measured
// on gfx1201).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "host/result.h"
#include "jit/rdna/emulator/machine/wave.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna::emulator {

enum class MatrixElement : uint8_t { f16, bf16, i8, i4, fp8, bf8 };
enum class MatrixResult : uint8_t { f32, f16, bf16, i32 };
enum class Sparsity : uint8_t { dense, sparse };  // sparse: two of four positions of A's rows

struct MatrixOperation {
    MatrixResult result;
    MatrixElement a, b;
    unsigned depth;  // K
    Sparsity sparsity = Sparsity::dense;
};
std::optional<MatrixOperation> matrix_operation(Opcode opcode);

inline constexpr unsigned kTile = 16;

struct TilePlace {
    unsigned reg, lane, shift;  // the element starts at bit `shift` of register `reg`
};

inline constexpr unsigned kMaxDepth = 64;
// What emitted code keeps between its steps: rows of 16 words.
struct alignas(64) MatrixScratch {
    uint32_t a[kMaxDepth * kTile], b[kMaxDepth * kTile], met[kMaxDepth * kTile], sums[kTile * kTile];
};
// From the first registers of its operands on. Returns false, with nothing written, where a result is a NaN, whose
// payload the host picks by other rules.
using MatrixFunction = bool (*)(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                                const uint32_t* index, MatrixScratch* scratch);

struct MatrixCall {
    MatrixOperation operation;
    Generation generation;
    unsigned lanes;
    unsigned d, a, b, index = 0;  // first VGPRs
    std::optional<unsigned> c;    // VGPR, or none for the constant
    uint32_t c_constant = 0;
    unsigned a_registers, b_registers;
    uint8_t neg_lo = 0, neg_hi = 0, op_sel = 0;
    bool clamp = false;
    std::array<TilePlace, kTile> result_rows{};  // of C and D
    MatrixFunction function = nullptr;           // matrix_x86.h; null: there is none
};
// Unsupported: layouts that no public document or measurement gives.
Result<MatrixCall> prepare_matrix(const Instruction& instruction, Generation generation, WaveSize wave_size);

void multiply_matrices(WaveState& wave, const MatrixCall& call);
// The same without emitted code for whole matrices: what that code is held against, for every mode, mask and NaN.
void multiply_matrices_in_cpp(WaveState& wave, const MatrixCall& call);
// gfx11: the first register of A or B whose groups of 16 lanes differ, which the hardware forbids.
std::optional<unsigned> unreplicated_register(const WaveState& wave, const MatrixCall& call);

}  // namespace riftjit::rdna::emulator
