// gfx12: an SGPR that vector instructions read needs a wait between its next write and the reads after that.
#pragma once

#include "jit/rdna/passes/pass_context.h"

namespace riftjit::rdna {

void insert_sgpr_read_waits(PassContext& context);

}  // namespace riftjit::rdna
