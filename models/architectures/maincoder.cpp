// maincoder: llama's blocks with norms over each head, behind the rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_maincoder(const Gguf& file) {
    return read_hyperparameters(file, {"maincoder", RopePairing::adjacent});
}

Result<BuiltGraph> build_maincoder(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head_late});
}

}  // namespace

const Architecture kMaincoder = {"maincoder", read_maincoder, build_maincoder};

}  // namespace riftjit::models
