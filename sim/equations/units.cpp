#include "sim/equations/units.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace riftjit::sim {

namespace {

struct NamedUnit {
    std::string_view name;
    Unit unit;
    int decimal_exponent;  // of the bare unit in base units
};
constexpr Unit kResistance{.voltage = 2, .current = -2}, kCharge{.current = 2, .time = 2}, kLength{.length = 2};

constexpr std::array kUnits = {
    NamedUnit{"V", kMillivolt, 3},        NamedUnit{"volt", kMillivolt, 3},
    NamedUnit{"A", kPicoampere, 12},      NamedUnit{"amp", kPicoampere, 12},
    NamedUnit{"s", kMillisecond, 3},      NamedUnit{"second", kMillisecond, 3},
    NamedUnit{"Hz", kPerMillisecond, -3}, NamedUnit{"hertz", kPerMillisecond, -3},
    NamedUnit{"S", kNanosiemens, 9},      NamedUnit{"siemens", kNanosiemens, 9},
    NamedUnit{"F", kPicofarad, 12},       NamedUnit{"farad", kPicofarad, 12},
    NamedUnit{"Ohm", kResistance, -9},    NamedUnit{"ohm", kResistance, -9},
    NamedUnit{"Ω", kResistance, -9},      NamedUnit{"C", kCharge, 15},
    NamedUnit{"m", kLength, 6},           NamedUnit{"metre", kLength, 6},
};
struct Prefix {
    std::string_view name;
    int decimal_exponent;
};
constexpr std::array kPrefixes = {Prefix{"", 0},   Prefix{"p", -12}, Prefix{"n", -9}, Prefix{"u", -6}, Prefix{"µ", -6},
                                  Prefix{"m", -3}, Prefix{"c", -2},  Prefix{"k", 3},  Prefix{"M", 6},  Prefix{"G", 9}};

// What unit_text() tries to write a unit with, alone or as a quotient.
struct BaseUnit {
    std::string_view name;
    Unit unit;
};
constexpr std::array kBaseUnits = {
    BaseUnit{"mV", kMillivolt}, BaseUnit{"pA", kPicoampere}, BaseUnit{"ms", kMillisecond}, BaseUnit{"nS", kNanosiemens},
    BaseUnit{"pF", kPicofarad}, BaseUnit{"um", kLength},     BaseUnit{"GOhm", kResistance}};

int8_t sum_of(int a, int b) { return static_cast<int8_t>(a + b); }

bool is_unit_character(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

// Reads factors of a unit from the text; `at` is an offset into it.
class UnitReader {
public:
    UnitReader(const SourceText& source, size_t at) : source_(source), text_(source.text), at_(at) {}

    Result<ScaledUnit> read() {
        ScaledUnit product;
        int sign = 1;
        bool is_first = true;
        while (true) {
            skip_spaces();
            if (at_ == text_.size() && !is_first) return product;
            if (!is_first || (at_ < text_.size() && text_[at_] == '/')) sign = read_operator();
            skip_spaces();
            RIFTJIT_TRY(factor, read_factor());
            RIFTJIT_TRY(exponent, read_exponent());
            const std::optional<Unit> raised = power(factor.unit, sign * exponent);
            product.unit = product.unit * *raised;
            product.decimal_exponent += factor.decimal_exponent * exponent * sign;
            is_first = false;
        }
    }

private:
    void skip_spaces() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    }
    int read_operator() {  // "/" or "*", or nothing for a product
        const char found = text_[at_];
        if (found == '/' || found == '*') ++at_;
        return found == '/' ? -1 : 1;
    }
    Result<ScaledUnit> read_factor() {
        if (at_ < text_.size() && text_[at_] == '1') {
            ++at_;
            return ScaledUnit{};
        }
        size_t end = at_;
        while (end < text_.size() && is_unit_character(text_[end])) ++end;
        const std::string symbol = text_.substr(at_, end - at_);
        if (symbol.empty()) {
            if (at_ == text_.size()) return fail_at(source_, at_, "expected a unit, found the end");
            return fail_at(source_, at_, "expected a unit, found '{}'", text_[at_]);
        }
        const std::optional<ScaledUnit> unit = unit_symbol(symbol);
        if (!unit) return fail_at(source_, at_, "unknown unit '{}'", symbol);
        at_ = end;
        return *unit;
    }
    Result<int> read_exponent() {
        const size_t length = text_.compare(at_, 2, "**") == 0 ? 2 : text_.compare(at_, 1, "^") == 0 ? 1 : 0;
        if (length == 0) return 1;
        int exponent = 0;
        const char* begin = text_.data() + at_ + length;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), exponent);
        if (error != std::errc() || std::abs(exponent) > 9)
            return fail_at(source_, at_ + length, "expected a whole exponent up to 9");
        at_ += length + static_cast<size_t>(end - begin);
        return exponent;
    }

    const SourceText& source_;
    const std::string& text_;
    size_t at_;
};

std::string powers_text(Unit unit, int sign) {  // factors whose exponent has this sign
    std::string text;
    const std::array<std::pair<int, std::string_view>, 4> factors = {
        {{unit.voltage, "mV"}, {unit.current, "pA"}, {unit.time, "ms"}, {unit.length, "um"}}};
    for (const auto& [halves, name] : factors) {
        if (halves * sign <= 0) continue;
        if (!text.empty()) text += ' ';
        text += name;
        if (halves * sign != 2) text += fmt::format("^{}", halves * sign / 2.0);
    }
    return text;
}

}  // namespace

Unit operator*(Unit a, Unit b) {
    return {sum_of(a.voltage, b.voltage), sum_of(a.current, b.current), sum_of(a.time, b.time),
            sum_of(a.length, b.length)};
}

Unit operator/(Unit a, Unit b) { return a * *power(b, -1); }

std::optional<Unit> power(Unit unit, double exponent) {
    Unit result;
    const auto raise = [&](int8_t halves, int8_t& raised) {
        const double wanted = halves * exponent;
        raised = static_cast<int8_t>(wanted);
        return std::abs(wanted) <= 120 && wanted == std::floor(wanted);
    };
    if (!raise(unit.voltage, result.voltage) || !raise(unit.current, result.current) ||
        !raise(unit.time, result.time) || !raise(unit.length, result.length))
        return std::nullopt;
    return result;
}

double to_base(double number, int decimal_exponent) {
    // Powers of ten up to 10^22 are exact, so that one operation rounds once.
    const double scale = std::pow(10.0, std::abs(decimal_exponent));
    return decimal_exponent < 0 ? number / scale : number * scale;
}

std::optional<ScaledUnit> unit_symbol(std::string_view symbol) {
    for (const Prefix& prefix : kPrefixes) {
        if (!symbol.starts_with(prefix.name)) continue;
        for (const NamedUnit& unit : kUnits)
            if (symbol.substr(prefix.name.size()) == unit.name)
                return ScaledUnit{unit.unit, unit.decimal_exponent + prefix.decimal_exponent};
    }
    return std::nullopt;
}

Result<ScaledUnit> parse_unit(const SourceText& text) { return UnitReader(text, 0).read(); }

std::string with_unit(double value, Unit unit) {
    return unit == kNoUnit ? fmt::format("{}", value) : fmt::format("{} {}", value, unit_text(unit));
}

std::string unit_text(Unit unit) {
    if (unit == kNoUnit) return "1";
    for (const BaseUnit& base : kBaseUnits)
        if (unit == base.unit) return std::string(base.name);
    for (const BaseUnit& base : kBaseUnits)
        if (unit == kNoUnit / base.unit) return fmt::format("1/{}", base.name);
    for (const BaseUnit& above : kBaseUnits)
        for (const BaseUnit& below : kBaseUnits)
            if (unit == above.unit / below.unit) return fmt::format("{}/{}", above.name, below.name);
    const std::string above = powers_text(unit, 1), below = powers_text(unit, -1);
    if (below.empty()) return above;
    std::string text = above.empty() ? "1" : above;
    text += '/';
    for (const char c : below) text += c == ' ' ? '/' : c;
    return text;
}

Result<Quantity> parse_quantity(const SourceText& source) {
    const std::string& text = source.text;
    const size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string::npos) return fail_at(source, 0, "expected a number with its unit, found nothing");
    const size_t digits = start + (text[start] == '+' ? 1 : 0);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data() + digits, text.data() + text.size(), number);
    if (error != std::errc() || !std::isfinite(number))
        return fail_at(source, start, "expected a number such as \"10 ms\", found '{}'", text.substr(start));
    const size_t unit_at = static_cast<size_t>(end - text.data());
    if (text.find_first_not_of(" \t\r\n", unit_at) == std::string::npos) return Quantity{number, kNoUnit};
    RIFTJIT_TRY(unit, UnitReader(source, unit_at).read());
    const double value = to_base(number, unit.decimal_exponent);
    if (!std::isfinite(value)) return fail_at(source, start, "'{}' is too large", text.substr(start));
    return Quantity{value, unit.unit};
}

Result<double> parse_quantity_of(const SourceText& source, Unit unit) {
    RIFTJIT_TRY(quantity, parse_quantity(source));
    if (quantity.unit == unit || (quantity.unit == kNoUnit && quantity.value == 0)) return quantity.value;
    return fail_at(source, 0, "expected {}, found {}",
                   unit == kNoUnit ? "a number without a unit" : "a unit of " + unit_text(unit),
                   quantity.unit == kNoUnit ? "no unit" : unit_text(quantity.unit));
}

}  // namespace riftjit::sim
