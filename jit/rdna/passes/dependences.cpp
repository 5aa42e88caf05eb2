#include "jit/rdna/passes/dependences.h"

namespace riftjit::rdna {
namespace {

constexpr uint32_t kHardwareCodes = 512;

// The instruction without its virtual registers: what is left are hardware registers that it names or implies.
Instruction without_virtual_registers(const Line& line) {
    Instruction instruction = line.instruction;
    for (unsigned slot = 0; slot < kSlotCount; ++slot)
        if (line.parts[slot].exists()) slot_operand(instruction, slot) = {};
    return instruction;
}

// Beyond registers and memory: the mode, exec written without being named, barriers, messages, the program counter,
// registers that m0 chooses.
bool has_hidden_state(const InstructionInfo& row) {
    for (unsigned i = 0; i < row.destinations + row.sources; ++i) {
        const OperandType type = row.operands[i].type;
        if (type == OperandType::hwreg || type == OperandType::barrier || type == OperandType::label ||
            type == OperandType::imm || type == OperandType::exec)
            return true;
    }
    if (row.opcode == Opcode::s_getpc_b64 || row.opcode == Opcode::s_setpc_b64 || row.opcode == Opcode::s_swappc_b64)
        return true;
    return row.wait || row.relative;
}

bool is_memory(const InstructionInfo& row) { return row.format == Format::SMEM || row.format >= Format::DS; }

// Scalar loads have no kind of their own in the table.
bool is_scalar_load(const InstructionInfo& row) { return row.format == Format::SMEM && row.sources != 0; }

bool is_plain_load(const Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    const CachePolicy& cache = instruction.address.cache;
    if (cache.glc || cache.scope != 0 || instruction.address.lds) return false;
    return row.memory == MemoryKind::load || is_scalar_load(row);
}

}  // namespace

bool DependenceFinder::is_fence(size_t number) const {
    const Line& line = program_.lines[number];
    const InstructionInfo& row = info(line.instruction.opcode);
    if (line.drain != CounterSet{} || line.target || row.format == Format::SOPP) return true;
    if (has_hidden_state(row)) return true;
    // Caches are written back or thrown away; the clock is read.
    if (is_memory(row) && row.memory == MemoryKind::none && !(is_scalar_load(row) && row.destinations != 0)) {
        const bool moves_lanes = row.format == Format::DS && row.destinations != 0;  // swizzle, permute
        if (!moves_lanes) return true;
    }
    return hardware_[number].writes_any({Operand::kExec, 2});
}

DependenceFinder::DependenceFinder(const Program& program, const std::vector<VirtualRegister>& registers)
    : program_(program), registers_(registers) {
    uint32_t next = kHardwareCodes;
    for (const VirtualRegister& reg : registers) {
        first_resource_.push_back(reg.fixed ? *reg.fixed : next);
        if (!reg.fixed) next += reg.dwords;
    }
    resources_.resize(next);
    hardware_.reserve(program.lines.size());
    for (const Line& line : program.lines)
        hardware_.push_back(effects(program.target, program.wave_size, without_virtual_registers(line)));
}

const std::vector<Dependence>& DependenceFinder::find(size_t begin, size_t end) {
    found_.clear();
    for (size_t i = begin; i < end; ++i) {
        const auto number = static_cast<uint32_t>(i - begin);
        const Line& line = program_.lines[i];
        add_registers(number, i);
        const Format format = info(line.instruction.opcode).format;
        const bool touches_lds = format == Format::DS || format == Format::FLAT || line.instruction.address.lds;
        if (touches_lds) add_memory(number, line.instruction, lds_);
        if (format == Format::SMEM || format >= Format::FLAT) add_memory(number, line.instruction, rest_);
    }
    for (const uint32_t resource : touched_) {  // whose room is kept
        resources_[resource].writer = kNone;
        resources_[resource].readers.clear();
    }
    touched_.clear();
    lds_ = rest_ = {};
    return found_;
}

void DependenceFinder::add_registers(uint32_t number, size_t at) {
    const Line& line = program_.lines[at];
    const SlotEffects slots = slots_of(program_, line);
    const Effects& hardware = hardware_[at];
    for (const SlotEffect& effect : slots)
        if (const RegisterPart part = line.parts[effect.slot]; part.exists() && effect.reads)
            for (uint32_t dword = 0; dword < part.dwords; ++dword) read(number, resource_of(part, dword));
    for (const RegisterRange range : hardware.reads)
        for (uint32_t dword = 0; dword < range.count; ++dword) read(number, range.first + dword);
    for (const SlotEffect& effect : slots)
        if (const RegisterPart part = line.parts[effect.slot]; part.exists() && effect.writes)
            for (uint32_t dword = 0; dword < part.dwords; ++dword) write(number, resource_of(part, dword));
    for (const RegisterRange range : hardware.writes)
        for (uint32_t dword = 0; dword < range.count; ++dword) write(number, range.first + dword);
}

void DependenceFinder::add_memory(uint32_t number, const Instruction& instruction, Memory& memory) {
    if (memory.last_write != kNone) depend(memory.last_write, number, false);
    if (is_plain_load(instruction)) {
        memory.reads.push_back(number);
        return;
    }
    for (const uint32_t read : memory.reads) depend(read, number, false);
    memory = {number, {}};
}

void DependenceFinder::read(uint32_t number, uint32_t resource) {
    Resource& state = touched(resource);
    if (state.writer != kNone) depend(state.writer, number, true);
    if (state.readers.empty() || state.readers.back() != number) state.readers.push_back(number);
}

void DependenceFinder::write(uint32_t number, uint32_t resource) {
    Resource& state = touched(resource);
    if (state.writer != kNone) depend(state.writer, number, false);
    for (const uint32_t reader : state.readers) depend(reader, number, false);
    state.readers.clear();
    state.writer = number;
}

void DependenceFinder::depend(uint32_t before, uint32_t after, bool carries_value) {
    if (before == after) return;
    if (!found_.empty() && found_.back().before == before && found_.back().after == after) {
        found_.back().carries_value |= carries_value;
        return;
    }
    found_.push_back({before, after, carries_value});
}

uint32_t DependenceFinder::resource_of(RegisterPart part, uint32_t dword) const {
    return first_resource_[part.id] + part.first + dword;
}

DependenceFinder::Resource& DependenceFinder::touched(uint32_t resource) {
    Resource& state = resources_[resource];
    if (state.writer == kNone && state.readers.empty()) touched_.push_back(resource);
    return state;
}

}  // namespace riftjit::rdna
