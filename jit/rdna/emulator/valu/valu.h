// The vector ALU as a whole: which instructions it executes, and which it knows but refuses.
#pragma once

#include <string_view>

#include "jit/rdna/emulator/machine/executors.h"

namespace riftjit::rdna::emulator {

enum class ValuKind : uint8_t {
    lane_wise,    // valu_lane.h
    cross_lane,   // valu_cross_lane.h
    matrix,       // wmma.h
    no_effect,    // v_nop and its kin
    not_a_valu,   // another unit's
    unsupported,  // a vector instruction that nothing here executes
};
ValuKind valu_kind(Opcode opcode);

}  // namespace riftjit::rdna::emulator
