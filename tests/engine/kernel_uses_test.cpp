#include "engine/kernel_uses.h"

#include <set>

#include "jit/x86/backend.h"
#include "tests/engine/nano_engine.h"

namespace riftjit::engine {
namespace kernel_uses_test {

std::vector<KernelUse> uses_of(const EngineOptions& options) {
    const auto isa = select_isa(options.max_isa);
    const auto model = models::load_model(options.model);
    const auto graph = model->build();
    return kernel_uses(*runtime::make_plans(*graph, plan_options(options, x86::backend(*isa))), *isa);
}

// What `warm` compiles must be what a run asks for, or --cache-mode require fails after it.
TEST(KernelUses, AreTheKernelsThatAnOpenedEngineHas) {
    for (const char* passes : {"all", "none"}) {
        for (const uint32_t outputs : {1u, 32u}) {
            EngineOptions options = nano_options("q4_k");
            options.passes = passes;
            options.outputs = outputs;
            std::set<std::string> listed, compiled;
            for (const KernelUse& use : uses_of(options))
                EXPECT_TRUE(listed.insert(kernel_name(use.spec)).second) << kernel_name(use.spec);
            const Engine engine = open_nano(options);
            for (const Kernel* kernel : engine.kernels->kernels()) compiled.insert(kernel->object.name);
            EXPECT_EQ(listed, compiled) << passes;
        }
    }
}

TEST(KernelUses, CountLaunchesInEachPlan) {
    const EngineOptions options = nano_options();
    const Engine engine = open_nano(options);
    size_t one_row = 0, many_rows = 0;
    for (const KernelUse& use : uses_of(options)) {
        one_row += use.launches_one_row;
        many_rows += use.launches_many_rows;
        EXPECT_EQ(use.launches_one_row + use.launches_many_rows == 0, std::holds_alternative<ReduceSpec>(use.spec));
    }
    EXPECT_EQ(one_row, engine.session->decode_plan().steps.size());
    EXPECT_EQ(many_rows, engine.session->prompt_plan().steps.size());
}

}  // namespace kernel_uses_test
}  // namespace riftjit::engine
