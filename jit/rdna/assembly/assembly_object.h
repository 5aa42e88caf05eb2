// An assembled file as the code object that AMD's runtime loads.
#pragma once

#include <cstddef>
#include <vector>

#include "host/result.h"
#include "jit/rdna/assembly/assembly_file.h"

namespace riftjit::rdna {

// .text as it was assembled; .rodata holds the descriptors and then the file's read-only sections, .data and .bss those
// that can be written to. Without metadata in the file it says what the descriptors say.
Result<std::vector<std::byte>> write_code_object(const AssembledFile& file);

}  // namespace riftjit::rdna
