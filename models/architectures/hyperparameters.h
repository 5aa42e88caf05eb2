// The hyperparameters that decoder-only transformers share, read and checked against each other.
#pragma once

#include "models/model.h"

namespace riftjit::models {

inline constexpr uint64_t kMaxWidth = 1u << 20;  // of any activation; far above any published model

// Keys begin with `architecture`. Fails on keys whose value asks for something that is not implemented.
Result<Hyperparameters> read_hyperparameters(const Gguf& file, std::string_view architecture, RopePairing pairing);

}  // namespace riftjit::models
