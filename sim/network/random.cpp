#include "sim/network/random.h"

#include <bit>
#include <cmath>
#include <string_view>

namespace riftjit::sim {

uint64_t random_key(uint64_t seed, Purpose purpose, uint32_t object, uint32_t part) {
    constexpr uint32_t kKeys = 0x6b657973;  // keeps keys apart from draws
    return philox_first(philox4x32({uint32_t(purpose), object, part, kKeys}, philox_key(seed)));
}

uint32_t name_part(std::string_view name) {  // FNV-1a
    uint32_t hash = 2166136261u;
    for (const char letter : name) hash = (hash ^ static_cast<uint8_t>(letter)) * 16777619u;
    return hash;
}

uint64_t BoundedNumbers::redraw(uint32_t word) const {
    for (uint32_t attempt = 1;; ++attempt) {
        const uint64_t product = uint64_t(random_words(key_, id_, count_ / 4, attempt)[word]) * bound_;
        if (uint32_t(product) >= least_) return product;
    }
}

namespace {

// ln 2 in two parts; the high one has 32 bits, so its products with exponents are exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

}  // namespace

// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716. The series
// ends at s^21: the first term left out is 2 s^23 / 23 < 2^-62 of the first.
double portable_log(double x) {
    int exponent;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    const double difference = m - 1, s = difference / (m + 1), square = s * s;
    double series = 0;
    for (int power = 21; power >= 3; power -= 2) series = square * (series + 1.0 / power);
    // log m = d - (d^2 / 2 - s (d^2 / 2 + 2 series)), as fdlibm groups it, which keeps what d lost in the quotient.
    const double half_square = 0.5 * difference * difference;
    const double rest = half_square - (s * (half_square + 2 * series) + exponent * kLn2Low);
    return exponent * kLn2High - (rest - difference);
}

// What 1 + x lost to rounding, log and difference lost alike (Kahan's correction, in HP-15C manual, 1982).
double portable_log1p(double x) {
    const double sum = 1 + x;
    return sum == 1 ? x : portable_log(sum) * (x / (sum - 1));
}

// x = k ln 2 + r with |r| <= ln 2 / 2; the Taylor series ends at r^13: the next term is below 2^-57.
double portable_exp(double x) {
    const double k = std::floor(x * 0x1.71547652b82fep+0 + 0.5);
    const double r = (x - k * kLn2High) - k * kLn2Low;
    double factorial_inverse[14] = {1};
    for (int i = 1; i < 14; ++i) factorial_inverse[i] = factorial_inverse[i - 1] / i;
    double sum = factorial_inverse[13];
    for (int i = 12; i >= 2; --i) sum = sum * r + factorial_inverse[i];
    return std::ldexp(1 + (r + r * r * sum), static_cast<int>(k));
}

namespace {

template <size_t N>
double polynomial(const double (&coefficients)[N], double x) {
    double sum = coefficients[N - 1];
    for (size_t i = N - 1; i-- > 0;) sum = sum * x + coefficients[i];
    return sum;
}

// The coefficients of the paper, constant term first: numerator and denominator of the three ranges.
constexpr double kCentreTop[] = {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                                 13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                                 33430.575583588128105, 2509.0809287301226727};
constexpr double kCentreBottom[] = {1.0,
                                    42.313330701600911252,
                                    687.18700749205790830,
                                    5394.1960214247511077,
                                    21213.794301586595867,
                                    39307.895800092710610,
                                    28729.085735721942674,
                                    5226.4952788528545610};
constexpr double kMiddleTop[] = {1.42343711074968357734,   4.63033784615654529590,   5.76949722146069140550,
                                 3.64784832476320460504,   1.27045825245236838258,   0.241780725177450611770,
                                 0.0227238449892691845833, 7.74545014278341407640e-4};
constexpr double kMiddleBottom[] = {1.0,
                                    2.05319162663775882187,
                                    1.67638483018380384940,
                                    0.689767334985100004550,
                                    0.148103976427480074590,
                                    0.0151986665636164571966,
                                    5.47593808499534494600e-4,
                                    1.05075007164441684324e-9};
constexpr double kTailTop[] = {6.65790464350110377720,    5.46378491116411436990,   1.78482653991729133580,
                               0.296560571828504891230,   0.0265321895265761230930, 0.00124266094738807843860,
                               2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kTailBottom[] = {1.0,
                                  0.599832206555887937690,
                                  0.136929880922735805310,
                                  0.0148753612908506148525,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};

}  // namespace

double normal_quantile(double u) {
    const double q = u - 0.5;
    if (std::abs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * polynomial(kCentreTop, r) / polynomial(kCentreBottom, r);
    }
    const double r = std::sqrt(-portable_log(q < 0 ? u : 1 - u));
    const double value = r <= 5 ? polynomial(kMiddleTop, r - 1.6) / polynomial(kMiddleBottom, r - 1.6)
                                : polynomial(kTailTop, r - 5) / polynomial(kTailBottom, r - 5);
    return q < 0 ? -value : value;
}

}  // namespace riftjit::sim
