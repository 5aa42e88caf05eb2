// An assembled file as the code object that AMD's runtime loads.
#pragma once

#include <cstddef>
#include <vector>

#include "jit/rdna/assembly_file.h"
#include "jit/result.h"

namespace riftjit::rdna {

// .text as it was assembled; .rodata holds the descriptors and then the file's read-only sections, .data and .bss those
// that can be written to. Without metadata in the file it says what the descriptors say.
Result<std::vector<std::byte>> write_code_object(const AssembledFile& file);

}  // namespace riftjit::rdna
