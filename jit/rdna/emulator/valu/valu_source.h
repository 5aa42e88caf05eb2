// Sources of vector instructions: where they come from and what is done to them before the operation sees them.
#pragma once

#include <array>
#include <cstdint>

#include "jit/rdna/emulator/machine/wave.h"
#include "jit/rdna/table/instruction.h"

namespace riftjit::rdna::emulator {

// The bits of an inline constant or literal as an operand of the type reads them; a 64-bit integer literal is
// sign-extended where the operation is signed.
enum class LiteralSign : uint8_t { zero_extended, sign_extended };
uint64_t constant_bits(const Operand& operand, uint32_t literal, OperandType type, LiteralSign sign);

enum class SourceKind : uint8_t { none, vgpr, scalar, constant, aperture };
enum class SourceShape : uint8_t { plain, half, packed };  // half: op_sel picks one; packed: it orders two

struct ValuSource {
    SourceKind kind = SourceKind::none;
    SourceShape shape = SourceShape::plain;
    uint8_t dwords = 1;
    uint16_t index = 0;  // register, by vgpr number or scalar code
    uint64_t constant = 0;
    bool high = false;      // half: the upper one; packed: low result reads the upper one
    bool high_low = false;  // packed: the high result reads the lower half
    uint64_t keep = ~0ull;  // and-mask: abs
    uint64_t flip = 0;      // xor-mask: neg
    uint8_t sdwa_select = 6;
    bool sdwa_sign = false;

    bool is_modified() const { return shape != SourceShape::plain || keep != ~0ull || flip != 0 || sdwa_select != 6; }
    // Registers as they are, before any selection.
    uint64_t raw(const WaveState& wave, unsigned lane) const;
    uint64_t shaped(uint64_t raw) const;
};

}  // namespace riftjit::rdna::emulator
