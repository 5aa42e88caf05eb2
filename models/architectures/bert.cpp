// bert (also RoBERTa and XLM-RoBERTa, whose files have their positions cut to begin with 0): an encoder whose layer
// norms stand behind each sum, GELU without a gate, a table of positions. What its heads score is in the file of a
// reranker.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_bert(const Gguf& file) {
    return read_hyperparameters(file, {.architecture = "bert",
                                       .pairing = RopePairing::half,
                                       .norm = Reading::Norm::layer,
                                       .is_rotated = false,
                                       .is_encoder = true});
}

Result<BuiltGraph> build_bert(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .branches = DecoderTraits::Branches::normed_sums,
                                 .activation = Activation::gelu_erf,
                                 .is_gated = false,
                                 .has_embedding_norm = true,
                                 .has_token_types = true,
                                 .has_position_table = true,
                                 .output_norm = ""});
}

}  // namespace

const Architecture kBert = {"bert", read_bert, build_bert};

}  // namespace riftjit::models
