// The build id of the running image: which emitter wrote a cached kernel.
#pragma once

#include <cstddef>
#include <span>

namespace riftjit {

// The NT_GNU_BUILD_ID note of the image that holds this code, as mapped in memory: the file on disk may have been
// replaced since. Empty when the image was linked without --build-id.
std::span<const std::byte> running_build_id();

}  // namespace riftjit
