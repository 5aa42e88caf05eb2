// Why an instruction has no encoding, or words no reading.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna {

enum class DecodeError : uint8_t {
    truncated,
    no_format,        // no format of the generation starts with these bits
    family_left_out,  // a format that the table leaves out
    unknown_opcode,   // the format has no row of this number on the target
    reserved_bits,    // bits that mean nothing are set
    operand,          // a field holds what encode would refuse
    form,             // the row has no such form, or the parts do not go together
};
std::string_view name(DecodeError error);

struct Refusal {
    const char* why = nullptr;       // null: none
    const char* part = nullptr;      // the field, where it is no operand; the format, where there is no row
    int8_t operand = -1, half = -1;  // an operand's place in the row; the half of VOPD
    DecodeError kind = DecodeError::operand;
    uint8_t word = 0;    // reserved_bits: which word
    uint32_t value = 0;  // reserved_bits: the bits; unknown_opcode: the number

    int32_t first = 0, last = 0;  // the range of an offset outside it

    explicit operator bool() const { return why != nullptr; }
};

inline Refusal refuse_operand(unsigned operand, const char* why) {
    return {.why = why, .operand = static_cast<int8_t>(operand)};
}
inline Refusal refuse_part(const char* part, const char* why) { return {.why = why, .part = part}; }
inline Refusal refuse_offset(int32_t first, int32_t last) {
    return {.why = "is outside", .part = "offset", .first = first, .last = last};
}
inline Refusal refuse_form(const char* why) { return {.why = why, .kind = DecodeError::form}; }

// "source 1 (s5) must be a VGPR": what is wrong with this instruction.
std::string describe(const Refusal& refusal, Generation generation, WaveSize wave, const Instruction& instruction);

}  // namespace riftjit::rdna
