// `riftjit selftest`: a row for each kernel and each model, on the processor, the software machine and a card that
// computes what it should not.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "jit/kernel_spec.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace selftest_test {

class Card {
public:
    explicit Card(const std::string& what) {
        setenv("RIFTJIT_HIP_LIBRARY", RIFTJIT_HIP_STAND_IN "/whole/libamdhip64.so.7", 1);
        setenv("RIFTJIT_STAND_IN", what.c_str(), 1);
    }
    ~Card() {
        unsetenv("RIFTJIT_HIP_LIBRARY");
        unsetenv("RIFTJIT_STAND_IN");
    }
    Card(const Card&) = delete;
};

// "rj_matmul_tile_q4_k_n70_..." is of "matmul_tile".
std::set<std::string> kinds_of(const nlohmann::json& kernels) {
    constexpr const char* kKinds[] = {
        "embed",          "rms_norm",     "layer_norm",   "quantize", "gather_rows", "matmul_vector",
        "matmul_tile",    "fused_matmul", "side_by_side", "rope",     "value_store", "attention_vector",
        "attention_tile", "swiglu",       "elementwise",  "reduce",   "hadamard"};
    std::set<std::string> found;
    for (const auto& kernel : kernels)
        for (const std::string kind : kKinds)
            if (kernel.at("name").get<std::string>().starts_with("rj_" + kind)) found.insert(kind);
    return found;
}

TEST(Selftest, PassesOnTheProcessorAndOnAGpu) {
    const Card card("checks=none");
    Program program;
    for (const std::string device : {"cpu", "hip", "emulate:gfx1201"}) {
        std::vector<std::string> arguments = {"selftest", "--json", "--device", device};
        if (device.starts_with("emulate")) arguments.insert(arguments.end(), {"--check", "none"});
        const Outcome outcome = program.run(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << device << ": " << outcome.err;
        if (outcome.exit_code != 0) continue;
        const auto json = nlohmann::json::parse(outcome.out);
        EXPECT_EQ(json.at("device"), device);
        EXPECT_EQ(json.at("models").size(), 30u);  // 28 types, two caches more
        // 28 types in lookups and both forms of products; others, of which each device lacks some.
        const bool is_cpu = device == "cpu";
        EXPECT_EQ(json.at("kernels").size(), 3 * 28u + (is_cpu ? 33u : 37u)) << device;
        EXPECT_EQ(kinds_of(json.at("kernels")).size(), 15u) << device;
        EXPECT_EQ(json.at("no_kernels_for"),
                  is_cpu ? nlohmann::json({"fused matmul", "side by side"}) : nlohmann::json({"hadamard", "reduce"}));
        std::set<std::string> names;
        for (const auto& kernel : json.at("kernels")) {
            EXPECT_TRUE(names.insert(kernel.at("name")).second) << kernel;
            EXPECT_LE(kernel.at("error"), kernel.at("bound")) << kernel;
            EXPECT_TRUE(kernel.at("processors_bits")) << kernel;
        }
    }
}

TEST(Selftest, PrintsATableForKernelsAndOneForModels) {
    Program program;
    const Outcome outcome = program.run({"selftest"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
    EXPECT_TRUE(outcome.out.starts_with("    ERROR     BOUND  BITS                   MS  RESULT  KERNEL\n"))
        << outcome.out;
    EXPECT_NE(outcome.out.find("\n\nWEIGHTS  CACHE KERNELS    ERROR    BOUND  BITS             RESULT\n"),
              std::string::npos);
    EXPECT_EQ(outcome.out.find("FAILED"), std::string::npos) << outcome.out;
}

// One bit of what a kernel writes, the lowest.
TEST(Selftest, NamesTheKernelThatComputesOtherBits) {
    Program program;
    const std::string kernel = "rj_matmul_tile_q4_k";
    const Card card("checks=none,flip=" + kernel + "@" + std::to_string(offsetof(MatmulArgs, out)));
    const Outcome outcome = program.run({"selftest", "--json", "--device", "hip"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(outcome.err.starts_with("error: --device hip: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(" failed: " + kernel), std::string::npos) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_FALSE(json.at("passed"));
    int failed = 0;
    for (const auto& row : json.at("kernels")) {
        const bool is_flipped = row.at("name").get<std::string>().starts_with(kernel);
        EXPECT_EQ(row.at("passed"), !is_flipped) << row;
        failed += is_flipped;
    }
    EXPECT_EQ(failed, 1);
}

}  // namespace selftest_test
}  // namespace riftjit::tools
