// Columns of every type to and from vectors of numbers.
#pragma once

#include "jit/columns/column_program.h"
#include "jit/x86/columns/column_compiler.h"

namespace riftjit::x86 {

// The vector of numbers (f64 or f32 lanes by precision) that starts at `start`, a whole vector: columns are padded.
ColumnCompiler::Vec load_numbers(ColumnCompiler& cc, Precision precision, ColumnType type,
                                 const ColumnCompiler::Mem& start);
void store_numbers(ColumnCompiler& cc, Precision precision, ColumnType type, const ColumnCompiler::Mem& start,
                   const ColumnCompiler::Vec& numbers);

}  // namespace riftjit::x86
