// gfx11, wave64: a lane mask that a vector instruction has read needs a wait behind its next write.
#pragma once

#include "jit/rdna/passes/pass_context.h"

namespace riftjit::rdna {

void insert_mask_write_waits(PassContext& context);

}  // namespace riftjit::rdna
