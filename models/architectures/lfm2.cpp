// lfm2: llama's blocks with head norms, most of which have a short convolution in attention's place; lfm2moe has dense
// layers first, then a mixture of experts with a bias for the choice.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_lfm(const Gguf& file, std::string_view architecture, bool has_experts) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = architecture,
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .has_experts = has_experts,
                                                    .other_mixer = LayerTraits::Mixer::short_convolution}));
    RIFTJIT_TRY(taps, file.require_integer(fmt::format("{}.shortconv.l_cache", architecture), 2, kMaxTaps));
    result.state_space.taps = static_cast<uint32_t>(taps);
    RIFTJIT_TRY_VOID(read_windows(file, {0, 0, 0}, result));
    if (has_experts) RIFTJIT_TRY_VOID(read_experts(file, {.scoring = Scoring::sigmoid, .is_normed = true}, result));
    return result;
}

Result<Hyperparameters> read_lfm2(const Gguf& file) { return read_lfm(file, "lfm2", false); }
Result<Hyperparameters> read_lfm2_moe(const Gguf& file) { return read_lfm(file, "lfm2moe", true); }

Result<BuiltGraph> build_lfm2(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head, .output_norm = "token_embd_norm"});
}

}  // namespace

const Architecture kLfm2 = {"lfm2", read_lfm2, build_lfm2};
const Architecture kLfm2Moe = {"lfm2moe", read_lfm2_moe, build_lfm2};

}  // namespace riftjit::models
