// The instruction table: what each row of instructions.def says, parsed once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "jit/rdna/table/target.h"

namespace riftjit::rdna {

enum class Format : uint8_t {
    SOP2,
    SOPK,
    SOP1,
    SOPC,
    SOPP,
    SMEM,
    VOP1,
    VOP2,
    VOPC,
    VOP3,
    VOP3P,
    DS,
    FLAT,
    GLOBAL,
    SCRATCH,
    MUBUF,
};

enum class Opcode : uint16_t {
#define RIFTJIT_ROW(format, mnemonic, ...) mnemonic,
#include "jit/rdna/table/instruction_rows.def"
    count,
};
inline constexpr size_t kOpcodeCount = static_cast<size_t>(Opcode::count);

// How an operand's bits are read: decides the value of an inline constant or literal, and how it is printed.
enum class OperandType : uint8_t {
    b16,
    b32,
    b64,
    b96,
    b128,
    b256,
    b512,
    b1024,  // registers; a constant would be an integer
    i16,
    i32,
    i64,
    f16,
    bf16,
    f32,
    f64,
    i16x2,
    f16x2,
    bf16x2,
    mask,  // one bit per lane
    exec,  // as mask, always exec, not written in the text
    k16,
    k32,      // fmaak, fmamk: a literal that is always present
    imm,      // SOP1 with an immediate in ssrc0
    barrier,  // a split barrier's number, inline constant
    simm16,
    hwreg,
    label,
    literal,
    length,
    addr,  // the address fields of a memory format
    base,
    rsrc,  // SMEM: pair of SGPRs, four SGPRs
};

enum class RegisterClass : uint8_t { any, vgpr, sgpr };

struct OperandInfo {
    OperandType type;
    RegisterClass registers;  // beyond what the format's field already says
    bool halves_in_wave64;
    uint8_t dwords;      // in wave32; 0 for what is no register
    bool reads, writes;  // a destination is written, a source read; both: the old value takes part
    bool tied;           // a source that is the first destination's old value and has no field

    unsigned size(WaveSize wave) const;  // dwords; a mask is two in wave64
};

enum class MemoryKind : uint8_t { none, load, store, atomic };

// How a result's undefined bits follow from those of the sources.
enum class Spread : uint8_t {
#define SPREAD(word) word,
#include "jit/rdna/table/spreads.def"
#undef SPREAD
    count,
};

// Bit i: source i takes the modifier.
struct Modifiers {
    uint8_t neg, abs;  // VOP3P: neg_lo, neg_hi
    uint8_t op_sel;    // bit 3: the destination; VOP3P: low halves
    uint8_t op_sel_hi;
    bool clamp, omod;
    bool dpp, sdwa, e64_dpp;  // forms that exist
    bool no_e64;              // VOP1, VOP2, VOPC without VOP3 form
};

inline constexpr uint16_t kAbsent = 0xFFFF;

struct OpcodeNumber {
    uint16_t value = kAbsent;
    bool vop3_only = false;  // value is the VOP3 number
    bool exists() const { return value != kAbsent; }
};

struct InstructionInfo {
    Opcode opcode;
    Format format;
    std::string_view name;                     // the row's
    std::array<OpcodeNumber, 3> number;        // by Generation
    std::array<std::string_view, 3> mnemonic;  // LLVM's spelling, by Generation
    std::array<Modifiers, 3> modifiers;        // by Generation
    std::array<OperandInfo, 6> operands;       // destinations, then sources
    uint8_t destinations, sources;
    bool reads_scc, writes_scc, reads_vcc, reads_exec, writes_exec, reads_m0;  // beyond the operands
    bool transcendental, permlane, wmma, sparse, mixed, wide_mad;
    Spread spread;
    bool cross_lane;  // reads registers of lanes that are off, too; so does every permlane and wmma
    bool wait, barrier;
    bool relative;          // m0 is added to the numbers of its registers
    bool byte_select;       // op_sel chooses a byte
    uint8_t halves;         // operands of 16 bits, as op_sel counts them: bit i source i, bit 3 the destination
    bool gfx115x_on_gfx11;  // on gfx11 only the 115x chips have it
    MemoryKind memory;
    bool float_atomic;
    bool half_register;     // d16: the other half of the destination is kept
    uint8_t stores;         // bits of the register, 0: all
    bool stores_high;       // of its upper half
    bool two_offsets;       // DS with offset0 and offset1
    bool thread_addressed;  // no address register: the lane's number
    bool address_holds_data;
    bool no_gds;

    // Whether the first destination's old value takes part.
    bool reads_destination() const { return tied_source() || (destinations != 0 && operands[0].reads); }
    std::optional<unsigned> tied_source() const;  // index into operands
    std::span<const OperandInfo> destination_operands() const { return {operands.data(), destinations}; }
    std::span<const OperandInfo> source_operands() const { return {operands.data() + destinations, sources}; }
};

inline bool is_salu(Format format) { return format <= Format::SOPP; }
inline bool is_valu(Format format) { return format >= Format::VOP1 && format <= Format::VOP3P; }
inline bool is_vector_memory(Format format) { return format >= Format::FLAT; }  // FLAT, GLOBAL, SCRATCH, MUBUF
inline bool is_memory(Format format) { return format == Format::SMEM || format >= Format::DS; }

const InstructionInfo& info(Opcode opcode);
std::span<const InstructionInfo> all_instructions();
bool has(Target target, Opcode opcode);
std::string_view mnemonic(Opcode opcode, Generation generation);

// A half of VOPD; numbers are absent where that half cannot hold it.
struct DualInfo {
    Opcode opcode;
    OpcodeNumber x, y;
    Generation first, last;
};
std::span<const DualInfo> dual_instructions();

}  // namespace riftjit::rdna
