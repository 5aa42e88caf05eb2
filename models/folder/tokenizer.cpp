#include "models/folder/tokenizer.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "host/utf8.h"
#include "models/folder/encoders.h"
#include "models/folder/sentencepiece.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models::folder {

namespace {

constexpr uint64_t kMostTokenizerBytes = 256ull << 20;  // published ones take up to 33 MB
constexpr uint64_t kMostConfigBytes = 64ull << 20;
constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// ---- the vocabulary ----

struct AddedToken {
    uint64_t id;
    std::string content;
    bool is_special;
};

// Added tokens that published tokenizers do not mark as special and that ought to be.
bool looks_special(std::string_view token) {
    if (token == "<pad>" || token == "<mask>" || token == "<2mass>" || token == "[@BOS@]") return true;
    const auto is_between = [&](std::string_view begin, std::string_view end) {
        return token.starts_with(begin) && token.ends_with(end);
    };
    return is_between("<|", "|>") || is_between("<｜", "｜>") || is_between("<unused", ">");
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

std::string string_of(const Json& object, std::string_view key) {
    const Json* const value = find(object, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

bool flag_of(const Json& object, std::string_view key) {
    const Json* const value = find(object, key);
    return value != nullptr && value->is_boolean() && value->get<bool>();
}

class TokenizerTeller {
public:
    TokenizerTeller(const std::filesystem::path& folder, const Config& config, const Family& family, GgufWriter& writer,
                    GgufPresentation& presentation)
        : folder_(folder), config_(config), family_(family), writer_(writer), presentation_(presentation) {}

    Result<void> run(uint64_t rows) {
        RIFTJIT_TRY_VOID(read_files());
        RIFTJIT_TRY(size, config_.integer({"vocab_size"}, 1, rows));
        size_ = size.value_or(rows);
        RIFTJIT_TRY_VOID(read_added());
        RIFTJIT_TRY_VOID(family_.architecture == "bert" ? tell_wordpiece() : tell_bpe());
        RIFTJIT_TRY_VOID(tell_special());
        return tell_chat_templates();
    }

private:
    std::filesystem::path path(std::string_view name) const { return folder_ / name; }
    bool has(std::string_view name) const {
        std::error_code ignored;
        return std::filesystem::exists(path(name), ignored);
    }
    std::string place(std::string_view name) const { return printable_path(path(name)); }
    void note(std::string_view key, std::string_view file) {
        presentation_.key_places[std::string(key)] = fmt::format("{} (as {})", place(file), key);
    }

    Result<void> read_files() {
        if (has("tokenizer.json")) {
            RIFTJIT_TRY(json, read_object(path("tokenizer.json"), kMostTokenizerBytes));
            tokenizer_ = std::move(json);
        } else if (!has("tokenizer.model")) {
            return fail(ErrorKind::Io, "{}: holds no tokenizer.json and no tokenizer.model", printable_path(folder_));
        }
        if (has("tokenizer_config.json")) {
            RIFTJIT_TRY(json, read_object(path("tokenizer_config.json"), kMostConfigBytes));
            settings_ = std::move(json);
            has_settings_ = true;
        }
        return {};
    }

    Result<void> read_added() {
        if (const Json* list = find(tokenizer_, "added_tokens")) {
            if (!list->is_array())
                return fail(ErrorKind::Format, "{}: key 'added_tokens' is {}; expected is an array",
                            place("tokenizer.json"), shown(*list));
            for (const Json& each : *list) RIFTJIT_TRY_VOID(add(each, find(each, "id"), "tokenizer.json"));
        }
        const Json* const decoder = find(settings_, "added_tokens_decoder");
        if (decoder == nullptr || !decoder->is_object()) return {};
        for (const auto& [id, each] : decoder->items()) {
            const bool is_number =
                !id.empty() && id.size() < 10 && std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; });
            const Json number = is_number ? Json(std::stoull(id)) : Json(id);
            RIFTJIT_TRY_VOID(add(each, &number, "tokenizer_config.json"));
        }
        return {};
    }

    Result<void> add(const Json& token, const Json* id, std::string_view file) {
        const Json* const content = find(token, "content");
        if (content == nullptr || !content->is_string() || content->get<std::string>().empty() || id == nullptr ||
            !id->is_number_unsigned() || id->get<uint64_t>() >= size_)
            return fail(ErrorKind::Format, "{}: an added token is {} with id {}; expected are texts with ids below {}",
                        place(file), content == nullptr ? "nothing" : shown(*content),
                        id == nullptr ? "none" : shown(*id), size_);
        AddedToken added{id->get<uint64_t>(), content->get<std::string>(), flag_of(token, "special")};
        const auto [known, is_new] = ids_of_added_.emplace(added.content, added.id);
        if (is_new || known->second != added.id) added_.push_back(std::move(added));
        return {};
    }

    const Json* model() const { return find(tokenizer_, "model"); }

    // Whether what has no token is spelled in tokens of bytes: SentencePiece's way.
    Result<bool> is_spelled_in_bytes() const {
        if (tokenizer_.is_null()) return true;  // tokenizer.model alone
        if (model() == nullptr || !model()->is_object())
            return fail(ErrorKind::Format, "{}: key 'model' is {}; expected is an object", place("tokenizer.json"),
                        model() == nullptr ? "absent" : shown(*model()));
        const std::string type = string_of(*model(), "type");
        // Older files do not tell the type of what has merges.
        const bool is_bpe = type == "BPE" || (type.empty() && model()->contains("merges"));
        if (!is_bpe)
            return fail(ErrorKind::Unsupported, "{}: a model of type '{}' is unsupported; supported is BPE",
                        place("tokenizer.json"), printable(type));
        for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"})
            if (const std::string text = string_of(*model(), affix); !text.empty())
                return fail(ErrorKind::Unsupported, "{}: {} is '{}'; supported is none", place("tokenizer.json"), affix,
                            printable(text));
        return flag_of(*model(), "byte_fallback");
    }

    // ids -> texts; empty texts have no token.
    Result<std::vector<std::string>> read_vocabulary() const {
        const Json* const vocabulary = find(*model(), "vocab");
        if (vocabulary == nullptr || !vocabulary->is_object() || vocabulary->empty())
            return fail(ErrorKind::Format, "{}: key 'vocab' is {}; expected is an object of texts and ids",
                        place("tokenizer.json"), vocabulary == nullptr ? "absent" : shown(*vocabulary));
        std::vector<std::string> texts(size_);
        for (const auto& [text, id] : vocabulary->items()) {
            if (text.empty() || !id.is_number_unsigned() || id.get<uint64_t>() >= size_)
                return fail(ErrorKind::Format, "{}: token '{}' has id {}; allowed are ids below {}",
                            place("tokenizer.json"), printable(text), shown(id), size_);
            std::string& place_of_id = texts[id.get<uint64_t>()];
            if (!place_of_id.empty())
                return fail(ErrorKind::Format, "{}: tokens '{}' and '{}' both have id {}", place("tokenizer.json"),
                            printable(place_of_id), printable(text), id.get<uint64_t>());
            place_of_id = text;
        }
        return texts;
    }

    // The two parts of each merge.
    Result<std::vector<std::pair<std::string, std::string>>> read_merges() const {
        std::vector<std::pair<std::string, std::string>> merges;
        const Json* const list = find(*model(), "merges");
        if (list == nullptr || !list->is_array())
            return fail(ErrorKind::Format, "{}: key 'merges' is {}; expected is an array", place("tokenizer.json"),
                        list == nullptr ? "absent" : shown(*list));
        merges.reserve(list->size());
        for (const Json& merge : *list) {
            if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
                merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
            } else if (merge.is_string()) {
                const auto& text = merge.get_ref<const std::string&>();
                const size_t space = text.find(' ', 1);
                if (text.empty() || space == std::string::npos) return bad_merge(merges.size(), merge);
                merges.emplace_back(text.substr(0, space), text.substr(space + 1));
            } else {
                return bad_merge(merges.size(), merge);
            }
            if (merges.back().first.empty() || merges.back().second.empty()) return bad_merge(merges.size() - 1, merge);
        }
        return merges;
    }
    std::unexpected<Error> bad_merge(size_t number, const Json& merge) const {
        return fail(ErrorKind::Format, "{}: merge {} is {}; expected are two texts", place("tokenizer.json"), number,
                    shown(merge));
    }

    void set_types(std::vector<std::string>& texts, std::vector<int32_t>& types) {
        for (const AddedToken& added : added_) {
            const bool is_control = added.is_special || looks_special(added.content);
            types[added.id] = is_control ? kControl : kUserDefined;
            texts[added.id] = is_control ? added.content : replaced(added.content, kSpaceMark, " ");
        }
        for (size_t id = 0; id < texts.size(); ++id)
            if (texts[id].empty()) {
                texts[id] = fmt::format("[PAD{}]", id);
                types[id] = kUnused;
            }
    }

    void set_vocabulary(std::string_view kind, std::string_view pre, const std::vector<std::string>& texts,
                        const std::vector<int32_t>& types) {
        const std::string_view file = tokenizer_.is_null() ? "tokenizer.model" : "tokenizer.json";
        for (const std::string_view key : {"model", "pre", "tokens", "token_type", "scores", "merges"})
            note(fmt::format("tokenizer.ggml.{}", key), file);
        writer_.set_string("tokenizer.ggml.model", kind);
        writer_.set_string("tokenizer.ggml.pre", pre);
        writer_.set_strings("tokenizer.ggml.tokens", texts);
        writer_.set_i32s("tokenizer.ggml.token_type", types);
    }

    Result<void> tell_bpe() {
        RIFTJIT_TRY(is_spelled, is_spelled_in_bytes());
        return is_spelled ? tell_sentencepiece() : tell_byte_level();
    }

    // ---- WordPiece, as BERT has it ----

    Result<void> tell_wordpiece() {
        const Json* const normalizer = find(tokenizer_, "normalizer");
        const Json* const cuts = find(tokenizer_, "pre_tokenizer");
        const bool is_known = model() != nullptr && string_of(*model(), "type") == "WordPiece" &&
                              string_of(*model(), "continuing_subword_prefix") == "##" && normalizer != nullptr &&
                              string_of(*normalizer, "type") == "BertNormalizer" && cuts != nullptr &&
                              string_of(*cuts, "type") == "BertPreTokenizer";
        if (!is_known)
            return fail(ErrorKind::Unsupported,
                        "{}: supported is WordPiece with the prefix '##', BertNormalizer and BertPreTokenizer",
                        place("tokenizer.json"));
        RIFTJIT_TRY(texts, read_vocabulary());
        std::vector<int32_t> types(texts.size(), kNormal);
        set_types(texts, types);
        for (size_t id = 0; id < texts.size(); ++id) texts[id] = wordpiece_text(texts[id], types[id] == kControl);
        set_vocabulary("bert", "jina-v2-en", texts, types);
        RIFTJIT_TRY(part_types, config_.integer({"type_vocab_size"}, 1));
        writer_.set_u32("tokenizer.ggml.token_type_count", static_cast<uint32_t>(part_types.value_or(1)));
        for (const char* const what : {"lowercase", "strip_accents"})
            if (const Json* flag = find(*normalizer, what); flag != nullptr && flag->is_boolean())
                writer_.set_boolean(fmt::format("tokenizer.ggml.normalizer.{}", what), flag->get<bool>());
        return {};
    }

    Result<void> tell_byte_level() {
        RIFTJIT_TRY(pre, pretokenizer_name(place("tokenizer.json"), tokenizer_));
        RIFTJIT_TRY(texts, read_vocabulary());
        RIFTJIT_TRY(merges, read_merges());
        std::vector<int32_t> types(texts.size(), kNormal);
        set_types(texts, types);
        std::vector<std::string> joined;
        joined.reserve(merges.size());
        for (const auto& [left, right] : merges)
            joined.push_back(replaced(left, " ", "Ġ") + " " + replaced(right, " ", "Ġ"));
        set_vocabulary("gpt2", pre, texts, types);
        writer_.set_strings("tokenizer.ggml.merges", joined);
        return {};
    }

    // ---- SentencePiece's ----

    Result<void> tell_sentencepiece() {
        Pieces pieces;
        if (has("tokenizer.model")) {
            RIFTJIT_TRY(bytes, read_text(path("tokenizer.model"), kMostTokenizerBytes));
            RIFTJIT_TRY(read, read_sentencepiece(place("tokenizer.model"), bytes, size_));
            pieces = std::move(read);
        } else {
            RIFTJIT_TRY(texts, read_vocabulary());
            RIFTJIT_TRY(merges, read_merges());
            std::set<std::string> added;
            for (const AddedToken& token : added_) added.insert(token.content);
            RIFTJIT_TRY(derived, pieces_of_merges(place("tokenizer.json"), texts, merges, added));
            pieces = std::move(derived);
        }
        for (const AddedToken& added : added_) pieces.scores[added.id] = -1000.0f;
        set_types(pieces.texts, pieces.types);
        for (size_t id = 0; id < pieces.texts.size(); ++id)
            if (pieces.types[id] == kUnused && pieces.texts[id].starts_with("[PAD")) pieces.scores[id] = -10000.0f;
        RIFTJIT_TRY(adds_space, adds_space_in_front(pieces.adds_dummy_prefix));
        set_vocabulary("llama", "default", pieces.texts, pieces.types);
        writer_.set_f32s("tokenizer.ggml.scores", pieces.scores);
        const Json* const stated = find(settings_, "add_prefix_space");
        if (!adds_space || (stated != nullptr && stated->is_boolean()))
            writer_.set_boolean("tokenizer.ggml.add_space_prefix", adds_space);
        note("tokenizer.ggml.add_space_prefix", "tokenizer.json");
        return {};
    }

    // Whether a space is put in front of a text, by tokenizer.json's normalizer or pre-tokenizer.
    Result<bool> adds_space_in_front(bool usual) const {
        if (tokenizer_.is_null()) return usual;
        bool adds_space = false, marks_spaces = false;
        const auto steps = [](const Json* step, std::string_view list) {
            std::vector<const Json*> found;
            if (step == nullptr) return found;
            const Json* const inner = find(*step, list);
            if (inner == nullptr || !inner->is_array()) return std::vector{step};
            for (const Json& each : *inner) found.push_back(&each);
            return found;
        };
        for (const Json* step : steps(find(tokenizer_, "normalizer"), "normalizers")) {
            const std::string type = string_of(*step, "type");
            const Json* const pattern = find(*step, "pattern");
            if (type == "Prepend" && string_of(*step, "prepend") == kSpaceMark) {
                adds_space = true;
            } else if (type == "Replace" && pattern != nullptr && string_of(*pattern, "String") == " " &&
                       string_of(*step, "content") == kSpaceMark) {
                marks_spaces = true;
            } else {
                return fail(ErrorKind::Unsupported, "{}: normalizer {} is unknown to this build beside byte fallback",
                            place("tokenizer.json"), shown(type));
            }
        }
        for (const Json* step : steps(find(tokenizer_, "pre_tokenizer"), "pretokenizers")) {
            const std::string type = string_of(*step, "type");
            const Json* const pattern = find(*step, "pattern");
            if (type == "Metaspace" && string_of(*step, "replacement") == kSpaceMark) {
                const std::string scheme = string_of(*step, "prepend_scheme");
                adds_space = scheme.empty() ? !step->contains("add_prefix_space") || flag_of(*step, "add_prefix_space")
                                            : scheme != "never";
                marks_spaces = true;
            } else if (type != "Split" || pattern == nullptr || string_of(*pattern, "String") != " ") {
                return fail(ErrorKind::Unsupported,
                            "{}: pre-tokenizer {} is unknown to this build beside byte fallback",
                            place("tokenizer.json"), shown(type));
            }
        }
        if (!marks_spaces)
            return fail(ErrorKind::Unsupported, "{}: no step replaces spaces by '{}', as vocabularies of characters do",
                        place("tokenizer.json"), kSpaceMark);
        return adds_space;
    }

    // ---- what stands around texts ----

    Result<void> tell_special() {
        std::map<std::string, bool> adds;
        find_template_tokens(adds);
        for (const std::string_view kind : kKinds) {
            const std::string stated = fmt::format("add_{}_token", kind);
            if (const Json* flag = find(settings_, stated); flag != nullptr && flag->is_boolean())
                adds.emplace(kind, flag->get<bool>());
            if (const auto text = special_text(kind))
                if (const auto found = ids_of_added_.find(*text); found != ids_of_added_.end())
                    ids_.emplace(kind, found->second);
        }
        for (const std::string_view kind : kKinds) {
            const Config::Found stated = config_.find({fmt::format("{}_token_id", kind)});
            if (!stated || !stated.value->is_number_integer()) continue;  // a list: see generation_config.json
            RIFTJIT_TRY(id, config_.integer({fmt::format("{}_token_id", kind)}, 0, size_ - 1));
            ids_.emplace(kind, *id);
        }
        tell_family_tokens(adds);
        RIFTJIT_TRY_VOID(tell_end_tokens());
        for (const auto& [kind, id] : ids_) set_id(kind, id);
        for (const auto& [kind, is_added] : adds) {
            const std::string key = fmt::format("tokenizer.ggml.add_{}_token", kind);
            if (kind == "bos" || kind == "eos" || kind == "sep") writer_.set_boolean(key, is_added);
            note(key, "tokenizer_config.json");
        }
        return {};
    }

    void set_id(const std::string& kind, uint64_t id) {
        static const std::map<std::string, std::string> kKeys = {
            {"bos", "bos"},     {"eos", "eos"}, {"unk", "unknown"}, {"sep", "seperator"},  // the key's own spelling
            {"pad", "padding"}, {"cls", "cls"}, {"mask", "mask"},   {"eot", "eot"}};
        if (kind == "cls" && family_.architecture == "bert") return;  // is the begin token there
        const std::string key = fmt::format("tokenizer.ggml.{}_token_id", kKeys.at(kind));
        writer_.set_u32(key, static_cast<uint32_t>(id));
        note(key, has_settings_ ? "tokenizer_config.json" : "config.json");
    }

    // bos_token of tokenizer_config.json: a text, or an object that has it.
    std::optional<std::string> special_text(std::string_view kind) const {
        const Json* entry = find(settings_, fmt::format("{}_token", kind));
        if (entry != nullptr && entry->is_object()) entry = find(*entry, "content");
        if (entry == nullptr || !entry->is_string() || entry->get<std::string>().empty()) {
            // BERT's have names of their own.
            if (family_.architecture == "bert" && (kind == "bos" || kind == "eos"))
                return special_text(kind == "bos" ? "cls" : "sep");
            const auto found = texts_.find(kind);
            return found == texts_.end() ? std::nullopt : std::optional(found->second);
        }
        return entry->get<std::string>();
    }

    // The tokens that the post-processor puts around a single text.
    void find_template_tokens(std::map<std::string, bool>& adds) {
        const Json* const processor = find(tokenizer_, "post_processor");
        if (processor == nullptr) return;
        const Json* const list = find(*processor, "processors");
        std::vector<const Json*> processors = {processor};
        if (list != nullptr && list->is_array()) {
            processors.clear();
            for (const Json& each : *list) processors.push_back(&each);
        }
        for (const Json* each : processors) {
            const std::string type = string_of(*each, "type");
            if (type == "ByteLevel") {
                adds.emplace("bos", false);
                adds.emplace("eos", false);
            }
            if (type == "TemplateProcessing" && family_.architecture == "bert") adds["sep"] = has_two_separators(*each);
            const Json* const single = type == "TemplateProcessing" ? find(*each, "single") : nullptr;
            if (single == nullptr || !single->is_array() || single->size() < 2) continue;
            const auto id_of = [](const Json& item) {
                const Json* const token = find(item, "SpecialToken");
                return token == nullptr ? std::string() : string_of(*token, "id");
            };
            if (const std::string first = id_of(single->front()); !first.empty()) {
                if (!special_text("bos")) texts_["bos"] = first;
                adds["bos"] = first == special_text("bos") || first == special_text("cls");
            }
            if (const std::string last = id_of(single->back()); !last.empty()) {
                if (!special_text("eos")) texts_["eos"] = last;
                adds["eos"] = last == special_text("eos");
            }
        }
    }

    // Between two texts: as many special tokens as a pair has beyond those around it.
    static bool has_two_separators(const Json& processor) {
        const Json* const pair = find(processor, "pair");
        if (pair == nullptr || !pair->is_array()) return false;
        return std::ranges::count_if(*pair, [](const Json& item) { return item.contains("SpecialToken"); }) == 4;
    }

    void tell_family_tokens(std::map<std::string, bool>& adds) {
        const auto id_of = [&](const char* text) -> std::optional<uint64_t> {
            const auto found = ids_of_added_.find(text);
            return found == ids_of_added_.end() ? std::nullopt : std::optional(found->second);
        };
        if (family_.architecture == "glm4") {
            if (const auto end = id_of("<|endoftext|>"))
                for (const char* kind : {"eos", "unk", "bos"}) ids_.emplace(kind, *end);
            if (const auto user = id_of("<|user|>")) ids_.emplace("eot", *user);
        }
        if (family_.architecture == "phi2") adds["bos"] = false;
        if (family_.architecture == "internlm2")
            if (const auto end = id_of("<|im_end|>")) ids_["eos"] = *end;
        // Published configurations of Llama's class with this vocabulary say the contrary of what was trained.
        if (family_.architecture == "llama" && size_ == 49152) adds["bos"] = false;
    }

    // A text ends at any of several tokens, which generation_config.json lists, or config.json.
    Result<void> tell_end_tokens() {
        Json generation = Json::object();
        if (has("generation_config.json")) {
            RIFTJIT_TRY(json, read_object(path("generation_config.json"), kMostConfigBytes));
            generation = std::move(json);
        }
        RIFTJIT_TRY_VOID(tell_sampling(generation));
        const Json* stated = find(generation, "eos_token_id");
        std::string file = "generation_config.json";
        if (stated == nullptr) {
            stated = config_.find({"eos_token_id"}).value;
            file = "config.json";
        }
        if (stated == nullptr) return {};
        std::vector<int32_t> ids;
        for (const Json& id : stated->is_array() ? *stated : Json::array({*stated})) {
            if (!id.is_number_unsigned() || id.get<uint64_t>() >= size_)
                return fail(ErrorKind::Format, "{}: key 'eos_token_id' has {}; allowed are ids below {}", place(file),
                            shown(id), size_);
            ids.push_back(id.get<int32_t>());
        }
        if (ids.empty()) return {};
        ids_.emplace("eos", ids.front());
        if (ids.size() > 1 || static_cast<uint64_t>(ids.front()) != ids_.at("eos")) {
            writer_.set_i32s("tokenizer.ggml.eos_token_ids", ids);
            note("tokenizer.ggml.eos_token_ids", file);
        }
        return {};
    }

    // What the folder recommends for sampling; kept for readers that follow it.
    Result<void> tell_sampling(const Json& generation) {
        struct Row {
            std::string_view theirs, ours;
        };
        static constexpr auto kRows = std::to_array<Row>({{"temperature", "temp"},
                                                          {"top_p", "top_p"},
                                                          {"min_p", "min_p"},
                                                          {"repetition_penalty", "penalty_repeat"}});
        const Config config(place("generation_config.json"), generation);
        for (const Row& row : kRows) {
            RIFTJIT_TRY(value, config.number({row.theirs}));
            if (value) writer_.set_f32(fmt::format("general.sampling.{}", row.ours), static_cast<float>(*value));
        }
        RIFTJIT_TRY(top_k, config.integer({"top_k"}, 0, INT32_MAX));
        if (top_k) writer_.set_i32("general.sampling.top_k", static_cast<int32_t>(*top_k));
        return {};
    }

    // ---- chat templates ----

    Result<void> tell_chat_templates() {
        const Json* stated = find(settings_, "chat_template");
        Json elsewhere;
        std::string file = "tokenizer_config.json";
        if (stated == nullptr && has("chat_template.jinja")) {
            file = "chat_template.jinja";
            RIFTJIT_TRY(text, read_text(path(file), kMostConfigBytes));
            elsewhere = text;
            stated = &elsewhere;
        } else if (stated == nullptr && has("chat_template.json")) {
            file = "chat_template.json";
            RIFTJIT_TRY(json, read_object(path(file), kMostConfigBytes));
            if (const Json* inner = find(json, "chat_template")) elsewhere = *inner;
            if (!elsewhere.is_null()) stated = &elsewhere;
        }
        if (stated == nullptr) return {};
        if (stated->is_string()) {
            set_template("tokenizer.chat_template", *stated, file);
            return {};
        }
        if (!stated->is_array())
            return fail(ErrorKind::Format, "{}: key 'chat_template' is {}; expected is a text, or a list of them",
                        place(file), shown(*stated));
        for (const Json& each : *stated) {
            const std::string name = string_of(each, "name");
            const Json* const text = find(each, "template");
            const bool is_plain = !name.empty() && std::ranges::all_of(name, [](char c) {
                return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '-';
            });
            if (!is_plain || text == nullptr || !text->is_string())
                return fail(ErrorKind::Format, "{}: key 'chat_template' has {}; expected are names and templates",
                            place(file), shown(each));
            set_template(name == "default" ? "tokenizer.chat_template" : "tokenizer.chat_template." + name, *text,
                         file);
        }
        return {};
    }

    void set_template(const std::string& key, const Json& text, std::string_view file) {
        writer_.set_string(key, text.get<std::string>());
        note(key, file);
    }

    static constexpr std::array<std::string_view, 7> kKinds = {"bos", "eos", "unk", "sep", "pad", "cls", "mask"};

    const std::filesystem::path& folder_;
    const Config& config_;
    const Family& family_;
    GgufWriter& writer_;
    GgufPresentation& presentation_;
    Json tokenizer_, settings_ = Json::object();
    bool has_settings_ = false;
    uint64_t size_ = 0;
    std::vector<AddedToken> added_;
    std::unordered_map<std::string, uint64_t> ids_of_added_;
    std::map<std::string, uint64_t> ids_;
    std::map<std::string, std::string, std::less<>> texts_;  // of special tokens that only the post-processor names
};

}  // namespace

Result<void> tell_tokenizer(const std::filesystem::path& folder, const Config& config, const Family& family,
                            uint64_t rows, GgufWriter& writer, GgufPresentation& presentation) {
    return TokenizerTeller(folder, config, family, writer, presentation).run(rows);
}

}  // namespace riftjit::models::folder
