// gpt-neox (also Pythia): layer norms; both branches in parallel, each from a norm of its own, unless the file says
// otherwise; GELU without a gate; part of a head is rotated.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_gptneox(const Gguf& file) {
    return read_hyperparameters(file, {.architecture = "gptneox",
                                       .pairing = RopePairing::half,
                                       .implemented = "use_parallel_residual",
                                       .norm = Reading::Norm::layer,
                                       .is_partly_rotated = true});
}

Result<BuiltGraph> build_gptneox(const Model& model) {
    RIFTJIT_TRY(is_parallel, model.file.boolean("gptneox.use_parallel_residual"));
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .branches = is_parallel.value_or(true) ? DecoderTraits::Branches::parallel
                                                                        : DecoderTraits::Branches::normed_before,
                                 .activation = Activation::gelu_erf,
                                 .is_gated = false});
}

}  // namespace

const Architecture kGptneox = {"gptneox", read_gptneox, build_gptneox};

}  // namespace riftjit::models
