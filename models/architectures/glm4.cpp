// glm4: norms before and behind the branches, gate and up in one table, half of a head rotated.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_glm4(const Gguf& file) {
    return read_hyperparameters(file,
                                {.architecture = "glm4", .pairing = RopePairing::adjacent, .is_partly_rotated = true});
}

Result<BuiltGraph> build_glm4(const Model& model) {
    return build_decoder(model, {.branches = DecoderTraits::Branches::normed_both, .gates_in_up = true});
}

}  // namespace

const Architecture kGlm4 = {"glm4", read_glm4, build_glm4};

}  // namespace riftjit::models
