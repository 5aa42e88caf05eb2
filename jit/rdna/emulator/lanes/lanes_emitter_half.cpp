// Operands of 16 bits: halves of words, and f16, whose arithmetic the host does in f32. AVX-512: k7 the halves of a
// destination that stay.
#include "jit/rdna/emulator/lanes/lanes_emitter.h"

namespace riftjit::rdna::emulator {

using namespace Xbyak;
using namespace Xbyak::util;

namespace {

constexpr uint32_t kLowHalves = 0x55555555, kHighHalves = 0xAAAAAAAA;  // of words, as masks over halves
constexpr uint32_t kHalfMagnitude = 0x7FFF, kHalfInfinity = 0x7C00;
constexpr int kPairOfSums = 5;  // where the f32 results of pairs are computed

}  // namespace

void LaneEmitter::keep_other_halves() {
    if (!is_avx512() || !operation_.halves.is_merged()) return;
    mov(eax, writes_high_half() ? kLowHalves : kHighHalves);
    kmovd(k7, eax);
}

void LaneEmitter::gather_halves(const Xmm& to, const uint16_t* table, const Xmm& indices) {
    mov(r9, reinterpret_cast<uintptr_t>(table));
    if (is_avx512()) {
        kxnorw(k4, k4, k4);
        vpgatherdd(to | k4, ptr[r9 + indices * sizeof(uint16_t)]);
    } else {
        vpcmpeqd(found_lanes, found_lanes, found_lanes);
        vpgatherdd(to, ptr[r9 + indices * sizeof(uint16_t)], found_lanes);
    }
}

void LaneEmitter::widen_sources() {
    const std::array<Xmm, 3> sources{a, b, c};
    for (unsigned i = 0; i < operation_.sources; ++i) {
        const bool is_half = operation_.halves.sources == HalfSources::f16 ||
                             (operation_.halves.sources == HalfSources::mixed && (variant_ >> i & 1) != 0);
        if (is_half) widen(sources[i], sources[i]);
    }
}

void LaneEmitter::place_half() {
    if (operation_.halves.result == HalfResult::f16) narrow(d, d, HalfRounding::nearest_even);
    if (writes_high_half()) vpslld(d, d, 16);
    const Xbyak::Address before = ptr[rdi + offset()];
    constexpr uint8_t kOddHalves = 0xAA, kEvenHalves = 0x55;
    if (is_avx512())
        vmovdqu16(d | k7, before);
    else
        vpblendw(d, d, before, writes_high_half() ? kEvenHalves : kOddHalves);
}

// Halves in the order that they lie in, so the first half of a block's words makes one register of f32.
void LaneEmitter::emit_half_pairs() {
    const std::array<Xmm, 3> sources{a, b, c};
    const std::array<Reg64, 3> from{rsi, rdx, rcx};
    const int part_bytes = static_cast<int>(block_bytes() / 2);
    const Xmm result = d, sums = vector(kPairOfSums);
    for (int part = 0; part < 2; ++part) {
        for (size_t i = 0; i < operation_.sources; ++i)
            vcvtph2ps(sources[i], ptr[from[i] + offset() + part * part_bytes]);
        d = sums;
        operation_.emit(*this);
        const Xmm narrowed = part == 0 ? half_width(result) : half_width(sums);
        vcvtps2ph(narrowed, sums, static_cast<uint8_t>(HalfRounding::nearest_even));
    }
    join_halves(result, result, sums);
    d = result;
}

void LaneEmitter::decline(const Xmm& lanes) {  // all ones in lanes to decline for
    if (is_avx512()) {
        vpmovd2m(k4, lanes);
        note_lanes();
    } else {
        if (masked_) vpand(lanes, lanes, ymm15);
        vpor(ymm7, ymm7, lanes);
    }
}

void LaneEmitter::note_lanes() {
    kandw(k4, k4, block_ == 0 ? k1 : k2);
    korw(k3, k3, k4);
}

void LaneEmitter::decline_unordered(const Xmm& x, const Xmm& y) {
    if (is_avx512()) {
        vcmpps(k4, x, y, kUnordered);
        note_lanes();
    } else {
        vcmpps(t, x, y, kUnordered);
        decline(t);
    }
}

void LaneEmitter::decline_quads(const Xmm& quads) {
    if (is_avx512()) {
        vpmovq2m(k4, quads);
        korw(k3, k3, k4);
    } else {
        vpor(ymm7, ymm7, quads);
    }
}

void LaneEmitter::decline_clear_quads(const Xmm& x, uint64_t mask) {  // whatever lanes are active
    if (is_avx512()) {
        vptestnmq(k4, x, every_quad(mask));
        korw(k3, k3, k4);
    } else {
        vpand(x, x, every_quad(mask));
        vpxor(u, u, u);
        vpcmpeqq(x, x, u);
        vpor(ymm7, ymm7, x);
    }
}

void LaneEmitter::decline_half_nans(std::initializer_list<Xmm> values, HalfPlaces places) {
    const bool both = places == HalfPlaces::both;
    const Xmm mask = vector(kPairOfSums);
    load_word(mask, both ? kHalfMagnitude << 16 | kHalfMagnitude : kHalfMagnitude);
    bool is_first = true;
    for (const Xmm& value : values) {  // t: the greatest magnitude
        and_bits(is_first ? t : u, value, mask);
        if (!is_first) vpmaxuw(t, t, u);
        is_first = false;
    }
    if (both) {
        vpslld(u, t, 16);
        vpmaxuw(t, t, u);
        vpsrld(t, t, 16);
    }
    load_word(mask, kHalfInfinity);
    if (is_avx512()) {
        vpcmpgtd(k4, t, mask);
        note_lanes();
    } else {
        vpcmpgtd(t, t, mask);
        decline(t);
    }
}

}  // namespace riftjit::rdna::emulator
