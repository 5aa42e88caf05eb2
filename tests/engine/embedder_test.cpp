#include "engine/embedder.h"

#include <cmath>
#include <filesystem>

#include "graph/reference.h"
#include "jit/x86/detect.h"
#include "tests/engine/nano_engine.h"
#include "tests/safetensors.h"

namespace riftjit::engine {
namespace embedder_test {

using models::Pooling;
using Texts = std::vector<std::vector<int32_t>>;

std::string data_path(const std::string& path) { return std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/" + path; }
std::string encoder_path(const std::string& name) { return data_path("encoders/" + name + ".gguf"); }

struct Opened {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Embedder> embedder;
};

EngineOptions embedding_options(const std::string& path, std::optional<Pooling> pooling, Isa isa = Isa::avx2,
                                uint32_t threads = 2) {
    EngineOptions options{
        .model = path, .purpose = {.embeds = true, .pooling = pooling}, .max_isa = isa, .threads = threads};
    options.cache_mode = CacheMode::off;
    options.key_type = options.value_type = DType::F32;
    return options;
}

Opened open_embedder(const EngineOptions& options) {
    auto engine = open_engine(options, [](const std::string&) {});
    if (!engine) throw std::runtime_error(engine.error().message);
    Opened opened{std::make_unique<Engine>(std::move(*engine)), nullptr};
    auto embedder = Embedder::create(*opened.engine);
    if (!embedder) throw std::runtime_error(embedder.error().message);
    opened.embedder = std::move(*embedder);
    return opened;
}

std::vector<Embedding> embeddings(const Opened& opened, const Texts& texts) {
    auto found = opened.embedder->embed(texts);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found ? std::move(*found) : std::vector<Embedding>(texts.size());
}

std::vector<std::string> encoder_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(data_path("encoders")))
        names.push_back(entry.path().stem());
    std::ranges::sort(names);
    return names;
}

double deviation_of(const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / values.size()) * (value - sum / values.size());
    return std::sqrt(squares / values.size());
}

class EncoderGolden : public testing::TestWithParam<std::string> {
protected:
    EncoderGolden() {
        const std::vector<int32_t> ids = golden_.i32("ids");
        auto next = ids.begin();
        for (const int32_t length : golden_.i32("lengths")) {
            texts_.emplace_back(next, next + length);
            next += length;
        }
    }
    Opened open(std::optional<Pooling> pooling, Isa isa = Isa::avx2, uint32_t threads = 2) const {
        return open_embedder(embedding_options(encoder_path(GetParam()), pooling, isa, threads));
    }

    const Safetensors golden_{data_path("goldens/encoder-" + GetParam() + ".safetensors")};
    Texts texts_;
};

// Float weights multiply f32 activations: what is left is f32 rounding, 2^-24 per operation over a few hundred
// operations in a row, as in SessionGolden.
constexpr double kFloatBound = 5e-5;

TEST_P(EncoderGolden, RowsAreThoseOfTheFamilyAtEveryLevel) {
    const std::vector<double> rows = golden_.real("rows");
    const double bound = kFloatBound * deviation_of(rows);
    for (const Isa isa : x86::detect().levels) {
        const Opened opened = open(Pooling::none, isa);
        double largest = 0;
        size_t at = 0;
        for (const Embedding& found : embeddings(opened, texts_)) {
            ASSERT_EQ(found.values.size(), size_t(found.vectors) * opened.embedder->width());
            ASSERT_EQ(found.vectors, found.tokens);
            for (const float value : found.values) largest = std::max(largest, std::fabs(value - rows[at++]));
        }
        EXPECT_EQ(at, rows.size());
        EXPECT_LE(largest, bound) << name(isa);
        RecordProperty("error_sd_" + std::string(name(isa)), std::to_string(largest / deviation_of(rows)));
    }
}

// What is left is the golden's rounding to f32, half an ulp of values below 8, and where rows rotate the frequencies,
// which transformers has as f32: at position 256 an angle is off by up to 256 * 2^-24.
TEST_P(EncoderGolden, TheReferenceInDoubleHasTheRowsOfTheFamily) {
    const auto model = models::load_model(encoder_path(GetParam()), {.embeds = true, .pooling = Pooling::none});
    ASSERT_TRUE(model) << model.error().message;
    const auto graph = model->build();
    ASSERT_TRUE(graph) << graph.error().message;
    const std::vector<double> rows = golden_.real("rows");
    size_t at = 0;
    for (const std::vector<int32_t>& text : texts_) {
        const auto found = graph::Reference(*graph).run(text);
        ASSERT_TRUE(found) << found.error().message;
        for (const double value : *found) {
            ASSERT_LT(std::fabs(value), 8);
            ASSERT_NEAR(value, rows[at++], 4 * 0x1p-23 + 256 * 0x1p-24) << "in a text of " << text.size();
        }
    }
    EXPECT_EQ(at, rows.size());
}

// Of files whose pooling_type is rank.
class RankerGolden : public EncoderGolden {};

TEST_P(RankerGolden, ScoresAreThoseOfTheFamily) {
    const std::vector<double> scores = golden_.real("scores");
    const double bound = kFloatBound * deviation_of(golden_.real("rows"));
    for (const Isa isa : x86::detect().levels) {
        const Opened opened = open(std::nullopt, isa);
        EXPECT_EQ(opened.embedder->pooling(), Pooling::rank);
        ASSERT_EQ(opened.embedder->width(), scores.size() / texts_.size());
        const auto found = embeddings(opened, texts_);
        for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i].values[0], scores[i], bound) << name(isa);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, RankerGolden, testing::Values("xlm_roberta_rank"),
                         [](const auto& info) { return info.param; });

// With nobody beside it, on other threads, at other levels.
TEST_P(EncoderGolden, ATextHasTheSameBitsWhateverIsReadWithIt) {
    const auto expected = embeddings(open(Pooling::none), texts_);
    for (const Isa isa : x86::detect().levels)
        for (const uint32_t threads : {1u, 3u}) {
            const Opened opened = open(Pooling::none, isa, threads);
            for (size_t i = 0; i < texts_.size(); ++i)
                EXPECT_EQ(embeddings(opened, {texts_[i]})[0].values, expected[i].values)
                    << name(isa) << ", " << threads << " threads, text " << i;
        }
    Texts many;
    for (int i = 0; i < 100; ++i) many.push_back(texts_[i % texts_.size()]);
    const auto found = embeddings(open(Pooling::none), many);
    for (size_t i = 0; i < many.size(); ++i) EXPECT_EQ(found[i].values, expected[i % texts_.size()].values) << i;
}

TEST_P(EncoderGolden, PoolingTakesTheRowsItNames) {
    const auto rows = embeddings(open(Pooling::none), texts_);
    const auto first = embeddings(open(Pooling::cls), texts_), last = embeddings(open(Pooling::last), texts_),
               mean = embeddings(open(Pooling::mean), texts_);
    for (size_t i = 0; i < texts_.size(); ++i) {
        const size_t width = first[i].values.size(), count = texts_[i].size();
        const auto row = [&](size_t number) { return std::span(rows[i].values).subspan(number * width, width); };
        EXPECT_TRUE(std::ranges::equal(first[i].values, row(0)));
        EXPECT_TRUE(std::ranges::equal(last[i].values, row(count - 1)));
        for (size_t d = 0; d < width; ++d) {
            double sum = 0;
            for (size_t number = 0; number < count; ++number) sum += row(number)[d];
            EXPECT_EQ(mean[i].values[d], float(sum / double(count)));
        }
        EXPECT_EQ(mean[i].vectors, 1u);
        EXPECT_EQ(mean[i].tokens, count);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, EncoderGolden, testing::ValuesIn(encoder_names()),
                         [](const auto& info) { return info.param; });

// ---- decoders

Texts some_texts(std::initializer_list<uint32_t> lengths) {
    Texts texts;
    for (const uint32_t length : lengths) {
        std::vector<int32_t>& text = texts.emplace_back();
        for (uint32_t i = 0; i < length; ++i) text.push_back(int32_t((7 * i * i + 3 * i + length) % 500));
    }
    return texts;
}

// Rows of a decoder are what its output matrix would take: those of the graph's reference in double.
TEST(Embedder, GivesTheNormedRowsOfADecoder) {
    const Texts texts = some_texts({1, 5, 70});
    for (const char* family : {"llama", "qwen2", "gemma2"}) {
        const Opened opened =
            open_embedder(embedding_options(data_path(fmt::format("families/{}.gguf", family)), Pooling::none));
        const auto graph = opened.engine->model.build();
        ASSERT_TRUE(graph);
        const auto found = embeddings(opened, texts);
        for (size_t i = 0; i < texts.size(); ++i) {
            const auto expected = graph::Reference(*graph).run(texts[i]);
            ASSERT_TRUE(expected) << expected.error().message;
            ASSERT_EQ(found[i].values.size(), expected->size());
            const double bound = kFloatBound * deviation_of(*expected);
            for (size_t j = 0; j < expected->size(); ++j)
                ASSERT_NEAR(found[i].values[j], (*expected)[j], bound) << family;
        }
    }
}

TEST(Embedder, ReadsATextOfADecoderInAsManyStepsAsItTakes) {
    const Texts texts = some_texts({3, 200, 16, 1, 33, 17});
    for (const Pooling pooling : {Pooling::mean, Pooling::last, Pooling::cls}) {
        EngineOptions options = embedding_options(data_path("families/llama.gguf"), pooling);
        const auto expected = embeddings(open_embedder(options), texts);
        options.batch = 16;
        const Opened opened = open_embedder(options);
        EXPECT_EQ(opened.engine->device_model->prompt_plan.max_tokens, 16u);
        const auto found = embeddings(opened, texts);
        for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(found[i].values, expected[i].values) << i;
    }
}

// ---- refusals

std::string refusal(const Opened& opened, const Texts& texts) {
    const auto found = opened.embedder->embed(texts);
    return found ? "" : found.error().message;
}

TEST(Embedder, RefusesTextsThatAreEmptyTooLongOrNotTheVocabularys) {
    const Opened opened = open_embedder(embedding_options(encoder_path("bert"), std::nullopt));
    EXPECT_EQ(opened.embedder->most_tokens(), 384u);
    EXPECT_EQ(refusal(opened, {{}}), "the text is empty, and the vocabulary puts no token around it");
    EXPECT_EQ(refusal(opened, {{5}, std::vector<int32_t>(385, 7)}),
              "text 2 of 385 tokens is too large to process: up to 384 fit (-c)");
    EXPECT_EQ(refusal(opened, {{5}, {256}}), "text 2: token 256 is outside the vocabulary of 256");
    EXPECT_EQ(refusal(opened, {std::vector<int32_t>(384, 7)}), "");
}

TEST(Embedder, TakesTextsAsLongAsTheEncoderWasTrainedForWhateverTheSlotsHave) {
    EngineOptions options = embedding_options(encoder_path("bert"), std::nullopt);
    options.context = 1000;
    options.sequences = 4;
    options.shares_cache = false;
    EXPECT_EQ(open_embedder(options).embedder->most_tokens(), 384u);
    options.context = 100;
    EXPECT_EQ(open_embedder(options).embedder->most_tokens(), 100u);
}

TEST(Embedder, EndsWhereNobodyWaits) {
    const Opened opened = open_embedder(embedding_options(encoder_path("bert"), std::nullopt));
    const auto found = opened.embedder->embed(Texts{{5}}, [] { return false; });
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, "the client left");
}

std::string open_error(const EngineOptions& options) {
    const auto engine = open_engine(options, [](const std::string&) {});
    return engine ? "" : engine.error().message;
}

TEST(Embedder, SaysThatAnEncoderWritesNoText) {
    EngineOptions options = embedding_options(encoder_path("bert"), std::nullopt);
    options.purpose = {};
    EXPECT_EQ(open_error(options),
              encoder_path("bert") +
                  ": architecture bert is an encoder and writes no text; it makes vectors of texts (riftjit embed)");
}

TEST(Embedder, SaysThatAModelHasNoClassifier) {
    EXPECT_EQ(open_error(embedding_options(encoder_path("bert"), Pooling::rank)),
              encoder_path("bert") + ": no classifier to rank by: neither 'cls.weight' nor 'cls.output.weight'");
}

// ---- around texts, and between two

TEST(Embedder, PutsTheVocabularysTokensAroundTextsAndBetweenTwo) {
    const Opened wordpiece = open_embedder(embedding_options(encoder_path("bert"), std::nullopt));
    const auto text = wordpiece.embedder->tokens_of("the city");
    ASSERT_TRUE(text);
    ASSERT_EQ(text->size(), 4u);
    EXPECT_EQ(text->front(), 2);
    EXPECT_EQ(text->back(), 3);
    EXPECT_EQ(wordpiece.embedder->tokens_of_pair("the", "city").value(),
              (std::vector<int32_t>{2, (*text)[1], 3, (*text)[2], 3}));
    const Opened unigram = open_embedder(embedding_options(encoder_path("xlm_roberta_rank"), std::nullopt));
    const auto other = unigram.embedder->tokens_of("the city");
    ASSERT_TRUE(other);
    EXPECT_EQ(unigram.embedder->tokens_of_pair("the", "city").value(),
              (std::vector<int32_t>{0, (*other)[1], 2, 2, (*other)[2], 2}));
}

// ---- normalisation

TEST(Normalize, HasTheWaysOfLlamaCpp) {
    const std::vector<float> vector = {3, -4, 0};
    const auto normalized = [&](int way) {
        std::vector<float> copy = vector;
        normalize(copy, way);
        return copy;
    };
    EXPECT_EQ(normalized(-1), vector);
    EXPECT_EQ(normalized(0), (std::vector<float>{24570, -32760, 0}));
    EXPECT_EQ(normalized(1), (std::vector<float>{float(3 / 7.0), float(-4 / 7.0), 0}));
    EXPECT_EQ(normalized(2), (std::vector<float>{float(3 / 5.0), float(-4 / 5.0), 0}));
    const double cubic = std::cbrt(27.0 + 64.0);
    EXPECT_NEAR(normalized(3)[0], 3 / cubic, 1e-7);
    EXPECT_NEAR(normalized(3)[1], -4 / cubic, 1e-7);
    std::vector<float> zeros(4);
    normalize(zeros, 2);
    EXPECT_EQ(zeros, std::vector<float>(4));
}

TEST(Cosine, IsThatOfTheAngle) {
    const std::vector<float> one = {1, 0}, other = {1, 1}, zeros = {0, 0};
    EXPECT_NEAR(cosine(one, other), std::sqrt(0.5), 1e-12);
    EXPECT_EQ(cosine(one, zeros), 0);
    EXPECT_EQ(cosine(zeros, zeros), 1);
}

}  // namespace embedder_test
}  // namespace riftjit::engine
