// exec saved and combined in one instruction, and scalar registers named by m0.
#include <fmt/format.h>

#include <optional>

#include "jit/rdna/emulator/machine/relative.h"
#include "jit/rdna/emulator/scalar/salu.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kExec = Operand::kExec;

template <class T>
T exec_of(const WaveState& wave) {
    if constexpr (sizeof(T) == 8)
        return wave.scalars[kExec] | uint64_t{wave.scalars[kExec + 1]} << 32;
    else
        return wave.scalars[kExec];
}
template <class T>
void set_exec(WaveState& wave, T value) {
    wave.scalars[kExec] = static_cast<uint32_t>(value);
    if constexpr (sizeof(T) == 8) wave.scalars[kExec + 1] = static_cast<uint32_t>(value >> 32);
    wave.scc = value != 0;
}

// D = exec; exec = f(S, exec); scc = exec != 0.
template <class T, auto kCombine>
void save_exec(WaveState& wave, const Op& op) {
    const T operand = source<T>(wave, op, 0), old = exec_of<T>(wave);
    write(wave, op, old);
    set_exec<T>(wave, kCombine(operand, old));
}
// exec = f(S, exec); D = the new exec.
template <class T, auto kCombine>
void write_exec(WaveState& wave, const Op& op) {
    const T combined = kCombine(source<T>(wave, op, 0), exec_of<T>(wave));
    set_exec<T>(wave, combined);
    write(wave, op, combined);
}

constexpr auto kAnd = [](auto s, auto exec) { return s & exec; };
constexpr auto kOr = [](auto s, auto exec) { return s | exec; };
constexpr auto kXor = [](auto s, auto exec) { return s ^ exec; };
constexpr auto kNand = [](auto s, auto exec) { return ~(s & exec); };
constexpr auto kNor = [](auto s, auto exec) { return ~(s | exec); };
constexpr auto kXnor = [](auto s, auto exec) { return ~(s ^ exec); };
constexpr auto kAndNot0 = [](auto s, auto exec) { return ~s & exec; };
constexpr auto kOrNot0 = [](auto s, auto exec) { return ~s | exec; };
constexpr auto kAndNot1 = [](auto s, auto exec) { return s & ~exec; };
constexpr auto kOrNot1 = [](auto s, auto exec) { return s | ~exec; };

// The register that `base` and an index from m0 name; nothing, and a report, beyond s105.
std::optional<unsigned> relative_register(WaveState& wave, unsigned base, uint32_t index, unsigned dwords) {
    const uint64_t code = uint64_t{base} + index;
    if (base < kNumberedSgprs && code + dwords <= kNumberedSgprs) return static_cast<unsigned>(code);
    wave.findings->report(FindingKind::register_index, wave, kNoLane,
                          fmt::format("m0 is {:#x}, which leads beyond s105", wave.m0()));
    return std::nullopt;
}
unsigned named_register(const Operand& operand) { return operand.is_scalar_register() ? operand.code : kNumberedSgprs; }

template <class T>
void move_from_relative(WaveState& wave, const Op& op) {
    const Distances by = distances(op.instruction.opcode, wave.m0());
    const auto code = relative_register(wave, named_register(op.instruction.source(0)), by.read, sizeof(T) / 4);
    if (!code) return;
    if constexpr (sizeof(T) == 8)
        write64(wave, op, wave.scalars[*code] | uint64_t{wave.scalars[*code + 1]} << 32);
    else
        write32(wave, op, wave.scalars[*code]);
}
template <class T>
void move_to_relative(WaveState& wave, const Op& op) {
    const Distances by = distances(op.instruction.opcode, wave.m0());
    const auto code = relative_register(wave, named_register(op.instruction.operands[0]), by.written, sizeof(T) / 4);
    if (!code) return;
    const T value = source<T>(wave, op, 1);
    wave.scalars[*code] = static_cast<uint32_t>(value);
    if constexpr (sizeof(T) == 8) wave.scalars[*code + 1] = static_cast<uint32_t>(value >> 32);
}
void move_both_relative(WaveState& wave, const Op& op) {
    const Distances by = distances(op.instruction.opcode, wave.m0());
    const auto from = relative_register(wave, named_register(op.instruction.source(0)), by.read, 1);
    const auto to = relative_register(wave, named_register(op.instruction.destination()), by.written, 1);
    if (from && to) wave.scalars[*to] = wave.scalars[*from];
}

// The body runs once for each half of the wave that has active lanes, low half first; D holds the half of exec that is
// not on its turn ("RDNA 2" ISA guide, S_SUBVECTOR_LOOP_BEGIN and S_SUBVECTOR_LOOP_END). The order of the assignments
// is the guide's: D may be a half of exec.
bool begins_subvector_loop(WaveState& wave, const Op& op) {
    uint32_t &low = wave.scalars[kExec], &high = wave.scalars[kExec + 1];
    if ((low | high) == 0) return true;  // no turn at all: past the end of the loop
    const bool low_first = low != 0;
    write32(wave, op, low_first ? high : low);
    if (low_first) high = 0;
    return false;
}
bool repeats_subvector_loop(WaveState& wave, const Op& op) {
    uint32_t &low = wave.scalars[kExec], &high = wave.scalars[kExec + 1];
    const uint32_t other_half = op.destination < 0 ? 0 : wave.scalars[op.destination];
    if (high != 0) {  // the high half had its turn: the low one comes back
        low = other_half;
        return false;
    }
    if (other_half == 0) return false;
    high = other_half;
    write32(wave, op, low);
    low = 0;
    return true;
}

}  // namespace

bool takes_subvector_loop(WaveState& wave, const Op& op) {
    return op.instruction.opcode == Opcode::s_subvector_loop_begin ? begins_subvector_loop(wave, op)
                                                                   : repeats_subvector_loop(wave, op);
}

ScalarFunction scalar_exec_function(Opcode opcode) {
    switch (opcode) {
        case Opcode::s_and_saveexec_b32:
            return save_exec<uint32_t, kAnd>;
        case Opcode::s_and_saveexec_b64:
            return save_exec<uint64_t, kAnd>;
        case Opcode::s_or_saveexec_b32:
            return save_exec<uint32_t, kOr>;
        case Opcode::s_or_saveexec_b64:
            return save_exec<uint64_t, kOr>;
        case Opcode::s_xor_saveexec_b32:
            return save_exec<uint32_t, kXor>;
        case Opcode::s_xor_saveexec_b64:
            return save_exec<uint64_t, kXor>;
        case Opcode::s_nand_saveexec_b32:
            return save_exec<uint32_t, kNand>;
        case Opcode::s_nand_saveexec_b64:
            return save_exec<uint64_t, kNand>;
        case Opcode::s_nor_saveexec_b32:
            return save_exec<uint32_t, kNor>;
        case Opcode::s_nor_saveexec_b64:
            return save_exec<uint64_t, kNor>;
        case Opcode::s_xnor_saveexec_b32:
            return save_exec<uint32_t, kXnor>;
        case Opcode::s_xnor_saveexec_b64:
            return save_exec<uint64_t, kXnor>;
        case Opcode::s_and_not0_saveexec_b32:
            return save_exec<uint32_t, kAndNot0>;
        case Opcode::s_and_not0_saveexec_b64:
            return save_exec<uint64_t, kAndNot0>;
        case Opcode::s_or_not0_saveexec_b32:
            return save_exec<uint32_t, kOrNot0>;
        case Opcode::s_or_not0_saveexec_b64:
            return save_exec<uint64_t, kOrNot0>;
        case Opcode::s_and_not1_saveexec_b32:
            return save_exec<uint32_t, kAndNot1>;
        case Opcode::s_and_not1_saveexec_b64:
            return save_exec<uint64_t, kAndNot1>;
        case Opcode::s_or_not1_saveexec_b32:
            return save_exec<uint32_t, kOrNot1>;
        case Opcode::s_or_not1_saveexec_b64:
            return save_exec<uint64_t, kOrNot1>;
        case Opcode::s_and_not0_wrexec_b32:
            return write_exec<uint32_t, kAndNot0>;
        case Opcode::s_and_not0_wrexec_b64:
            return write_exec<uint64_t, kAndNot0>;
        case Opcode::s_and_not1_wrexec_b32:
            return write_exec<uint32_t, kAndNot1>;
        case Opcode::s_and_not1_wrexec_b64:
            return write_exec<uint64_t, kAndNot1>;
        case Opcode::s_movrels_b32:
            return move_from_relative<uint32_t>;
        case Opcode::s_movrels_b64:
            return move_from_relative<uint64_t>;
        case Opcode::s_movreld_b32:
            return move_to_relative<uint32_t>;
        case Opcode::s_movreld_b64:
            return move_to_relative<uint64_t>;
        case Opcode::s_movrelsd_2_b32:
            return move_both_relative;
        default:
            return nullptr;
    }
}

}  // namespace riftjit::rdna::emulator
