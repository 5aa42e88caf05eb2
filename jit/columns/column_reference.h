// Column programs run one element at a time with the functions of <cmath>: slow, and simple enough to be believed.
#pragma once

#include "jit/columns/column_program.h"

namespace riftjit {

// As a launch of the kernel does, but no padding is touched. The functions are those of <cmath> in double, rounded once
// in Precision::f32, so that kernels differ from them by the errors of both.
void run_column_program(const ColumnProgramSpec& spec, ColumnProgramArgs& args, uint32_t begin, uint32_t end);

}  // namespace riftjit
