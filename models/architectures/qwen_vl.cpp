// What reads texts in models that see pictures: qwen2vl (and 2.5) and paddleocr are qwen2's and ernie4_5's blocks,
// qwen3vl and qwen3vlmoe those of qwen3. A token of a text has one position where a picture's has three, so that the
// sections of a rotation do not matter.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_with_sections(const Gguf& file, std::string_view architecture, bool has_experts) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = architecture,
                                                    .pairing = RopePairing::half,
                                                    .implemented = "rope.dimension_sections",
                                                    .has_experts = has_experts}));
    if (has_experts) RIFTJIT_TRY_VOID(read_experts(file, {.is_normed = true}, result));
    return result;
}

Result<Hyperparameters> read_qwen2vl(const Gguf& file) { return read_with_sections(file, "qwen2vl", false); }
Result<Hyperparameters> read_qwen3vl(const Gguf& file) { return read_with_sections(file, "qwen3vl", false); }
Result<Hyperparameters> read_qwen3vlmoe(const Gguf& file) { return read_with_sections(file, "qwen3vlmoe", true); }
Result<Hyperparameters> read_paddleocr(const Gguf& file) { return read_with_sections(file, "paddleocr", false); }

Result<BuiltGraph> build_qwen2vl(const Model& model) { return build_decoder(model, {}); }

Result<BuiltGraph> build_qwen3vl(const Model& model) {
    return build_decoder(model, {.head_norms = DecoderTraits::HeadNorms::each_head});
}

}  // namespace

const Architecture kQwen2vl = {"qwen2vl", read_qwen2vl, build_qwen2vl};
const Architecture kQwen3vl = {"qwen3vl", read_qwen3vl, build_qwen3vl};
const Architecture kQwen3vlmoe = {"qwen3vlmoe", read_qwen3vlmoe, build_qwen3vl};
const Architecture kPaddleocr = {"paddleocr", read_paddleocr, build_qwen2vl};

}  // namespace riftjit::models
