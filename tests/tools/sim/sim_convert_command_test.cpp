#include "tools/sim/sim_convert_command.h"

#include <nlohmann/json.hpp>

#include "tests/sim/files/recordings.h"
#include "tests/tools/command_in_process.h"

namespace riftjit::tools {
namespace sim_convert_command_test {

class SimConvert : public sim::RecordingFiles {
protected:
    static CommandOutcome convert(const std::vector<std::string>& arguments) {
        return run_in_process(add_sim_convert_command, "convert", arguments);
    }
    std::string written(sim::RecordingFormat format) const {
        EXPECT_TRUE(sim::write_recording(path(format), format, recording_));
        return path(format);
    }
    const sim::Recording recording_ = sim::sample_recording();
};

TEST_F(SimConvert, WritesBesideItsInputUnderTheFormatsEnding) {
    const CommandOutcome outcome = convert({written(sim::RecordingFormat::riftjit_h5), "--to", "npz"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(outcome.errors, "");
    EXPECT_EQ(outcome.output, path("spikes.npz") + fmt::format(": {} spikes, 2 populations, seed 16045690981402826360, "
                                                               "500 steps of 0.1 ms\n",
                                                               recording_.spikes.size()));
    const auto read = sim::read_recording(path("spikes.npz"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(*read, recording_);
    EXPECT_EQ(convert({path("spikes.npz"), "--to", "sonata"}).exit_code, 0);
    EXPECT_TRUE(std::filesystem::exists(path("spikes.sonata.h5")));
}

TEST_F(SimConvert, SaysWhatTheFormatHasNoPlaceFor) {
    const CommandOutcome outcome = convert({written(sim::RecordingFormat::npz), "--to", "dat"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.errors,
              "warn: dat files have no place for states of recorder membrane: left out\n"
              "warn: dat files have no place for states of recorder one: left out\n"
              "warn: dat files have no place for weights of recorder learned: left out\n");
}

TEST_F(SimConvert, ReplacesOnlyWhenForced) {
    const std::string input = written(sim::RecordingFormat::riftjit_h5);
    sim::write_bytes(path("out.npz"), "precious");
    const CommandOutcome refused = convert({input, "--to", "npz", "-o", path("out.npz")});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.errors, "error: " + path("out.npz") + ": exists, and is not replaced unless forced\n");
    EXPECT_EQ(sim::read_bytes(path("out.npz")), "precious");
    EXPECT_EQ(convert({input, "--to", "npz", "-o", path("out.npz"), "--force"}).exit_code, 0);
    EXPECT_TRUE(sim::read_recording(path("out.npz")));
    const CommandOutcome itself = convert({input, "--to", "h5", "--force"});
    EXPECT_EQ(itself.exit_code, 1);
    EXPECT_EQ(itself.errors, "error: " + input + ": is the input; name another file with -o\n");
}

// What is written under another name until it is whole would be removed first.
TEST_F(SimConvert, TakesNoInputForItsTemporary) {
    const std::string input = written(sim::RecordingFormat::npz) + ".new";
    std::filesystem::rename(path("spikes.npz"), input);
    const CommandOutcome refused = convert({input, "--to", "npz", "-o", path("spikes.npz")});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.errors, "error: " + input + ": is where " + path("spikes.npz") +
                                  " is written until it is whole; name another file with -o\n");
    EXPECT_TRUE(sim::read_recording(input));
}

TEST_F(SimConvert, RecoversWhatAKilledRunRecorded) {
    {
        auto writer = sim::RecordingWriter::create(path("run.npz"), sim::RecordingFormat::npz, sim::sample_header());
        ASSERT_TRUE(writer) << message(writer);
        ASSERT_TRUE((*writer)->append_spikes(sim::sample_spikes(0, 100)));
    }
    const CommandOutcome outcome = convert({path("run.npz.part"), "--to", "npz", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(outcome.errors, fmt::format("warn: {}: the run did not finish; {} spikes up to step 100 are there\n",
                                          path("run.npz.part"), sim::sample_spikes(0, 100).size()));
    const auto json = nlohmann::json::parse(outcome.output);
    EXPECT_EQ(json["output"], path("run.npz"));
    EXPECT_EQ(json["seed"], 0xDEADBEEF12345678u);
    EXPECT_EQ(json["finished"], false);
    EXPECT_EQ(sim::read_recording(path("run.npz"))->spikes, sim::sample_spikes(0, 100));
}

TEST_F(SimConvert, TakesStepAndRuleOfOtherProgramsFromTheCommandLine) {
    sim::write_bytes(path("brian.dat"), "1\t0.0\n2\t1.5\n");
    const CommandOutcome refused = convert({path("brian.dat"), "--to", "h5"});
    EXPECT_EQ(refused.errors,
              "error: " + path("brian.dat") + ": line 1: time 0 ms lies outside the steps 0 to 4294967295 of 0.1 ms\n");
    const CommandOutcome outcome = convert({path("brian.dat"), "--to", "h5", "--step-ms", "0.5", "--compat", "brian2"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.errors, "");
    EXPECT_EQ(outcome.output, path("brian.h5") + ": 2 spikes, 1 population, no seed, 4 steps of 0.5 ms\n");
    const auto read = sim::read_recording(path("brian.h5"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(read->spikes, (std::vector<sim::Spike>{{0, 0}, {3, 1}}));
    EXPECT_EQ(read->header.step_ms, 0.5);
    EXPECT_EQ(read->header.compat, "brian2");
}

TEST_F(SimConvert, NamesFormatsItDoesNotKnow) {
    const CommandOutcome outcome = convert({"x.h5", "--to", "mat"});
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_NE(outcome.errors.find("mat"), std::string::npos) << outcome.errors;
}

}  // namespace sim_convert_command_test
}  // namespace riftjit::tools
