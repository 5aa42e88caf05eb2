// Several kernels in one: a launch whose first workgroups are the first kernel's, and so on.
#pragma once

#include <span>

#include "jit/rdna/emit/assembler.h"

namespace riftjit::rdna {

struct JoinedPart {
    KernelPart part;
    uint32_t groups;  // workgroups
    uint32_t lanes;   // of each; the launch has the most of any part
};

// Arguments lie one part's struct behind the other's.
Result<KernelProgram> join(KernelTarget target, std::string name, std::span<const JoinedPart> parts,
                           PassOptions options);

}  // namespace riftjit::rdna
