// A wave with registers of its own, for tests of the vector unit.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "jit/rdna/emulator/machine/program.h"
#include "jit/rdna/emulator/valu/valu.h"
#include "jit/rdna/emulator/valu/valu_source.h"

namespace riftjit::rdna::emulator {

inline constexpr uint32_t kDefaultMode = 0x3F0;  // to nearest, denormals kept, dx10_clamp, ieee

struct TestWave {
    explicit TestWave(Target target = Target::gfx1100, WaveSize size = WaveSize::wave32)
        : wave_size(size),
          program(object, size),
          unit(target, size),
          registers(kVgprsNameable * lanes(size) + 16, 0xBADC0DE5) {
        state.vgprs = registers.data() + (16 - (reinterpret_cast<uintptr_t>(registers.data()) / 4) % 16) % 16;
        state.generation = generation(target);
        state.target = target;
        state.lanes = lanes(size);
        state.vgpr_count = kVgprsNameable;
        state.mode = kDefaultMode;
        state.findings = &findings;
        op.program = &program;
        state.op = &op;
        state.set_mask(Operand::kExec, state.all_lanes());
    }

    uint32_t& at(unsigned reg, unsigned lane = 0) { return state.vgpr(reg)[lane]; }
    void fill(unsigned reg, uint32_t value) { std::fill_n(state.vgpr(reg), state.lanes, value); }
    void fill64(unsigned reg, uint64_t value) {
        fill(reg, static_cast<uint32_t>(value));
        fill(reg + 1, static_cast<uint32_t>(value >> 32));
    }
    uint64_t at64(unsigned reg, unsigned lane = 0) { return at(reg, lane) | uint64_t{at(reg + 1, lane)} << 32; }
    void set_exec(uint64_t exec) { state.set_mask(Operand::kExec, exec); }

    void run(const Instruction& instruction) {
        op.instruction = instruction;
        const auto call = unit.prepare(instruction);
        ASSERT_TRUE(call.has_value()) << call.error().message;
        call->run(state, call->data);
    }
    std::string refusal(const Instruction& instruction) {
        const auto call = unit.prepare(instruction);
        return call ? "" : call.error().message;
    }

    WaveSize wave_size;
    LoadedObject object{};  // empty: reports need a place to name
    Program program;
    Op op;
    ValuUnit unit;
    std::vector<uint32_t> registers;
    WaveState state{};
    Findings findings;
};

// v0 (or what the row writes) from v2, v4, v8: wide enough for every type.
inline Instruction instruction(Opcode opcode) {
    Instruction made;
    made.opcode = opcode;
    const InstructionInfo& row = info(opcode);
    constexpr unsigned kSources[] = {4, 8, 12, 16};
    unsigned destinations = 0, sources = 0;
    for (unsigned i = 0; i < row.destinations; ++i) {
        const OperandInfo& operand = row.operands[i];
        if (operand.type == OperandType::mask)
            made.operands[i] = sgpr(Operand::kVcc);
        else if (operand.type == OperandType::exec)
            made.operands[i] = sgpr(Operand::kExec);
        else
            made.operands[i] = operand.registers == RegisterClass::sgpr ? sgpr(20) : vgpr(4 * destinations++);
    }
    for (unsigned i = row.destinations; i < row.destinations + row.sources; ++i) {
        const OperandInfo& operand = row.operands[i];
        if (operand.type == OperandType::mask)
            made.operands[i] = sgpr(Operand::kVcc);
        else if (operand.type != OperandType::k16 && operand.type != OperandType::k32)
            made.operands[i] =
                operand.registers == RegisterClass::sgpr ? sgpr(30 + 2 * sources++) : vgpr(kSources[sources++]);
        else
            made.has_literal = true, ++sources;
    }
    if (row.format == Format::VOP3P) made.op_sel_hi = 7;
    return made;
}

}  // namespace riftjit::rdna::emulator
