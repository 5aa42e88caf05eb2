// An assembly file cut into statements, without its comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::rdna {

struct AssemblyStatement {
    std::string text;  // as long as its line: comments are blanks
    size_t line = 1;   // counted from 1
};

// Comments are ; and // to the end of the line, /* */, and lines that start with #. None starts inside quotes. Lines
// of .amdgpu_metadata are taken as they stand. Error: a /* that never ends.
Result<std::vector<AssemblyStatement>> split_statements(std::string_view source, std::string_view name);

}  // namespace riftjit::rdna
