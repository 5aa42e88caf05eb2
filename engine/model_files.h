// Model files by name, or the one that ships with the project where none is named.
#pragma once

#include <filesystem>
#include <span>

#include "engine/machine.h"
#include "models/model.h"

namespace riftjit::engine {

// The storyteller: beside the binary's prefix when installed, else in the source tree.
Result<std::filesystem::path> shipped_model();
// `path`, or the shipped model where it is empty.
Result<std::filesystem::path> named_or_shipped(const std::filesystem::path& path);

// Loads and checks named_or_shipped(path) with these adapters, and passes on what the file makes to warn of.
Result<models::Model> open_model(const std::filesystem::path& path, const Warn& warn,
                                 std::span<const models::LoraRequest> adapters = {},
                                 const models::Purpose& purpose = {});

}  // namespace riftjit::engine
