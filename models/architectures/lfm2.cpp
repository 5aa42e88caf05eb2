// lfm2: llama's blocks with head norms, most of which have a short convolution in attention's place.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_lfm2(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "lfm2",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .other_mixer = LayerTraits::Mixer::short_convolution}));
    RIFTJIT_TRY(taps, file.require_integer("lfm2.shortconv.l_cache", 2, kMaxTaps));
    result.state_space.taps = static_cast<uint32_t>(taps);
    RIFTJIT_TRY_VOID(read_windows(file, {0, 0, 0}, result));
    return result;
}

Result<BuiltGraph> build_lfm2(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head, .output_norm = "token_embd_norm"});
}

}  // namespace

const Architecture kLfm2 = {"lfm2", read_lfm2, build_lfm2};

}  // namespace riftjit::models
