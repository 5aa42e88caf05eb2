// Models whose weights are packed as they are read, with room for a few panels: the same bits.
#include <gtest/gtest.h>

#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace weights_on_demand_test {

constexpr uint64_t kPage = 4096;

std::vector<float> logits_of(TestModel& model, uint32_t threads, std::optional<WeightsOnDemand> on_demand) {
    auto device = CpuDevice::create(x86::detect().levels.back(), threads, Helpers::always, model.cache(), Profile::none,
                                    on_demand);
    if (!device) throw std::runtime_error(device.error().message);
    const SessionOptions options{64, 32, DType::F32, DType::F32, "all", 32};
    auto session = Session::create(model.graph(), options, std::move(*device), {});
    if (!session) throw std::runtime_error(session.error().message);
    std::vector<int32_t> ids(40);
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = int32_t(i * 37 % 251);
    std::vector<float> logits = evaluate(*session, ids);  // by tiles
    for (int step = 0; step < 3; ++step) {                // by single rows
        const std::vector<float> more = evaluate(*session, std::vector<int32_t>{step});
        logits.insert(logits.end(), more.begin(), more.end());
    }
    return logits;
}

class OnDemand : public testing::TestWithParam<const char*> {};

TEST_P(OnDemand, WeightsGiveTheSameBits) {
    TestModel model(GetParam(), x86::detect().levels.back());
    const std::vector<float> expected = logits_of(model, 1, std::nullopt);
    for (const uint32_t threads : {1u, 3u})
        EXPECT_TRUE(logits_of(model, threads, WeightsOnDemand{0, kPage}) == expected) << threads << " threads";
    EXPECT_TRUE(logits_of(model, 2, WeightsOnDemand{uint64_t{1} << 30}) == expected) << "with room for all";
}

INSTANTIATE_TEST_SUITE_P(Models, OnDemand,
                         testing::Values("tests/data/nano/nano-q8_0.gguf", "tests/data/nano/nano-q4_k.gguf",
                                         "tests/data/nano/nano-bf16.gguf", "tests/data/nano/nano-iq3_s.gguf",
                                         "tests/data/families/qwen3moe.gguf", "tests/data/families/phi3_short.gguf",
                                         "tests/data/families/gptneox.gguf"));

}  // namespace weights_on_demand_test
}  // namespace riftjit::runtime
