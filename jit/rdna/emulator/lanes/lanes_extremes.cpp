// Minimum, maximum and median of floats over lanes. NaNs, for which AMD's families of them differ, are declined; for
// numbers they agree, with -0 below +0.
#include "jit/rdna/emulator/lanes/lanes_extremes_i16.h"
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_extremes {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;
constexpr LaneKernelResult kWords = LaneKernelResult::words;

// Both orders, because the host returns its second operand when two zeros differ in sign. `to` is none of the others.
void lesser(E& e, const Xmm& to, const Xmm& x, const Xmm& y) {
    e.vminps(to, x, y);
    e.vminps(e.t, y, x);
    e.or_bits(to, to, e.t);
}
void greater(E& e, const Xmm& to, const Xmm& x, const Xmm& y) {
    e.vmaxps(to, x, y);
    e.vmaxps(e.t, y, x);
    e.and_bits(to, to, e.t);
}
void minimum(E& e) { lesser(e, e.d, e.a, e.b); }
void maximum(E& e) { greater(e, e.d, e.a, e.b); }

using Pick = void (*)(E& e, const Xmm& to, const Xmm& x, const Xmm& y);
template <Pick Inner, Pick Outer>
void nested(E& e) {
    e.decline_unordered(e.a, e.b);
    e.decline_unordered(e.c, e.c);
    Inner(e, e.u, e.a, e.b);
    Outer(e, e.d, e.u, e.c);
}
void median(E& e) {  // max(min(a, b), min(max(a, b), c))
    e.decline_unordered(e.a, e.b);
    e.decline_unordered(e.c, e.c);
    greater(e, e.u, e.a, e.b);
    lesser(e, e.d, e.a, e.b);
    lesser(e, e.a, e.u, e.c);
    e.move(e.u, e.d);
    greater(e, e.d, e.u, e.a);
}
constexpr LaneOperation of_two(Opcode opcode, LaneEmit emit) {
    return {opcode, 2, kWords, LaneCheck::nan_source, {}, emit};
}
constexpr LaneOperation of_three(Opcode opcode, LaneEmit emit) {
    return {opcode, 3, kWords, LaneCheck::by_operation, {}, emit};
}

// A NaN stays one under the OR, so that the check of the result finds it; under AND it would not, hence the maximum as
// the minimum of the negated.
void minimum_f64(E& e) {
    e.vminpd(e.d, e.a, e.b);
    e.vminpd(e.t, e.b, e.a);
    e.or_bits(e.d, e.d, e.t);
}
void maximum_f64(E& e) {
    e.load_word(e.u, 0xFFFFFFFF);
    e.vpsllq(e.u, e.u, 63);
    e.xor_bits(e.a, e.a, e.u);
    e.xor_bits(e.b, e.b, e.u);
    minimum_f64(e);
    e.xor_bits(e.d, e.d, e.u);
}
constexpr LaneOperation of_doubles(Opcode opcode, LaneEmit emit) {
    LaneOperation operation{opcode, 2, kWords, LaneCheck::nan_result_f64, {}, emit};
    operation.widths = {{2, 2, 1}, 2};
    operation.layout = PairLayout::joined;
    return operation;
}

// f16 as integers of the same order, -0 below +0, and back: the magnitude of negative ones inverted.
void reorder(E& e, const Xmm& value) {
    e.vpsraw(e.t, value, 15);
    e.vpsrlw(e.t, e.t, 1);
    e.xor_bits(value, value, e.t);
}
void min_max_i16(E& e) {
    min_i16(e);
    e.vpmaxsw(e.d, e.d, e.c);
}
void max_min_i16(E& e) {
    max_i16(e);
    e.vpminsw(e.d, e.d, e.c);
}
template <LaneEmit Select, unsigned Sources, HalfPlaces Places>
void among_halves(E& e) {
    if constexpr (Sources == 2)
        e.decline_half_nans({e.a, e.b}, Places);
    else
        e.decline_half_nans({e.a, e.b, e.c}, Places);
    reorder(e, e.a);
    reorder(e, e.b);
    if constexpr (Sources == 3) reorder(e, e.c);
    Select(e);
    reorder(e, e.d);
}
template <LaneEmit Select, unsigned Sources>
constexpr LaneOperation of_halves(Opcode opcode) {
    LaneOperation operation{
        opcode, Sources, kWords, LaneCheck::by_operation, {}, among_halves<Select, Sources, HalfPlaces::low>};
    operation.halves = {HalfSources::bits, HalfResult::bits};
    return operation;
}
template <LaneEmit Select>
constexpr LaneOperation of_packed(Opcode opcode) {
    return {opcode, 2, kWords, LaneCheck::by_operation, {}, among_halves<Select, 2, HalfPlaces::both>};
}

constexpr LaneOperation kOperations[] = {
    of_two(Opcode::v_min_num_f32, minimum),
    of_two(Opcode::v_max_num_f32, maximum),
    of_two(Opcode::v_minimum_f32, minimum),
    of_two(Opcode::v_maximum_f32, maximum),
    of_three(Opcode::v_min3_num_f32, nested<lesser, lesser>),
    of_three(Opcode::v_max3_num_f32, nested<greater, greater>),
    of_three(Opcode::v_minmax_num_f32, nested<lesser, greater>),
    of_three(Opcode::v_maxmin_num_f32, nested<greater, lesser>),
    of_three(Opcode::v_minimum3_f32, nested<lesser, lesser>),
    of_three(Opcode::v_maximum3_f32, nested<greater, greater>),
    of_three(Opcode::v_minimummaximum_f32, nested<lesser, greater>),
    of_three(Opcode::v_maximumminimum_f32, nested<greater, lesser>),
    of_three(Opcode::v_med3_num_f32, median),
    of_doubles(Opcode::v_min_num_f64, minimum_f64),
    of_doubles(Opcode::v_max_num_f64, maximum_f64),
    of_doubles(Opcode::v_minimum_f64, minimum_f64),
    of_doubles(Opcode::v_maximum_f64, maximum_f64),
    of_halves<min_i16, 2>(Opcode::v_min_num_f16),
    of_halves<max_i16, 2>(Opcode::v_max_num_f16),
    of_halves<min_i16, 2>(Opcode::v_minimum_f16),
    of_halves<max_i16, 2>(Opcode::v_maximum_f16),
    of_halves<min3_i16, 3>(Opcode::v_min3_num_f16),
    of_halves<max3_i16, 3>(Opcode::v_max3_num_f16),
    of_halves<min_max_i16, 3>(Opcode::v_minmax_num_f16),
    of_halves<max_min_i16, 3>(Opcode::v_maxmin_num_f16),
    of_halves<min3_i16, 3>(Opcode::v_minimum3_f16),
    of_halves<max3_i16, 3>(Opcode::v_maximum3_f16),
    of_halves<min_max_i16, 3>(Opcode::v_minimummaximum_f16),
    of_halves<max_min_i16, 3>(Opcode::v_maximumminimum_f16),
    of_halves<med3_i16, 3>(Opcode::v_med3_num_f16),
    of_packed<min_i16>(Opcode::v_pk_min_num_f16),
    of_packed<max_i16>(Opcode::v_pk_max_num_f16),
    of_packed<min_i16>(Opcode::v_pk_minimum_f16),
    of_packed<max_i16>(Opcode::v_pk_maximum_f16),
};

}  // namespace
}  // namespace lanes_extremes

std::span<const LaneOperation> extreme_lane_operations() { return lanes_extremes::kOperations; }

}  // namespace riftjit::rdna::emulator
