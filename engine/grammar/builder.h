// Expressions of which grammars are made, and their automaton.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/grammar/automaton.h"
#include "host/result.h"

namespace riftjit::engine {

struct CharacterRange {
    char32_t first, last;
};
// Sorted, apart from each other, within Unicode and without surrogates.
std::vector<CharacterRange> normalised(std::vector<CharacterRange> ranges);
std::vector<CharacterRange> complement(std::vector<CharacterRange> ranges);

class GrammarBuilder {
public:
    // By index: expressions are shared freely.
    using Expression = uint32_t;
    static constexpr uint32_t kUnlimited = Automaton::kUnlimited;
    // Of expressions, and of the automaton's states.
    static constexpr size_t kMostParts = 1'000'000;

    GrammarBuilder();

    Expression nothing() const { return kNothing; }  // the empty text
    Expression never() const { return kNever; }      // no text, not even the empty one
    Expression literal(std::string_view utf8);
    Expression characters(std::vector<CharacterRange> ranges);
    Expression sequence(std::vector<Expression> parts);
    Expression choice(std::vector<Expression> alternatives);
    Expression repeat(Expression part, uint32_t min, uint32_t max);
    Expression optional(Expression part) { return repeat(part, 0, 1); }
    Expression token(Automaton::Token token);

    // Rules may be called before they are defined. `where` begins messages about it: "3:1: rule \"a\"".
    uint32_t declare(std::string where);
    void define(uint32_t rule, Expression body) { rules_[rule].body = body; }
    bool is_defined(uint32_t rule) const { return rules_[rule].body != kUndefined; }
    Expression call(uint32_t rule);

    size_t parts() const { return expressions_.size(); }
    bool is_too_large() const { return expressions_.size() > kMostParts; }

    // Fails if no text ends the root, on left recursion, and on what is too large.
    Result<Automaton> compile(uint32_t root);

private:
    friend class GrammarCompiler;
    enum class Kind : uint8_t { nothing, never, literal, characters, sequence, choice, repeat, token, call };
    struct Part {
        Kind kind;
        uint32_t index = 0;           // of the text, the ranges, the token, the rule, or the part repeated
        uint32_t begin = 0, end = 0;  // of children
        uint32_t min = 0, max = 0;
    };
    struct Rule {
        std::string where;
        Expression body;
    };
    static constexpr Expression kNothing = 0, kNever = 1, kUndefined = UINT32_MAX;

    Expression add(Part part);
    Expression add_list(Kind kind, const std::vector<Expression>& children);

    std::vector<Part> expressions_;
    std::vector<Expression> children_;
    std::vector<std::string> texts_;
    std::vector<std::vector<CharacterRange>> ranges_;
    std::vector<Automaton::Token> tokens_;
    std::vector<Rule> rules_;
};

}  // namespace riftjit::engine
