// phi3, phi4: llama's blocks with fused QKV and a fused gate and up; longrope; part of a head may be rotated. Windows
// are kept as the file has them.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_phi3(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "phi3",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .is_partly_rotated = true}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 0, 0}, result));
    return result;
}

Result<BuiltGraph> build_phi3(const Model& model) { return build_decoder(model, {.gates_in_up = true}); }

}  // namespace

const Architecture kPhi3 = {"phi3", read_phi3, build_phi3};

}  // namespace riftjit::models
