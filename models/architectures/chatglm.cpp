// chatglm (ChatGLM 2 and 3, GLM-4-9B, GLM-Edge): llama's blocks with a fused QKV and a fused gate and up; half of each
// head is rotated.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_chatglm(const Gguf& file) {
    return read_hyperparameters(
        file, {.architecture = "chatglm", .pairing = RopePairing::adjacent, .is_partly_rotated = true});
}

Result<BuiltGraph> build_chatglm(const Model& model) { return build_decoder(model, {.gates_in_up = true}); }

}  // namespace

const Architecture kChatglm = {"chatglm", read_chatglm, build_chatglm};

}  // namespace riftjit::models
