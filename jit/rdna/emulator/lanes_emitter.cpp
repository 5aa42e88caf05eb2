// Registers. Arguments: rdi d, rsi a, rdx b, rcx c, r8 lanes. rax gathers the mask returned, r9 and r10 are scratch.
// AVX-512: k1, k2 exec by block, k3 lanes to decline for, k4 scratch, k5 found, k6 condition; zmm0-7 the block's
// values, zmm16-19 results, zmm20-22 constants. AVX2: ymm0-6 values, ymm7 lanes to decline for, ymm8-11 (64 bits: -15)
// results, ymm12-14 constants, ymm15 exec of the block.
#include "jit/rdna/emulator/lanes_emitter.h"

namespace riftjit::rdna::emulator {

using namespace Xbyak;
using namespace Xbyak::util;

namespace {

constexpr size_t kMaxCodeBytes = 4096;
constexpr uint8_t kUnordered = 3;  // predicate of VCMPPS
constexpr int kConstantAvx512 = 20, kConstantAvx2 = 12;

}  // namespace

LaneEmitter::LaneEmitter(LaneIsa isa, const LaneOperation& operation, uint8_t variant, unsigned stride_words)
    : CodeGenerator(kMaxCodeBytes, DontSetProtectRWE),
      isa_(isa),
      operation_(operation),
      variant_(variant),
      stride_bytes_(stride_words * 4) {
    a = vector(0);
    b = vector(1);
    c = vector(2);
    t = vector(3);
    u = vector(4);
    found_lanes = vector(5);
    condition_lanes = vector(6);
    for (int i = 0; i < 3; ++i)
        constant[static_cast<size_t>(i)] = vector((is_avx512() ? kConstantAvx512 : kConstantAvx2) + i);
    if (!is_64_bits()) load_constants();
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
}

Xmm LaneEmitter::vector(int index) const {
    return is_avx512() ? static_cast<Xmm>(Zmm(index)) : static_cast<Xmm>(Ymm(index));
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

void LaneEmitter::block_masks(unsigned block, bool masked) {
    if (is_avx512()) {
        if (block == 1) kshiftrq(k6, k6, 16);
        return;
    }
    const Opcode opcode = operation_.opcode;
    const bool reads_condition = opcode == Opcode::v_cndmask_b32 || opcode == Opcode::v_add_co_ci_u32 ||
                                 opcode == Opcode::v_sub_co_ci_u32 || opcode == Opcode::v_subrev_co_ci_u32;
    if (reads_condition) expand_lanes(condition_lanes, r9d, block);
    if (masked) expand_lanes(ymm15, r8d, block);
}

void LaneEmitter::load_sources(unsigned block) {
    const int offset = static_cast<int>(block * block_bytes());
    const auto load = [&](const Xmm& to, const Reg64& from) {
        is_avx512() ? vmovdqu32(to, ptr[from + offset]) : vmovdqu(to, ptr[from + offset]);
    };
    if (operation_.sources > 0) load(a, rsi);
    if (operation_.sources > 1) load(b, rdx);
    if (operation_.sources > 2) load(c, rcx);
}

void LaneEmitter::emit_blocks(bool masked) {
    if (!is_avx512()) vpxor(ymm7, ymm7, ymm7);
    for (unsigned block = 0; block < blocks(); ++block) {
        d = vector(result_register(block));
        if (is_64_bits()) {
            emit_f64_block(block);
            continue;
        }
        block_masks(block, masked);
        load_sources(block);
        operation_.emit(*this);
        note_declined(block, masked);
        if (operation_.result != LaneKernelResult::words) collect_mask(block);
    }
    if (operation_.check != LaneCheck::none) {
        is_avx512() ? kortestw(k3, k3) : vptest(ymm7, ymm7);
        jnz(declined_, T_NEAR);
    }
    if (operation_.result != LaneKernelResult::mask) store(masked);
    if (operation_.result != LaneKernelResult::words) and_(eax, r8d);
    vzeroupper();
    ret();
}

void LaneEmitter::note_declined(unsigned block, bool masked) {
    const Opmask exec = block == 0 ? k1 : k2;
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
            return note(d, d);
        case LaneCheck::nan_source:
            return note(a, b);
        case LaneCheck::lowest_result:
            return note(d, constant[0]);
        case LaneCheck::nan_result_f64:
        case LaneCheck::none:
            return;
    }
}

void LaneEmitter::collect_mask(unsigned block) {
    const Reg32 bits = block == 0 ? eax : r10d;
    is_avx512() ? kmovw(bits, found) : vmovmskps(bits, Ymm(found_lanes.getIdx()));
    if (block == 0) return;
    shl(r10d, static_cast<int>(block * block_bytes() / 4));
    or_(eax, r10d);
}

void LaneEmitter::store(bool masked) {
    const auto put = [&](unsigned block, int offset, int index) {
        const auto place = ptr[rdi + static_cast<int>(block * block_bytes()) + offset];
        if (is_avx512())
            vmovdqu32(place | (block == 0 ? k1 : k2), Zmm(index));
        else if (masked)
            vpmaskmovd(place, ymm0, Ymm(index));
        else
            vmovdqu(place, Ymm(index));
    };
    for (unsigned block = 0; block < blocks(); ++block) {
        if (!is_avx512() && masked) expand_lanes(ymm0, r8d, block);
        put(block, 0, result_register(block));
        if (is_64_bits()) put(block, static_cast<int>(stride_bytes_), upper_register(block));
    }
}

// Low and high words interleave to doubles, two lanes of each 128 bits at a time, and part again afterwards.
void LaneEmitter::emit_f64_block(unsigned block) {
    const int offset = static_cast<int>(block * block_bytes()), upper = offset + static_cast<int>(stride_bytes_);
    const auto load = [&](const Xmm& first, const Xmm& second, const Reg64& from) {
        const Xmm low = vector(6), high = vector(5);
        is_avx512() ? vmovdqu32(low, ptr[from + offset]) : vmovdqu(low, ptr[from + offset]);
        is_avx512() ? vmovdqu32(high, ptr[from + upper]) : vmovdqu(high, ptr[from + upper]);
        vpunpckldq(first, low, high);
        vpunpckhdq(second, low, high);
    };
    const Xmm a0 = vector(0), a1 = vector(1), b0 = vector(2), b1 = vector(3), result = vector(result_register(block)),
              rest = vector(upper_register(block));
    load(a0, a1, rsi);
    load(b0, b1, rdx);
    a = a0, b = b0, c = result, d = result;
    if (operation_.sources > 2) load(result, rest, rcx);
    operation_.emit(*this);
    a = a1, b = b1, c = rest, d = rest;
    operation_.emit(*this);
    for (const Xmm& doubles : {result, rest}) {
        if (is_avx512()) {
            vcmppd(k4, doubles, doubles, kUnordered);
            korw(k3, k3, k4);
        } else {
            vcmppd(vector(4), doubles, doubles, kUnordered);
            vpor(ymm7, ymm7, vector(4));
        }
    }
    constexpr uint8_t kEvenWords = 0x88, kOddWords = 0xDD;
    vshufps(vector(4), result, rest, kEvenWords);
    vshufps(rest, result, rest, kOddWords);
    is_avx512() ? vmovdqa32(result, vector(4)) : vmovdqa(result, vector(4));
}

void LaneEmitter::and_bits(const Xmm& to, const Xmm& x, const Xmm& y) {
    is_avx512() ? vpandd(to, x, y) : vpand(to, x, y);
}
void LaneEmitter::and_not_bits(const Xmm& to, const Xmm& inverted, const Xmm& y) {
    is_avx512() ? vpandnd(to, inverted, y) : vpandn(to, inverted, y);
}
void LaneEmitter::or_bits(const Xmm& to, const Xmm& x, const Xmm& y) { is_avx512() ? vpord(to, x, y) : vpor(to, x, y); }
void LaneEmitter::xor_bits(const Xmm& to, const Xmm& x, const Xmm& y) {
    is_avx512() ? vpxord(to, x, y) : vpxor(to, x, y);
}
void LaneEmitter::invert(const Xmm& to, const Xmm& x) { xor_bits(to, x, constant[0]); }

void LaneEmitter::round_f32(const Xmm& to, const Xmm& x, uint8_t mode) {
    is_avx512() ? vrndscaleps(to, x, mode) : vroundps(to, x, mode);
}

void LaneEmitter::compare_f32(uint8_t predicate) {
    is_avx512() ? vcmpps(found, a, b, predicate) : vcmpps(found_lanes, a, b, predicate);
}

// AVX2 has only equal and signed greater: unsigned operands have their sign flipped (constant 0), the rest is inverted
// (constant 1).
void LaneEmitter::compare_i32(bool is_signed, uint8_t predicate) {
    if (is_avx512()) {
        is_signed ? vpcmpd(found, a, b, predicate) : vpcmpud(found, a, b, predicate);
        return;
    }
    if (!is_signed) {
        vpxor(a, a, constant[0]);
        vpxor(b, b, constant[0]);
    }
    const uint8_t positive = predicate & 3;  // 4, 5, 6 invert 0, 1, 2
    if (positive == 0)
        vpcmpeqd(found_lanes, a, b);
    else if (positive == 1)
        vpcmpgtd(found_lanes, b, a);
    else
        vpcmpgtd(found_lanes, a, b);  // of which less-or-equal is the inverse
    const bool inverted = (predicate >= 4) != (positive == 2);
    if (inverted) vpxor(found_lanes, found_lanes, constant[1]);
}

void LaneEmitter::select() {
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
