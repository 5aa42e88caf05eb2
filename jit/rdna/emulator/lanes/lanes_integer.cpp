// Integer operations over lanes: one line of host code or a few each.
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_integer {
namespace {

using E = LaneEmitter;
using X = Xbyak::Xmm;
constexpr uint32_t kOnes = 0xFFFFFFFF, kSign = 0x80000000, kLow24 = 0xFFFFFF, kLow16 = 0xFFFF, kShiftMask = 31;

// The shift amounts are taken modulo 32 first: the host's shifts give 0 beyond.
void shift_amount(E& e, const X& amount) { e.and_bits(e.t, amount, e.constant[0]); }
void sign_extend_24(E& e, const X& value) {
    e.vpslld(value, value, 8);
    e.vpsrad(value, value, 8);
}
void zero_extend_24(E& e, const X& value) { e.and_bits(value, value, e.constant[0]); }

void shift_left(E& e, const X& to, const X& value, const X& amount) {
    shift_amount(e, amount);
    e.vpsllvd(to, value, e.t);
}

void multiply_high_24_signed(E& e) {
    sign_extend_24(e, e.a);
    sign_extend_24(e, e.b);
    multiply_high(e, Sign::is_signed);
}
void multiply_high_24_unsigned(E& e) {
    zero_extend_24(e, e.a);
    zero_extend_24(e, e.b);
    multiply_high(e, Sign::is_unsigned);
}

void multiply_16_unsigned(E& e) {
    e.and_bits(e.a, e.a, e.constant[0]);
    e.and_bits(e.b, e.b, e.constant[0]);
    e.vpmulld(e.d, e.a, e.b);
    e.vpaddd(e.d, e.d, e.c);
}
void multiply_16_signed(E& e) {  // the product of the upper halves is one with zero
    e.and_bits(e.a, e.a, e.constant[0]);
    e.vpmaddwd(e.d, e.a, e.b);
    e.vpaddd(e.d, e.d, e.c);
}

struct Order {  // of one signedness
    void (*min)(E& e, const X& to, const X& x, const X& y);
    void (*max)(E& e, const X& to, const X& x, const X& y);
};
constexpr Order kSigned{[](E& e, const X& to, const X& x, const X& y) { e.vpminsd(to, x, y); },
                        [](E& e, const X& to, const X& x, const X& y) { e.vpmaxsd(to, x, y); }};
constexpr Order kUnsigned{[](E& e, const X& to, const X& x, const X& y) { e.vpminud(to, x, y); },
                          [](E& e, const X& to, const X& x, const X& y) { e.vpmaxud(to, x, y); }};
template <const Order& O>
void least_of_3(E& e) {
    O.min(e, e.d, e.a, e.b);
    O.min(e, e.d, e.d, e.c);
}
template <const Order& O>
void greatest_of_3(E& e) {
    O.max(e, e.d, e.a, e.b);
    O.max(e, e.d, e.d, e.c);
}
template <const Order& O>
void median(E& e) {
    O.max(e, e.t, e.a, e.b);
    O.min(e, e.t, e.t, e.c);
    O.min(e, e.d, e.a, e.b);
    O.max(e, e.d, e.d, e.t);
}
template <const Order& O>
void at_least(E& e) {
    O.min(e, e.d, e.a, e.b);
    O.max(e, e.d, e.d, e.c);
}
template <const Order& O>
void at_most(E& e) {
    O.max(e, e.d, e.a, e.b);
    O.min(e, e.d, e.d, e.c);
}

// Two saturated words to the halves of one. Constants: the low half; the bounds of signed halves.
void pack_unsigned(E& e) {
    e.vpminud(e.a, e.a, e.constant[0]);
    e.vpminud(e.b, e.b, e.constant[0]);
    e.vpslld(e.b, e.b, 16);
    e.or_bits(e.d, e.a, e.b);
}
void pack_signed(E& e) {
    for (const X& x : {e.a, e.b}) {
        e.vpminsd(x, x, e.constant[1]);
        e.vpmaxsd(x, x, e.constant[2]);
    }
    e.and_bits(e.a, e.a, e.constant[0]);
    e.vpslld(e.b, e.b, 16);
    e.or_bits(e.d, e.a, e.b);
}

// b = 1 << width, minus 1, as a mask over a >> offset.
void extract_unsigned(E& e) {
    shift_amount(e, e.c);
    e.vpsllvd(e.u, e.constant[1], e.t);
    e.vpsubd(e.u, e.u, e.constant[1]);
    shift_amount(e, e.b);
    e.vpsrlvd(e.d, e.a, e.t);
    e.and_bits(e.d, e.d, e.u);
}
// Width 0 shifts by 32 and gives 0; an arithmetic shift by 32 would give the sign, so the field is moved up with zeros
// below: a field that ends beyond bit 31 holds copies of the sign.
void extract_signed(E& e) {
    shift_amount(e, e.b);
    e.vpsravd(e.d, e.a, e.t);
    shift_amount(e, e.c);
    e.vpsubd(e.u, e.constant[1], e.t);  // 32 - width
    e.vpsllvd(e.d, e.d, e.u);
    e.vpsravd(e.d, e.d, e.u);
}
// The words a and b moved down by t bits, the low one of them.
void align(E& e) {
    e.vpsrlvd(e.d, e.b, e.t);
    e.vpsubd(e.u, e.constant[1], e.t);
    e.vpsllvd(e.u, e.a, e.u);
    e.or_bits(e.d, e.d, e.u);
}
void align_bits(E& e) {
    shift_amount(e, e.c);
    align(e);
}
void align_bytes(E& e) {
    shift_amount(e, e.c);
    e.vpslld(e.t, e.t, 3);
    align(e);
}
void bit_mask(E& e) {
    shift_amount(e, e.a);
    e.vpsllvd(e.d, e.constant[1], e.t);
    e.vpsubd(e.d, e.d, e.constant[1]);
    shift_left(e, e.d, e.d, e.b);
}

constexpr LaneOperation carries(Opcode opcode, LaneEmit emit) {
    LaneOperation operation = lane_words(opcode, 2, emit, {kSign, kOnes});
    operation.result = LaneKernelResult::words_and_mask;
    return operation;
}

constexpr LaneOperation kOperations[] = {
    lane_words(Opcode::v_mov_b32, 1, [](E& e) { e.and_bits(e.d, e.a, e.a); }),
    lane_words(Opcode::v_not_b32, 1, [](E& e) { e.invert(e.d, e.a); }, {kOnes}),
    lane_words(Opcode::v_and_b32, 2, [](E& e) { e.and_bits(e.d, e.a, e.b); }),
    lane_words(Opcode::v_or_b32, 2, [](E& e) { e.or_bits(e.d, e.a, e.b); }),
    lane_words(Opcode::v_xor_b32, 2, [](E& e) { e.xor_bits(e.d, e.a, e.b); }),
    lane_words(Opcode::v_xnor_b32, 2,
               [](E& e) {
                   e.xor_bits(e.d, e.a, e.b);
                   e.invert(e.d, e.d);
               },
               {kOnes}),
    lane_words(Opcode::v_lshlrev_b32, 2, [](E& e) { shift_left(e, e.d, e.b, e.a); }, {kShiftMask}),
    lane_words(Opcode::v_lshrrev_b32, 2,
               [](E& e) {
                   shift_amount(e, e.a);
                   e.vpsrlvd(e.d, e.b, e.t);
               },
               {kShiftMask}),
    lane_words(Opcode::v_ashrrev_i32, 2,
               [](E& e) {
                   shift_amount(e, e.a);
                   e.vpsravd(e.d, e.b, e.t);
               },
               {kShiftMask}),
    lane_words(Opcode::v_add_nc_u32, 2, [](E& e) { e.vpaddd(e.d, e.a, e.b); }),
    lane_words(Opcode::v_add_nc_i32, 2, [](E& e) { e.vpaddd(e.d, e.a, e.b); }),
    lane_words(Opcode::v_sub_nc_u32, 2, [](E& e) { e.vpsubd(e.d, e.a, e.b); }),
    lane_words(Opcode::v_sub_nc_i32, 2, [](E& e) { e.vpsubd(e.d, e.a, e.b); }),
    lane_words(Opcode::v_subrev_nc_u32, 2, [](E& e) { e.vpsubd(e.d, e.b, e.a); }),
    lane_words(Opcode::v_mul_lo_u32, 2, [](E& e) { e.vpmulld(e.d, e.a, e.b); }),
    lane_words(Opcode::v_mul_hi_u32, 2, [](E& e) { multiply_high(e, Sign::is_unsigned); }),
    lane_words(Opcode::v_mul_u32_u24, 2,
               [](E& e) {
                   zero_extend_24(e, e.a);
                   zero_extend_24(e, e.b);
                   e.vpmulld(e.d, e.a, e.b);
               },
               {kLow24}),
    lane_words(Opcode::v_mul_i32_i24, 2,
               [](E& e) {
                   sign_extend_24(e, e.a);
                   sign_extend_24(e, e.b);
                   e.vpmulld(e.d, e.a, e.b);
               }),
    lane_words(Opcode::v_mad_u32_u24, 3,
               [](E& e) {
                   zero_extend_24(e, e.a);
                   zero_extend_24(e, e.b);
                   e.vpmulld(e.d, e.a, e.b);
                   e.vpaddd(e.d, e.d, e.c);
               },
               {kLow24}),
    lane_words(Opcode::v_mad_i32_i24, 3,
               [](E& e) {
                   sign_extend_24(e, e.a);
                   sign_extend_24(e, e.b);
                   e.vpmulld(e.d, e.a, e.b);
                   e.vpaddd(e.d, e.d, e.c);
               }),
    lane_words(Opcode::v_min_i32, 2, [](E& e) { e.vpminsd(e.d, e.a, e.b); }),
    lane_words(Opcode::v_max_i32, 2, [](E& e) { e.vpmaxsd(e.d, e.a, e.b); }),
    lane_words(Opcode::v_min_u32, 2, [](E& e) { e.vpminud(e.d, e.a, e.b); }),
    lane_words(Opcode::v_max_u32, 2, [](E& e) { e.vpmaxud(e.d, e.a, e.b); }),
    lane_words(Opcode::v_add3_u32, 3,
               [](E& e) {
                   e.vpaddd(e.d, e.a, e.b);
                   e.vpaddd(e.d, e.d, e.c);
               }),
    lane_words(Opcode::v_lshl_add_u32, 3,
               [](E& e) {
                   shift_left(e, e.d, e.a, e.b);
                   e.vpaddd(e.d, e.d, e.c);
               },
               {kShiftMask}),
    lane_words(Opcode::v_add_lshl_u32, 3,
               [](E& e) {
                   e.vpaddd(e.d, e.a, e.b);
                   shift_left(e, e.d, e.d, e.c);
               },
               {kShiftMask}),
    lane_words(Opcode::v_lshl_or_b32, 3,
               [](E& e) {
                   shift_left(e, e.d, e.a, e.b);
                   e.or_bits(e.d, e.d, e.c);
               },
               {kShiftMask}),
    lane_words(Opcode::v_and_or_b32, 3,
               [](E& e) {
                   e.and_bits(e.d, e.a, e.b);
                   e.or_bits(e.d, e.d, e.c);
               }),
    lane_words(Opcode::v_or3_b32, 3,
               [](E& e) {
                   e.or_bits(e.d, e.a, e.b);
                   e.or_bits(e.d, e.d, e.c);
               }),
    lane_words(Opcode::v_xor3_b32, 3,
               [](E& e) {
                   e.xor_bits(e.d, e.a, e.b);
                   e.xor_bits(e.d, e.d, e.c);
               }),
    lane_words(Opcode::v_xad_u32, 3,
               [](E& e) {
                   e.xor_bits(e.d, e.a, e.b);
                   e.vpaddd(e.d, e.d, e.c);
               }),
    lane_words(Opcode::v_bfi_b32, 3,
               [](E& e) {
                   e.and_bits(e.d, e.a, e.b);
                   e.and_not_bits(e.t, e.a, e.c);
                   e.or_bits(e.d, e.d, e.t);
               }),
    lane_words(Opcode::v_bfm_b32, 2, bit_mask, {kShiftMask, 1}),
    lane_words(Opcode::v_bfe_u32, 3, extract_unsigned, {kShiftMask, 1}),
    lane_words(Opcode::v_bfe_i32, 3, extract_signed, {kShiftMask, 32}),
    lane_words(Opcode::v_alignbit_b32, 3, align_bits, {kShiftMask, 32}),
    lane_words(Opcode::v_alignbyte_b32, 3, align_bytes, {3, 32}),
    lane_words(Opcode::v_cndmask_b32, 2, [](E& e) { e.select(); }),
    carries(Opcode::v_add_co_u32, [](E& e) { e.add_with_carry(E::CarryIn::none); }),
    carries(Opcode::v_add_co_ci_u32,
            [](E& e) {
                e.load_condition();
                e.add_with_carry(E::CarryIn::condition);
            }),
    carries(Opcode::v_sub_co_u32, [](E& e) { e.subtract_with_borrow(e.a, e.b, E::CarryIn::none); }),
    carries(Opcode::v_subrev_co_u32, [](E& e) { e.subtract_with_borrow(e.b, e.a, E::CarryIn::none); }),
    carries(Opcode::v_sub_co_ci_u32,
            [](E& e) {
                e.load_condition();
                e.subtract_with_borrow(e.a, e.b, E::CarryIn::condition);
            }),
    carries(Opcode::v_subrev_co_ci_u32,
            [](E& e) {
                e.load_condition();
                e.subtract_with_borrow(e.b, e.a, E::CarryIn::condition);
            }),
    lane_words(Opcode::v_mul_hi_i32, 2, [](E& e) { multiply_high(e, Sign::is_signed); }),
    lane_words(Opcode::v_mul_hi_i32_i24, 2, multiply_high_24_signed),
    lane_words(Opcode::v_mul_hi_u32_u24, 2, multiply_high_24_unsigned, {kLow24}),
    lane_words(Opcode::v_mad_u32_u16, 3, multiply_16_unsigned, {kLow16}),
    lane_words(Opcode::v_mad_i32_i16, 3, multiply_16_signed, {kLow16}),
    lane_words(Opcode::v_min3_i32, 3, least_of_3<kSigned>),
    lane_words(Opcode::v_min3_u32, 3, least_of_3<kUnsigned>),
    lane_words(Opcode::v_max3_i32, 3, greatest_of_3<kSigned>),
    lane_words(Opcode::v_max3_u32, 3, greatest_of_3<kUnsigned>),
    lane_words(Opcode::v_med3_i32, 3, median<kSigned>),
    lane_words(Opcode::v_med3_u32, 3, median<kUnsigned>),
    lane_words(Opcode::v_minmax_i32, 3, at_least<kSigned>),
    lane_words(Opcode::v_minmax_u32, 3, at_least<kUnsigned>),
    lane_words(Opcode::v_maxmin_i32, 3, at_most<kSigned>),
    lane_words(Opcode::v_maxmin_u32, 3, at_most<kUnsigned>),
    lane_words(Opcode::v_cvt_pk_u16_u32, 2, pack_unsigned, {kLow16}),
    lane_words(Opcode::v_cvt_pk_i16_i32, 2, pack_signed, {kLow16, 0x7FFF, 0xFFFF8000}),
};

}  // namespace
}  // namespace lanes_integer

// High words of the products of even and of odd lanes, brought together.
void multiply_high(LaneEmitter& e, Sign sign) {
    const auto multiply = [&](const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Xmm& y) {
        sign == Sign::is_signed ? e.vpmuldq(to, x, y) : e.vpmuludq(to, x, y);
    };
    e.vpsrlq(e.t, e.a, 32);
    e.vpsrlq(e.u, e.b, 32);
    multiply(e.d, e.a, e.b);
    multiply(e.t, e.t, e.u);
    e.vpsrlq(e.d, e.d, 32);
    e.vpsrlq(e.t, e.t, 32);
    e.vpsllq(e.t, e.t, 32);
    e.or_bits(e.d, e.d, e.t);
}

std::span<const LaneOperation> integer_lane_operations() { return lanes_integer::kOperations; }

}  // namespace riftjit::rdna::emulator
