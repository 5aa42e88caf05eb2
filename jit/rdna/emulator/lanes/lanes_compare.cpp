// Compares of integers over lanes, and those whose outcome is known.
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_compare {
namespace {

using E = LaneEmitter;
constexpr uint32_t kSignBit = 0x80000000, kOnes = 0xFFFFFFFF;
constexpr Sign kSigned = Sign::is_signed, kUnsigned = Sign::is_unsigned;

enum class Compare : uint8_t { equal = 0, less = 1, less_equal = 2, not_equal = 4, greater_equal = 5, greater = 6 };
constexpr uint8_t predicate(Compare compare) { return static_cast<uint8_t>(compare); }  // of VPCMPD
constexpr bool is_equality(Compare compare) { return compare == Compare::equal || compare == Compare::not_equal; }

// AVX2 has only equal and signed greater: the rest is one of them with operands exchanged, the outcome inverted, or
// both.
constexpr bool is_inverted(Compare compare) {
    return compare == Compare::not_equal || compare == Compare::less_equal || compare == Compare::greater_equal;
}
constexpr bool is_less(Compare compare) { return compare == Compare::less || compare == Compare::greater_equal; }

template <Sign S, Compare C>
void compare_words(E& e) {
    if (e.is_avx512())
        return S == kSigned ? e.vpcmpd(e.found, e.a, e.b, predicate(C)) : e.vpcmpud(e.found, e.a, e.b, predicate(C));
    if (S == kUnsigned && !is_equality(C)) {  // with their sign bits flipped they are ordered as signed ones
        e.vpxor(e.a, e.a, e.constant[0]);
        e.vpxor(e.b, e.b, e.constant[0]);
    }
    if (is_equality(C))
        e.vpcmpeqd(e.found_lanes, e.a, e.b);
    else
        is_less(C) ? e.vpcmpgtd(e.found_lanes, e.b, e.a) : e.vpcmpgtd(e.found_lanes, e.a, e.b);
    if (is_inverted(C)) e.vpxor(e.found_lanes, e.found_lanes, e.constant[1]);
}

template <Compare C>
void compare_equal_pairs(E& e) {
    if (e.is_avx512()) {
        e.vpcmpeqd(e.found, e.a, e.b);
        e.vpcmpeqd(e.found | e.found, e.a_high, e.b_high);
        if (is_inverted(C)) e.knotw(e.found, e.found);
    } else {
        e.vpcmpeqd(e.t, e.a, e.b);
        e.vpcmpeqd(e.found_lanes, e.a_high, e.b_high);
        e.vpand(e.found_lanes, e.found_lanes, e.t);
        if (is_inverted(C)) e.vpxor(e.found_lanes, e.found_lanes, e.constant[1]);
    }
}
// By the upper words, and where they are equal by the lower ones, which have no sign.
template <Sign S, Compare C>
void order_pairs_avx512(E& e) {
    const bool is_below = C == Compare::less || C == Compare::less_equal;
    const uint8_t strict = predicate(is_below ? Compare::less : Compare::greater);
    e.vpcmpeqd(e.found, e.a_high, e.b_high);
    e.vpcmpud(e.found | e.found, e.a, e.b, predicate(C));
    S == kSigned ? e.vpcmpd(e.k4, e.a_high, e.b_high, strict) : e.vpcmpud(e.k4, e.a_high, e.b_high, strict);
    e.korw(e.found, e.found, e.k4);
}
template <Sign S, Compare C>
void order_pairs_avx2(E& e) {
    e.vpxor(e.a, e.a, e.constant[0]);
    e.vpxor(e.b, e.b, e.constant[0]);
    if (S == kUnsigned) {
        e.vpxor(e.a_high, e.a_high, e.constant[0]);
        e.vpxor(e.b_high, e.b_high, e.constant[0]);
    }
    const auto greater = [&](const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Xmm& y) {
        is_less(C) ? e.vpcmpgtd(to, y, x) : e.vpcmpgtd(to, x, y);
    };
    greater(e.t, e.a, e.b);
    e.vpcmpeqd(e.u, e.a_high, e.b_high);
    e.vpand(e.t, e.t, e.u);
    greater(e.found_lanes, e.a_high, e.b_high);
    e.vpor(e.found_lanes, e.found_lanes, e.t);
    if (is_inverted(C)) e.vpxor(e.found_lanes, e.found_lanes, e.constant[1]);
}
template <Sign S, Compare C>
void compare_pairs(E& e) {
    if (is_equality(C)) return compare_equal_pairs<C>(e);
    e.is_avx512() ? order_pairs_avx512<S, C>(e) : order_pairs_avx2<S, C>(e);
}

void find_none(E& e) {
    e.is_avx512() ? e.kxorw(e.found, e.found, e.found) : e.vpxor(e.found_lanes, e.found_lanes, e.found_lanes);
}
void find_all(E& e) {
    e.is_avx512() ? e.kxnorw(e.found, e.found, e.found) : e.vpcmpeqd(e.found_lanes, e.found_lanes, e.found_lanes);
}

constexpr LaneOperation mask(Opcode opcode, uint8_t sources, LaneEmit emit) {
    return {opcode, sources, LaneKernelResult::mask, LaneCheck::none, {kSignBit, kOnes}, emit};
}
template <Sign S, Compare C>
constexpr LaneOperation words(Opcode opcode) {
    return mask(opcode, 2, compare_words<S, C>);
}
// In the upper half of a word they are ordered as words are, above zeros.
template <Sign S, Compare C>
void compare_halves(E& e) {
    e.vpslld(e.a, e.a, 16);
    e.vpslld(e.b, e.b, 16);
    compare_words<S, C>(e);
}
template <Sign S, Compare C>
constexpr LaneOperation halves(Opcode opcode) {
    LaneOperation operation = mask(opcode, 2, compare_halves<S, C>);
    operation.halves.sources = HalfSources::bits;
    return operation;
}
template <Sign S, Compare C>
constexpr LaneOperation pairs(Opcode opcode) {
    LaneOperation operation = mask(opcode, 2, compare_pairs<S, C>);
    operation.widths.sources = {2, 2, 1};
    return operation;
}

constexpr LaneOperation kOperations[] = {
    words<kSigned, Compare::less>(Opcode::v_cmp_lt_i32),
    words<kSigned, Compare::equal>(Opcode::v_cmp_eq_i32),
    words<kSigned, Compare::less_equal>(Opcode::v_cmp_le_i32),
    words<kSigned, Compare::greater>(Opcode::v_cmp_gt_i32),
    words<kSigned, Compare::not_equal>(Opcode::v_cmp_ne_i32),
    words<kSigned, Compare::greater_equal>(Opcode::v_cmp_ge_i32),
    words<kUnsigned, Compare::less>(Opcode::v_cmp_lt_u32),
    words<kUnsigned, Compare::equal>(Opcode::v_cmp_eq_u32),
    words<kUnsigned, Compare::less_equal>(Opcode::v_cmp_le_u32),
    words<kUnsigned, Compare::greater>(Opcode::v_cmp_gt_u32),
    words<kUnsigned, Compare::not_equal>(Opcode::v_cmp_ne_u32),
    words<kUnsigned, Compare::greater_equal>(Opcode::v_cmp_ge_u32),
    halves<kSigned, Compare::less>(Opcode::v_cmp_lt_i16),
    halves<kSigned, Compare::equal>(Opcode::v_cmp_eq_i16),
    halves<kSigned, Compare::less_equal>(Opcode::v_cmp_le_i16),
    halves<kSigned, Compare::greater>(Opcode::v_cmp_gt_i16),
    halves<kSigned, Compare::not_equal>(Opcode::v_cmp_ne_i16),
    halves<kSigned, Compare::greater_equal>(Opcode::v_cmp_ge_i16),
    halves<kUnsigned, Compare::less>(Opcode::v_cmp_lt_u16),
    halves<kUnsigned, Compare::equal>(Opcode::v_cmp_eq_u16),
    halves<kUnsigned, Compare::less_equal>(Opcode::v_cmp_le_u16),
    halves<kUnsigned, Compare::greater>(Opcode::v_cmp_gt_u16),
    halves<kUnsigned, Compare::not_equal>(Opcode::v_cmp_ne_u16),
    halves<kUnsigned, Compare::greater_equal>(Opcode::v_cmp_ge_u16),
    pairs<kSigned, Compare::less>(Opcode::v_cmp_lt_i64),
    pairs<kSigned, Compare::equal>(Opcode::v_cmp_eq_i64),
    pairs<kSigned, Compare::less_equal>(Opcode::v_cmp_le_i64),
    pairs<kSigned, Compare::greater>(Opcode::v_cmp_gt_i64),
    pairs<kSigned, Compare::not_equal>(Opcode::v_cmp_ne_i64),
    pairs<kSigned, Compare::greater_equal>(Opcode::v_cmp_ge_i64),
    pairs<kUnsigned, Compare::less>(Opcode::v_cmp_lt_u64),
    pairs<kUnsigned, Compare::equal>(Opcode::v_cmp_eq_u64),
    pairs<kUnsigned, Compare::less_equal>(Opcode::v_cmp_le_u64),
    pairs<kUnsigned, Compare::greater>(Opcode::v_cmp_gt_u64),
    pairs<kUnsigned, Compare::not_equal>(Opcode::v_cmp_ne_u64),
    pairs<kUnsigned, Compare::greater_equal>(Opcode::v_cmp_ge_u64),
    mask(Opcode::v_cmp_f_i32, 0, find_none),
    mask(Opcode::v_cmp_f_u32, 0, find_none),
    mask(Opcode::v_cmp_f_f32, 0, find_none),
    mask(Opcode::v_cmp_f_i64, 0, find_none),
    mask(Opcode::v_cmp_f_u64, 0, find_none),
    mask(Opcode::v_cmp_f_f64, 0, find_none),
    mask(Opcode::v_cmp_f_f16, 0, find_none),
    mask(Opcode::v_cmp_t_i32, 0, find_all),
    mask(Opcode::v_cmp_t_u32, 0, find_all),
    mask(Opcode::v_cmp_t_f32, 0, find_all),
    mask(Opcode::v_cmp_t_i64, 0, find_all),
    mask(Opcode::v_cmp_t_u64, 0, find_all),
    mask(Opcode::v_cmp_t_f64, 0, find_all),
    mask(Opcode::v_cmp_t_f16, 0, find_all),
};

}  // namespace
}  // namespace lanes_compare

std::span<const LaneOperation> compare_lane_operations() { return lanes_compare::kOperations; }

}  // namespace riftjit::rdna::emulator
