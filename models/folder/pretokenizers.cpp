// Pre-tokenizers by what tokenizer.json says of them. Names are those of GGUF files; of names that cut text alike one
// is taken, for the rest (what stands around a text) has keys of its own.
#include <array>

#include "models/folder/tokenizer.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models::folder {

namespace {

enum class Form : uint8_t { none, nfc };
enum class Words : uint8_t { merged, taken };  // taken: ignore_merges

struct KnownPretokenizer {
    std::string_view name;
    std::string_view steps;  // as told by step_text(), each ended by a line break
    Form form = Form::none;
    Words words = Words::merged;
};

#define RIFTJIT_SPACES R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define RIFTJIT_CONTRACTION R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define RIFTJIT_CASED(ending, number)                                                                    \
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" ending             \
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" ending "|" number \
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)" RIFTJIT_SPACES

constexpr std::string_view kQwen2 =
    "split " RIFTJIT_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)" RIFTJIT_SPACES
    "\nbytes\n";
constexpr std::string_view kQwen35 =
    "split " RIFTJIT_CONTRACTION
    R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" RIFTJIT_SPACES "\nbytes\n";
constexpr std::string_view kLlama3 =
    "split " RIFTJIT_CONTRACTION R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)" RIFTJIT_SPACES
    "\nbytes\n";
constexpr std::string_view kTekken = "split " RIFTJIT_CASED("", R"(\p{N})") "\nbytes\n";
constexpr std::string_view kGpt4o = "split " RIFTJIT_CASED(RIFTJIT_CONTRACTION "?", R"(\p{N}{1,3})") "\nbytes\n";
constexpr std::string_view kDeepseekV3 =
    "split \\p{N}{1,3}\nsplit [一-龥぀-ゟ゠-ヿ]+\n"
    R"(split [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*)" RIFTJIT_SPACES "\nbytes\n";
constexpr std::string_view kBloom = "split  ?[^(\\s|[.,!?…。，、।۔،])]+\nbytes\n";

#undef RIFTJIT_CASED
#undef RIFTJIT_CONTRACTION
#undef RIFTJIT_SPACES

constexpr auto kKnown = std::to_array<KnownPretokenizer>({
    {"qwen2", kQwen2, Form::nfc},
    {"deepseek-r1-qwen", kQwen2},
    {"qwen35", kQwen35, Form::nfc},
    {"llama-bpe", kLlama3, Form::none, Words::taken},
    {"dbrx", kLlama3},
    {"tekken", kTekken, Form::none, Words::taken},
    {"gpt-4o", kGpt4o},
    {"granite-embed-multi-97m", kGpt4o, Form::none, Words::taken},
    {"deepseek-v3", kDeepseekV3},
    {"bloom", kBloom},
    {"gpt-2", "gpt2 words\nbytes\n"},
    {"olmo", "gpt2 words\nbytes\n", Form::nfc},
    {"smollm", "digits one by one\ngpt2 words\nbytes\n"},
    {"command-r", "digits one by one\ngpt2 words\nbytes\n", Form::nfc},
    {"falcon", "punctuation Contiguous\ngpt2 words\nbytes\ndigits\nsplit [0-9][0-9][0-9]\n"},
});

bool is_flag(const Json& object, std::string_view key, bool usual) {
    const Json* const value = find(object, key);
    return value != nullptr && value->is_boolean() ? value->get<bool>() : usual;
}

std::string text_of(const Json& object, std::string_view key) {
    const Json* const value = find(object, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

// One step as a line; what is unknown as itself.
std::string step_text(const Json& step) {
    const std::string type = text_of(step, "type");
    if (type == "ByteLevel" && !is_flag(step, "add_prefix_space", true))
        return is_flag(step, "use_regex", true) ? "gpt2 words\nbytes\n" : "bytes\n";
    if (type == "Digits") return is_flag(step, "individual_digits", false) ? "digits one by one\n" : "digits\n";
    if (type == "Punctuation") {
        const std::string behavior = text_of(step, "behavior");
        return fmt::format("punctuation {}\n", behavior.empty() ? "Isolated" : behavior);
    }
    if (type == "Split") {
        const Json* const pattern = find(step, "pattern");
        const std::string expression = pattern != nullptr ? text_of(*pattern, "Regex") : "";
        const std::string behavior = text_of(step, "behavior");
        const bool is_isolated = behavior == "Isolated" && !is_flag(step, "invert", false);
        const bool keeps_matches = behavior == "Removed" && is_flag(step, "invert", false);
        if (!expression.empty() && (is_isolated || keeps_matches)) return fmt::format("split {}\n", expression);
    }
    return fmt::format("{}\n", step.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// A sequence's steps, or the one.
std::vector<const Json*> steps_of(const Json* step, std::string_view list) {
    std::vector<const Json*> steps;
    if (step == nullptr) return steps;
    const Json* const inner = text_of(*step, "type") == "Sequence" ? find(*step, list) : nullptr;
    if (inner == nullptr || !inner->is_array()) return {step};
    for (const Json& each : *inner) steps.push_back(&each);
    return steps;
}

}  // namespace

Result<std::string> pretokenizer_name(const std::string& file, const Json& tokenizer) {
    Form form = Form::none;
    for (const Json* step : steps_of(find(tokenizer, "normalizer"), "normalizers")) {
        if (text_of(*step, "type") != "NFC")
            return fail(ErrorKind::Unsupported, "{}: normalizer {} is unknown to this build beside a byte-level model",
                        file, shown(text_of(*step, "type")));
        form = Form::nfc;
    }
    std::string steps;
    for (const Json* step : steps_of(find(tokenizer, "pre_tokenizer"), "pretokenizers")) steps += step_text(*step);
    const Json* const model = find(tokenizer, "model");
    const Words words = model != nullptr && is_flag(*model, "ignore_merges", false) ? Words::taken : Words::merged;
    for (const KnownPretokenizer& known : kKnown)
        if (known.steps == steps && known.form == form && known.words == words) return std::string(known.name);
    constexpr size_t kMostShown = 400;  // bytes
    std::string line = steps;
    for (char& c : line)
        if (c == '\n') c = ';';
    line = escaped(line);
    if (line.size() > kMostShown) line = line.substr(0, kMostShown) + "...";
    return fail(ErrorKind::Unsupported, "{}: unknown pre-tokenizer: {}{}{}", file, line.empty() ? "none" : line,
                form == Form::nfc ? " normalized to NFC" : "", words == Words::taken ? ", ignore_merges" : "");
}

}  // namespace riftjit::models::folder
