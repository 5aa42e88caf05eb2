#include "jit/x86/ops/cache_writer.h"

#include <array>
#include <bit>
#include <cstddef>

namespace riftjit::x86 {

namespace {
constexpr uint8_t kNearestEven = 0;  // VCVTPS2PH's immediate
constexpr float kLargestCode = 127.0f;
}  // namespace

void CacheWriter::locate_row(const RowPlace& place, const Reg64& batch, const Reg64& row, const Reg64& scratch) {
    const auto& [position, page] = place;
    mov(scratch, ptr[batch + offsetof(BatchState, row)]);
    mov(page.cvt32(), ptr[scratch + row * sizeof(BatchRow) + offsetof(BatchRow, sequence)]);
    mov(position.cvt32(), ptr[scratch + row * sizeof(BatchRow) + offsetof(BatchRow, position)]);
    mov(scratch.cvt32(), ptr[batch + offsetof(BatchState, pages_per_sequence)]);
    imul(page, scratch);
    mov(scratch.cvt32(), position.cvt32());
    shr(scratch.cvt32(), std::countr_zero(kKvPage));
    add(page, scratch);
    mov(scratch, ptr[batch + offsetof(BatchState, pages)]);
    mov(page.cvt32(), ptr[scratch + page * sizeof(uint32_t)]);
}

void CacheWriter::convert_to_f16(const Ymm& out, const Wide& value) {
    if (has_avx512(isa_)) return vcvtps2ph(out, Zmm(value.index()), kNearestEven);
    const Xmm low(value.low.getIdx()), high(value.high.getIdx());
    vcvtps2ph(low, Ymm(low.getIdx()), kNearestEven);
    vcvtps2ph(high, Ymm(high.getIdx()), kNearestEven);
    vinserti128(out, Ymm(low.getIdx()), high, 1);
}

void CacheWriter::convert_to_q8_0(const Q8Block& block, const Wide& spare) {
    const Xmm inverse = xmm_of(spare), is_zero = block.codes_high, scratch = block.codes_low;
    const Wide magnitude = spare;
    vandps(magnitude, block.low, splat_u32(0x7fff'ffff));
    const Wide high_magnitude{vector(block.codes_low.getIdx()), vector(block.codes_high.getIdx())};
    vandps(high_magnitude, block.high, splat_u32(0x7fff'ffff));
    vpmaxsd(magnitude, magnitude, high_magnitude);  // as integers: NaN wins
    fold(inverse, magnitude, scratch,
         [this](const Xmm& out, const Xmm& left, const Xmm& right) { vpmaxsd(out, left, right); });
    vdivss(block.scale, inverse, constant(kLargestCode));
    vcvtps2ph(block.scale, block.scale, kNearestEven);
    vcvtph2ps(scratch, block.scale);  // the scale that readers will see
    vxorps(is_zero, is_zero, is_zero);
    vcmpeqss(is_zero, is_zero, scratch);
    vmovss(inverse, constant(1.0f));
    vdivss(inverse, inverse, scratch);
    vandnps(inverse, is_zero, inverse);
    vbroadcastss(spare, inverse);
    vmulps(block.low, block.low, spare);
    vmulps(block.high, block.high, spare);
    vcvtps2dq(block.low, block.low);
    vcvtps2dq(block.high, block.high);
    pack_to_bytes(block.codes_low, block.low);
    pack_to_bytes(block.codes_high, block.high);
}

CacheWriter::PackedBlock CacheWriter::convert_to_packed(const PackedCache& format, const Xbyak::RegExp& block,
                                                        const Reg64 (&bits)[2]) {
    vmovups(block_low, lanes_at(block));
    vmovups(block_high, lanes_at(block + 64));
    format.table != nullptr ? find_table_codes(format, block, bits) : find_even_codes(format, block, bits);
    if (format.bits == 5) {
        for (int half = 1; half >= 0; --half) {
            const Reg32 lanes = bits[half == 1 ? 0 : 1].cvt32();
            vpsllw(scalar, half == 1 ? codes_of_high : codes_of_low, 3);
            vpmovmskb(lanes, scalar);
        }
        shl(bits[0].cvt32(), 16);
        or_(bits[0].cvt32(), bits[1].cvt32());
    }
    std::array<uint8_t, 16> low_bits;
    low_bits.fill(15);
    const Address mask = constant_bytes(low_bits.data(), sizeof low_bits, sizeof low_bits);
    vpand(codes_of_low, codes_of_low, mask);
    vpand(codes_of_high, codes_of_high, mask);
    vpsllw(codes_of_high, codes_of_high, 4);
    vpor(codes_of_low, codes_of_low, codes_of_high);
    vcvtps2ph(block_scale, block_scale, kNearestEven);
    if (format.has_minimum) vcvtps2ph(block_minimum, block_minimum, kNearestEven);
    return {codes_of_low, block_scale, block_minimum};
}

// out = the first value of the largest magnitude; as integers: NaN wins.
void CacheWriter::find_extreme(const Xmm& out, const Xbyak::RegExp& block, const Reg64 (&bits)[2]) {
    const Reg32 lanes = bits[0].cvt32(), more = bits[1].cvt32();
    vandps(left, block_low, splat_u32(0x7fff'ffff));
    vandps(right, block_high, splat_u32(0x7fff'ffff));
    vpmaxsd(splatted, left, right);
    fold(out, splatted, scalar, [this](const Xmm& to, const Xmm& a, const Xmm& b) { vpmaxsd(to, a, b); });
    vbroadcastss(splatted, out);
    Label found;
    equal_lanes(lanes, more, left, splatted);
    lea(bits[1], ptr[block]);
    bsf(lanes, lanes);
    jnz(found);
    equal_lanes(lanes, more, right, splatted);
    lea(bits[1], ptr[block + 64]);
    bsf(lanes, lanes);
    L(found);
    vmovss(out, ptr[bits[1] + bits[0] * sizeof(float)]);
}

// One bit per lane. Clobbers left.
void CacheWriter::equal_lanes(const Reg32& out, const Reg32& spare, const Wide& lanes, const Wide& value) {
    if (has_avx512(isa_)) {
        vpcmpeqd(k1, Zmm(lanes.index()), Zmm(value.index()));
        return kmovw(out, k1);
    }
    const Ymm low(lanes.low.getIdx()), high(lanes.high.getIdx());
    vpcmpeqd(low, low, Ymm(value.low.getIdx()));
    vpcmpeqd(high, high, Ymm(value.high.getIdx()));
    vmovmskps(out, low);
    vmovmskps(spare, high);
    shl(spare, 8);
    or_(out, spare);
}

// scalar = 1 / block_scale, or 0.
void CacheWriter::invert_scale() {
    const Xmm is_zero = xmm_of(splatted);
    vxorps(is_zero, is_zero, is_zero);
    vcmpeqss(is_zero, is_zero, block_scale);
    vmovss(scalar, constant(1.0f));
    vdivss(scalar, scalar, block_scale);
    vandnps(scalar, is_zero, scalar);
}

void CacheWriter::find_even_codes(const PackedCache& format, const Xbyak::RegExp& block, const Reg64 (&bits)[2]) {
    if (format.has_minimum) {
        vminps(left, block_low, block_high);
        fold(block_minimum, left, scalar, [this](const Xmm& to, const Xmm& a, const Xmm& b) { vminps(to, a, b); });
        vmaxps(left, block_low, block_high);
        fold(block_scale, left, scalar, [this](const Xmm& to, const Xmm& a, const Xmm& b) { vmaxps(to, a, b); });
        vsubss(block_scale, block_scale, block_minimum);
        vdivss(block_scale, block_scale, constant(float(format.largest_code())));
        vbroadcastss(splatted, block_minimum);
        vsubps(block_low, block_low, splatted);
        vsubps(block_high, block_high, splatted);
    } else {
        find_extreme(block_scale, block, bits);
        vdivss(block_scale, block_scale, constant(-float(format.zero())));
    }
    invert_scale();
    vbroadcastss(splatted, scalar);
    vbroadcastss(right, constant(float(format.zero()) + 0.5f));
    for (const Wide& values : {block_low, block_high}) {
        vfmadd213ps(values, splatted, right);
        vcvttps2dq(values, values);
    }
    vxorps(splatted, splatted, splatted);
    for (const Wide& values : {block_low, block_high}) {
        vpmaxsd(values, values, splatted);
        vpminsd(values, values, splat_u32(uint32_t(format.largest_code())));
    }
    pack_to_bytes(codes_of_low, block_low);
    pack_to_bytes(codes_of_high, block_high);
}

void CacheWriter::find_table_codes(const PackedCache& format, const Xbyak::RegExp& block, const Reg64 (&bits)[2]) {
    const uint32_t nothing = std::bit_cast<uint32_t>(1e-15f);
    const Wide products = wide(5), squares = wide(6);
    const LaneMask is_beyond = lane_mask(0, wide(7));
    const Xmm codes = scalar, entries = codes_of_high, spare(has_avx512(isa_) ? 8 : right.high.getIdx());
    if (format.is_by_norm) {
        vmulps(left, block_low, block_low);
        vfmadd231ps(left, block_high, block_high);
        fold_sum(block_scale, left, scalar);
        vmulss(block_scale, block_scale, constant(1.0f / PackedCache::kElements));
        vsqrtss(block_scale, block_scale, block_scale);
        vdivss(block_scale, block_scale, constant(kNormalDeviation));
    } else {
        find_extreme(block_scale, block, bits);
        vmovd(bits[0].cvt32(), block_scale);
        vdivss(block_scale, block_scale, constant(float(format.table[0])));
    }
    invert_scale();
    vbroadcastss(splatted, scalar);
    for (const bool is_low : {true, false}) {
        const Wide values = is_low ? block_low : block_high;
        vmulps(left, values, splatted);
        vxorps(right, right, right);
        for (int entry = 1; entry < 16; ++entry) {
            const float between = float(format.table[entry - 1] + format.table[entry]) / 2;
            compare(is_beyond, left, splat(between), Compare::greater_equal);
            if (has_avx512(isa_)) {
                vpaddd(Zmm(right.index()) | is_beyond.bits, Zmm(right.index()), splat_u32(1));
            } else {
                vpsubd(right, right, is_beyond.words);
            }
        }
        pack_to_bytes(codes, right);
        vmovdqu(entries, constant_bytes(format.table, 16, 16));
        vpshufb(entries, entries, codes);
        if (has_avx512(isa_)) {
            vpmovsxbd(Zmm(right.index()), entries);
        } else {
            vpsrldq(spare, entries, 8);
            vpmovsxbd(Ymm(right.high.getIdx()), spare);
            vpmovsxbd(Ymm(right.index()), entries);
        }
        vcvtdq2ps(right, right);
        if (format.is_by_norm) {
            vmovaps(left, right);
        } else {
            vmulps(left, values, values);
            vmulps(left, left, right);
        }
        if (is_low) {
            vmulps(products, left, values);
            vmulps(squares, left, right);
            vmovdqa(xmm_of(block_low), codes);
        } else {
            vfmadd231ps(products, left, values);
            vfmadd231ps(squares, left, right);
            vmovdqa(codes_of_high, codes);
        }
    }
    vmovdqa(codes_of_low, xmm_of(block_low));
    fold_sum(xmm_of(block_low), products, xmm_of(block_high));
    fold_sum(scalar, squares, xmm_of(block_high));
    vdivss(block_scale, xmm_of(block_low), scalar);
    if (format.is_by_norm) return;
    Label is_something;
    and_(bits[0].cvt32(), 0x7fff'ffff);
    cmp(bits[0].cvt32(), nothing);
    jae(is_something);
    vxorps(block_scale, block_scale, block_scale);
    L(is_something);
}

void CacheWriter::pack_to_bytes(const Xmm& out, const Wide& words) {
    if (has_avx512(isa_)) return vpmovsdb(out, Zmm(words.index()));
    const Ymm low(words.low.getIdx());
    vpackssdw(low, low, Ymm(words.high.getIdx()));
    vpermq(low, low, 0b11'01'10'00);  // VPACKSSDW works within 128 bits
    vextracti128(out, low, 1);
    vpacksswb(out, Xmm(low.getIdx()), out);
}

void CacheWriter::store_halves(const Xbyak::RegExp& start, const Ymm& halves, uint32_t count) {
    if (count == 16) return vmovdqu(ptr[start], halves);
    if (has_avx512(isa_)) {
        kmovd(k7, constant_u32((1u << count) - 1));
        return vmovdqu16(ptr[start] | k7, halves);
    }
    const Xmm rest(halves.getIdx());
    int stored = 0;
    if (count & 8) {
        vmovdqu(ptr[start], rest);
        vextracti128(rest, halves, 1);
        stored += 8;
    }
    if (count & 4) {
        vmovq(ptr[start + 2 * stored], rest);
        vpsrldq(rest, rest, 8);
        stored += 4;
    }
    if (count & 2) {
        vmovd(ptr[start + 2 * stored], rest);
        vpsrldq(rest, rest, 4);
        stored += 2;
    }
    if (count & 1) vpextrw(ptr[start + 2 * stored], rest, 0);
}

}  // namespace riftjit::x86
