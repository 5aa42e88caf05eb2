// internlm2: llama's blocks.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_internlm2(const Gguf& file) {
    return read_hyperparameters(file, {"internlm2", RopePairing::adjacent});
}

Result<BuiltGraph> build_internlm2(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kInternlm2 = {"internlm2", read_internlm2, build_internlm2};

}  // namespace riftjit::models
