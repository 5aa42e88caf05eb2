// llama: pre-norm, SwiGLU, grouped queries; also Mistral, SmolLM and others of that shape. The converter permutes the
// rows of Q and K, so rotary pairs are adjacent. Llama 3 ships frequency factors (rope_freqs). Mixtral is llama with a
// mixture of experts. llama-embed is llama as an encoder, and so is eurobert, whose pairs are halves apart.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_llama(const Gguf& file) {
    RIFTJIT_TRY(experts, file.integer("llama.expert_count", 0, kMaxExperts));
    const bool has_experts = experts.value_or(0) != 0;
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "llama",
                                                    .pairing = RopePairing::adjacent,
                                                    .implemented = "attention.sliding_window",
                                                    .has_experts = has_experts}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 0, 0}, result));  // Mistral 7B's first release: every layer
    if (has_experts) RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<Hyperparameters> read_llama_embed(const Gguf& file) {
    return read_hyperparameters(file,
                                {.architecture = "llama-embed", .pairing = RopePairing::adjacent, .is_encoder = true});
}

Result<Hyperparameters> read_eurobert(const Gguf& file) {
    return read_hyperparameters(file, {.architecture = "eurobert", .pairing = RopePairing::half, .is_encoder = true});
}

Result<BuiltGraph> build_llama(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kLlama = {"llama", read_llama, build_llama};
const Architecture kLlamaEmbed = {"llama-embed", read_llama_embed, build_llama};
const Architecture kEurobert = {"eurobert", read_eurobert, build_llama};

}  // namespace riftjit::models
