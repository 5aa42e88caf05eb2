// What emitter and passes throw.
#pragma once

#include <stdexcept>

namespace riftjit::rdna {

// A kernel that cannot be; the message names kernel, instruction and operand. Caught where kernels are compiled.
struct AssemblyError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace riftjit::rdna
