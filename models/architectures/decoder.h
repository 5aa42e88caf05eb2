// The graph of a decoder-only transformer with RMS norms before each branch, grouped-query attention and SwiGLU.
#pragma once

#include "jit/kernel_spec.h"
#include "models/model.h"

namespace riftjit::models {

struct DecoderTraits {
    Presence head_norms;    // attn_q_norm and attn_k_norm, over each head before the rotation
    Presence rope_factors;  // rope_freqs.weight is used when the file has it
};

Result<BuiltGraph> build_decoder(const Model& model, const DecoderTraits& decoder);

}  // namespace riftjit::models
