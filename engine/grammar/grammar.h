// What a text may look like: a grammar in GBNF, or one that a JSON schema asks for. Compiled once and immutable, so
// that any number of texts, on any threads, may follow it (constraint.h).
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::engine {

struct Automaton;

class Grammar {
public:
    // llama.cpp's GBNF. Errors begin with "line:column:". Refused: names without a rule, rules that call themselves
    // before anything was read (left recursion), a root that no text ends.
    static Result<std::shared_ptr<const Grammar>> from_gbnf(std::string_view text, std::string_view root = "root");
    // Documents that the schema finds valid, in compact form or with little white space. Errors begin with the JSON
    // pointer of what is wrong, "#/properties/a: ...".
    static Result<std::shared_ptr<const Grammar>> from_json_schema(const nlohmann::ordered_json& schema);

    explicit Grammar(Automaton automaton, std::vector<std::string> warnings);
    ~Grammar();
    Grammar(const Grammar&) = delete;
    Grammar& operator=(const Grammar&) = delete;

    // What the schema asks for and the grammar does not: "#/items: uniqueItems is not enforced". Whoever shows a text
    // says so.
    std::span<const std::string> warnings() const { return warnings_; }
    const Automaton& automaton() const { return *automaton_; }

private:
    std::unique_ptr<const Automaton> automaton_;
    std::vector<std::string> warnings_;
};

}  // namespace riftjit::engine
