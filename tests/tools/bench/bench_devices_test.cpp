// `riftjit bench` on a card, and on the software machine in its place: the processor's logits.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace bench_devices_test {

TEST(BenchDevices, HaveTheProcessorsLogits) {
    Program program;
    setenv("RIFTJIT_HIP_LIBRARY", RIFTJIT_HIP_STAND_IN "/whole/libamdhip64.so.7", 1);
    for (const std::string type : {"q4_k", "q8_0"}) {
        const auto hashes_of = [&](const std::vector<std::string>& more) {
            const std::string model = RIFTJIT_SOURCE_DIR "/tests/data/nano/nano-" + type + ".gguf";
            std::vector<std::string> arguments = {"bench", "-m", model, "-p", "11", "-n", "2", "-r", "1", "-o", "json"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            const Outcome outcome = program.run(arguments);
            EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
            std::vector<std::string> hashes;
            if (outcome.exit_code == 0)
                for (const auto& record : nlohmann::json::parse(outcome.out)) hashes.push_back(record["logits_hash"]);
            return std::pair(hashes, outcome.err);
        };
        const auto [expected, said] = hashes_of({"--max-isa", "avx2"});
        EXPECT_EQ(expected.size(), 2u);
        EXPECT_EQ(hashes_of({"--device", "hip"}).first, expected) << type;
        const auto [emulated, warned] = hashes_of({"--device", "emulate:gfx1030", "--check", "none"});
        EXPECT_EQ(emulated, expected) << type;
        EXPECT_TRUE(warned.starts_with(
            "warn: --device emulate:gfx1030: times are the software machine's and say nothing of a GPU's\n"))
            << warned;
        if (type == "q4_k") EXPECT_EQ(hashes_of({"--device", "emulate:gfx1201"}).first, expected) << "checked";
    }
    unsetenv("RIFTJIT_HIP_LIBRARY");
}

}  // namespace bench_devices_test
}  // namespace riftjit::tools
