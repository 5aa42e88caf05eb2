#include <algorithm>

#include "models/template/jinja/parser.h"

namespace riftjit::models::jinja {

const Token& TokenReader::next() {
    const Token& token = current();
    if (position_ + 1 < tokens_.size()) ++position_;
    return token;
}

bool TokenReader::skip_symbol(std::string_view text) {
    if (!at_symbol(text)) return false;
    next();
    return true;
}

bool TokenReader::skip_name(std::string_view text) {
    if (!at_name(text)) return false;
    next();
    return true;
}

void TokenReader::expect_symbol(std::string_view text) {
    if (!skip_symbol(text)) refuse_at(current().offset, "expected '{}', got {}", text, describe(current()));
}

void TokenReader::expect(Token::Kind kind, std::string_view what) {
    if (!at(kind)) refuse_at(current().offset, "expected {}, got {}", what, describe(current()));
    next();
}

std::string TokenReader::expect_name(std::string_view what) {
    if (!at(Token::Kind::name)) refuse_at(current().offset, "expected {}, got {}", what, describe(current()));
    return next().text;
}

namespace {

template <class Node>
ExpressionPtr make(uint32_t offset, Node node) {
    return std::make_unique<Expression>(Expression{offset, std::move(node)});
}

}  // namespace

void ExpressionParser::leave_macro(Signature& signature) {
    signature.uses_varargs = macros_.back().uses_varargs;
    signature.uses_kwargs = macros_.back().uses_kwargs;
    signature.uses_caller = macros_.back().uses_caller;
    macros_.pop_back();
}

ExpressionPtr ExpressionParser::parse(AllowConditional allow) {
    const TokenReader::Level level(reader_);
    ExpressionPtr value = parse_or();
    if (allow == AllowConditional::no) return value;
    while (reader_.at_name("if")) {
        const TokenReader::Level chained(reader_);
        const uint32_t offset = reader_.next().offset;
        ExpressionPtr condition = parse_or();
        ExpressionPtr otherwise = reader_.skip_name("else") ? parse() : nullptr;
        value = make(offset, Conditional{std::move(condition), std::move(value), std::move(otherwise)});
    }
    return value;
}

ExpressionPtr ExpressionParser::parse_tuple(AllowConditional allow) {
    const uint32_t offset = reader_.current().offset;
    ExpressionPtr first = parse(allow);
    if (!reader_.at_symbol(",")) return first;
    ListLiteral tuple{{}, List::Kind::tuple};
    tuple.items.push_back(std::move(first));
    while (reader_.skip_symbol(",")) {
        const bool ends = reader_.at(Token::Kind::variable_end) || reader_.at(Token::Kind::block_end) ||
                          reader_.at_symbol(")") || reader_.at_name("recursive");
        if (ends) break;
        tuple.items.push_back(parse(allow));
    }
    return make(offset, std::move(tuple));
}

ExpressionPtr ExpressionParser::parse_or() {
    const uint32_t offset = reader_.current().offset;
    ExpressionPtr first = parse_and();
    if (!reader_.at_name("or")) return first;
    Or node;
    node.operands.push_back(std::move(first));
    while (reader_.skip_name("or")) node.operands.push_back(parse_and());
    return make(offset, std::move(node));
}

ExpressionPtr ExpressionParser::parse_and() {
    const uint32_t offset = reader_.current().offset;
    ExpressionPtr first = parse_not();
    if (!reader_.at_name("and")) return first;
    And node;
    node.operands.push_back(std::move(first));
    while (reader_.skip_name("and")) node.operands.push_back(parse_not());
    return make(offset, std::move(node));
}

ExpressionPtr ExpressionParser::parse_not() {
    if (!reader_.at_name("not")) return parse_comparison();
    const TokenReader::Level level(reader_);
    const uint32_t offset = reader_.next().offset;
    return make(offset, Unary{UnaryOperator::logical_not, parse_not()});
}

ExpressionPtr ExpressionParser::parse_comparison() {
    constexpr std::pair<std::string_view, ComparisonOperator> kOperators[] = {
        {"==", ComparisonOperator::equal},  {"!=", ComparisonOperator::not_equal},
        {"<", ComparisonOperator::less},    {"<=", ComparisonOperator::less_equal},
        {">", ComparisonOperator::greater}, {">=", ComparisonOperator::greater_equal}};
    const auto next_operator = [&]() -> std::optional<ComparisonOperator> {
        for (const auto& [text, op] : kOperators) {
            if (reader_.skip_symbol(text)) return op;
        }
        if (reader_.skip_name("in")) return ComparisonOperator::in;
        const bool not_in =
            reader_.at_name("not") && reader_.ahead().kind == Token::Kind::name && reader_.ahead().text == "in";
        if (!not_in) return std::nullopt;
        reader_.next();
        reader_.next();
        return ComparisonOperator::not_in;
    };
    const uint32_t offset = reader_.current().offset;
    Comparison node;
    node.first = parse_sum();
    while (const auto op = next_operator()) node.rest.emplace_back(*op, parse_sum());
    if (node.rest.empty()) return std::move(node.first);
    return make(offset, std::move(node));
}

ExpressionPtr ExpressionParser::parse_sum() {
    const uint32_t offset = reader_.current().offset;
    Arithmetic node;
    node.first = parse_concatenation();
    while (reader_.at_symbol("+") || reader_.at_symbol("-")) {
        const auto op = reader_.next().text == "+" ? BinaryOperator::add : BinaryOperator::subtract;
        node.rest.emplace_back(op, parse_concatenation());
    }
    if (node.rest.empty()) return std::move(node.first);
    return make(offset, std::move(node));
}

ExpressionPtr ExpressionParser::parse_concatenation() {
    const uint32_t offset = reader_.current().offset;
    ExpressionPtr first = parse_product();
    if (!reader_.at_symbol("~")) return first;
    Concatenation node;
    node.operands.push_back(std::move(first));
    while (reader_.skip_symbol("~")) node.operands.push_back(parse_product());
    return make(offset, std::move(node));
}

ExpressionPtr ExpressionParser::parse_product() {
    constexpr std::pair<std::string_view, BinaryOperator> kOperators[] = {{"*", BinaryOperator::multiply},
                                                                          {"/", BinaryOperator::divide},
                                                                          {"//", BinaryOperator::floor_divide},
                                                                          {"%", BinaryOperator::modulo}};
    const auto next_operator = [&]() -> std::optional<BinaryOperator> {
        for (const auto& [text, op] : kOperators) {
            if (reader_.skip_symbol(text)) return op;
        }
        return std::nullopt;
    };
    const uint32_t offset = reader_.current().offset;
    Arithmetic node;
    node.first = parse_power();
    while (const auto op = next_operator()) node.rest.emplace_back(*op, parse_power());
    if (node.rest.empty()) return std::move(node.first);
    return make(offset, std::move(node));
}

// Left-associative and weaker than a sign, unlike Python's: jinja2 parses it so.
ExpressionPtr ExpressionParser::parse_power() {
    const uint32_t offset = reader_.current().offset;
    Arithmetic node;
    node.first = parse_unary(AllowFilters::yes);
    while (reader_.skip_symbol("**")) node.rest.emplace_back(BinaryOperator::power, parse_unary(AllowFilters::yes));
    if (node.rest.empty()) return std::move(node.first);
    return make(offset, std::move(node));
}

ExpressionPtr ExpressionParser::parse_unary(AllowFilters allow) {
    const TokenReader::Level level(reader_);
    const uint32_t offset = reader_.current().offset;
    if (reader_.skip_symbol("-")) {
        return parse_chain(make(offset, Unary{UnaryOperator::negate, parse_unary(AllowFilters::no)}), allow);
    }
    if (reader_.skip_symbol("+")) {
        return parse_chain(make(offset, Unary{UnaryOperator::plus, parse_unary(AllowFilters::no)}), allow);
    }
    return parse_chain(parse_primary(), allow);
}

ExpressionPtr ExpressionParser::parse_primary() {
    const Token& token = reader_.current();
    switch (token.kind) {
        case Token::Kind::name:
            return parse_name();
        case Token::Kind::string:
            return parse_strings();
        case Token::Kind::integer:
            return make(token.offset, Literal{reader_.next().integer});
        case Token::Kind::real:
            return make(token.offset, Literal{reader_.next().real});
        default:
            break;
    }
    if (reader_.at_symbol("(")) return parse_parenthesized();
    if (reader_.at_symbol("[")) return parse_list();
    if (reader_.at_symbol("{")) return parse_dict();
    refuse_at(token.offset, "expected an expression, got {}", describe(token));
}

ExpressionPtr ExpressionParser::parse_name() {
    const Token& token = reader_.next();
    if (token.text == "true" || token.text == "True") return make(token.offset, Literal{true});
    if (token.text == "false" || token.text == "False") return make(token.offset, Literal{false});
    if (token.text == "none" || token.text == "None") return make(token.offset, Literal{None{}});
    for (Signature& macro : macros_) {
        macro.uses_varargs |= token.text == "varargs";
        macro.uses_kwargs |= token.text == "kwargs";
        macro.uses_caller |= token.text == "caller";
    }
    return make(token.offset, Name{token.text});
}

ExpressionPtr ExpressionParser::parse_strings() {
    const uint32_t offset = reader_.current().offset;
    std::string text;
    while (reader_.at(Token::Kind::string)) text += reader_.next().text;
    return make(offset, Literal{Text(std::move(text), Origin::literal)});
}

ExpressionPtr ExpressionParser::parse_parenthesized() {
    const uint32_t offset = reader_.next().offset;
    if (reader_.skip_symbol(")")) return make(offset, ListLiteral{{}, List::Kind::tuple});
    ExpressionPtr value = parse_tuple();
    reader_.expect_symbol(")");
    return value;
}

ExpressionPtr ExpressionParser::parse_list() {
    const uint32_t offset = reader_.next().offset;
    ListLiteral node{{}, List::Kind::list};
    while (!reader_.at_symbol("]")) {
        if (!node.items.empty()) reader_.expect_symbol(",");
        if (reader_.at_symbol("]")) break;
        node.items.push_back(parse());
    }
    reader_.expect_symbol("]");
    return make(offset, std::move(node));
}

ExpressionPtr ExpressionParser::parse_dict() {
    const uint32_t offset = reader_.next().offset;
    DictLiteral node;
    while (!reader_.at_symbol("}")) {
        if (!node.entries.empty()) reader_.expect_symbol(",");
        if (reader_.at_symbol("}")) break;
        ExpressionPtr key = parse();
        reader_.expect_symbol(":");
        node.entries.emplace_back(std::move(key), parse());
    }
    reader_.expect_symbol("}");
    return make(offset, std::move(node));
}

// Every link makes the tree one level deeper, so the levels last as long as the chain.
ExpressionPtr ExpressionParser::parse_chain(ExpressionPtr value, AllowFilters allow) {
    const TokenReader::Level level(reader_);
    const Expression* before = value.get();
    value = parse_postfix(std::move(value), allow);
    return value.get() == before ? std::move(value) : parse_chain(std::move(value), allow);
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr value, AllowFilters allow) {
    if (reader_.at_symbol(".")) return parse_attribute(std::move(value));
    if (reader_.at_symbol("[")) return parse_subscript(std::move(value));
    if (reader_.at_symbol("(")) return parse_call(std::move(value));
    if (allow == AllowFilters::no) return value;
    if (reader_.skip_symbol("|")) return parse_filter(std::move(value));
    if (reader_.at_name("is")) return parse_test(std::move(value));
    return value;
}

ExpressionPtr ExpressionParser::parse_attribute(ExpressionPtr object) {
    const uint32_t offset = reader_.next().offset;
    const Token& token = reader_.current();
    if (token.kind == Token::Kind::integer) {
        ExpressionPtr index = make(token.offset, Literal{reader_.next().integer});
        return make(offset, Item{std::move(object), std::move(index)});
    }
    return make(offset, Attribute{std::move(object), reader_.expect_name("a name or a number after '.'")});
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr object) {
    const uint32_t offset = reader_.next().offset;
    const auto ends = [&] { return reader_.at_symbol("]") || reader_.at_symbol(":"); };
    ExpressionPtr begin = reader_.at_symbol(":") ? nullptr : parse_tuple();
    if (begin && !reader_.at_symbol(":")) {
        reader_.expect_symbol("]");
        return make(offset, Item{std::move(object), std::move(begin)});
    }
    reader_.expect_symbol(":");
    ExpressionPtr end = ends() ? nullptr : parse();
    ExpressionPtr step = reader_.skip_symbol(":") && !ends() ? parse() : nullptr;
    reader_.expect_symbol("]");
    return make(offset, Slice{std::move(object), std::move(begin), std::move(end), std::move(step)});
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr callee) {
    const uint32_t offset = callee->offset;
    return make(offset, Call{std::move(callee), parse_arguments()});
}

CallArguments ExpressionParser::parse_arguments() {
    reader_.expect_symbol("(");
    CallArguments arguments;
    while (!reader_.at_symbol(")")) {
        parse_argument(arguments);
        if (!reader_.at_symbol(")")) reader_.expect_symbol(",");
    }
    reader_.expect_symbol(")");
    return arguments;
}

void ExpressionParser::parse_argument(CallArguments& arguments) {
    const uint32_t offset = reader_.current().offset;
    const auto ensure = [&](bool valid) {
        if (!valid) refuse_at(offset, "invalid order of arguments");
    };
    const bool is_named =
        reader_.at(Token::Kind::name) && reader_.ahead().kind == Token::Kind::symbol && reader_.ahead().text == "=";
    if (reader_.skip_symbol("*")) {
        ensure(!arguments.all_positional && !arguments.all_named);
        arguments.all_positional = parse();
    } else if (reader_.skip_symbol("**")) {
        ensure(!arguments.all_named);
        arguments.all_named = parse();
    } else if (is_named) {
        ensure(!arguments.all_named);
        const std::string name = reader_.next().text;
        reader_.next();
        const bool repeated =
            std::ranges::any_of(arguments.named, [&](const auto& other) { return other.first == name; });
        if (repeated) refuse_at(offset, "argument '{}' is given twice", name);
        arguments.named.emplace_back(name, parse());
    } else {
        ensure(!arguments.all_positional && !arguments.all_named && arguments.named.empty());
        arguments.positional.push_back(parse());
    }
}

ExpressionPtr ExpressionParser::parse_filter(ExpressionPtr input) {
    const uint32_t offset = reader_.current().offset;
    std::string name = reader_.expect_name("a filter's name");
    while (reader_.skip_symbol(".")) name += "." + reader_.expect_name("a filter's name");
    CallArguments arguments = reader_.at_symbol("(") ? parse_arguments() : CallArguments{};
    return make(offset, Filter{std::move(input), std::move(name), std::move(arguments)});
}

ExpressionPtr ExpressionParser::parse_filter_chain(ExpressionPtr input) {
    const TokenReader::Level level(reader_);
    if (!reader_.skip_symbol("|")) return input;
    return parse_filter_chain(parse_filter(std::move(input)));
}

// x is defined, x is divisibleby 3, x is not in [1, 2]
ExpressionPtr ExpressionParser::parse_test(ExpressionPtr input) {
    const uint32_t offset = reader_.next().offset;
    const bool negated = reader_.skip_name("not");
    std::string name = reader_.expect_name("a test's name");
    while (reader_.skip_symbol(".")) name += "." + reader_.expect_name("a test's name");
    CallArguments arguments;
    if (reader_.at_symbol("(")) {
        arguments = parse_arguments();
    } else if (at_test_argument()) {
        if (reader_.at_name("is")) refuse_at(reader_.current().offset, "tests cannot be chained with 'is'");
        arguments.positional.push_back(parse_chain(parse_primary(), AllowFilters::no));
    }
    ExpressionPtr test = make(offset, Test{std::move(input), std::move(name), std::move(arguments)});
    return negated ? make(offset, Unary{UnaryOperator::logical_not, std::move(test)}) : std::move(test);
}

bool ExpressionParser::at_test_argument() const {
    const Token& token = reader_.current();
    switch (token.kind) {
        case Token::Kind::name:
            return token.text != "else" && token.text != "or" && token.text != "and";
        case Token::Kind::string:
        case Token::Kind::integer:
        case Token::Kind::real:
            return true;
        case Token::Kind::symbol:
            return token.text == "[" || token.text == "{";
        default:
            return false;
    }
}

}  // namespace riftjit::models::jinja
