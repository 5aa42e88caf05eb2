// plamo: attention and feed-forward block side by side on one norm. plamo3: norms on both sides of each branch and over
// each head, a fused QKV, a fused gate and up; most layers see a window.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_plamo(const Gguf& file) {
    return read_hyperparameters(file, {"plamo", RopePairing::half});
}

Result<Hyperparameters> read_plamo3(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "plamo3",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .is_partly_rotated = true}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 8, 0}, result));
    return result;
}

Result<BuiltGraph> build_plamo(const Model& model) {
    return build_decoder(model, {.branches = DecoderTraits::Branches::parallel});
}

Result<BuiltGraph> build_plamo3(const Model& model) {
    return build_decoder(model, {.branches = DecoderTraits::Branches::normed_both,
                                 .head_norms = DecoderTraits::HeadNorms::each_head,
                                 .gates_in_up = true});
}

}  // namespace

const Architecture kPlamo = {"plamo", read_plamo, build_plamo};
const Architecture kPlamo3 = {"plamo3", read_plamo3, build_plamo3};

}  // namespace riftjit::models
