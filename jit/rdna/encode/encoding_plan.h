// How one row stands in one form on one generation: which field holds each operand. Built from the table once; the
// encoder, the decoder and their checks all read it.
#pragma once

#include <array>
#include <cstdint>

#include "jit/rdna/table/formats.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

enum class Place : uint8_t {
    none,       // its value is elsewhere in the instruction: simm16, literal, address
    source,     // nine bits: SGPR, constant or VGPR
    vector,     // eight bits: a VGPR
    scalar,     // an SGPR, or in SALU sources a constant
    immediate,  // the field's bits are the value
    vcc,        // no field: always vcc
    exec,       // no field, or 7E in vdst
    constant,   // no field: the literal
    tied,       // no field: the destination's old value
    swapped,    // no field: v_swap's second destination is its source
};

struct OperandSlot {
    Place place = Place::none;
    Field field = Field::count;
    bool half = false;  // a VGPR's field spends its top bit on naming the half: v0 to v127 only
};

struct EncodingPlan {
    bool exists = false;
    Layout base = Layout::none, extra = Layout::none;
    uint16_t number = 0;
    bool uses_simm16 = false, has_immediate_literal = false, has_sdst = false;
    bool has_vaddr = false, has_addr = false, has_base = false, has_resource = false, is_prefetch = false;
    std::array<OperandSlot, 6> slots{};
    uint8_t operand_count = 0;
};

const EncodingPlan& encoding_plan(Generation generation, Opcode opcode, Encoding encoding);

}  // namespace riftjit::rdna
