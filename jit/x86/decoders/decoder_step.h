// Decodes one step of a panel: i16 pairs with sub-scales and zero point folded in, to memory or to whoever takes them,
// and f32 scales and minima to memory. Shared by the tile forms of matmul and by embed.
#pragma once

#include "jit/x86/decoders/decoder.h"

namespace riftjit::x86 {

// Places of a decoded step, in bytes from a register. A line is one dword for each of the 16 rows.
struct DecodedStep {
    int line_bytes;                            // from one line to the next, at least 64
    int pairs, scales, minima, minimum_scale;  // first line of each: 128, one per segment, one per group, 1

    // Lines one after the other from `first` on.
    static DecodedStep at(int first, int line_bytes, const DecoderTraits& traits);
    int end() const { return minimum_scale + line_bytes; }
};

class StepDecoder {
public:
    StepDecoder(X86Emitter& emitter, const Decoder& decoder, const Xbyak::Reg64& table);

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
                   const PairSink& sink = nullptr);

private:
    struct Target;
    void decode_group(const DecodeSite& site, uint32_t group, const Target& target);
    void decode_scales(const DecodeSite& site, uint32_t groups, const Target& target);

    X86Emitter& code_;
    const Decoder& decoder_;
    const DecoderTraits& traits_;
    DecodeSite::Registers registers_;
    const Xbyak::Xmm multiplier_, zero_point_, low_halves_, scratch_;
};

}  // namespace riftjit::x86
