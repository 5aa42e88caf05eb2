#include "runtime/cpu/level_trials.h"

#include <gtest/gtest.h>

#include <set>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "runtime/plan_set.h"
#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace level_trials_test {

// Each level of this machine, twice where it has one alone, with every kind of weights: times of all kernels that work
// on rows alone, and as many launches of them as the plan has.
TEST(LevelTrials, TimeTheStepsOfEveryLevel) {
    std::vector<Isa> levels = x86::detect().levels;
    if (levels.size() == 1) levels.push_back(levels.front());
    for (const char* type : {"f32", "f16", "bf16", "q8_0", "q4_k", "q6_k", "iq2_xs", "mxfp4", "nvfp4"}) {
        const std::string file = fmt::format("tests/data/nano/nano-{}.gguf", type);
        TestModel model(file, levels.back());
        x86::HostKernels kernels(model.cache());
        std::vector<PlanSet> plans;
        std::vector<const graph::Plan*> prompts;
        for (const Isa level : levels) plans.push_back(*make_plans(model.graph(), {.backend = &x86::backend(level)}));
        for (const PlanSet& set : plans) prompts.push_back(&set.prompt);
        for (const uint32_t threads : {1u, 3u}) {
            auto pool = ThreadPool::create(threads);
            const auto trials = try_levels(prompts, 33, *pool, kernels);
            ASSERT_TRUE(trials) << trials.error().message;
            ASSERT_EQ(trials->size(), levels.size());
            for (size_t i = 0; i < levels.size(); ++i) {
                const LevelTrial& trial = (*trials)[i];
                EXPECT_EQ(trial.level, levels[i]);
                double sum = 0;
                uint32_t launches = 0;
                std::set<std::string> names;
                for (const StepTrial& step : trial.steps) {
                    EXPECT_GT(step.ms, 0) << step.kernel;
                    EXPECT_TRUE(names.insert(step.kernel).second) << step.kernel;
                    sum += step.ms * step.launches;
                    if (step.kernel.contains("matmul")) launches += step.launches;
                }
                EXPECT_DOUBLE_EQ(trial.ms, sum);
                uint32_t matmuls = 0;  // but those of the rows with logits
                for (const graph::Step& step : prompts[i]->steps)
                    matmuls += std::holds_alternative<MatmulSpec>(step.spec) && step.rows == graph::StepRows::batch;
                EXPECT_GT(launches, 0u);
                EXPECT_EQ(launches, matmuls);
            }
        }
    }
}

}  // namespace level_trials_test
}  // namespace riftjit::runtime
