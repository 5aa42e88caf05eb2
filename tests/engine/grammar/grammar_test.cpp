#include "engine/grammar/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/grammar/constraint.h"
#include "engine/grammar/machine.h"
#include "host/utf8.h"
#include "tests/engine/grammar/reference_grammar.h"
#include "tests/host/oracle.h"

namespace riftjit::engine {
namespace grammar_test {

std::shared_ptr<const Grammar> parsed(std::string_view text) {
    auto grammar = Grammar::from_gbnf(text);
    if (!grammar) ADD_FAILURE() << grammar.error().message << "\n" << text;
    return grammar ? *grammar : nullptr;
}

std::string refusal(std::string_view text) {
    const auto grammar = Grammar::from_gbnf(text);
    return grammar ? "" : grammar.error().message;
}

// Whether the grammar has this text, and one that begins so.
ReferenceGrammar::Verdict judge(GrammarMachine& machine, std::string_view text) {
    GrammarMachine::Set set = machine.start();
    for (const char byte : text) set = machine.step(set, static_cast<uint8_t>(byte));
    return {machine.may_end(set), set != GrammarMachine::kNone};
}

bool has(std::string_view grammar, std::string_view text) {
    const auto made = parsed(grammar);
    GrammarMachine machine(made->automaton());
    return judge(machine, text).is_whole;
}

bool is_set(const TokenMask& mask, int32_t token) { return mask[size_t(token) / 64] >> (token % 64) & 1; }

void add_texts(std::vector<std::string>& texts, std::string_view letters, size_t longest) {
    for (size_t begin = 0, length = 0; length < longest; ++length) {
        const size_t end = texts.size();
        for (; begin < end; ++begin)
            for (const char letter : letters) texts.push_back(texts[begin] + letter);
    }
}

std::vector<std::string> texts_of(std::string_view letters, size_t longest) {
    std::vector<std::string> texts{""};
    add_texts(texts, letters, longest);
    return texts;
}

std::shared_ptr<const TokenTree> tree_of(const std::vector<std::string>& texts) {
    std::vector<TokenTree::Token> tokens;
    for (const std::string& text : texts) tokens.push_back({text, TokenTree::Kind::text});
    tokens.push_back({"</s>", TokenTree::Kind::end});
    tokens.push_back({"<tool>", TokenTree::Kind::control});
    return std::make_shared<const TokenTree>(std::move(tokens));
}

// The grammar's texts and its masks, against the reference, over all texts of `letters` up to `longest`.
void compare(const std::string& text, std::string_view letters, size_t longest) {
    SCOPED_TRACE(text);
    const auto grammar = parsed(text);
    ASSERT_NE(grammar, nullptr);
    ReferenceGrammar reference(text);
    GrammarMachine machine(grammar->automaton());
    const auto tree = tree_of(texts_of(letters, 3));
    auto masks = *TokenMasks::create(grammar, tree);
    for (const std::string& prefix : texts_of(letters, longest)) {
        const auto expected = reference.judge(prefix), found = judge(machine, prefix);
        ASSERT_EQ(found.is_whole, expected.is_whole) << '"' << prefix << '"';
        ASSERT_EQ(found.is_prefix, expected.is_prefix) << '"' << prefix << '"';
        if (!expected.is_prefix || prefix.size() + 2 > longest) continue;
        const auto state = masks->after_bytes(masks->start(), prefix);
        ASSERT_TRUE(state && *state);
        const auto mask = *masks->mask(**state);
        for (int32_t token = 0; token < int32_t(tree->size()); ++token) {
            bool is_allowed = false;
            if (tree->kind(token) == TokenTree::Kind::end)
                is_allowed = expected.is_whole;
            else if (tree->kind(token) == TokenTree::Kind::text && !tree->bytes(token).empty())
                is_allowed = reference.judge(prefix + std::string(tree->bytes(token))).is_prefix;
            ASSERT_EQ(is_set(*mask, token), is_allowed) << '"' << prefix << "\" + \"" << tree->bytes(token) << '"';
        }
    }
}

TEST(Grammar, EachConstructHasTheTextsOfItsDefinition) {
    for (const std::string text : {
             R"(root ::= "ab")",
             R"(root ::= "")",
             R"(root ::= "a" | "b" | "ab" | "abc" | "")",
             R"(root ::= [ab] [^a] "c"?)",
             R"(root ::= "a"* "b"+ "c"?)",
             R"(root ::= ("a" | "bc")*)",
             R"(root ::= ("a"? "b"?)* "c")",
             R"(root ::= ("a"?)+)",
             R"(root ::= "a"{2} "b"{1,} "c"{0,2})",
             R"(root ::= ("a" | "ab"){2,3})",
             R"(root ::= ("a"? "b"?){3,4})",
             R"(root ::= "a"{0,0} "b")",
             R"(root ::= ("ab" | "c"){20,})",
             R"(root ::= ("a" | "b" "c"){2,60} "c")",
             R"(root ::= (("a" | "b"){1,30} "c"){2,40})",
             R"(root ::= (("a"? | "b"){3,30} "c"?){2,40})",
             R"(root ::= . "b" .)",
             "root ::= a b # a comment\n\na ::= \"a\" | # another\n  \"c\"\nb ::= (\"b\"\n  a)?",
             R"(root ::= "a" root "b" | "c")",
             R"(root ::= "a" root | "b" root | "c")",
             R"(root ::= "a" (root root)? | "b")",
             "root ::= list\nlist ::= \"a\" | \"b\" list \"c\" | \"c\" list list",
             "root ::= x y\nx ::= \"a\" x | \"\"\ny ::= \"b\" (y x)? | \"c\"",
             "root ::= (a | b)*\na ::= \"a\" root \"b\"\nb ::= \"c\"",
             "root ::= \"a\" (root \"b\" | root \"c\") | \"a\"",
             R"(root ::= "\x61" [\x62-\x63] "\u0061" "\U00000062" "\n"?)",
             R"(root ::= "a"{1,2}{2,3})",
         })
        compare(text, "abc", 6);
}

TEST(Grammar, WhatNeverEndsIsNotOffered) {
    const auto grammar = parsed("root ::= \"a\" never | \"b\" never? | \"c\" \nnever ::= \"c\" never");
    GrammarMachine machine(grammar->automaton());
    EXPECT_FALSE(judge(machine, "a").is_prefix);
    EXPECT_TRUE(judge(machine, "b").is_whole);
    EXPECT_FALSE(judge(machine, "bc").is_prefix);
    EXPECT_TRUE(judge(machine, "c").is_whole);
}

// Random rules: each begins with a letter where it may call, so that none is left-recursive.
class RandomGrammar {
public:
    explicit RandomGrammar(uint32_t seed) : random_(seed) {}

    std::string text() {
        rules_ = 1 + below(4);
        std::string made = "root ::= " + choice(2) + "\n";
        for (uint32_t rule = 0; rule < rules_; ++rule)
            made += fmt::format("r{} ::= \"{}\" | {}\n", rule, letter(), choice(3));
        return made;
    }

private:
    uint32_t below(uint32_t bound) { return random_() % bound; }
    char letter() { return "abc"[below(3)]; }
    std::string choice(int depth) {
        std::string made = sequence(depth);
        for (uint32_t more = below(3); more > 0; --more) made += " | " + sequence(depth);
        return made;
    }
    std::string sequence(int depth) {
        std::string made;
        bool has_letter = false;
        for (uint32_t items = below(4); items > 0; --items) {
            std::string item;
            switch (below(depth > 0 && has_letter ? 6 : 3)) {
                case 0:
                    item = fmt::format("\"{}\"", letter());
                    break;
                case 1:
                    item = fmt::format("[{}{}]", letter(), letter());
                    break;
                case 2:
                    item = fmt::format("[^{}]", letter());
                    break;
                case 3:
                case 4:
                    item = fmt::format("r{}", below(rules_));
                    break;
                default:
                    item = "(" + choice(depth - 1) + ")";
            }
            const bool is_kept = !has_letter;
            has_letter = true;
            if (!is_kept || depth == 0) {
                switch (below(8)) {
                    case 0:
                        item += "*";
                        break;
                    case 1:
                        item += "+";
                        break;
                    case 2:
                        item += "?";
                        break;
                    case 3:
                        item += fmt::format("{{{},{}}}", below(3), 3 + below(40));
                        break;
                    case 4:
                        item += fmt::format("{{{},}}", below(30));
                        break;
                    default:
                        break;
                }
            }
            made += (made.empty() ? "" : " ") + item;
        }
        return made.empty() ? "\"\"" : made;
    }

    std::mt19937 random_;
    uint32_t rules_ = 0;
};

TEST(Grammar, RandomGrammarsHaveTheTextsOfTheirDefinitions) {
    size_t compared = 0;
    for (uint32_t seed = 0; seed < 150 && !::testing::Test::HasFailure(); ++seed) {
        const std::string text = RandomGrammar(seed).text();
        const auto grammar = Grammar::from_gbnf(text);
        // A sequence of what may be empty may still begin with a call.
        if (!grammar && grammar.error().message.contains("left recursion")) continue;
        ++compared;
        compare(text, "abc", 5);
    }
    EXPECT_GT(compared, 100u);
}

// Counts are looked at from afar first (GrammarMachine::abstract): tokens of any length, behind any count.
TEST(Grammar, TokensOfAnyLengthFitTheRestOfARepetition) {
    std::vector<std::string> texts;
    for (const char* end : {"", "b", ",", ",a", "ab", ",,", "b]"})
        for (size_t length = 0; length <= 80; ++length) texts.push_back(std::string(length, 'a') + end);
    const auto tree = tree_of(texts);
    for (const std::string text : {
             R"(root ::= "a"{3,100} "b")",
             R"(root ::= ("a" | "aa"){70,90} "b")",
             R"(root ::= ("a"{1,20} ","){2,50} "b")",
             R"(root ::= ("a"{2,} ","?){60,} "b")",
             "root ::= x \"]\"\nx ::= \"a\"{0,75} \"b\" | \",\" x x",
         }) {
        SCOPED_TRACE(text);
        ReferenceGrammar reference(text);
        auto masks = *TokenMasks::create(parsed(text), tree);
        std::mt19937 random(7);
        for (int texts_left = 12; texts_left > 0; --texts_left) {
            std::string prefix;
            for (int steps = 0; steps < 14; ++steps) {
                const auto state = masks->after_bytes(masks->start(), prefix);
                ASSERT_TRUE(state && *state);
                const auto mask = *masks->mask(**state);
                std::vector<int32_t> allowed;
                for (int32_t token = 0; token < int32_t(texts.size()); ++token) {
                    if (is_set(*mask, token)) allowed.push_back(token);
                    if (texts[size_t(token)].empty()) continue;
                    ASSERT_EQ(is_set(*mask, token), (*masks->after(**state, token)).has_value())
                        << '"' << prefix << "\" + \"" << texts[size_t(token)] << '"';
                    if (prefix.size() > 120 || random() % 100 != 0) continue;
                    ASSERT_EQ(is_set(*mask, token), reference.judge(prefix + texts[size_t(token)]).is_prefix)
                        << '"' << prefix << "\" + \"" << texts[size_t(token)] << '"';
                }
                if (allowed.empty()) break;
                prefix += texts[size_t(allowed[random() % allowed.size()])];
            }
        }
    }
}

TEST(Grammar, ClassesHoldTheirCharactersAndNoOtherBytes) {
    std::mt19937 random(3);
    const auto cut = [&] {
        static constexpr char32_t kNear[] = {0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
        return random() % 2 == 0 ? char32_t(random() % 0x110000) : kNear[random() % 9];
    };
    for (int round = 0; round < 12; ++round) {
        std::vector<std::pair<char32_t, char32_t>> ranges;
        std::string text = round % 2 == 0 ? "root ::= [" : "root ::= [^";
        for (size_t count = 1 + random() % 4; count > 0; --count) {
            auto [low, high] = std::minmax({cut(), cut()});
            ranges.emplace_back(low, high);
            text += fmt::format("\\U{:08X}-\\U{:08X}", uint32_t(low), uint32_t(high));
        }
        text += "]";
        const auto grammar = Grammar::from_gbnf(text);
        if (!grammar) continue;  // none is left
        GrammarMachine machine((*grammar)->automaton());
        for (char32_t value = 0; value <= 0x10FFFF; ++value) {
            const bool is_in = std::ranges::any_of(
                ranges, [&](const auto& range) { return range.first <= value && value <= range.second; });
            const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
            std::string bytes;
            append_utf8(bytes, value);
            const bool is_expected = !is_surrogate && is_in == (round % 2 == 0);
            if (judge(machine, bytes).is_whole != is_expected) FAIL() << text << " U+" << uint32_t(value);
        }
        for (int i = 0; i < 20000; ++i) {
            std::string bytes;
            for (size_t length = 1 + random() % 4; length > 0; --length)
                bytes.push_back(static_cast<char>(random() % 3 == 0 ? random() : 0x80 | random() % 128));
            if (valid_utf8_prefix(bytes) == bytes.size()) continue;
            ASSERT_FALSE(judge(machine, bytes).is_whole);
        }
    }
}

TEST(Grammar, TokensMayEndWithinACharacter) {
    const auto grammar = parsed("root ::= [é€] \"x\" | \"😀\" [^a]");
    const auto tree = tree_of({"\xC3", "\xA9", "\xE2", "\xE2\x82", "\x82\xAC", "\xACx", "\xF0\x9F", "\x98\x80", "a",
                               "x", "é", "\x80", "\xC2"});
    auto masks = *TokenMasks::create(grammar, tree);
    const auto allowed = [&](std::string_view prefix) {
        const auto state = *masks->after_bytes(masks->start(), prefix);
        std::string found;
        for (int32_t token = 0; token < int32_t(tree->size()); ++token)
            if (is_set(**masks->mask(*state), token)) found += fmt::format("{} ", token);
        return found;
    };
    EXPECT_EQ(allowed(""), "0 2 3 6 10 ");
    EXPECT_EQ(allowed("\xC3"), "1 ");
    EXPECT_EQ(allowed("\xE2"), "4 ");
    EXPECT_EQ(allowed("\xE2\x82"), "5 ");
    EXPECT_EQ(allowed("\xF0\x9F"), "7 ");
    EXPECT_EQ(allowed("😀"), "0 2 3 6 9 10 12 ");  // the first bytes of characters that are no 'a'
    EXPECT_EQ(allowed("é"), "9 ");
    EXPECT_EQ(allowed("éx"), "13 ");
}

TEST(Grammar, ReadsThoseOfLlamaCpp) {
    const char* folder = std::getenv("RIFTJIT_PEER_GRAMMARS");
    if (folder == nullptr) return lack_oracle("RIFTJIT_PEER_GRAMMARS, a folder of *.gbnf: tests/peer/fetch.sh");
    const std::map<std::string, std::string> texts{
        {"arithmetic.gbnf", "(1+2)*x=y\n"},
        {"c.gbnf", "int f(int a){int b = 1;return b;}"},
        {"chess.gbnf", "1. e4 e5\n2. Nf3 Nc6\n"},
        {"english.gbnf", "What a day, isn't it?"},
        {"japanese.gbnf", "これは。"},
        {"json.gbnf", R"({"a": [1.5e3, true, "\u00e9", {}]})"},
        {"json_arr.gbnf", "[\n1,\n{\"a\":null}]"},
        {"list.gbnf", "- one\n- two\n"},
    };
    size_t read = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".gbnf") continue;
        SCOPED_TRACE(entry.path());
        std::ifstream file(entry.path());
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const auto example = texts.find(entry.path().filename().string());
        ASSERT_NE(example, texts.end());
        EXPECT_TRUE(has(text, example->second));
        EXPECT_FALSE(has(text, example->second + "\x01"));
        ++read;
    }
    EXPECT_EQ(read, texts.size());
}

TEST(Grammar, TokensAreNamedByTextOrNumber) {
    const auto tree = tree_of({"a", "b", "<think>"});  // 3: </s>, 4: <tool>, of control
    const auto allowed = [&](std::string_view text, std::vector<int32_t> ids) {
        GrammarConstraint constraint(*TokenMasks::create(parsed(text), tree));
        for (const int32_t id : ids) EXPECT_TRUE(constraint.accept(id));
        std::string found;
        const auto mask = *constraint.allowed();
        for (int32_t token = 0; token < int32_t(tree->size()); ++token) {
            const bool is_in = mask[0] >> token & 1;
            EXPECT_EQ(is_in, *constraint.allows(token)) << token;
            if (is_in) found += fmt::format("{} ", token);
        }
        return found;
    };
    EXPECT_EQ(allowed("root ::= <think> !<think>* <[4]>", {}), "2 ");
    EXPECT_EQ(allowed("root ::= <think> !<think>* <[4]>", {2}), "0 1 4 ");
    EXPECT_EQ(allowed("root ::= <think> !<think>* <[4]>", {2, 1, 4}), "3 ");
    EXPECT_EQ(allowed("root ::= <think> \"a\" | \"<think>\" \"b\"", {2}), "0 1 ");
    const auto missing = TokenMasks::create(parsed("root ::= \"a\" |\n  <nope>"), tree);
    EXPECT_EQ(missing.error().message, "the grammar at 2:3: the vocabulary has no token \"<nope>\"");
    EXPECT_EQ(TokenMasks::create(parsed("root ::= <[9]>"), tree).error().message,
              "the grammar at 1:10: the vocabulary has no token 9: it ends at 4");
}

TEST(Grammar, ErrorsNameLineAndColumn) {
    EXPECT_EQ(refusal("root ::= \"a\" |\n  b \"c"), "2:7: the text ends within quotation marks or brackets");
    EXPECT_EQ(refusal("root ::= b\nc ::= \"x\""), "1:10: rule \"b\" is not defined");
    EXPECT_EQ(refusal("c ::= \"x\""), "1:10: the grammar has no rule \"root\"");
    EXPECT_EQ(refusal(""), "1:1: the grammar has no rule \"root\"");
    EXPECT_EQ(refusal("root ::= (\"a\"\n"), "2:1: expected ')' for the '(' at 1:10, found the end");
    EXPECT_EQ(refusal("root := \"a\""), "1:6: expected '::=' behind \"root\", found ':'");
    EXPECT_EQ(refusal("root ::= \"ü\" )"), "1:14: expected the end of the line or more of rule \"root\", found ')'");
    EXPECT_EQ(refusal("root ::= * \"a\""), "1:10: '*' has nothing before it that it could repeat");
    EXPECT_EQ(refusal("root ::= [b-a]"), "1:11: a range from U+0062 down to U+0061 has no character");
    EXPECT_EQ(refusal("root ::= []"), "1:10: no character is in this class");
    EXPECT_EQ(refusal("root ::= \"a\"{3,2}"), "1:13: {3,2} repeats at most less often than at least");
    EXPECT_EQ(refusal("root ::= \"a\"{2"), "1:15: expected '}' or ',', found the end");
    EXPECT_EQ(refusal("root ::= \"a\"{4294967295}"), "1:14: the number is beyond 4294967294");
    EXPECT_EQ(refusal("root ::= \"\\q\""),
              "1:11: unknown escape of 'q': there are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\xXX \\uXXXX \\UXXXXXXXX");
    EXPECT_EQ(refusal("root ::= \"\\ud800\""), "1:11: \\uD800 is half a character (a surrogate); write \\UXXXXXXXX");
    EXPECT_EQ(refusal("root ::= \"\\U00110000\""), "1:11: \\U00110000 is no character: they end at 10FFFF");
    EXPECT_EQ(refusal("root ::= \"\xFF\""), "1:11: byte 0xff is no UTF-8");
    EXPECT_EQ(refusal("root ::= a\na ::= \"x\" a"),
              "1:1: rule \"root\" has no text that ends: every way through it needs another of its own");
    const std::string left = refusal("root ::= e\ne ::= t | e \"+\" t\nt ::= \"1\"");
    EXPECT_TRUE(left.starts_with("1:10: rule \"e\" can begin with itself (left recursion)")) << left;
    EXPECT_TRUE(refusal("root ::= a? root \"x\" | \"y\"\na ::= \"a\"").contains("left recursion"));
    EXPECT_TRUE(refusal("root ::= (root \"x\"){0,1000} \"y\"").starts_with("1:1: rule \"root\" can begin with itself"));
    const auto twice = parsed("root ::= \"a\"\nroot ::= \"b\"");
    ASSERT_EQ(twice->warnings().size(), 1u);
    EXPECT_EQ(twice->warnings()[0], "2:1: rule \"root\" is defined again, after 1:1: of such rules the last ones hold");
}

TEST(Grammar, TakesLittleTimeForAnything) {
    std::string parentheses = "root ::= ", chain = "root ::= r0\n", words = "root ::= \"w\"",
                doubling = "root ::= r0\n";
    parentheses += std::string(60000, '(') + "\"a\"" + std::string(60000, ')');
    for (int i = 0; i < 20000; ++i) chain += fmt::format("r{} ::= \"a\" r{}\n", i, i + 1);
    chain += "r20000 ::= \"b\"";
    for (int i = 0; i < 20000; ++i) words += fmt::format(" | \"word{}\"", i);
    for (int i = 0; i < 60; ++i) doubling += fmt::format("r{} ::= r{} r{}\n", i, i + 1, i + 1);
    doubling += "r60 ::= \"a\"";
    std::string plus = "root ::= " + std::string(400, '(') + "\"a\"";
    for (int i = 0; i < 400; ++i) plus += "+)+";
    struct Case {
        std::string text, refusal;
    };
    for (const auto& [text, expected] : std::vector<Case>{
             {parentheses, "1:510: groups are nested deeper than 500"},
             {chain, ""},
             {words, ""},
             {doubling, ""},
             {plus, ""},
             {"root ::= [^x]{0,2000}", ""},
             {"root ::= ([^x]{0,2000}){2147483648,4294967294}", ""},
             {"root ::= (((((\"a\"{0,9999}){0,9999}){0,9999}){0,9999}){0,9999}){0,9999}", ""},
             {"root ::= (\"a\" | \"aa\"){1000,100000}", ""},
             {"root ::= \"a\" (root \"x\" | root \"y\" | root root)? | \"b\"", ""},
             {"root ::= (((\"a\"*)*)*)* | (\"a\"? \"a\"? \"a\"? \"a\"? \"a\"? \"a\"? \"a\"? \"a\"?)* \"b\"", ""}}) {
        SCOPED_TRACE(text.substr(0, 80));
        const std::clock_t start = std::clock();
        const auto grammar = Grammar::from_gbnf(text);
        EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 1);
        EXPECT_EQ(grammar ? "" : grammar.error().message, expected);
        if (!grammar) continue;
        GrammarMachine machine((*grammar)->automaton());
        GrammarMachine::Set set = machine.start();
        for (int i = 0; i < 60 && !machine.has_overflown(); ++i) set = machine.step(set, 'a');
        EXPECT_LT(machine.bytes(), size_t(64) << 20);
    }
}

TEST(Grammar, NestsTwoThousandDeepAndThenOffersNoMore) {
    const auto grammar = parsed("root ::= \"[\" root? \"]\"");
    GrammarMachine machine(grammar->automaton());
    GrammarMachine::Set set = machine.start();
    int depth = 0;
    for (; machine.step(set, '[') != GrammarMachine::kNone; ++depth) set = machine.step(set, '[');
    EXPECT_GT(depth, 1990);
    EXPECT_LT(depth, 2010);
    for (; depth > 0; --depth) set = machine.step(set, ']');
    EXPECT_EQ(set, GrammarMachine::kEnd);
}

TEST(Grammar, StatesOutliveTheMemoryOfOthers) {
    const auto grammar = parsed("root ::= (\"a\" | \"b\"){0,1000000} \"c\"");
    const auto tree = tree_of(texts_of("abc", 4));
    auto masks = *TokenMasks::create(grammar, tree);
    GrammarConstraint early(masks), late(masks);
    ASSERT_TRUE(early.accept(1));
    std::mt19937 random(1);
    for (int i = 0; i < 60000; ++i) ASSERT_TRUE(late.accept(int32_t(1 + random() % 2)));
    auto other = early.clone();
    EXPECT_TRUE(*other->allows(3));
    ASSERT_TRUE(other->accept(3));
    EXPECT_TRUE(other->must_end());
    EXPECT_FALSE(early.may_end());
    early.restart();
    EXPECT_TRUE(*early.allows(3));
}

TEST(Grammar, WaitsForItsTrigger) {
    const auto tree = tree_of({"say ", "<to", "ol>", "{", "}", "x", ">", "l", "o"});  // 9: end, 10: <tool>
    const auto grammar = parsed("root ::= \"<tool>{\" \"x\"* \"}\"");
    GrammarConstraint constraint(*TokenMasks::create(grammar, tree), {.words = {"<tool>"}, .tokens = {}});
    for (const int32_t id : {0, 3, 4, 1}) {
        EXPECT_TRUE(constraint.is_open());
        EXPECT_TRUE(constraint.may_end());
        ASSERT_TRUE(constraint.accept(id));
    }
    ASSERT_TRUE(constraint.accept(2));
    EXPECT_FALSE(constraint.is_open());
    EXPECT_FALSE(*constraint.allows(5));
    ASSERT_TRUE(constraint.accept(3));
    ASSERT_TRUE(constraint.accept(5));
    ASSERT_TRUE(constraint.accept(4));
    EXPECT_TRUE(constraint.must_end());
    constraint.restart();
    EXPECT_TRUE(constraint.is_open());

    // By a token that the grammar spells; and a token that goes on behind the word as the grammar does not.
    GrammarConstraint by_token(*TokenMasks::create(grammar, tree), {.words = {}, .tokens = {10}});
    ASSERT_TRUE(by_token.accept(5));
    ASSERT_TRUE(by_token.accept(10));
    EXPECT_FALSE(*by_token.allows(5));
    EXPECT_TRUE(*by_token.allows(3));
    const auto longer = tree_of({"<tool>x", "<tool>{", "a"});
    GrammarConstraint strict(*TokenMasks::create(grammar, longer), {.words = {"<tool>"}, .tokens = {}});
    EXPECT_FALSE(*strict.allows(0));
    EXPECT_EQ((*strict.allowed())[0], 0b11110u);
    EXPECT_EQ(strict.accept(0).error().message, "the grammar does not allow token 0 \"<tool>x\" here");
}

}  // namespace grammar_test
}  // namespace riftjit::engine
