// Integer operations against formulas that go another way than the implementation: digit by digit, bit by bit, or
// through wider types and division.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "jit/rdna/emulator/valu/valu_lane.h"
#include "tests/jit/rdna/emulator/valu/valu_expectations.h"

namespace riftjit::rdna::emulator {
namespace valu_integer_test {

using I128 = __int128;

uint32_t u(uint64_t x) { return static_cast<uint32_t>(x); }
int32_t s(uint64_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x)); }
I128 us(uint64_t x) { return I128(u(x)); }
I128 ss(uint64_t x) { return I128(s(x)); }
int h(uint64_t x) { return static_cast<int16_t>(x); }
int uh(uint64_t x) { return static_cast<uint16_t>(x); }
uint32_t wrap16(int64_t x) { return static_cast<uint32_t>(((x % 65536) + 65536) % 65536); }
int64_t signed24(uint64_t x) {
    const int64_t low = static_cast<int64_t>(x % (1 << 24));
    return low >= 1 << 23 ? low - (1 << 24) : low;
}
uint32_t wrap32(I128 x) {
    const I128 modulus = I128(1) << 32;
    return static_cast<uint32_t>(((x % modulus) + modulus) % modulus);
}
uint64_t wrap64(I128 x) { return static_cast<uint64_t>(x); }
I128 limit(I128 x, I128 low, I128 high) { return std::max(low, std::min(x, high)); }
uint32_t byte(uint64_t x, int i) { return static_cast<uint32_t>(x / (1ull << 8 * i) % 256); }
uint32_t gap(uint32_t a, uint32_t b) { return static_cast<uint32_t>(std::abs(int64_t{a} - int64_t{b})); }
bool bit(uint64_t x, unsigned i) { return (x >> i) % 2 == 1; }

template <class F>
uint32_t by_bit(F f) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 32; ++i) result += static_cast<uint32_t>(f(i)) << i;
    return result;
}
uint64_t sort3(int64_t a, int64_t b, int64_t c, int place) {
    int64_t all[] = {a, b, c};
    std::sort(all, all + 3);
    return static_cast<uint64_t>(all[place]);
}
uint64_t sad_bytes(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += gap(byte(a, i), byte(b, i));
    return sum;
}
uint64_t masked_sad(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += byte(b, i) == 0 ? 0 : gap(byte(a, i), byte(b, i));
    return sum;
}

// x: what the lane sees; clamp as the case asks.
struct X {
    uint64_t a, b, c, previous;
    bool condition, clamp;
    uint32_t lane;
};
struct Want {
    uint64_t result;
    int mask = -1;  // not compared
};
I128 clamped(const X& x, I128 exact, I128 low, I128 high) { return x.clamp ? limit(exact, low, high) : exact; }
constexpr I128 kU32 = 0xFFFFFFFF, kI32Low = -I128(0x80000000), kI32High = 0x7FFFFFFF;
Want unsigned_sum(const X& x, I128 exact) { return {wrap32(clamped(x, exact, 0, kU32))}; }
Want signed_sum(const X& x, I128 exact) { return {wrap32(clamped(x, exact, kI32Low, kI32High))}; }
Want carry_sum(const X& x, I128 exact) {
    return {wrap32(clamped(x, exact, 0, kU32)), exact < 0 || exact > kU32 ? 1 : 0};
}
Want half(const X& x, int64_t exact, bool is_signed) {
    return {wrap16(static_cast<int64_t>(clamped(x, exact, is_signed ? -32768 : 0, is_signed ? 32767 : 65535)))};
}
Want plain_half(int64_t exact) { return {wrap16(exact)}; }
template <class F>
Want packed(F f) {
    return {wrap16(f(0)) + (uint64_t{wrap16(f(16))} << 16)};
}
int ph(uint64_t x, int at) { return static_cast<int16_t>(x >> at); }
int puh(uint64_t x, int at) { return static_cast<uint16_t>(x >> at); }

struct Case {
    Opcode opcode;
    Want (*want)(const X& x);
};
const Case kCases[] = {
    {Opcode::v_mov_b32, [](const X& x) { return Want{u(x.a)}; }},
    {Opcode::v_not_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return !bit(x.a, i); })}; }},
    {Opcode::v_bfrev_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return bit(x.a, 31 - i); })}; }},
    {Opcode::v_clz_i32_u32, [](const X& x) { uint64_t n = 0; for (uint32_t v = u(x.a); v != 0; v /= 2) ++n; return Want{n == 0 ? 0xFFFFFFFF : 32 - n}; }},
    {Opcode::v_ctz_i32_b32, [](const X& x) { uint64_t n = 0; uint32_t v = u(x.a); if (v == 0) return Want{0xFFFFFFFF}; while (v % 2 == 0) v /= 2, ++n; return Want{n}; }},
    {Opcode::v_cls_i32, [](const X& x) { uint64_t n = 1; while (n < 32 && bit(x.a, 31 - static_cast<unsigned>(n)) == bit(x.a, 31)) ++n; return Want{n == 32 ? 0xFFFFFFFF : n}; }},
    {Opcode::v_cndmask_b32, [](const X& x) { return Want{u(x.condition ? x.b : x.a)}; }},
    {Opcode::v_and_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return bit(x.a, i) && bit(x.b, i); })}; }},
    {Opcode::v_or_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return bit(x.a, i) || bit(x.b, i); })}; }},
    {Opcode::v_xor_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return bit(x.a, i) != bit(x.b, i); })}; }},
    {Opcode::v_xnor_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return bit(x.a, i) == bit(x.b, i); })}; }},
    {Opcode::v_lshlrev_b32, [](const X& x) { return Want{wrap32(us(x.b) * (I128(1) << x.a % 32))}; }},
    {Opcode::v_lshrrev_b32, [](const X& x) { return Want{wrap32(us(x.b) / (I128(1) << x.a % 32))}; }},
    {Opcode::v_ashrrev_i32, [](const X& x) { const I128 d = I128(1) << x.a % 32; return Want{wrap32((ss(x.b) - (ss(x.b) < 0 ? d - 1 : 0)) / d)}; }},
    {Opcode::v_lshlrev_b64, [](const X& x) { return Want{wrap64(I128(x.b) * (I128(1) << x.a % 64))}; }},
    {Opcode::v_lshrrev_b64, [](const X& x) { return Want{wrap64(I128(x.b) / (I128(1) << x.a % 64))}; }},
    {Opcode::v_ashrrev_i64, [](const X& x) { const I128 d = I128(1) << x.a % 64, v = static_cast<int64_t>(x.b); return Want{wrap64((v - (v < 0 ? d - 1 : 0)) / d)}; }},
    {Opcode::v_bfm_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return i >= x.b % 32 && i < x.b % 32 + x.a % 32; })}; }},
    {Opcode::v_bfe_u32, [](const X& x) { return Want{by_bit([&](unsigned i) { return i < x.c % 32 && i + x.b % 32 < 32 && bit(x.a, static_cast<unsigned>(i + x.b % 32)); })}; }},
    {Opcode::v_bfe_i32, [](const X& x) { const unsigned w = x.c % 32, o = x.b % 32; return Want{by_bit([&](unsigned i) { return w != 0 && bit(x.a, std::min(std::min(i, w - 1) + o, 31u)); })}; }},
    {Opcode::v_bfi_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return bit(x.a, i) ? bit(x.b, i) : bit(x.c, i); })}; }},
    {Opcode::v_lerp_u8, [](const X& x) { uint64_t r = 0; for (int i = 3; i >= 0; --i) r = 256 * r + (byte(x.a, i) + byte(x.b, i) + byte(x.c, i) % 2) / 2; return Want{r}; }},
    {Opcode::v_alignbit_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { const unsigned at = static_cast<unsigned>(i + x.c % 32); return at < 32 ? bit(x.b, at) : bit(x.a, at - 32); })}; }},
    {Opcode::v_alignbyte_b32, [](const X& x) { uint64_t r = 0; for (int i = 3; i >= 0; --i) { const int at = i + static_cast<int>(x.c % 4); r = 256 * r + (at < 4 ? byte(x.b, at) : byte(x.a, at - 4)); } return Want{r}; }},
    {Opcode::v_perm_b32, [](const X& x) {
         uint64_t r = 0;
         for (int i = 3; i >= 0; --i) {
             const uint32_t select = byte(x.c, i);
             const auto source = [&](uint32_t at) { return at < 4 ? byte(x.b, static_cast<int>(at)) : byte(x.a, static_cast<int>(at) - 4); };
             const uint32_t sign_of[] = {1, 3, 5, 7};
             const uint32_t value = select < 8 ? source(select) : select < 12 ? (source(sign_of[select - 8]) > 127 ? 255 : 0) : select == 12 ? 0 : 255;
             r = 256 * r + value;
         }
         return Want{r};
     }},
    {Opcode::v_xor3_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return (bit(x.a, i) + bit(x.b, i) + bit(x.c, i)) % 2 == 1; })}; }},
    {Opcode::v_or3_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return bit(x.a, i) + bit(x.b, i) + bit(x.c, i) > 0; })}; }},
    {Opcode::v_and_or_b32, [](const X& x) { return Want{by_bit([&](unsigned i) { return bit(x.c, i) || bit(x.a, i) + bit(x.b, i) == 2; })}; }},
    {Opcode::v_xad_u32, [](const X& x) { return Want{wrap32(us(by_bit([&](unsigned i) { return bit(x.a, i) != bit(x.b, i); })) + us(x.c))}; }},
    {Opcode::v_lshl_add_u32, [](const X& x) { return Want{wrap32(us(x.a) * (I128(1) << x.b % 32) + us(x.c))}; }},
    {Opcode::v_add_lshl_u32, [](const X& x) { return Want{wrap32((us(x.a) + us(x.b)) * (I128(1) << x.c % 32))}; }},
    {Opcode::v_lshl_or_b32, [](const X& x) { const uint32_t v = wrap32(us(x.a) * (I128(1) << x.b % 32)); return Want{by_bit([&](unsigned i) { return bit(v, i) || bit(x.c, i); })}; }},
    {Opcode::v_bcnt_u32_b32, [](const X& x) { uint64_t n = x.b; for (unsigned i = 0; i < 32; ++i) n += bit(x.a, i); return Want{u(n)}; }},
    {Opcode::v_mbcnt_lo_u32_b32, [](const X& x) { uint64_t n = x.b; for (unsigned i = 0; i < 32 && i < x.lane; ++i) n += bit(x.a, i); return Want{u(n)}; }},
    {Opcode::v_mbcnt_hi_u32_b32, [](const X& x) { uint64_t n = x.b; for (unsigned i = 32; i < x.lane; ++i) n += bit(x.a, i - 32); return Want{u(n)}; }},
    {Opcode::v_sat_pk_u8_i16, [](const X& x) { const auto one = [](int v) { return static_cast<uint64_t>(v < 0 ? 0 : v > 255 ? 255 : v); }; return Want{one(h(x.a)) + 256 * one(h(x.a >> 16))}; }},
    {Opcode::v_add_nc_u32, [](const X& x) { return unsigned_sum(x, us(x.a) + us(x.b)); }},
    {Opcode::v_sub_nc_u32, [](const X& x) { return unsigned_sum(x, us(x.a) - us(x.b)); }},
    {Opcode::v_subrev_nc_u32, [](const X& x) { return unsigned_sum(x, us(x.b) - us(x.a)); }},
    {Opcode::v_add_nc_i32, [](const X& x) { return signed_sum(x, ss(x.a) + ss(x.b)); }},
    {Opcode::v_sub_nc_i32, [](const X& x) { return signed_sum(x, ss(x.a) - ss(x.b)); }},
    {Opcode::v_add_co_u32, [](const X& x) { return carry_sum(x, us(x.a) + us(x.b)); }},
    {Opcode::v_sub_co_u32, [](const X& x) { return carry_sum(x, us(x.a) - us(x.b)); }},
    {Opcode::v_subrev_co_u32, [](const X& x) { return carry_sum(x, us(x.b) - us(x.a)); }},
    {Opcode::v_add_co_ci_u32, [](const X& x) { return carry_sum(x, us(x.a) + us(x.b) + x.condition); }},
    {Opcode::v_sub_co_ci_u32, [](const X& x) { return carry_sum(x, us(x.a) - us(x.b) - x.condition); }},
    {Opcode::v_subrev_co_ci_u32, [](const X& x) { return carry_sum(x, us(x.b) - us(x.a) - x.condition); }},
    {Opcode::v_add3_u32, [](const X& x) { return Want{wrap32(us(x.a) + us(x.b) + us(x.c))}; }},
    {Opcode::v_mul_lo_u32, [](const X& x) { return Want{wrap32(us(x.a) * us(x.b))}; }},
    {Opcode::v_mul_hi_u32, [](const X& x) { return Want{wrap32(us(x.a) * us(x.b) / (I128(1) << 32))}; }},
    {Opcode::v_mul_hi_i32, [](const X& x) { return Want{wrap32((ss(x.a) * ss(x.b)) >> 32)}; }},
    {Opcode::v_mul_i32_i24, [](const X& x) { return signed_sum(x, I128(signed24(x.a)) * signed24(x.b)); }},
    {Opcode::v_mul_u32_u24, [](const X& x) { return unsigned_sum(x, I128(x.a % 16777216) * I128(x.b % 16777216)); }},
    {Opcode::v_mul_hi_i32_i24, [](const X& x) { return Want{wrap32((I128(signed24(x.a)) * signed24(x.b)) >> 32)}; }},
    {Opcode::v_mul_hi_u32_u24, [](const X& x) { return Want{wrap32((I128(x.a % 16777216) * I128(x.b % 16777216)) >> 32)}; }},
    {Opcode::v_mad_i32_i24, [](const X& x) { return signed_sum(x, I128(signed24(x.a)) * signed24(x.b) + ss(x.c)); }},
    {Opcode::v_mad_u32_u24, [](const X& x) { return unsigned_sum(x, I128(x.a % 16777216) * I128(x.b % 16777216) + us(x.c)); }},
    {Opcode::v_mad_i32_i16, [](const X& x) { return signed_sum(x, I128(h(x.a)) * h(x.b) + ss(x.c)); }},
    {Opcode::v_mad_u32_u16, [](const X& x) { return unsigned_sum(x, I128(uh(x.a)) * uh(x.b) + us(x.c)); }},
    {Opcode::v_mad_co_u64_u32, [](const X& x) { const I128 e = us(x.a) * us(x.b) + I128(x.c), top = I128(~0ull); return Want{wrap64(clamped(x, e, 0, top)), e > top ? 1 : 0}; }},
    {Opcode::v_mad_co_i64_i32, [](const X& x) { const I128 e = ss(x.a) * ss(x.b) + I128(static_cast<int64_t>(x.c)); return Want{wrap64(clamped(x, e, INT64_MIN, INT64_MAX)), e < 0 ? 1 : 0}; }},
    {Opcode::v_min_i32, [](const X& x) { return Want{u(static_cast<uint64_t>(s(x.a) < s(x.b) ? s(x.a) : s(x.b)))}; }},
    {Opcode::v_max_i32, [](const X& x) { return Want{u(static_cast<uint64_t>(s(x.a) < s(x.b) ? s(x.b) : s(x.a)))}; }},
    {Opcode::v_min_u32, [](const X& x) { return Want{u(x.a) < u(x.b) ? u(x.a) : u(x.b)}; }},
    {Opcode::v_max_u32, [](const X& x) { return Want{u(x.a) < u(x.b) ? u(x.b) : u(x.a)}; }},
    {Opcode::v_min3_i32, [](const X& x) { return Want{u(sort3(s(x.a), s(x.b), s(x.c), 0))}; }},
    {Opcode::v_med3_i32, [](const X& x) { return Want{u(sort3(s(x.a), s(x.b), s(x.c), 1))}; }},
    {Opcode::v_max3_i32, [](const X& x) { return Want{u(sort3(s(x.a), s(x.b), s(x.c), 2))}; }},
    {Opcode::v_min3_u32, [](const X& x) { return Want{u(sort3(u(x.a), u(x.b), u(x.c), 0))}; }},
    {Opcode::v_med3_u32, [](const X& x) { return Want{u(sort3(u(x.a), u(x.b), u(x.c), 1))}; }},
    {Opcode::v_max3_u32, [](const X& x) { return Want{u(sort3(u(x.a), u(x.b), u(x.c), 2))}; }},
    {Opcode::v_minmax_i32, [](const X& x) { const int64_t m = s(x.a) < s(x.b) ? s(x.a) : s(x.b); return Want{u(static_cast<uint64_t>(m > s(x.c) ? m : s(x.c)))}; }},
    {Opcode::v_minmax_u32, [](const X& x) { const uint32_t m = u(x.a) < u(x.b) ? u(x.a) : u(x.b); return Want{m > u(x.c) ? m : u(x.c)}; }},
    {Opcode::v_maxmin_i32, [](const X& x) { const int64_t m = s(x.a) > s(x.b) ? s(x.a) : s(x.b); return Want{u(static_cast<uint64_t>(m < s(x.c) ? m : s(x.c)))}; }},
    {Opcode::v_maxmin_u32, [](const X& x) { const uint32_t m = u(x.a) > u(x.b) ? u(x.a) : u(x.b); return Want{m < u(x.c) ? m : u(x.c)}; }},
    {Opcode::v_sad_u8, [](const X& x) { return unsigned_sum(x, I128(sad_bytes(x.a, x.b)) + us(x.c)); }},
    {Opcode::v_sad_hi_u8, [](const X& x) { return unsigned_sum(x, I128(sad_bytes(x.a, x.b)) * 65536 + us(x.c)); }},
    {Opcode::v_sad_u16, [](const X& x) { return unsigned_sum(x, I128(gap(u(x.a) % 65536, u(x.b) % 65536)) + gap(u(x.a) / 65536, u(x.b) / 65536) + us(x.c)); }},
    {Opcode::v_sad_u32, [](const X& x) { return unsigned_sum(x, I128(gap(u(x.a), u(x.b))) + us(x.c)); }},
    {Opcode::v_msad_u8, [](const X& x) { return unsigned_sum(x, I128(masked_sad(x.a, x.b)) + us(x.c)); }},
    {Opcode::v_qsad_pk_u16_u8, [](const X& x) { uint64_t r = 0; for (int i = 3; i >= 0; --i) r = 65536 * r + wrap16(static_cast<int64_t>(clamped(x, I128(sad_bytes(x.a >> 8 * i, x.b)) + uh(x.c >> 16 * i), 0, 65535))); return Want{r}; }},
    {Opcode::v_mqsad_pk_u16_u8, [](const X& x) { uint64_t r = 0; for (int i = 3; i >= 0; --i) r = 65536 * r + wrap16(static_cast<int64_t>(clamped(x, I128(masked_sad(x.a >> 8 * i, x.b)) + uh(x.c >> 16 * i), 0, 65535))); return Want{r}; }},
    {Opcode::v_mqsad_u32_u8, [](const X& x) { uint64_t r = 0; for (int i = 1; i >= 0; --i) r = (r << 32) + wrap32(clamped(x, I128(masked_sad(x.a >> 8 * i, x.b)) + us(x.c >> 32 * i), 0, kU32)); return Want{r}; }},
    {Opcode::v_mov_b16, [](const X& x) { return plain_half(uh(x.a)); }},
    {Opcode::v_not_b16, [](const X& x) { return plain_half(65535 - uh(x.a)); }},
    {Opcode::v_and_b16, [](const X& x) { return plain_half(by_bit([&](unsigned i) { return bit(x.a, i) && bit(x.b, i); })); }},
    {Opcode::v_or_b16, [](const X& x) { return plain_half(by_bit([&](unsigned i) { return bit(x.a, i) || bit(x.b, i); })); }},
    {Opcode::v_xor_b16, [](const X& x) { return plain_half(by_bit([&](unsigned i) { return bit(x.a, i) != bit(x.b, i); })); }},
    {Opcode::v_lshlrev_b16, [](const X& x) { return plain_half(int64_t{uh(x.b)} * (1 << x.a % 16)); }},
    {Opcode::v_lshrrev_b16, [](const X& x) { return plain_half(uh(x.b) / (1 << x.a % 16)); }},
    {Opcode::v_ashrrev_i16, [](const X& x) { const int d = 1 << x.a % 16; return plain_half((h(x.b) - (h(x.b) < 0 ? d - 1 : 0)) / d); }},
    {Opcode::v_add_nc_u16, [](const X& x) { return half(x, uh(x.a) + uh(x.b), false); }},
    {Opcode::v_sub_nc_u16, [](const X& x) { return half(x, uh(x.a) - uh(x.b), false); }},
    {Opcode::v_add_nc_i16, [](const X& x) { return half(x, h(x.a) + h(x.b), true); }},
    {Opcode::v_sub_nc_i16, [](const X& x) { return half(x, h(x.a) - h(x.b), true); }},
    {Opcode::v_mul_lo_u16, [](const X& x) { return plain_half(int64_t{uh(x.a)} * uh(x.b)); }},
    {Opcode::v_mad_u16, [](const X& x) { return half(x, int64_t{uh(x.a)} * uh(x.b) + uh(x.c), false); }},
    {Opcode::v_mad_i16, [](const X& x) { return half(x, int64_t{h(x.a)} * h(x.b) + h(x.c), true); }},
    {Opcode::v_min_u16, [](const X& x) { return plain_half(uh(x.a) < uh(x.b) ? uh(x.a) : uh(x.b)); }},
    {Opcode::v_max_u16, [](const X& x) { return plain_half(uh(x.a) < uh(x.b) ? uh(x.b) : uh(x.a)); }},
    {Opcode::v_min_i16, [](const X& x) { return plain_half(h(x.a) < h(x.b) ? h(x.a) : h(x.b)); }},
    {Opcode::v_max_i16, [](const X& x) { return plain_half(h(x.a) < h(x.b) ? h(x.b) : h(x.a)); }},
    {Opcode::v_min3_u16, [](const X& x) { return Want{sort3(uh(x.a), uh(x.b), uh(x.c), 0)}; }},
    {Opcode::v_med3_u16, [](const X& x) { return Want{sort3(uh(x.a), uh(x.b), uh(x.c), 1)}; }},
    {Opcode::v_max3_u16, [](const X& x) { return Want{sort3(uh(x.a), uh(x.b), uh(x.c), 2)}; }},
    {Opcode::v_min3_i16, [](const X& x) { return plain_half(static_cast<int64_t>(sort3(h(x.a), h(x.b), h(x.c), 0))); }},
    {Opcode::v_med3_i16, [](const X& x) { return plain_half(static_cast<int64_t>(sort3(h(x.a), h(x.b), h(x.c), 1))); }},
    {Opcode::v_max3_i16, [](const X& x) { return plain_half(static_cast<int64_t>(sort3(h(x.a), h(x.b), h(x.c), 2))); }},
    {Opcode::v_cndmask_b16, [](const X& x) { return plain_half(uh(x.condition ? x.b : x.a)); }},
    {Opcode::v_pk_mad_i16, [](const X& x) { return packed([&](int i) { return static_cast<int64_t>(clamped(x, I128(ph(x.a, i)) * ph(x.b, i) + ph(x.c, i), -32768, 32767)); }); }},
    {Opcode::v_pk_mad_u16, [](const X& x) { return packed([&](int i) { return static_cast<int64_t>(clamped(x, I128(puh(x.a, i)) * puh(x.b, i) + puh(x.c, i), 0, 65535)); }); }},
    {Opcode::v_pk_mul_lo_u16, [](const X& x) { return packed([&](int i) { return int64_t{puh(x.a, i)} * puh(x.b, i); }); }},
    {Opcode::v_pk_add_i16, [](const X& x) { return packed([&](int i) { return static_cast<int64_t>(clamped(x, ph(x.a, i) + ph(x.b, i), -32768, 32767)); }); }},
    {Opcode::v_pk_sub_i16, [](const X& x) { return packed([&](int i) { return static_cast<int64_t>(clamped(x, ph(x.a, i) - ph(x.b, i), -32768, 32767)); }); }},
    {Opcode::v_pk_add_u16, [](const X& x) { return packed([&](int i) { return static_cast<int64_t>(clamped(x, puh(x.a, i) + puh(x.b, i), 0, 65535)); }); }},
    {Opcode::v_pk_sub_u16, [](const X& x) { return packed([&](int i) { return static_cast<int64_t>(clamped(x, puh(x.a, i) - puh(x.b, i), 0, 65535)); }); }},
    {Opcode::v_pk_lshlrev_b16, [](const X& x) { return packed([&](int i) { return int64_t{puh(x.b, i)} << puh(x.a, i) % 16; }); }},
    {Opcode::v_pk_lshrrev_b16, [](const X& x) { return packed([&](int i) { return int64_t{puh(x.b, i)} / (1 << puh(x.a, i) % 16); }); }},
    {Opcode::v_pk_ashrrev_i16, [](const X& x) { return packed([&](int i) { const int d = 1 << puh(x.a, i) % 16, v = ph(x.b, i); return int64_t{(v - (v < 0 ? d - 1 : 0)) / d}; }); }},
    {Opcode::v_pk_max_i16, [](const X& x) { return packed([&](int i) { return int64_t{std::max(ph(x.a, i), ph(x.b, i))}; }); }},
    {Opcode::v_pk_min_i16, [](const X& x) { return packed([&](int i) { return int64_t{std::min(ph(x.a, i), ph(x.b, i))}; }); }},
    {Opcode::v_pk_max_u16, [](const X& x) { return packed([&](int i) { return int64_t{std::max(puh(x.a, i), puh(x.b, i))}; }); }},
    {Opcode::v_pk_min_u16, [](const X& x) { return packed([&](int i) { return int64_t{std::min(puh(x.a, i), puh(x.b, i))}; }); }},
    {Opcode::v_cvt_i32_i16, [](const X& x) { return Want{u(static_cast<uint64_t>(h(x.a)))}; }},
    {Opcode::v_cvt_u32_u16, [](const X& x) { return Want{static_cast<uint64_t>(uh(x.a))}; }},
    {Opcode::v_cvt_pk_u16_u32, [](const X& x) { return Want{std::min<uint64_t>(u(x.a), 65535) + (std::min<uint64_t>(u(x.b), 65535) << 16)}; }},
    {Opcode::v_cvt_pk_i16_i32, [](const X& x) { return Want{wrap16(std::clamp(s(x.a), -32768, 32767)) + (uint64_t{wrap16(std::clamp(s(x.b), -32768, 32767))} << 16)}; }},
};

constexpr uint64_t kSpecial[] = {0,
                                 1,
                                 2,
                                 15,
                                 16,
                                 31,
                                 32,
                                 33,
                                 63,
                                 64,
                                 0x7F,
                                 0x80,
                                 0xFF,
                                 0x7FFF,
                                 0x8000,
                                 0xFFFF,
                                 0x10000,
                                 0x7FFFFF,
                                 0x800000,
                                 0xFFFFFF,
                                 0x7FFFFFFF,
                                 0x80000000,
                                 0xFFFFFFFF,
                                 0x7FFFFFFF7FFFFFFF,
                                 0x8000000080000000,
                                 ~0ull,
                                 0x0C0B0A0908070605,
                                 0x0D0E};

void check_case(const Case& test, const X& x) {
    LaneContext context;
    context.clamp = x.clamp;
    LaneData lane;
    lane.source = {x.a, x.b, x.c};
    lane.previous = x.previous;
    lane.condition = x.condition;
    lane.lane = x.lane;
    const LaneSemantics* semantics = lane_semantics(test.opcode);
    semantics->function(context, lane);
    const Want want = test.want(x);
    const bool is_64_bits = info(test.opcode).destination_operands()[0].dwords >= 2;
    const uint64_t mask = semantics->result == ResultKind::half ? 0xFFFF : is_64_bits ? ~0ull : 0xFFFFFFFF;
    ASSERT_EQ(lane.result & mask, want.result & mask)
        << info(test.opcode).name << std::hex << " " << x.a << " " << x.b << " " << x.c << (x.clamp ? " clamp" : "");
    if (want.mask >= 0) {
        ASSERT_EQ(lane.bit, want.mask == 1)
            << info(test.opcode).name << std::hex << " " << x.a << " " << x.b << " " << x.c;
    }
}

TEST(ValuInteger, MatchesFormulasOfAnotherKind) {
    std::mt19937_64 random(17);
    const auto value = [&] {
        return random() % 3 == 0 ? random()
                                 : kSpecial[random() % std::size(kSpecial)] ^ (random() % 4 == 0 ? random() % 4 : 0);
    };
    for (const Case& test : kCases)
        for (unsigned i = 0; i < 3000; ++i) {
            check_case(test, {value(), value(), value(), value(), random() % 2 == 0, random() % 2 == 0,
                              static_cast<uint32_t>(random() % 64)});
            if (HasFatalFailure()) break;
        }
}

}  // namespace valu_integer_test

std::vector<Opcode> expected_integer_opcodes() {
    using namespace valu_integer_test;
    std::vector<Opcode> opcodes;
    for (const Case& test : kCases) opcodes.push_back(test.opcode);
    return opcodes;
}

}  // namespace riftjit::rdna::emulator
