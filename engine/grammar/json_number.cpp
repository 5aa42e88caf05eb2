#include <algorithm>

#include "engine/grammar/json_text_grammar.h"

namespace riftjit::engine {

namespace {

constexpr size_t kMostDigits = 16;       // before the point, and behind it
constexpr size_t kMostTightDigits = 24;  // behind it, where a bound has as many

// Numbers of one count of digits before the point, digit by digit: as long as they are those of a bound, the next digit
// must not pass the bound's.
class Between {
public:
    using Expression = GrammarBuilder::Expression;
    struct Bound {
        std::string whole, fraction;
        bool is_exclusive = false;
        bool is_open = false;  // any number of as many digits is within it
    };

    Between(GrammarBuilder& builder, Bound low, Bound high, bool is_integer)
        : builder_(builder), low_(std::move(low)), high_(std::move(high)), is_integer_(is_integer) {}

    Expression make() { return whole(0, !low_.is_open, !high_.is_open); }

private:
    Expression digit(int first, int last) {
        if (first > last) return builder_.never();
        return builder_.characters({{static_cast<char32_t>('0' + first), static_cast<char32_t>('0' + last)}});
    }
    Expression digits(size_t least, size_t most) {
        return builder_.repeat(digit(0, 9), static_cast<uint32_t>(least), static_cast<uint32_t>(most));
    }
    static int digit_of(const std::string& digits, size_t at) { return at < digits.size() ? digits[at] - '0' : 0; }
    static bool is_zero_from(const std::string& digits, size_t at) {
        return at >= digits.size() || digits.find_first_not_of('0', at) == std::string::npos;
    }

    template <class Next>
    Expression next_digit(int low, int high, bool is_low, bool is_high, const Next& next) {
        if (is_low && is_high && low == high) return builder_.sequence({digit(low, low), next(true, true)});
        if (low > high) return builder_.never();
        std::vector<Expression> ways;
        if (is_low) ways.push_back(builder_.sequence({digit(low, low), next(true, false)}));
        ways.push_back(builder_.sequence({digit(low + is_low, high - is_high), next(false, false)}));
        if (is_high) ways.push_back(builder_.sequence({digit(high, high), next(false, true)}));
        return builder_.choice(std::move(ways));
    }

    Expression whole(size_t at, bool is_low, bool is_high) {
        const size_t count = low_.whole.size();
        if (at == count) return behind(is_low, is_high);
        if (!is_low && !is_high && at > 0)
            return builder_.sequence({digits(count - at, count - at), behind(false, false)});
        const int lowest = at == 0 && count > 1 ? 1 : 0;  // no zero leads
        return next_digit(is_low ? digit_of(low_.whole, at) : lowest, is_high ? digit_of(high_.whole, at) : 9, is_low,
                          is_high, [&](bool low, bool high) { return whole(at + 1, low, high); });
    }

    // Whether the number may end before the fraction's digit `at`: all that follow are zeros.
    bool may_end(size_t at, bool is_low, bool is_high) const {
        if (is_low && (!is_zero_from(low_.fraction, at) || low_.is_exclusive)) return false;
        return !is_high || !is_zero_from(high_.fraction, at) || !high_.is_exclusive;
    }

    Expression behind(bool is_low, bool is_high) {
        std::vector<Expression> ways;
        if (may_end(0, is_low, is_high)) ways.push_back(builder_.nothing());
        if (!is_integer_) ways.push_back(builder_.sequence({builder_.literal("."), fraction(0, is_low, is_high)}));
        return builder_.choice(std::move(ways));
    }

    Expression fraction(size_t at, bool is_low, bool is_high) {
        if (!is_low && !is_high) return digits(1, std::max(kMostDigits, at + 1) - at);
        if (at == kMostTightDigits) return builder_.never();
        return next_digit(is_low ? digit_of(low_.fraction, at) : 0, is_high ? digit_of(high_.fraction, at) : 9, is_low,
                          is_high, [&](bool low, bool high) {
                              std::vector<Expression> ways;
                              if (may_end(at + 1, low, high)) ways.push_back(builder_.nothing());
                              ways.push_back(fraction(at + 1, low, high));
                              return builder_.choice(std::move(ways));
                          });
    }

    GrammarBuilder& builder_;
    Bound low_, high_;
    bool is_integer_;
};

// Of numbers that are not negative; most: nullptr for any.
GrammarBuilder::Expression magnitudes(GrammarBuilder& builder, const NumberBound& least, const NumberBound* most,
                                      bool is_integer) {
    const size_t longest = most == nullptr ? kMostDigits : std::min(most->whole.size(), kMostDigits);
    std::vector<GrammarBuilder::Expression> ways;
    for (size_t count = least.whole.size(); count <= longest; ++count) {
        const auto bound = [count](const NumberBound* of) {
            if (of == nullptr || of->whole.size() != count)
                return Between::Bound{std::string(count, '0'), {}, false, true};
            return Between::Bound{of->whole, of->fraction, of->is_exclusive, false};
        };
        ways.push_back(Between(builder, bound(&least), bound(most), is_integer).make());
    }
    return builder.choice(std::move(ways));
}

}  // namespace

GrammarBuilder::Expression json_number(GrammarBuilder& builder, const std::optional<NumberBound>& least,
                                       const std::optional<NumberBound>& most, bool is_integer) {
    const NumberBound zero{false, "0", "", false};
    std::vector<GrammarBuilder::Expression> ways;
    if (!most || !most->is_negative) {
        const bool is_from_zero = !least || least->is_negative;
        ways.push_back(magnitudes(builder, is_from_zero ? zero : *least, most ? &*most : nullptr, is_integer));
    }
    if (!least || least->is_negative) {
        const bool is_from_zero = !most || !most->is_negative;
        // No "-0": not all readers take it for the integer.
        NumberBound from = is_from_zero ? zero : *most;
        from.is_exclusive |= is_from_zero;
        ways.push_back(
            builder.sequence({builder.literal("-"), magnitudes(builder, from, least ? &*least : nullptr, is_integer)}));
    }
    return builder.choice(std::move(ways));
}

}  // namespace riftjit::engine
