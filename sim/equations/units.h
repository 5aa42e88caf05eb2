// Units: powers of voltage, current, time and length. Numbers are held in mV, pA, ms and um, hence in pF, nS, GOhm and
// 1/ms, which are consistent with each other (pF mV / ms = nS mV = pA).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/equations/source_text.h"

namespace riftjit::sim {

// Exponents in halves, since noise has a square root of time in its unit: 2 is the first power.
struct Unit {
    int8_t voltage = 0, current = 0, time = 0, length = 0;
    auto operator<=>(const Unit&) const = default;
};
inline constexpr Unit kNoUnit{}, kMillivolt{.voltage = 2}, kPicoampere{.current = 2}, kMillisecond{.time = 2};
inline constexpr Unit kPerMillisecond{.time = -2}, kNanosiemens{.voltage = -2, .current = 2};
inline constexpr Unit kPicofarad{.voltage = -2, .current = 2, .time = 2};

Unit operator*(Unit a, Unit b);
Unit operator/(Unit a, Unit b);
std::optional<Unit> power(Unit unit, double exponent);  // none unless all exponents stay halves

// A unit as it is written: 1 nA is 10^3 pA.
struct ScaledUnit {
    Unit unit;
    int decimal_exponent = 0;
};
// The number in base units, rounded once.
double to_base(double number, int decimal_exponent);

// "mV", "nS", "GOhm", "msecond": SI prefixes p n u µ m c k M G before V A s S F C Hz Ohm m or their names.
std::optional<ScaledUnit> unit_symbol(std::string_view symbol);
// "pA/mV", "1/ms", "mV ms^-1", "1". `text` is named in the error.
Result<ScaledUnit> parse_unit(const SourceText& text);
// "pA", "mV/ms", "1" for none; in base units.
std::string unit_text(Unit unit);
std::string with_unit(double value, Unit unit);  // "5 mV"; "5" without one

struct Quantity {
    double value;  // in base units
    Unit unit;
};
// "10 ms", "-70 mV", "8 Hz", "0.02/ms", "0.5".
Result<Quantity> parse_quantity(const SourceText& text);
// The value of `text`, which must be of `unit`; a plain 0 is of any. "net.toml:4:9: expected a unit of ms, found mV".
Result<double> parse_quantity_of(const SourceText& text, Unit unit);

}  // namespace riftjit::sim
