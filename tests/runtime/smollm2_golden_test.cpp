// A public model, SmolLM2-135M-Instruct (llama architecture, Q4_1 with a Q8_0 table), against transformers in float32.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/tokenizer/tokenizer.h"
#include "tests/host/oracle.h"
#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace smollm2_golden_test {

// In standard deviations of the logits, keys and values as f32. The estimate of session_golden_test.cpp over the 210
// matmuls of 30 layers: 2.1e-4 * sqrt(210) = 0.003, and four to five times that for the largest.
constexpr double kBound = 0.015;

class SmolLm2 : public testing::Test {
protected:
    void SetUp() override {
        const char* path = std::getenv("RIFTJIT_SMOLLM2");
        if (path == nullptr) return lack_oracle("RIFTJIT_SMOLLM2, a model: share/fetch-smollm2 prints where it lies");
        path_ = path;
        std::ifstream file(source_path("tests/data/goldens/smollm2-135m-instruct-q4_1.json"));
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

TEST_F(SmolLm2, PromptsBecomeThePublishedIds) {
    const auto file = models::Gguf::open(path_);
    ASSERT_TRUE(file) << file.error().message;
    const auto tokenizer = models::Tokenizer::from_gguf(*file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    for (const auto& golden : cases_) {
        const auto ids =
            tokenizer->encode(golden.at("prompt").get<std::string>(), models::ParseSpecial::yes, models::AddBos::no);
        ASSERT_TRUE(ids);
        EXPECT_THAT(*ids, testing::ElementsAreArray(golden.at("prompt_ids").get<std::vector<int32_t>>()));
    }
}

TEST_F(SmolLm2, LogitsAndTokensAreThoseOfTransformersAtEveryLevel) {
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
                EXPECT_NEAR(logits.at(pair[0].get<size_t>()), pair[1].get<double>(), kBound * spread) << name(isa);
            const auto greedy = golden.at("greedy_ids").get<std::vector<int32_t>>();
            const auto gaps = golden.at("greedy_gap").get<std::vector<double>>();
            for (size_t i = 0; i < greedy.size(); ++i) {
                const auto best = int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());
                EXPECT_TRUE(best == greedy[i] || gaps[i] <= 2 * kBound * spread)
                    << name(isa) << ": token " << i << " is " << best << ", expected " << greedy[i] << ", gap "
                    << gaps[i];
                logits = last_logits(*session, std::span(greedy).subspan(i, 1));
            }
        }
    }
}

}  // namespace smollm2_golden_test
}  // namespace riftjit::runtime
