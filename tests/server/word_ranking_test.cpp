// Documents ranked by a model without a classifier.
#include "tests/server/test_server.h"

namespace riftjit::server {
namespace word_ranking_test {

const Json kDocuments = {"A cat sat in the sun and slept.", "The king was angry with his knights.", "Cats eat fish.",
                         "Rain fell for three days."};

ServiceOptions ranking_service() {
    ServiceOptions options;
    options.ranks_by_words = true;
    return options;
}

class WordRankings : public testing::Test {
protected:
    static void SetUpTestSuite() { running_ = new RunningServer(2, ranking_service()); }
    static void TearDownTestSuite() { delete std::exchange(running_, nullptr); }
    static inline RunningServer* running_ = nullptr;
};

// The shares of all tokens behind the prompt, by another way: /completion tells them without a grammar.
double share_of_yes(RunningServer& running, const std::string& document) {
    const Json messages = {
        {{"role", "system"},
         {"content",
          "Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that "
          "the answer can only be \"yes\" or \"no\"."}},
        {{"role", "user"},
         {"content",
          "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n<Query>: "
          "What do cats do?\n<Document>: " +
              document}}};
    const Json prompt = post(running, "/apply-template", {{"messages", messages}}).json["prompt"];
    const Reply reply = post(running, "/completion",
                             {{"prompt", prompt}, {"n_predict", 1}, {"n_probs", running.service().tokenizer().size()}});
    double yes = 0, no = 0;
    for (const Json& token : reply.json["completion_probabilities"][0]["top_logprobs"]) {
        std::string text = token["token"];
        if (text.starts_with(" ")) text.erase(0, 1);
        if (text.empty()) continue;
        const double share = std::exp(token["logprob"].get<double>());
        for (const std::string answer : {"yes", "Yes"})
            if (answer.starts_with(text)) yes += share;
        for (const std::string answer : {"no", "No"})
            if (answer.starts_with(text)) no += share;
    }
    return yes / (yes + no);
}

TEST_F(WordRankings, AreTheModelsSharesOfYes) {
    const Reply reply = post(*running_, "/v1/rerank", {{"query", "What do cats do?"}, {"documents", kDocuments}});
    ASSERT_EQ(reply.status, 200) << reply.text;
    const Json& results = reply.json["results"];
    ASSERT_EQ(results.size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
        const std::string document = kDocuments[results[i]["index"].get<size_t>()];
        const double score = results[i]["relevance_score"];
        // Both sum a handful of shares in f32, whose logarithms have errors of some 1e-6.
        EXPECT_NEAR(score, share_of_yes(*running_, document), 1e-4) << document;
        if (i > 0) {
            EXPECT_LE(score, results[i - 1]["relevance_score"].get<double>());
        }
    }
    EXPECT_GT(reply.json["usage"]["prompt_tokens"], 4 * 40);
    const Json again = post(*running_, "/v1/rerank", {{"query", "What do cats do?"}, {"documents", kDocuments}}).json;
    EXPECT_EQ(again["results"], results) << "what slots hold changes nothing";
}

TEST_F(WordRankings, HaveTheFormsOfRankings) {
    const Json best = post(*running_, "/rerank", {{"query", "Cats?"}, {"documents", kDocuments}, {"top_n", 2}}).json;
    EXPECT_EQ(best["results"].size(), 2u);
    const Json tei =
        post(*running_, "/rerank", {{"query", "Cats?"}, {"texts", kDocuments}, {"return_text", true}}).json;
    ASSERT_EQ(tei.size(), 4u);
    EXPECT_EQ(tei[0]["score"], best["results"][0]["relevance_score"]);
    EXPECT_EQ(tei[0]["text"], kDocuments[tei[0]["index"].get<size_t>()]);
    expect_error(post(*running_, "/rerank", {{"query", "Cats?"}, {"documents", Json::array()}}), 400,
                 "invalid_request_error", "documents");
    std::string text;
    for (int i = 0; i < 1100; ++i) text += " fox";
    expect_error(post(*running_, "/rerank", {{"query", "Cats?"}, {"documents", {"Cats.", text}}}), 400,
                 "exceed_context_size_error", "exceeds the available context size");
    EXPECT_EQ(post(*running_, "/completion", {{"prompt", "Once"}, {"n_predict", 2}}).status, 200);
    RunningServer plain(1);
    expect_error(post(plain, "/rerank", {{"query", "Cats?"}, {"documents", kDocuments}}), 501, "not_supported_error",
                 "--reranking");
}

}  // namespace word_ranking_test
}  // namespace riftjit::server
