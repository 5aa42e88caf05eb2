// Which level reads prompts: what competes, who wins, and that the answer is kept and read with suspicion.
#include "engine/level_choice.h"

#include <nlohmann/json.hpp>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "tests/engine/nano_engine.h"
#include "tests/host/scratch.h"

namespace riftjit::engine {
namespace level_choice_test {

using Levels = std::vector<Isa>;

graph::Graph graph_of(const std::string& type) { return *models::load_model(nano_path(type))->build(); }

TEST(LevelChoice, ComparesLevelsOfOtherCodeAndEqualBits) {
    const graph::Graph graph = graph_of("q4_k");
    const Levels all(all_isas().begin(), all_isas().end());
    EXPECT_EQ(levels_of_equal_bits(graph, Isa::amx_bf16, all), (Levels{Isa::amx_bf16, Isa::avx_vnni, Isa::amx_int8}));
    EXPECT_EQ(levels_of_equal_bits(graph, Isa::avx512_bf16,
                                   Levels{Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16}),
              (Levels{Isa::avx512_bf16, Isa::avx2}));
    EXPECT_EQ(levels_of_equal_bits(graph, Isa::avx512, Levels{Isa::avx2, Isa::avx512}),
              (Levels{Isa::avx512, Isa::avx2}));
    EXPECT_EQ(levels_of_equal_bits(graph, Isa::avx_vnni, Levels{Isa::avx2, Isa::avx_vnni}), Levels{Isa::avx_vnni});
    EXPECT_EQ(levels_of_equal_bits(graph, Isa::avx2, Levels{Isa::avx2}), Levels{Isa::avx2});
}

TEST(LevelChoice, KeepsToLevelsThatMultiplyBf16Alike) {
    const graph::Graph graph = graph_of("bf16");
    const Levels all(all_isas().begin(), all_isas().end());
    EXPECT_EQ(levels_of_equal_bits(graph, Isa::amx_bf16, all), (Levels{Isa::amx_bf16, Isa::amx_int8}));
    EXPECT_EQ(levels_of_equal_bits(graph, Isa::avx512_vnni, all), (Levels{Isa::avx512_vnni, Isa::avx_vnni}));
}

TEST(LevelChoice, TakesTheFastestUnlessItIsTheUsualOneNearly) {
    const auto trials = [](double usual, double other) {
        return std::vector<runtime::LevelTrial>{{Isa::avx512_vnni, usual, {}}, {Isa::amx_int8, other, {}}};
    };
    EXPECT_EQ(fastest(trials(10, 5), Isa::avx512_vnni), Isa::amx_int8);
    EXPECT_EQ(fastest(trials(10, 9.9), Isa::avx512_vnni), Isa::avx512_vnni);
    EXPECT_EQ(fastest(trials(10, 12), Isa::avx512_vnni), Isa::avx512_vnni);
    EXPECT_EQ(fastest({}, Isa::avx2), Isa::avx2);
}

std::string text_of(const std::string& path) {
    const std::vector<std::byte> bytes = read_file(path);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(LevelChoice, IsLeftOutByTheEnvironment) {
    const char* const before = getenv("RIFTJIT_TUNE");
    const std::string kept = before == nullptr ? "" : before;
    for (const auto& [text, expected] : {std::pair{"", true}, {"on", true}, {"off", false}}) {
        setenv("RIFTJIT_TUNE", text, 1);
        EXPECT_EQ(*tunes_by_environment(), expected) << text;
    }
    setenv("RIFTJIT_TUNE", "of", 1);
    EXPECT_EQ(tunes_by_environment().error().message, "RIFTJIT_TUNE: \"of\" is not known, expected on or off");
    setenv("RIFTJIT_TUNE", kept.c_str(), 1);
}

class KeptChoice : public testing::Test {
protected:
    Result<LevelChoice> choose(CacheMode mode) {
        KernelCache kernels(compile, DiskCache::disabled());
        return choose_prompt_level(graph_, {.backend = &x86::backend(level_)}, level_, 1, kernels, cache_.path("cache"),
                                   mode, [this](const std::string& warning) { warnings_ += warning + "\n"; });
    }
    std::string kept() const { return cache_.path("cache/levels.json"); }

    const Scratch cache_;
    const graph::Graph graph_ = graph_of("q8_0");
    const Isa level_ = *x86::choose_isa(x86::detect(), std::nullopt);
    std::string warnings_;
};

TEST_F(KeptChoice, IsMadeOnceAndRead) {
    const auto first = choose(CacheMode::rw);
    ASSERT_TRUE(first) << first.error().message;
    if (levels_of_equal_bits(graph_, level_, x86::detect().levels).size() == 1) {
        EXPECT_EQ(first->prompts, level_);
        EXPECT_TRUE(first->trials.empty());
        EXPECT_FALSE(std::filesystem::exists(kept()));
        GTEST_SKIP() << "this processor has one level to choose from";
    }
    EXPECT_TRUE(first->is_new);
    ASSERT_TRUE(std::filesystem::exists(kept()));
    for (const CacheMode mode : {CacheMode::rw, CacheMode::ro}) {
        const auto again = choose(mode);
        ASSERT_TRUE(again);
        EXPECT_FALSE(again->is_new);
        EXPECT_EQ(again->prompts, first->prompts);
        EXPECT_EQ(trials_as_json(*again), trials_as_json(*first));
    }
    for (const CacheMode mode : {CacheMode::off, CacheMode::require}) EXPECT_TRUE(choose(mode)->trials.empty());
    EXPECT_EQ(warnings_, "");
}

TEST_F(KeptChoice, IsMadeAgainWhereTheFileIsDamaged) {
    if (levels_of_equal_bits(graph_, level_, x86::detect().levels).size() == 1)
        GTEST_SKIP() << "this processor has one level to choose from";
    ASSERT_TRUE(choose(CacheMode::rw));
    const std::string whole = text_of(kept());
    for (const std::string& text : {std::string("["), std::string("{}"), std::string("[1]"), whole.substr(0, 90)}) {
        write_file(kept(), std::as_bytes(std::span(text)));
        EXPECT_TRUE(choose(CacheMode::ro)->trials.empty()) << text;
        EXPECT_TRUE(choose(CacheMode::rw)->is_new) << text;
    }
    auto json = nlohmann::ordered_json::parse(whole);
    for (const char* key : {"prompts", "trials"}) {
        auto changed = json;
        changed.begin().value()[key] = 7;
        const std::string text = changed.dump();
        write_file(kept(), std::as_bytes(std::span(text)));
        EXPECT_TRUE(choose(CacheMode::rw)->is_new) << key;
    }
}

}  // namespace level_choice_test
}  // namespace riftjit::engine
