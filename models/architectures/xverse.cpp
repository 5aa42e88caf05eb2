// xverse: llama's blocks.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_xverse(const Gguf& file) {
    return read_hyperparameters(file, {"xverse", RopePairing::adjacent});
}

Result<BuiltGraph> build_xverse(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kXverse = {"xverse", read_xverse, build_xverse};

}  // namespace riftjit::models
