// Prepares memory instructions: everything about them that register contents do not decide.
#include <deque>

#include "jit/rdna/emulator/memory/vmem.h"

namespace riftjit::rdna::emulator {

using namespace memory;

struct MemoryUnit::Impl {
    Target target;
    WaveSize wave_size;
    std::deque<MemoryOp> ops;
};

MemoryUnit::MemoryUnit(Target target, WaveSize wave_size)
    : impl_(std::make_unique<Impl>(Impl{target, wave_size, {}})) {}
MemoryUnit::~MemoryUnit() = default;

namespace {

MemoryScalar scalar(const Operand& operand, Generation generation, const Instruction& instruction) {
    using Kind = MemoryScalar::Kind;
    if (!operand.exists() || operand == null_register(generation)) return {};
    if (operand.is_scalar_register()) return {Kind::registers, operand.code, 0};
    if (operand.is_literal()) return {Kind::constant, 0, instruction.literal};
    if (operand.code >= 128 && operand.code <= 192) return {Kind::constant, 0, operand.code - 128u};
    if (operand.code >= 193 && operand.code <= 208)
        return {Kind::constant, 0, static_cast<uint32_t>(192 - static_cast<int32_t>(operand.code))};
    constexpr uint32_t kFloats[] = {0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000,
                                    0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983};
    if (operand.code >= 240 && operand.code <= 248) return {Kind::constant, 0, kFloats[operand.code - 240]};
    return {};
}

// Facts: cache policy per generation.
CachePath cache_path(const MemoryOp& op, const CachePolicy& policy) {
    constexpr uint8_t kShaderEngine = 1, kDevice = 2;
    const bool stores = op.shape.action == MemoryAction::store;
    CachePath path;
    switch (op.generation) {
        case Generation::gfx10:
            path = {.l0 = !policy.glc, .l1 = !policy.dlc, .atomic = !stores && policy.glc};
            break;
        case Generation::gfx11:  // dlc on a store: volatile
            path = {.l0 = !policy.glc, .l1 = !policy.glc, .atomic = stores ? policy.dlc : policy.glc};
            break;
        case Generation::gfx12:
            path = {.l0 = policy.scope < kShaderEngine,
                    .l1 = policy.scope < kDevice,
                    .atomic = policy.scope >= kShaderEngine,
                    .scope = policy.scope};
            break;
    }
    return path;
}

bool atomic_returns(const MemoryOp& op, const CachePolicy& policy) {
    if (op.shape.action != MemoryAction::atomic) return false;
    if (op.format == Format::DS) return op.shape.returns;
    return op.generation == Generation::gfx12 ? (policy.temporal_hint & 1) != 0 : policy.glc;
}

memory::Counter counter_of(const MemoryOp& op) {
    if (op.format == Format::SMEM) return memory::Counter::scalar;
    if (op.format == Format::DS) return memory::Counter::lds;
    const bool stores =
        op.shape.action == MemoryAction::store || (op.shape.action == MemoryAction::atomic && !op.returns);
    return stores ? memory::Counter::store : memory::Counter::load;
}

void set_data_registers(MemoryOp& op, const InstructionInfo& row, const Instruction& instruction) {
    size_t next = 0;
    for (unsigned i = 0; i < row.sources && next < op.data.size(); ++i) {
        const OperandType type = row.source_operands()[i].type;
        if (type == OperandType::addr || type == OperandType::base || type == OperandType::rsrc) continue;
        if (instruction.source(i).is_vgpr()) op.data[next++] = static_cast<uint16_t>(instruction.source(i).vgpr());
    }
}

void set_address(MemoryOp& op, const Instruction& instruction) {
    const Address& address = instruction.address;
    if (address.vaddr.is_vgpr()) op.vaddr = static_cast<uint16_t>(address.vaddr.vgpr());
    op.saddr = scalar(address.saddr, op.generation, instruction);
    op.soffset = scalar(address.soffset, op.generation, instruction);
    if (address.resource.exists()) op.resource = address.resource.code;
    if (op.format == Format::SMEM && address.saddr.exists()) op.resource = address.saddr.code;
    op.offset = address.offset;
    op.offset_enable = address.offset_enable;
    op.index_enable = address.index_enable;
    op.swizzle = static_cast<uint16_t>(address.offset);
    if (op.shape.elements == 2) {
        const uint32_t unit = uint32_t{op.shape.bytes} * op.shape.element_stride;
        op.element_offset = {static_cast<uint32_t>(address.offset) * unit, address.offset1 * unit};
    }
    if (op.format != Format::SCRATCH) return;
    // gfx10 says in saddr what is used: null, the address register alone; exec_hi, neither; else saddr alone.
    constexpr uint16_t kExecHigh = 127;
    const bool base_is_off = !address.saddr.exists() || address.saddr.code == kExecHigh;
    if (base_is_off) op.saddr = {};
    const bool uses_vaddr = op.generation == Generation::gfx10
                                ? address.saddr.exists() && address.saddr == null_register(op.generation)
                                : address.vaddr_enable;
    if (!uses_vaddr && !(op.generation == Generation::gfx10 && address.vaddr_enable)) op.vaddr = MemoryOp::kNoRegister;
}

MemoryFunction function_of(const MemoryOp& op) {
    switch (op.shape.action) {
        case MemoryAction::append:
        case MemoryAction::consume:
            return run_lds_counter;
        case MemoryAction::swizzle:
            return run_swizzle;
        case MemoryAction::permute:
            return run_permute;
        case MemoryAction::bpermute:
            return run_bpermute;
        case MemoryAction::scalar_load:
            return run_scalar_load;
        case MemoryAction::scalar_buffer_load:
            return run_scalar_buffer_load;
        case MemoryAction::clock:
            return run_clock;
        case MemoryAction::prefetch:
        case MemoryAction::nothing:
            return run_nothing;
        case MemoryAction::invalidate_l0:
        case MemoryAction::invalidate_l1:
        case MemoryAction::invalidate_scalar:
        case MemoryAction::invalidate_scope:
        case MemoryAction::write_back:
        case MemoryAction::write_back_invalidate:
            return run_cache_control;
        case MemoryAction::load:
        case MemoryAction::store:
        case MemoryAction::atomic:
            break;
    }
    switch (op.format) {
        case Format::DS:
            if (const MemoryFunction fast = fast_lds(op)) return fast;
            return run_lds;
        case Format::GLOBAL:
            if (const MemoryFunction fast = fast_global(op)) return fast;
            return run_global;
        case Format::FLAT:
            return run_flat;
        case Format::SCRATCH:
            return run_scratch;
        default:
            return run_buffer;
    }
}

}  // namespace

Result<MemoryCall> MemoryUnit::prepare(const Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    const Generation family = generation(impl_->target);
    const std::string_view mnemonic = rdna::mnemonic(instruction.opcode, family);
    if (const std::string_view why = why_not_executed(row); !why.empty())
        return fail(ErrorKind::Unsupported, "{}: not executed by the software machine: {}", mnemonic, why);
    const auto shape = memory_shape(row);
    if (!shape) return fail(ErrorKind::Unsupported, "{}: no memory instruction", mnemonic);
    if (instruction.address.gds) return fail(ErrorKind::Unsupported, "{} gds: there is no global data share", mnemonic);
    if (instruction.address.lds) return fail(ErrorKind::Unsupported, "{} lds: loads into LDS are left out", mnemonic);
    if (instruction.address.tfe) return fail(ErrorKind::Unsupported, "{} tfe: partial residency is left out", mnemonic);

    MemoryOp& op = impl_->ops.emplace_back();
    op.opcode = instruction.opcode;
    op.format = row.format;
    op.generation = family;
    op.shape = *shape;
    op.site = new_site();
    op.returns = atomic_returns(op, instruction.address.cache);
    op.counter = counter_of(op);
    op.path = cache_path(op, instruction.address.cache);
    if (op.shape.action == MemoryAction::append) op.shape.atomic = AtomicOp::add;
    if (op.shape.action == MemoryAction::consume) op.shape.atomic = AtomicOp::sub;
    if (op.shape.atomic != AtomicOp::none && op.format == Format::DS && op.shape.action != MemoryAction::atomic)
        op.returns = true;
    op.discards_result = row.destinations != 0 && instruction.destination() == null_register(family);
    set_data_registers(op, row, instruction);
    set_address(op, instruction);
    return MemoryCall{function_of(op), &op};
}

}  // namespace riftjit::rdna::emulator
