// A grammar as rules that are automata over bytes and call each other: what GrammarMachine runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace riftjit::engine {

struct Automaton {
    static constexpr uint32_t kUnlimited = UINT32_MAX;

    enum class Kind : uint8_t {
        bytes,   // one byte of an edge
        split,   // goes on at any of its targets
        call,    // a text of a rule, then `next`
        repeat,  // min to max texts of a rule, none of them empty, then `next`
        token,   // one token of the vocabulary, then `next`
        accept,  // the rule's text ends
    };
    struct Edge {
        uint8_t first, last;  // bytes
        uint32_t next;
    };
    struct State {
        Kind kind;
        uint32_t begin = 0, end = 0;  // of edges, or of targets
        uint32_t rule = 0;            // or token terminal
        uint32_t next = 0;
        uint32_t min = 0, max = 0;
    };
    // Each stands for its texts without the empty one: whoever calls it goes past it, too, if it may be empty.
    struct Rule {
        uint32_t entry;
        bool may_be_empty;
    };
    struct Token {
        std::string where;  // for messages
        std::string text;   // the token's, if not empty
        int64_t id = -1;
        bool is_negated = false;  // any other one
    };

    std::vector<State> states;
    std::vector<Edge> edges;
    std::vector<uint32_t> targets;
    std::vector<Rule> rules;  // the first is the root
    std::vector<Token> tokens;
    // Bytes that no edge tells apart.
    std::array<uint8_t, 256> class_of{};
    std::vector<uint8_t> representatives;  // of each class
};

}  // namespace riftjit::engine
