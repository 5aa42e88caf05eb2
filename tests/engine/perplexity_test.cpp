// The protocol of llama-perplexity, against plain formulas; numbers of the program itself lie in
// tests/tools/perplexity.
#include "engine/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "engine/divergence.h"
#include "engine/log_probability_file.h"
#include "graph/reference.h"
#include "tests/engine/nano_engine.h"
#include "tests/host/scratch.h"

namespace riftjit::engine {
namespace perplexity_test {

std::vector<int32_t> random_tokens(size_t count) {
    std::mt19937 random(7);
    std::vector<int32_t> tokens(count);
    for (int32_t& token : tokens) token = int32_t(random() % 512);
    return tokens;
}

std::vector<float> random_logits(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> logits(count);
    for (float& logit : logits) logit = normal(random);
    return logits;
}

std::string read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Perplexity, DividesATextAsThePeerDoes) {
    const auto plain = divide_text(5000, 512, 0, std::nullopt);
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->count, 9u);
    EXPECT_EQ(plain->length, 512u);
    EXPECT_EQ(plain->first, 256u);
    EXPECT_EQ(plain->scored(), 255u);
    EXPECT_EQ(divide_text(5000, 512, 0, 4)->count, 4u);
    const auto overlapping = divide_text(5000, 512, 128, std::nullopt);
    ASSERT_TRUE(overlapping);
    EXPECT_EQ(overlapping->length, 768u);  // 512 + 64, in whole 256
    EXPECT_EQ(overlapping->step, 128u);
    EXPECT_EQ(overlapping->scored(), 128u);
    EXPECT_EQ(overlapping->count, (5000u - 768u + 127u) / 128u);
    const auto few = divide_text(1023, 512, 0, std::nullopt);
    ASSERT_FALSE(few);
    EXPECT_EQ(few.error().message, "the text has 1023 tokens: at least 1024 are needed for windows of 512 (-c)");
    EXPECT_FALSE(divide_text(5000, 512, 513, std::nullopt));
    EXPECT_FALSE(divide_text(5000, 3, 0, std::nullopt));
}

TEST(Perplexity, DistributionsSumToOne) {
    for (const size_t count : {1, 2, 513, 4096}) {
        std::vector<float> logits = random_logits(count, uint32_t(count));
        if (count > 2) logits[count / 2] = -INFINITY;
        const LogitRow row = distribution(logits);
        long double sum = 0;
        for (size_t i = 0; i < count; ++i) sum += std::exp((long double)row.log_probability(int32_t(i)));
        EXPECT_NEAR(double(sum), 1, 1e-12);
        EXPECT_EQ(row.best, std::ranges::max_element(logits) - logits.begin());
    }
    EXPECT_FALSE(std::isfinite(distribution(std::vector<float>{1, NAN, 2}).log_sum));
    EXPECT_FALSE(std::isfinite(distribution(std::vector<float>{1, INFINITY}).log_sum));
}

TEST(Perplexity, LikelihoodsHaveThePeersError) {
    Likelihood sums;
    for (const double each : {1.0, 2.0, 4.0, 1.0}) sums.add(each);
    EXPECT_EQ(sums.count(), 4u);
    EXPECT_DOUBLE_EQ(sums.mean(), 2);
    EXPECT_DOUBLE_EQ(sums.perplexity(), std::exp(2.0));
    EXPECT_DOUBLE_EQ(sums.mean_error(), std::sqrt(1.5 / 3));  // the population's variance
    EXPECT_DOUBLE_EQ(sums.perplexity_error(), std::exp(2.0) * std::sqrt(0.5));
}

// Negative logarithms of a window's scored tokens.
std::vector<double> scores(const EngineOptions& options, std::span<const int32_t> window, uint32_t first,
                           uint32_t threads, std::optional<int32_t> bos = std::nullopt) {
    Engine engine = open_nano(options);
    auto reader = WindowReader::create(*engine.session, threads, bos);
    EXPECT_TRUE(reader);
    std::vector<double> found(window.size() - 1 - first, NAN);
    for (int round = 0; round < 2; ++round) {  // a window leaves nothing behind
        const auto done = reader->read(window, first, [&](uint32_t row, const LogitRow& logits) {
            found[row - first] = -logits.log_probability(window[row + 1]);
        });
        EXPECT_TRUE(done) << (done ? "" : done.error().message);
    }
    return found;
}

TEST(Perplexity, ScoresAreThoseOfAllLogitsHoweverRowsAreCut) {
    const std::vector<int32_t> window = random_tokens(40);
    EngineOptions options = nano_options();
    options.context = 40;
    options.outputs = 40;
    Engine engine = open_nano(options);
    const auto logits = engine.session->evaluate(window, runtime::LogitRows::all);
    ASSERT_TRUE(logits);
    const uint32_t vocabulary = engine.session->vocabulary();
    std::vector<double> expected;
    for (uint32_t row = 20; row < 39; ++row) {
        const std::span<const float> at = logits->subspan(size_t(row) * vocabulary, vocabulary);
        long double sum = 0;
        for (const float logit : at) sum += std::exp((long double)logit);
        expected.push_back(double(std::log(sum) - at[size_t(window[row + 1])]));
    }
    const std::vector<double> whole = scores(options, window, 20, 1);
    ASSERT_EQ(whole.size(), expected.size());
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], expected[i], 1e-9);
    for (const auto& [batch, outputs, threads] :
         {std::tuple(40u, 5u, 2u), std::tuple(7u, 3u, 1u), std::tuple(1u, 1u, 3u)}) {
        options.batch = batch;
        options.outputs = outputs;
        EXPECT_EQ(scores(options, window, 20, threads), whole) << batch;
    }
    EXPECT_NE(scores(options, window, 20, 1, 3), whole);
    std::vector<int32_t> replaced = window;
    replaced.front() = 3;
    EXPECT_EQ(scores(options, window, 20, 1, 3), scores(options, replaced, 20, 1));
}

TEST(Perplexity, RecordsKeepProbabilitiesToHalfACode) {
    std::vector<float> logits = random_logits(333, 1);
    logits[5] = -40;  // deeper than records reach
    const LogitRow row = distribution(logits);
    LogProbabilityHeader header{.context = 8, .vocabulary = 333, .chunks = 1};
    ASSERT_EQ(header.record_size(), 338u);
    std::vector<uint16_t> record(header.record_size());
    encode_record(row, record);
    const LogRecord read(record);
    for (int32_t i = 0; i < 333; ++i) {
        const double exact = std::max(row.log_probability(i), logits[size_t(row.best)] - 16 - row.log_sum);
        EXPECT_NEAR(read.log_probability(size_t(i)), exact, 16.0 / 65535 / 2 + 1e-5) << i;
    }
    encode_record(distribution(std::vector<float>(333, 2.5f)), record);
    EXPECT_NEAR(LogRecord(record).log_probability(7), -std::log(333.0), 1e-6);
}

TEST(Perplexity, BaseFilesAreReadBackAndCheckedWhole) {
    const Scratch scratch;
    const std::string path = scratch.path("base.kld");
    LogProbabilityHeader header{.context = 8, .vocabulary = 3, .chunks = 2, .tokens = {}};
    for (int32_t i = 0; i < 16; ++i) header.tokens.push_back(i % 3);
    std::vector<uint16_t> records(header.record_size() * header.windows().scored() * 2);
    for (size_t i = 0; i < records.size(); ++i) records[i] = uint16_t(i);
    const auto bytes = header.bytes();
    std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    content.append(reinterpret_cast<const char*>(records.data()), records.size() * 2);
    const auto open_with = [&](const std::string& text) {
        std::ofstream(path, std::ios::binary) << text;
        return LogProbabilityFile::open(path);
    };
    auto file = open_with(content);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->header().tokens, header.tokens);
    EXPECT_EQ((*file->next_chunk())[0], 0);
    EXPECT_EQ((*file->next_chunk())[1], records.size() / 2 + 1);
    for (const size_t size : {size_t(0), size_t(7), size_t(19), size_t(40), content.size() - 1})
        EXPECT_FALSE(open_with(content.substr(0, size))) << size;
    EXPECT_FALSE(open_with(content + "x"));
    for (const size_t at : {0, 8, 12, 16, 11, 15, 19}) {  // magic, and numbers that nothing fits
        std::string changed = content;
        changed[at] = char(0x7f);
        EXPECT_FALSE(open_with(changed)) << at;
    }
    EXPECT_FALSE(LogProbabilityFile::open(scratch.path("absent")));
    EXPECT_FALSE(LogProbabilityFile::open("/dev/zero"));
}

TEST(Perplexity, DivergenceFromOneselfIsNothing) {
    LogProbabilityHeader header{.context = 8, .vocabulary = 100, .chunks = 1};
    std::vector<uint16_t> record(header.record_size());
    Divergence sums;
    for (uint32_t seed = 0; seed < 200; ++seed) {
        const std::vector<float> logits = random_logits(100, seed);
        const LogitRow row = distribution(logits);
        encode_record(row, record);
        sums.add(compare(row, LogRecord(record), row.best));  // others may lie deeper than records reach
    }
    EXPECT_NEAR(sums.divergence().value, 0, 1e-6);
    EXPECT_NEAR(sums.ratio().value, 1, 1e-4);
    EXPECT_NEAR(sums.correlation(), 1, 1e-4);
    EXPECT_EQ(sums.same_best().value, 1);
    EXPECT_NEAR(sums.difference_at(1), 0, 1e-4);
}

TEST(Perplexity, DivergencesAreTheirFormulas) {
    const std::vector<float> here = random_logits(50, 1), base_logits = random_logits(50, 2);
    LogProbabilityHeader header{.context = 8, .vocabulary = 50, .chunks = 1};
    std::vector<uint16_t> record(header.record_size());
    encode_record(distribution(base_logits), record);
    const LogRecord base(record);
    const LogitRow row = distribution(here);
    const TokenDivergence found = compare(row, base, 9);
    double divergence = 0;
    for (size_t i = 0; i < 50; ++i)
        if (base.log_probability(i) > -16)
            divergence +=
                std::exp(base.log_probability(i)) * (base.log_probability(i) - row.log_probability(int32_t(i)));
    EXPECT_NEAR(found.divergence, divergence, 1e-12);
    EXPECT_GT(found.divergence, 0.1);
    EXPECT_NEAR(found.difference, std::exp(row.log_probability(9)) - std::exp(base.log_probability(9)), 1e-12);
    EXPECT_FALSE(found.has_same_best);
    Divergence sums;
    sums.add({.negative_log = 2, .base_negative_log = 1, .divergence = 3, .difference = 0.25, .has_same_best = true});
    sums.add({.negative_log = 4, .base_negative_log = 2, .divergence = 1, .difference = -0.25, .has_same_best = false});
    EXPECT_DOUBLE_EQ(sums.perplexity().value, std::exp(3.0));
    EXPECT_DOUBLE_EQ(sums.base_perplexity().value, std::exp(1.5));
    EXPECT_DOUBLE_EQ(sums.log_ratio().value, 1.5);
    EXPECT_DOUBLE_EQ(sums.divergence().value, 2);
    EXPECT_DOUBLE_EQ(sums.divergence_at(0), 1);
    EXPECT_DOUBLE_EQ(sums.divergence_at(0.5), 2);
    EXPECT_DOUBLE_EQ(sums.difference().value, 0);
    EXPECT_DOUBLE_EQ(sums.difference_rms().value, 0.25);
    EXPECT_DOUBLE_EQ(sums.same_best().value, 0.5);
}

std::vector<int32_t> story_tokens(const Engine& engine) {
    std::string text = read_bytes(RIFTJIT_SOURCE_DIR "/tests/data/perplexity/stories.txt");
    text.pop_back();
    return *engine.tokenizer.encode(text, models::ParseSpecial::no, models::AddBos::yes);
}

// The same windows by the reference interpreter, in double from the file's weights on.
double reference_perplexity(const Engine& engine, const TextWindows& windows, std::span<const int32_t> tokens) {
    const auto graph = engine.model.build();
    EXPECT_TRUE(graph);
    graph::Reference reference(*graph);
    Likelihood sums;
    for (uint32_t window = 0; window < windows.count; ++window) {
        const auto ids = windows.of(tokens, window);
        std::vector<uint32_t> rows(windows.scored());
        std::iota(rows.begin(), rows.end(), windows.first);
        reference.reset();
        const auto logits = reference.run(ids.first(ids.size() - 1), rows);
        EXPECT_TRUE(logits);
        const size_t vocabulary = logits->size() / rows.size();
        for (size_t i = 0; i < rows.size(); ++i) {
            const std::span<const double> at = std::span(*logits).subspan(i * vocabulary, vocabulary);
            const double highest = std::ranges::max(at);
            double sum = 0;
            for (const double logit : at) sum += std::exp(logit - highest);
            sums.add(highest + std::log(sum) - at[size_t(ids[rows[i] + 1])]);
        }
    }
    return sums.perplexity();
}

double measured_perplexity(Engine& engine, const TextWindows& windows, std::span<const int32_t> tokens) {
    auto reader = WindowReader::create(*engine.session, 2, std::nullopt);
    Likelihood sums;
    for (uint32_t window = 0; window < windows.count; ++window) {
        const auto ids = windows.of(tokens, window);
        std::vector<double> found(windows.scored());
        EXPECT_TRUE(reader->read(ids, windows.first, [&](uint32_t row, const LogitRow& logits) {
            found[row - windows.first] = -logits.log_probability(ids[row + 1]);
        }));
        for (const double each : found) sums.add(each);
    }
    return sums.perplexity();
}

// Activations of 13 bits cost next to nothing, of 8 bits some tenths of a percent.
TEST(Perplexity, IsThatOfDoublesWithinATenthOfAPercent) {
    const std::string model = RIFTJIT_SOURCE_DIR "/share/models/storyteller/storyteller-9m-q8_0.gguf";
    EngineOptions options{.model = model, .threads = 2, .context = 128, .cache_mode = CacheMode::off, .outputs = 64};
    Engine engine = open_nano(options);
    const std::vector<int32_t> tokens = story_tokens(engine);
    const auto windows = divide_text(tokens.size(), 128, 0, 3);
    ASSERT_TRUE(windows);
    const double exact = reference_perplexity(engine, *windows, tokens);
    const double words = measured_perplexity(engine, *windows, tokens);
    EXPECT_NEAR(words, exact, 0.001 * exact);
    options.activations = Activations::i8;
    Engine bytes = open_nano(options);
    EXPECT_NEAR(measured_perplexity(bytes, *windows, tokens), exact, 0.005 * exact);
}

}  // namespace perplexity_test
}  // namespace riftjit::engine
