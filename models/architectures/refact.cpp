// refact: llama's blocks with a single head of keys and linear biases in place of a rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_refact(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = "refact", .pairing = RopePairing::half, .is_rotated = false}));
    result.max_alibi_bias = 8;  // no key says so
    return result;
}

Result<BuiltGraph> build_refact(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kRefact = {"refact", read_refact, build_refact};

}  // namespace riftjit::models
