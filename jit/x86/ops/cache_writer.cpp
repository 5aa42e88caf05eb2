#include "jit/x86/ops/cache_writer.h"

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
