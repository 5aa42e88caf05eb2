// exaone4: norms behind the branches alone, and over each head. Where layers see windows, those that do not are not
// rotated.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_exaone4(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"exaone4", RopePairing::half, "attention.sliding_window"}));
    constexpr uint32_t kLayersOf32B = 64;  // the size with windows
    if (result.layers != kLayersOf32B && file.find("exaone4.attention.sliding_window_pattern") == nullptr)
        return result;
    RIFTJIT_TRY_VOID(read_windows(file, {4096, 4, 0}, result));
    for (LayerTraits& layer : result.layer) layer.rotates = layer.is_local;
    return result;
}

Result<BuiltGraph> build_exaone4(const Model& model) {
    return build_decoder(
        model, {.branches = DecoderTraits::Branches::normed_after, .head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kExaone4 = {"exaone4", read_exaone4, build_exaone4};

}  // namespace riftjit::models
