// Logic, shifts, bit fields and bit counts of the scalar unit.
#include <bit>
#include <functional>

#include "jit/rdna/emulator/scalar/salu.h"

namespace riftjit::rdna::emulator {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

template <class T>
constexpr unsigned kWidth = sizeof(T) * 8;

template <class T>
constexpr auto kShiftLeft = [](T a, u32 b) { return static_cast<T>(a << (b & (kWidth<T> - 1))); };
template <class T>
constexpr auto kShiftRight = [](T a, u32 b) { return static_cast<T>(a >> (b & (kWidth<T> - 1))); };

// b: the offset in [4:0] or [5:0], the width in [22:16].
template <class T>
constexpr auto kExtract = [](T a, u32 b) {
    using Unsigned = std::make_unsigned_t<T>;
    const unsigned offset = b & (kWidth<T> - 1), width = b >> 16 & 0x7F;
    if (width == 0) return T{0};
    const auto shifted = static_cast<Unsigned>(a >> offset);
    if (width >= kWidth<T>) return static_cast<T>(shifted);
    const unsigned unused = kWidth<T> - width;
    return static_cast<T>(static_cast<T>(static_cast<Unsigned>(shifted << unused)) >> unused);
};
template <class T>
constexpr auto kMask = [](u32 a, u32 b) {
    const T ones = (T{1} << (a & (kWidth<T> - 1))) - 1;
    return static_cast<T>(ones << (b & (kWidth<T> - 1)));
};

template <class T>
constexpr auto kReverse = [](T a) {
    T result = 0;
    for (unsigned i = 0; i < kWidth<T>; ++i) result |= (a >> i & 1) << (kWidth<T> - 1 - i);
    return result;
};
constexpr u32 kNotFound = ~0u;
template <class T>
constexpr auto kTrailingZeros = [](T a) { return a ? static_cast<u32>(std::countr_zero(a)) : kNotFound; };
template <class T>
constexpr auto kTrailingOnes = [](T a) { return ~a ? static_cast<u32>(std::countr_one(a)) : kNotFound; };
template <class T>
constexpr auto kLeadingZeros = [](T a) { return a ? static_cast<u32>(std::countl_zero(a)) : kNotFound; };
// Leading bits equal to the sign, the sign included; not found if all are.
template <class T>
constexpr auto kSignBits = [](T a) {
    const T same = static_cast<T>(static_cast<std::make_signed_t<T>>(a) >> (kWidth<T> - 1)) ^ a;
    return same ? static_cast<u32>(std::countl_zero(same)) : kNotFound;
};

template <class T>
constexpr auto kWholeQuad = [](T a) {
    T result = 0;
    for (unsigned quad = 0; quad < kWidth<T>; quad += 4)
        if (a >> quad & 15) result |= T{15} << quad;
    return result;
};
template <class T>
constexpr auto kQuadMask = [](T a) {
    T result = 0;
    for (unsigned quad = 0; quad < kWidth<T> / 4; ++quad) result |= static_cast<T>((a >> quad * 4 & 15) != 0) << quad;
    return result;
};
constexpr auto kReplicate = [](u32 a) {
    u64 result = 0;
    for (unsigned i = 0; i < 32; ++i) result |= u64{a >> i & 1} * 3 << i * 2;
    return result;
};

template <class T, bool kValue>
void set_bit(WaveState& wave, const Op& op) {
    if (op.destination < 0) return;
    const u32 at = source32(wave, op, 0) & (kWidth<T> - 1);
    u32& word = wave.scalars[op.destination + static_cast<int>(at / 32)];
    word = kValue ? word | 1u << at % 32 : word & ~(1u << at % 32);
}

ScalarFunction logic_function(Opcode opcode) {
    constexpr auto kNot = [](auto a) { return ~a; };
    constexpr auto kNand = [](auto a, auto b) { return ~(a & b); };
    constexpr auto kNor = [](auto a, auto b) { return ~(a | b); };
    constexpr auto kXnor = [](auto a, auto b) { return ~(a ^ b); };
    constexpr auto kAndNot = [](auto a, auto b) { return a & ~b; };
    constexpr auto kOrNot = [](auto a, auto b) { return a | ~b; };
    switch (opcode) {
        case Opcode::s_and_b32:
            return binary_scc<u32, u32, std::bit_and<u32>{}>;
        case Opcode::s_and_b64:
            return binary_scc<u64, u64, std::bit_and<u64>{}>;
        case Opcode::s_or_b32:
            return binary_scc<u32, u32, std::bit_or<u32>{}>;
        case Opcode::s_or_b64:
            return binary_scc<u64, u64, std::bit_or<u64>{}>;
        case Opcode::s_xor_b32:
            return binary_scc<u32, u32, std::bit_xor<u32>{}>;
        case Opcode::s_xor_b64:
            return binary_scc<u64, u64, std::bit_xor<u64>{}>;
        case Opcode::s_nand_b32:
            return binary_scc<u32, u32, kNand>;
        case Opcode::s_nand_b64:
            return binary_scc<u64, u64, kNand>;
        case Opcode::s_nor_b32:
            return binary_scc<u32, u32, kNor>;
        case Opcode::s_nor_b64:
            return binary_scc<u64, u64, kNor>;
        case Opcode::s_xnor_b32:
            return binary_scc<u32, u32, kXnor>;
        case Opcode::s_xnor_b64:
            return binary_scc<u64, u64, kXnor>;
        case Opcode::s_and_not1_b32:
            return binary_scc<u32, u32, kAndNot>;
        case Opcode::s_and_not1_b64:
            return binary_scc<u64, u64, kAndNot>;
        case Opcode::s_or_not1_b32:
            return binary_scc<u32, u32, kOrNot>;
        case Opcode::s_or_not1_b64:
            return binary_scc<u64, u64, kOrNot>;
        case Opcode::s_not_b32:
            return unary_scc<u32, kNot>;
        case Opcode::s_not_b64:
            return unary_scc<u64, kNot>;
        case Opcode::s_wqm_b32:
            return unary_scc<u32, kWholeQuad<u32>>;
        case Opcode::s_wqm_b64:
            return unary_scc<u64, kWholeQuad<u64>>;
        case Opcode::s_quadmask_b32:
            return unary_scc<u32, kQuadMask<u32>>;
        case Opcode::s_quadmask_b64:
            return unary_scc<u64, kQuadMask<u64>>;
        default:
            return nullptr;
    }
}

ScalarFunction shift_function(Opcode opcode) {
    switch (opcode) {
        case Opcode::s_lshl_b32:
            return binary_scc<u32, u32, kShiftLeft<u32>>;
        case Opcode::s_lshl_b64:
            return binary_scc<u64, u32, kShiftLeft<u64>>;
        case Opcode::s_lshr_b32:
            return binary_scc<u32, u32, kShiftRight<u32>>;
        case Opcode::s_lshr_b64:
            return binary_scc<u64, u32, kShiftRight<u64>>;
        case Opcode::s_ashr_i32:
            return binary_scc<i32, u32, kShiftRight<i32>>;
        case Opcode::s_ashr_i64:
            return binary_scc<i64, u32, kShiftRight<i64>>;
        case Opcode::s_bfe_u32:
            return binary_scc<u32, u32, kExtract<u32>>;
        case Opcode::s_bfe_i32:
            return binary_scc<i32, u32, kExtract<i32>>;
        case Opcode::s_bfe_u64:
            return binary_scc<u64, u32, kExtract<u64>>;
        case Opcode::s_bfe_i64:
            return binary_scc<i64, u32, kExtract<i64>>;
        case Opcode::s_bfm_b32:
            return binary<u32, u32, kMask<u32>>;
        case Opcode::s_bfm_b64:
            return binary<u32, u32, kMask<u64>>;
        case Opcode::s_bitset0_b32:
            return set_bit<u32, false>;
        case Opcode::s_bitset0_b64:
            return set_bit<u64, false>;
        case Opcode::s_bitset1_b32:
            return set_bit<u32, true>;
        case Opcode::s_bitset1_b64:
            return set_bit<u64, true>;
        default:
            return nullptr;
    }
}

ScalarFunction count_function(Opcode opcode) {
    constexpr auto kOnes = [](auto a) { return static_cast<u32>(std::popcount(a)); };
    constexpr auto kZeros = [](auto a) { return static_cast<u32>(kWidth<decltype(a)> - std::popcount(a)); };
    switch (opcode) {
        case Opcode::s_brev_b32:
            return unary<u32, kReverse<u32>>;
        case Opcode::s_brev_b64:
            return unary<u64, kReverse<u64>>;
        case Opcode::s_ctz_i32_b32:
            return unary<u32, kTrailingZeros<u32>>;
        case Opcode::s_ctz_i32_b64:
            return unary<u64, kTrailingZeros<u64>>;
        case Opcode::s_ff0_i32_b32:
            return unary<u32, kTrailingOnes<u32>>;
        case Opcode::s_ff0_i32_b64:
            return unary<u64, kTrailingOnes<u64>>;
        case Opcode::s_clz_i32_u32:
            return unary<u32, kLeadingZeros<u32>>;
        case Opcode::s_clz_i32_u64:
            return unary<u64, kLeadingZeros<u64>>;
        case Opcode::s_cls_i32:
            return unary<u32, kSignBits<u32>>;
        case Opcode::s_cls_i32_i64:
            return unary<u64, kSignBits<u64>>;
        case Opcode::s_bcnt0_i32_b32:
            return unary_scc<u32, kZeros>;
        case Opcode::s_bcnt0_i32_b64:
            return unary_scc<u64, kZeros>;
        case Opcode::s_bcnt1_i32_b32:
            return unary_scc<u32, kOnes>;
        case Opcode::s_bcnt1_i32_b64:
            return unary_scc<u64, kOnes>;
        case Opcode::s_sext_i32_i8:
            return unary<u32, [](u32 a) { return i32{static_cast<int8_t>(a)}; }>;
        case Opcode::s_sext_i32_i16:
            return unary<u32, [](u32 a) { return i32{static_cast<int16_t>(a)}; }>;
        case Opcode::s_abs_i32:
            return unary_scc<i32, [](i32 a) { return a < 0 ? 0u - static_cast<u32>(a) : static_cast<u32>(a); }>;
        case Opcode::s_bitreplicate_b64_b32:
            return unary<u32, kReplicate>;
        default:
            return nullptr;
    }
}

}  // namespace

ScalarFunction scalar_bit_function(Opcode opcode) {
    for (const auto find : {logic_function, shift_function, count_function})
        if (const ScalarFunction function = find(opcode)) return function;
    return nullptr;
}

}  // namespace riftjit::rdna::emulator
