// qwen3: llama's blocks with an RMS norm over each head of Q and K before the rotation; rotary pairs are half a head
// apart. The head size is not width / heads.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_qwen3(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"qwen3", RopePairing::half, "attention.causal"}));
    result.has_shares_of_ranks = true;  // of its rerankers: "yes" and "no"
    return result;
}

Result<BuiltGraph> build_qwen3(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kQwen3 = {"qwen3", read_qwen3, build_qwen3};

}  // namespace riftjit::models
