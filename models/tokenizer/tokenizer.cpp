#include "models/tokenizer/tokenizer.h"

#include <algorithm>

#include "models/tokenizer/pretokenizer_rules.h"
#include "models/tokenizer/tokenizer_kinds.h"
#include "models/tokenizer/tokenizer_special_ids.h"
#include "models/tokenizer/tokenizer_special_texts.h"
#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
constexpr std::string_view kAddBosKey = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEosKey = "tokenizer.ggml.add_eos_token";
constexpr std::string_view kAddSeparatorKey = "tokenizer.ggml.add_sep_token";
constexpr std::string_view kBosKey = "tokenizer.ggml.bos_token_id";
constexpr std::string_view kEosKey = "tokenizer.ggml.eos_token_id";
constexpr std::string_view kSeparatorKey = "tokenizer.ggml.seperator_token_id";

std::string known_kinds() {
    std::string list;
    for (const VocabularyKind& kind : vocabulary_kinds())
        list += fmt::format("{}'{}' ({})", list.empty() ? "" : ", ", kind.model, kind.text);
    return list;
}

Result<const VocabularyKind*> choose_kind(const Gguf& file) {
    RIFTJIT_TRY(model, file.require_string(kModelKey));
    if (const VocabularyKind* kind = find_vocabulary_kind(model)) return kind;
    const std::string place = file.place_of(*file.find(kModelKey));
    if (model == "none" || model == "no_vocab")
        return fail(ErrorKind::Unsupported, "{}: tokenizer '{}': this file has no vocabulary", place, model);
    return fail(ErrorKind::Unsupported, "{}: unknown tokenizer: '{}'; known are {}", place, printable(model),
                known_kinds());
}

// The rule of --pre, or of the file's key. A default would only make the output worse, without a word.
Result<const PretokenizerRule*> choose_rule(const Gguf& file, const VocabularyKind& kind,
                                            std::optional<std::string_view> pre) {
    if (!kind.has_pretokenizer) {
        if (!pre) return nullptr;
        return fail(ErrorKind::Usage, "--pre: a vocabulary of kind '{}' ({}) has no pre-tokenizer", kind.model,
                    kind.text);
    }
    RIFTJIT_TRY(in_file, file.string(kPreKey));
    if (!kind.fixed_pretokenizer.empty()) in_file = kind.fixed_pretokenizer;
    if (!pre && !in_file)
        return fail(ErrorKind::Format,
                    "{}: missing key {}: it says how text is split into words; give it with --pre NAME",
                    printable(file.path().native()), kPreKey);
    const std::string_view name = pre ? *pre : *in_file;
    const PretokenizerRule* rule = find_pretokenizer_rule(name);
    if (rule != nullptr) return rule;
    const std::string place = pre ? "--pre" : file.place_of(*file.find(kPreKey));
    return fail(ErrorKind::Unsupported,
                "{}: unknown pre-tokenizer type: '{}'; riftjit inspect --supported lists the known ones", place,
                printable(name));
}

// Whether an id is put around texts: as the key says, else as is usual.
Result<bool> decide(const Gguf& file, std::string_view key, bool is_usual, std::string_view usual_for,
                    std::string_view id_key, std::optional<int32_t> id, std::vector<std::string>& warnings) {
    RIFTJIT_TRY(wanted, file.boolean(key));
    if (!wanted.value_or(is_usual) || id) return wanted.value_or(is_usual);
    if (wanted && key == kAddBosKey)
        return fail(ErrorKind::Format, "{} is true, but {} is not set", file.place_of(*file.find(key)), id_key);
    warnings.push_back(wanted
                           ? fmt::format("{} is true, but {} is not set: none is added", key, id_key)
                           : fmt::format("{} wants a token of {}, which is not set: none is added", usual_for, id_key));
    return false;
}

// The tokens around a text, and between two.
struct Surroundings {
    std::optional<int32_t> begin, end;
    std::vector<int32_t> between;
};

Result<Surroundings> decide_surroundings(const Gguf& file, const VocabularyKind& kind, const PretokenizerRule* rule,
                                         const SpecialIds& special, std::vector<std::string>& warnings) {
    const std::string usual_for =
        rule != nullptr ? fmt::format("pre-tokenizer '{}'", rule->name) : fmt::format("tokenizer '{}'", kind.model);
    const BeginToken begin = rule != nullptr ? rule->begin_token : kind.begin_token;
    const EndToken end = rule != nullptr ? rule->end_token : kind.end_token;
    const auto first = special.bos ? special.bos : kind.end_token == EndToken::separator ? special.cls : std::nullopt;
    Surroundings result;
    if (begin == BeginToken::always) {
        RIFTJIT_TRY(wanted, file.boolean(kAddBosKey));
        if (!wanted.value_or(true))
            warnings.push_back(
                fmt::format("{} is false, but {} always wants its begin token: it is added", kAddBosKey, usual_for));
        result.begin = first;
    } else {
        RIFTJIT_TRY(adds_begin,
                    decide(file, kAddBosKey, begin == BeginToken::added, usual_for, kBosKey, first, warnings));
        if (adds_begin) result.begin = first;
    }
    RIFTJIT_TRY(adds_eos, decide(file, kAddEosKey, end == EndToken::eos, usual_for, kEosKey, special.eos, warnings));
    if (adds_eos) {
        result.end = special.eos;
        result.between.push_back(*special.eos);
    }
    RIFTJIT_TRY(adds_separator, decide(file, kAddSeparatorKey, end == EndToken::separator, usual_for, kSeparatorKey,
                                       special.separator, warnings));
    if (adds_separator) {
        result.end = special.separator;
        result.between.push_back(*special.separator);
    }
    if (adds_eos && end == EndToken::absent)
        warnings.push_back(
            fmt::format("{} is true: an end token is put behind whole texts, of which vectors are made, but not behind "
                        "a prompt that is to be continued",
                        kAddEosKey));
    return result;
}

bool has_name(const Gguf& file, std::string_view key, std::initializer_list<std::string_view> parts) {
    const auto value = file.string(key);
    if (!value || !*value) return false;
    std::string name(**value);
    for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return std::ranges::any_of(parts, [&](std::string_view part) { return name.contains(part); });
}

// Files have no flag for it; these are the published tokenizers known to strip.
SpecialTexts::Strips find_strips(const Gguf& file, const VocabularyKind& kind, const PretokenizerRule* rule,
                                 const Vocabulary& vocabulary) {
    SpecialTexts::Strips strips;
    const bool is_phi3 = kind.model == "llama" && (has_name(file, "general.name", {"phi-3", "phi3"}) ||
                                                   has_name(file, "general.architecture", {"phi3"}));
    for (int32_t id = 0; is_phi3 && id < static_cast<int32_t>(vocabulary.size()); ++id) {
        const std::string_view text = vocabulary.text(id);
        if (!vocabulary.is_plain(id) && text != "<unk>" && text != "<s>" && text != "<|endoftext|>")
            strips.after.push_back(id);
    }
    const std::string_view mask = kind.model == "t5" ? "<mask>" : rule != nullptr ? rule->stripping_mask : "";
    if (const auto id = vocabulary.find(mask)) strips.before.push_back(*id);
    return strips;
}

void warn_of_vocabulary(const Vocabulary& vocabulary, std::vector<std::string>& warnings) {
    if (!vocabulary.types_are_known())
        warnings.push_back("missing key tokenizer.ggml.token_type: only end tokens count as control tokens");
    for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id) {
        const TokenType type = vocabulary.type(id);
        const bool is_special = type == TokenType::control || type == TokenType::user_defined;
        if (is_special && vocabulary.text(id).size() > SpecialTexts::kMaxBytes)
            warnings.push_back(
                fmt::format("token {} '{}' has {} bytes; special tokens longer than {} are not recognised "
                            "in text",
                            id, printable(vocabulary.text(id)), vocabulary.text(id).size(), SpecialTexts::kMaxBytes));
    }
}

}  // namespace

struct Tokenizer::Impl {
    Gguf file;  // keeps the mapping that the texts lie in
    std::unique_ptr<const Vocabulary> vocabulary;
    const VocabularyKind* kind;
    const PretokenizerRule* rule;  // null: this kind has none
    std::unique_ptr<const TextEncoder> encoder;
    SpecialTexts special_texts;
    SpecialIds special_ids;
    EndTokens end_tokens;
    Surroundings surroundings;
    bool begins_with_space;
    std::vector<std::string> warnings;

    // `matches` are those of `text`.
    Result<std::vector<int32_t>> encode(std::string_view text, std::span<const SpecialTexts::Match> matches,
                                        AddBos add_bos, ByteSet* left_out) const {
        EncodedText result;
        const auto& [begin, end, between] = surroundings;
        const bool has_begin = !matches.empty() && matches.front().begin == 0 && matches.front().id == begin;
        if (add_bos != AddBos::no && begin && !has_begin) result.ids.push_back(*begin);
        std::vector<TextPart> parts;
        parts.reserve(matches.size() * 2 + 1);
        size_t position = 0;
        const auto add_text = [&](size_t text_end) {
            if (text_end > position) parts.push_back({text.substr(position, text_end - position)});
        };
        for (const SpecialTexts::Match& match : matches) {
            add_text(match.begin);
            parts.push_back({{}, match.id});
            position = match.end;
        }
        add_text(text.size());
        RIFTJIT_TRY_VOID(encoder->encode(parts, result));
        if (add_bos == AddBos::and_end && end) result.ids.push_back(*end);
        if (left_out != nullptr) *left_out |= result.left_out;
        return std::move(result.ids);
    }
};

Result<Tokenizer> Tokenizer::from_gguf(const Gguf& file, std::optional<std::string_view> pre) {
    RIFTJIT_TRY(kind, choose_kind(file));
    RIFTJIT_TRY(rule, choose_rule(file, *kind, pre));
    RIFTJIT_TRY(vocabulary, Vocabulary::read(file));
    RIFTJIT_TRY(special_ids, read_special_ids(file, *vocabulary));
    std::vector<std::string> warnings;
    EndTokens end_tokens = find_end_tokens(special_ids, *vocabulary, warnings);
    RIFTJIT_TRY_VOID(vocabulary->build_pieces(rule != nullptr ? rule->pieces : kind->pieces, file));
    warn_of_vocabulary(*vocabulary, warnings);
    RIFTJIT_TRY(encoder, kind->make({file, *vocabulary, special_ids, rule}));
    RIFTJIT_TRY(surroundings, decide_surroundings(file, *kind, rule, special_ids, warnings));
    RIFTJIT_TRY(adds_space, file.boolean("tokenizer.ggml.add_space_prefix"));
    SpecialTexts special_texts(*vocabulary, find_strips(file, *kind, rule, *vocabulary));
    Tokenizer tokenizer;
    tokenizer.impl_ = std::make_shared<const Impl>(
        Impl{file, std::move(vocabulary), kind, rule, std::move(encoder), std::move(special_texts),
             std::move(special_ids), std::move(end_tokens), surroundings,
             kind->begins_with_space && adds_space.value_or(true), std::move(warnings)});
    return tokenizer;
}

std::string describe_left_out(const ByteSet& bytes) {
    std::string list;
    for (size_t byte = 0; byte < bytes.size(); ++byte)
        if (bytes[byte]) list += fmt::format("{}0x{:02x}", list.empty() ? "" : ", ", byte);
    if (list.empty()) return {};
    return bytes.count() == 1 ? fmt::format("byte {} has no token in this vocabulary and is left out", list)
                              : fmt::format("bytes {} have no token in this vocabulary and are left out", list);
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, ParseSpecial parse_special, AddBos add_bos,
                                               ByteSet* left_out) const {
    std::vector<SpecialTexts::Match> matches;
    impl_->special_texts.find(text, parse_special, matches);
    return impl_->encode(text, matches, add_bos, left_out);
}

Result<std::vector<int32_t>> Tokenizer::encode(std::span<const Segment> segments, AddBos add_bos,
                                               ByteSet* left_out) const {
    std::string text;
    std::vector<SpecialTexts::Match> matches;
    for (size_t i = 0; i < segments.size();) {
        const ParseSpecial parse_special = segments[i].parse_special;  // neighbours of one kind are one segment
        const size_t begin = text.size(), first_match = matches.size();
        for (; i < segments.size() && segments[i].parse_special == parse_special; ++i) text += segments[i].text;
        impl_->special_texts.find(std::string_view(text).substr(begin), parse_special, matches);
        for (SpecialTexts::Match& match : std::span(matches).subspan(first_match)) {
            match.begin += begin;
            match.end += begin;
        }
    }
    return impl_->encode(text, matches, add_bos, left_out);
}

Result<std::vector<int32_t>> Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                                    ByteSet* left_out) const {
    RIFTJIT_TRY(ids, encode(first, ParseSpecial::no, AddBos::yes, left_out));
    RIFTJIT_TRY(others, encode(second, ParseSpecial::no, AddBos::no, left_out));
    const auto& [begin, end, between] = impl_->surroundings;
    ids.insert(ids.end(), between.begin(), between.end());
    ids.insert(ids.end(), others.begin(), others.end());
    if (end) ids.push_back(*end);
    return std::move(ids);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, ShowControl show) const {
    std::string bytes;
    for (const int32_t id : ids)
        if (show == ShowControl::yes || !is_control(id)) bytes += piece(id);
    if (impl_->begins_with_space && bytes.starts_with(' ')) bytes.erase(0, 1);
    return bytes;
}

std::string_view Tokenizer::piece(int32_t id) const {
    check(id >= 0 && static_cast<uint32_t>(id) < size(), "the id of a token");
    return impl_->vocabulary->piece(id);
}

bool Tokenizer::is_control(int32_t id) const {
    check(id >= 0 && static_cast<uint32_t>(id) < size(), "the id of a token");
    const TokenType type = impl_->vocabulary->type(id);
    const bool is_hidden = type == TokenType::control || type == TokenType::unknown;
    return is_hidden && !std::ranges::binary_search(impl_->end_tokens.shown, id);
}

uint64_t Tokenizer::most_text_bytes(uint64_t tokens) const {
    constexpr uint64_t kAlwaysRead = uint64_t(1) << 20;
    constexpr uint64_t kMostShrinkage = 3;  // of UTF-8 in form C: three jamo of three bytes become a syllable of three
    if (impl_->rule == nullptr) return kMostTextBytes;  // kinds that drop some of what they read
    const uint64_t each =
        impl_->vocabulary->longest_piece() * (impl_->rule->normalization == Normalization::nfc ? kMostShrinkage : 1);
    const uint64_t fitting = std::min(tokens, kMostTextBytes) * std::min(each, kMostTextBytes);
    return std::clamp(fitting, kAlwaysRead, kMostTextBytes);
}

uint32_t Tokenizer::size() const { return impl_->vocabulary->size(); }
std::string_view Tokenizer::kind() const { return impl_->kind->name; }
std::string_view Tokenizer::algorithm() const { return impl_->kind->text; }
std::string_view Tokenizer::pre() const { return impl_->rule == nullptr ? std::string_view() : impl_->rule->name; }
std::optional<int32_t> Tokenizer::bos() const { return impl_->special_ids.bos; }
Tokenizer::FimTokens Tokenizer::fim() const {
    const SpecialIds& ids = impl_->special_ids;
    return {ids.fim_prefix, ids.fim_suffix, ids.fim_middle, ids.fim_repository, ids.fim_separator};
}
std::optional<int32_t> Tokenizer::eos() const { return impl_->special_ids.eos; }
bool Tokenizer::adds_bos() const { return impl_->surroundings.begin.has_value(); }
bool Tokenizer::adds_end() const { return impl_->surroundings.end.has_value(); }
std::optional<int32_t> Tokenizer::end() const { return impl_->surroundings.end; }
bool Tokenizer::is_end_of_generation(int32_t id) const { return std::ranges::binary_search(impl_->end_tokens.ids, id); }
std::span<const int32_t> Tokenizer::end_of_generation() const { return impl_->end_tokens.ids; }
std::optional<int32_t> Tokenizer::find(std::string_view text) const { return impl_->vocabulary->find(text); }
std::span<const std::string> Tokenizer::warnings() const { return impl_->warnings; }

}  // namespace riftjit::models
