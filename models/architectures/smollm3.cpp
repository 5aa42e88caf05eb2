// smollm3: llama's blocks; every fourth layer does not rotate.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_smollm3(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"smollm3", RopePairing::adjacent}));
    for (uint32_t i = 3; i < result.layers; i += 4) result.layer[i].rotates = false;
    return result;
}

Result<BuiltGraph> build_smollm3(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kSmollm3 = {"smollm3", read_smollm3, build_smollm3};

}  // namespace riftjit::models
