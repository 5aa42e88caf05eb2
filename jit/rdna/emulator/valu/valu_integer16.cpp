// Integer arithmetic on one half of a register.
#include <algorithm>

#include "jit/rdna/emulator/valu/valu_lane.h"

namespace riftjit::rdna::emulator {
namespace valu_integer16 {
namespace {

uint64_t half(int64_t value) { return static_cast<uint64_t>(value) & 0xFFFF; }

template <bool Signed>
int64_t operand(const LaneData& lane, unsigned index) {
    return Signed ? sign_extend(lane.source[index], 16) : static_cast<int64_t>(lane.source[index] & 0xFFFF);
}
template <bool Signed>
uint64_t saturate(const LaneContext& context, int64_t exact) {
    return half(static_cast<int64_t>(
        saturate_or_wrap(context, exact, Signed ? INT16_MIN : 0, Signed ? INT16_MAX : UINT16_MAX)));
}

template <bool Signed, auto F>
void saturating2(const LaneContext& context, LaneData& lane) {
    lane.result = saturate<Signed>(context, F(operand<Signed>(lane, 0), operand<Signed>(lane, 1)));
}
template <bool Signed>
void mad(const LaneContext& context, LaneData& lane) {
    lane.result =
        saturate<Signed>(context, operand<Signed>(lane, 0) * operand<Signed>(lane, 1) + operand<Signed>(lane, 2));
}
template <bool Signed, auto F>
void plain2(const LaneContext&, LaneData& lane) {
    lane.result = half(F(operand<Signed>(lane, 0), operand<Signed>(lane, 1)));
}
template <bool Signed, auto F>
void plain3(const LaneContext&, LaneData& lane) {
    lane.result = half(F(operand<Signed>(lane, 0), operand<Signed>(lane, 1), operand<Signed>(lane, 2)));
}

constexpr auto kAdd = [](int64_t a, int64_t b) { return a + b; };
constexpr auto kSubtract = [](int64_t a, int64_t b) { return a - b; };
constexpr auto kMin = [](int64_t a, int64_t b) { return std::min(a, b); };
constexpr auto kMax = [](int64_t a, int64_t b) { return std::max(a, b); };
constexpr auto kMin3 = [](int64_t a, int64_t b, int64_t c) { return std::min({a, b, c}); };
constexpr auto kMax3 = [](int64_t a, int64_t b, int64_t c) { return std::max({a, b, c}); };
constexpr auto kMed3 = [](int64_t a, int64_t b, int64_t c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
};

constexpr LaneSemantics kRows[] = {
    lanewise<plain2<false, [](int64_t a, int64_t) { return a; }>>(Opcode::v_mov_b16, ResultKind::half),
    lanewise<plain2<false, [](int64_t a, int64_t) { return ~a; }>>(Opcode::v_not_b16, ResultKind::half),
    lanewise<plain2<false, [](int64_t a, int64_t b) { return a & b; }>>(Opcode::v_and_b16, ResultKind::half),
    lanewise<plain2<false, [](int64_t a, int64_t b) { return a | b; }>>(Opcode::v_or_b16, ResultKind::half),
    lanewise<plain2<false, [](int64_t a, int64_t b) { return a ^ b; }>>(Opcode::v_xor_b16, ResultKind::half),
    lanewise<plain2<false, [](int64_t a, int64_t b) { return b << (a & 15); }>>(Opcode::v_lshlrev_b16,
                                                                                ResultKind::half),
    lanewise<plain2<false, [](int64_t a, int64_t b) { return (b >> (a & 15)); }>>(Opcode::v_lshrrev_b16,
                                                                                  ResultKind::half),
    lanewise<plain2<true, [](int64_t a, int64_t b) { return (b >> (a & 15)); }>>(Opcode::v_ashrrev_i16,
                                                                                 ResultKind::half),
    lanewise<saturating2<false, kAdd>>(Opcode::v_add_nc_u16, ResultKind::half),
    lanewise<saturating2<false, kSubtract>>(Opcode::v_sub_nc_u16, ResultKind::half),
    lanewise<saturating2<true, kAdd>>(Opcode::v_add_nc_i16, ResultKind::half),
    lanewise<saturating2<true, kSubtract>>(Opcode::v_sub_nc_i16, ResultKind::half),
    lanewise<plain2<false, [](int64_t a, int64_t b) { return a * b; }>>(Opcode::v_mul_lo_u16, ResultKind::half),
    lanewise<mad<false>>(Opcode::v_mad_u16, ResultKind::half),
    lanewise<mad<true>>(Opcode::v_mad_i16, ResultKind::half),
    lanewise<plain2<false, kMin>>(Opcode::v_min_u16, ResultKind::half),
    lanewise<plain2<false, kMax>>(Opcode::v_max_u16, ResultKind::half),
    lanewise<plain2<true, kMin>>(Opcode::v_min_i16, ResultKind::half),
    lanewise<plain2<true, kMax>>(Opcode::v_max_i16, ResultKind::half),
    lanewise<plain3<false, kMin3>>(Opcode::v_min3_u16, ResultKind::half),
    lanewise<plain3<false, kMax3>>(Opcode::v_max3_u16, ResultKind::half),
    lanewise<plain3<false, kMed3>>(Opcode::v_med3_u16, ResultKind::half),
    lanewise<plain3<true, kMin3>>(Opcode::v_min3_i16, ResultKind::half),
    lanewise<plain3<true, kMax3>>(Opcode::v_max3_i16, ResultKind::half),
    lanewise<plain3<true, kMed3>>(Opcode::v_med3_i16, ResultKind::half),
    lanewise<[](const LaneContext&, LaneData& lane) { lane.result = lane.source[lane.condition ? 1 : 0] & 0xFFFF; }>(
        Opcode::v_cndmask_b16, ResultKind::half),
};

}  // namespace
}  // namespace valu_integer16

std::span<const LaneSemantics> integer16_semantics() { return valu_integer16::kRows; }

}  // namespace riftjit::rdna::emulator
