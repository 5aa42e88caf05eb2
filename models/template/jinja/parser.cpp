#include "models/template/jinja/parser.h"

#include <algorithm>

namespace riftjit::models::jinja {

namespace {

class StatementParser {
public:
    explicit StatementParser(std::span<const Token> tokens) : reader_(tokens), expressions_(reader_) {}

    Body parse_template() {
        Body body;
        while (!reader_.at(Token::Kind::end)) parse_piece(body);
        return body;
    }

private:
    // Text, {{ … }} or {% … %}.
    void parse_piece(Body& body) {
        const Token& token = reader_.next();
        switch (token.kind) {
            case Token::Kind::data:
                body.push_back({token.offset, Data{Text(token.text, Origin::literal)}});
                return;
            case Token::Kind::variable_begin:
                body.push_back({token.offset, Output{expressions_.parse_tuple()}});
                reader_.expect(Token::Kind::variable_end, "'}}'");
                return;
            case Token::Kind::block_begin:
                parse_statement(token.offset, body);
                reader_.expect(Token::Kind::block_end, "'%}'");
                return;
            default:
                refuse_at(token.offset, "unexpected {}", describe(token));
        }
    }

    // Up to a block that begins with one of `ends`, whose name is the current token afterwards.
    Body parse_body(std::initializer_list<std::string_view> ends) {
        const TokenReader::Level level(reader_);
        const uint32_t offset = reader_.current().offset;
        reader_.skip_symbol(":");
        reader_.expect(Token::Kind::block_end, "'%}'");
        Body body;
        while (!reader_.at(Token::Kind::end)) {
            const bool ends_here = reader_.at(Token::Kind::block_begin) && reader_.ahead().kind == Token::Kind::name &&
                                   std::ranges::find(ends, reader_.ahead().text) != ends.end();
            if (ends_here) {
                reader_.next();
                return body;
            }
            parse_piece(body);
        }
        refuse_at(offset, "the block is not closed: '{}' is missing", fmt::join(ends, "' or '"));
    }

    Body parse_body_through(std::string_view end) {
        Body body = parse_body({end});
        reader_.next();
        return body;
    }

    void parse_statement(uint32_t offset, Body& body) {
        const std::string tag = reader_.expect_name("a tag's name");
        if (tag == "if") return body.push_back({offset, parse_if()});
        if (tag == "for") return body.push_back({offset, parse_for()});
        if (tag == "set") return body.push_back(parse_set(offset));
        if (tag == "macro") return body.push_back({offset, parse_macro()});
        if (tag == "call") return body.push_back({offset, parse_call_block()});
        if (tag == "filter") return body.push_back({offset, parse_filter_block()});
        if (tag == "with") return body.push_back({offset, parse_with()});
        if (tag == "print") return parse_print(offset, body);
        if (tag == "break") return body.push_back({offset, loop_control(offset, Break{})});
        if (tag == "continue") return body.push_back({offset, loop_control(offset, Continue{})});
        // Marks what an assistant wrote, for training.
        if (tag == "generation") return body.push_back({offset, Scoped{{}, parse_body_through("endgeneration")}});
        constexpr std::string_view kFiles[] = {"include", "import", "from", "extends", "block"};
        if (std::ranges::find(kFiles, tag) != std::end(kFiles)) {
            refuse_at(offset, "'{}' is not available in a chat template", tag);
        }
        refuse_at(offset, "unknown tag '{}'", tag);
    }

    If parse_if() {
        If node;
        while (true) {
            ExpressionPtr condition = expressions_.parse_tuple(ExpressionParser::AllowConditional::no);
            Body branch = parse_body({"elif", "else", "endif"});
            node.branches.emplace_back(std::move(condition), std::move(branch));
            const std::string tag = reader_.next().text;
            if (tag == "elif") continue;
            if (tag == "else") node.otherwise = parse_body_through("endif");
            return node;
        }
    }

    For parse_for() {
        For node{};
        node.target = parse_target("in");
        if (!reader_.skip_name("in")) {
            refuse_at(reader_.current().offset, "expected 'in', got {}", describe(reader_.current()));
        }
        node.items = expressions_.parse_tuple(ExpressionParser::AllowConditional::no);
        if (reader_.skip_name("if")) node.condition = expressions_.parse();
        node.recursive = reader_.skip_name("recursive");
        ++loops_;
        node.body = parse_body({"endfor", "else"});
        --loops_;
        if (reader_.next().text == "else") node.otherwise = parse_body_through("endfor");
        return node;
    }

    template <class Control>
    Control loop_control(uint32_t offset, Control control) const {
        if (loops_ == 0) refuse_at(offset, "break or continue outside a loop");
        return control;
    }

    // a / a.b / a, b, up to the name `end` or '='.
    Target parse_target(std::string_view end) {
        Target first = parse_single_target();
        if (!reader_.at_symbol(",")) return first;
        const uint32_t offset = first.offset;
        std::vector<Target> targets;
        targets.push_back(std::move(first));
        while (reader_.skip_symbol(",")) {
            if (reader_.at_name(end) || reader_.at_symbol("=") || reader_.at_symbol(")")) break;
            targets.push_back(parse_single_target());
        }
        return {offset, std::move(targets)};
    }

    Target parse_single_target() {
        const TokenReader::Level level(reader_);
        const uint32_t offset = reader_.current().offset;
        if (reader_.skip_symbol("(")) {
            Target inner = parse_target(")");
            reader_.expect_symbol(")");
            return inner;
        }
        std::string name = reader_.expect_name("a variable's name");
        constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None", "loop"};
        if (std::ranges::find(kConstants, name) != std::end(kConstants)) {
            refuse_at(offset, "cannot assign to '{}'", name);
        }
        if (!reader_.skip_symbol(".")) return {offset, std::move(name)};
        return {offset, Target::NamespaceAttribute{std::move(name), reader_.expect_name("an attribute's name")}};
    }

    Statement parse_set(uint32_t offset) {
        Target target = parse_target("");
        if (reader_.skip_symbol("=")) return {offset, Set{std::move(target), expressions_.parse_tuple()}};
        ExpressionPtr value = expressions_.parse_filter_chain(captured(offset));
        Body body = parse_body_through("endset");
        return {offset, SetBlock{std::move(target), std::move(value), std::move(body)}};
    }

    static ExpressionPtr captured(uint32_t offset) {
        return std::make_unique<Expression>(Expression{offset, Captured{}});
    }

    FilterBlock parse_filter_block() {
        const uint32_t offset = reader_.current().offset;
        ExpressionPtr value = expressions_.parse_filter_chain(expressions_.parse_filter(captured(offset)));
        return {std::move(value), parse_body_through("endfilter")};
    }

    void parse_parameters(Signature& signature) {
        reader_.expect_symbol("(");
        while (!reader_.at_symbol(")")) {
            if (!signature.parameters.empty()) reader_.expect_symbol(",");
            const uint32_t offset = reader_.current().offset;
            signature.parameters.push_back(reader_.expect_name("a parameter's name"));
            if (reader_.skip_symbol("=")) {
                signature.defaults.push_back(expressions_.parse());
            } else if (!signature.defaults.empty()) {
                refuse_at(offset, "a parameter without default follows one with a default");
            }
        }
        reader_.expect_symbol(")");
    }

    Body parse_macro_body(Signature& signature, std::string_view end) {
        expressions_.enter_macro();
        const uint32_t loops = std::exchange(loops_, 0);
        Body body = parse_body_through(end);
        loops_ = loops;
        expressions_.leave_macro(signature);
        return body;
    }

    Macro parse_macro() {
        Macro node;
        node.signature.name = reader_.expect_name("a macro's name");
        parse_parameters(node.signature);
        node.body = parse_macro_body(node.signature, "endmacro");
        return node;
    }

    CallBlock parse_call_block() {
        CallBlock node;
        node.signature.name = "caller";
        if (reader_.at_symbol("(")) parse_parameters(node.signature);
        const uint32_t offset = reader_.current().offset;
        node.call = expressions_.parse();
        if (!std::holds_alternative<Call>(node.call->node)) refuse_at(offset, "expected a call");
        node.body = parse_macro_body(node.signature, "endcall");
        return node;
    }

    Scoped parse_with() {
        Scoped node;
        while (!reader_.at(Token::Kind::block_end)) {
            if (!node.variables.empty()) reader_.expect_symbol(",");
            Target target = parse_single_target();
            reader_.expect_symbol("=");
            node.variables.emplace_back(std::move(target), expressions_.parse());
        }
        node.body = parse_body_through("endwith");
        return node;
    }

    void parse_print(uint32_t offset, Body& body) {
        for (bool first = true; !reader_.at(Token::Kind::block_end); first = false) {
            if (!first) reader_.expect_symbol(",");
            body.push_back({offset, Output{expressions_.parse()}});
        }
    }

    TokenReader reader_;
    ExpressionParser expressions_;
    uint32_t loops_ = 0;  // open ones
};

}  // namespace

Body parse(std::span<const Token> tokens) { return StatementParser(tokens).parse_template(); }

}  // namespace riftjit::models::jinja
