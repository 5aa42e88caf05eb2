#include "runtime/sampling/sampler_parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace riftjit::runtime {
namespace sampler_parameters_test {

std::string message(const Result<void>& result) { return result ? "" : result.error().message; }
template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "" : result.error().message;
}

TEST(SamplerParameters, DefaultOrderIsThatOfLlamaCpp) {
    const auto parsed = parse_sampler_names("penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature");
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, default_samplers());
    const auto letters = parse_sampler_letters("edskypmxt");
    ASSERT_TRUE(letters);
    EXPECT_EQ(*letters, default_samplers());
}

TEST(SamplerParameters, NamesHaveAliasesInAnyCase) {
    const auto parsed = parse_sampler_names("Top-K;topp;NUCLEUS;temp;typ;min-p;adaptive-p;top_n_sigma");
    ASSERT_TRUE(parsed) << message_of(parsed);
    using enum SamplerStage;
    EXPECT_EQ(*parsed, (std::vector{top_k, top_p, top_p, temperature, typ_p, min_p, adaptive_p, top_n_sigma}));
    EXPECT_TRUE(parse_sampler_names("")->empty());
}

TEST(SamplerParameters, UnknownNamesAreRefusedWithTheValidOnes) {
    for (const char* bad : {"top_q", "top_k;", "top_k; top_p", "top_k,top_p"}) {
        const auto parsed = parse_sampler_names(bad);
        ASSERT_FALSE(parsed) << bad;
        EXPECT_EQ(parsed.error().kind, ErrorKind::Usage);
        for (const SamplerStage stage : default_samplers())
            EXPECT_NE(parsed.error().message.find(name(stage)), std::string::npos) << parsed.error().message;
    }
    EXPECT_EQ(message_of(parse_sampler_letters("kq")),
              "--sampler-seq: unknown sampler 'q'; valid letters: e penalties, d dry, s top_n_sigma, k top_k, y typ_p, "
              "p top_p, m min_p, x xtc, t temperature, a adaptive_p");
}

TEST(SamplerParameters, EveryStageHasItsNameAtItsPlace) {
    const auto all =
        parse_sampler_names("penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature;adaptive_p");
    ASSERT_TRUE(all);
    std::string joined;
    for (const SamplerStage stage : *all) joined += (joined.empty() ? "" : ", ") + std::string(name(stage));
    EXPECT_EQ(joined, sampler_names());
}

TEST(SamplerParameters, LogitBiasIsAnIdASignAndANumber) {
    EXPECT_EQ(parse_logit_bias("15043+1")->id, 15043);
    EXPECT_EQ(parse_logit_bias("15043+1")->bias, 1.0f);
    EXPECT_EQ(parse_logit_bias("7-0.5")->bias, -0.5f);
    EXPECT_EQ(parse_logit_bias("2-inf")->bias, -std::numeric_limits<float>::infinity());
    for (const char* bad : {"", "7", "7+", "x+1", "-7+1", "7*1", "7+nan", "7+1x", "7--1", "7+inf", "99999999999+1"})
        EXPECT_FALSE(parse_logit_bias(bad)) << bad;
    EXPECT_EQ(message_of(parse_logit_bias("7")),
              "--logit-bias \"7\": expected a token id, + or -, and a number, as in 15043-1.5");
}

TEST(SamplerParameters, DefaultsAreValid) { EXPECT_EQ(message(validate(SamplerParameters{}, 10)), ""); }

TEST(SamplerParameters, NumbersOutsideTheirRangeAreRefusedNamingFlagValueAndRange) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
    struct Case {
        const char* expected;
        std::function<void(SamplerParameters&)> set;
    };
    const Case cases[] = {
        {"--temp -1: expected a finite number from 0", [](auto& p) { p.temperature = -1; }},
        {"--temp nan: expected a finite number from 0", [=](auto& p) { p.temperature = kNan; }},
        {"--temp inf: expected a finite number from 0", [=](auto& p) { p.temperature = kInf; }},
        {"--dynatemp-range -0.5: expected a finite number from 0", [](auto& p) { p.dynatemp_range = -0.5f; }},
        {"--dynatemp-exp nan: expected a finite number from 0", [=](auto& p) { p.dynatemp_exponent = kNan; }},
        {"--top-k -1: expected 0 (off) or more", [](auto& p) { p.top_k = -1; }},
        {"--top-p 1.5: expected a number from 0 to 1", [](auto& p) { p.top_p = 1.5f; }},
        {"--min-p -0.1: expected a number from 0 to 1", [](auto& p) { p.min_p = -0.1f; }},
        {"--typical nan: expected a number from 0 to 1", [=](auto& p) { p.typical_p = kNan; }},
        {"--top-nsigma -2: expected a finite number from -1", [](auto& p) { p.top_n_sigma = -2; }},
        {"--xtc-probability 2: expected a number from 0 to 1", [](auto& p) { p.xtc_probability = 2; }},
        {"--xtc-threshold -1: expected a number from 0 to 1", [](auto& p) { p.xtc_threshold = -1; }},
        {"--repeat-penalty 0: expected a finite number above 0", [](auto& p) { p.repeat_penalty = 0; }},
        {"--repeat-penalty 1e-45: expected a finite number above 0", [](auto& p) { p.repeat_penalty = 1e-45f; }},
        {"--frequency-penalty inf: expected a finite number", [=](auto& p) { p.frequency_penalty = kInf; }},
        {"--presence-penalty nan: expected a finite number", [=](auto& p) { p.presence_penalty = kNan; }},
        {"--repeat-last-n -1: expected 0 (off) or more", [](auto& p) { p.penalty_last_n = -1; }},
        {"--dry-multiplier -1: expected a finite number from 0", [](auto& p) { p.dry_multiplier = -1; }},
        {"--dry-base 0.5: expected a finite number from 1", [](auto& p) { p.dry_base = 0.5f; }},
        {"--dry-allowed-length -1: expected 0 (off) or more", [](auto& p) { p.dry_allowed_length = -1; }},
        {"--dry-penalty-last-n -1: expected 0 (off) or more", [](auto& p) { p.dry_penalty_last_n = -1; }},
        {"--adaptive-target 1.5: expected a number from -1 to 1", [](auto& p) { p.adaptive_target = 1.5f; }},
        {"--adaptive-decay 1: expected a number from 0 to 0.99", [](auto& p) { p.adaptive_decay = 1; }},
        {"--mirostat-lr nan: expected a finite number from 0", [=](auto& p) { p.mirostat_eta = kNan; }},
        {"--mirostat-ent -5: expected a finite number from 0", [](auto& p) { p.mirostat_tau = -5; }},
        {"--min-keep -1: expected 0 (off) or more", [](auto& p) { p.min_keep = -1; }},
        {"--logit-bias: token 10 is outside the vocabulary of 10", [](auto& p) { p.logit_bias = {{10, 1}}; }},
    };
    for (const Case& bad : cases) {
        SamplerParameters parameters;
        bad.set(parameters);
        EXPECT_EQ(message(validate(parameters, 10)), bad.expected);
    }
}

TEST(SamplerParameters, SaysWhichSettingsHaveNoEffect) {
    SamplerParameters parameters;
    EXPECT_TRUE(unused_settings(parameters).empty());

    parameters.temperature = 0;
    EXPECT_TRUE(unused_settings(parameters).empty()) << "greedy alone contradicts nothing";
    parameters.seed = 1;
    parameters.top_p = 0.5f;
    parameters.repeat_penalty = 1.1f;
    EXPECT_EQ(unused_settings(parameters),
              (std::vector<std::string>{"--seed has no effect with --temp 0", "--top-p has no effect with --temp 0"}));

    parameters = {};
    parameters.mirostat = Mirostat::v2;
    parameters.temperature = 0.5f;
    parameters.top_k = 10;
    EXPECT_EQ(unused_settings(parameters), std::vector<std::string>{"--top-k has no effect with --mirostat"});

    parameters = {};
    parameters.stages = {SamplerStage::top_k};
    parameters.min_p = 0.2f;
    EXPECT_EQ(unused_settings(parameters),
              std::vector<std::string>{"--min-p has no effect: min_p is not among the samplers"});
}

}  // namespace sampler_parameters_test
}  // namespace riftjit::runtime
