// olmo2 (also OLMo 3): norms behind the branches alone, and over whole rows of Q and K. Of OLMo 3 three of four layers
// see a window, and rotate without scaling.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_olmo2(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"olmo2", RopePairing::half, "attention.sliding_window"}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 4, result.rope.base}, result));
    return result;
}

Result<BuiltGraph> build_olmo2(const Model& model) {
    return build_decoder(
        model, {.branches = DecoderTraits::Branches::normed_after, .head_norms = DecoderTraits::HeadNorms::whole_row});
}

}  // namespace

const Architecture kOlmo2 = {"olmo2", read_olmo2, build_olmo2};

}  // namespace riftjit::models
