// One decoded instruction: what the encoder packs, the decoder unpacks, the printer spells and the software machine
// runs.
#pragma once

#include <array>
#include <cstdint>

#include "jit/rdna/table/opcode.h"

namespace riftjit::rdna {

// A source or destination by its hardware code (the nine bits of a VALU source field): 0-105 SGPRs, 106/107 vcc,
// 108-123 ttmp, 124/125 m0 and null (gfx10) or null and m0 (gfx11, gfx12), 126/127 exec, 128-248 inline constants,
// 253 scc, 255 a literal follows, 256-511 VGPRs. Fields that hold only VGPRs are stored with 256 added.
struct Operand {
    uint16_t code = kNothing;
    static constexpr uint16_t kNothing = 0xFFFF;
    static constexpr uint16_t kVcc = 106, kExec = 126, kScc = 253, kLiteral = 255, kFirstVgpr = 256;

    bool exists() const { return code != kNothing; }
    bool is_vgpr() const { return exists() && code >= kFirstVgpr; }
    bool is_literal() const { return code == kLiteral; }
    bool is_inline_constant() const { return (code >= 128 && code <= 208) || (code >= 240 && code <= 248); }
    bool is_scalar_register() const { return code < 128; }
    unsigned vgpr() const { return code - kFirstVgpr; }
    bool operator==(const Operand&) const = default;
};
constexpr Operand sgpr(unsigned index) { return {static_cast<uint16_t>(index)}; }
constexpr Operand vgpr(unsigned index) { return {static_cast<uint16_t>(Operand::kFirstVgpr + index)}; }
constexpr Operand null_register(Generation generation) { return sgpr(generation == Generation::gfx10 ? 125 : 124); }
constexpr Operand m0_register(Generation generation) { return sgpr(generation == Generation::gfx10 ? 124 : 125); }

enum class Encoding : uint8_t {
    native,  // the row's own format: SOP*, SMEM, memory, VOP1/VOP2/VOPC e32, VOP3, VOP3P
    e64,     // a VOP1, VOP2 or VOPC row in VOP3
    sdwa,
    dpp16,  // native with a DPP word: e32, or VOP3/VOP3P rows on gfx11 and later
    dpp8,
    e64_dpp16,
    e64_dpp8,
    vopd,
};

struct Dpp {
    uint16_t control = 0;  // DPP16 only, nine bits
    uint8_t row_mask = 15, bank_mask = 15;
    bool bound_control = false;  // an invalid source lane reads 0
    bool fetch_inactive = false;
    uint32_t selectors = 0;  // DPP8 only: eight times three bits, lane 0 lowest
    bool operator==(const Dpp&) const = default;
};

struct Sdwa {
    uint8_t destination_select = 6, destination_unused = 0;  // 6: the whole dword
    uint8_t source_select[2] = {6, 6};
    uint8_t sign_extend = 0;  // bit i: source i; only integer sources
    bool operator==(const Sdwa&) const = default;
};

// Cache policy; the fields of the other generations stay zero.
struct CachePolicy {
    bool glc = false, dlc = false, slc = false;  // gfx10, gfx11
    uint8_t temporal_hint = 0, scope = 0;        // gfx12
    bool operator==(const CachePolicy&) const = default;
};

// The address of a memory instruction; which fields count depends on the format.
struct Address {
    Operand vaddr;                                     // VGPR(s): DS, FLAT, GLOBAL, SCRATCH, MUBUF
    Operand saddr;                                     // GLOBAL, SCRATCH: SGPR (pair) or null; SMEM: sbase
    Operand soffset;                                   // SMEM, MUBUF
    Operand resource;                                  // MUBUF: four SGPRs
    int32_t offset = 0;                                // bytes; DS with two offsets: the first, in elements
    uint8_t offset1 = 0;                               // DS with two offsets: the second
    bool offset_enable = false, index_enable = false;  // MUBUF: offen, idxen
    bool vaddr_enable = false;                         // SCRATCH on gfx11, gfx12: vaddr is used (sve)
    bool gds = false, lds = false, tfe = false;
    uint8_t data_format = 0;  // gfx12 VBUFFER
    CachePolicy cache;
    bool operator==(const Address&) const = default;
};

struct VopdHalf {
    Opcode opcode{};
    std::array<Operand, 4>
        operands{};  // destination, src0, vsrc1, and the constant k32 of fmaak and fmamk is the literal
    bool operator==(const VopdHalf&) const = default;
};

struct Instruction {
    Opcode opcode{};  // VOPD: the X half's
    Encoding encoding = Encoding::native;
    std::array<Operand, 6>
        operands{};        // in the order of InstructionInfo::operands; addr, simm16 and the like stay empty
    uint32_t literal = 0;  // when has_literal
    bool has_literal = false;
    uint16_t simm16 = 0;       // SOPP, SOPK; also hwreg
    uint8_t neg = 0, abs = 0;  // bit i: source i; VOP3P: neg_lo, neg_hi
    uint8_t op_sel = 0, op_sel_hi = 0;
    uint8_t omod = 0;  // 1: times 2, 2: times 4, 3: half
    bool clamp = false;
    Dpp dpp;
    Sdwa sdwa;
    Address address;
    std::array<VopdHalf, 2> dual{};  // VOPD: X and Y
    uint8_t size = 0;                // bytes, set by encode and decode

    bool operator==(const Instruction&) const = default;
    const Operand& destination(unsigned i = 0) const { return operands[i]; }
    const Operand& source(unsigned i) const { return operands[info(opcode).destinations + i]; }
};

}  // namespace riftjit::rdna
