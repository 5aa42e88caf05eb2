// pangu-embedded (openPangu): llama's blocks with biases in attention.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_pangu_embedded(const Gguf& file) {
    return read_hyperparameters(file, {"pangu-embedded", RopePairing::half});
}

Result<BuiltGraph> build_pangu_embedded(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kPanguEmbedded = {"pangu-embedded", read_pangu_embedded, build_pangu_embedded};

}  // namespace riftjit::models
