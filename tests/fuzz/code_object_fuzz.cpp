// Any bytes as an RDNA code object or offload bundle: loaded, moved and read, or refused.
//   build-fuzz/tests/fuzz/code_object_fuzz build-fuzz/tests/fuzz/code_object_corpus
#include <span>

#include "jit/rdna/object/loader.h"

namespace {

using namespace riftjit;

void use(rdna::LoadedObject& object) {
    rdna::move_object(object, 0x100000);
    for (const rdna::LoadedKernel& kernel : object.kernels) {
        check(object.bytes(kernel.code).size() == kernel.code.size, "a kernel's code lies in memory");
        check(rdna::encode(kernel.descriptor, rdna::generation(object.target)).has_value(),
              "what was decoded can be encoded");
    }
    for (const rdna::LoadedFunction& function : object.functions)
        check(object.bytes(function.code).size() == function.code.size, "a function's code lies in memory");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (auto object = rdna::load_code_object(std::as_bytes(std::span(data, size))))
        use(*object);
    else
        check(!object.error().message.empty(), "a refusal says why");
    return 0;
}
