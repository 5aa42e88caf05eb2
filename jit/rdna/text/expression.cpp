#include "jit/rdna/text/expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <numeric>
#include <vector>

#include "jit/rdna/text/symbolic.h"

namespace riftjit::rdna {
namespace {

constexpr int kMaxDepth = 64;  // of parentheses: the evaluator is recursive

bool is_operand_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' || c == '@';
}

struct BinaryOperator {
    std::string_view text;
    int precedence;
};
constexpr std::array<BinaryOperator, 10> kOperators = {
    {{"<<", 3}, {">>", 3}, {"|", 2}, {"^", 2}, {"&", 2}, {"+", 1}, {"-", 1}, {"*", 3}, {"/", 3}, {"%", 3}}};

using Arguments = std::vector<int64_t>;
struct Function {
    std::string_view name;
    size_t least, most;  // arguments
    int64_t (*value)(const Arguments& arguments);
};
constexpr size_t kAnyNumber = SIZE_MAX;
constexpr Function kFunctions[] = {
    {"max", 1, kAnyNumber, [](const Arguments& a) { return *std::ranges::max_element(a); }},
    {"or", 1, kAnyNumber,
     [](const Arguments& a) { return std::accumulate(a.begin(), a.end(), int64_t{0}, std::bit_or<>()); }},
    // A multiple of the second that is not below the first.
    {"alignto", 2, 2,
     [](const Arguments& a) { return a[1] <= 0 || a[0] > INT64_MAX - a[1] ? 0 : (a[0] + a[1] - 1) / a[1] * a[1]; }},
    // Of uses of vcc, of flat scratch and of xnack: RDNA numbers none beyond vcc.
    {"extrasgprs", 3, 3, [](const Arguments& a) { return a[0] != 0 ? int64_t{2} : 0; }},
    {"totalnumvgprs", 2, 2, [](const Arguments& a) { return std::max(a[0], a[1]); }},
};

class Evaluator {
public:
    Evaluator(std::string_view text, const SymbolLookup& lookup) : text_(text), rest_(text), lookup_(lookup) {}

    Result<AssemblyValue> whole() {
        RIFTJIT_TRY(value, binary(0, 0));
        skip_blanks();
        if (!rest_.empty()) return fail(ErrorKind::Usage, "'{}' is left over in expression '{}'", rest_, text_);
        return value;
    }

private:
    void skip_blanks() {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
    }

    const BinaryOperator* next_operator() {
        skip_blanks();
        for (const BinaryOperator& known : kOperators)
            if (rest_.starts_with(known.text)) return &known;
        return nullptr;
    }

    Result<AssemblyValue> binary(int least_precedence, int depth) {
        RIFTJIT_TRY(first, unary(depth));
        AssemblyValue left = first;
        while (const BinaryOperator* found = next_operator()) {
            if (found->precedence < least_precedence) break;
            rest_.remove_prefix(found->text.size());
            RIFTJIT_TRY(right, binary(found->precedence + 1, depth));
            RIFTJIT_TRY(combined, combine(left, found->text, right));
            left = combined;
        }
        return left;
    }

    Result<AssemblyValue> unary(int depth) {
        if (depth > kMaxDepth) return fail(ErrorKind::Usage, "expression is nested more than {} deep", kMaxDepth);
        skip_blanks();
        if (rest_.empty()) return fail(ErrorKind::Usage, "expression '{}' ends too early", text_);
        const char c = rest_.front();
        if (c == '-' || c == '~' || c == '+') {
            rest_.remove_prefix(1);
            RIFTJIT_TRY(value, unary(depth + 1));
            if (value.section) return fail(ErrorKind::Usage, "'{}' of a label in '{}'", c, text_);
            const auto bits = static_cast<uint64_t>(value.number);
            return AssemblyValue{static_cast<int64_t>(c == '-' ? 0 - bits : c == '~' ? ~bits : bits), {}};
        }
        if (c == '(') {
            rest_.remove_prefix(1);
            RIFTJIT_TRY(value, binary(0, depth + 1));
            skip_blanks();
            if (!rest_.starts_with(')')) return fail(ErrorKind::Usage, "'(' without ')' in '{}'", text_);
            rest_.remove_prefix(1);
            return value;
        }
        return primary(depth);
    }

    Result<AssemblyValue> call(const Function& function, int depth) {
        Arguments arguments;
        do {
            rest_.remove_prefix(1);
            RIFTJIT_TRY(argument, binary(0, depth + 1));
            if (argument.section) return fail(ErrorKind::Usage, "{} of a label in '{}'", function.name, text_);
            arguments.push_back(argument.number);
            skip_blanks();
        } while (rest_.starts_with(','));
        if (!rest_.starts_with(')')) return fail(ErrorKind::Usage, "'(' without ')' in '{}'", text_);
        rest_.remove_prefix(1);
        if (arguments.size() < function.least || arguments.size() > function.most)
            return fail(ErrorKind::Usage, "{} takes {} arguments, not {}, in '{}'", function.name, function.least,
                        arguments.size(), text_);
        return AssemblyValue{function.value(arguments), {}};
    }

    Result<AssemblyValue> primary(int depth) {
        size_t length = 0;
        while (length < rest_.size() && is_operand_character(rest_[length])) ++length;
        const std::string_view word = rest_.substr(0, length);
        if (word.empty()) return fail(ErrorKind::Usage, "'{}' is no number and no symbol", rest_);
        rest_.remove_prefix(length);
        if (rest_.starts_with('('))
            for (const Function& function : kFunctions)
                if (function.name == word) return call(function, depth);
        if (const std::optional<int64_t> number = parse_integer(word)) return AssemblyValue{*number, {}};
        if (const std::optional<AssemblyValue> value = lookup_(word)) return *value;
        return fail(ErrorKind::Usage, "symbol '{}' is not defined", word);
    }

    Result<AssemblyValue> combine(AssemblyValue left, std::string_view operation, AssemblyValue right) const {
        const auto a = static_cast<uint64_t>(left.number), b = static_cast<uint64_t>(right.number);
        const auto value = [](uint64_t bits, std::optional<size_t> section) {
            return AssemblyValue{static_cast<int64_t>(bits), section};
        };
        if (operation == "+" && !(left.section && right.section))
            return value(a + b, left.section ? left.section : right.section);
        if (operation == "-" && (!right.section || left.section == right.section))
            return value(a - b, right.section ? std::nullopt : left.section);
        if (left.section || right.section) return fail(ErrorKind::Usage, "'{}' of labels in '{}'", operation, text_);
        if (operation == "*") return value(a * b, {});
        if (operation == "&") return value(a & b, {});
        if (operation == "|") return value(a | b, {});
        if (operation == "^") return value(a ^ b, {});
        if (operation == "<<" || operation == ">>") {
            if (b >= 64) return fail(ErrorKind::Usage, "a shift by {} in '{}', expected 0 to 63", right.number, text_);
            return value(operation == "<<" ? a << b : a >> b, {});
        }
        if (b == 0 || (left.number == INT64_MIN && right.number == -1))
            return fail(ErrorKind::Usage, "division without a result in '{}'", text_);
        const int64_t quotient = operation == "/" ? left.number / right.number : left.number % right.number;
        return AssemblyValue{quotient, {}};
    }

    std::string_view text_, rest_;
    const SymbolLookup& lookup_;
};

}  // namespace

Result<AssemblyValue> evaluate(std::string_view expression, const SymbolLookup& lookup) {
    return Evaluator(expression, lookup).whole();
}

std::optional<int64_t> parse_number(std::string_view text) {
    if (const std::optional<int64_t> number = parse_integer(text)) return number;
    if (text.find_first_of("+-*/%<>&|^~(") == std::string_view::npos) return std::nullopt;
    const auto value = evaluate(text, [](std::string_view) { return std::nullopt; });
    return value ? std::optional(value->number) : std::nullopt;
}

bool names_this_place(std::string_view expression) {
    for (size_t at = expression.find('.'); at != std::string_view::npos; at = expression.find('.', at + 1)) {
        const bool begins = at == 0 || !is_operand_character(expression[at - 1]);
        const bool ends = at + 1 == expression.size() || !is_operand_character(expression[at + 1]);
        if (begins && ends) return true;
    }
    return false;
}

}  // namespace riftjit::rdna
