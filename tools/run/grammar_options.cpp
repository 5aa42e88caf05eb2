#include "tools/run/grammar_options.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/json_text.h"
#include "tools/cli/input_file.h"
#include "tools/run/prompt.h"

namespace riftjit::tools {

namespace {

struct GrammarSource {
    const char* flag;
    const std::string* given;
    bool is_file, is_schema;
};

// What was probably meant, of a text that is no grammar.
std::string grammar_hint(const GrammarSource& source, std::string_view text) {
    std::error_code error;
    if (!source.is_file && text.size() < 4096 && std::filesystem::is_regular_file(text, error))
        return source.is_schema ? "; a file goes with -jf" : "; a file goes with --grammar-file";
    const size_t first = text.find_first_not_of(" \t\r\n");
    const bool looks_like_json = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
    if (!source.is_schema && looks_like_json)
        return source.is_file ? "; a JSON schema goes with -jf" : "; a JSON schema goes with -j";
    if (source.is_schema && text.contains("::=")) return "; a grammar goes with --grammar or --grammar-file";
    return "";
}

Result<std::shared_ptr<const engine::Grammar>> compile_grammar(const GrammarSource& source, const std::string& text) {
    if (!source.is_schema) return engine::Grammar::from_gbnf(text);
    const auto schema = parse_json<nlohmann::ordered_json>(text);
    if (schema.is_discarded())
        return fail(ErrorKind::Format, "this is no JSON, or nested deeper than {}", kMostJsonNesting);
    return engine::Grammar::from_json_schema(schema);
}

}  // namespace

Result<std::shared_ptr<const engine::Grammar>> read_grammar(const RunOptions& options, Reporter& reporter) {
    const GrammarSource sources[] = {{"--grammar", &options.grammar, false, false},
                                     {"--grammar-file", &options.grammar_file, true, false},
                                     {"-j", &options.json_schema, false, true},
                                     {"-jf", &options.json_schema_file, true, true}};
    const GrammarSource* chosen = nullptr;
    for (const GrammarSource& source : sources) {
        if (source.given->empty()) continue;
        if (chosen != nullptr)
            return fail(ErrorKind::Usage, "{} and {} are different grammars; give one", chosen->flag, source.flag);
        chosen = &source;
    }
    if (chosen == nullptr) return nullptr;
    std::string text = *chosen->given, name = chosen->flag;
    if (chosen->is_file) {
        name = text;
        RIFTJIT_TRY(bytes, read_text_bytes(*chosen->given));
        RIFTJIT_TRY(read, as_text(std::move(bytes), name));
        text = std::move(read);
    }
    auto grammar = compile_grammar(*chosen, text);
    if (!grammar)
        return fail(grammar.error().kind, "{}:{}{}{}", name, chosen->is_file && !chosen->is_schema ? "" : " ",
                    grammar.error().message, grammar_hint(*chosen, text));
    for (const std::string& warning : (*grammar)->warnings()) reporter.warn(fmt::format("{}: {}", name, warning));
    return *std::move(grammar);
}

}  // namespace riftjit::tools
