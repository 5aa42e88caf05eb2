#include <gtest/gtest.h>

#include "engine/sampling.h"
#include "tests/models/gguf/gguf_builder.h"

namespace riftjit::engine {
namespace recommended_sampling_test {

using models::test::GgufBuilder;
using runtime::SamplerParameters;

struct Taken {
    SamplerParameters parameters;
    std::string text;
    std::vector<std::string> warnings;
};

Taken recommend(const GgufBuilder& builder, const std::set<std::string>& given = {}, SamplerParameters chosen = {}) {
    const models::test::TemporaryDirectory folder;
    const auto file = models::Gguf::open(folder.write("m.gguf", builder.bytes()));
    if (!file) throw std::runtime_error(file.error().message);
    Taken taken{std::move(chosen), {}, {}};
    taken.text = recommend_sampling(*file, given, taken.parameters,
                                    [&](const std::string& warning) { taken.warnings.push_back(warning); });
    return taken;
}

GgufBuilder recommending() {
    GgufBuilder builder;
    builder.add_f32("t", {32}, std::vector<float>(32));
    builder.set("general.sampling.temp", models::test::f32(0.6f))
        .set("general.sampling.top_p", models::test::f32(0.9f))
        .set("general.sampling.top_k", models::test::i32(20))
        .set("general.sampling.penalty_repeat", models::test::f32(1.1f))
        .set("general.sampling.penalty_last_n", models::test::i32(32));
    return builder;
}

TEST(RecommendedSampling, IsTakenWhereNoFlagSaysOtherwise) {
    const Taken all = recommend(recommending());
    EXPECT_EQ(all.parameters.temperature, 0.6f);
    EXPECT_EQ(all.parameters.top_p, 0.9f);
    EXPECT_EQ(all.parameters.top_k, 20);
    EXPECT_EQ(all.parameters.repeat_penalty, 1.1f);
    EXPECT_EQ(all.parameters.penalty_last_n, 32);
    EXPECT_EQ(all.parameters.min_p, SamplerParameters().min_p);
    EXPECT_EQ(all.text, "--temperature 0.6, --top-k 20, --top-p 0.9, --repeat-last-n 32, --repeat-penalty 1.1");
    EXPECT_TRUE(all.warnings.empty());

    SamplerParameters chosen;
    chosen.temperature = 1.5f;
    const Taken some = recommend(recommending(), {"--temperature", "--top-k"}, chosen);
    EXPECT_EQ(some.parameters.temperature, 1.5f);
    EXPECT_EQ(some.parameters.top_k, SamplerParameters().top_k);
    EXPECT_EQ(some.parameters.top_p, 0.9f);
}

TEST(RecommendedSampling, LeavesWhatHasNoEffectBesideTheFlags) {
    SamplerParameters chosen;
    chosen.temperature = 0;
    const Taken greedy = recommend(recommending(), {"--temperature"}, chosen);
    EXPECT_EQ(greedy.parameters.top_k, SamplerParameters().top_k);
    EXPECT_EQ(greedy.text, "--repeat-last-n 32, --repeat-penalty 1.1");
    EXPECT_TRUE(runtime::unused_settings(greedy.parameters).empty());
}

TEST(RecommendedSampling, HasTheChainOfSamplers) {
    GgufBuilder builder = recommending();
    builder.set("general.sampling.sequence", models::test::string("top_k;temperature"));
    const Taken taken = recommend(builder);
    EXPECT_EQ(taken.parameters.stages, (std::vector{runtime::SamplerStage::top_k, runtime::SamplerStage::temperature}));
    EXPECT_EQ(taken.parameters.top_p, SamplerParameters().top_p);  // no stage of the chain
    EXPECT_EQ(recommend(builder, {"--samplers"}).parameters.stages, SamplerParameters().stages);
}

TEST(RecommendedSampling, OfImpossibleValuesIsWarnedOf) {
    const std::pair<const char*, models::test::Value> kOdd[] = {
        {"temp", models::test::f32(-1)},
        {"top_p", models::test::f32(1.5f)},
        {"min_p", models::test::f32(NAN)},
        {"top_k", models::test::f32(2.5f)},
        {"top_k", models::test::i64(int64_t(1) << 40)},
        {"mirostat", models::test::i32(3)},
        {"penalty_last_n", models::test::i32(-2)},
        {"penalty_repeat", models::test::f32(0)},
        {"xtc_threshold", models::test::string("half")},
        {"sequence", models::test::string("top_k;magic")},
        {"sequence", models::test::f32(1)},
    };
    for (const auto& [name, value] : kOdd) {
        GgufBuilder builder;
        builder.add_f32("t", {32}, std::vector<float>(32));
        builder.set(std::string("general.sampling.") + name, value);
        const Taken taken = recommend(builder);
        ASSERT_EQ(taken.warnings.size(), 1u) << name;
        EXPECT_NE(taken.warnings[0].find(std::string("general.sampling.") + name), std::string::npos)
            << taken.warnings[0];
        EXPECT_EQ(taken.text, "");
        EXPECT_TRUE(runtime::validate(taken.parameters, 100)) << name;
    }
}

}  // namespace recommended_sampling_test
}  // namespace riftjit::engine
