#include "jit/rdna/emit/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "jit/rdna/emit/assembler.h"
#include "jit/rdna/encode/constants.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/table/syntax.h"

namespace riftjit::rdna {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class LineBuilder {
public:
    LineBuilder(const EmitContext& context, Opcode opcode, std::initializer_list<Argument> arguments)
        : context_(context), row_(info(opcode)), generation_(generation(context.target)) {
        line_.instruction.opcode = opcode;
        if (!has(context.target, opcode)) fail("there is no such instruction");
        check(arguments.size() <= kMostArguments, "an instruction has fewer operands and options");
        for (const Argument& argument : arguments)
            if (!take_option(argument)) operands_.push_back(&argument);
    }

    Line build() {
        if (row_.format == Format::SMEM) {
            scalar_memory();
        } else if (row_.format >= Format::DS) {
            vector_memory();
        } else {
            for (unsigned i = 0; i < row_.destinations + row_.sources; ++i) alu_operand(i);
        }
        if (next_ != operands_.size()) fail(fmt::format("takes {} operands, {} are given", next_, operands_.size()));
        fill_tied_source();
        if (is_valu(row_.format)) choose_encoding();
        return std::move(line_);
    }

private:
    [[noreturn]] void fail(std::string_view why) const {
        throw AssemblyError(fmt::format("{}: instruction {}, {} on {}: {}", context_.kernel, context_.line, row_.name,
                                        name(context_.target), why));
    }
    [[noreturn]] void fail_operand(unsigned slot, std::string_view why) const {
        fail(fmt::format("operand {}: {}", slot, why));
    }

    bool take_option(const Argument& argument) {
        Instruction& instruction = line_.instruction;
        if (std::holds_alternative<Clamp>(argument.value)) return instruction.clamp = true;
        if (const auto* select = std::get_if<OpSel>(&argument.value)) {
            instruction.op_sel = select->low;
            instruction.op_sel_hi = select->high;
            return op_sel_given_ = true;
        }
        if (const auto* negate = std::get_if<Negate>(&argument.value)) {
            instruction.neg = negate->low;
            instruction.abs = negate->high;
            return true;
        }
        if (const auto* offset = std::get_if<ByteOffset>(&argument.value)) {
            instruction.address.offset = offset->bytes;
            return true;
        }
        if (const auto* offset = std::get_if<Offset1>(&argument.value)) {
            instruction.address.offset1 = offset->elements;
            return true;
        }
        if (const auto* dpp = std::get_if<Dpp>(&argument.value)) {
            instruction.dpp = *dpp;
            return dpp_given_ = true;
        }
        if (const auto* cache = std::get_if<CachePolicy>(&argument.value)) {
            instruction.address.cache = *cache;
            return true;
        }
        return false;
    }

    bool more() const { return next_ < operands_.size(); }
    const Argument& next(unsigned slot) {
        if (!more()) fail_operand(slot, "is missing");
        return *operands_[next_++];
    }
    template <class T>
    const T* peek() const {
        return more() ? std::get_if<T>(&operands_[next_]->value) : nullptr;
    }
    bool next_is_register(RegisterBank bank) const {
        return peek<RegisterPart>() != nullptr && operands_[next_]->bank == bank;
    }

    // --- operands of ALU formats
    void alu_operand(unsigned slot) {
        const OperandInfo& operand = row_.operands[slot];
        const bool is_source = slot >= row_.destinations;
        switch (operand.type) {
            case OperandType::exec:
                line_.instruction.operands[slot] = {Operand::kExec};
                return;
            case OperandType::simm16:
            case OperandType::hwreg:
                line_.instruction.simm16 = static_cast<uint16_t>(constant(slot, -32768, 65535));
                return;
            case OperandType::label:
                branch_target(slot);
                return;
            case OperandType::literal:
                line_.instruction.literal = static_cast<uint32_t>(constant(slot, INT32_MIN, UINT32_MAX));
                line_.instruction.has_literal = true;
                return;
            case OperandType::imm:
                line_.instruction.operands[slot] = {static_cast<uint16_t>(constant(slot, 0, 255))};
                return;
            default:
                if (operand.tied) return;
                value_operand(slot, next(slot), operand, is_source);
        }
    }

    int64_t constant(unsigned slot, int64_t min, int64_t max) {
        const auto* value = std::get_if<int64_t>(&next(slot).value);
        if (value == nullptr) fail_operand(slot, "must be an integer constant");
        if (*value < min || *value > max)
            fail_operand(slot, fmt::format("{} is not within {} to {}", *value, min, max));
        return *value;
    }

    void branch_target(unsigned slot) {
        const auto* label = std::get_if<Label>(&next(slot).value);
        if (label == nullptr) fail_operand(slot, "must be a label");
        line_.target = *label;
    }

    void value_operand(unsigned slot, const Argument& argument, const OperandInfo& operand, bool is_source) {
        if (is_source) set_modifiers(slot, argument);
        if (const auto* part = std::get_if<RegisterPart>(&argument.value)) {
            check_register(slot, *part, argument.bank, operand.size(context_.wave_size));
            check_bank(slot, argument.bank, operand, is_source);
            line_.parts[slot] = *part;
            // The number comes from the allocator; until then the bank decides the encoding.
            line_.instruction.operands[slot] = argument.bank == RegisterBank::vector ? vgpr(0)
                                               : *part == context_.vcc               ? Operand{Operand::kVcc}
                                                                                     : sgpr(0);
            return;
        }
        if (const auto* fixed = std::get_if<Operand>(&argument.value)) {
            line_.instruction.operands[slot] = *fixed;
            return;
        }
        if (!is_source) fail_operand(slot, "a destination must be a register");
        line_.instruction.operands[slot] = constant_operand(slot, argument, operand.type);
    }

    void set_modifiers(unsigned slot, const Argument& argument) {
        const unsigned source = slot - row_.destinations;
        if (argument.negated) line_.instruction.neg |= static_cast<uint8_t>(1u << source);
        if (argument.absolute) line_.instruction.abs |= static_cast<uint8_t>(1u << source);
    }

    void check_register(unsigned slot, RegisterPart part, RegisterBank bank, unsigned dwords) const {
        if (part.id >= context_.registers.size()) fail_operand(slot, "is no register of this kernel");
        const VirtualRegister& reg = context_.registers[part.id];
        if (reg.released) fail_operand(slot, describe(part, bank) + " is used after its release");
        if (part.first + part.dwords > reg.dwords)
            fail_operand(slot, fmt::format("{} has {} dwords; dwords {} to {} are asked for", describe(part, bank),
                                           reg.dwords, part.first, part.first + part.dwords - 1));
        if (dwords != 0 && part.dwords != dwords)
            fail_operand(slot, fmt::format("{} is {} dwords wide, the instruction takes {}", describe(part, bank),
                                           part.dwords, dwords));
    }

    std::string describe(RegisterPart part, RegisterBank bank) const {
        const VirtualRegister& reg = context_.registers[part.id];
        return fmt::format("the {} declared at {}:{}", bank == RegisterBank::vector ? "vgpr" : "sgpr",
                           file_name(reg.where.file_name()), reg.where.line());
    }

    void check_bank(unsigned slot, RegisterBank bank, const OperandInfo& operand, bool is_source) const {
        const bool is_vector = bank == RegisterBank::vector;
        if (!is_valu(row_.format)) {
            if (is_vector) fail_operand(slot, "a vgpr where only a scalar may stand");
            return;
        }
        const bool takes_scalar = operand.type == OperandType::mask || operand.registers == RegisterClass::sgpr;
        if (takes_scalar && is_vector) fail_operand(slot, "a vgpr where only a scalar may stand");
        const bool takes_vector = operand.registers == RegisterClass::vgpr || (!is_source && !takes_scalar);
        if (takes_vector && !is_vector) fail_operand(slot, "a scalar where only a vgpr may stand");
    }

    Operand constant_operand(unsigned slot, const Argument& argument, OperandType type) {
        std::optional<ConstantOperand> found;
        if (const auto* integer = std::get_if<int64_t>(&argument.value))
            found = integer_constant(*integer, type);
        else if (const auto* real = std::get_if<double>(&argument.value))
            found = float_constant(*real, type);
        else
            fail_operand(slot, "must be a register or a constant");
        if (!found) fail_operand(slot, "the constant does not fit the operand's type");
        if (found->code == Operand::kLiteral) set_literal(slot, found->literal);
        return {found->code};
    }

    void set_literal(unsigned slot, uint32_t value) {
        Instruction& instruction = line_.instruction;
        if (instruction.has_literal && instruction.literal != value)
            fail_operand(slot, fmt::format("a second literal, {:#x} beside {:#x}", value, instruction.literal));
        instruction.has_literal = true;
        instruction.literal = value;
    }

    void fill_tied_source() {
        const std::optional<unsigned> tied = row_.tied_source();
        if (!tied || *tied >= line_.instruction.operands.size()) return;
        line_.instruction.operands[*tied] = line_.instruction.operands[0];
        line_.parts[*tied] = line_.parts[0];
    }

    // --- encodings of the vector ALU
    bool fits_short_form() const {
        const Instruction& instruction = line_.instruction;
        if (row_.modifiers[static_cast<size_t>(generation_)].no_e64) return true;
        if (row_.number[static_cast<size_t>(generation_)].vop3_only) return false;
        if (instruction.neg != 0 || instruction.abs != 0 || instruction.clamp || instruction.omod != 0 || op_sel_given_)
            return false;
        for (unsigned i = 0; i < row_.destinations + row_.sources; ++i) {
            const Operand operand = instruction.operands[i];
            if (row_.operands[i].type == OperandType::mask && operand.code != Operand::kVcc) return false;
            const bool second_source = i == row_.destinations + 1u && row_.format != Format::VOP1;
            if (second_source && row_.operands[i].type != OperandType::k32 && !operand.is_vgpr()) return false;
        }
        return true;
    }

    void choose_encoding() {
        Instruction& instruction = line_.instruction;
        const bool is_vop3 = row_.format == Format::VOP3 || row_.format == Format::VOP3P;
        const bool short_form = is_vop3 || fits_short_form();
        if (row_.format == Format::VOP3P && !op_sel_given_) instruction.op_sel_hi = default_op_sel_hi(row_);
        if (dpp_given_) {
            instruction.encoding = short_form ? Encoding::dpp16 : Encoding::e64_dpp16;
        } else {
            instruction.encoding = short_form ? Encoding::native : Encoding::e64;
        }
    }

    // --- memory
    void address_register(Operand& operand, unsigned slot, unsigned dwords, RegisterBank bank) {
        const Argument& argument = next(slot);
        const auto* part = std::get_if<RegisterPart>(&argument.value);
        if (part == nullptr || argument.bank != bank)
            fail_operand(slot, bank == RegisterBank::vector ? "an address must be a vgpr" : "must be an sgpr");
        check_register(slot, *part, bank, dwords);
        line_.parts[slot] = *part;
        operand = bank == RegisterBank::vector ? vgpr(0) : sgpr(0);
    }

    void data_operand(unsigned slot) {
        const Argument& argument = next(slot);
        const auto* part = std::get_if<RegisterPart>(&argument.value);
        const RegisterBank bank = row_.format == Format::SMEM ? RegisterBank::scalar : RegisterBank::vector;
        if (part == nullptr || argument.bank != bank)
            fail_operand(slot, bank == RegisterBank::vector ? "data must be a vgpr" : "data must be an sgpr");
        check_register(slot, *part, bank, row_.operands[slot].size(context_.wave_size));
        line_.parts[slot] = *part;
        line_.instruction.operands[slot] = bank == RegisterBank::vector ? vgpr(0) : sgpr(0);
    }

    void byte_offset(unsigned slot) {
        if (peek<int64_t>() != nullptr)
            line_.instruction.address.offset = static_cast<int32_t>(constant(slot, INT32_MIN, INT32_MAX));
    }

    void scalar_memory() {
        for (unsigned i = 0; i < row_.destinations; ++i) data_operand(i);
        for (unsigned i = row_.destinations; i < row_.destinations + row_.sources; ++i) {
            const OperandType type = row_.operands[i].type;
            if (type == OperandType::base)
                address_register(line_.instruction.address.saddr, kSlotSaddr, 2, RegisterBank::scalar);
            else if (type == OperandType::rsrc)
                address_register(line_.instruction.address.saddr, kSlotSaddr, 4, RegisterBank::scalar);
            else
                fail_operand(i, "this form is not emitted by kernels");
        }
        if (next_is_register(RegisterBank::scalar))
            address_register(line_.instruction.address.soffset, kSlotSoffset, 1, RegisterBank::scalar);
        byte_offset(kSlotSoffset);
    }

    bool returns_value() const {
        if (row_.destinations == 0) return false;
        if (row_.memory != MemoryKind::atomic || row_.format == Format::DS) return true;
        const auto vgprs = std::ranges::count_if(operands_, [](const Argument* argument) {
            return std::holds_alternative<RegisterPart>(argument->value) && argument->bank == RegisterBank::vector;
        });
        return vgprs == row_.destinations + row_.sources;
    }

    void vector_memory() {
        if (row_.format == Format::MUBUF || row_.format == Format::SCRATCH)
            if (row_.sources != 0) fail("this format is not emitted by kernels");
        if (returns_value()) {
            for (unsigned i = 0; i < row_.destinations; ++i) data_operand(i);
            if (row_.memory == MemoryKind::atomic && row_.format != Format::DS) ask_for_old_value();
        }
        for (unsigned i = row_.destinations; i < row_.destinations + row_.sources; ++i) {
            if (row_.operands[i].type == OperandType::addr)
                vector_address();
            else
                data_operand(i);
        }
        if (row_.format == Format::GLOBAL && row_.sources != 0) global_base();
        byte_offset(kSlotSaddr);
    }

    void vector_address() {
        // 32-bit offset beside a base, or a whole address: known once the base has been seen.
        address_register(line_.instruction.address.vaddr, kSlotVaddr, row_.format == Format::FLAT ? 2 : 0,
                         RegisterBank::vector);
        if (row_.format == Format::DS && line_.parts[kSlotVaddr].dwords != 1)
            fail_operand(kSlotVaddr, "an LDS address is one dword");
    }

    void global_base() {
        Address& address = line_.instruction.address;
        if (next_is_register(RegisterBank::scalar)) {
            address_register(address.saddr, kSlotSaddr, 2, RegisterBank::scalar);
        } else {
            address.saddr = null_register(generation_);
        }
        const unsigned dwords = vaddr_dwords(row_, address);
        check_register(kSlotVaddr, line_.parts[kSlotVaddr], RegisterBank::vector, dwords);
    }

    void ask_for_old_value() {
        CachePolicy& cache = line_.instruction.address.cache;
        if (generation_ == Generation::gfx12)
            cache.temporal_hint |= 1;
        else
            cache.glc = true;
    }

    const EmitContext& context_;
    const InstructionInfo& row_;
    const Generation generation_;
    Line line_{};
    static constexpr size_t kMostArguments = 16;
    InlineVector<const Argument*, kMostArguments> operands_;
    size_t next_ = 0;
    bool op_sel_given_ = false, dpp_given_ = false;
};

}  // namespace

Line build_line(const EmitContext& context, Opcode opcode, std::initializer_list<Argument> arguments) {
    return LineBuilder(context, opcode, arguments).build();
}

}  // namespace riftjit::rdna
