// jina-bert-v2: BERT's blocks with linear biases in place of positions, and GELU gates, which some files have in one
// table with what they gate. Some norm whole rows of Q and K, and add to the attention's sum its input once more.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

constexpr float kMaxBias = 8.0f;  // no key says so

Result<Hyperparameters> read_jina_bert_v2(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "jina-bert-v2",
                                                    .pairing = RopePairing::half,
                                                    .norm = Reading::Norm::layer,
                                                    .is_rotated = false,
                                                    .is_encoder = true}));
    result.max_alibi_bias = kMaxBias;
    return result;
}

Result<BuiltGraph> build_jina_bert_v2(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .branches = DecoderTraits::Branches::normed_sums,
                                 .head_norms = DecoderTraits::HeadNorms::whole_row_if_there,
                                 .activation = Activation::gelu_erf,
                                 .gates_in_up = model.file.find_tensor("blk.0.ffn_gate.weight") == nullptr,
                                 .has_embedding_norm = true,
                                 .has_token_types = true,
                                 .output_norm = ""});
}

}  // namespace

const Architecture kJinaBertV2 = {"jina-bert-v2", read_jina_bert_v2, build_jina_bert_v2};

}  // namespace riftjit::models
