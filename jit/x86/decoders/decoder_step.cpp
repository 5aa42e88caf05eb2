#include "jit/x86/decoders/decoder_step.h"

#include "host/result.h"
#include "jit/x86/decoders/decoder_ops.h"

namespace riftjit::x86 {

using Xbyak::Reg64;
using Xbyak::Xmm;

namespace {
constexpr int kFirstDecoderRegister = 4;
}

DecodedStep DecodedStep::at(int first, int line_bytes, const DecoderTraits& traits) {
    DecodedStep step{.line_bytes = line_bytes, .pairs = first};
    step.scales = step.pairs + static_cast<int>(kStepElements) / 2 * line_bytes;
    step.minima = step.scales + static_cast<int>(kStepElements) / traits.segment * line_bytes;
    const int minima = traits.minimum == Minimum::none ? 0 : static_cast<int>(kStepElements) / traits.group;
    step.minimum_scale = step.minima + minima * line_bytes;
    return step;
}

struct StepDecoder::Target {
    const Reg64& decoded;
    const DecodedStep& step;
    X86Emitter& code;
    const PairSink& sink;

    void store_line(int first, uint32_t index, int half, const Xmm& value) const {
        store(code, code.ptr[decoded + first + static_cast<int>(index) * step.line_bytes + half * 32], value);
    }
};

StepDecoder::StepDecoder(X86Emitter& emitter, const Decoder& decoder, const Reg64& table)
    : code_(emitter),
      decoder_(decoder),
      traits_(decoder.traits()),
      registers_{.table = table},
      multiplier_(emitter.vector(0)),
      zero_point_(emitter.vector(1)),
      low_halves_(emitter.vector(2)),
      scratch_(emitter.vector(3)) {
    const size_t constants = decoder.constants(emitter.isa()).size(), temporaries = decoder.temporaries(emitter.isa());
    check(constants + temporaries <= max_decoder_registers(emitter.isa()), "a decoder keeps to its registers");
    static_assert(kFirstDecoderRegister + max_decoder_registers(Isa::avx512) == kFreeRegister);
    int next = kFirstDecoderRegister;
    for (size_t i = 0; i < constants; ++i) registers_.constants.push_back(next++);
    for (size_t i = 0; i < temporaries; ++i) registers_.temporaries.push_back(next++);
}

void StepDecoder::prepare() {
    decoder_.prepare(DecodeSite(code_, traits_, registers_, DecodeSite::Place()));
    const auto zero_point = static_cast<uint16_t>(traits_.zero_point);
    if (zero_point != 0) code_.vpbroadcastd(zero_point_, code_.constant_u32(zero_point | uint32_t(zero_point) << 16));
    if (traits_.sub_scale == SubScale::integer) code_.vpbroadcastd(low_halves_, code_.constant_u32(0xffff));
}

void StepDecoder::emit_step(uint32_t blocks, const Reg64& header, const Reg64& body, const Reg64& decoded,
                            const DecodedStep& to) {
    emit_step(blocks, header, body, decoded, to, body, 0);
}

void StepDecoder::emit_step(uint32_t blocks, const Reg64& header, const Reg64& body, const Reg64& decoded,
                            const DecodedStep& to, const Reg64& next_body, uint32_t lines, const PairSink& sink) {
    const uint32_t groups = blocks * riftjit::traits(traits_.type).block_elements / traits_.group;
    const Target target{decoded, to, code_, sink};
    for (uint32_t group = 0; group < groups; ++group) {
        for (uint32_t line = group * lines / groups; line < (group + 1) * lines / groups; ++line)
            code_.prefetcht1(code_.ptr[next_body + static_cast<int>(line) * 64]);
        for (int half = 0; half < code_.halves(); ++half)
            decode_group(DecodeSite(code_, traits_, registers_, {.header = header, .body = body, .half = half}), group,
                         target);
    }
    for (int half = 0; half < code_.halves(); ++half)
        decode_scales(DecodeSite(code_, traits_, registers_, {.header = header, .body = body, .half = half}), groups,
                      target);
}

// q becomes m * (q - zero_point), which fits i16 (decoder.h).
void StepDecoder::decode_group(const DecodeSite& site, uint32_t group, const Target& target) {
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
        target.store_line(target.step.pairs, index_in_step, site.half(), pair);
    });
}

void StepDecoder::decode_scales(const DecodeSite& site, uint32_t groups, const Target& target) {
    for (uint32_t segment = 0; segment < groups * traits_.group / traits_.segment; ++segment) {
        decoder_.scale(site, segment, scratch_);
        target.store_line(target.step.scales, segment, site.half(), scratch_);
    }
    if (traits_.minimum == Minimum::none) return;
    for (uint32_t group = 0; group < groups; ++group) {
        decoder_.minimum(site, group, scratch_);
        target.store_line(target.step.minima, group, site.half(), scratch_);
    }
    if (traits_.minimum == Minimum::integer) {
        decoder_.minimum_scale(site, scratch_);
        target.store_line(target.step.minimum_scale, 0, site.half(), scratch_);
    }
}

}  // namespace riftjit::x86
