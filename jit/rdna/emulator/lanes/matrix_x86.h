// A matrix instruction as host code over rows of 16, emitted when first prepared: AVX-512 or AVX2. Results equal those
// of multiply_matrices_in_cpp() bit for bit.
#pragma once

#include "jit/rdna/emulator/lanes/lanes_x86.h"
#include "jit/rdna/emulator/valu/wmma.h"

namespace riftjit::rdna::emulator {

// Null where there is none: integers that saturate, or a host without AVX2. The same call with other registers has the
// same function.
MatrixFunction matrix_function(LaneIsa isa, const MatrixCall& call);

}  // namespace riftjit::rdna::emulator
