// gemma, gemma2, gemma3: GELU gates, embeddings times sqrt(width), norm gains that include their 1. Gemma 2 norms
// branches behind them too, caps scores and logits, and every other layer sees a window; Gemma 3 has head norms in
// place of the caps, and five of six layers see a window and rotate by a base of their own. gemma-embedding is Gemma 3
// as an encoder, whose windows are to both sides.
#include <cmath>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_gemma_of(const Gguf& file, std::string_view architecture, std::string_view implemented) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {architecture, RopePairing::half, implemented}));
    result.embedding_scale = std::sqrt(static_cast<float>(result.width));
    return result;
}

// The two models of 27 B divide by the width of a head that their width would give.
void scale_scores(Hyperparameters& result, uint32_t layers_of_27b) {
    if (result.layers == layers_of_27b)
        result.attention_scale = 1.0f / std::sqrt(static_cast<float>(result.width / result.heads));
}

constexpr DecoderTraits kNormedBoth = {.branches = DecoderTraits::Branches::normed_both,
                                       .activation = Activation::gelu_tanh};

Result<Hyperparameters> read_gemma(const Gguf& file) { return read_gemma_of(file, "gemma", ""); }

Result<BuiltGraph> build_gemma(const Model& model) {
    return build_decoder(model, {.activation = Activation::gelu_tanh});
}

Result<Hyperparameters> read_gemma2(const Gguf& file) {
    RIFTJIT_TRY(result, read_gemma_of(file, "gemma2",
                                      "attention.sliding_window attn_logit_softcapping final_logit_softcapping"));
    RIFTJIT_TRY_VOID(read_windows(file, {4096, 2, 0}, result));
    RIFTJIT_TRY(attention_softcap, read_factor(file, "gemma2", "attn_logit_softcapping", 50));
    RIFTJIT_TRY(logit_softcap, read_factor(file, "gemma2", "final_logit_softcapping", 30));
    result.attention_softcap = attention_softcap;
    result.logit_softcap = logit_softcap;
    scale_scores(result, 46);
    return result;
}

Result<BuiltGraph> build_gemma2(const Model& model) { return build_decoder(model, kNormedBoth); }

Result<Hyperparameters> read_gemma3(const Gguf& file) {
    RIFTJIT_TRY(result, read_gemma_of(file, "gemma3", "attention.sliding_window final_logit_softcapping"));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 6, 10000}, result));
    RIFTJIT_TRY(logit_softcap, read_factor(file, "gemma3", "final_logit_softcapping", 0));
    result.logit_softcap = logit_softcap;
    scale_scores(result, 62);
    return result;
}

Result<Hyperparameters> read_gemma_embedding(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "gemma-embedding",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .is_encoder = true}));
    result.embedding_scale = std::sqrt(static_cast<float>(result.width));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 6, 10000}, result));
    return result;
}

Result<BuiltGraph> build_gemma3(const Model& model) {
    DecoderTraits traits = kNormedBoth;
    traits.head_norms = DecoderTraits::HeadNorms::each_head;
    return build_decoder(model, traits);
}

}  // namespace

const Architecture kGemma = {"gemma", read_gemma, build_gemma};
const Architecture kGemma2 = {"gemma2", read_gemma2, build_gemma2};
const Architecture kGemma3 = {"gemma3", read_gemma3, build_gemma3};
const Architecture kGemmaEmbedding = {"gemma-embedding", read_gemma_embedding, build_gemma3};

}  // namespace riftjit::models
