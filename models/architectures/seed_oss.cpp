// seed-oss: qwen2's blocks; the norm of the feed-forward block has another name.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_seed_oss(const Gguf& file) {
    return read_hyperparameters(file, {"seed_oss", RopePairing::half});
}

Result<BuiltGraph> build_seed_oss(const Model& model) {
    return build_decoder(model, {.ffn_norm = "post_attention_norm"});
}

}  // namespace

const Architecture kSeedOss = {"seed_oss", read_seed_oss, build_seed_oss};

}  // namespace riftjit::models
