#include "jit/rdna/emulator/checks/footprint.h"

#include <algorithm>
#include <bit>
#include <span>

namespace riftjit::rdna::emulator {

RegisterSet RegisterSet::operator&(const RegisterSet& other) const {
    RegisterSet both;
    for (size_t i = 0; i < vgprs.size(); ++i) both.vgprs[i] = vgprs[i] & other.vgprs[i];
    for (size_t i = 0; i < scalars.size(); ++i) both.scalars[i] = scalars[i] & other.scalars[i];
    return both;
}

RegisterSet RegisterSet::operator|(const RegisterSet& other) const {
    RegisterSet either;
    for (size_t i = 0; i < vgprs.size(); ++i) either.vgprs[i] = vgprs[i] | other.vgprs[i];
    for (size_t i = 0; i < scalars.size(); ++i) either.scalars[i] = scalars[i] | other.scalars[i];
    return either;
}

unsigned RegisterSet::vgpr_end() const {
    for (unsigned i = 4; i-- > 0;)
        if (vgprs[i]) return i * 64 + 64 - static_cast<unsigned>(std::countl_zero(vgprs[i]));
    return 0;
}

unsigned RegisterSet::sgpr_end() const {
    const uint64_t high = scalars[1] & ((uint64_t{1} << (106 - 64)) - 1);
    if (high) return 128 - static_cast<unsigned>(std::countl_zero(high));
    return 64 - static_cast<unsigned>(std::countl_zero(scalars[0]));
}

int RegisterSet::first_vgpr() const {
    for (unsigned i = 0; i < 4; ++i)
        if (vgprs[i]) return static_cast<int>(i * 64) + std::countr_zero(vgprs[i]);
    return -1;
}

int RegisterSet::first_scalar() const {
    for (unsigned i = 0; i < 2; ++i)
        if (scalars[i]) return static_cast<int>(i * 64) + std::countr_zero(scalars[i]);
    return -1;
}

OperandRange range_of(const Operand& operand, unsigned dwords) {
    if (!operand.exists() || dwords == 0) return {};
    if (operand.is_vgpr()) return {false, static_cast<uint16_t>(operand.vgpr()), static_cast<uint8_t>(dwords)};
    if (operand.is_scalar_register()) return {true, operand.code, static_cast<uint8_t>(dwords)};
    return {};
}

bool accumulates(Opcode opcode) {
    switch (opcode) {
        case Opcode::v_fmac_f32:
        case Opcode::v_fmac_f16:
        case Opcode::v_pk_fmac_f16:
        case Opcode::v_fmac_dx9_zero_f32:
        case Opcode::v_dot2acc_f32_f16:
        case Opcode::v_dot4c_i32_i8:
        case Opcode::s_fmac_f32:
        case Opcode::s_fmac_f16:
        case Opcode::s_addk_co_i32:
        case Opcode::s_mulk_i32:
        case Opcode::s_cmovk_i32:
        case Opcode::s_cmov_b32:
        case Opcode::s_cmov_b64:
        case Opcode::s_bitset0_b32:
        case Opcode::s_bitset0_b64:
        case Opcode::s_bitset1_b32:
        case Opcode::s_bitset1_b64:
        case Opcode::s_subvector_loop_end:
            return true;
        default:
            return false;
    }
}

bool returns_value(const Instruction& instruction, Generation generation) {
    const InstructionInfo& row = info(instruction.opcode);
    if (row.format == Format::DS || row.memory != MemoryKind::atomic) return row.destinations > 0;
    const CachePolicy& cache = instruction.address.cache;
    return generation == Generation::gfx12 ? (cache.temporal_hint & 1) != 0 : cache.glc;
}

Operand destination_of(const Instruction& instruction, Generation generation) {
    const InstructionInfo& row = info(instruction.opcode);
    const bool is_buffer_atomic = row.format == Format::MUBUF && row.memory == MemoryKind::atomic;
    if (!is_buffer_atomic) return instruction.destination();
    return returns_value(instruction, generation) ? instruction.source(row.sources - 1u) : Operand{};
}

namespace {

class Tracer {
public:
    Tracer(const Instruction& instruction, Target target, WaveSize wave)
        : instruction_(instruction), row_(info(instruction.opcode)), generation_(generation(target)), wave_(wave) {}

    Footprint trace() {
        if (instruction_.encoding == Encoding::vopd) {
            trace_dual();
        } else {
            trace_operands();
            trace_implicit();
            if (is_memory()) trace_address();
        }
        return result_;
    }

private:
    bool is_memory() const { return row_.format >= Format::DS || row_.format == Format::SMEM; }
    bool is_valu() const { return row_.format >= Format::VOP1 && row_.format <= Format::VOP3P; }

    void add(RegisterSet& set, const Operand& operand, unsigned dwords) {
        if (operand == null_register(generation_)) return;
        const OperandRange range = range_of(operand, dwords);
        if (range.first + unsigned{range.count} > (range.scalar ? 128u : 256u)) result_.leaves_file = true;
        if (range.scalar)
            set.add_scalars(range.first, range.count);
        else
            set.add_vgprs(range.first, range.count);
    }
    void read(const Operand& operand, unsigned dwords) {
        if (operand.code == Operand::kScc) result_.reads_scc = true;
        if (operand.is_literal()) result_.literal = true;
        add(result_.reads, operand, dwords);
        note_vgpr_source(range_of(operand, dwords));
    }
    void note_vgpr_source(const OperandRange& range) {
        const auto known = std::span(result_.vgpr_sources).first(result_.vgpr_operands);
        const bool is_known = std::ranges::any_of(
            known, [&](const OperandRange& one) { return one.first == range.first && one.count == range.count; });
        if (range.scalar || range.count == 0 || is_known || known.size() == result_.vgpr_sources.size()) return;
        result_.vgpr_sources[result_.vgpr_operands++] = range;
    }

    unsigned mask_dwords() const { return wave_ == WaveSize::wave64 ? 2 : 1; }

    void trace_operands() {
        for (unsigned i = 0; i < row_.destinations; ++i) {
            const OperandInfo& operand = row_.operands[i];
            const bool is_unused_result =
                i == 0 && is_memory() && row_.memory == MemoryKind::atomic && !returns_value(instruction_, generation_);
            if (is_unused_result) continue;
            const unsigned dwords = operand.size(wave_) + (instruction_.address.tfe ? 1 : 0);
            const Operand destination = i == 0 ? destination_of(instruction_, generation_) : instruction_.operands[i];
            add(result_.writes, mask_or(destination, operand), dwords);
            if (i == 0 && accumulates(instruction_.opcode)) add(result_.reads, instruction_.operands[i], dwords);
        }
        for (unsigned i = row_.destinations; i < row_.destinations + row_.sources; ++i) trace_source(i);
    }

    // The short forms name vcc, and v_cmpx exec, without a field for it.
    static Operand mask_or(const Operand& operand, const OperandInfo& described) {
        if (operand.exists()) return operand;
        if (described.type == OperandType::mask) return {Operand::kVcc};
        if (described.type == OperandType::exec) return {Operand::kExec};
        return operand;
    }

    void trace_source(unsigned i) {
        const OperandInfo& described = row_.operands[i];
        Operand operand = mask_or(instruction_.operands[i], described);
        if (described.type == OperandType::mask) {
            read(operand, mask_dwords());
            add(result_.lane_mask, operand, mask_dwords());
            return;
        }
        const bool is_tied = !operand.exists() && described.dwords > 0 && is_valu() && row_.destinations > 0;
        if (is_tied) operand = instruction_.operands[0];
        read(operand, described.size(wave_));
    }

    void trace_implicit() {
        if (row_.reads_scc) result_.reads_scc = true;
        if (row_.writes_scc) result_.writes_scc = true;
        const bool names_vcc = is_valu() && row_.reads_vcc && has_mask_operand();
        if (row_.reads_vcc && !names_vcc) {
            result_.reads.add_scalars(Operand::kVcc, mask_dwords());
            if (is_valu()) result_.lane_mask.add_scalars(Operand::kVcc, mask_dwords());
        }
        const bool short_form = instruction_.encoding != Encoding::e64 &&
                                instruction_.encoding != Encoding::e64_dpp16 &&
                                instruction_.encoding != Encoding::e64_dpp8;
        if (row_.writes_vcc && short_form) result_.writes.add_scalars(Operand::kVcc, mask_dwords());
        if (row_.reads_exec) result_.reads.add_scalars(Operand::kExec, mask_dwords());
        if (row_.writes_exec) result_.writes.add_scalars(Operand::kExec, mask_dwords());
        if (row_.reads_m0) result_.reads.add_scalars(m0_register(generation_).code, 1);
    }

    bool has_mask_operand() const {
        for (const OperandInfo& operand : row_.source_operands())
            if (operand.type == OperandType::mask) return true;
        return false;
    }

    void trace_address() {
        const Address& address = instruction_.address;
        const Format format = row_.format;
        unsigned vaddr = 1;
        if (format == Format::FLAT) vaddr = 2;
        if (format == Format::GLOBAL) vaddr = has_scalar_base() ? 1 : 2;
        if (format == Format::MUBUF) vaddr = (address.offset_enable ? 1u : 0u) + (address.index_enable ? 1u : 0u);
        if (format == Format::SCRATCH && generation_ != Generation::gfx10 && !address.vaddr_enable) vaddr = 0;
        const bool is_value = instruction_.opcode == Opcode::ds_swizzle_b32;  // that lanes exchange
        if (has_address_operand()) add(is_value ? result_.reads : result_.address, address.vaddr, vaddr);
        const unsigned base = format == Format::SCRATCH ? 1 : has_operand(OperandType::rsrc) ? 4 : 2;
        if (address.saddr.exists() && (format != Format::SCRATCH || has_scalar_base()))
            add(result_.address, address.saddr, base);
        add(result_.address, address.soffset, 1);
        add(result_.address, address.resource, 4);
        result_.reads = result_.reads | result_.address;
    }
    bool has_scalar_base() const {
        const Operand& saddr = instruction_.address.saddr;
        return saddr.exists() && saddr != null_register(generation_);
    }
    bool has_operand(OperandType type) const {
        for (const OperandInfo& operand : row_.source_operands())
            if (operand.type == type) return true;
        return false;
    }
    bool has_address_operand() const { return has_operand(OperandType::addr); }

    void trace_dual() {
        for (const VopdHalf& half : instruction_.dual) {
            add(result_.writes, half.operands[0], 1);
            read(half.operands[1], 1);
            read(half.operands[2], 1);
            if (accumulates(half.opcode)) add(result_.reads, half.operands[0], 1);
            if (half.opcode == Opcode::v_cndmask_b32) {
                result_.reads.add_scalars(Operand::kVcc, mask_dwords());
                result_.lane_mask.add_scalars(Operand::kVcc, mask_dwords());
            }
            if (half.opcode == Opcode::v_fmaak_f32 || half.opcode == Opcode::v_fmamk_f32) {
                result_.literal = true;
                if (half.operands[3].is_vgpr()) read(half.operands[3], 1);
            }
        }
    }

    const Instruction& instruction_;
    const InstructionInfo& row_;
    Generation generation_;
    WaveSize wave_;
    Footprint result_;
};

}  // namespace

Footprint footprint(const Instruction& instruction, Target target, WaveSize wave) {
    return Tracer(instruction, target, wave).trace();
}

}  // namespace riftjit::rdna::emulator
