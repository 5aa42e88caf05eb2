// deci (DeciLM, Llama-Nemotron 49B to 253B): llama's blocks, found by a search: layers differ in heads and widths, and
// may lack attention, have a product of each row in its place, or lack a feed-forward block.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_deci(const Gguf& file) {
    return read_hyperparameters(file,
                                {.architecture = "deci", .pairing = RopePairing::adjacent, .layers_differ = true});
}

Result<BuiltGraph> build_deci(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kDeci = {"deci", read_deci, build_deci};

}  // namespace riftjit::models
