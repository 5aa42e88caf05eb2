// The entry points of every architecture, for the table in models/model.cpp.
#pragma once

#include "models/model.h"

namespace riftjit::models {

Result<Hyperparameters> read_llama(const Gguf& file);
Result<BuiltGraph> build_llama(const Model& model);

Result<Hyperparameters> read_qwen2(const Gguf& file);
Result<BuiltGraph> build_qwen2(const Model& model);

Result<Hyperparameters> read_qwen3(const Gguf& file);
Result<BuiltGraph> build_qwen3(const Model& model);

}  // namespace riftjit::models
