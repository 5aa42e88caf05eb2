// What instructions compute, as PTX text.
//
//   $0 $1 $2   sources, each in a register of 32 bits, with DPP and signs applied
//   $d         the destination's old value
//   r          where the result goes
//   p          of compares: where the lane's bit goes
//   scc, x     the scalar condition; whether the lane is on
//   t0..t4, p0..p4, a0..a1 (64 bits), d0..d3 (f64), h0..h2 (16 bits)   scratch
//   lane, lane_bit, row   the lane's number, 1 << lane, lane & 16
#pragma once

#include <string>

#include "jit/rdna/table/opcode.h"

namespace riftjit::hip_stand_in {

// Empty: there is none.
std::string scalar_operation(rdna::Opcode opcode);
std::string vector_operation(rdna::Opcode opcode);
std::string compare_operation(rdna::Opcode opcode);  // v_cmp_*

}  // namespace riftjit::hip_stand_in
