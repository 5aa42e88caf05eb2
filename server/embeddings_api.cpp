// Vectors of texts (OpenAI's, llama.cpp's and Ollama's forms) and rankings of documents (Jina's and TEI's).
#include <algorithm>
#include <chrono>

#include "engine/embedder.h"
#include "host/base64.h"
#include "host/json_text.h"
#include "server/apis.h"
#include "server/word_ranking.h"

namespace riftjit::server {

using models::Pooling;

namespace {

constexpr int64_t kMostTexts = 1 << 16;  // of a request
constexpr int64_t kHighestNorm = 1000;

Outcome<engine::Embedder*> embedder_of(const Service& service) {
    if (engine::Embedder* embedder = service.options().embedder; embedder != nullptr) return embedder;
    return refuse(501, "This server does not support embeddings. Start it with `--embeddings`");
}

// ---- texts of a request, as ids

class Inputs {
public:
    Inputs(const Service& service, const engine::Embedder& embedder) : service_(service), embedder_(embedder) {}

    // One text or several, each of one of these forms: text, ids, both mixed, {"prompt_string": text}, or
    // {"content": [{"type": "text", "text": ...}, ...]}.
    Outcome<std::vector<std::vector<int32_t>>> read(const char* name, const Json& input) {
        name_ = name;
        const auto is_id = [](const Json& item) { return item.is_number(); };
        const bool is_several = input.is_array() && std::ranges::none_of(input, is_id);
        std::vector<std::vector<int32_t>> texts;
        if (is_several && (input.empty() || input.size() > size_t(kMostTexts)))
            return refuse(400, "\"{}\": expected 1 to {} texts, got {}", name, kMostTexts, input.size());
        for (const Json* entry : is_several ? pointers_to(input) : std::vector{&input}) {
            RIFTJIT_ASK(ids, read_entry(*entry));
            if (ids.empty()) return refuse(400, "Input content cannot be empty");
            texts.push_back(std::move(ids));
        }
        return texts;
    }

private:
    static std::vector<const Json*> pointers_to(const Json& array) {
        std::vector<const Json*> pointers;
        for (const Json& entry : array) pointers.push_back(&entry);
        return pointers;
    }

    Outcome<std::vector<int32_t>> read_entry(const Json& entry) const {
        if (entry.is_string()) return tokens_of(entry);
        if (entry.is_array()) return read_mixed(entry);
        if (!entry.is_object()) return unexpected(entry);
        if (has_media(entry)) return std::unexpected(no_media("multimodal_data"));
        if (const auto text = entry.find("prompt_string"); text != entry.end() && text->is_string())
            return tokens_of(*text);
        const auto content = entry.find("content");
        if (content == entry.end() || !content->is_array()) return unexpected(entry);
        std::string text;
        for (const Json& part : *content) {
            const auto type = part.is_object() ? part.find("type") : part.end();
            if (!part.is_object() || type == part.end() || *type != "text" || !part.contains("text") ||
                !part["text"].is_string())
                return refuse(400, "\"{}\": parts of a content have \"type\" text and \"text\", a string; got {}",
                              name_, shortened(part));
            text += part["text"].get_ref<const std::string&>();
        }
        return tokens_of(Json(text));
    }

    // Ids, and texts among them, of which one in front has the tokens around a text.
    Outcome<std::vector<int32_t>> read_mixed(const Json& entry) const {
        std::vector<int32_t> ids;
        for (size_t i = 0; i < entry.size(); ++i) {
            const Json& item = entry[i];
            if (item.is_string()) {
                RIFTJIT_ASK(found,
                            i == 0 ? tokens_of(item) : service_.tokens_of(item.get_ref<const std::string&>(), false));
                ids.insert(ids.end(), found.begin(), found.end());
                continue;
            }
            const bool is_token = item.is_number_integer() && item.get<int64_t>() >= 0 &&
                                  item.get<int64_t>() < service_.tokenizer().size();
            if (!is_token)
                return refuse(400, "\"{}\": expected ids of tokens below {}, got {}", name_,
                              service_.tokenizer().size(), shortened(item));
            ids.push_back(item.get<int32_t>());
        }
        return ids;
    }

    Outcome<std::vector<int32_t>> tokens_of(const Json& text) const {
        auto ids = embedder_.tokens_of(text.get_ref<const std::string&>());
        if (!ids) return std::unexpected(api_error(ids.error()));
        return std::move(*ids);
    }

    static std::string shortened(const Json& value) { return json_text(value).substr(0, 60); }
    std::unexpected<ApiError> unexpected(const Json& entry) const {
        return refuse(400, "\"{}\": expected a string, ids of tokens, or an array of these, got {}", name_,
                      shortened(entry));
    }

    const Service& service_;
    const engine::Embedder& embedder_;
    const char* name_ = "";
};

// ---- vectors

// Ended where the client leaves.
Outcome<std::vector<engine::Embedding>> embed(engine::Embedder& embedder,
                                              const std::vector<std::vector<int32_t>>& texts,
                                              const HttpRequest& request) {
    auto found = embedder.embed(texts, [&request] { return !request.is_abandoned(); });
    if (!found) return std::unexpected(api_error(found.error()));
    return std::move(*found);
}

uint64_t token_count(const std::vector<engine::Embedding>& embeddings) {
    uint64_t count = 0;
    for (const engine::Embedding& embedding : embeddings) count += embedding.tokens;
    return count;
}

// The first `dimensions` of it, where a request wants less (Matryoshka representations, arXiv 2205.13147), normalised.
std::vector<float> shaped(std::span<const float> vector, std::optional<int64_t> dimensions, int way) {
    std::vector<float> result(
        vector.begin(), vector.begin() + ptrdiff_t(std::min<size_t>(vector.size(), dimensions.value_or(INT64_MAX))));
    engine::normalize(result, way);
    return result;
}

struct VectorsAsked {
    std::vector<std::vector<int32_t>> texts;
    bool as_bytes = false, is_native = false;
    int way = 2;
    std::optional<int64_t> dimensions;
    std::string model;
};

Outcome<VectorsAsked> read_vectors_request(const Service& service, const engine::Embedder& embedder,
                                           const HttpRequest& request, bool is_native) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    VectorsAsked asked{.is_native = is_native || (!fields.has("input") && fields.has("content"))};
    if (!asked.is_native && embedder.pooling() == Pooling::none)
        return refuse(400, "Pooling type 'none' is not OAI compatible. Please use a different pooling type");
    asked.way = service.options().embedding_norm;
    fields.read("embd_normalize", asked.way, -1, kHighestNorm);
    asked.dimensions = fields.integer("dimensions", 1, INT32_MAX);
    asked.model = fields.text("model").value_or(service.model_name());
    const std::string format = fields.text("encoding_format").value_or("float");
    if (format != "float" && format != "base64")
        fields.fail({400, "The format to return the embeddings in. Can be either float or base64"});
    RIFTJIT_ASK_VOID(fields.check());
    asked.as_bytes = format == "base64";
    const char* const name = fields.has("input") ? "input" : "content";
    const Json* const input = fields.find(name);
    if (input == nullptr) return refuse(400, "\"input\" or \"content\" must be provided");
    RIFTJIT_ASK(texts, Inputs(service, embedder).read(name, *input));
    asked.texts = std::move(texts);
    return asked;
}

// llama.cpp's own form has an array of vectors for each text, of one or, where nothing is pooled, of one a token.
Json native_vectors(const std::vector<engine::Embedding>& embeddings, const VectorsAsked& asked, uint32_t width,
                    Pooling pooling) {
    Json list = Json::array();
    for (const engine::Embedding& embedding : embeddings) {
        Json vectors = Json::array();
        for (uint32_t i = 0; i < embedding.vectors; ++i)
            vectors.push_back(shaped(std::span(embedding.values).subspan(size_t(i) * width, width), asked.dimensions,
                                     pooling == Pooling::none || pooling == Pooling::rank ? -1 : asked.way));
        list.push_back({{"index", list.size()}, {"embedding", std::move(vectors)}});
    }
    return list;
}

Json openai_vectors(const std::vector<engine::Embedding>& embeddings, const VectorsAsked& asked, Pooling pooling) {
    Json data = Json::array();
    for (const engine::Embedding& embedding : embeddings) {
        const std::vector<float> vector =
            shaped(embedding.values, asked.dimensions, pooling == Pooling::rank ? -1 : asked.way);
        Json entry = {{"embedding", vector}, {"index", data.size()}, {"object", "embedding"}};
        if (asked.as_bytes) {
            entry["embedding"] = base64(std::as_bytes(std::span(vector)));
            entry["encoding_format"] = "base64";
        }
        data.push_back(std::move(entry));
    }
    const uint64_t tokens = token_count(embeddings);
    return {{"model", asked.model},
            {"object", "list"},
            {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}},
            {"data", std::move(data)}};
}

Outcome<Json> make_vectors(const Service& service, const HttpRequest& request, bool is_native) {
    RIFTJIT_ASK(embedder, embedder_of(service));
    RIFTJIT_ASK(asked, read_vectors_request(service, *embedder, request, is_native));
    RIFTJIT_ASK(embeddings, embed(*embedder, asked.texts, request));
    return asked.is_native ? native_vectors(embeddings, asked, embedder->width(), embedder->pooling())
                           : openai_vectors(embeddings, asked, embedder->pooling());
}

HttpReply native_embeddings(const Service& service, const HttpRequest& request) {
    return reply_of(make_vectors(service, request, true));
}
HttpReply openai_embeddings(const Service& service, const HttpRequest& request) {
    return reply_of(make_vectors(service, request, false));
}

// ---- Ollama's forms

// Of texts that are too long the rest is left out, before the token behind a text.
void truncate(std::vector<int32_t>& ids, const engine::Embedder& embedder, const models::Tokenizer& tokenizer) {
    if (ids.size() <= embedder.most_tokens()) return;
    ids.resize(embedder.most_tokens());
    if (const auto end = tokenizer.end()) ids.back() = *end;
}

struct OllamaVectors {
    std::string model;
    std::vector<engine::Embedding> embeddings;
    std::optional<int64_t> dimensions;
    int64_t nanoseconds = 0;
};

Outcome<OllamaVectors> make_ollama_vectors(const Service& service, const HttpRequest& request, const char* input_name) {
    const auto begun = std::chrono::steady_clock::now();
    RIFTJIT_ASK(embedder, embedder_of(service));
    if (embedder->pooling() == Pooling::none)
        return refuse(400, "nothing is pooled (--pooling none), where a text is to have one vector");
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    const std::string model = fields.text("model").value_or("");
    const bool truncates = fields.boolean("truncate").value_or(true);
    OllamaVectors result{.dimensions = fields.integer("dimensions", 1, INT32_MAX)};
    RIFTJIT_ASK_VOID(fields.check());
    if (!is_this_model(service, model)) return refuse(404, "model '{}' not found", model);
    result.model = model.empty() ? service.model_name() : model;
    const Json* const input = fields.find(input_name);
    if (input == nullptr || (input->is_array() && input->empty())) return result;  // which loads a model there
    RIFTJIT_ASK(texts, Inputs(service, *embedder).read(input_name, *input));
    if (truncates)
        for (std::vector<int32_t>& ids : texts) truncate(ids, *embedder, service.tokenizer());
    RIFTJIT_ASK(embeddings, embed(*embedder, texts, request));
    result.embeddings = std::move(embeddings);
    result.nanoseconds = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begun).count();
    return result;
}

HttpReply ollama_embed(const Service& service, const HttpRequest& request) {
    const auto made = make_ollama_vectors(service, request, "input");
    if (!made) return ollama_error(made.error());
    Json vectors = Json::array();
    for (const engine::Embedding& embedding : made->embeddings)
        vectors.push_back(shaped(embedding.values, made->dimensions, 2));
    return json_reply({{"model", made->model},
                       {"embeddings", std::move(vectors)},
                       {"total_duration", made->nanoseconds},
                       {"load_duration", 0},
                       {"prompt_eval_count", token_count(made->embeddings)}});
}

// The older form, whose one vector is not normalised.
HttpReply ollama_embeddings(const Service& service, const HttpRequest& request) {
    const auto made = make_ollama_vectors(service, request, "prompt");
    if (!made) return ollama_error(made.error());
    const bool is_one = made->embeddings.size() == 1;
    return json_reply({{"embedding", is_one ? Json(made->embeddings[0].values) : Json::array()}});
}

// ---- rankings

struct RankAsked {
    std::string model, query;
    std::vector<std::string> documents;
    size_t most = 0;  // results
    bool is_tei = false, returns_text = false;
};

Outcome<std::vector<std::string>> read_documents(const Json* documents) {
    std::vector<std::string> texts;
    if (documents != nullptr && documents->is_array() && documents->size() <= size_t(kMostTexts))
        for (const Json& document : *documents) {
            const Json* text = &document;
            if (document.is_object() && document.contains("text")) text = &document["text"];
            if (!text->is_string()) break;
            texts.push_back(text->get<std::string>());
        }
    if (texts.empty() || texts.size() != documents->size())
        return refuse(400, "\"documents\" must be a non-empty string array");
    return texts;
}

Outcome<RankAsked> read_rank_request(const Service& service, const HttpRequest& request) {
    RIFTJIT_ASK(body, parse_body(request.body));
    Fields fields(body);
    RankAsked asked;
    asked.is_tei = body.contains("texts");
    const Json* const query = fields.find("query");
    if (query == nullptr) return refuse(400, "\"query\" must be provided");
    if (!query->is_string()) return refuse(400, "\"query\" must be a string");
    asked.query = query->get<std::string>();
    RIFTJIT_ASK(documents, read_documents(fields.find(fields.has("documents") ? "documents" : "texts")));
    asked.documents = std::move(documents);
    asked.most = size_t(fields.integer("top_n", 0, INT32_MAX).value_or(INT32_MAX));
    asked.returns_text = fields.boolean(asked.is_tei ? "return_text" : "return_documents").value_or(false);
    asked.model = fields.text("model").value_or(service.model_name());
    RIFTJIT_ASK_VOID(fields.check());
    return asked;
}

Outcome<Ranked> rank_by_classifier(engine::Embedder& embedder, const std::string& query,
                                   const std::vector<std::string>& documents, const HttpRequest& request) {
    std::vector<std::vector<int32_t>> pairs;
    for (const std::string& document : documents) {
        auto ids = embedder.tokens_of_pair(query, document);
        if (!ids) return std::unexpected(api_error(ids.error()));
        pairs.push_back(std::move(*ids));
    }
    RIFTJIT_ASK(embeddings, embed(embedder, pairs, request));
    Ranked ranked{{}, token_count(embeddings)};
    for (const engine::Embedding& embedding : embeddings) ranked.scores.push_back(embedding.values[0]);
    return ranked;
}

Outcome<Json> make_ranking(const Service& service, const HttpRequest& request) {
    engine::Embedder* const embedder = service.options().embedder;
    const bool by_words = service.options().ranks_by_words;
    if (!by_words && (embedder == nullptr || embedder->pooling() != Pooling::rank))
        return refuse(501, "This server does not support reranking. Start it with `--reranking`");
    RIFTJIT_ASK(asked, read_rank_request(service, request));
    RIFTJIT_ASK(ranked, by_words ? rank_by_words(service, asked.query, asked.documents, request)
                                 : rank_by_classifier(*embedder, asked.query, asked.documents, request));
    const std::vector<float>& scores = ranked.scores;
    std::vector<size_t> order(scores.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return scores[i]; });
    order.resize(std::min(order.size(), asked.most));
    Json results = Json::array();
    for (const size_t i : order) {
        Json& result =
            results.emplace_back(Json{{"index", i}, {asked.is_tei ? "score" : "relevance_score", scores[i]}});
        if (!asked.returns_text) continue;
        if (asked.is_tei)
            result["text"] = asked.documents[i];
        else
            result["document"] = {{"text", asked.documents[i]}};
    }
    if (asked.is_tei) return results;
    return Json{{"model", asked.model},
                {"object", "list"},
                {"usage", {{"prompt_tokens", ranked.tokens}, {"total_tokens", ranked.tokens}}},
                {"results", std::move(results)}};
}

HttpReply rerank(const Service& service, const HttpRequest& request) {
    return reply_of(make_ranking(service, request));
}

constexpr Route kEmbeddingRoutes[] = {
    {"POST", "/v1/embeddings", openai_embeddings},
    {"POST", "/embedding", native_embeddings},
    {"POST", "/embeddings", native_embeddings},
    {"POST", "/api/embed", ollama_embed},
    {"POST", "/api/embeddings", ollama_embeddings},
    {"POST", "/rerank", rerank},
    {"POST", "/v1/rerank", rerank},
    {"POST", "/reranking", rerank},
    {"POST", "/v1/reranking", rerank},
};

}  // namespace

std::span<const Route> embedding_routes() { return kEmbeddingRoutes; }

}  // namespace riftjit::server
