// The text between .amdgpu_metadata and .end_amdgpu_metadata: the part of YAML that compilers write there.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "jit/rdna/metadata.h"
#include "jit/result.h"

namespace riftjit::rdna {

struct MetadataLine {
    std::string text;
    size_t line = 1;
};

// Unknown keys are passed over. Errors name the line.
Result<Metadata> parse_metadata(std::span<const MetadataLine> lines, std::string_view file_name);

// What parse_metadata() reads, and LLVM: a line for each entry, without the directives around them.
std::string format_metadata(const Metadata& metadata);

}  // namespace riftjit::rdna
