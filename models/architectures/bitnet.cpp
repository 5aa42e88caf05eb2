// bitnet (b1.58): llama's blocks with a norm before the last product of each branch; the table of tokens is the
// output's. The product's scale is a tensor of its own, where weights are not scaled themselves.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_bitnet(const Gguf& file) {
    return read_hyperparameters(file, {"bitnet", RopePairing::half});
}

Result<BuiltGraph> build_bitnet(const Model& model) { return build_decoder(model, {.has_sub_norms = true}); }

}  // namespace

const Architecture kBitnet = {"bitnet", read_bitnet, build_bitnet};

}  // namespace riftjit::models
