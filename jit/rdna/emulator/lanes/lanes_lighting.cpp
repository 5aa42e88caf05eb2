// Cube maps and lighting over lanes, as valu_arithmetic.cpp has them.
#include "jit/rdna/emulator/lanes/lanes_operations.h"

namespace riftjit::rdna::emulator {
namespace lanes_lighting {
namespace {

using E = LaneEmitter;
using Xbyak::Xmm;
constexpr LaneKernelResult kWords = LaneKernelResult::words;
constexpr uint32_t kMagnitude = 0x7FFFFFFF, kSign = 0x80000000, kLargestDenormal = 0x007FFFFF;
constexpr uint32_t kLeastNegative = 0x80800000, kLowest = 0xFF7FFFFF;  // -2^-126 and the other end

// The sources are the axes x, y and z. found_lanes: where z is the major one; condition_lanes: where y is. All
// denormals and zeros are of one magnitude.
void find_major_axis(E& e) {
    const Xmm &is_z = e.found_lanes, &is_y = e.condition_lanes, &x = e.constant[0], &y = e.t, &z = e.u;
    for (const auto& [magnitude, axis] : {std::pair{x, e.a}, std::pair{y, e.b}, std::pair{z, e.c}}) {
        e.and_word(magnitude, axis, kMagnitude);
        e.vpmaxsd(magnitude, magnitude, e.every_word(kLargestDenormal));
    }
    e.compare_f32(is_z, z, x, kGe);
    e.compare_f32(is_y, y, x, kGe);
    e.compare_f32(z, z, y, kGe);
    e.and_bits(is_z, is_z, z);
    e.and_not_bits(is_y, is_z, is_y);
}
// t: the major axis; u: where it is negative.
void take_major_axis(E& e) {
    find_major_axis(e);
    e.blend(e.t, e.a, e.b, e.condition_lanes);
    e.blend(e.t, e.t, e.c, e.found_lanes);
    e.compare_f32(e.u, e.t, e.every_word(kLeastNegative), kLe);
}
void cube_face(E& e) {
    take_major_axis(e);
    e.and_word(e.d, e.found_lanes, 4);
    e.and_word(e.t, e.condition_lanes, 2);
    e.or_bits(e.d, e.d, e.t);
    e.vpsubd(e.d, e.d, e.u);
    e.vcvtdq2ps(e.d, e.d);
}
// x, negated where z is below zero; x; -z, negated where x is below zero.
void cube_s(E& e) {
    take_major_axis(e);
    const Xmm &is_z = e.found_lanes, &is_x = e.condition_lanes;
    e.or_bits(is_x, is_x, is_z);
    e.blend(e.d, e.c, e.a, is_x);  // not yet inverted
    e.and_bits(is_z, is_z, e.u);
    e.or_bits(is_x, is_x, e.u);
    e.and_not_bits(e.t, is_x, e.every_word(kSign));
    e.and_word(is_z, is_z, kSign);
    e.or_bits(e.t, e.t, is_z);
    e.xor_bits(e.d, e.d, e.t);
}
// -y, but for y itself: z, negated where y is below zero.
void cube_t(E& e) {
    take_major_axis(e);
    const Xmm& is_y = e.condition_lanes;
    e.blend(e.d, e.b, e.c, is_y);
    e.and_not_bits(e.u, e.u, is_y);
    e.and_not_bits(e.u, e.u, e.every_word(kSign));
    e.xor_bits(e.d, e.d, e.u);
}
void cube_major(E& e) {
    take_major_axis(e);
    e.vaddps(e.d, e.t, e.t);
}

// Unlit where the base is the lowest number, below it or a NaN, or where the exponent is not positive.
void mullit(E& e) {
    const Xmm &is_zero = e.found_lanes, &is_unlit = e.condition_lanes;
    e.compare_f32(is_zero, e.a, e.every_word(0), kEq);
    e.compare_f32(e.t, e.b, e.every_word(0), kEq);
    e.or_bits(is_zero, is_zero, e.t);
    e.compare_f32(is_unlit, e.b, e.every_word(kLowest), kNgtU);
    e.compare_f32(e.t, e.c, e.every_word(0), kNgtU);
    e.or_bits(is_unlit, is_unlit, e.t);
    e.vmulps(e.d, e.a, e.b);
    e.and_not_bits(e.d, is_zero, e.d);
    e.load_word(e.t, kLowest);
    e.blend(e.d, e.d, e.t, is_unlit);
}

constexpr LaneOperation operation(Opcode opcode, LaneCheck check, LaneEmit emit) {
    return {opcode, 3, kWords, check, {}, emit};
}
constexpr LaneOperation kOperations[] = {
    operation(Opcode::v_cubeid_f32, LaneCheck::none, cube_face),
    operation(Opcode::v_cubesc_f32, LaneCheck::nan_result, cube_s),
    operation(Opcode::v_cubetc_f32, LaneCheck::nan_result, cube_t),
    operation(Opcode::v_cubema_f32, LaneCheck::nan_result, cube_major),
    operation(Opcode::v_mullit_f32, LaneCheck::nan_result, mullit),
};

}  // namespace
}  // namespace lanes_lighting

std::span<const LaneOperation> lighting_lane_operations() { return lanes_lighting::kOperations; }

}  // namespace riftjit::rdna::emulator
