#include "jit/x86/emit/wide.h"

#include <array>

#include "host/result.h"

namespace riftjit::x86 {

namespace {

std::array<uint32_t, kWideLanes> first_lanes(uint32_t count) {
    std::array<uint32_t, kWideLanes> words{};
    for (uint32_t lane = 0; lane < count; ++lane) words[lane] = ~0u;
    return words;
}
}  // namespace

Wide WideEmitter::wide(int index) const {
    check(index >= 0 && index < wide_registers(), "a register group that the level has");
    if (has_avx512(isa_)) return {Zmm(index), Zmm(index)};
    return {Ymm(2 * index), Ymm(2 * index + 1)};
}

void WideEmitter::vmovaps(const Wide& out, const Wide& source) {
    for (int half = 0; half < halves(); ++half) vmovaps(part(out, half), part(source, half));
}

void WideEmitter::vmovups(const Wide& out, const WideMemory& source) {
    for (int half = 0; half < halves(); ++half) vmovups(part(out, half), part(source, half));
}

void WideEmitter::vmovups(const WideMemory& out, const Wide& source) {
    for (int half = 0; half < halves(); ++half) vmovups(part(out, half), part(source, half));
}

void WideEmitter::vbroadcastss(const Wide& out, const Xbyak::Operand& source) {
    for (int half = 0; half < halves(); ++half) vbroadcastss(part(out, half), source);
}

void WideEmitter::select(const Wide& out, const LaneMask& mask, const Wide& yes, const Wide& no) {
    if (has_avx512(isa_)) return vblendmps(out.low | mask.bits, no.low, yes.low);
    for (int half = 0; half < halves(); ++half)
        vblendvps(part(out, half), part(no, half), part(yes, half), part(mask.words, half));
}

void WideEmitter::keep(const Wide& out, const LaneMask& mask, const Wide& value) {
    if (has_avx512(isa_)) return vmovaps(out.low | mask.bits | T_z, value.low);
    vandps(out, value, mask.words);
}

void WideEmitter::load_lanes(const Wide& out, const Xbyak::RegExp& start, uint32_t count) {
    check(count >= 1 && count <= kWideLanes, "1 to 16 lanes");
    if (count == kWideLanes) return vmovups(out, lanes_at(start));
    if (has_avx512(isa_)) {
        kmovw(k7, constant_u32((1u << count) - 1));
        return vmovups(out.low | k7 | T_z, ptr[start]);
    }
    const auto words = first_lanes(count);
    for (int half = 0; half < halves(); ++half) {  // VMASKMOVPS may overwrite its own mask
        vmovups(Ymm(part(out, half).getIdx()), constant_bytes(words.data() + 8 * half, 32, 32));
        vmaskmovps(part(out, half), part(out, half), part(lanes_at(start), half));
    }
}

void WideEmitter::store_lanes(const Xbyak::RegExp& start, const Wide& value, uint32_t count, const Wide& scratch) {
    check(count >= 1 && count <= kWideLanes, "1 to 16 lanes");
    if (count == kWideLanes) return vmovups(lanes_at(start), value);
    if (has_avx512(isa_)) {
        kmovw(k7, constant_u32((1u << count) - 1));
        return vmovups(ptr[start] | k7, value.low);
    }
    const auto words = first_lanes(count);
    for (int half = 0; half < halves(); ++half) {
        vmovups(part(scratch, half), constant_bytes(words.data() + 8 * half, 32, 32));
        vmaskmovps(part(lanes_at(start), half), part(scratch, half), part(value, half));
    }
}

void WideEmitter::clear_lanes_from(const Wide& value, uint32_t count) {
    if (count >= kWideLanes) return;
    const auto words = first_lanes(count);
    if (has_avx512(isa_)) return vandps(value.low, value.low, constant_bytes(words.data(), 64));
    for (int half = 0; half < halves(); ++half)
        vandps(part(value, half), part(value, half), constant_bytes(words.data() + 8 * half, 32, 32));
}

void WideEmitter::round_to_bf16(const Ymm& out, const Wide& value, const Wide& spare, const Wide& unordered) {
    const LaneMask is_nan = lane_mask(0, unordered);
    compare(is_nan, value, value, Compare::unordered);
    vpsrld(spare, value, 16);
    vandps(spare, spare, splat_u32(1));
    vpaddd(spare, spare, splat_u32(0x7fff));
    vpaddd(spare, spare, value);
    vorps(value, value, splat_u32(0x0040'0000));
    select(value, is_nan, value, spare);
    vpsrld(value, value, 16);
    if (has_avx512(isa_)) return vpmovdw(out, Zmm(value.index()));
    vpackusdw(out, ymm_of(value), Ymm(value.high.getIdx()));
    vpermq(out, out, 0b11'01'10'00);  // VPACKUSDW works within 128 bits
}

void WideEmitter::for_each_group(const Reg64& offset, uint32_t width, int unroll, const GroupBody& body) {
    const uint32_t round = kWideLanes * static_cast<uint32_t>(unroll);
    const uint32_t rounds = width / round, rest = width % round;
    for_count(offset, rounds, round * sizeof(float), [&] {
        for (int group = 0; group < unroll; ++group) body(group, kWideLanes);
    });
    if (rest == 0) return;
    mov(offset.cvt32(), static_cast<uint32_t>(rounds * round * sizeof(float)));
    for (uint32_t start = 0; start < rest; start += kWideLanes)
        body(static_cast<int>(start / kWideLanes), std::min(kWideLanes, rest - start));
}

void WideEmitter::fold(const Xmm& out, const Wide& value, const Xmm& scratch, const Combine& op) {
    fold_lanes(out, value.low, value.high, scratch, op);
}

void WideEmitter::fold_sum(const Xmm& out, const Wide& value, const Xmm& scratch) {
    fold(out, value, scratch, [this](const Xmm& sum, const Xmm& left, const Xmm& right) { vaddps(sum, left, right); });
}

}  // namespace riftjit::x86
