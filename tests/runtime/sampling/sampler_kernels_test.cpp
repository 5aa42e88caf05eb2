// The sampler with generated kernels in the place of plain code: the same tokens, at every level that this machine has.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "jit/x86/host_kernels.h"
#include "runtime/sampling/sampler.h"

namespace riftjit::runtime {
namespace sampler_kernels_test {

std::vector<float> random_row(uint32_t size, uint32_t seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> row(size);
    for (float& logit : row) logit = normal(engine);
    return row;
}

class SamplerKernels : public testing::TestWithParam<Isa> {
protected:
    LogitKernels kernels(uint32_t vocabulary) {
        const auto argmax = kernels_.get(ReduceSpec{ReduceKind::argmax, vocabulary}, GetParam());
        const auto collect = kernels_.get(ReduceSpec{ReduceKind::collect_above, vocabulary}, GetParam());
        EXPECT_TRUE(argmax && collect);
        EXPECT_TRUE(kernels_.seal());
        return {*argmax, *collect};
    }
    KernelCache cache_{x86::compile, DiskCache::disabled()};
    x86::HostKernels kernels_{cache_};
};

// Sizes around groups of 16 and of 64; the largest is Qwen3's vocabulary.
TEST_P(SamplerKernels, GiveTheTokensOfPlainCode) {
    for (const uint32_t vocabulary : {1u, 15u, 64u, 1003u, 151'936u}) {
        const LogitKernels generated = kernels(vocabulary);
        for (const float temperature : {0.0f, 0.8f}) {
            SamplerParameters parameters;
            parameters.seed = 17;
            parameters.temperature = temperature;
            parameters.repeat_penalty = 1.1f;
            auto plain = Sampler::create(parameters, vocabulary);
            auto fast = Sampler::create(parameters, vocabulary, {}, generated);
            ASSERT_TRUE(plain && fast);
            for (uint32_t step = 0; step < 20; ++step) {
                std::vector<float> row = random_row(vocabulary, step);
                if (step % 4 == 3)  // many equal logits
                    for (float& logit : row) logit = std::round(logit);
                const auto expected = plain->sample(row), sampled = fast->sample(row);
                ASSERT_TRUE(expected && sampled);
                ASSERT_EQ(*sampled, *expected) << vocabulary << " tokens, step " << step;
                plain->accept(*expected);
                fast->accept(*sampled);
            }
        }
    }
}

TEST_P(SamplerKernels, SeeNoNumbersAndForbiddenTokens) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    SamplerParameters parameters;
    parameters.temperature = 0;
    auto sampler = Sampler::create(parameters, 100, {}, kernels(100));
    ASSERT_TRUE(sampler);
    std::vector<float> row(100, 1.0f);
    row[77] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(sampler->sample(row).error().message,
              "1 of 100 logits are not numbers (NaN): weights are damaged or beyond f32");
    row[77] = kInf;
    EXPECT_EQ(sampler->sample(row).error().message,
              "the logit of token 77 is infinite: weights or penalties are beyond f32");
    row.assign(100, -kInf);
    EXPECT_EQ(sampler->sample(row).error().message, "every token of the vocabulary is forbidden, none can be sampled");
    row[99] = -1000;
    EXPECT_EQ(*sampler->sample(row), 99);
}

INSTANTIATE_TEST_SUITE_P(Levels, SamplerKernels, testing::ValuesIn(x86::detect().levels),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace sampler_kernels_test
}  // namespace riftjit::runtime
