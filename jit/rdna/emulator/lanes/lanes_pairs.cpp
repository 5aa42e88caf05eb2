// Integers of 64 bits over lanes, by their low and high words: shifts, and products with a sum.
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_pairs {
namespace {

using E = LaneEmitter;
constexpr uint32_t kSignBit = 0x80000000, kOnes = 0xFFFFFFFF, kShiftMask = 63, kWordBits = 32, kPairBits = 64;

// t: the amount; u: what is left of a word; c: what goes beyond one. The host's shifts give 0 for amounts of 32 and
// more, and for negative ones. Constants: kShiftMask, kWordBits.
void shift_amounts(E& e) {
    e.and_bits(e.t, e.a, e.constant[0]);
    e.vpsubd(e.u, e.constant[1], e.t);
    e.vpsubd(e.c, e.t, e.constant[1]);
}
void shift_left(E& e) {
    shift_amounts(e);
    e.vpsllvd(e.d, e.b, e.t);
    e.vpsllvd(e.d_high, e.b_high, e.t);
    e.vpsrlvd(e.u, e.b, e.u);
    e.vpsllvd(e.c, e.b, e.c);
    e.or_bits(e.d_high, e.d_high, e.u);
    e.or_bits(e.d_high, e.d_high, e.c);
}
void shift_right_low_word(E& e) {
    shift_amounts(e);
    e.vpsrlvd(e.d, e.b, e.t);
    e.vpsllvd(e.u, e.b_high, e.u);
    e.vpsrlvd(e.c, e.b_high, e.c);
    e.or_bits(e.d, e.d, e.u);
    e.or_bits(e.d, e.d, e.c);
}
void shift_right(E& e) {
    shift_right_low_word(e);
    e.vpsrlvd(e.d_high, e.b_high, e.t);
}
void shift_right_signed(E& e) {
    shift_right_low_word(e);
    e.vpsravd(e.d_high, e.b_high, e.t);
    // Beyond a word, signs follow the high word down.
    e.vpsubd(e.u, e.constant[2], e.t);
    e.vpsrad(e.c, e.b_high, 31);
    e.vpsllvd(e.c, e.c, e.u);
    e.or_bits(e.d, e.d, e.c);
}

// The mask is bit 64 of the exact sum: the carry, and of signed operands also the signs of both, extended.
// Constants: as for add_with_carry.
template <Sign S>
void multiply_add(E& e) {
    multiply_high(e, S);
    e.vpmulld(e.a, e.a, e.b);
    e.move(e.a_high, e.d);
    e.xor_bits(e.b_high, e.a_high, e.c_high);
    e.b = e.c;
    e.add_with_carry(E::CarryIn::none);
    e.condition_from_found();
    e.a = e.a_high, e.b = e.c_high, e.d = e.d_high;
    e.add_with_carry(E::CarryIn::condition);
    if (S == Sign::is_unsigned) return;
    if (e.is_avx512()) {
        e.vpmovd2m(e.k4, e.b_high);
        e.kxorw(e.found, e.found, e.k4);
    } else {
        e.vpxor(e.found_lanes, e.found_lanes, e.b_high);  // of which only the sign counts
    }
}

constexpr LaneOperation shift(Opcode opcode, LaneEmit emit) {
    LaneOperation operation = lane_words(opcode, 2, emit, {kShiftMask, kWordBits, kPairBits});
    operation.widths = {{1, 2, 1}, 2};
    return operation;
}
constexpr LaneOperation wide_product(Opcode opcode, LaneEmit emit) {
    LaneOperation operation = lane_words(opcode, 3, emit, {kSignBit, kOnes});
    operation.result = LaneKernelResult::words_and_mask;
    operation.widths = {{1, 1, 2}, 2};
    return operation;
}

constexpr LaneOperation kOperations[] = {
    shift(Opcode::v_lshlrev_b64, shift_left),
    shift(Opcode::v_lshrrev_b64, shift_right),
    shift(Opcode::v_ashrrev_i64, shift_right_signed),
    wide_product(Opcode::v_mad_co_u64_u32, multiply_add<Sign::is_unsigned>),
    wide_product(Opcode::v_mad_co_i64_i32, multiply_add<Sign::is_signed>),
};

}  // namespace
}  // namespace lanes_pairs

std::span<const LaneOperation> pair_lane_operations() { return lanes_pairs::kOperations; }

}  // namespace riftjit::rdna::emulator
