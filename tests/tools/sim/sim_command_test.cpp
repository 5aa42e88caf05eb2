#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/program.h"
#include "tools/cli/step_progress.h"

namespace riftjit::tools {
namespace sim_command_test {

nlohmann::json json_of(const std::vector<std::string>& more) {
    Program program;
    std::vector<std::string> arguments = {"sim", "--neurons", "1k", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = program.run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return nlohmann::json::parse(outcome.out);
}

TEST(SimCommand, GivesThePublishedTotalAndHashesAtEveryThreadCountAndLevel) {
    for (const std::string level : {"avx2", "avx512_fp16"}) {  // lowers; a level above the machine's is the machine's
        for (const std::string threads : {"1", "2", "3", "5"}) {
            const auto json = json_of({"-t", threads, "--max-isa", level});
            EXPECT_EQ(json["spikes"], 33'107) << level << threads;
            EXPECT_EQ(json["counts_hash"], "580cee97616e544e");
            EXPECT_EQ(json["graph_hash"], "69eb9d1d788c1f1e");
            EXPECT_EQ(json["arrivals"], 4 * 33'107);
            EXPECT_EQ(json["threads"], std::stoi(threads));
        }
    }
}

TEST(SimCommand, PrintsATableWithoutProgressWhereThereIsNoTerminal) {
    Program program;
    const Outcome outcome = program.run({"sim", "--neurons", "10k", "--steps", "200"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("spikes       32,822, 131,288 arrivals"), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("counts d2d09cb470c7ee95, graph 3e895c0e870e6449"), std::string::npos);
}

TEST(SimCommand, RefusesCountsThatCannotBe) {
    const std::pair<const char*, const char*> cases[] = {
        {"0", "--neurons\": 0 is out of range, expected 1 to 4294967295"},
        {"5G", "5G is out of range"},
        {"1.5", "expected a whole number, with k, M or G"},
        {"-3", "-3 is out of range"},
        {"60X", "got \"60X\""},
        {"", "got \"\""},
    };
    Program program;
    for (const auto& [neurons, message] : cases) {
        const Outcome outcome = program.run({"sim", "--neurons", neurons});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.out, "");
        EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    }
}

// nest-simulator issue 936: a thread count that cannot be had is an error that names it and the limit; one above the
// cores is honoured.
TEST(SimCommand, RefusesThreadCountsThatCannotBe) {
    Program program;
    for (const std::string threads : {"1025", "-1"}) {
        const Outcome outcome = program.run({"sim", "--neurons", "1000", "--steps", "5", "-t", threads});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.out, "");
        EXPECT_NE(outcome.err.find(threads + " is out of range, expected an integer from 0 to 1024"), std::string::npos)
            << outcome.err;
    }
    const Outcome outcome = program.run({"sim", "--neurons", "1000", "--steps", "5", "-t", "37"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("37 threads"), std::string::npos) << outcome.out;
}

TEST(SimCommand, NamesTheBytesThatAreMissing) {
    Program program;
    const Outcome outcome = program.run({"sim", "--neurons", "4G", "--targets", "stored"});
    if (outcome.exit_code == 0) GTEST_SKIP() << "wants a machine with less than 180 GB of memory";
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("4000000000 neurons take 184544002048 bytes of memory, "), std::string::npos)
        << outcome.err;
}

TEST(SimCommand, PrintsWhatWasDoneWhenInterrupted) {
    Program program;
    program.start({"sim", "--neurons", "200k", "--steps", "1000000", "-t", "1", "--json"});
    program.wait_for_cpu_seconds(0.5 * kSanitizerSlowdown);
    program.send(SIGINT);
    const Outcome outcome = program.wait_for_end();
    EXPECT_EQ(outcome.exit_code, 130);
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_GT(json["steps"], 0);
    EXPECT_LT(json["steps"], 1'000'000);
    EXPECT_EQ(json["arrivals"].get<uint64_t>(), 4 * json["spikes"].get<uint64_t>());
}

TEST(SimCommand, EndsWithItsCodeWhenTerminated) {
    for (const auto& [signal, code] : {std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}}) {
        Program program;
        program.start({"sim", "--neurons", "200k", "--steps", "1000000", "-t", "1", "--json"});
        program.wait_for_cpu_seconds(0.5 * kSanitizerSlowdown);
        program.send(signal);
        const Outcome outcome = program.wait_for_end();
        EXPECT_EQ(outcome.exit_code, code);
        EXPECT_LT(nlohmann::json::parse(outcome.out)["steps"], 1'000'000);
    }
}

TEST(SimCommand, PrintsTheHashesAlone) {
    Program program;
    const Outcome outcome = program.run({"sim", "--neurons", "1k", "--hash", "--check"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "counts 580cee97616e544e\ngraph 69eb9d1d788c1f1e\n");
    EXPECT_EQ(json_of({"--check"})["checked"], nlohmann::json({"arrivals", "counts"}));
}

TEST(SimCommand, ExplainsInJson) {
    const auto plan = json_of({"--explain"});
    EXPECT_EQ(plan["neurons"], 1000);
    EXPECT_EQ(plan["bytes_per_neuron"], 27);
    EXPECT_EQ(plan["bytes_per_step"], 50'000);
    EXPECT_FALSE(plan.contains("least_ms_per_step")) << "27 kB stay in a cache";
}

// 10.8 million neurons: beyond the 256 MiB from which on the memory's rate counts.
TEST(SimCommand, NamesTheLeastTimeOfAStep) {
    if (kSanitizerSlowdown > 1) GTEST_SKIP() << "sanitizers know nothing of generated code, but slow the measurement";
    Program program;
    const Outcome outcome = program.run({"sim", "--neurons", "10800000", "--explain", "--json"});
    const auto plan = nlohmann::json::parse(outcome.out);
    EXPECT_NEAR(plan["least_ms_per_step"].get<double>(), 50e-6 * 10.8e6 / plan["read_gb_per_s"].get<double>(), 1e-9);
}

TEST(SimCommand, DumpsTheKernelOfLevelsThatAreNotHere) {
    Program program;
    const Outcome outcome = program.run({"sim", "--neurons", "1k", "--dump-isa", "--max-isa", "avx512_fp16"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.out.find("vpcompressd"), std::string::npos);
}

TEST(StepProgress, SaysWhatIsDoneAndLeft) {
    EXPECT_EQ(progress_line(700, 2000, 45), "[#######             ]  35 %, 700 of 2000 steps, 1:24 left");
    EXPECT_EQ(progress_line(1, 4, 20, "workgroups"), "[#####               ]  25 %, 1 of 4 workgroups, 1:00 left");
    EXPECT_EQ(progress_line(2000, 2000, 9), "[####################] 100 %, 2000 of 2000 steps, 0:00 left");
}

}  // namespace sim_command_test
}  // namespace riftjit::tools
