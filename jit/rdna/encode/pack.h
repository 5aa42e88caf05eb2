// The encoder and decoder proper: what encode() and decode() wrap, without messages.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "jit/rdna/encode/encoding.h"
#include "jit/rdna/encode/encoding_plan.h"
#include "jit/rdna/encode/refusal.h"
#include "jit/rdna/table/formats.h"

namespace riftjit::rdna {

struct EncodingContext {
    Target target;
    Generation generation;
    WaveSize wave;

    EncodingContext(Target target, WaveSize wave) : target(target), generation(rdna::generation(target)), wave(wave) {}
};

class FieldValues {
public:
    uint32_t operator[](Field field) const { return values_[static_cast<size_t>(field)]; }
    uint32_t& operator[](Field field) { return values_[static_cast<size_t>(field)]; }

private:
    std::array<uint32_t, kFieldCount> values_{};
};

// Adds the layout's words to `out`.
void write_fields(const LayoutInfo& layout, const FieldValues& values, EncodedInstruction& out);
// Reads the layout's fields; false if `words` are too few.
bool read_fields(const LayoutInfo& layout, std::span<const uint32_t> words, FieldValues& values);

Refusal pack(const EncodingContext& context, const Instruction& instruction, EncodedInstruction& out);
Refusal pack_dual(const EncodingContext& context, const Instruction& instruction, EncodedInstruction& out);

// A first word that no row's format starts with: a family left out, or none.
Refusal refuse_format(Generation generation, uint32_t word);
// An opcode number that no row of the target has.
Refusal refuse_number(Generation generation, Layout layout, uint32_t number);

// "v_add_f32_e64", "v_dual_add_f32 :: v_dual_mov_b32": what messages call an instruction.
std::string full_mnemonic(Generation generation, const Instruction& instruction);

// Whether a scalar field may name `dwords` registers from `code` on: alignment and the file's end.
bool is_scalar_group(Generation generation, unsigned code, unsigned dwords);
bool is_aperture(unsigned code);  // the base or limit of one
// What else a source may be: an inline constant, an aperture, scc.
bool is_special_source(unsigned code);
// vccz, execz, pops_exiting_wave_id and lds_direct, which some generations read.
bool is_source_left_out(unsigned code);

Refusal pack_modifiers(const EncodingContext& context, const Instruction& instruction, const EncodingPlan& plan,
                       FieldValues& values);
Refusal pack_address(const EncodingContext& context, const Instruction& instruction, const EncodingPlan& plan,
                     FieldValues& values);
// The scalar values that one VALU instruction may read.
Refusal check_constant_bus(const EncodingContext& context, const Instruction& instruction, const EncodingPlan& plan);

// The row of VOPD's half, if this generation has it there.
const DualInfo* find_dual(Generation generation, Opcode opcode);
// gfx12's VBUFFER carries a data format; untyped accesses hold this one.
inline constexpr uint32_t kUntypedFormat = 1;
inline constexpr unsigned kScratchOff = 127;  // gfx10: saddr of a scratch access without any register

}  // namespace riftjit::rdna
