// Public models against transformers in float32: SmolLM2-135M-Instruct (llama architecture, Q4_1 with a Q8_0 table) and
// Gemma 3 270M (Q4_K_M).
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/tokenizer/tokenizer.h"
#include "tests/host/oracle.h"
#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace public_models_test {

struct PublicModel {
    const char *name, *variable, *fetched_by, *golden;
    // In standard deviations of the logits, keys and values as f32. The estimate of session_golden_test.cpp over the
    // matmuls of all layers, 7 in each, and four to five times that for the largest.
    double bound;
};
constexpr PublicModel kPublicModels[] = {
    // 210 matmuls: 2.1e-4 * sqrt(210) = 0.003
    {"SmolLm2", "RIFTJIT_SMOLLM2", "share/fetch-smollm2", "smollm2-135m-instruct-q4_1", 0.015},
    // 126 matmuls: 0.0024; as its gains reach 20 and more, some activations have more of the noise than others: twice
    // that.
    {"Gemma3", "RIFTJIT_GEMMA3", "tests/peer/fetch.sh", "gemma-3-270m-q4_k_m", 0.024},
};

class PublicModels : public testing::TestWithParam<PublicModel> {
protected:
    void SetUp() override {
        const char* path = std::getenv(GetParam().variable);
        if (path == nullptr)
            return lack_oracle(
                fmt::format("{}, a model: {} prints where it lies", GetParam().variable, GetParam().fetched_by));
        path_ = path;
        std::ifstream file(source_path(fmt::format("tests/data/goldens/{}.json", GetParam().golden)));
        cases_ = nlohmann::json::parse(file).at("cases");
        ASSERT_EQ(cases_.size(), 2u);
    }

    std::string path_;
    nlohmann::json cases_;
};

std::vector<float> last_logits(Session& session, std::span<const int32_t> ids) {
    const auto logits = session.evaluate(ids);
    if (!logits) throw std::runtime_error(logits.error().message);
    return {logits->begin(), logits->end()};
}

double deviation(const std::vector<float>& logits) {
    double sum = 0, squares = 0;
    for (float logit : logits) sum += logit;
    for (float logit : logits) squares += std::pow(logit - sum / logits.size(), 2);
    return std::sqrt(squares / logits.size());
}

TEST_P(PublicModels, PromptsBecomeThePublishedIds) {
    const auto file = models::Gguf::open(path_);
    ASSERT_TRUE(file) << file.error().message;
    const auto tokenizer = models::Tokenizer::from_gguf(*file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    for (const auto& golden : cases_) {
        const auto ids =
            tokenizer->encode(golden.at("prompt").get<std::string>(), models::ParseSpecial::yes, models::AddBos::yes);
        ASSERT_TRUE(ids);
        EXPECT_THAT(*ids, testing::ElementsAreArray(golden.at("prompt_ids").get<std::vector<int32_t>>()));
    }
}

TEST_P(PublicModels, LogitsAndTokensAreThoseOfTransformersAtEveryLevel) {
    const auto model = models::load_model(path_);
    ASSERT_TRUE(model) << model.error().message;
    const auto graph = model->build();
    ASSERT_TRUE(graph);
    for (const Isa isa : x86::detect().levels) {
        KernelCache cache(x86::compile, DiskCache::disabled());
        const SessionOptions options{128, 64, DType::F32, DType::F32, "all", 1};
        auto device = CpuDevice::create(isa, 2, Helpers::always, cache);
        ASSERT_TRUE(device) << device.error().message;
        auto session = Session::create(*graph, options, std::move(*device), {});
        ASSERT_TRUE(session) << session.error().message;
        for (const auto& golden : cases_) {
            session->truncate(0);
            const auto prompt = golden.at("prompt_ids").get<std::vector<int32_t>>();
            std::vector<float> logits = last_logits(*session, prompt);
            const double spread = deviation(logits);
            for (const auto& pair : golden.at("first_top5"))
                EXPECT_NEAR(logits.at(pair[0].get<size_t>()), pair[1].get<double>(), GetParam().bound * spread)
                    << name(isa);
            const auto greedy = golden.at("greedy_ids").get<std::vector<int32_t>>();
            const auto gaps = golden.at("greedy_gap").get<std::vector<double>>();
            for (size_t i = 0; i < greedy.size(); ++i) {
                const auto best = int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
                EXPECT_TRUE(best == greedy[i] || gaps[i] <= 2 * GetParam().bound * spread)
                    << name(isa) << ": token " << i << " is " << best << ", expected " << greedy[i] << ", gap "
                    << gaps[i];
                logits = last_logits(*session, std::span(greedy).subspan(i, 1));
            }
        }
    }
}

std::string model_name(const testing::TestParamInfo<PublicModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, PublicModels, testing::ValuesIn(kPublicModels), model_name);

}  // namespace public_models_test
}  // namespace riftjit::runtime
