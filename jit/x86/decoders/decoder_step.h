// Decodes one step of a panel, to memory: pairs with sub-scales and zero point folded in, which whoever multiplies by
// something else may take instead, or quads as dot products of bytes take them; and scales and minima. Shared by the
// tile forms of matmul and by embed.
#pragma once

#include "jit/x86/decoders/decoder.h"

namespace riftjit::x86 {

// Places of a decoded step, in bytes from a register. A line is one dword for each of the 16 rows. Scales are f32, one
// per segment; minima one per group, f32 where they are real or beside quads, else i32.
struct DecodedStep {
    int line_bytes;   // from one line to the next, at least 64
    int elements;     // first line: 128 pairs or 64 quads
    int scales;       // beside quads in the line of a segment's last group, of as many lines as groups
    int multipliers;  // beside quads: sub-scales, f32, one per group
    int minima, minimum_scale;

    // Lines one after the other from `first` on.
    static DecodedStep at(int first, int line_bytes, const DecoderTraits& traits, Elements elements);
    int end() const { return minimum_scale + line_bytes; }
};

// What a quad's bytes exceed q - zero_point by, so that they are unsigned where VPDPBUSD multiplies them: 0 or 128.
inline int quad_offset(const DecoderTraits& traits, Isa isa) {
    return has_vnni(isa) && (traits.is_signed || traits.zero_point != 0) ? 128 : 0;
}

class StepDecoder {
public:
    StepDecoder(X86Emitter& emitter, const Decoder& decoder, Elements elements, const Xbyak::Reg64& table);

    // Loads what emit_step keeps in registers. Clobbers the table register; vectors from here to the last emit_step
    // belong to this object: all below AVX-512, those before kFreeRegister there.
    static constexpr int kFreeRegister = 18;
    void prepare();
    // Decodes `blocks` blocks at header and body (of one panel) to `to`, relative to `decoded`.
    void emit_step(uint32_t blocks, const Xbyak::Reg64& header, const Xbyak::Reg64& body, const Xbyak::Reg64& decoded,
                   const DecodedStep& to);
    // The same, and prefetches the `lines` cache lines at next_body on the way. With a sink the pairs (index 0 to 127,
    // in any order within a group) go there instead.
    void emit_step(uint32_t blocks, const Xbyak::Reg64& header, const Xbyak::Reg64& body, const Xbyak::Reg64& decoded,
                   const DecodedStep& to, const Xbyak::Reg64& next_body, uint32_t lines,
                   const ElementSink& sink = nullptr);

private:
    struct Target;
    void decode_pairs(const DecodeSite& site, uint32_t group, const Target& target);
    void decode_quads(const DecodeSite& site, uint32_t group, const Target& target);
    void decode_scales(const DecodeSite& site, uint32_t groups, const Target& target);

    X86Emitter& code_;
    const Decoder& decoder_;
    const DecoderTraits& traits_;
    DecodeSite::Registers registers_;
    const Xbyak::Xmm multiplier_, zero_point_, low_halves_, scratch_;  // zero_point_: of quads what they are raised by
};

}  // namespace riftjit::x86
