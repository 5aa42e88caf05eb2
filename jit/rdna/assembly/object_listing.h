// A whole code object as an assembly file from which the same object can be made again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/rdna/object/loader.h"
#include "jit/rdna/text/listing.h"

namespace riftjit::rdna {

// A stretch of .text from one function's start to its end or to the next function's start.
struct ListedFunction {
    std::string name;                      // empty: bytes that belong to no function
    const LoadedKernel* kernel = nullptr;  // null: a function that kernels call, or padding
    uint64_t size = 0;                     // that its symbol declares
    std::vector<ListedInstruction> instructions;
};

// By address. `kernel` keeps only the kernel of that name, an empty one all of .text with what lies between functions.
std::vector<ListedFunction> list_functions(const LoadedObject& object, std::string_view kernel = {});

// For our assembler and LLVM's: code, descriptors, metadata and read-only data, with PC-relative addresses of data as
// references. Where that does not say all (data that can be written, addresses in data, a kernel without the functions
// it calls), an .error directive says so, so that no assembler takes the file for the whole object.
std::string format_object(const LoadedObject& object, const std::vector<ListedFunction>& functions);

}  // namespace riftjit::rdna
