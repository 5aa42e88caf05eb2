// cogvlm, as far as texts go: llama's blocks with a fused QKV. Its second set of weights is for pictures.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_cogvlm(const Gguf& file) {
    return read_hyperparameters(file, {"cogvlm", RopePairing::half});
}

Result<BuiltGraph> build_cogvlm(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kCogvlm = {"cogvlm", read_cogvlm, build_cogvlm};

}  // namespace riftjit::models
