// olmo (the first): llama's blocks with layer norms that have neither gain nor bias.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_olmo(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "olmo",
                                                    .pairing = RopePairing::adjacent,
                                                    .implemented = "attention.clamp_kqv",
                                                    .norm = Reading::Norm::layer}));
    RIFTJIT_TRY(limit, read_factor(file, "olmo", "attention.clamp_kqv", 0));
    result.qkv_limit = limit;
    return result;
}

Result<BuiltGraph> build_olmo(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer_without_gain});
}

}  // namespace

const Architecture kOlmo = {"olmo", read_olmo, build_olmo};

}  // namespace riftjit::models
