// nomic-bert: BERT's blocks with a rotation and SwiGLU; nomic-bert-moe: with GELU, and experts in every second layer.
// jina-bert-v3 is the latter without experts.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Reading rotated_encoder(std::string_view architecture) {
    return {
        .architecture = architecture, .pairing = RopePairing::half, .norm = Reading::Norm::layer, .is_encoder = true};
}

DecoderTraits rotated_encoder_traits(Activation activation, bool is_gated) {
    return {.norm = DecoderTraits::Norm::layer,
            .branches = DecoderTraits::Branches::normed_sums,
            .activation = activation,
            .is_gated = is_gated,
            .has_embedding_norm = true,
            .has_token_types = true,
            .output_norm = ""};
}

Result<Hyperparameters> read_nomic_bert(const Gguf& file) {
    return read_hyperparameters(file, rotated_encoder("nomic-bert"));
}

Result<Hyperparameters> read_nomic_bert_moe(const Gguf& file) {
    Reading reading = rotated_encoder("nomic-bert-moe");
    reading.has_experts = true;
    RIFTJIT_TRY(result, read_hyperparameters(file, reading));
    RIFTJIT_TRY_VOID(read_experts(file, {}, result));
    return result;
}

Result<Hyperparameters> read_jina_bert_v3(const Gguf& file) {
    return read_hyperparameters(file, rotated_encoder("jina-bert-v3"));
}

Result<BuiltGraph> build_nomic_bert(const Model& model) {
    return build_decoder(model, rotated_encoder_traits(Activation::silu, true));
}

Result<BuiltGraph> build_ungated(const Model& model) {
    return build_decoder(model, rotated_encoder_traits(Activation::gelu_erf, false));
}

}  // namespace

const Architecture kNomicBert = {"nomic-bert", read_nomic_bert, build_nomic_bert};
const Architecture kNomicBertMoe = {"nomic-bert-moe", read_nomic_bert_moe, build_ungated};
const Architecture kJinaBertV3 = {"jina-bert-v3", read_jina_bert_v3, build_ungated};

}  // namespace riftjit::models
