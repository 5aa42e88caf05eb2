#include "models/tokenizer/tokenizer.h"

#include <algorithm>

#include "models/tokenizer/bpe.h"
#include "models/tokenizer/pretokenizer.h"
#include "models/tokenizer/tokenizer_encoder.h"
#include "models/tokenizer/tokenizer_merges.h"
#include "models/tokenizer/tokenizer_special_ids.h"
#include "models/tokenizer/tokenizer_special_texts.h"
#include "models/tokenizer/tokenizer_vocabulary.h"

namespace riftjit::models {

namespace {

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kPreKey = "tokenizer.ggml.pre";
constexpr std::string_view kAddBosKey = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEosKey = "tokenizer.ggml.add_eos_token";
constexpr std::string_view kBosKey = "tokenizer.ggml.bos_token_id";

Result<void> require_byte_level(const Gguf& file) {
    RIFTJIT_TRY(model, file.require_string(kModelKey));
    if (model == "gpt2") return {};
    return fail(ErrorKind::Unsupported,
                "{}: tokenizer family '{}' is not supported; supported is 'gpt2' (byte-level BPE)",
                file.place_of(*file.find(kModelKey)), printable(model));
}

// The rule of --pre, or of the file's key. A default would only make the output worse, without a word.
Result<const PretokenizerRule*> choose_rule(const Gguf& file, std::optional<std::string_view> pre) {
    RIFTJIT_TRY(in_file, file.string(kPreKey));
    if (!pre && !in_file)
        return fail(ErrorKind::Format,
                    "{}: missing key {}: it says how text is split into words; give it with --pre NAME",
                    printable(file.path().native()), kPreKey);
    const std::string_view name = pre ? *pre : *in_file;
    const PretokenizerRule* rule = find_pretokenizer_rule(name);
    if (rule != nullptr) return rule;
    const std::string place = pre ? "--pre" : file.place_of(*file.find(kPreKey));
    if (is_raw_utf8_pretokenizer(name))
        return fail(ErrorKind::Unsupported,
                    "{}: pre-tokenizer '{}' works on raw UTF-8; only byte-level ones are supported", place, name);
    return fail(ErrorKind::Unsupported, "{}: unknown pre-tokenizer type: '{}'", place, printable(name));
}

Result<bool> decide_bos(const Gguf& file, const PretokenizerRule& rule, std::optional<int32_t> bos,
                        std::vector<std::string>& warnings) {
    RIFTJIT_TRY(wanted, file.boolean(kAddBosKey));
    if (wanted.value_or(false) && !bos)
        return fail(ErrorKind::Format, "{} is true, but {} is not set", file.place_of(*file.find(kAddBosKey)), kBosKey);
    const bool by_rule = rule.begin_token == BeginToken::added;
    if (!wanted && by_rule && !bos)
        warnings.push_back(fmt::format("pre-tokenizer '{}' puts a begin token first, but {} is not set: none is added",
                                       rule.name, kBosKey));
    return wanted.value_or(by_rule) && bos.has_value();
}

Result<void> warn_of_eos(const Gguf& file, std::vector<std::string>& warnings) {
    RIFTJIT_TRY(wanted, file.boolean(kAddEosKey));
    if (wanted.value_or(false))
        warnings.push_back(fmt::format("{} is true, but no end token is put behind a prompt", kAddEosKey));
    return {};
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
    const PretokenizerRule* rule;
    Pretokenizer pretokenizer;
    BpeMerges merges;
    SpecialTexts special_texts;
    SpecialIds special_ids;
    EndTokens end_tokens;
    bool adds_bos;
    std::vector<std::string> warnings;

    EncodingTables tables() const { return {*vocabulary, merges, pretokenizer, *rule}; }

    // `matches` are those of `text`.
    Result<std::vector<int32_t>> encode(std::string_view text, std::span<const SpecialTexts::Match> matches,
                                        AddBos add_bos, ByteSet* left_out) const {
        Encoder encoder(tables(), text.size());
        const bool has_bos = !matches.empty() && matches.front().begin == 0 && matches.front().id == special_ids.bos;
        if (add_bos == AddBos::yes && adds_bos && !has_bos) encoder.add_token(*special_ids.bos);
        size_t position = 0;
        for (const SpecialTexts::Match& match : matches) {
            RIFTJIT_TRY_VOID(encoder.add_text(text.substr(position, match.begin - position)));
            encoder.add_token(match.id);
            position = match.end;
        }
        RIFTJIT_TRY_VOID(encoder.add_text(text.substr(position)));
        if (left_out != nullptr) *left_out |= encoder.left_out();
        return encoder.take();
    }
};

Result<Tokenizer> Tokenizer::from_gguf(const Gguf& file, std::optional<std::string_view> pre) {
    RIFTJIT_TRY_VOID(require_byte_level(file));
    RIFTJIT_TRY(rule, choose_rule(file, pre));
    RIFTJIT_TRY(vocabulary, Vocabulary::read(file));
    RIFTJIT_TRY(special_ids, read_special_ids(file, *vocabulary));
    std::vector<std::string> warnings;
    EndTokens end_tokens = find_end_tokens(special_ids, *vocabulary, warnings);
    vocabulary->build_pieces();
    warn_of_vocabulary(*vocabulary, warnings);
    RIFTJIT_TRY(merges, read_merges(file, *vocabulary, rule->name));
    RIFTJIT_TRY(adds_bos, decide_bos(file, *rule, special_ids.bos, warnings));
    RIFTJIT_TRY_VOID(warn_of_eos(file, warnings));
    SpecialTexts special_texts(*vocabulary);
    Tokenizer tokenizer;
    tokenizer.impl_ = std::make_shared<const Impl>(
        Impl{file, std::move(vocabulary), rule, Pretokenizer(rule->family), std::move(merges), std::move(special_texts),
             std::move(special_ids), std::move(end_tokens), adds_bos, std::move(warnings)});
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

std::string Tokenizer::decode(std::span<const int32_t> ids, ShowControl show) const {
    std::string bytes;
    for (const int32_t id : ids)
        if (show == ShowControl::yes || !is_control(id)) bytes += piece(id);
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
    const uint64_t each =
        impl_->vocabulary->longest_piece() * (impl_->rule->normalization == Normalization::nfc ? kMostShrinkage : 1);
    const uint64_t fitting = std::min(tokens, kMostTextBytes) * std::min(each, kMostTextBytes);
    return std::clamp(fitting, kAlwaysRead, kMostTextBytes);
}

uint32_t Tokenizer::size() const { return impl_->vocabulary->size(); }
std::string_view Tokenizer::pre() const { return impl_->rule->name; }
std::optional<int32_t> Tokenizer::bos() const { return impl_->special_ids.bos; }
std::optional<int32_t> Tokenizer::eos() const { return impl_->special_ids.eos; }
bool Tokenizer::adds_bos() const { return impl_->adds_bos; }
bool Tokenizer::is_end_of_generation(int32_t id) const { return std::ranges::binary_search(impl_->end_tokens.ids, id); }
std::span<const int32_t> Tokenizer::end_of_generation() const { return impl_->end_tokens.ids; }
std::optional<int32_t> Tokenizer::find(std::string_view text) const { return impl_->vocabulary->find(text); }
std::span<const std::string> Tokenizer::warnings() const { return impl_->warnings; }

}  // namespace riftjit::models
