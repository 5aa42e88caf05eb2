#include "jit/rdna/emulator/machine/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/scalar/salu.h"
#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/text/text.h"

namespace riftjit::rdna::emulator {
namespace {

InstructionClass class_of(const Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    switch (row.format) {
        case Format::SMEM:
            return InstructionClass::scalar_memory;
        case Format::DS:
            return InstructionClass::lds;
        case Format::SCRATCH:
            return InstructionClass::scratch;
        case Format::FLAT:
        case Format::GLOBAL:
        case Format::MUBUF:
            if (row.memory == MemoryKind::load) return InstructionClass::vector_load;
            if (row.memory == MemoryKind::store) return InstructionClass::vector_store;
            return row.memory == MemoryKind::atomic ? InstructionClass::vector_atomic : InstructionClass::other;
        case Format::SOPP:
            if (row.sources == 1 && row.operands[0].type == OperandType::label) return InstructionClass::branch;
            if (row.wait) return InstructionClass::wait;
            return row.barrier ? InstructionClass::barrier : InstructionClass::other;
        default:
            break;
    }
    if (row.barrier) return InstructionClass::barrier;
    if (row.wait) return InstructionClass::wait;
    if (row.format <= Format::SOPC) return InstructionClass::salu;
    if (row.transcendental) return InstructionClass::transcendental;
    return row.wmma ? InstructionClass::wmma : InstructionClass::valu;
}

struct BranchRow {
    Opcode opcode;
    BranchCondition condition;
};
constexpr BranchRow kBranches[] = {
    {Opcode::s_branch, BranchCondition::always},         {Opcode::s_cbranch_scc0, BranchCondition::scc0},
    {Opcode::s_cbranch_scc1, BranchCondition::scc1},     {Opcode::s_cbranch_vccz, BranchCondition::vccz},
    {Opcode::s_cbranch_vccnz, BranchCondition::vccnz},   {Opcode::s_cbranch_execz, BranchCondition::execz},
    {Opcode::s_cbranch_execnz, BranchCondition::execnz},
};

bool is_control(Opcode opcode) {
    switch (opcode) {
        case Opcode::s_waitcnt:
        case Opcode::s_waitcnt_vmcnt:
        case Opcode::s_waitcnt_vscnt:
        case Opcode::s_waitcnt_lgkmcnt:
        case Opcode::s_wait_loadcnt:
        case Opcode::s_wait_storecnt:
        case Opcode::s_wait_dscnt:
        case Opcode::s_wait_kmcnt:
        case Opcode::s_wait_loadcnt_dscnt:
        case Opcode::s_wait_storecnt_dscnt:
        case Opcode::s_wait_idle:
        case Opcode::s_barrier:
        case Opcode::s_barrier_signal:
        case Opcode::s_barrier_signal_isfirst:
        case Opcode::s_barrier_wait:
        case Opcode::s_barrier_init:
        case Opcode::s_barrier_join:
        case Opcode::s_barrier_leave:
        case Opcode::s_wakeup_barrier:
        case Opcode::s_get_barrier_state:
        case Opcode::s_sleep:
        case Opcode::s_sleep_var:
        case Opcode::s_sendmsg:
        case Opcode::s_sendmsg_rtn_b32:
        case Opcode::s_sendmsg_rtn_b64:
        case Opcode::s_memtime:
        case Opcode::s_memrealtime:
            return true;
        default:
            return false;
    }
}

std::string_view why_left_out(Opcode opcode) {
    switch (opcode) {
        case Opcode::s_cbranch_cdbgsys:
        case Opcode::s_cbranch_cdbguser:
        case Opcode::s_cbranch_cdbgsys_or_user:
        case Opcode::s_cbranch_cdbgsys_and_user:
            return "there is no debugger";
        case Opcode::s_rfe_b64:
            return "there is no trap handler to return from";
        case Opcode::s_sethalt:
        case Opcode::s_sendmsghalt:
            return "a halted wave waits for the host to go on";
        case Opcode::s_endpgm_ordered_ps_done:
            return "ordered pixel shaders belong to graphics";
        case Opcode::s_subvector_loop_begin:
        case Opcode::s_subvector_loop_end:
            return "a wave of 32 lanes has no halves to take turns";
        default:
            return "it is not implemented";
    }
}

bool ends(Opcode opcode) { return opcode == Opcode::s_endpgm || opcode == Opcode::s_endpgm_saved; }
bool jumps(Opcode opcode) {
    return opcode == Opcode::s_setpc_b64 || opcode == Opcode::s_swappc_b64 || opcode == Opcode::s_call_b64;
}
bool loops_over_halves(Opcode opcode) {
    return opcode == Opcode::s_subvector_loop_begin || opcode == Opcode::s_subvector_loop_end;
}
bool has_label(const InstructionInfo& row) {
    return std::any_of(row.source_operands().begin(), row.source_operands().end(),
                       [](const OperandInfo& operand) { return operand.type == OperandType::label; });
}

uint64_t label_address(const Op& op) {
    return op.end_address() + static_cast<uint64_t>(int64_t{static_cast<int16_t>(op.instruction.simm16)} * 4);
}

// 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1 / (2 pi), for codes 240 to 248.
constexpr uint16_t kF16Constants[] = {0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118};
constexpr uint32_t kF32Constants[] = {0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000,
                                      0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983};
constexpr uint64_t kF64Constants[] = {0x3FE0000000000000, 0xBFE0000000000000, 0x3FF0000000000000,
                                      0xBFF0000000000000, 0x4000000000000000, 0xC000000000000000,
                                      0x4010000000000000, 0xC010000000000000, 0x3FC45F306DC9C882};

uint64_t float_constant(unsigned code, const OperandInfo& operand, std::string_view name) {
    const unsigned i = code - 240;
    if (operand.dwords == 2) return kF64Constants[i];
    // The scalar f16 instructions read 16-bit constants; conversions from f16 too.
    const bool is_half = name.ends_with("_f16") && !name.ends_with("_rtz_f16_f32") && name != "s_cvt_f16_f32";
    return is_half ? kF16Constants[i] : kF32Constants[i];
}

uint64_t literal_value(const Instruction& instruction, const OperandInfo& operand, std::string_view name) {
    if (operand.dwords != 2) return instruction.literal;
    if (operand.type == OperandType::f64) return uint64_t{instruction.literal} << 32;
    if (name.ends_with("_i64")) return static_cast<uint64_t>(int64_t{static_cast<int32_t>(instruction.literal)});
    return instruction.literal;
}

// Known per wave only: apertures, vccz, execz, scc.
bool is_special(unsigned code) { return (code >= 235 && code <= 238) || (code >= 251 && code <= Operand::kScc); }

}  // namespace

std::string Op::text() const {
    if (instruction.size == 0) return fmt::format(".long {:#010x}", word);
    return print(program->target(), program->wave_size(), instruction);
}

Program::Program(const LoadedObject& object, WaveSize wave_size)
    : object_(object),
      target_(object.target),
      wave_size_(wave_size),
      valu_(object.target, wave_size),
      memory_(object.target, wave_size) {
    for (const AddressRange& range : object.text) {
        const std::span<const std::byte> bytes = object.bytes(range);
        std::vector<uint32_t> words(bytes.size() / 4);
        std::memcpy(words.data(), bytes.data(), words.size() * 4);
        Text& text = texts_.emplace_back(Text{range, std::vector<const Op*>(words.size() + 1)});
        decode_text(text, words);
    }
    link_branches();
}

Program::~Program() = default;

// From every function on, then from branch targets that lie between the instructions found so far.
void Program::decode_text(Text& text, std::span<const uint32_t> words) {
    for (const LoadedKernel& kernel : object_.kernels) pending_.push_back(kernel.code.address);
    for (const LoadedFunction& function : object_.functions) pending_.push_back(function.code.address);
    pending_.push_back(text.range.address);
    std::sort(pending_.begin(), pending_.end(), std::greater<>());
    while (!pending_.empty()) {
        const uint64_t address = pending_.back();
        pending_.pop_back();
        const bool inside = address >= text.range.address && (address - text.range.address) / 4 < words.size();
        if (inside && address % 4 == 0 && !at(address)) decode_from(text, words, address);
    }
}

void Program::decode_from(Text& text, std::span<const uint32_t> words, uint64_t address) {
    runs_.emplace_back();
    runs_.back().reserve(1024);
    std::vector<uint64_t> starts;
    size_t word = (address - text.range.address) / 4;
    const uint64_t begin = address;
    for (;; address = text.range.address + word * 4) {
        const bool past_end = word >= words.size();
        if (past_end || (address != begin && is_function_end(address))) {
            append_fault(address, past_end ? 0 : words[word], FindingKind::code_end,
                         "execution runs past the end of the function");
            break;
        }
        if (text.ops[word]) {
            append(address)->kind = OpKind::link;
            runs_.back().back().target = text.ops[word];
            break;
        }
        starts.push_back(address);
        const Decoded decoded = decode(target_, wave_size_, words.subspan(word));
        if (!decoded.ok) {
            append_fault(address, words[word], FindingKind::illegal_instruction,
                         fmt::format("{:#010x} is no instruction of {}: {}", words[word], name(target_),
                                     reason(target_, wave_size_, decoded)));
            ++word;
            continue;
        }
        Op& op = *append(address);
        op.instruction = decoded.instruction;
        op.word = words[word];
        if (has_label(info(op.instruction.opcode))) pending_.push_back(label_address(op));
        word += std::max<size_t>(decoded.instruction.size / 4, 1);
    }
    // Pointers into the run hold only now that it is complete.
    for (size_t i = 0; i < starts.size(); ++i) {
        Op& op = runs_.back()[i];
        text.ops[(op.address - text.range.address) / 4] = &op;
        if (op.instruction.size > 0) resolve(op);
    }
}

bool Program::is_function_end(uint64_t address) const {
    const auto ends_here = [&](const AddressRange& code) {
        return code.size > 0 && code.address + code.size == address;
    };
    return std::any_of(object_.kernels.begin(), object_.kernels.end(),
                       [&](const LoadedKernel& kernel) { return ends_here(kernel.code); }) ||
           std::any_of(object_.functions.begin(), object_.functions.end(),
                       [&](const LoadedFunction& function) { return ends_here(function.code); });
}

Op* Program::append(uint64_t address) {
    Op& op = runs_.back().emplace_back();
    op.address = address;
    op.program = this;
    return &op;
}

Op* Program::append_fault(uint64_t address, uint32_t word, FindingKind kind, std::string detail) {
    Op* op = append(address);
    op->kind = OpKind::fault;
    op->fault = kind;
    op->detail = std::move(detail);
    op->word = word;
    return op;
}

void Program::resolve(Op& op) {
    const Format format = info(op.instruction.opcode).format;
    op.counted_as = class_of(op.instruction);
    op.checks = &checks_.emplace_back(make_checks(op.instruction, target_, wave_size_));
    vgpr_end_ = std::max<uint32_t>(vgpr_end_, op.checks->vgpr_end);
    if (op.checks->footprint.leaves_file)
        refuse(op, FindingKind::illegal_instruction, "a register tuple reaches beyond the last register");
    else if (const std::string why = why_not_modelled(op.instruction, generation(target_)); !why.empty())
        refuse(op, FindingKind::unsupported_instruction, fmt::format("{}: {}", info(op.instruction.opcode).name, why));
    else if (is_control(op.instruction.opcode))
        op.kind = OpKind::control, resolve_scalar(op);
    else if (format >= Format::VOP1 && format <= Format::VOP3P)
        resolve_call(op, OpKind::valu, op.valu, valu_.prepare(op.instruction));
    else if (format >= Format::DS || format == Format::SMEM)
        resolve_call(op, OpKind::memory, op.memory, memory_.prepare(op.instruction));
    else
        resolve_salu(op);
}

void Program::refuse(Op& op, FindingKind kind, std::string detail) {
    op.kind = OpKind::fault;
    op.fault = kind;
    op.detail = std::move(detail);
}

template <class Call>
void Program::resolve_call(Op& op, OpKind kind, Call& call, const Result<Call>& prepared) {
    if (!prepared) return refuse(op, FindingKind::unsupported_instruction, prepared.error().message);
    op.kind = kind;
    call = *prepared;
}

void Program::resolve_salu(Op& op) {
    const Opcode opcode = op.instruction.opcode;
    resolve_scalar(op);
    const auto* branch = std::find_if(std::begin(kBranches), std::end(kBranches),
                                      [&](const BranchRow& row) { return row.opcode == opcode; });
    if (ends(opcode)) {
        op.kind = OpKind::end;
    } else if (opcode == Opcode::s_code_end) {
        refuse(op, FindingKind::code_end, "execution runs into the padding after the code");
    } else if (opcode == Opcode::s_trap) {
        refuse(op, FindingKind::trap, fmt::format("s_trap {}", op.instruction.simm16));
    } else if (jumps(opcode)) {
        op.kind = OpKind::jump;
    } else if (loops_over_halves(opcode) && wave_size_ == WaveSize::wave64) {
        op.kind = OpKind::subvector_loop;
    } else if (branch != std::end(kBranches)) {
        op.kind = OpKind::branch;
        op.condition = branch->condition;
    } else if (op.scalar = scalar_function(opcode); op.scalar) {
        op.kind = OpKind::scalar;
    } else {
        refuse(op, FindingKind::unsupported_instruction,
               fmt::format("{}: not executed by the software machine: {}", info(opcode).name, why_left_out(opcode)));
    }
}

void Program::resolve_scalar(Op& op) {
    const Instruction& instruction = op.instruction;
    const InstructionInfo& row = info(instruction.opcode);
    if (row.destinations > 0 && instruction.destination().exists() &&
        instruction.destination() != null_register(generation(target_)) && instruction.destination().code < 128) {
        op.destination = static_cast<int16_t>(instruction.destination().code);
        op.destination_dwords = static_cast<uint8_t>(row.destination_operands()[0].size(wave_size_));
    }
    for (unsigned i = 0; i < row.sources && i < 3; ++i) {
        const OperandInfo& described = row.source_operands()[i];
        const Operand& operand = instruction.source(i);
        ScalarSource& source = op.sources[i];
        if (described.type == OperandType::simm16) {
            const bool is_unsigned = row.name.starts_with("s_cmpk_") && row.name.ends_with("_u32");
            source.constant = is_unsigned ? instruction.simm16
                                          : static_cast<uint64_t>(int64_t{static_cast<int16_t>(instruction.simm16)});
        } else if (described.type == OperandType::literal || described.type == OperandType::k32 ||
                   operand.is_literal()) {
            source.constant = literal_value(instruction, described, row.name);
        } else if (operand == null_register(generation(target_))) {
            source.constant = 0;  // of a pair too
        } else if (operand.is_scalar_register() || is_special(operand.code)) {
            source.code = static_cast<int16_t>(operand.code);
        } else if (operand.code >= 128 && operand.code <= 192) {
            source.constant = operand.code - 128u;
        } else if (operand.code > 192 && operand.code <= 208) {
            source.constant = static_cast<uint64_t>(-static_cast<int64_t>(operand.code - 192));
        } else if (operand.code >= 240 && operand.code <= 248) {
            source.constant = float_constant(operand.code, described, row.name);
        }
    }
}

void Program::link_branches() {
    for (std::vector<Op>& run : runs_)
        for (Op& op : run) {
            if (op.instruction.size == 0 || !has_label(info(op.instruction.opcode))) continue;
            op.target = at(label_address(op));
        }
}

const Op* Program::at(uint64_t address) const {
    if (address % 4 != 0) return nullptr;
    for (const Text& text : texts_) {
        if (!text.range.contains(address, 4)) continue;
        return text.ops[(address - text.range.address) / 4];
    }
    return nullptr;
}

CodeLocation Program::locate(uint64_t address) const {
    const auto last_byte_too = [&](const AddressRange& code) {
        return address >= code.address && address <= code.address + code.size;
    };
    for (const LoadedKernel& kernel : object_.kernels)
        if (kernel.code.contains(address, 1)) return {kernel.name, address - kernel.code.address};
    for (const LoadedFunction& function : object_.functions)
        if (function.code.contains(address, 1)) return {function.name, address - function.code.address};
    for (const LoadedKernel& kernel : object_.kernels)
        if (last_byte_too(kernel.code)) return {kernel.name, address - kernel.code.address};
    return {"text", texts_.empty() ? address : address - texts_.front().range.address};
}

}  // namespace riftjit::rdna::emulator
