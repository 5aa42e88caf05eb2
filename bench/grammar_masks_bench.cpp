// What it costs to follow a grammar: the mask and the step of each token, over a model's vocabulary, along documents
// that the grammar has. "first" begins with nothing known of the grammar, "again" has its masks.
//
//   grammar_masks_bench MODEL.gguf
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "engine/grammar/constraint.h"

namespace riftjit::engine {
namespace {

// Of this thread, so that what else the machine does is not counted.
double microseconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

struct Example {
    const char* name;
    Result<std::shared_ptr<const Grammar>> grammar;
    std::string document;
};

Result<std::shared_ptr<const Grammar>> of_schema(const char* text) {
    return Grammar::from_json_schema(nlohmann::ordered_json::parse(text));
}

std::vector<Example> examples() {
    std::string long_text = "\"";
    for (int i = 0; i < 60; ++i) long_text += "All happy families are alike, more or less. ";
    long_text.resize(1990);
    long_text += "\"";
    std::string people = "[";
    for (int i = 0; i < 12; ++i)
        people += fmt::format("{}{{\"name\": \"Marlon Brando the {}th\", \"age\": {}}}", i == 0 ? "" : ", ", i, 30 + i);
    people += "]";
    std::string nested = "{\"id\": 7, \"children\": [";
    for (int i = 0; i < 6; ++i)
        nested += fmt::format("{}{{\"id\": {}, \"note\": \"a leaf\", \"children\": []}}", i == 0 ? "" : ", ", i);
    nested += "]}";
    return {
        {"any JSON", of_schema("{}"),
         R"({"title": "War and Peace", "year": 1869, "tags": ["novel", "history", null], "in": {"parts": [1, 2, 3, 4], "ok": true}})"},
        {"people",
         of_schema(R"({"type":"array","items":{"type":"object","properties":{"name":{"type":"string","minLength":1,
            "maxLength":100},"age":{"type":"integer","minimum":0,"maximum":150}},"required":["name","age"],
            "additionalProperties":false},"minItems":10,"maxItems":100})"),
         people},
        {"tree",
         of_schema(R"({"$defs":{"n":{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"string"},
            "children":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["id","children"]}},"$ref":"#/$defs/n"})"),
         nested},
        {"maxLength 2000", of_schema(R"({"type":"string","maxLength":2000})"), long_text},
        {"other names",
         of_schema(R"({"type":"object","properties":{"question":{"type":"string"},"answer":{"type":"string"}},
            "required":["question","answer"],"additionalProperties":true})"),
         R"({"question": "Who wrote it, and when?", "answer": "Tolstoy did.", "questions": 12, "sources": ["memory", "a book"]})"},
        {"chess.gbnf",
         Grammar::from_gbnf(
             "root ::= \"1. \" move \" \" move \"\\n\" ([1-9] [0-9]? \". \" move \" \" move \"\\n\")+\n"
             "move ::= (pawn | nonpawn | castle) [+#]?\nnonpawn ::= [NBKQR] [a-h]? [1-8]? \"x\"? [a-h] [1-8]\n"
             "pawn ::= ([a-h] \"x\")? [a-h] [1-8] (\"=\" [NBKQR])?\ncastle ::= \"O-O\" \"-O\"?"),
         "1. e4 e5\n2. Nf3 Nc6\n3. Bb5 a6\n4. Ba4 Nf6\n5. O-O Be7\n6. Re1 b5\n"},
        {"lines", Grammar::from_gbnf("root ::= (\"- \" [^\\n]+ \"\\n\")+"),
         "- all that is gold\n- does not glitter\n- not all those\n"},
    };
}

struct Cost {
    double mean, highest;
};

Result<Cost> follow(const std::shared_ptr<TokenMasks>& masks, std::span<const int32_t> ids) {
    GrammarConstraint constraint(masks);
    Cost cost{};
    for (const int32_t id : ids) {
        const double start = microseconds();
        RIFTJIT_TRY(allowed, constraint.allowed());
        if ((allowed[static_cast<size_t>(id) / 64] >> (id % 64) & 1) == 0)
            return fail(ErrorKind::Usage, "token {} is not allowed", id);
        RIFTJIT_TRY_VOID(constraint.accept(id));
        const double passed = microseconds() - start;
        cost.mean += passed / static_cast<double>(ids.size());
        cost.highest = std::max(cost.highest, passed);
    }
    return cost;
}

Result<void> measure(const char* path) {
    RIFTJIT_TRY(file, models::Gguf::open(path));
    RIFTJIT_TRY(tokenizer, models::Tokenizer::from_gguf(file));
    double start = microseconds();
    const auto tree = std::make_shared<const TokenTree>(TokenTree::of(tokenizer));
    fmt::print("{} tokens, {} nodes of their tree, made in {:.0f} ms\n", tree->size(), tree->nodes().size(),
               (microseconds() - start) / 1000);
    fmt::print("{:16} {:>7} {:>11} {:>11} {:>11} {:>11} {:>11}\n", "us for a token", "tokens", "compiling", "first",
               "its worst", "again", "its worst");
    for (Example& example : examples()) {
        if (!example.grammar) return std::unexpected(example.grammar.error());
        RIFTJIT_TRY(ids, tokenizer.encode(example.document, models::ParseSpecial::no, models::AddBos::no));
        start = microseconds();
        RIFTJIT_TRY(masks, TokenMasks::create(*example.grammar, tree));
        const double compiling = microseconds() - start;
        auto first = follow(masks, ids), again = follow(masks, ids);
        if (!first) return fail(first.error().kind, "{}: {}", example.name, first.error().message);
        fmt::print("{:16} {:7} {:11.1f} {:11.1f} {:11.1f} {:11.2f} {:11.2f}\n", example.name, ids.size(), compiling,
                   first->mean, first->highest, again->mean, again->highest);
    }
    return {};
}

}  // namespace
}  // namespace riftjit::engine

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: grammar_masks_bench MODEL.gguf\n");
        return 2;
    }
    const auto measured = riftjit::engine::measure(argv[1]);
    if (measured) return 0;
    fmt::print(stderr, "error: {}\n", measured.error().message);
    return 1;
}
