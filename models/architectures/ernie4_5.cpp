// ernie 4.5: llama's blocks.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_ernie4_5(const Gguf& file) {
    return read_hyperparameters(file, {"ernie4_5", RopePairing::adjacent});
}

Result<BuiltGraph> build_ernie4_5(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kErnie45 = {"ernie4_5", read_ernie4_5, build_ernie4_5};

}  // namespace riftjit::models
