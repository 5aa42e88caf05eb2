// Tokens to a tree, by jinja2's grammar.
#pragma once

#include <span>

#include "models/template/jinja/ast.h"
#include "models/template/jinja/lexer.h"

namespace riftjit::models::jinja {

// Throws TemplateError.
Body parse(std::span<const Token> tokens);

// Walks the tokens; both halves of the parser read through it.
class TokenReader {
public:
    explicit TokenReader(std::span<const Token> tokens) : tokens_(tokens) {}

    const Token& current() const { return tokens_[position_]; }
    const Token& ahead() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
    const Token& next();  // returns the current one and steps over it
    bool at(Token::Kind kind) const { return current().kind == kind; }
    bool at_symbol(std::string_view text) const { return at(Token::Kind::symbol) && current().text == text; }
    bool at_name(std::string_view text) const { return at(Token::Kind::name) && current().text == text; }
    bool skip_symbol(std::string_view text);
    bool skip_name(std::string_view text);
    void expect_symbol(std::string_view text);
    void expect(Token::Kind kind, std::string_view what);
    std::string expect_name(std::string_view what);

    // One level of nesting in the source, for as long as it lives.
    class Level {
    public:
        explicit Level(TokenReader& reader) : reader_(reader) {
            if (++reader_.depth_ > kMaxNesting) {
                const uint32_t offset = reader_.current().offset;
                --reader_.depth_;
                refuse_at(offset, "nesting deeper than {} levels", kMaxNesting);
            }
        }
        ~Level() { --reader_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

    private:
        TokenReader& reader_;
    };

private:
    std::span<const Token> tokens_;
    size_t position_ = 0;
    uint32_t depth_ = 0;
};

class ExpressionParser {
public:
    explicit ExpressionParser(TokenReader& reader) : reader_(reader) {}

    enum class AllowConditional : uint8_t { no, yes };
    ExpressionPtr parse(AllowConditional allow = AllowConditional::yes);
    // a, b without parentheses is a tuple.
    ExpressionPtr parse_tuple(AllowConditional allow = AllowConditional::yes);
    ExpressionPtr parse_primary();
    ExpressionPtr parse_filter_chain(ExpressionPtr input);  // | a | b
    ExpressionPtr parse_filter(ExpressionPtr input);        // a, after the bar

    // Which of varargs, kwargs and caller are read while a macro's body is parsed.
    void enter_macro() { macros_.emplace_back(); }
    void leave_macro(Signature& signature);

private:
    ExpressionPtr parse_or();
    ExpressionPtr parse_and();
    ExpressionPtr parse_not();
    ExpressionPtr parse_comparison();
    ExpressionPtr parse_sum();
    ExpressionPtr parse_concatenation();
    ExpressionPtr parse_product();
    ExpressionPtr parse_power();
    enum class AllowFilters : uint8_t { no, yes };
    ExpressionPtr parse_unary(AllowFilters allow);
    ExpressionPtr parse_name();
    ExpressionPtr parse_strings();
    ExpressionPtr parse_parenthesized();
    ExpressionPtr parse_list();
    ExpressionPtr parse_dict();
    ExpressionPtr parse_chain(ExpressionPtr value, AllowFilters allow);  // .a [b] (c) | d, is e
    ExpressionPtr parse_postfix(ExpressionPtr value, AllowFilters allow);
    ExpressionPtr parse_attribute(ExpressionPtr object);
    ExpressionPtr parse_subscript(ExpressionPtr object);
    ExpressionPtr parse_call(ExpressionPtr callee);
    ExpressionPtr parse_test(ExpressionPtr input);
    bool at_test_argument() const;
    CallArguments parse_arguments();
    void parse_argument(CallArguments& arguments);

    TokenReader& reader_;
    std::vector<Signature> macros_;
};

}  // namespace riftjit::models::jinja
