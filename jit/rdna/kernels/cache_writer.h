// What the kernels share that read or write the KV cache: where the page of a row lies, and conversion to Q8_0 with the
// bits of jit/x86/ops/cache_writer.cpp.
#pragma once

#include <span>

#include "jit/batch.h"
#include "jit/rdna/emit/rdna_kernel.h"

namespace riftjit::rdna::kernels {

// Where the batch's row of number `row` is to be found.
struct CachePlace {
    Sgpr page;      // of the row's sequence, that holds it
    Sgpr position;  // within the page
};
CachePlace locate_cache_row(KernelAssembler& k, Sgpr batch, Sgpr row);

// A block of 32 values as Q8_0. scale = f16(max|x| / 127), code = rint(x / scale) saturated; 0 / 0 gives code 0 by way
// of an inverse of 0, and what is no number the smallest code.
struct Q8Scale {
    Vgpr half;  // f16
    Vgpr inverse;
};
// `largest`: the bits of the largest magnitude as an integer, so that NaN wins. Clobbers vcc.
Q8Scale q8_scale(KernelAssembler& k, Vgpr largest);
// code = that of x. Clobbers vcc.
void q8_code(KernelAssembler& k, Vgpr code, Vgpr x, Vgpr inverse);
// word = the low bytes of four codes, the first lowest. Clobbers the codes.
void pack_bytes(KernelAssembler& k, Vgpr word, std::span<const Vgpr> codes);

}  // namespace riftjit::rdna::kernels
