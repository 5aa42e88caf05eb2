// modern-bert: an encoder with layer norms before each branch, but for the first, and behind the lookup; GELU gates in
// one table with what they gate; two of three layers see a window to both sides and rotate by a base of their own.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

namespace {

constexpr std::string_view kActivationKey = "modern-bert.hidden_act";

Result<Hyperparameters> read_modern_bert(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "modern-bert",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window",
                                                    .norm = Reading::Norm::layer,
                                                    .is_encoder = true}));
    RIFTJIT_TRY_VOID(read_windows(file, {0, 3, 0, /*begins_full=*/true}, result));
    return result;
}

Result<Activation> gate_of(const Gguf& file) {
    RIFTJIT_TRY(name, file.string(kActivationKey));
    if (!name || *name == "gelu") return Activation::gelu_erf;
    if (*name == "silu") return Activation::silu;
    return fail(ErrorKind::Unsupported, "{} is '{}': unsupported; supported are 'gelu' and 'silu'",
                file.place_of(*file.find(kActivationKey)), printable(*name));
}

Result<BuiltGraph> build_modern_bert(const Model& model) {
    if (model.output == GraphOutput::ranks)
        return fail(ErrorKind::Unsupported, "{}: ranking is unsupported for architecture modern-bert",
                    printable_path(model.file.path()));
    RIFTJIT_TRY(gate, gate_of(model.file));
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .activation = gate,
                                 .gates_in_up = true,
                                 .has_embedding_norm = true,
                                 .has_every_norm = false});
}

}  // namespace

const Architecture kModernBert = {"modern-bert", read_modern_bert, build_modern_bert};

}  // namespace riftjit::models
