#include "jit/x86/decoders/decoder.h"

#include <algorithm>
#include <limits>

#include "host/result.h"
#include "jit/formats/weight_bounds.h"
#include "jit/kernel_spec.h"
#include "jit/x86/decoders/decoder_ops.h"
#include "jit/x86/decoders/packed.h"

namespace riftjit::x86 {

using Xbyak::Xmm;

DecoderTraits decoder_traits(const PackedShape& shape) {
    const WeightBounds limits = bounds(weight_format(shape.type));
    const LaneResults& parts = weight_format(shape.type).results;
    const Summation sums = summation(weight_format(shape.type), kI16Max, kStepElements);
    DecoderTraits traits{shape};
    traits.group = static_cast<uint16_t>(sums.group);
    traits.segment = static_cast<uint16_t>(sums.segment);
    if (parts.multiplier != kNoStep) traits.sub_scale = SubScale::integer;
    if (parts.offset != kNoStep) traits.minimum = Minimum::real;
    if (parts.minimum != kNoStep) traits.minimum = Minimum::integer;
    traits.fits_byte = limits.product.least >= -128 && limits.product.most <= 127;
    const int64_t least = limits.code.least + shape.zero_point, most = limits.code.most + shape.zero_point;
    check(least >= -128 && most <= (least < 0 ? 127 : 255), "codes are bytes");
    traits.is_signed = least < 0;
    traits.most = static_cast<uint8_t>(std::max(-least, most));
    check(limits.product.magnitude() <= std::numeric_limits<int16_t>::max(), "m * (q - zero_point) fits i16");
    check(limits.product.magnitude() * traits.group * kI8Max < 1 << 24, "the sums of a group fit f32");
    check(limits.minimum.magnitude() * kStepElements * kI16Max <= std::numeric_limits<int32_t>::max(),
          "the minima of a step sum up in i32");
    return traits;
}

Xbyak::Address DecodeSite::body_dwords(uint32_t block, uint32_t dword) const {
    const uint32_t position = step_layout(traits_).body_position(block) + dword * 64;
    return code.ptr[place_.body + place_.body_offset + static_cast<int>(position) + place_.half * 32];
}

Xbyak::Address DecodeSite::header_halves(uint32_t block, uint32_t field) const {
    const uint32_t position = step_layout(traits_).header_position(block) + field * 32;
    return code.ptr[place_.header + place_.header_offset + static_cast<int>(position) + place_.half * 16];
}

Xbyak::Address DecodeSite::header_bytes(uint32_t block) const {
    const uint32_t position = step_layout(traits_).header_position(block);
    return code.ptr[place_.header + place_.header_offset + static_cast<int>(position) + place_.half * 8];
}

void Decoder::prepare(const DecodeSite& site) const {
    const auto values = constants(site.code.isa(), site.elements());
    for (size_t i = 0; i < values.size(); ++i)
        load(site.code, site.constant(i), site.code.constant_bytes(values[i].data(), sizeof values[i]));
}

void Decoder::sub_scale(const DecodeSite&, uint32_t, const Xmm&) const { check(false, "type without sub-scales"); }
void Decoder::minimum(const DecodeSite&, uint32_t, const Xmm&) const { check(false, "type without minima"); }
void Decoder::minimum_scale(const DecodeSite&, const Xmm&) const { check(false, "type without integer minima"); }

const Decoder* decoder_of(DType type, std::initializer_list<const Decoder*> decoders) {
    for (const Decoder* decoder : decoders)
        if (decoder->traits().type == type) return decoder;
    return nullptr;
}

const Decoder* find_decoder(DType type) {
    for (const auto find :
         {find_block32_decoder, find_k_decoder, find_codebook_decoder, find_ternary_decoder, find_grid_decoder})
        if (const Decoder* decoder = find(type)) return decoder;
    return nullptr;
}

}  // namespace riftjit::x86
