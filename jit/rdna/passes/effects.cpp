#include "jit/rdna/passes/effects.h"

#include <algorithm>
#include <string_view>

#include "host/result.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

void add(SlotEffects& effects, unsigned slot, unsigned dwords, bool reads, bool writes) {
    if (dwords != 0) effects.push_back({static_cast<uint8_t>(slot), static_cast<uint8_t>(dwords), reads, writes});
}

void add_address(SlotEffects& effects, const InstructionInfo& row, const Address& address) {
    if (address.vaddr.exists()) add(effects, kSlotVaddr, vaddr_dwords(row, address), true, false);
    if (address.saddr.exists()) {
        const bool is_resource = std::ranges::any_of(
            row.source_operands(), [](const OperandInfo& operand) { return operand.type == OperandType::rsrc; });
        add(effects, kSlotSaddr, row.format == Format::SCRATCH ? 1 : is_resource ? 4 : 2, true, false);
    }
    if (address.soffset.exists()) add(effects, kSlotSoffset, 1, true, false);
    if (address.resource.exists()) add(effects, kSlotResource, 4, true, false);
}

bool has_address(const InstructionInfo& row) { return row.format == Format::SMEM || row.format >= Format::DS; }

bool is_accumulator(Opcode opcode) {
    switch (opcode) {
        case Opcode::v_fmac_f32:
        case Opcode::v_fmac_f16:
        case Opcode::v_fmac_dx9_zero_f32:
        case Opcode::v_pk_fmac_f16:
        case Opcode::v_dot2acc_f32_f16:
        case Opcode::v_dot4c_i32_i8:
        case Opcode::s_cmov_b32:
        case Opcode::s_cmov_b64:
        case Opcode::s_cmovk_i32:
        case Opcode::s_addk_co_i32:
        case Opcode::s_mulk_i32:
            return true;
        default:
            return false;
    }
}

// Whether the operand is a register at all, not a constant or the null register.
bool is_register(Generation generation, Operand operand) {
    if (!operand.exists() || operand == null_register(generation)) return false;
    return operand.is_vgpr() || operand.is_scalar_register() || operand.code == Operand::kScc;
}

void add_dual(Effects& effects, WaveSize wave, const Instruction& instruction, Generation generation) {
    for (const VopdHalf& half : instruction.dual) {
        const InstructionInfo& row = info(half.opcode);
        effects.writes.push_back({half.operands[0].code, 1});
        if (is_accumulator(half.opcode)) effects.reads.push_back({half.operands[0].code, 1});
        for (unsigned i = 1; i < 4; ++i)
            if (is_register(generation, half.operands[i])) effects.reads.push_back({half.operands[i].code, 1});
        if (row.reads_vcc)
            effects.reads.push_back({Operand::kVcc, static_cast<uint16_t>(wave == WaveSize::wave32 ? 1 : 2)});
    }
}

void add_implicit(Effects& effects, Target target, WaveSize wave, const InstructionInfo& row) {
    const auto mask_words = static_cast<uint16_t>(wave == WaveSize::wave32 ? 1 : 2);
    if (row.reads_scc) effects.reads.push_back({Operand::kScc, 1});
    if (row.writes_scc) effects.writes.push_back({Operand::kScc, 1});
    if (row.reads_vcc && row.format != Format::VOP2) effects.reads.push_back({Operand::kVcc, mask_words});
    const bool uses_lanes = is_valu(row.format) || row.format >= Format::DS;
    if (row.reads_exec || uses_lanes) effects.reads.push_back({Operand::kExec, mask_words});
    if (row.writes_exec) effects.writes.push_back({Operand::kExec, mask_words});
    if (row.reads_m0) effects.reads.push_back({m0_register(generation(target)).code, 1});
}

}  // namespace

const Operand& slot_operand(const Instruction& instruction, unsigned slot) {
    switch (slot) {
        case kSlotVaddr:
            return instruction.address.vaddr;
        case kSlotSaddr:
            return instruction.address.saddr;
        case kSlotSoffset:
            return instruction.address.soffset;
        case kSlotResource:
            return instruction.address.resource;
        default:
            return instruction.operands[slot];
    }
}

Operand& slot_operand(Instruction& instruction, unsigned slot) {
    return const_cast<Operand&>(slot_operand(static_cast<const Instruction&>(instruction), slot));
}

std::optional<unsigned> tied_source(Opcode opcode) {
    const InstructionInfo& row = info(opcode);
    for (unsigned i = 0; i < row.sources; ++i)
        if (is_tied(row, i)) return row.destinations + i;
    return std::nullopt;
}

bool reads_destination(const Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    if (is_accumulator(instruction.opcode) || row.half_register) return true;
    if (is_valu(row.format) && row.format != Format::VOP3P && (instruction.op_sel & 8u) != 0) return true;
    if (is_dpp16(instruction.encoding)) {
        const Dpp& dpp = instruction.dpp;
        return !dpp.bound_control || dpp.row_mask != 15 || dpp.bank_mask != 15;
    }
    // 2: the unselected bits are kept.
    return instruction.encoding == Encoding::sdwa && instruction.sdwa.destination_unused == 2;
}

SlotEffects slot_effects(WaveSize wave, const Instruction& instruction) {
    SlotEffects effects;
    const InstructionInfo& row = info(instruction.opcode);
    const bool keeps = reads_destination(instruction);
    for (unsigned i = 0; i < row.destinations; ++i)
        if (instruction.operands[i].exists()) add(effects, i, row.operands[i].size(wave), keeps, true);
    for (unsigned i = row.destinations; i < row.destinations + row.sources; ++i) {
        // With bound_ctrl (op_sel[1]) no lane of the destination keeps its old value.
        const bool is_dead = is_permlane16(row) && is_tied(row, i - row.destinations) && (instruction.op_sel & 2u) != 0;
        if (instruction.operands[i].exists() && row.operands[i].type != OperandType::addr && !is_dead)
            add(effects, i, row.operands[i].size(wave), true, false);
    }
    if (has_address(row)) add_address(effects, row, instruction.address);
    return effects;
}

bool Effects::reads_any(RegisterRange range) const {
    return std::ranges::any_of(reads, [&](RegisterRange read) { return read.overlaps(range); });
}
bool Effects::writes_any(RegisterRange range) const {
    return std::ranges::any_of(writes, [&](RegisterRange write) { return write.overlaps(range); });
}

Effects effects(Target target, WaveSize wave, const Instruction& instruction) {
    Effects effects;
    const Generation generation = rdna::generation(target);
    if (instruction.encoding == Encoding::vopd) {
        add_dual(effects, wave, instruction, generation);
    } else {
        for (const SlotEffect& effect : slot_effects(wave, instruction)) {
            const Operand operand = slot_operand(instruction, effect.slot);
            if (!is_register(generation, operand)) continue;
            const RegisterRange range{operand.code, effect.dwords};
            if (effect.reads) effects.reads.push_back(range);
            if (effect.writes) effects.writes.push_back(range);
        }
    }
    add_implicit(effects, target, wave, info(instruction.opcode));
    return effects;
}

bool is_salu(Format format) {
    return format == Format::SOP1 || format == Format::SOP2 || format == Format::SOPC || format == Format::SOPK ||
           format == Format::SOPP;
}

bool is_valu(Format format) {
    return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC || format == Format::VOP3 ||
           format == Format::VOP3P;
}

bool is_vector_memory(Format format) {
    return format == Format::FLAT || format == Format::GLOBAL || format == Format::SCRATCH || format == Format::MUBUF;
}

bool is_wmma(Opcode opcode) {
    const std::string_view name = info(opcode).name;
    return name.starts_with("v_wmma") || name.starts_with("v_swmmac");
}

bool is_branch(Opcode opcode) {
    const InstructionInfo& row = info(opcode);
    return row.format == Format::SOPP && row.sources == 1 && row.operands[0].type == OperandType::label;
}

bool ends_wave(Opcode opcode) { return opcode == Opcode::s_endpgm; }

MemoryEvents memory_events(Generation generation, const Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    const bool has_result = row.destinations != 0 && instruction.operands[0].exists();
    switch (row.format) {
        case Format::SMEM:
            if (row.destinations == 0 && row.sources != 0) return {};  // prefetches and probes
            return {{generation == Generation::gfx12 ? Counter::km : Counter::ds}, false};
        case Format::DS:
            return {{Counter::ds}, true};
        case Format::FLAT:  // its loads take their turn in both counters on every chip after gfx9
            return {has_result ? CounterSet{Counter::load, Counter::ds} : CounterSet{Counter::store, Counter::ds},
                    true};
        case Format::GLOBAL:
        case Format::SCRATCH:
        case Format::MUBUF:
            if (instruction.opcode == Opcode::global_wb || instruction.opcode == Opcode::global_wbinv)
                return {{Counter::store}, true};
            if (row.memory == MemoryKind::none) return {};  // invalidates: no result to wait for
            // A load into LDS has no destination either.
            return {
                has_result || row.memory == MemoryKind::load ? CounterSet{Counter::load} : CounterSet{Counter::store},
                true};
        default:
            return {};
    }
}

void insert_before(Program& program, size_t at, const Instruction& instruction, Origin origin) {
    Line line;
    line.instruction = instruction;
    line.origin = origin;
    line.labels = std::move(program.lines[at].labels);
    program.lines[at].labels.clear();
    program.lines.insert(program.lines.begin() + static_cast<ptrdiff_t>(at), std::move(line));
}

}  // namespace riftjit::rdna
