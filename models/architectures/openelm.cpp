// openelm: llama's blocks with a fused QKV and norms over each head; layers differ in heads and widths.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_openelm(const Gguf& file) {
    return read_hyperparameters(file, {.architecture = "openelm", .pairing = RopePairing::half, .layers_differ = true});
}

Result<BuiltGraph> build_openelm(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kOpenelm = {"openelm", read_openelm, build_openelm};

}  // namespace riftjit::models
