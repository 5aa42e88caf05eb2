#include "sim/equations/parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/equations/tokens.h"

namespace riftjit::sim {

namespace {

constexpr std::array<std::string_view, 7> kKeywords = {"if", "else", "and", "or", "not", "unless", "refractory"};

bool is_keyword(std::string_view name) { return std::ranges::find(kKeywords, name) != kKeywords.end(); }

struct BinaryOperator {
    std::string_view symbol;
    Operation operation;
};
constexpr std::array kComparisons = {
    BinaryOperator{"<", Operation::less},    BinaryOperator{"<=", Operation::less_equal},
    BinaryOperator{">", Operation::greater}, BinaryOperator{">=", Operation::greater_equal},
    BinaryOperator{"==", Operation::equal},  BinaryOperator{"!=", Operation::not_equal},
};
constexpr std::array kSums = {BinaryOperator{"+", Operation::add}, BinaryOperator{"-", Operation::subtract}};
constexpr std::array kProducts = {BinaryOperator{"*", Operation::multiply}, BinaryOperator{"/", Operation::divide}};
constexpr std::array<std::pair<std::string_view, Assignment>, 5> kAssignments = {{{"=", Assignment::set},
                                                                                  {"+=", Assignment::add},
                                                                                  {"-=", Assignment::subtract},
                                                                                  {"*=", Assignment::multiply},
                                                                                  {"/=", Assignment::divide}}};

// Recursive descent; a method reads what it is named after, from the current token on.
class Parser {
public:
    Parser(const SourceText& source, std::vector<Token> tokens, uint32_t first_draw)
        : source_(source), tokens_(std::move(tokens)), draws_(first_draw) {}

    Result<ExpressionPtr> whole_expression() {
        skip_line_ends();
        RIFTJIT_TRY(value, conditional());
        skip_line_ends();
        if (current().kind != TokenKind::end) return expected("an operator or the end");
        return value;
    }
    template <class Line>
    Result<std::vector<Line>> lines(Result<Line> (Parser::*line)()) {
        std::vector<Line> all;
        while (true) {
            skip_line_ends();
            if (current().kind == TokenKind::end) return all;
            RIFTJIT_TRY(one, (this->*line)());
            if (!is_line_end()) return expected("an operator or the end of the line");
            all.push_back(std::move(one));
        }
    }

    Result<Statement> statement() {
        const Token target = current();
        if (target.kind != TokenKind::name || is_keyword(target.text)) return expected("a variable to assign to");
        if (is_symbol("(", 1)) {
            RIFTJIT_TRY(call, primary());
            return Statement{.offset = target.offset, .value = call};
        }
        ++at_;
        for (const auto& [symbol, assignment] : kAssignments) {
            if (!is_symbol(symbol)) continue;
            ++at_;
            RIFTJIT_TRY(value, conditional());
            return Statement{target.text, assignment, target.offset, value};
        }
        return expected("'=' or '+='");
    }

    Result<Equation> equation() {
        const Token first = current();
        if (first.kind != TokenKind::name || is_keyword(first.text))
            return expected("an equation such as 'dV/dt = -V / tau : mV'");
        ++at_;
        Equation equation{.kind = EquationKind::subexpression, .name = first.text, .offset = first.offset};
        if (is_symbol("/")) {
            RIFTJIT_TRY_VOID(derivative(first, equation));
        } else if (is_symbol(":")) {
            equation.kind = EquationKind::variable;
        }
        if (equation.kind != EquationKind::variable) {
            if (!is_symbol("=")) return expected(equation.kind == EquationKind::differential ? "'='" : "'=' or ':'");
            ++at_;
            RIFTJIT_TRY(value, conditional());
            equation.value = value;
        }
        if (!is_symbol(":")) return expected("an operator or ':' and the unit");
        ++at_;
        RIFTJIT_TRY_VOID(unit_and_flags(equation));
        return equation;
    }

private:
    const Token& current() const { return tokens_[at_]; }
    bool is_symbol(std::string_view symbol, size_t ahead = 0) const {
        const size_t index = std::min(at_ + ahead, tokens_.size() - 1);
        return tokens_[index].kind == TokenKind::symbol && tokens_[index].text == symbol;
    }
    bool is_word(std::string_view word) const { return current().kind == TokenKind::name && current().text == word; }
    bool is_line_end() const { return current().kind == TokenKind::line_end || current().kind == TokenKind::end; }
    void skip_line_ends() {
        while (current().kind == TokenKind::line_end) ++at_;
    }
    std::unexpected<Error> expected(std::string_view what) const {
        if (is_symbol("^")) return fail_at(source_, current().offset, "expected {}, found '^': a power is '**'", what);
        if (is_symbol("&") || is_symbol("|"))
            return fail_at(source_, current().offset, "expected {}, found '{}': write 'and' or 'or'", what,
                           current().text);
        return fail_at(source_, current().offset, "expected {}, found {}", what, token_text(current()));
    }
    static ExpressionPtr make(Operation operation, size_t offset, std::vector<ExpressionPtr> operands) {
        return std::make_shared<Expression>(
            Expression{.operation = operation, .offset = offset, .operands = std::move(operands)});
    }

    // "dV" has been read; what follows is "/dt".
    Result<void> derivative(const Token& first, Equation& equation) {
        if (first.text.size() < 2 || first.text[0] != 'd' || tokens_[at_ + 1].text != "dt")
            return fail_at(source_, first.offset, "expected a derivative such as 'dV/dt', found '{}/{}'", first.text,
                           tokens_[at_ + 1].text);
        at_ += 2;
        equation.kind = EquationKind::differential;
        equation.name = first.text.substr(1);
        return {};
    }
    Result<void> unit_and_flags(Equation& equation) {
        const size_t begin = current().offset;
        while (!is_line_end() && !is_symbol("(")) ++at_;
        // Spaces stand for what precedes, so that the error's column is the file's.
        SourceText unit = source_;
        std::fill_n(unit.text.begin(), begin, ' ');
        for (size_t i = 0; i < begin; ++i)
            if (source_.text[i] == '\n') unit.text[i] = '\n';
        unit.text.resize(current().offset);
        if (const size_t comment = unit.text.find('#'); comment != std::string::npos) unit.text.resize(comment);
        RIFTJIT_TRY(scaled, parse_unit(unit));
        equation.unit = scaled.unit;
        if (!is_symbol("(")) return {};
        ++at_;
        for (const std::string_view word : {"unless", "refractory"}) {
            if (!is_word(word)) return expected("'(unless refractory)'");
            ++at_;
        }
        if (!is_symbol(")")) return expected("')'");
        ++at_;
        equation.stops_while_refractory = true;
        return {};
    }

    Result<ExpressionPtr> conditional() {
        RIFTJIT_TRY(value, disjunction());
        if (!is_word("if")) return value;
        const size_t offset = current().offset;
        ++at_;
        RIFTJIT_TRY(condition, disjunction());
        if (!is_word("else")) return expected("'else'");
        ++at_;
        RIFTJIT_TRY(otherwise, nested(&Parser::conditional));
        return make(Operation::select, offset, {condition, value, otherwise});
    }
    Result<ExpressionPtr> disjunction() { return words("or", Operation::either, &Parser::conjunction); }
    Result<ExpressionPtr> conjunction() { return words("and", Operation::both, &Parser::inversion); }
    Result<ExpressionPtr> words(std::string_view word, Operation operation,
                                Result<ExpressionPtr> (Parser::*operand)()) {
        RIFTJIT_TRY(value, (this->*operand)());
        while (is_word(word)) {
            const size_t offset = current().offset;
            ++at_;
            RIFTJIT_TRY(right, (this->*operand)());
            value = make(operation, offset, {value, right});
        }
        return value;
    }
    Result<ExpressionPtr> inversion() {
        if (!is_word("not")) return comparison();
        const size_t offset = current().offset;
        ++at_;
        RIFTJIT_TRY(operand, nested(&Parser::inversion));
        return make(Operation::negation, offset, {operand});
    }
    Result<ExpressionPtr> comparison() {
        RIFTJIT_TRY(value, sum());
        const BinaryOperator* found = find_operator(kComparisons);
        if (found == nullptr) return value;
        const size_t offset = current().offset;
        ++at_;
        RIFTJIT_TRY(right, sum());
        if (find_operator(kComparisons) != nullptr) return expected("one comparison at a time (a < b and b < c)");
        return make(found->operation, offset, {value, right});
    }
    Result<ExpressionPtr> sum() { return operators(kSums, &Parser::product); }
    Result<ExpressionPtr> product() { return operators(kProducts, &Parser::unary); }
    template <size_t kCount>
    const BinaryOperator* find_operator(const std::array<BinaryOperator, kCount>& operators) const {
        for (const BinaryOperator& one : operators)
            if (is_symbol(one.symbol)) return &one;
        return nullptr;
    }
    template <size_t kCount>
    Result<ExpressionPtr> operators(const std::array<BinaryOperator, kCount>& operators,
                                    Result<ExpressionPtr> (Parser::*operand)()) {
        RIFTJIT_TRY(value, (this->*operand)());
        while (const BinaryOperator* found = find_operator(operators)) {
            const size_t offset = current().offset;
            ++at_;
            RIFTJIT_TRY(right, (this->*operand)());
            value = make(found->operation, offset, {value, right});
        }
        return value;
    }
    Result<ExpressionPtr> unary() {
        const size_t offset = current().offset;
        if (is_symbol("+")) {
            ++at_;
            return nested(&Parser::unary);
        }
        if (!is_symbol("-")) return raised();
        ++at_;
        RIFTJIT_TRY(operand, nested(&Parser::unary));
        return make(Operation::negate, offset, {operand});
    }
    Result<ExpressionPtr> raised() {  // binds to the right, tighter than the sign before it: -a ** -b ** c
        RIFTJIT_TRY(base, primary());
        if (!is_symbol("**")) return base;
        const size_t offset = current().offset;
        ++at_;
        RIFTJIT_TRY(exponent, nested(&Parser::unary));
        return make(Operation::power, offset, {base, exponent});
    }
    // A rule inside another: what recursion could not stand is refused.
    Result<ExpressionPtr> nested(Result<ExpressionPtr> (Parser::*rule)()) {
        constexpr int kMaxDepth = 200;
        if (++depth_ > kMaxDepth) return fail_at(source_, current().offset, "nested too deeply");
        RIFTJIT_TRY(value, (this->*rule)());
        --depth_;
        return value;
    }
    Result<ExpressionPtr> primary() {
        const Token token = current();
        if (token.kind == TokenKind::number) return number();
        if (token.kind == TokenKind::name && !is_keyword(token.text)) {
            ++at_;
            if (is_symbol("(")) return call(token);
            return std::make_shared<Expression>(
                Expression{.operation = Operation::name, .offset = token.offset, .name = token.text});
        }
        if (!is_symbol("(")) return expected("a value");
        ++at_;
        RIFTJIT_TRY(value, nested(&Parser::conditional));
        if (!is_symbol(")")) return expected("an operator or ')'");
        ++at_;
        return value;
    }
    // A unit may follow a number at once: "10 mV".
    Result<ExpressionPtr> number() {
        const Token token = current();
        Expression value{.operation = Operation::number, .offset = token.offset, .value = token.number};
        ++at_;
        if (current().kind == TokenKind::name && !is_keyword(current().text)) {
            const std::optional<ScaledUnit> unit = unit_symbol(current().text);
            if (!unit) return expected("an operator or a unit");
            value.value = to_base(token.number, unit->decimal_exponent);
            value.unit = unit->unit;
            ++at_;
        }
        return std::make_shared<Expression>(std::move(value));
    }
    Result<ExpressionPtr> call(const Token& name) {
        Expression call{.operation = Operation::call, .offset = name.offset, .name = name.text};
        ++at_;  // (
        while (!is_symbol(")")) {
            if (!call.operands.empty()) {
                if (!is_symbol(",")) return expected("',' or ')'");
                ++at_;
            }
            RIFTJIT_TRY(operand, nested(&Parser::conditional));
            call.operands.push_back(operand);
        }
        ++at_;
        if (draws_random_number(name.text)) call.draw = draws_++;
        return std::make_shared<Expression>(std::move(call));
    }

    const SourceText& source_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    int depth_ = 0;
    uint32_t draws_;
};

}  // namespace

bool draws_random_number(std::string_view function) {
    return function == "rand" || function == "randn" || function == "poisson";
}

Result<ExpressionPtr> parse_expression(const SourceText& source, uint32_t first_draw) {
    RIFTJIT_TRY(tokens, tokenize(source));
    return Parser(source, std::move(tokens), first_draw).whole_expression();
}

Result<std::vector<Statement>> parse_statements(const SourceText& source, uint32_t first_draw) {
    RIFTJIT_TRY(tokens, tokenize(source));
    return Parser(source, std::move(tokens), first_draw).lines(&Parser::statement);
}

Result<std::vector<Equation>> parse_equations(const SourceText& source, uint32_t first_draw) {
    RIFTJIT_TRY(tokens, tokenize(source));
    return Parser(source, std::move(tokens), first_draw).lines(&Parser::equation);
}

}  // namespace riftjit::sim
