// The functions of column programs on vectors of f64. Errors are in units in the last place (ulp) of the result, argued
// beside each function in column_functions.cpp:
//
//   exp, sin, cos    below 1 ulp
//   log              below 1.1 ulp
//   expm1            below 1.2 ulp
//   power            below 1.3 ulp
//   tanh             below 3 ulp
//
// (of a subnormal result: plus half its unit). Special values are those of C's Annex F, except that sin and cos give
// NaN beyond kMostAngle, where neighbouring numbers lie 1/128 apart. In Precision::f32 the same functions run on f64
// and round once: below 0.5001 ulp of f32.
#pragma once

#include "jit/x86/columns/column_compiler.h"

namespace riftjit::x86 {

inline constexpr double kMostAngle = 0x1p45;

ColumnCompiler::Vec emit_exp(ColumnCompiler& cc, const ColumnCompiler::Vec& x);
ColumnCompiler::Vec emit_expm1(ColumnCompiler& cc, const ColumnCompiler::Vec& x);
ColumnCompiler::Vec emit_log(ColumnCompiler& cc, const ColumnCompiler::Vec& x);
ColumnCompiler::Vec emit_sin(ColumnCompiler& cc, const ColumnCompiler::Vec& x);
ColumnCompiler::Vec emit_cos(ColumnCompiler& cc, const ColumnCompiler::Vec& x);
ColumnCompiler::Vec emit_tanh(ColumnCompiler& cc, const ColumnCompiler::Vec& x);
ColumnCompiler::Vec emit_power(ColumnCompiler& cc, const ColumnCompiler::Vec& base,
                               const ColumnCompiler::Vec& exponent);

// Pieces for random numbers: log for 0 < x <= 1, no special values; cos(2 pi x) for 0 <= x < 1, its argument reduced
// exactly.
ColumnCompiler::Vec emit_log_of_unit(ColumnCompiler& cc, const ColumnCompiler::Vec& x);
ColumnCompiler::Vec emit_cos_of_turn(ColumnCompiler& cc, const ColumnCompiler::Vec& x);

}  // namespace riftjit::x86
