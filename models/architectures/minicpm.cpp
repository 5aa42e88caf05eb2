// minicpm: llama's blocks with factors on embeddings, branches and logits, which older files leave to the program.
#include <cmath>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_minicpm(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {"minicpm", RopePairing::adjacent, "embedding_scale residual_scale logit_scale"}));
    const float branches = 1.4f / std::sqrt(static_cast<float>(result.layers));
    RIFTJIT_TRY(embedding, read_scale(file, "minicpm", "embedding_scale", 12));
    RIFTJIT_TRY(residual, read_scale(file, "minicpm", "residual_scale", branches));
    RIFTJIT_TRY(logit, read_scale(file, "minicpm", "logit_scale", static_cast<float>(result.width) / 256.0f));
    result.embedding_scale = embedding;
    result.residual_scale = residual;
    result.logit_scale = 1 / logit;
    return result;
}

Result<BuiltGraph> build_minicpm(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kMinicpm = {"minicpm", read_minicpm, build_minicpm};

}  // namespace riftjit::models
