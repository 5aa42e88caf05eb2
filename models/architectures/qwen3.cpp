// qwen3: llama's blocks with an RMS norm over each head of Q and K before the rotation; rotary pairs are half a head
// apart. The head size is not width / heads.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

Result<Hyperparameters> read_qwen3(const Gguf& file) { return read_hyperparameters(file, "qwen3", RopePairing::half); }

Result<BuiltGraph> build_qwen3(const Model& model) {
    return build_decoder(model, {.head_norms = Presence::present, .rope_factors = Presence::absent});
}

}  // namespace riftjit::models
