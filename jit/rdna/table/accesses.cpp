#include "jit/rdna/table/accesses.h"

#include <algorithm>

#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

class AccessList {
public:
    AccessList(Generation generation, WaveSize wave, const Instruction& instruction)
        : generation_(generation), wave_(wave), instruction_(instruction), row_(info(instruction.opcode)) {}

    Accesses build() {
        if (instruction_.encoding == Encoding::vopd) {
            for (const VopdHalf& half : instruction_.dual) add_half(half);
        } else {
            for (unsigned i = 0; i < row_.destinations; ++i) add_destination(i);
            for (unsigned i = row_.destinations; i < row_.destinations + unsigned{row_.sources}; ++i) add_source(i);
            if (is_memory(row_.format)) add_address();
        }
        add_implied();
        return list_;
    }

private:
    bool is_register(Operand operand) const {
        if (!operand.exists() || operand == null_register(generation_)) return false;
        return operand.is_vgpr() || operand.is_scalar_register() || operand.code == Operand::kScc;
    }
    void add(unsigned slot, Operand operand, unsigned dwords, Access access) {
        if (!is_register(operand) || dwords == 0) return;
        access.slot = static_cast<uint8_t>(slot);
        access.range = {operand.code, static_cast<uint16_t>(dwords)};
        list_.push_back(access);
    }
    static Access read(AccessRole role = AccessRole::data) {
        Access access;
        access.role = role;
        access.reads = true;
        return access;
    }
    static Access write() {
        Access access;
        access.writes = true;
        return access;
    }

    unsigned mask_words() const { return wave_ == WaveSize::wave64 ? 2 : 1; }

    // The short forms name vcc, and v_cmpx exec, without a field for it.
    static Operand named(Operand operand, OperandType type) {
        if (operand.exists()) return operand;
        if (type == OperandType::mask) return {Operand::kVcc};
        if (type == OperandType::exec) return {Operand::kExec};
        return operand;
    }

    bool keeps_part() const {
        if (row_.half_register) return true;
        if (row_.wmma) return (instruction_.op_sel & 4u) != 0;  // gfx11, f16 and bf16: the sums are the upper halves
        // op_sel[3]: the upper half is written.
        if (is_valu(row_.format) && row_.format != Format::VOP3P && (instruction_.op_sel & 8u) != 0) return true;
        if (is_dpp16(instruction_.encoding)) {
            const Dpp& dpp = instruction_.dpp;
            return !dpp.bound_control || dpp.row_mask != 15 || dpp.bank_mask != 15;
        }
        constexpr unsigned kPreserve = 2;
        return instruction_.encoding == Encoding::sdwa && instruction_.sdwa.destination_unused == kPreserve;
    }

    void add_destination(unsigned i) {
        unsigned slot = i;
        const bool is_buffer_atomic = row_.format == Format::MUBUF && row_.memory == MemoryKind::atomic;
        if (is_buffer_atomic) {  // one register for the data and the old value
            if (!returns_value(generation_, instruction_)) return;
            slot = row_.destinations + row_.sources - 1u;
        }
        Access access = write();
        access.reads = row_.operands[i].reads;
        access.keeps = keeps_part();
        add(slot, named(instruction_.operands[slot], row_.operands[i].type),
            row_.operands[i].size(wave_) + (instruction_.address.tfe ? 1u : 0u), access);
    }

    void add_source(unsigned i) {
        const OperandInfo& described = row_.operands[i];
        if (described.type == OperandType::addr) return;
        // With bound_ctrl (op_sel[1]) no lane of the destination keeps its old value.
        if (described.tied && row_.permlane && (instruction_.op_sel & 2u) != 0) return;
        const Operand operand = described.tied ? instruction_.operands[0] : instruction_.operands[i];
        const bool is_mask = described.type == OperandType::mask;
        add(i, named(operand, described.type), described.size(wave_),
            read(is_mask ? AccessRole::lane_mask : AccessRole::data));
    }

    void add_address() {
        const Address& address = instruction_.address;
        const Access access = read(AccessRole::address);
        add(kSlotVaddr, address.vaddr, vaddr_dwords(row_, address),
            row_.address_holds_data ? read(AccessRole::data) : access);
        const bool is_resource = std::ranges::any_of(
            row_.source_operands(), [](const OperandInfo& operand) { return operand.type == OperandType::rsrc; });
        add(kSlotSaddr, address.saddr, row_.format == Format::SCRATCH ? 1 : is_resource ? 4 : 2, access);
        add(kSlotSoffset, address.soffset, 1, access);
        add(kSlotResource, address.resource, 4, access);
    }

    void add_half(const VopdHalf& half) {
        const InstructionInfo& row = info(half.opcode);
        Access result = write();
        result.reads = row.operands[0].reads;
        add(kNoSlot, half.operands[0], 1, result);
        for (unsigned i = 1; i < half.operands.size(); ++i) add(kNoSlot, half.operands[i], 1, read());
        if (reads_lane_mask(row)) add(kNoSlot, {Operand::kVcc}, mask_words(), read(AccessRole::lane_mask));
    }

    void add_implied() {
        const Operand scc{Operand::kScc}, vcc{Operand::kVcc}, exec{Operand::kExec};
        if (row_.reads_scc) add(kNoSlot, scc, 1, read());
        if (row_.writes_scc) add(kNoSlot, scc, 1, write());
        if (row_.reads_vcc)
            add(kNoSlot, vcc, mask_words(), read(is_valu(row_.format) ? AccessRole::lane_mask : AccessRole::data));
        const bool uses_lanes = is_valu(row_.format) || row_.format >= Format::DS;
        // s_and_saveexec_b64 and its kin take both words in waves of 32 lanes too.
        const unsigned exec_words = row_.format == Format::SOP1 ? row_.operands[0].dwords : mask_words();
        if (row_.reads_exec || uses_lanes)
            add(kNoSlot, exec, exec_words, read(row_.reads_exec ? AccessRole::data : AccessRole::lane_enable));
        if (row_.writes_exec) add(kNoSlot, exec, exec_words, write());
        if (row_.reads_m0) add(kNoSlot, m0_register(generation_), 1, read());
    }

    const Generation generation_;
    const WaveSize wave_;
    const Instruction& instruction_;
    const InstructionInfo& row_;
    Accesses list_;
};

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

Accesses accesses(Generation generation, WaveSize wave, const Instruction& instruction) {
    return AccessList(generation, wave, instruction).build();
}

bool returns_old_value(Generation generation, const InstructionInfo& row, const CachePolicy& cache) {
    if (row.format == Format::DS) return row.destinations != 0;
    return generation == Generation::gfx12 ? (cache.temporal_hint & 1) != 0 : cache.glc;
}

bool returns_value(Generation generation, const Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    if (row.destinations == 0 || instruction.address.lds) return false;
    return row.memory != MemoryKind::atomic || returns_old_value(generation, row, instruction.address.cache);
}

bool reads_lane_mask(const InstructionInfo& row) {
    const auto is_mask = [](const OperandInfo& operand) { return operand.type == OperandType::mask; };
    return is_valu(row.format) && (row.reads_vcc || std::ranges::any_of(row.source_operands(), is_mask));
}

bool reads_across_lanes(const Instruction& instruction) {
    return is_dpp8(instruction.encoding) || is_dpp16(instruction.encoding) || info(instruction.opcode).cross_lane;
}

}  // namespace riftjit::rdna
