// The scalar unit's semantics: one function per opcode, with operands resolved beforehand.
#pragma once

#include "jit/rdna/emulator/machine/program.h"

namespace riftjit::rdna::emulator {

// Null if the opcode is no plain SALU instruction (branches, waits, barriers, messages are the interpreter's) or is not
// implemented.
ScalarFunction scalar_function(Opcode opcode);
ScalarFunction scalar_bit_function(Opcode opcode);    // salu_bits.cpp
ScalarFunction scalar_exec_function(Opcode opcode);   // salu_exec.cpp
ScalarFunction scalar_float_function(Opcode opcode);  // salu_float.cpp
ScalarFunction scalar_state_function(Opcode opcode);  // salu_state.cpp

// s_subvector_loop_begin and _end in wave64: moves the halves of exec, and says whether the branch is taken.
bool takes_subvector_loop(WaveState& wave, const Op& op);

// Hardware registers and messages that are not modelled: what is read would be made up, and what is written lost. Empty
// for every other instruction.
std::string why_not_modelled(const Instruction& instruction, Generation generation);

// ---- What the functions are made of --------------------------------------------------------------------------------

// Sources that are no registers: apertures, vccz, execz, scc.
uint64_t special_source(const WaveState& wave, unsigned code);

inline uint32_t source32(const WaveState& wave, const Op& op, unsigned i) {
    const ScalarSource& source = op.sources[i];
    if (source.code < 0) return static_cast<uint32_t>(source.constant);
    if (source.code >= 128) return static_cast<uint32_t>(special_source(wave, static_cast<unsigned>(source.code)));
    return wave.scalars[source.code];
}
inline uint64_t source64(const WaveState& wave, const Op& op, unsigned i) {
    const ScalarSource& source = op.sources[i];
    if (source.code < 0) return source.constant;
    if (source.code >= 128) return special_source(wave, static_cast<unsigned>(source.code));
    return wave.scalars[source.code] | uint64_t{wave.scalars[source.code + 1]} << 32;
}
inline void write32(WaveState& wave, const Op& op, uint32_t value) {
    if (op.destination >= 0) wave.scalars[op.destination] = value;
}
inline void write64(WaveState& wave, const Op& op, uint64_t value) {
    if (op.destination < 0) return;
    wave.scalars[op.destination] = static_cast<uint32_t>(value);
    wave.scalars[op.destination + 1] = static_cast<uint32_t>(value >> 32);
}
template <class T>
T source(const WaveState& wave, const Op& op, unsigned i) {
    if constexpr (sizeof(T) == 8)
        return static_cast<T>(source64(wave, op, i));
    else
        return static_cast<T>(source32(wave, op, i));
}
template <class T>
void write(WaveState& wave, const Op& op, T value) {
    if constexpr (sizeof(T) == 8)
        write64(wave, op, static_cast<uint64_t>(value));
    else
        write32(wave, op, static_cast<uint32_t>(value));
}

// f(a) or f(a, b), with scc untouched or saying whether the result is not 0.
template <class A, auto kCompute>
void unary(WaveState& wave, const Op& op) {
    write(wave, op, kCompute(source<A>(wave, op, 0)));
}
template <class A, auto kCompute>
void unary_scc(WaveState& wave, const Op& op) {
    const auto result = kCompute(source<A>(wave, op, 0));
    write(wave, op, result);
    wave.scc = result != 0;
}
template <class A, class B, auto kCompute>
void binary(WaveState& wave, const Op& op) {
    write(wave, op, kCompute(source<A>(wave, op, 0), source<B>(wave, op, 1)));
}
template <class A, class B, auto kCompute>
void binary_scc(WaveState& wave, const Op& op) {
    const auto result = kCompute(source<A>(wave, op, 0), source<B>(wave, op, 1));
    write(wave, op, result);
    wave.scc = result != 0;
}
// f(a, b, scc&), which sets scc itself.
template <class A, class B, auto kCompute>
void with_carry(WaveState& wave, const Op& op) {
    uint32_t scc = wave.scc;
    write(wave, op, kCompute(source<A>(wave, op, 0), source<B>(wave, op, 1), scc));
    wave.scc = scc;
}
template <class A, class B, auto kCompare>
void compare(WaveState& wave, const Op& op) {
    wave.scc = kCompare(source<A>(wave, op, 0), source<B>(wave, op, 1));
}

}  // namespace riftjit::rdna::emulator
