#include "jit/rdna/kernels/vector_product.h"

#include <algorithm>

#include "jit/kernel_spec.h"

namespace riftjit::rdna::kernels {

VectorProduct::VectorProduct(KernelAssembler& kernel, DType weight)
    : k_(kernel),
      weight_(weight),
      sums_(summation(weight_format(weight), kI16Max, kStepElements)),
      lane_(kernel.vgpr()),
      offsets_{kernel.vgpr(), kernel.vgpr(), kernel.vgpr()},
      high_(kernel.vgpr()),
      low_(kernel.vgpr()),
      minima_(kernel.vgpr()),
      block_(kernel.vgpr()) {}

void VectorProduct::locate(Vgpr lane) {
    k_.v_mov_b32(lane_, lane);
    k_.v_lshlrev_b32(offsets_.chunk, 4, lane);
    k_.v_lshlrev_b32(offsets_.half, 1, lane);
}

void VectorProduct::multiply_step(const StepLayout& layout, Sgpr step_address, Sgpr grid, CodeSource& codes) {
    if (layout.rest() != 0) k_.v_mul_u32_u24(offsets_.rest, layout.rest() * 4, lane_);
    StepString string(k_, layout, step_address, offsets_);
    string.load();
    QuadDecoder decoder(k_, weight_, layout, string, grid);
    k_.v_mov_b32(block_, 0);
    if (decoder.has_minimum()) k_.v_mov_b32(minima_, 0);
    constexpr uint32_t kPart = 64;  // as many codes as SGPRs take at once
    for (uint32_t first = 0; first < layout.elements; first += kPart)
        multiply_part(decoder, codes, first, std::min(kPart, layout.elements - first), layout.elements);
    if (!decoder.has_minimum()) return;
    const Vgpr sum = k_.vgpr();
    k_.v_cvt_f32_i32(sum, minima_);
    k_.v_fma_f32(block_, -sum, decoder.minimum_scale(0), block_);
}

// Elements [first, first + count) of the step.
void VectorProduct::multiply_part(QuadDecoder& decoder, CodeSource& codes, uint32_t first, uint32_t count,
                                  uint32_t elements) {
    const bool needs_sums = decoder.zero_point() != 0 || decoder.has_minimum() || decoder.has_offset();
    codes.load(first, count, needs_sums ? sums_.group : 0);
    for (uint32_t begin = first; begin < first + count; begin += sums_.group) {
        const uint32_t end = begin + sums_.group, group = (begin - first) / sums_.group;
        sum_group(decoder, codes, first, begin);
        if (decoder.has_minimum()) k_.v_mad_i32_i24(minima_, decoder.minimum(begin), codes.sum(group), minima_);
        if (end % sums_.segment != 0 && end != elements) continue;
        const Vgpr sum = k_.vgpr();
        k_.v_lshl_add_u32(sum, high_, 7, low_);
        k_.v_cvt_f32_i32(sum, sum);
        k_.v_fmac_f32(block_, sum, decoder.scale(begin));
        if (!decoder.has_offset()) continue;
        const Vgpr code_sum = k_.vgpr();
        k_.v_cvt_f32_i32(code_sum, codes.sum(group));
        k_.v_fmac_f32(block_, code_sum, decoder.offset(begin));
    }
}

// high and low (+)= multiplier * the sums of the group's products with each digit, less the zero point's share.
void VectorProduct::sum_group(QuadDecoder& decoder, CodeSource& codes, uint32_t first, uint32_t begin) {
    const bool begins_segment = begin % sums_.segment == 0;
    const int32_t zero_point = decoder.zero_point();
    const uint32_t group = (begin - first) / sums_.group;
    const auto start = [&](Vgpr high, Vgpr low) {
        k_.v_mov_b32(high, 0);
        zero_point != 0 ? codes.multiply_sum(low, group, -zero_point) : k_.v_mov_b32(low, 0);
    };
    const auto add_products = [&](Vgpr high, Vgpr low) {
        for (uint32_t element = begin; element < begin + sums_.group; element += 4) {
            const Vgpr quad = decoder.quad(element).bytes;
            k_.dot4_i8(high, quad, codes.high((element - first) / 4));
            k_.dot4_i8(low, quad, codes.low((element - first) / 4));
        }
    };
    if (!decoder.has_multiplier()) {
        if (begins_segment) {
            start(high_, low_);
        } else if (zero_point != 0) {
            const Vgpr share = k_.vgpr();
            codes.multiply_sum(share, group, -zero_point);
            k_.v_add_nc_u32(low_, low_, share);
        }
        return add_products(high_, low_);
    }
    const Vgpr high = k_.vgpr(), low = k_.vgpr(), multiplier = decoder.multiplier(begin);
    start(high, low);
    add_products(high, low);
    if (begins_segment) {
        k_.v_mul_i32_i24(high_, high, multiplier);
        k_.v_mul_i32_i24(low_, low, multiplier);
    } else {
        k_.v_mad_i32_i24(high_, high, multiplier, high_);
        k_.v_mad_i32_i24(low_, low, multiplier, low_);
    }
}

}  // namespace riftjit::rdna::kernels
