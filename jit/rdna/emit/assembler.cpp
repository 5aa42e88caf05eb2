#include "jit/rdna/emit/assembler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/round_up.h"
#include "jit/rdna/emit/emit.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/register_allocation.h"

namespace riftjit::rdna {
namespace {

constexpr uint16_t kTtmp9 = 117;  // gfx12: the workgroup id

uint16_t workgroup_register(KernelTarget target, const KernelCode& header) {
    if (generation(target.target) == Generation::gfx12) return kTtmp9;
    return static_cast<uint16_t>(
        user_sgpr_count(target.target, target.wave_size, header.user_sgprs, header.workgroup_ids));
}

}  // namespace

Assembler::Assembler(KernelTarget target, std::string name)
    : target_(target),
      vcc_(RegisterPart{}),
      launch_args_(RegisterPart{}),
      launch_workgroup_(RegisterPart{}),
      launch_lane_(RegisterPart{}) {
    header_.name = std::move(name);
    header_.wave_size = target.wave_size;
    const auto mask_dwords = static_cast<uint8_t>(lanes() / 32);
    const auto here = std::source_location::current();
    vcc_ = Sgpr(declare({RegisterBank::scalar, mask_dwords, Operand::kVcc, false, here}));
    if (target.is_part) {
        launch_args_ = sgpr(2);
        launch_workgroup_ = sgpr();
    } else {
        launch_args_ = Sgpr(declare({RegisterBank::scalar, 2, uint16_t{0}, true, here}));
        launch_workgroup_ = Sgpr(declare({RegisterBank::scalar, 1, workgroup_register(target, header_), true, here}));
    }
    launch_lane_ = Vgpr(declare({RegisterBank::vector, 1, Operand::kFirstVgpr, true, here}));
}

RegisterPart Assembler::declare(VirtualRegister reg) {
    check(registers_.size() < RegisterPart::kNone, "a kernel has fewer than 65535 registers");
    registers_.push_back(reg);
    return {static_cast<uint16_t>(registers_.size() - 1), 0, reg.dwords};
}

Sgpr Assembler::sgpr(unsigned dwords, std::source_location where) {
    return Sgpr(declare({RegisterBank::scalar, static_cast<uint8_t>(dwords), std::nullopt, false, where}));
}
Vgpr Assembler::vgpr(unsigned dwords, std::source_location where) {
    return Vgpr(declare({RegisterBank::vector, static_cast<uint8_t>(dwords), std::nullopt, false, where}));
}
Sgpr Assembler::lane_mask(std::source_location where) { return sgpr(lanes() / 32, where); }

Sgpr Assembler::fixed_sgpr(unsigned first, unsigned dwords, std::source_location where) {
    return Sgpr(
        declare({RegisterBank::scalar, static_cast<uint8_t>(dwords), static_cast<uint16_t>(first), false, where}));
}
Vgpr Assembler::fixed_vgpr(unsigned first, unsigned dwords, std::source_location where) {
    return Vgpr(declare({RegisterBank::vector, static_cast<uint8_t>(dwords),
                         static_cast<uint16_t>(Operand::kFirstVgpr + first), false, where}));
}

void Assembler::release(RegisterPart part) { registers_[part.id].released = true; }

Label Assembler::label() {
    bound_.push_back(false);
    return {static_cast<uint16_t>(bound_.size() - 1)};
}

void Assembler::bind(Label label) {
    if (bound_[label.id]) throw AssemblyError(fmt::format("{}: label {} is bound twice", header_.name, label.id));
    bound_[label.id] = true;
    pending_labels_.push_back(label);
}

uint32_t Assembler::lds(uint32_t bytes, uint32_t align) {
    const auto offset = static_cast<uint32_t>(round_up(header_.resources.lds_bytes, align));
    header_.resources.lds_bytes = offset + bytes;
    if (header_.resources.lds_bytes > kMaxLdsBytes)
        throw AssemblyError(fmt::format("{}: {} bytes of LDS, a workgroup has {}", header_.name,
                                        header_.resources.lds_bytes, kMaxLdsBytes));
    return offset;
}

void Assembler::drain(CounterSet counters) { pending_drain_.bits |= counters.bits; }

void Assembler::emit(Opcode opcode, std::initializer_list<Argument> arguments) {
    const EmitContext context{target_.target, target_.wave_size, header_.name, registers_, vcc_.whole(), lines_.size()};
    add_line(build_line(context, opcode, arguments));
}

void Assembler::add_line(Line line) {
    line.labels = std::exchange(pending_labels_, {});
    line.drain = std::exchange(pending_drain_, {});
    lines_.push_back(std::move(line));
}

namespace {

// From gfx11 on, short forms name halves of v0 to v127 alone; which registers there are allocation tells.
void lengthen_forms(Program& program) {
    if (generation(program.target) == Generation::gfx10) return;
    for (Line& line : program.lines) {
        Instruction& instruction = line.instruction;
        const InstructionInfo& row = info(instruction.opcode);
        if (row.halves == 0 || (row.format != Format::VOP1 && row.format != Format::VOP2 && row.format != Format::VOPC))
            continue;
        for (unsigned i = 0; i < row.destinations + row.sources; ++i) {
            const unsigned bit = i < row.destinations ? 3 : i - row.destinations;
            const Operand operand = instruction.operands[i];
            if ((row.halves >> bit & 1) == 0 || !operand.is_vgpr() || operand.vgpr() <= 127) continue;
            if (instruction.encoding == Encoding::native) instruction.encoding = Encoding::e64;
            if (instruction.encoding == Encoding::dpp16) instruction.encoding = Encoding::e64_dpp16;
        }
    }
}

}  // namespace

void Assembler::check_whole() const {
    for (size_t i = 0; i < bound_.size(); ++i)
        if (!bound_[i]) throw AssemblyError(fmt::format("{}: label {} is never bound", header_.name, i));
    if (lines_.empty() || !ends_wave(lines_.back().instruction.opcode) || !pending_labels_.empty())
        throw AssemblyError(fmt::format("{}: the code does not end with s_endpgm", header_.name));
}

KernelPart Assembler::take_part() {
    check(target_.is_part, "a kernel that was begun as a part");
    check_whole();
    return {std::move(registers_), std::move(lines_),         bound_.size(),       header_, vcc_.whole(),
            launch_args_.whole(),  launch_workgroup_.whole(), launch_lane_.whole()};
}

void Assembler::append(const KernelPart& part, const std::function<void(Sgpr args, Sgpr workgroup)>& set_launch) {
    check(registers_.size() + part.registers.size() < RegisterPart::kNone, "parts have fewer than 65535 registers");
    const auto first_register = static_cast<uint16_t>(registers_.size());
    const auto first_label = static_cast<uint16_t>(bound_.size());
    registers_.insert(registers_.end(), part.registers.begin(), part.registers.end());
    bound_.resize(bound_.size() + part.labels, true);
    const auto here = [&](RegisterPart reg) {
        if (reg.id == part.vcc.id)
            reg.id = vcc_.whole().id;
        else if (reg.id == part.launch_lane.id)
            reg.id = launch_lane_.whole().id;
        else
            reg.id = static_cast<uint16_t>(reg.id + first_register);
        return reg;
    };
    set_launch(Sgpr(here(part.launch_args)), Sgpr(here(part.launch_workgroup)));
    for (Line line : part.lines) {
        for (RegisterPart& reg : line.parts)
            if (reg.exists()) reg = here(reg);
        for (Label& label : line.labels) label.id = static_cast<uint16_t>(label.id + first_label);
        if (line.target) line.target->id = static_cast<uint16_t>(line.target->id + first_label);
        line.labels.insert(line.labels.end(), pending_labels_.begin(), pending_labels_.end());
        pending_labels_.clear();
        lines_.push_back(std::move(line));
    }
}

KernelProgram Assembler::finish(PassOptions options) {
    check_whole();
    KernelProgram kernel{{target_.target, target_.wave_size, header_.name, std::move(lines_)}, header_};
    work_ = allocate_registers(kernel.program, registers_,
                               {.reorders = options.runs(Pass::schedule), .chooses_banks = options.runs(Pass::vopd)});
    lengthen_forms(kernel.program);
    check_overlaps(kernel.program);
    run_passes(kernel.program, options);
    return kernel;
}

}  // namespace riftjit::rdna
