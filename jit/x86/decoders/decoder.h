// One description per weight type: how the fields of its blocks (jit/formats/weight_format.h) are packed and how they
// are decoded. Both matmul forms and embed are generated from it. To add a type, derive from Decoder and return it from
// its family's function below.
//
// Elements are handled in steps of 256 (the last of a row may be shorter, but is a whole number of blocks), because
// activations have one scale per 256. Within a step:
//
//   group    16 or 32 elements that share an integer multiplier m (m = 1 for SubScale::none)
//   segment  a multiple of the group: 16 to 256 elements that share one f32 scale D
//   pair     two consecutive elements in the i16 halves of a dword lane, element 2j low, 2j+1 high; a lane is a row
//   quad     four consecutive elements in the bytes of a dword lane, from the lowest 4j, 4j+2, 4j+1, 4j+3: the low
//   bytes
//            of pairs 2j and 2j+1 side by side, which is how packed fields lie
//
//   I     = sum over the groups of a segment of m * (sum(q * a) - zero_point * sum(a))     exact in int32
//   block = sum over segments, in order, of float(I) * D                                   one FMA each
//   Minimum::real     block += float(sum(a)) * M          after each segment (there group == segment)
//   Minimum::integer  block -= float(sum over groups of n * sum(a)) * Dmin                 once, at the step's end
//   total += block * activation_scale                                                      one FMA per step
//
// Integer sums are exact, so the order matters only between floats, and all consumers keep the one above: the two
// matmul forms and all instruction sets give the same bits. Group and segment follow from the range analysis of the
// type's format (jit/formats/weight_bounds.h): a segment is as many elements as keep |I| < 2^31 for |a| <= kI16Max.
//
// Per block of every row, the packed panel of 16 rows (packed.h) holds header_bytes (2-byte fields, or one byte) and
// body_dwords dwords; each field is stored as 16 consecutive values, one per row:
//   header of a block  [field][16 rows]  u16 or u8       body of a block  [dword][16 rows]  u32
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "jit/formats/dtype.h"
#include "jit/x86/emit/x86_kernel.h"

namespace riftjit::x86 {

inline constexpr uint32_t kStepElements = 256;

// What a kernel wants elements in.
enum class Elements : uint8_t { pairs, quads };
constexpr uint32_t count_in(Elements elements) { return elements == Elements::pairs ? 2 : 4; }

enum class SubScale : uint8_t { none, integer };
enum class Minimum : uint8_t { none, real, integer };

// What a decoder chooses.
struct PackedShape {
    DType type;
    uint8_t header_bytes;  // per row and block: 0, 1, 2 or 4
    uint8_t body_dwords;   // per row and block
    int16_t zero_point = 0;
};

// And what follows from the type's format.
struct DecoderTraits : PackedShape {
    uint16_t segment = 0;  // 16, 32, 64, 128 or 256; at most the block, or equal to it
    uint16_t group = 0;    // 16 or 32
    SubScale sub_scale = SubScale::none;
    Minimum minimum = Minimum::none;
    bool fits_byte = false;  // m * (q - zero_point) lies in [-128, 127]
    bool is_signed = false;  // some q are negative; all are bytes
    uint8_t most = 0;        // of all |q|
};

// Checks that the integers fit: q a byte, m * (q - zero_point) an i16 (the tile form folds m and zero_point into the
// weights), the sums of a segment and those of a step's minima an i32; with activations of 8 bits the sums of a group
// an f32's 24 bits.
DecoderTraits decoder_traits(const PackedShape& shape);

// One row's block, packed; the caller spreads it over the panel.
struct PackedBlock {
    std::array<uint32_t, 64> body;
    std::array<uint16_t, 2> header;  // a one-byte header is the low byte of header[0]
};

// 64 bytes that a kernel keeps in a register while it decodes.
using VectorConstant = std::array<uint32_t, 16>;
constexpr VectorConstant broadcast(uint32_t dword) {
    VectorConstant result{};
    result.fill(dword);
    return result;
}

// Where one column (lanes() rows: a panel, or half of one below AVX-512) of one step lies in memory, and the registers
// that belong to the decoder. Block numbers count within the step.
class DecodeSite {
public:
    struct Registers {
        Elements elements;
        std::vector<int> constants;    // hold Decoder::constants() from the start of the kernel to its end
        std::vector<int> temporaries;  // free between any two calls of the decoder
        Xbyak::Reg64 table;            // Decoder::prepare may point it at a table in the constant pool
    };
    struct Place {
        Xbyak::Reg64 header, body;                   // registers near the step's headers and bodies
        int32_t header_offset = 0, body_offset = 0;  // from there to the first byte of this panel's
        int half = 0;                                // 1: rows 8 to 15 of the panel
    };

    DecodeSite(X86Emitter& emitter, const DecoderTraits& traits, const Registers& registers, const Place& place)
        : code(emitter), traits_(traits), registers_(registers), place_(place) {}

    X86Emitter& code;

    Elements elements() const { return registers_.elements; }
    Xbyak::Xmm constant(size_t index) const { return code.vector(registers_.constants.at(index)); }
    Xbyak::Xmm temporary(size_t index) const { return code.vector(registers_.temporaries.at(index)); }
    const Xbyak::Reg64& table() const { return registers_.table; }
    int half() const { return place_.half; }

    // Memory operands of lanes() values; body_dwords is as wide as a vector, header_halves half and header_bytes a
    // quarter of it. All are aligned to their size.
    Xbyak::Address body_dwords(uint32_t block, uint32_t dword) const;
    Xbyak::Address header_halves(uint32_t block, uint32_t field) const;
    Xbyak::Address header_bytes(uint32_t block) const;

private:
    const DecoderTraits& traits_;
    const Registers& registers_;
    Place place_;
};

// Receives every pair of a group (index 0 .. group / 2 - 1) or quad (0 .. group / 4 - 1) once, in any order. May
// overwrite `pair_or_quad`, and no other of the decoder's registers.
using ElementSink = std::function<void(const Xbyak::Xmm& pair_or_quad, uint32_t index)>;

// Stateless. The emitting functions may use the site's temporaries, k1 to k7 and nothing else, besides `out`.
class Decoder {
public:
    explicit Decoder(const PackedShape& shape) : traits_(decoder_traits(shape)) {}
    virtual ~Decoder() = default;

    const DecoderTraits& traits() const { return traits_; }

    // Reads one block of the file, by its format's fields. Writes header_bytes / 2 of header, body_dwords of body.
    virtual void pack_block(const std::byte* block, PackedBlock& packed) const = 0;

    // constants and temporaries together are at most max_decoder_registers(isa).
    virtual std::vector<VectorConstant> constants(Isa isa, Elements elements) const = 0;
    virtual size_t temporaries(Isa isa, Elements elements) const = 0;

    // Once per kernel: loads the constants. Override (and call this) to set up site.table() as well.
    virtual void prepare(const DecodeSite& site) const;
    // The elements q of one group, in what the site wants them. Quads are i8 where traits().is_signed, else u8.
    virtual void unpack(const DecodeSite& site, uint32_t group, const ElementSink& sink) const = 0;
    // out = f32 scale D of a segment.
    virtual void scale(const DecodeSite& site, uint32_t segment, const Xbyak::Xmm& out) const = 0;
    // out = i32 multiplier m of a group (SubScale::integer).
    virtual void sub_scale(const DecodeSite& site, uint32_t group, const Xbyak::Xmm& out) const;
    // out = M as f32 (Minimum::real) or n as i32 (Minimum::integer) of a group.
    virtual void minimum(const DecodeSite& site, uint32_t group, const Xbyak::Xmm& out) const;
    // out = Dmin as f32 (Minimum::integer).
    virtual void minimum_scale(const DecodeSite& site, const Xbyak::Xmm& out) const;

private:
    DecoderTraits traits_;
};

constexpr size_t max_decoder_registers(Isa isa) { return has_avx512(isa) ? 14 : 8; }

// The decoder of a type whose activations are RowFormat::i16; null for float types and those that are no weights.
const Decoder* find_decoder(DType type);

// The one of that type among these, or null.
const Decoder* decoder_of(DType type, std::initializer_list<const Decoder*> decoders);

// Families, one file each; null for a type of another family.
const Decoder* find_block32_decoder(DType type);   // Q4_0, Q4_1, Q5_0, Q5_1, Q8_0
const Decoder* find_k_decoder(DType type);         // Q2_K to Q6_K
const Decoder* find_codebook_decoder(DType type);  // IQ4_NL, IQ4_XS, MXFP4, NVFP4
const Decoder* find_ternary_decoder(DType type);   // Q1_0, Q2_0, TQ1_0, TQ2_0
const Decoder* find_grid_decoder(DType type);      // IQ1, IQ2, IQ3

}  // namespace riftjit::x86
