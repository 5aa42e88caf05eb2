// mistral 3 and ministral 3: llama's blocks with YaRN; queries far behind the trained context are scaled up.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_mistral3(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {"mistral3", RopePairing::adjacent,
                                                    "attention.sliding_window attention.temperature_scale"}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 0, 0}, result));
    RIFTJIT_TRY_VOID(read_query_temperature(file, result));
    return result;
}

Result<BuiltGraph> build_mistral3(const Model& model) { return build_decoder(model, {}); }

}  // namespace

const Architecture kMistral3 = {"mistral3", read_mistral3, build_mistral3};

}  // namespace riftjit::models
