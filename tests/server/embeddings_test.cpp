// Vectors and rankings over HTTP, of tiny random encoders.
#include <cstring>

#include "engine/embedder.h"
#include "tests/server/test_server.h"

namespace riftjit::server {
namespace embeddings_test {

std::string encoder(const std::string& name) {
    return std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/encoders/" + name + ".gguf";
}

// A server as `riftjit serve --embeddings` makes it.
class EmbeddingServer {
public:
    explicit EmbeddingServer(const std::string& name, std::optional<models::Pooling> pooling = std::nullopt) {
        engine::EngineOptions options{.model = encoder(name)};
        options.purpose = {.embeds = true, .pooling = pooling};
        options.threads = 1;
        options.sequences = 1;
        options.cache_mode = CacheMode::off;
        auto opened = engine::open_engine(options, [](const std::string&) {});
        if (!opened) throw std::runtime_error(opened.error().message);
        engine_ = std::make_unique<engine::Engine>(std::move(*opened));
        embedder_ = engine::Embedder::create(*engine_).value();
        scheduler_ = std::make_unique<engine::Scheduler>(*engine_);
        service_ = Service::create(*engine_, *scheduler_, {.version = "test", .embedder = embedder_.get()}).value();
        server_ = Server::start({.port = 0}).value();
        server_->open(*service_);
    }

    struct Answer {
        int status;
        Json body;
    };
    Answer post(const std::string& path, const Json& body) const {
        httplib::Client client("127.0.0.1", server_->port());
        client.set_read_timeout(60);
        const auto reply = client.Post(path, json_text(body), "application/json");
        if (!reply) throw std::runtime_error(httplib::to_string(reply.error()));
        return {reply->status, Json::parse(reply->body)};
    }
    std::string error(const std::string& path, const Json& body, int status) const {
        const Answer answer = post(path, body);
        EXPECT_EQ(answer.status, status) << answer.body;
        const Json& error = answer.body.at("error");
        return error.is_string() ? error.get<std::string>() : error.at("message").get<std::string>();
    }
    // What the engine gives for the same text, of length 1.
    std::vector<float> vector(const std::string& text) const {
        const std::vector<std::vector<int32_t>> ids = {embedder_->tokens_of(text).value()};
        std::vector<float> values = embedder_->embed(ids).value()[0].values;
        engine::normalize(values, 2);
        return values;
    }
    const engine::Embedder& embedder() const { return *embedder_; }

private:
    std::unique_ptr<engine::Engine> engine_;
    std::unique_ptr<engine::Embedder> embedder_;
    std::unique_ptr<engine::Scheduler> scheduler_;
    std::unique_ptr<Service> service_;
    std::unique_ptr<Server> server_;
};

std::vector<float> floats(const Json& array) { return array.get<std::vector<float>>(); }

class Embeddings : public testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<EmbeddingServer>("bert_mean"); }
    static void TearDownTestSuite() { server_.reset(); }
    static inline std::unique_ptr<EmbeddingServer> server_;
};

TEST_F(Embeddings, AreOpenAisOfEveryFormOfInput) {
    const auto answer = server_->post("/v1/embeddings", {{"input", "the city"}, {"model", "any"}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body["object"], "list");
    EXPECT_EQ(answer.body["model"], "any");
    EXPECT_EQ(answer.body["usage"], (Json{{"prompt_tokens", 4}, {"total_tokens", 4}}));
    ASSERT_EQ(answer.body["data"].size(), 1u);
    EXPECT_EQ(answer.body["data"][0]["object"], "embedding");
    EXPECT_EQ(floats(answer.body["data"][0]["embedding"]), server_->vector("the city"));

    const std::vector<int32_t> ids = server_->embedder().tokens_of("the city").value();
    const Json parts = {{{"type", "text"}, {"text", "the "}}, {{"type", "text"}, {"text", "city"}}};
    const Json same = {"the city", ids, {{"prompt_string", "the city"}}, {{"content", parts}}};
    const auto several = server_->post("/v1/embeddings", {{"input", same}});
    ASSERT_EQ(several.status, 200) << several.body;
    ASSERT_EQ(several.body["data"].size(), same.size());
    for (size_t i = 0; i < same.size(); ++i) {
        EXPECT_EQ(several.body["data"][i]["index"], i);
        EXPECT_EQ(several.body["data"][i]["embedding"], answer.body["data"][0]["embedding"]) << same[i];
    }
    EXPECT_EQ(several.body["usage"]["prompt_tokens"], 4 * same.size());
    EXPECT_EQ(floats(server_->post("/v1/embeddings", {{"input", ids}}).body["data"][0]["embedding"]),
              server_->vector("the city"));
    EXPECT_EQ(server_->post("/v1/embeddings", {{"input", {12, 34, "word", 56}}}).body["usage"]["prompt_tokens"], 4);
    EXPECT_EQ(server_->post("/v1/embeddings", {{"input", ""}}).body["usage"]["prompt_tokens"], 2);
}

TEST_F(Embeddings, AreBytesWhereARequestSaysSo) {
    const auto answer = server_->post("/v1/embeddings", {{"input", "word"}, {"encoding_format", "base64"}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    const std::vector<float> expected = server_->vector("word");
    const std::string text = answer.body["data"][0]["embedding"];
    EXPECT_EQ(answer.body["data"][0]["encoding_format"], "base64");
    // 64 floats are 256 bytes: 85 groups of three, and one byte with two characters of padding.
    ASSERT_EQ(text.size(), 344u);
    EXPECT_TRUE(text.ends_with("==") && !text.ends_with("==="));
    std::string bytes;
    constexpr std::string_view kCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t bit = 0; bit + 8 <= 6 * text.find('='); bit += 8) {
        unsigned value = 0;
        for (size_t i = bit; i < bit + 8; ++i) value = value << 1 | (kCharacters.find(text[i / 6]) >> (5 - i % 6) & 1);
        bytes += char(value);
    }
    ASSERT_EQ(bytes.size(), expected.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0);
}

TEST_F(Embeddings, HaveTheNormAndTheDimensionsThatARequestNames) {
    const auto raw = server_->post("/v1/embeddings", {{"input", "word"}, {"embd_normalize", -1}});
    std::vector<float> values = floats(raw.body["data"][0]["embedding"]);
    std::vector<float> shorter(values.begin(), values.begin() + 8);
    engine::normalize(values, 2);
    EXPECT_EQ(values, server_->vector("word"));
    engine::normalize(shorter, 2);
    const auto cut = server_->post("/v1/embeddings", {{"input", "word"}, {"dimensions", 8}});
    EXPECT_EQ(floats(cut.body["data"][0]["embedding"]), shorter);
}

TEST_F(Embeddings, AreLlamaCppsAtItsOwnPaths) {
    for (const char* path : {"/embedding", "/embeddings"})
        for (const char* name : {"input", "content"}) {
            const auto answer = server_->post(path, {{name, {"word", "the city"}}});
            ASSERT_EQ(answer.status, 200) << answer.body;
            ASSERT_EQ(answer.body.size(), 2u);
            EXPECT_EQ(answer.body[1]["index"], 1);
            ASSERT_EQ(answer.body[1]["embedding"].size(), 1u);
            EXPECT_EQ(floats(answer.body[1]["embedding"][0]), server_->vector("the city"));
        }
}

TEST_F(Embeddings, AreOllamasAtItsPaths) {
    const auto answer = server_->post("/api/embed", {{"model", "bert_mean.gguf"}, {"input", {"word", "the city"}}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(floats(answer.body["embeddings"][1]), server_->vector("the city"));
    EXPECT_EQ(answer.body["prompt_eval_count"], 7);
    EXPECT_GT(answer.body["total_duration"], 0);
    const auto older = server_->post("/api/embeddings", {{"prompt", "word"}});
    std::vector<float> values = floats(older.body["embedding"]);
    engine::normalize(values, 2);
    EXPECT_EQ(values, server_->vector("word"));
    std::string text;
    for (int i = 0; i < 500; ++i) text += "word ";
    EXPECT_EQ(server_->post("/api/embed", {{"input", text}}).body["prompt_eval_count"], 384) << "the rest is left out";
    EXPECT_EQ(server_->error("/api/embed", {{"input", text}, {"truncate", false}}, 400),
              "the text of 502 tokens is too large to process: up to 384 fit (-c)");
    EXPECT_EQ(server_->error("/api/embed", {{"input", "x"}, {"model", "other"}}, 404), "model 'other' not found");
}

TEST_F(Embeddings, RefuseWhatIsNoText) {
    const auto error = [&](const Json& input) { return server_->error("/v1/embeddings", {{"input", input}}, 400); };
    EXPECT_EQ(error(Json::array()), "\"input\": expected 1 to 65536 texts, got 0");
    EXPECT_EQ(error({{"content", "string"}}),
              R"("input": expected a string, ids of tokens, or an array of these, got {"content":"string"})");
    EXPECT_EQ(error({{"content", {{{"type", "image_url"}}}}}),
              "\"input\": parts of a content have \"type\" text and \"text\", a string; got {\"type\":\"image_url\"}");
    EXPECT_EQ(
        server_->error("/v1/embeddings", {{"input", {{"prompt_string", "x"}, {"multimodal_data", {"AAAA"}}}}}, 501),
        "multimodal_data input is not supported - the model takes text alone");
    EXPECT_EQ(error({5, 256}), "\"input\": expected ids of tokens below 256, got 256");
    EXPECT_EQ(error(Json::array({Json::array()})), "Input content cannot be empty");
    EXPECT_EQ(server_->error("/v1/embeddings", Json::object(), 400), "\"input\" or \"content\" must be provided");
    EXPECT_EQ(server_->error("/v1/embeddings", {{"input", "x"}, {"encoding_format", "hex"}}, 400),
              "The format to return the embeddings in. Can be either float or base64");
}

TEST_F(Embeddings, ComeFromAServerThatWritesNoText) {
    EXPECT_EQ(server_->error("/v1/completions", {{"prompt", "the"}}, 501),
              "This server does not support completions. Start it without `--embeddings`");
    EXPECT_EQ(server_->error("/v1/rerank", {{"query", "x"}, {"documents", {"y"}}}, 501),
              "This server does not support reranking. Start it with `--reranking`");
}

TEST(EmbeddingsOfTokens, AreNotNormalisedAndNotOpenAis) {
    const EmbeddingServer server("bert", models::Pooling::none);
    const auto answer = server.post("/embeddings", {{"input", "the city"}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    ASSERT_EQ(answer.body[0]["embedding"].size(), 4u);
    double squares = 0;
    for (const float value : floats(answer.body[0]["embedding"][1])) squares += double(value) * value;
    EXPECT_GT(std::fabs(squares - 1), 1e-3);
    EXPECT_EQ(server.error("/v1/embeddings", {{"input", "the"}}, 400),
              "Pooling type 'none' is not OAI compatible. Please use a different pooling type");
}

// ---- rankings

class Rankings : public testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<EmbeddingServer>("xlm_roberta_rank"); }
    static void TearDownTestSuite() { server_.reset(); }
    float score(const std::string& query, const std::string& document) const {
        engine::Embedder& embedder = const_cast<engine::Embedder&>(server_->embedder());
        const std::vector<std::vector<int32_t>> ids = {embedder.tokens_of_pair(query, document).value()};
        return embedder.embed(ids).value()[0].values[0];
    }
    static inline std::unique_ptr<EmbeddingServer> server_;
    const std::vector<std::string> documents_ = {"machine learning", "paris city of france", "field", "the water"};
};

TEST_F(Rankings, AreJinasInOrderOfScores) {
    for (const char* path : {"/v1/rerank", "/rerank", "/reranking", "/v1/reranking"}) {
        const auto answer = server_->post(path, {{"query", "which city"}, {"documents", documents_}});
        ASSERT_EQ(answer.status, 200) << answer.body;
        ASSERT_EQ(answer.body["results"].size(), 4u);
        float before = INFINITY;
        for (const Json& result : answer.body["results"]) {
            const float found = result["relevance_score"];
            EXPECT_EQ(found, score("which city", documents_.at(result["index"])));
            EXPECT_LE(found, before);
            before = found;
        }
        EXPECT_EQ(answer.body["usage"]["prompt_tokens"], answer.body["usage"]["total_tokens"]);
    }
}

TEST_F(Rankings, AreTeisWhereARequestHasTexts) {
    const auto answer =
        server_->post("/rerank", {{"query", "city"}, {"texts", documents_}, {"top_n", 2}, {"return_text", true}});
    ASSERT_EQ(answer.status, 200) << answer.body;
    ASSERT_EQ(answer.body.size(), 2u);
    EXPECT_EQ(answer.body[0]["text"], documents_.at(answer.body[0]["index"]));
    EXPECT_GE(answer.body[0]["score"], answer.body[1]["score"]);
}

TEST_F(Rankings, HaveAsManyResultsAsAreAskedFor) {
    for (const auto& [most, expected] : {std::pair(2, 2u), {4, 4u}, {99, 4u}})
        EXPECT_EQ(server_->post("/rerank", {{"query", "city"}, {"documents", documents_}, {"top_n", most}})
                      .body["results"]
                      .size(),
                  expected);
}

TEST_F(Rankings, RefuseWhatIsNoListOfTexts) {
    for (const Json& documents : {Json::array(), Json(), Json(123), Json({1, 2, 3})})
        EXPECT_EQ(server_->error("/rerank", {{"query", "city"}, {"documents", documents}}, 400),
                  "\"documents\" must be a non-empty string array");
    EXPECT_EQ(server_->error("/rerank", {{"documents", documents_}}, 400), "\"query\" must be provided");
    EXPECT_EQ(server_->error("/rerank", {{"query", 5}, {"documents", documents_}}, 400), "\"query\" must be a string");
}

}  // namespace embeddings_test
}  // namespace riftjit::server
