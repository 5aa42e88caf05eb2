#include "jit/rdna/emulator/scalar/salu.h"

#include <functional>

namespace riftjit::rdna::emulator {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

constexpr auto kAdd = [](u32 a, u32 b, u32& scc) {
    const u64 sum = u64{a} + b;
    scc = sum >> 32 != 0;
    return static_cast<u32>(sum);
};
constexpr auto kAddCarry = [](u32 a, u32 b, u32& scc) {
    const u64 sum = u64{a} + b + scc;
    scc = sum >> 32 != 0;
    return static_cast<u32>(sum);
};
constexpr auto kSub = [](u32 a, u32 b, u32& scc) {
    scc = b > a;
    return a - b;
};
constexpr auto kSubBorrow = [](u32 a, u32 b, u32& scc) {
    const u64 subtracted = u64{b} + scc;
    scc = subtracted > a;
    return static_cast<u32>(a - subtracted);
};
constexpr auto kAddSigned = [](i32 a, i32 b, u32& scc) {
    i32 sum;
    scc = __builtin_add_overflow(a, b, &sum);
    return sum;
};
constexpr auto kSubSigned = [](i32 a, i32 b, u32& scc) {
    i32 difference;
    scc = __builtin_sub_overflow(a, b, &difference);
    return difference;
};
// min and max: scc says that the first operand was chosen.
constexpr auto kMinimum = [](auto a, auto b, u32& scc) {
    scc = a < b;
    return scc ? a : b;
};
constexpr auto kMaximum = [](auto a, auto b, u32& scc) {
    scc = a >= b;
    return scc ? a : b;
};
template <unsigned kShift>
constexpr auto kShiftAdd = [](u32 a, u32 b, u32& scc) {
    const u64 sum = (u64{a} << kShift) + b;
    scc = sum >> 32 != 0;
    return static_cast<u32>(sum);
};
constexpr auto kAbsoluteDifference = [](i32 a, i32 b) {
    return static_cast<u32>(a > b ? u32(a) - u32(b) : u32(b) - u32(a));
};

template <class T>
void select(WaveState& wave, const Op& op) {
    write(wave, op, source<T>(wave, op, wave.scc ? 0 : 1));
}
template <class T>
void move_if(WaveState& wave, const Op& op) {
    if (wave.scc) write(wave, op, source<T>(wave, op, 0));
}

// SOPK: the destination register is an input too; the constant is source 0, sign-extended.
void add_constant(WaveState& wave, const Op& op) {
    const u32 before = op.destination < 0 ? 0 : wave.scalars[op.destination];  // null: 0
    u32 scc;
    write(wave, op, kAddSigned(static_cast<i32>(before), source<i32>(wave, op, 0), scc));
    wave.scc = scc;
}
void multiply_constant(WaveState& wave, const Op& op) {
    if (op.destination >= 0) wave.scalars[op.destination] *= source32(wave, op, 0);
}

template <class T>
constexpr auto kMultiplyHigh = [](T a, T b) {
    using Long = std::conditional_t<std::is_signed_v<T>, i64, u64>;
    return static_cast<T>(static_cast<Long>(a) * b >> 32);
};

template <unsigned kLow, unsigned kHigh>
constexpr auto kPack = [](u32 a, u32 b) { return (a >> kLow & 0xFFFF) | (b >> kHigh & 0xFFFF) << 16; };

ScalarFunction arithmetic_function(Opcode opcode) {
    switch (opcode) {
        case Opcode::s_add_co_u32:
            return with_carry<u32, u32, kAdd>;
        case Opcode::s_sub_co_u32:
            return with_carry<u32, u32, kSub>;
        case Opcode::s_add_co_i32:
            return with_carry<i32, i32, kAddSigned>;
        case Opcode::s_sub_co_i32:
            return with_carry<i32, i32, kSubSigned>;
        case Opcode::s_add_co_ci_u32:
            return with_carry<u32, u32, kAddCarry>;
        case Opcode::s_sub_co_ci_u32:
            return with_carry<u32, u32, kSubBorrow>;
        case Opcode::s_absdiff_i32:
            return binary_scc<i32, i32, kAbsoluteDifference>;
        case Opcode::s_lshl1_add_u32:
            return with_carry<u32, u32, kShiftAdd<1>>;
        case Opcode::s_lshl2_add_u32:
            return with_carry<u32, u32, kShiftAdd<2>>;
        case Opcode::s_lshl3_add_u32:
            return with_carry<u32, u32, kShiftAdd<3>>;
        case Opcode::s_lshl4_add_u32:
            return with_carry<u32, u32, kShiftAdd<4>>;
        case Opcode::s_min_i32:
            return with_carry<i32, i32, kMinimum>;
        case Opcode::s_min_u32:
            return with_carry<u32, u32, kMinimum>;
        case Opcode::s_max_i32:
            return with_carry<i32, i32, kMaximum>;
        case Opcode::s_max_u32:
            return with_carry<u32, u32, kMaximum>;
        case Opcode::s_mul_i32:
            return binary<u32, u32, std::multiplies<u32>{}>;
        case Opcode::s_mul_hi_u32:
            return binary<u32, u32, kMultiplyHigh<u32>>;
        case Opcode::s_mul_hi_i32:
            return binary<i32, i32, kMultiplyHigh<i32>>;
        case Opcode::s_add_nc_u64:
            return binary<u64, u64, std::plus<u64>{}>;
        case Opcode::s_sub_nc_u64:
            return binary<u64, u64, std::minus<u64>{}>;
        case Opcode::s_mul_u64:
            return binary<u64, u64, std::multiplies<u64>{}>;
        case Opcode::s_addk_co_i32:
            return add_constant;
        case Opcode::s_mulk_i32:
            return multiply_constant;
        default:
            return nullptr;
    }
}

ScalarFunction move_function(Opcode opcode) {
    constexpr auto kSame = [](auto a) { return a; };
    switch (opcode) {
        case Opcode::s_mov_b32:
            return unary<u32, kSame>;
        case Opcode::s_mov_b64:
            return unary<u64, kSame>;
        case Opcode::s_movk_i32:
            return unary<u32, kSame>;
        case Opcode::s_cmov_b32:
            return move_if<u32>;
        case Opcode::s_cmov_b64:
            return move_if<u64>;
        case Opcode::s_cmovk_i32:
            return move_if<u32>;
        case Opcode::s_cselect_b32:
            return select<u32>;
        case Opcode::s_cselect_b64:
            return select<u64>;
        case Opcode::s_pack_ll_b32_b16:
            return binary<u32, u32, kPack<0, 0>>;
        case Opcode::s_pack_lh_b32_b16:
            return binary<u32, u32, kPack<0, 16>>;
        case Opcode::s_pack_hh_b32_b16:
            return binary<u32, u32, kPack<16, 16>>;
        case Opcode::s_pack_hl_b32_b16:
            return binary<u32, u32, kPack<16, 0>>;
        default:
            return nullptr;
    }
}

// Signed and unsigned comparisons of SOPC, and those of SOPK with the constant as second source.
ScalarFunction compare_function(Opcode opcode) {
    switch (opcode) {
        case Opcode::s_cmp_eq_i32:
        case Opcode::s_cmp_eq_u32:
        case Opcode::s_cmpk_eq_i32:
        case Opcode::s_cmpk_eq_u32:
            return compare<u32, u32, std::equal_to<u32>{}>;
        case Opcode::s_cmp_lg_i32:
        case Opcode::s_cmp_lg_u32:
        case Opcode::s_cmpk_lg_i32:
        case Opcode::s_cmpk_lg_u32:
            return compare<u32, u32, std::not_equal_to<u32>{}>;
        case Opcode::s_cmp_gt_i32:
        case Opcode::s_cmpk_gt_i32:
            return compare<i32, i32, std::greater<i32>{}>;
        case Opcode::s_cmp_ge_i32:
        case Opcode::s_cmpk_ge_i32:
            return compare<i32, i32, std::greater_equal<i32>{}>;
        case Opcode::s_cmp_lt_i32:
        case Opcode::s_cmpk_lt_i32:
            return compare<i32, i32, std::less<i32>{}>;
        case Opcode::s_cmp_le_i32:
        case Opcode::s_cmpk_le_i32:
            return compare<i32, i32, std::less_equal<i32>{}>;
        case Opcode::s_cmp_gt_u32:
        case Opcode::s_cmpk_gt_u32:
            return compare<u32, u32, std::greater<u32>{}>;
        case Opcode::s_cmp_ge_u32:
        case Opcode::s_cmpk_ge_u32:
            return compare<u32, u32, std::greater_equal<u32>{}>;
        case Opcode::s_cmp_lt_u32:
        case Opcode::s_cmpk_lt_u32:
            return compare<u32, u32, std::less<u32>{}>;
        case Opcode::s_cmp_le_u32:
        case Opcode::s_cmpk_le_u32:
            return compare<u32, u32, std::less_equal<u32>{}>;
        case Opcode::s_cmp_eq_u64:
            return compare<u64, u64, std::equal_to<u64>{}>;
        case Opcode::s_cmp_lg_u64:
            return compare<u64, u64, std::not_equal_to<u64>{}>;
        case Opcode::s_bitcmp0_b32:
            return compare<u32, u32, [](u32 a, u32 b) { return !(a >> (b & 31) & 1); }>;
        case Opcode::s_bitcmp1_b32:
            return compare<u32, u32, [](u32 a, u32 b) { return ((a >> (b & 31)) & 1) != 0; }>;
        case Opcode::s_bitcmp0_b64:
            return compare<u64, u32, [](u64 a, u32 b) { return !(a >> (b & 63) & 1); }>;
        case Opcode::s_bitcmp1_b64:
            return compare<u64, u32, [](u64 a, u32 b) { return ((a >> (b & 63)) & 1) != 0; }>;
        default:
            return nullptr;
    }
}

}  // namespace

uint64_t special_source(const WaveState& wave, unsigned code) {
    constexpr uint64_t kApertureSize = uint64_t{1} << 32;
    switch (code) {
        case 235:
            return wave.shared_base;
        case 236:
            return wave.shared_base + kApertureSize - 1;
        case 237:
            return wave.private_base;
        case 238:
            return wave.private_base + kApertureSize - 1;
        case 251:
            return wave.vcc() == 0;
        case 252:
            return wave.exec() == 0;
        default:
            return wave.scc;
    }
}

ScalarFunction scalar_function(Opcode opcode) {
    for (const auto find : {arithmetic_function, move_function, compare_function, scalar_bit_function,
                            scalar_exec_function, scalar_float_function, scalar_state_function})
        if (const ScalarFunction function = find(opcode)) return function;
    return nullptr;
}

}  // namespace riftjit::rdna::emulator
