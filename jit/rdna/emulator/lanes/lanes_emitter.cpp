// Registers. Arguments: rdi d, rsi a, rdx b, rcx c, r8 lanes. rax gathers the mask returned, r9 and r10 are scratch.
// AVX-512: k1, k2 exec by block, k3 lanes to decline for, k4 scratch, k5 found, k6 condition; zmm0-15 the block's
// values, zmm16-19 results, zmm20-22 constants. AVX2: ymm0-6 values, ymm12-14 constants, ymm15 exec of the block. With
// a check: ymm7 lanes to decline for, ymm8-11 (pairs: -15) results until all are known. Without: ymm8, for pairs
// ymm7 too, the block's result, ymm9-11 values.
#include "jit/rdna/emulator/lanes/lanes_emitter.h"

#include "host/result.h"

namespace riftjit::rdna::emulator {

using namespace Xbyak;
using namespace Xbyak::util;

namespace {

constexpr int kConstantAvx512 = 20, kConstantAvx2 = 12;

}  // namespace

LaneEmitter::LaneEmitter(std::span<std::byte> buffer, LaneIsa isa, const LaneOperation& operation, uint8_t variant,
                         unsigned stride_words)
    : VectorEmitter(buffer, isa), operation_(operation), variant_(variant), stride_bytes_(stride_words * 4) {
    check(is_joined() || !operation.widths.has_pairs() || !is_deferred(), "no registers for split pairs and a check");
    check(!is_joined() || !is_deferred() || operation.result == LaneKernelResult::words,
          "no registers for the masks of numbers of 64 bits and a check");
    found_lanes = vector(5);
    condition_lanes = vector(6);
    for (int i = 0; i < 3; ++i)
        constant[static_cast<size_t>(i)] = vector((is_avx512() ? kConstantAvx512 : kConstantAvx2) + i);
    if (is_avx512() || !keeps_pairs()) load_constants();
    prepare_masks();
    if (is_avx512()) {
        emit_blocks(true);
    } else {  // masks cost AVX2 much: the usual full exec has a body of its own
        Label partial;
        cmp(r8d, -1);
        jne(partial, T_NEAR);
        emit_blocks(false);
        L(partial);
        emit_blocks(true);
    }
    L(declined_);
    mov(rax, -1);
    vzeroupper();
    ret();
    align(32);
    L(bits_);
    for (uint32_t lane = 0; lane < 8; ++lane) dd(1u << lane);
    emit_pool();
}

void LaneEmitter::load_constants() {
    for (size_t i = 0; i < 3; ++i) {
        if (operation_.constants[i] == 0) continue;
        mov(eax, operation_.constants[i]);
        if (is_avx512()) {
            vpbroadcastd(constant[i], eax);
        } else {
            vmovd(Xmm(constant[i].getIdx()), eax);
            vpbroadcastd(constant[i], Xmm(constant[i].getIdx()));
        }
    }
}

void LaneEmitter::prepare_masks() {
    keep_other_halves();
    xor_(eax, eax);
    if (!is_avx512()) {
        mov(r9, r8);
        shr(r9, 32);  // the condition
        return;
    }
    kmovq(k1, r8);
    kshiftrq(k2, k1, 16);
    kshiftrq(k6, k1, 32);
    kxorw(k3, k3, k3);
}

void LaneEmitter::expand_lanes(const Xmm& to, const Reg32& bits, unsigned block) {
    mov(r10d, bits);
    if (block != 0) shr(r10d, static_cast<int>(8 * block));
    vmovd(Xmm(to.getIdx()), r10d);
    vpbroadcastd(to, Xmm(to.getIdx()));
    vpand(to, to, ptr[rip + bits_]);
    vpcmpeqd(to, to, ptr[rip + bits_]);
}

void LaneEmitter::block_masks(bool masked) {
    if (is_avx512()) {
        if (block_ == 1) kshiftrq(k6, k6, 16);
    } else if (masked && !keeps_pairs()) {
        expand_lanes(ymm15, r8d, block_);
    }
}

void LaneEmitter::name_registers() {
    a = vector(0);
    b = vector(1);
    c = vector(2);
    t = vector(3);
    u = vector(4);
    a_high = v = vector(9);
    b_high = w = vector(10);
    c_high = vector(11);
    d = vector(result_register(block_));
    d_high = vector(upper_register(block_));
}

void LaneEmitter::load_sources() {
    const std::array<Xmm, 3> low{a, b, c}, high{a_high, b_high, c_high};
    const std::array<Reg64, 3> from{rsi, rdx, rcx};
    for (size_t i = 0; i < operation_.sources; ++i) {
        load(low[i], from[i], 0);
        if (operation_.widths.sources[i] == 2) load(high[i], from[i], 1);
    }
}

void LaneEmitter::load(const Xmm& to, const Reg64& from, unsigned part) {
    const auto place = ptr[from + offset() + static_cast<int>(part * stride_bytes_)];
    is_avx512() ? vmovdqu32(to, place) : vmovdqu(to, place);
}
void LaneEmitter::load_c(const Xmm& to, unsigned part) { load(to, rcx, part); }

void LaneEmitter::emit_blocks(bool masked) {
    masked_ = masked;
    if (!is_avx512() && is_deferred()) vpxor(ymm7, ymm7, ymm7);
    for (block_ = 0; block_ < blocks(); ++block_) {
        name_registers();
        block_masks(masked);
        if (is_joined()) {
            emit_joined();
        } else if (has_half_pairs()) {
            emit_half_pairs();
        } else {
            load_sources();
            widen_sources();
            operation_.emit(*this);
        }
        name_registers();  // an operation may have renamed them
        note_declined(masked);
        if (operation_.halves.is_merged()) place_half();
        if (operation_.result != LaneKernelResult::words) collect_mask();
        if (!is_deferred() && operation_.result != LaneKernelResult::mask)
            store(block_, masked ? std::optional(ymm15) : std::nullopt);
    }
    if (is_deferred()) {
        is_avx512() ? kortestw(k3, k3) : vptest(ymm7, ymm7);
        jnz(declined_, T_NEAR);
        if (operation_.result != LaneKernelResult::mask) store_all(masked);
    }
    if (operation_.result != LaneKernelResult::words) and_(eax, r8d);
    vzeroupper();
    ret();
}

void LaneEmitter::note_declined(bool masked) {
    const Opmask exec = block_ == 0 ? k1 : k2;
    const auto note = [&](const Xmm& x, const Xmm& y) {
        if (is_avx512()) {
            if (operation_.check == LaneCheck::lowest_result)
                vpcmpeqd(k4 | exec, x, y);
            else
                vcmpps(k4 | exec, x, y, kUnordered);
            korw(k3, k3, k4);
            return;
        }
        if (operation_.check == LaneCheck::lowest_result)
            vpcmpeqd(t, x, y);
        else
            vcmpps(t, x, y, kUnordered);
        if (masked) vpand(t, t, ymm15);
        vpor(ymm7, ymm7, t);
    };
    switch (operation_.check) {
        case LaneCheck::nan_result:
            return has_half_pairs() ? decline_half_nans({d}, HalfPlaces::both) : note(d, d);
        case LaneCheck::nan_source:
            return note(a, b);
        case LaneCheck::lowest_result:
            return note(d, constant[0]);
        case LaneCheck::nan_result_f64:
        case LaneCheck::by_operation:
        case LaneCheck::none:
            return;
    }
}

void LaneEmitter::note_nan_f64(const Xmm& doubles) {
    if (is_avx512()) {
        vcmppd(k4, doubles, doubles, kUnordered);
        korw(k3, k3, k4);
    } else {
        vcmppd(t, doubles, doubles, kUnordered);
        vpor(ymm7, ymm7, t);
    }
}

void LaneEmitter::collect_mask() {
    const Reg32 bits = block_ == 0 ? eax : r10d;
    is_avx512() ? kmovw(bits, found) : vmovmskps(bits, Ymm(found_lanes.getIdx()));
    if (block_ == 0) return;
    shl(r10d, static_cast<int>(block_ * block_bytes() / 4));
    or_(eax, r10d);
}

void LaneEmitter::store(unsigned block, std::optional<Ymm> exec) {
    const auto put = [&](int upper, int index) {
        const auto place = ptr[rdi + static_cast<int>(block * block_bytes()) + upper];
        if (is_avx512()) return vmovdqu32(place | (block == 0 ? k1 : k2), Zmm(index));
        if (!exec) return vmovdqu(place, Ymm(index));
        // The other lanes are written as they were: a masked store takes AMD's cores ten times as long.
        vmovdqu(ymm3, place);
        vblendvps(ymm3, ymm3, Ymm(index), *exec);
        vmovdqu(place, ymm3);
    };
    const std::array<int, 4> registers{result_register(block), upper_register(block), found_lanes.getIdx(),
                                       condition_lanes.getIdx()};
    for (unsigned part = 0; part < operation_.widths.result; ++part)
        put(static_cast<int>(part * stride_bytes_), registers[part]);
}

void LaneEmitter::store_all(bool masked) {
    for (unsigned block = 0; block < blocks(); ++block) {
        if (!is_avx512() && masked) expand_lanes(ymm0, r8d, block);
        store(block, masked ? std::optional(ymm0) : std::nullopt);
    }
}

// Low and high words interleave to numbers of 64 bits, two lanes of each 128 bits at a time, and part again afterwards.
void LaneEmitter::emit_joined() {
    const Xmm first = d, second = d_high;
    constexpr uint8_t kEvenWords = 0x88, kOddWords = 0xDD;
    for (unsigned half = 0; half < 2; ++half) {
        half_ = half;
        name_registers();
        d = half == 0 ? first : second;
        const std::array<Xmm, 3> sources{a, b, c};
        const std::array<Reg64, 3> from{rsi, rdx, rcx};
        for (size_t i = 0; i < operation_.sources; ++i)
            load_joined(sources[i], from[i], operation_.widths.sources[i], half);
        operation_.emit(*this);
        if (operation_.check == LaneCheck::nan_result_f64) note_nan_f64(d);
        if (operation_.result != LaneKernelResult::words) join_masks(half);
    }
    if (operation_.result == LaneKernelResult::mask) return;
    if (operation_.widths.result == 2) vshufps(t, first, second, kOddWords);
    vshufps(first, first, second, kEvenWords);
    if (operation_.widths.result == 2) move(second, t);
}

void LaneEmitter::load_joined(const Xmm& to, const Reg64& from, unsigned registers, unsigned half) {
    is_avx512() ? vmovdqu32(to, ptr[from + offset()]) : vmovdqu(to, ptr[from + offset()]);
    if (registers == 2) {
        const auto upper = ptr[from + offset() + static_cast<int>(stride_bytes_)];
        half == 0 ? vpunpckldq(to, to, upper) : vpunpckhdq(to, to, upper);
    } else {
        xor_bits(t, t, t);
        half == 0 ? vpunpckldq(to, to, t) : vpunpckhdq(to, to, t);
    }
}

// The masks of both halves of a block to one, by way of vectors.
void LaneEmitter::join_masks(unsigned half) {
    constexpr int kFirst = 11;  // where operations on numbers of 64 bits keep nothing
    const Xmm lanes = half == 0 ? vector(kFirst) : t;
    is_avx512() ? vpmovm2q(lanes, found) : vmovdqa(lanes, found_lanes);
    if (half == 0) return;
    constexpr uint8_t kEvenWords = 0x88;
    vshufps(found_lanes, vector(kFirst), lanes, kEvenWords);
    if (is_avx512()) vpmovd2m(found, found_lanes);
}

void LaneEmitter::load_lanes(const Xmm& to, const std::array<uint32_t, 32>& words) {
    const size_t lanes = block_bytes() / sizeof(uint32_t);
    const auto* const first = words.begin() + block_ * lanes;
    const Xbyak::Address place = pooled({first, first + lanes});
    is_avx512() ? vmovdqu32(to, place) : vmovdqu(to, place);
}

void LaneEmitter::load_condition() {
    if (!is_avx512()) expand_lanes(condition_lanes, r9d, block_);
}

void LaneEmitter::condition_to_lanes(const Xmm& to) {
    is_avx512() ? vpmovm2d(to, condition) : expand_lanes(to, r9d, block_);
}
void LaneEmitter::condition_to_quads(const Xmm& to) {
    condition_to_lanes(to);
    half_ == 0 ? vpunpckldq(to, to, to) : vpunpckhdq(to, to, to);
}
void LaneEmitter::found_from_lanes() {
    if (is_avx512()) vpmovd2m(found, found_lanes);
}
void LaneEmitter::found_from_quads() {
    if (is_avx512()) vpmovq2m(found, found_lanes);
}

void LaneEmitter::condition_from_found() {
    is_avx512() ? kmovw(condition, found) : vmovdqa(condition_lanes, found_lanes);
}

void LaneEmitter::invert(const Xmm& to, const Xmm& x) { xor_bits(to, x, constant[0]); }

void LaneEmitter::select() {
    load_condition();
    if (is_avx512())
        vpblendmd(d | condition, a, b);
    else
        vblendvps(d, a, b, condition_lanes);
}

void LaneEmitter::carry_lanes(const Xmm& smaller, const Xmm& larger) {  // smaller < larger, unsigned
    if (is_avx512()) {
        vpcmpud(found, smaller, larger, 1);
        return;
    }
    vpxor(t, smaller, constant[0]);
    vpxor(u, larger, constant[0]);
    vpcmpgtd(found_lanes, u, t);
}

void LaneEmitter::add_with_carry(CarryIn carry_in) {
    vpaddd(d, a, b);
    carry_lanes(d, a);
    if (carry_in == CarryIn::none) return;
    // A carry in overflows only a sum of all ones, which has not overflowed before.
    if (is_avx512()) {
        vpcmpeqd(k4 | condition, d, constant[1]);
        korw(found, found, k4);
        vpsubd(d | condition, d, constant[1]);
    } else {
        vpcmpeqd(t, d, constant[1]);
        vpand(t, t, condition_lanes);
        vpor(found_lanes, found_lanes, t);
        vpsubd(d, d, condition_lanes);
    }
}

void LaneEmitter::subtract_with_borrow(const Xmm& from, const Xmm& what, CarryIn carry_in) {
    carry_lanes(from, what);
    vpsubd(d, from, what);
    if (carry_in == CarryIn::none) return;
    if (is_avx512()) {
        vptestnmd(k4 | condition, d, d);
        korw(found, found, k4);
        vpaddd(d | condition, d, constant[1]);
    } else {
        vpxor(t, t, t);
        vpcmpeqd(t, d, t);
        vpand(t, t, condition_lanes);
        vpor(found_lanes, found_lanes, t);
        vpaddd(d, d, condition_lanes);
    }
}

}  // namespace riftjit::rdna::emulator
