// baichuan: llama's blocks; the model of 13 B, of 40 layers, has linear biases in place of a rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_baichuan(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"baichuan", RopePairing::adjacent}));
    constexpr uint32_t kLayersOf13B = 40;  // no key says so
    if (result.layers == kLayersOf13B) {
        result.max_alibi_bias = 8;
        for (LayerTraits& layer : result.layer) layer.rotates = false;
    }
    return result;
}

Result<BuiltGraph> build_baichuan(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kBaichuan = {"baichuan", read_baichuan, build_baichuan};

}  // namespace riftjit::models
