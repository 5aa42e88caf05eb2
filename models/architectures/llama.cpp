// llama: pre-norm, SwiGLU, grouped queries; also Mistral, SmolLM and others of that shape. The converter permutes the
// rows of Q and K, so rotary pairs are adjacent. Llama 3 ships frequency factors (rope_freqs).
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

Result<Hyperparameters> read_llama(const Gguf& file) {
    return read_hyperparameters(file, "llama", RopePairing::adjacent);
}

Result<BuiltGraph> build_llama(const Model& model) {
    return build_decoder(model, {.head_norms = Presence::absent, .rope_factors = Presence::present});
}

}  // namespace riftjit::models
