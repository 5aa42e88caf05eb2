// The two halves of a VOPD instruction.
#pragma once

#include <string_view>

#include "jit/rdna/text/text.h"

namespace riftjit::rdna {

// `y_column` is the column of the second half's first character.
Result<Parsed> parse_dual(Target target, WaveSize wave, std::string_view x, std::string_view y, size_t y_column);

}  // namespace riftjit::rdna
