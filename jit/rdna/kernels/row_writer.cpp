#include "jit/rdna/kernels/row_writer.h"

#include "jit/rdna/kernels/numerics.h"
#include "jit/rdna/kernels/validate.h"

namespace riftjit::rdna::kernels {
namespace {
// Added to an f32 below 2^22, it leaves rint() of that in the lower bits, as two's complement.
constexpr float kRint = 0x1.8p23f;
constexpr uint32_t kRintBits = 0x4b40'0000;
constexpr uint32_t kHalf = kI16Block / 2;
// Bytes of v_perm_b32: 0 to 3 are those of its second source.
constexpr uint32_t kLowHalves = 0x0504'0100, kEvenBytes = 0x0604'0200;
}  // namespace

RowWriter::RowWriter(KernelAssembler& kernel, RowFormat format, uint32_t width)
    : k_(kernel),
      format_(format),
      row_{width},
      block_(kernel.vgpr()),
      codes_base_(kernel.vgpr()),
      rest_base_(kernel.vgpr()),
      rest_stride_(kernel.vgpr()),
      is_odd_(kernel.lane_mask()),
      is_scale_(kernel.lane_mask()),
      is_rest_(kernel.lane_mask()) {}

Result<void> RowWriter::check_format(std::string_view kernel, RowFormat format) {
    return refuse_if(format != RowFormat::f32 && format != RowFormat::i16, kernel, "rows that are neither f32 nor i16");
}

// Lanes 4 i and 4 i + 1 of a wave store the sums of 16 that lanes 4 i to 4 i + 3 have in the block's halves, lane 2 the
// scale: one store.
void RowWriter::locate(Vgpr lane, Vgpr block) {
    if (format_ == RowFormat::f32) return;
    const Vgpr in_wave = k_.vgpr(), in_four = k_.vgpr();
    const Sgpr is_sum = k_.lane_mask();
    k_.v_mov_b32(block_, block);
    k_.v_and_b32(in_wave, RowLanes::kWave - 1, lane);
    k_.v_lshlrev_b32(codes_base_, 2, in_wave);
    k_.v_and_b32(in_four, 3, in_wave);
    k_.v_sub_nc_u32(rest_base_, in_wave, in_four);
    k_.v_lshl_add_u32(rest_base_, in_four, std::countr_zero(kHalf / 16 * sizeof(int32_t)), rest_base_);
    k_.v_add_nc_u32(rest_base_, I16Row::kSumsOffset, rest_base_);
    k_.v_mov_b32(rest_stride_, I16Row::kBlockBytes);
    k_.v_cmp_eq_u32(is_scale_, 2, in_wave);
    k_.v_cndmask_b32(rest_stride_, rest_stride_, 4, is_scale_);
    k_.v_cndmask_b32(rest_base_, rest_base_, row_.scales_offset_bytes(), is_scale_);
    k_.v_cmp_eq_u32(is_odd_, 1, in_four);
    k_.v_cmp_gt_u32(is_sum, 2, in_four);
    k_.s_or_b32(is_rest_, is_sum, is_scale_);
}

void RowWriter::advance(uint32_t blocks) {
    if (format_ != RowFormat::f32) k_.v_add_nc_u32(block_, blocks, block_);
}

void RowWriter::write(RowLanes& lanes, const RowLanes::Quads& quads, Sgpr out) {
    if (format_ == RowFormat::f32) return lanes.store(quads, out);
    write_codes(lanes, quads, out, 0);
}

void RowWriter::write_to_lds(RowLanes& lanes, const RowLanes::Quads& quads, uint32_t lds) {
    check(format_ != RowFormat::f32, "quantised rows go to LDS");
    write_codes(lanes, quads, std::nullopt, lds);
}

void RowWriter::write_codes(RowLanes& lanes, const RowLanes::Quads& quads, std::optional<Sgpr> out, uint32_t lds) {
    std::vector<Codes> codes;
    for (uint32_t round = 0; round < lanes.rounds(); ++round)
        codes.push_back(quantize(quads[2 * round], quads[2 * round + 1]));
    for (uint32_t round = 0; round < lanes.rounds(); ++round)
        lanes.for_blocks(round, [&] {
            const Vgpr block = k_.vgpr();
            if (round != 0) k_.v_add_nc_u32(block, round * lanes.waves(), block_);
            store(codes[round], round == 0 ? block_ : block, out, lds);
        });
}

// As integers, which order as floats do and let NaN win.
Vgpr RowWriter::largest(Vgpr first, Vgpr second) {
    const Vgpr largest = k_.vgpr(), other = k_.vgpr();
    const auto magnitude = [&](Vgpr value) {
        const Vgpr result = k_.vgpr();
        k_.v_and_b32(result, 0x7fff'ffff, value);
        return result;
    };
    const Vgpr start = magnitude(first[0]);
    k_.v_max3_u32(largest, start, magnitude(first[1]), magnitude(first[2]));
    k_.v_max3_u32(largest, largest, magnitude(first[3]), magnitude(second[0]));
    k_.v_max3_u32(largest, largest, magnitude(second[1]), magnitude(second[2]));
    k_.v_max_u32(largest, largest, magnitude(second[3]));
    k_.wave_max_u32(largest, other);
    return largest;
}

// Scale and inverse are 0 below kI16Smallest, whose inverse would overflow; with infinity or NaN the scale is too, and
// so is everything computed from the row, whatever the codes.
RowWriter::Codes RowWriter::quantize(Vgpr first, Vgpr second) {
    const Vgpr magnitude = largest(first, second), scale = k_.vgpr(), inverse = k_.vgpr();
    const Sgpr is_tiny = k_.lane_mask();
    emit_divide(k_, scale, magnitude, float(kI16Max));
    emit_divide(k_, inverse, float(kI16Max), magnitude);
    k_.v_cmp_gt_f32(is_tiny, kI16Smallest, magnitude);
    k_.v_cndmask_b32(scale, scale, 0, is_tiny);
    k_.v_cndmask_b32(inverse, inverse, 0, is_tiny);

    const Codes codes = {k_.vgpr(2), k_.vgpr(2), k_.vgpr()};
    const Vgpr even = quantize_half(first, inverse, codes.high[0], codes.low[0]);
    const Vgpr odd = quantize_half(second, inverse, codes.high[1], codes.low[1]);
    k_.v_cndmask_b32(codes.rest, even, odd, is_odd_);
    k_.v_cndmask_b32(codes.rest, codes.rest, scale, is_scale_);
    return codes;
}

// Returns the sum of the codes of four lanes.
Vgpr RowWriter::quantize_half(Vgpr quad, Vgpr inverse, Vgpr high, Vgpr low) {
    const Vgpr codes = k_.vgpr(4), left = k_.vgpr(), right = k_.vgpr(), sum = k_.vgpr();
    for (unsigned i = 0; i < 4; ++i) {
        k_.v_mul_f32(codes[i], quad[i], inverse);
        k_.v_add_f32(codes[i], kRint, codes[i]);
    }
    k_.v_perm_b32(left, codes[1], codes[0], kLowHalves);
    k_.v_perm_b32(right, codes[3], codes[2], kLowHalves);
    k_.v_perm_b32(low, right, left, kEvenBytes);
    k_.v_and_b32(low, 0x7f7f'7f7f, low);
    k_.v_lshrrev_b32(left, 7, left);
    k_.v_lshrrev_b32(right, 7, right);
    k_.v_perm_b32(high, right, left, kEvenBytes);
    k_.v_add3_u32(sum, codes[0], codes[1], codes[2]);
    k_.v_add3_u32(sum, sum, codes[3], -4 * kRintBits);
    k_.v_add_nc_u32(sum, sum, sum, quad_perm(1, 0, 3, 2));
    k_.v_add_nc_u32(sum, sum, sum, quad_perm(2, 3, 0, 1));
    return sum;
}

void RowWriter::store(const Codes& codes, Vgpr block, std::optional<Sgpr> out, uint32_t lds) {
    const Vgpr offset = k_.vgpr(), rest_offset = k_.vgpr();
    const auto store_dword = [&](Vgpr to, Vgpr value, uint32_t at) {
        out ? k_.global_store_b32(to, value, *out, at) : k_.ds_store_b32(to, value, lds + at);
    };
    k_.v_mad_u32_u24(offset, block, I16Row::kBlockBytes, codes_base_);
    for (uint32_t half = 0; half < 2; ++half) {
        store_dword(offset, codes.high[half], I16Row::kHighOffset + half * kHalf);
        store_dword(offset, codes.low[half], I16Row::kLowOffset + half * kHalf);
    }
    k_.if_lanes(is_rest_, [&] {
        k_.v_mad_u32_u24(rest_offset, block, rest_stride_, rest_base_);
        store_dword(rest_offset, codes.rest, 0);
    });
}

}  // namespace riftjit::rdna::kernels
