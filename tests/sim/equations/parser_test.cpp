#include "sim/equations/parser.h"

#include <gtest/gtest.h>

#include <array>

namespace riftjit::sim {
namespace parser_test {

// In prefix form, as "(add a (multiply b c))".
std::string tree(const Expression& expression) {
    constexpr std::array<const char*, 19> kNames = {
        "",         "",           "negate",  "add",           "subtract", "multiply",  "divide", "power",
        "less",     "less_equal", "greater", "greater_equal", "equal",    "not_equal", "both",   "either",
        "negation", "select",     ""};
    if (expression.operation == Operation::number)
        return fmt::format("{}{}", expression.value,
                           expression.unit == kNoUnit ? "" : ":" + unit_text(expression.unit));
    if (expression.operation == Operation::name) return expression.name;
    std::string text = std::string("(") + kNames[static_cast<size_t>(expression.operation)] + expression.name;
    for (const ExpressionPtr& operand : expression.operands) text += " " + tree(*operand);
    return text + ")";
}
std::string tree(const std::string& text) {
    const Result<ExpressionPtr> parsed = parse_expression({text});
    return parsed ? tree(**parsed) : parsed.error().message;
}
std::string expression_error(const std::string& text) {
    return parse_expression({text, "net.toml", 12, 8}).error().message;
}
std::string statement_error(const std::string& text) {
    return parse_statements({text, "net.toml", 12, 8}).error().message;
}
std::string equation_error(const std::string& text) {
    return parse_equations({text, "net.toml", 12, 8}).error().message;
}

TEST(Parser, BindsAsInPython) {
    EXPECT_EQ(tree("a + b * c - d"), "(subtract (add a (multiply b c)) d)");
    EXPECT_EQ(tree("a / b / c"), "(divide (divide a b) c)");
    EXPECT_EQ(tree("-a ** 2"), "(negate (power a 2))");
    EXPECT_EQ(tree("a ** -b ** c"), "(power a (negate (power b c)))");
    EXPECT_EQ(tree("2 * -3"), "(multiply 2 (negate 3))");
    EXPECT_EQ(tree("not a < b and c or d"), "(either (both (negation (less a b)) c) d)");
    EXPECT_EQ(tree("a if b else c if d else e"), "(select b a (select d c e))");
    EXPECT_EQ(tree("(a + b) * +c"), "(multiply (add a b) c)");
    EXPECT_EQ(tree("a\n"), "a");
    EXPECT_EQ(tree("(a\n + b)  # comment"), "(add a b)");
}

TEST(Parser, ReadsUnitsAfterNumbers) {
    EXPECT_EQ(tree("10 mV"), "10:mV");
    EXPECT_EQ(tree("V > -0.05 V"), "(greater V (negate 50:mV))");
    EXPECT_EQ(tree("10*mV"), "(multiply 10 mV)");
    EXPECT_EQ(tree("2 nS/ms"), "(divide 2:nS ms)");
    EXPECT_EQ(tree("1e3 if a else .5"), "(select a 1000 0.5)");
}

TEST(Parser, ReadsCalls) {
    EXPECT_EQ(tree("exp((V - E) / k)"), "(exp (divide (subtract V E) k))");
    EXPECT_EQ(tree("where(a, b, c) + rand()"), "(add (where a b c) (rand))");
    const ExpressionPtr two = parse_expression({"rand() + rand()"}).value();
    EXPECT_NE(two->operands[0]->draw, two->operands[1]->draw);
}

TEST(Parser, ReadsStatements) {
    const auto statements = parse_statements({"V = V_reset; w += b\n# comment\nu -= 1\ndeliver(w)"}).value();
    ASSERT_EQ(statements.size(), 4u);
    EXPECT_EQ(statements[0].target, "V");
    EXPECT_EQ(statements[0].assignment, Assignment::set);
    EXPECT_EQ(statements[1].assignment, Assignment::add);
    EXPECT_EQ(statements[2].assignment, Assignment::subtract);
    EXPECT_EQ(tree(*statements[2].value), "1");
    EXPECT_EQ(statements[3].target, "");
    EXPECT_EQ(tree(*statements[3].value), "(deliver w)");
}

TEST(Parser, ReadsEquations) {
    const auto equations = parse_equations({R"(
        dV/dt = (E_L - V) / tau + I / C : mV (unless refractory)  # membrane
        I = I_ex + I_in                 : pA
        theta : mV
        dx/dt = -x / tau                : 1)"})
                               .value();
    ASSERT_EQ(equations.size(), 4u);
    EXPECT_EQ(equations[0].kind, EquationKind::differential);
    EXPECT_EQ(equations[0].name, "V");
    EXPECT_EQ(equations[0].unit, kMillivolt);
    EXPECT_TRUE(equations[0].stops_while_refractory);
    EXPECT_EQ(tree(*equations[0].value), "(add (divide (subtract E_L V) tau) (divide I C))");
    EXPECT_EQ(equations[1].kind, EquationKind::subexpression);
    EXPECT_EQ(equations[1].unit, kPicoampere);
    EXPECT_FALSE(equations[1].stops_while_refractory);
    EXPECT_EQ(equations[2].kind, EquationKind::variable);
    EXPECT_EQ(equations[2].value, nullptr);
    EXPECT_EQ(equations[3].unit, kNoUnit);
}

TEST(Parser, RefusalsSayWhatWasExpectedWhere) {
    EXPECT_EQ(expression_error("a +"), "net.toml:12:11: expected a value, found the end");
    EXPECT_EQ(expression_error("(a + b"), "net.toml:12:14: expected an operator or ')', found the end");
    EXPECT_EQ(expression_error("a b"), "net.toml:12:10: expected an operator or the end, found 'b'");
    EXPECT_EQ(expression_error("a ^ 2"), "net.toml:12:10: expected an operator or the end, found '^': a power is '**'");
    EXPECT_EQ(expression_error("a & b"),
              "net.toml:12:10: expected an operator or the end, found '&': write 'and' or 'or'");
    EXPECT_EQ(expression_error("a < b < c"),
              "net.toml:12:14: expected one comparison at a time (a < b and b < c), found '<'");
    EXPECT_EQ(expression_error("a if b"), "net.toml:12:14: expected 'else', found the end");
    EXPECT_EQ(expression_error("10 mW"), "net.toml:12:11: expected an operator or a unit, found 'mW'");
    EXPECT_EQ(expression_error("exp(a b)"), "net.toml:12:14: expected ',' or ')', found 'b'");
    EXPECT_EQ(expression_error("a $ b"), "net.toml:12:10: unexpected character '$'");
    EXPECT_EQ(expression_error("1e999"), "net.toml:12:8: number '1e999' is out of range");
    EXPECT_EQ(expression_error(std::string(300, '(')), "net.toml:12:209: nested too deeply");
    EXPECT_EQ(expression_error(std::string(100000, '-')), "net.toml:12:8: more than 4000 words");
    EXPECT_EQ(statement_error("V"), "net.toml:12:9: expected '=' or '+=', found the end");
    EXPECT_EQ(statement_error("3 = V"), "net.toml:12:8: expected a variable to assign to, found '3'");
    EXPECT_EQ(statement_error("V = 1\nw == 2"), "net.toml:13:3: expected '=' or '+=', found '=='");
    EXPECT_EQ(equation_error("dV/dt = -V"), "net.toml:12:18: expected an operator or ':' and the unit, found the end");
    EXPECT_EQ(equation_error("dV/ds = -V : mV"), "net.toml:12:8: expected a derivative such as 'dV/dt', found 'dV/ds'");
    EXPECT_EQ(equation_error("dV/dt : mV"), "net.toml:12:14: expected '=', found ':'");
    EXPECT_EQ(equation_error("x = 1 : mW"), "net.toml:12:16: unknown unit 'mW'");
    EXPECT_EQ(equation_error("x = 1 : mV (until refractory)"),
              "net.toml:12:20: expected '(unless refractory)', found 'until'");
    EXPECT_EQ(equation_error("= 3"), "net.toml:12:8: expected an equation such as 'dV/dt = -V / tau : mV', found '='");
}

}  // namespace parser_test
}  // namespace riftjit::sim
