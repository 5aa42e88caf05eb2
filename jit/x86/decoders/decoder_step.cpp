#include "jit/x86/decoders/decoder_step.h"

#include "host/result.h"
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

using Xbyak::Reg64;
using Xbyak::Xmm;

namespace {
constexpr int kFirstDecoderRegister = 4;
}

DecodedStep DecodedStep::at(int first, int line_bytes, const DecoderTraits& traits, Elements elements) {
    const bool has_quads = elements == Elements::quads;
    const int groups = static_cast<int>(kStepElements) / traits.group;
    DecodedStep step{.line_bytes = line_bytes, .elements = first};
    step.scales = step.elements + static_cast<int>(kStepElements) / (has_quads ? 4 : 2) * line_bytes;
    step.multipliers =
        step.scales + (has_quads ? groups : static_cast<int>(kStepElements) / traits.segment) * line_bytes;
    step.minima = step.multipliers + (has_quads && traits.sub_scale == SubScale::integer ? groups : 0) * line_bytes;
    step.minimum_scale = step.minima + (traits.minimum == Minimum::none ? 0 : groups) * line_bytes;
    return step;
}

struct StepDecoder::Target {
    const Reg64& decoded;
    const DecodedStep& step;
    X86Emitter& code;
    const ElementSink& sink;

    void store_line(int first, uint32_t index, int half, const Xmm& value) const {
        store(code, code.ptr[decoded + first + static_cast<int>(index) * step.line_bytes + half * 32], value);
    }
};

StepDecoder::StepDecoder(X86Emitter& emitter, const Decoder& decoder, Elements elements, const Reg64& table)
    : code_(emitter),
      decoder_(decoder),
      traits_(decoder.traits()),
      registers_{.elements = elements, .table = table},
      multiplier_(emitter.vector(0)),
      zero_point_(emitter.vector(1)),
      low_halves_(emitter.vector(2)),
      scratch_(emitter.vector(3)) {
    const size_t constants = decoder.constants(emitter.isa(), elements).size(),
                 temporaries = decoder.temporaries(emitter.isa(), elements);
    check(constants + temporaries <= max_decoder_registers(emitter.isa()), "a decoder keeps to its registers");
    static_assert(kFirstDecoderRegister + max_decoder_registers(Isa::avx512) == kFreeRegister);
    int next = kFirstDecoderRegister;
    for (size_t i = 0; i < constants; ++i) registers_.constants.push_back(next++);
    for (size_t i = 0; i < temporaries; ++i) registers_.temporaries.push_back(next++);
}

void StepDecoder::prepare() {
    decoder_.prepare(DecodeSite(code_, traits_, registers_, DecodeSite::Place()));
    if (registers_.elements == Elements::quads) {
        const auto raise = static_cast<uint8_t>(quad_offset(traits_, code_.isa()) - traits_.zero_point);
        return code_.vpbroadcastd(zero_point_, code_.constant_u32(raise * 0x101'0101u));
    }
    const auto zero_point = static_cast<uint16_t>(traits_.zero_point);
    if (zero_point != 0) code_.vpbroadcastd(zero_point_, code_.constant_u32(zero_point | uint32_t(zero_point) << 16));
    if (traits_.sub_scale == SubScale::integer) code_.vpbroadcastd(low_halves_, code_.constant_u32(0xffff));
}

void StepDecoder::emit_step(uint32_t blocks, const Reg64& header, const Reg64& body, const Reg64& decoded,
                            const DecodedStep& to) {
    emit_step(blocks, header, body, decoded, to, body, 0);
}

void StepDecoder::emit_step(uint32_t blocks, const Reg64& header, const Reg64& body, const Reg64& decoded,
                            const DecodedStep& to, const Reg64& next_body, uint32_t lines, const ElementSink& sink) {
    const uint32_t groups = blocks * riftjit::traits(traits_.type).block_elements / traits_.group;
    const Target target{decoded, to, code_, sink};
    for (uint32_t group = 0; group < groups; ++group) {
        for (uint32_t line = group * lines / groups; line < (group + 1) * lines / groups; ++line)
            code_.prefetcht1(code_.ptr[next_body + static_cast<int>(line) * 64]);
        for (int half = 0; half < code_.halves(); ++half) {
            const DecodeSite site(code_, traits_, registers_, {.header = header, .body = body, .half = half});
            registers_.elements == Elements::pairs ? decode_pairs(site, group, target)
                                                   : decode_quads(site, group, target);
        }
    }
    for (int half = 0; half < code_.halves(); ++half)
        decode_scales(DecodeSite(code_, traits_, registers_, {.header = header, .body = body, .half = half}), groups,
                      target);
}

// q becomes m * (q - zero_point), which fits i16 (decoder.h).
void StepDecoder::decode_pairs(const DecodeSite& site, uint32_t group, const Target& target) {
    if (traits_.sub_scale == SubScale::integer) {  // m in both halves of every dword
        decoder_.sub_scale(site, group, multiplier_);
        code_.vpslld(scratch_, multiplier_, 16);
        bit_and(code_, multiplier_, multiplier_, low_halves_);
        bit_or(code_, multiplier_, multiplier_, scratch_);
    }
    decoder_.unpack(site, group, [&](const Xmm& pair, uint32_t index) {
        if (traits_.zero_point != 0) code_.vpsubw(pair, pair, zero_point_);
        if (traits_.sub_scale == SubScale::integer) code_.vpmullw(pair, pair, multiplier_);
        const uint32_t index_in_step = group * traits_.group / 2 + index;
        if (target.sink) return target.sink(pair, index_in_step);
        target.store_line(target.step.elements, index_in_step, site.half(), pair);
    });
}

// q - zero_point, raised to u8 for VPDPBUSD; without VNNI zero points are left to the sums.
void StepDecoder::decode_quads(const DecodeSite& site, uint32_t group, const Target& target) {
    decoder_.unpack(site, group, [&](const Xmm& quad, uint32_t index) {
        if (quad_offset(traits_, code_.isa()) != 0) code_.vpaddb(quad, quad, zero_point_);
        target.store_line(target.step.elements, group * traits_.group / 4 + index, site.half(), quad);
    });
    if (traits_.sub_scale != SubScale::integer) return;
    decoder_.sub_scale(site, group, scratch_);
    code_.vcvtdq2ps(scratch_, scratch_);
    target.store_line(target.step.multipliers, group, site.half(), scratch_);
}

void StepDecoder::decode_scales(const DecodeSite& site, uint32_t groups, const Target& target) {
    const bool has_quads = registers_.elements == Elements::quads;
    const uint32_t groups_per_segment = traits_.segment / traits_.group;
    for (uint32_t segment = 0; segment < groups / groups_per_segment; ++segment) {
        decoder_.scale(site, segment, scratch_);
        const uint32_t line = has_quads ? (segment + 1) * groups_per_segment - 1 : segment;
        target.store_line(target.step.scales, line, site.half(), scratch_);
    }
    if (traits_.minimum == Minimum::none) return;
    for (uint32_t group = 0; group < groups; ++group) {
        decoder_.minimum(site, group, scratch_);
        if (has_quads && traits_.minimum == Minimum::integer) code_.vcvtdq2ps(scratch_, scratch_);
        target.store_line(target.step.minima, group, site.half(), scratch_);
    }
    if (traits_.minimum == Minimum::integer) {
        decoder_.minimum_scale(site, scratch_);
        target.store_line(target.step.minimum_scale, 0, site.half(), scratch_);
    }
}

}  // namespace riftjit::x86
