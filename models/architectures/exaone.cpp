// exaone 3: llama's blocks; rotary pairs are half a head apart.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_exaone(const Gguf& file) {
    return read_hyperparameters(file, {"exaone", RopePairing::half});
}

Result<BuiltGraph> build_exaone(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kExaone = {"exaone", read_exaone, build_exaone};

}  // namespace riftjit::models
