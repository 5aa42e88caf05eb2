// stablelm: layer norms, SwiGLU, part of a head rotated; the larger models have both branches from one norm.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_stablelm(const Gguf& file) {
    return read_hyperparameters(file, {.architecture = "stablelm",
                                       .pairing = RopePairing::half,
                                       .implemented = "use_parallel_residual",
                                       .norm = Reading::Norm::layer,
                                       .is_partly_rotated = true});
}

Result<BuiltGraph> build_stablelm(const Model& model) {
    const bool is_parallel = model.file.find_tensor("blk.0.ffn_norm.weight") == nullptr;
    return build_decoder(
        model, {.norm = DecoderTraits::Norm::layer,
                .branches = is_parallel ? DecoderTraits::Branches::parallel : DecoderTraits::Branches::normed_before});
}

}  // namespace

const Architecture kStablelm = {"stablelm", read_stablelm, build_stablelm};

}  // namespace riftjit::models
