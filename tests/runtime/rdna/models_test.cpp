// Whole models on RDNA GPUs, which the software machine is: the logits of the processor, bit by bit.
#include <gmock/gmock.h>

#include <map>

#include "runtime/plan_set.h"
#include "runtime/rdna/emulated_accelerator.h"
#include "runtime/rdna/rdna_device.h"
#include "tests/runtime/golden_run.h"

namespace riftjit::runtime {
namespace models_test {

constexpr rdna::Target kChips[] = {rdna::Target::gfx1030, rdna::Target::gfx1100, rdna::Target::gfx1201};

Outcome on_gpu(TestModel& model, const Golden& golden, rdna::Target chip, MachineChecks checks, DType kv_type,
               uint32_t batch) {
    KernelCache cache(compile_rdna, DiskCache::disabled());
    auto device = std::make_unique<RdnaDevice>(std::make_unique<EmulatedAccelerator>(chip, checks, 2), cache);
    auto session = Session::create(model.graph(), {128, batch, kv_type, kv_type, "all", batch}, std::move(device), {});
    if (!session) throw std::runtime_error(session.error().message);
    return run_golden(std::move(*session), golden);
}

Golden shortened(Golden golden, size_t greedy) {
    golden.greedy.resize(std::min(golden.greedy.size(), greedy));
    return golden;
}

// Families that ask for what GPUs have no kernel for, and what that is.
const std::map<std::string, std::string> kRefused = {
    {"afmoe", "route"},
    {"arwkv7", "convolution"},
    {"arctic", "route"},
    {"bailingmoe", "route"},
    {"bailingmoe2", "route"},
    {"bamba", "convolution"},
    {"cohere2moe", "route"},
    {"dbrx", "route"},
    {"deepseek", "route"},
    {"deepseek_v2", "heads"},
    {"deepseek_v2_lite", "heads"},
    {"deepseek_v3", "heads"},
    {"dots1", "route"},
    {"ernie4_5_moe", "route"},
    {"exaone_moe", "route"},
    {"falcon_h1", "convolution"},
    {"falcon_mamba", "convolution"},
    {"gemma3n", "heads"},
    {"gemma4", "heads"},
    {"gemma4_moe", "route"},
    {"glm4moe", "route"},
    {"gptoss", "route"},
    {"granitehybrid", "convolution"},
    {"granitehybrid_moe", "convolution"},
    {"granitemoe", "route"},
    {"granitemoe_shared", "route"},
    {"grok", "route"},
    {"hunyuan_moe", "route"},
    {"hy_v3", "route"},
    {"jamba", "convolution"},
    {"jamba_moe", "convolution"},
    {"lfm2", "convolution"},
    {"lfm2moe", "convolution"},
    {"llama4", "route"},
    {"mamba", "convolution"},
    {"mamba2", "convolution"},
    {"mellum", "route"},
    {"minicpm3", "heads"},
    {"minimax_m2", "route"},
    {"mistral4", "heads"},
    {"mixtral", "route"},
    {"nemotron_h", "convolution"},
    {"nemotron_h_moe", "convolution"},
    {"olmoe", "route"},
    {"phimoe", "route"},
    {"plamo2", "convolution"},
    {"plm", "heads"},
    {"qwen2moe", "route"},
    {"qwen35", "convolution"},
    {"qwen35moe", "convolution"},
    {"qwen3moe", "route"},
    {"qwen3next", "convolution"},
    {"qwen3vlmoe", "route"},
    {"rwkv6", "convolution"},
    {"rwkv7", "convolution"},
    {"smallthinker", "route"},
};

class RdnaModels : public testing::TestWithParam<GoldenCase> {};

// The same hash as the processor's means the same bits, and so all that is shown of those: the golden's tokens, the
// bounds.
TEST_P(RdnaModels, HaveTheProcessorsLogits) {
    TestModel model(GetParam().model, Isa::avx2, GetParam().adapter);
    const Golden golden = shortened(Golden(GetParam().name), 16);
    const std::string family = std::filesystem::path(GetParam().model).stem();
    if (const auto refused = kRefused.find(family); refused != kRefused.end()) {
        for (const rdna::Target chip : kChips) try {
                on_gpu(model, golden, chip, MachineChecks::none, DType::F16, 512);
                ADD_FAILURE() << rdna::name(chip) << " has a kernel for it";
            } catch (const std::exception& error) {
                EXPECT_THAT(error.what(), testing::HasSubstr(std::string(rdna::name(chip)) + ": "));
                EXPECT_THAT(error.what(), testing::ContainsRegex("no kernel for .*" + refused->second));
            }
        return;
    }
    const Outcome expected = run_golden(model.session(2, DType::F16, 512, 128), golden);
    for (const rdna::Target chip : kChips) {
        const Outcome found = on_gpu(model, golden, chip, MachineChecks::none, DType::F16, 512);
        EXPECT_EQ(found.hash, expected.hash) << rdna::name(chip);
        EXPECT_EQ(found.greedy_equal, expected.greedy_equal);
    }
}

INSTANTIATE_TEST_SUITE_P(Goldens, RdnaModels, testing::ValuesIn(golden_cases()), [](const auto& test) {
    std::string name = test.param.name;
    std::ranges::replace_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return name;
});

// A finding would end the run.
TEST(RdnaModelsChecked, HaveNothingToReport) {
    for (const char* type : {"q8_0", "q4_k", "f16"}) {
        TestModel model(fmt::format("tests/data/nano/nano-{}.gguf", type), Isa::avx2);
        const Golden golden = shortened(Golden(fmt::format("nano-{}", type)), 2);
        const Outcome expected = run_golden(model.session(2, DType::F16, 512, 128), golden);
        for (const rdna::Target chip : kChips)
            EXPECT_EQ(on_gpu(model, golden, chip, MachineChecks::all, DType::F16, 512).hash, expected.hash)
                << type << " on " << rdna::name(chip);
    }
}

TEST(RdnaModelsCaches, AreThoseOfTheProcessor) {
    TestModel model("tests/data/nano/nano-q4_k.gguf", Isa::avx2);
    const Golden golden = shortened(Golden("nano-q4_k"), 4);
    for (const DType type : {DType::F32, DType::Q8_0}) {
        const Outcome expected = run_golden(model.session(2, type, 512, 128), golden);
        for (const rdna::Target chip : kChips)
            for (const uint32_t batch : {512u, 7u})
                EXPECT_EQ(on_gpu(model, golden, chip, MachineChecks::none, type, batch).hash, expected.hash)
                    << name(type) << " on " << rdna::name(chip) << ", steps of " << batch;
    }
}

struct Launches {
    std::string file;
    size_t per_layer, per_token;
};

// At most seven a layer and three a token; more where layers are not of llama's shape (docs/RDNA.md).
TEST(RdnaPlans, HaveFewLaunches) {
    for (const auto& [path, per_layer, per_token] :
         {Launches{"tests/data/nano/nano-q4_k.gguf", 7, 3}, Launches{"tests/data/families/llama.gguf", 7, 3},
          Launches{"share/models/storyteller/storyteller-9m-q8_0.gguf", 7, 3},
          Launches{"tests/data/families/mistral.gguf", 7, 3}, Launches{"tests/data/families/gemma.gguf", 7, 4},
          Launches{"tests/data/families/falcon.gguf", 8, 4}, Launches{"tests/data/families/gpt2.gguf", 9, 6},
          Launches{"tests/data/families/gemma2.gguf", 11, 5}, Launches{"tests/data/families/exaone4.gguf", 11, 3}}) {
        TestModel model(path, Isa::avx2);
        const RdnaBackend backend(rdna::Target::gfx1100);
        const auto plans = make_plans(model.graph(), {.backend = &backend});
        ASSERT_TRUE(plans) << plans.error().message;
        EXPECT_LE(plans->decode.steps.size(), per_layer * plans->graph.slots.size() + per_token) << path;
    }
}

}  // namespace models_test
}  // namespace riftjit::runtime
