// mamba (with falcon-mamba, which norms times, B and C), mamba2: blocks of one branch, a selective state space.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_mamba_of(const Gguf& file, std::string_view architecture, LayerTraits::Mixer mixer) {
    RIFTJIT_TRY(result, read_hyperparameters(
                            file, {.architecture = architecture, .pairing = RopePairing::half, .other_mixer = mixer}));
    RIFTJIT_TRY_VOID(read_state_space(file, result));
    return result;
}

Result<Hyperparameters> read_mamba(const Gguf& file) { return read_mamba_of(file, "mamba", LayerTraits::Mixer::mamba); }
Result<Hyperparameters> read_mamba2(const Gguf& file) {
    return read_mamba_of(file, "mamba2", LayerTraits::Mixer::mamba2);
}

Result<BuiltGraph> build_mamba(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kMamba = {"mamba", read_mamba, build_mamba};
const Architecture kMamba2 = {"mamba2", read_mamba2, build_mamba};

}  // namespace riftjit::models
