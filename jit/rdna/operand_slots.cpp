#include "jit/rdna/operand_slots.h"

#include <vector>

#include "jit/rdna/syntax.h"

namespace riftjit::rdna {
namespace {

bool is_register_field(OperandType type) {
    switch (type) {
        case OperandType::exec:
        case OperandType::k16:
        case OperandType::k32:
        case OperandType::imm:
        case OperandType::simm16:
        case OperandType::hwreg:
        case OperandType::label:
        case OperandType::literal:
        case OperandType::length:
        case OperandType::addr:
        case OperandType::base:
        case OperandType::rsrc:
            return false;
        default:
            return true;
    }
}

// The short forms read and write a mask in vcc.
bool has_implicit_mask(Format format) { return format == Format::VOP2 || format == Format::VOPC; }

void place_destinations(const InstructionInfo& row, OperandSlots& slots) {
    for (uint8_t i = 0; i < row.destinations; ++i) {
        const OperandType type = row.operands[i].type;
        if (!is_register_field(type)) continue;
        if (type == OperandType::mask && (i == 1 || row.format == Format::VOPC)) {
            slots.mask_destination = i;
        } else if (i == 0) {
            slots.destination = i;
        }
        // A second VGPR destination (v_swap) is the source's own field.
    }
}

void place_sources(const InstructionInfo& row, OperandSlots& slots) {
    // s_movreld and its kin have two register fields and write neither as it stands.
    bool into_destination =
        row.destinations == 0 && row.sources >= 2 && (row.format == Format::SOP1 || row.format == Format::VOP1);
    if (row.format == Format::SOPK) into_destination = row.destinations == 0;
    unsigned next = 0;
    for (unsigned i = 0; i < row.sources; ++i) {
        const auto index = static_cast<uint8_t>(row.destinations + i);
        const OperandType type = row.operands[index].type;
        if (type == OperandType::k16 || type == OperandType::k32) {
            slots.constant = index;
        } else if (type == OperandType::imm || type == OperandType::length) {
            slots.immediate = index;
        } else if (row.format == Format::SMEM || !is_register_field(type)) {
            continue;
        } else if (row.format <= Format::VOP3P && is_tied(row, i)) {
            continue;
        } else if (into_destination) {
            slots.destination = index;
            into_destination = false;
        } else if (type == OperandType::mask && has_implicit_mask(row.format)) {
            slots.mask_source = index;
        } else if (next < 3) {
            slots.source[next++] = index;
        }
    }
}

std::vector<OperandSlots> place_all() {
    std::vector<OperandSlots> all;
    for (const InstructionInfo& row : all_instructions()) {
        OperandSlots slots;
        place_destinations(row, slots);
        place_sources(row, slots);
        all.push_back(slots);
    }
    return all;
}

}  // namespace

const OperandSlots& slots_of(Opcode opcode) {
    static const std::vector<OperandSlots> all = place_all();
    return all[static_cast<size_t>(opcode)];
}

}  // namespace riftjit::rdna
