// Compares of floats over lanes, and the tests of their class.
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_compare_float {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;

template <uint8_t Predicate>
void compare_f32(E& e) {
    e.is_avx512() ? e.vcmpps(e.found, e.a, e.b, Predicate) : e.vcmpps(e.found_lanes, e.a, e.b, Predicate);
}
template <uint8_t Predicate>
void compare_f64(E& e) {
    e.is_avx512() ? e.vcmppd(e.found, e.a, e.b, Predicate) : e.vcmppd(e.found_lanes, e.a, e.b, Predicate);
}

constexpr LaneOperation mask(Opcode opcode, LaneEmit emit) {
    return {opcode, 2, LaneKernelResult::mask, LaneCheck::none, {}, emit};
}
template <uint8_t Predicate>
constexpr LaneOperation singles(Opcode opcode) {
    return mask(opcode, compare_f32<Predicate>);
}
template <uint8_t Predicate>
constexpr LaneOperation doubles(Opcode opcode) {
    LaneOperation operation = mask(opcode, compare_f64<Predicate>);
    operation.widths.sources = {2, 2, 1};
    operation.layout = PairLayout::joined;
    return operation;
}
template <uint8_t Predicate>
constexpr LaneOperation halves(Opcode opcode) {
    LaneOperation operation = mask(opcode, compare_f32<Predicate>);
    operation.halves.sources = HalfSources::f16;
    return operation;
}

// The bits of a format by which its classes are told.
struct ClassBits {
    uint32_t magnitude, sign, min_normal, infinity, quiet;
};
constexpr ClassBits kSingle{0x7FFFFFFF, 0x80000000, 0x00800000, 0x7F800000, 0x7FC00000};
constexpr ClassBits kDouble{0x7FFFFFFF, 0x80000000, 0x00100000, 0x7FF00000, 0x7FF80000};  // of the upper word
constexpr ClassBits kHalf{0x7FFF, 0x8000, 0x0400, 0x7C00, 0x7E00};

// to -= 1 in lanes whose magnitude t is above the limit. Both are below 2^31, so the sign of the difference tells.
void count_above(E& e, const Xmm& to, uint32_t limit) {
    e.load_word(e.u, limit);
    e.vpsubd(e.u, e.u, e.t);
    e.vpsrad(e.u, e.u, 31);
    e.vpaddd(to, to, e.u);
}
// The bit of b that is the class of a: 0 and 1 signaling and quiet NaN, from 2 on negative infinity, normal, denormal,
// zero, and from 6 on the positive ones from zero upwards.
template <auto& Bits>
void test_class(E& e) {
    const Xmm& index = e.found_lanes;
    e.load_word(e.u, Bits.magnitude);
    e.and_bits(e.t, e.a, e.u);
    e.xor_bits(index, index, index);
    count_above(e, index, 0);
    count_above(e, index, Bits.min_normal - 1);
    count_above(e, index, Bits.infinity - 1);
    // Minus the steps from zero so far: 6 + steps where positive, 5 - steps where negative.
    if (Bits.sign == kHalf.sign) e.vpslld(e.a, e.a, 16);
    e.vpsrad(e.c, e.a, 31);
    e.invert(e.c, e.c);
    e.xor_bits(index, index, e.c);
    e.load_word(e.u, 5);
    e.vpaddd(index, index, e.u);
    e.vpsubd(index, index, e.c);
    e.vpsubd(index, index, e.c);
    // NaNs: the index so far gives way to 0 or 1.
    e.xor_bits(e.c, e.c, e.c);
    count_above(e, e.c, Bits.infinity);
    e.and_not_bits(index, e.c, index);
    e.xor_bits(e.c, e.c, e.c);
    count_above(e, e.c, Bits.quiet - 1);
    e.vpsubd(index, index, e.c);
    e.vpsrlvd(e.t, e.b, index);
    e.vpslld(e.t, e.t, 31);
    e.is_avx512() ? e.vpmovd2m(e.found, e.t) : e.vmovdqa(e.found_lanes, e.t);
}
// The upper word tells, with its last bit set where any of the lower word's is.
void test_class_of_pairs(E& e) {
    e.xor_bits(e.t, e.t, e.t);
    e.vpsubd(e.t, e.t, e.a);
    e.or_bits(e.a, e.a, e.t);
    e.vpsrld(e.a, e.a, 31);
    e.or_bits(e.a, e.a, e.a_high);
    test_class<kDouble>(e);
}
constexpr LaneOperation classes(Opcode opcode, LaneEmit emit, HalfSources sources) {
    LaneOperation operation = mask(opcode, emit);
    operation.constants = {0xFFFFFFFF};
    operation.halves.sources = sources;
    return operation;
}

constexpr LaneOperation double_classes(Opcode opcode) {
    LaneOperation operation = classes(opcode, test_class_of_pairs, HalfSources::none);
    operation.widths.sources = {2, 1, 1};
    return operation;
}

constexpr LaneOperation kOperations[] = {
    singles<kLt>(Opcode::v_cmp_lt_f32),
    singles<kEq>(Opcode::v_cmp_eq_f32),
    singles<kLe>(Opcode::v_cmp_le_f32),
    singles<kGt>(Opcode::v_cmp_gt_f32),
    singles<kNeq>(Opcode::v_cmp_lg_f32),
    singles<kGe>(Opcode::v_cmp_ge_f32),
    singles<kOrdered>(Opcode::v_cmp_o_f32),
    singles<kUnordered>(Opcode::v_cmp_u_f32),
    singles<kNgeU>(Opcode::v_cmp_nge_f32),
    singles<kEqU>(Opcode::v_cmp_nlg_f32),
    singles<kNgtU>(Opcode::v_cmp_ngt_f32),
    singles<kNleU>(Opcode::v_cmp_nle_f32),
    singles<kNeqU>(Opcode::v_cmp_neq_f32),
    singles<kNltU>(Opcode::v_cmp_nlt_f32),
    doubles<kLt>(Opcode::v_cmp_lt_f64),
    doubles<kEq>(Opcode::v_cmp_eq_f64),
    doubles<kLe>(Opcode::v_cmp_le_f64),
    doubles<kGt>(Opcode::v_cmp_gt_f64),
    doubles<kNeq>(Opcode::v_cmp_lg_f64),
    doubles<kGe>(Opcode::v_cmp_ge_f64),
    doubles<kOrdered>(Opcode::v_cmp_o_f64),
    doubles<kUnordered>(Opcode::v_cmp_u_f64),
    doubles<kNgeU>(Opcode::v_cmp_nge_f64),
    doubles<kEqU>(Opcode::v_cmp_nlg_f64),
    doubles<kNgtU>(Opcode::v_cmp_ngt_f64),
    doubles<kNleU>(Opcode::v_cmp_nle_f64),
    doubles<kNeqU>(Opcode::v_cmp_neq_f64),
    doubles<kNltU>(Opcode::v_cmp_nlt_f64),
    halves<kLt>(Opcode::v_cmp_lt_f16),
    halves<kEq>(Opcode::v_cmp_eq_f16),
    halves<kLe>(Opcode::v_cmp_le_f16),
    halves<kGt>(Opcode::v_cmp_gt_f16),
    halves<kNeq>(Opcode::v_cmp_lg_f16),
    halves<kGe>(Opcode::v_cmp_ge_f16),
    halves<kOrdered>(Opcode::v_cmp_o_f16),
    halves<kUnordered>(Opcode::v_cmp_u_f16),
    halves<kNgeU>(Opcode::v_cmp_nge_f16),
    halves<kEqU>(Opcode::v_cmp_nlg_f16),
    halves<kNgtU>(Opcode::v_cmp_ngt_f16),
    halves<kNleU>(Opcode::v_cmp_nle_f16),
    halves<kNeqU>(Opcode::v_cmp_neq_f16),
    halves<kNltU>(Opcode::v_cmp_nlt_f16),
    classes(Opcode::v_cmp_class_f32, test_class<kSingle>, HalfSources::none),
    double_classes(Opcode::v_cmp_class_f64),
    classes(Opcode::v_cmp_class_f16, test_class<kHalf>, HalfSources::bits),
};

}  // namespace
}  // namespace lanes_compare_float

std::span<const LaneOperation> float_compare_lane_operations() { return lanes_compare_float::kOperations; }

}  // namespace riftjit::rdna::emulator
