// The text between .amdgpu_metadata and .end_amdgpu_metadata: YAML, with the comments of assembly.
#pragma once

#include <string>
#include <string_view>

#include "host/result.h"
#include "jit/rdna/object/metadata.h"

namespace riftjit::rdna {

// `first_line` of the file is where the text begins; errors name the line. Scalars without quotes and tag are what LLVM
// takes them for, so that its own files keep their meaning: on and y are true, 010 is 8. What it writes nowhere is
// refused: anchors, tags of others, several documents.
Result<Metadata> parse_metadata(std::string_view text, size_t first_line, std::string_view file_name);

// What parse_metadata() reads, and LLVM: a line for each entry, without the directives around them.
std::string format_metadata(const Metadata& metadata);

}  // namespace riftjit::rdna
