// What a file that is not GGUF looks like, so that the message can say what went wrong with it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace riftjit::models {

// "this is an HTML page ...", or empty when nothing is recognised. `head` is the file's beginning.
std::string describe_lookalike(std::span<const std::byte> head);

}  // namespace riftjit::models
