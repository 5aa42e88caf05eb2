// exp of f32 as every back end computes it, step by step, so that all have the same bits: n = rint(x log2 e),
// r = x - n ln 2 by two fused steps (high, low), the polynomial of r in fused steps from its last term on, n added to
// its exponent field. Below kExpMin the result is 0, above kExpMax infinity; NaN gives NaN.
#pragma once

#include <array>
#include <cstdint>

namespace riftjit {

// Which arguments exp must get right: softmax has none above zero.
enum class ExpDomain : uint8_t { not_positive, any };

inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f;  // ln 2 to 48 bits
inline constexpr float kExpMin = -0x1.5d589ep+6f;  // -87.3365: the smallest argument with a normal result
inline constexpr float kExpMax = 0x1.62e42ep+6f;   // 88.7228: the largest with a finite one

// exp(r) = 1 + r + c2 r^2 + ... + c6 r^6 on |r| <= ln 2 / 2, minimax with relative error below 2^-28.
inline constexpr std::array<float, 7> kExpPolynomial = {1.0f,           1.0f,          0x1.fffffcp-2f, 0x1.555492p-3f,
                                                        0x1.5558f2p-5f, 0x1.123a2p-7f, 0x1.6a23dp-10f};

// softplus(x) = log(1 + exp(x)) = max(x, 0) + 2 atanh(s) with s = t / (2 + t), t = exp(-|x|), s in [0, 1/3]:
// atanh(s) = s p(s * s), p from its last term on in fused steps; p is off by less than 2^-30, relatively.
inline constexpr std::array<float, 6> kAtanhPolynomial = {1.0f,           0x1.55555ap-2f, 0x1.99962ep-3f,
                                                          0x1.251340p-3f, 0x1.b62794p-4f, 0x1.f3e792p-4f};

}  // namespace riftjit
