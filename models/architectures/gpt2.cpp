// gpt2, and starcoder, whose heads share one key and value: layer norms, GELU without a gate, a table of positions in
// place of a rotation.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_gpt2_of(const Gguf& file, std::string_view architecture) {
    return read_hyperparameters(file, {.architecture = architecture,
                                       .pairing = RopePairing::half,
                                       .norm = Reading::Norm::layer,
                                       .is_rotated = false});
}

Result<Hyperparameters> read_gpt2(const Gguf& file) { return read_gpt2_of(file, "gpt2"); }
Result<Hyperparameters> read_starcoder(const Gguf& file) { return read_gpt2_of(file, "starcoder"); }

Result<BuiltGraph> build_gpt2(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .activation = Activation::gelu_tanh,
                                 .is_gated = false,
                                 .has_position_table = true});
}

}  // namespace

const Architecture kGpt2 = {"gpt2", read_gpt2, build_gpt2};
const Architecture kStarcoder = {"starcoder", read_starcoder, build_gpt2};

}  // namespace riftjit::models
