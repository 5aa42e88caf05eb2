// qwen2 (also Qwen2.5): llama's blocks with biases on Q, K and V; rotary pairs are half a head apart.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_qwen2(const Gguf& file) {
    return read_hyperparameters(file, {"qwen2", RopePairing::half});
}

Result<BuiltGraph> build_qwen2(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kQwen2 = {"qwen2", read_qwen2, build_qwen2};

}  // namespace riftjit::models
