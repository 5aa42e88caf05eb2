// Clang's offload bundle: a host's and several GPUs' objects in one file (clang-offload-bundler, "Bundled Binary File
// Layout").
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "host/result.h"
#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

bool is_offload_bundle(std::span<const std::byte> file);

// The object for `wanted`, or without it the only one for a chip we know. A compressed bundle is refused.
Result<std::span<const std::byte>> pick_from_bundle(std::span<const std::byte> file, std::optional<Target> wanted);

}  // namespace riftjit::rdna
