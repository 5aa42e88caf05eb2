#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/host/oracle.h"
#include "tests/tools/program.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {
namespace sim_network_command_test {

// Two populations, delays, noise, every neuron its own Poisson train, recorded potentials.
constexpr const char* kNetwork = R"(
name = "small"
[simulation]
duration = "200 ms"
seed = 7
[population.E]
model = "iaf_psc_exp"
size = 80
initial = { V = { uniform = ["-70 mV", "-55 mV"] } }
[population.I]
model = "iaf_psc_exp"
size = 20
[[projection]]
from = "E"
to = ["E", "I"]
receptor = "ex"
rule = "fixed_indegree"
indegree = 10
weight = { normal = ["60 pA", "6 pA"] }
delay = { uniform = ["0.5 ms", "3 ms"] }
[[projection]]
from = "I"
to = ["E", "I"]
receptor = "in"
rule = "pairwise_bernoulli"
probability = 0.2
weight = "-200 pA"
delay = "1 ms"
[[input]]
kind = "poisson"
to = ["E", "I"]
receptor = "ex"
rate = "8 kHz"
weight = "60 pA"
[[record]]
spikes = "all"
[[record]]
states = "E"
variables = ["V"]
neurons = "0..4"
)";

class SimNetwork : public testing::Test {
protected:
    void SetUp() override { std::ofstream(network_) << kNetwork; }

    std::string path(const std::string& name) const { return program_.folder() / name; }
    Outcome run(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"sim", network_});
        return program_.run(arguments);
    }
    nlohmann::json json(std::vector<std::string> arguments) {
        arguments.push_back("--json");
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        return nlohmann::json::parse(outcome.out);
    }

    Program program_;
    const std::string network_ = path("small.toml");
};

TEST_F(SimNetwork, GivesTheSameSpikesAtEveryThreadCountAndLevel) {
    const auto first = json({"-t", "1"});
    EXPECT_GT(first["spikes"], 500);
    EXPECT_EQ(first["neurons"], 100);
    EXPECT_EQ(first["seed"], 7);
    for (const std::string level : {"avx2", "avx512_fp16"}) {
        for (const std::string threads : {"1", "2", "5", "16"}) {
            const auto other = json({"-t", threads, "--max-isa", level});
            for (const char* key : {"spikes", "spikes_hash", "graph_hash", "synaptic_events", "populations"})
                EXPECT_EQ(other[key], first[key]) << key << ", " << threads << " threads, " << level;
        }
    }
    EXPECT_NE(json({"--seed", "8"})["graph_hash"], first["graph_hash"]);
}

TEST_F(SimNetwork, RecordsWhatItReports) {
    const auto reported = json({"--record", path("spikes.h5")});
    const Outcome converted = program_.run({"sim", "convert", path("spikes.h5"), "--to", "npz"});
    EXPECT_EQ(converted.out, path("spikes.npz") + ": " + reported["spikes"].dump() +
                                 " spikes, 2 populations, seed 7, 2000 steps of 0.1 ms\n");
    EXPECT_EQ(converted.exit_code, 0) << converted.err;
}

// Synapses whose weights change, recorded by one thread and by three, in every format that holds weights.
constexpr const char* kPlastic = R"(
name = "plastic"
[simulation]
duration = "200 ms"
[population.In]
model = "poisson"
size = 30
rate = "40 Hz"
[population.E]
model = "iaf_psc_exp"
size = 10
parameters = { I_e = "500 pA" }
[[projection]]
name = "In -> E"
from = "In"
to = "E"
receptor = "ex"
rule = "pairwise_bernoulli"
probability = 0.5
weight = { uniform = ["20 pA", "80 pA"] }
delay = "1 ms"
synapse = "stdp"
[[record]]
weights = "In -> E"
interval = "50 ms"
name = "w"
)";

TEST_F(SimNetwork, RecordsWeightsInEveryFormatThatHoldsThem) {
    std::ofstream(network_) << kPlastic;
    std::string first;
    for (const std::string threads : {"1", "3"}) {
        for (const std::string format : {"h5", "npz", "nwb"}) {
            const std::string file = path("w" + threads + "." + format), array = path("w" + threads + format + ".npz");
            json({"--record", file, "-t", threads});
            EXPECT_EQ(program_.run({"sim", "convert", file, "--to", "npz", "-o", array}).exit_code, 0);
            // The command line, in the metadata, tells them apart; the arrays follow it.
            const std::string bytes = read_whole(array);
            const std::string weights = bytes.substr(bytes.find("weights/w/source.npy"));
            if (first.empty()) first = weights.substr(0, weights.find("PK\x01\x02"));
            EXPECT_EQ(weights.substr(0, weights.find("PK\x01\x02")), first) << file;
        }
    }
    EXPECT_GT(first.size(), 4 * 100 * sizeof(double)) << "four samples of about 150 synapses";
    for (const std::string format : {"dat", "sonata"}) {
        const Outcome left_out = run({"--record", path("w." + format), "--record-format", format, "--json"});
        EXPECT_EQ(left_out.exit_code, 0);
        EXPECT_EQ(left_out.err, "warn: " + format + " files have no place for weights of recorder w: left out\n");
    }
}

TEST_F(SimNetwork, WritesTheSynapsesThatItSimulates) {
    const auto result = json({"--record-network", path("net.h5")});
    std::ofstream(path("read.py")) << "import sys, h5py\nf = h5py.File(sys.argv[1], 'r')\n"
                                   << "sizes = [len(e['source_node_id']) for e in f['edges'].values()]\n"
                                   << "print('%d %016x' % (sum(sizes), f.attrs['graph_hash']))\n";
    if (std::system("/usr/bin/python3 -c 'import h5py' 2> /dev/null") != 0) return lack_oracle("Debian's python3-h5py");
    const std::string command =
        "/usr/bin/python3 " + path("read.py") + " " + path("net.h5") + " > " + path("sums") + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(read_whole(path("sums")),
              result["synapses"].dump() + " " + result["graph_hash"].get<std::string>() + "\n");
}

TEST_F(SimNetwork, GoesOnFromASavedStateAsIfItHadNeverStopped) {
    const auto whole = json({});
    const std::string state = path("state");
    const auto half = json({"--steps", "777", "--save", state, "-t", "2"});
    EXPECT_EQ(half["steps"], 777);
    const auto rest = json({"--resume", state, "-t", "3"});
    EXPECT_EQ(rest["first_step"], 777);
    for (const char* key : {"steps", "spikes", "spikes_hash", "counts_hash", "graph_hash", "synaptic_events"})
        EXPECT_EQ(rest[key], whole[key]) << key;
    EXPECT_EQ(rest["this_run"]["steps"], 2000 - 777);
    for (const char* key : {"spikes", "synaptic_events"}) {
        EXPECT_EQ(half[key], half["this_run"][key]) << key;
        EXPECT_EQ(rest["this_run"][key].get<uint64_t>(), whole[key].get<uint64_t>() - half[key].get<uint64_t>()) << key;
    }
    json({"--resume", state, "--steps", "200", "--save", path("./state")});
    EXPECT_EQ(json({"--resume", state})["first_step"], 977) << "a state takes the place of the one it goes on from";
}

// Rates and times of a resumed run are of the part that it ran, so its counts are too.
TEST_F(SimNetwork, TellsApartWhatAResumedRunDidAndWhatWasDoneBefore) {
    const std::string state = path("state");
    const auto first = json({"--steps", "1000", "--save", state}), whole = json({});
    const Outcome outcome = run({"--resume", state});
    const auto contains = [&](const std::string& row) { return outcome.out.find(row) != std::string::npos; };
    EXPECT_TRUE(contains("steps        1,000 of 0.1 ms, rules of nest, after 1,000 of the saved state\n"))
        << outcome.out;
    const uint64_t spikes = whole["spikes"].get<uint64_t>() - first["spikes"].get<uint64_t>();
    EXPECT_TRUE(contains("spikes       " + grouped(spikes) + ", ")) << outcome.out;
    EXPECT_TRUE(contains("since step 0 " + grouped(whole["spikes"].get<uint64_t>()) + " spikes, ")) << outcome.out;
}

// A column of values for the neurons is another program than a constant.
TEST_F(SimNetwork, SaysThatADrawnAmplitudeBelongsToTheNetworkOfASavedState) {
    std::ofstream(network_, std::ios::app) << R"([[input]]
kind = "dc"
to = "E"
amplitude = { uniform = ["0 pA", "50 pA"] }
)";
    const std::string state = path("state");
    json({"--steps", "10", "--save", state});
    EXPECT_EQ(json({"--resume", state, "--set", "input.0.rate=9 kHz"})["first_step"], 10);
    const Outcome refused = run({"--resume", state, "--set", "input.1.amplitude=25 pA"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find("but not what is drawn for each neuron"), std::string::npos) << refused.err;
}

// The first TOML text of the manual, and the block of output behind it.
TEST_F(SimNetwork, GivesTheRowsThatTheManualShows) {
    const std::string manual = read_whole(std::string(RIFTJIT_SOURCE_DIR) + "/docs/SIMULATOR.md");
    const auto block_from = [&](size_t& at, const std::string& fence) {
        const size_t begin = manual.find(fence + "\n", at) + fence.size() + 1;
        at = manual.find("\n```", begin) + 1;
        return manual.substr(begin, at - begin);
    };
    size_t at = 0;
    std::ofstream(path("my.toml")) << block_from(at, "```toml");
    at += 3;
    std::istringstream rows(block_from(at, "```"));
    const Outcome outcome = program_.run({"sim", path("my.toml")});
    size_t count = 0;
    for (std::string row; std::getline(rows, row); ++count)
        EXPECT_NE(outcome.out.find(row + "\n"), std::string::npos) << row << "\nin\n" << outcome.out;
    EXPECT_GE(count, 7u);
}

TEST_F(SimNetwork, ReplacesASavedStateOnlyWhenForcedButItsOwnAtEachInterval) {
    const std::string state = path("state");
    json({"--steps", "100", "--save", state, "--save-interval", "1 ms"});
    const std::string first = read_whole(state);
    const Outcome refused = run({"--steps", "200", "--save", state});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.err, "error: --save: " + state + " exists; --force overwrites it\n");
    EXPECT_EQ(read_whole(state), first);
    json({"--steps", "200", "--save", state, "--force"});
    EXPECT_EQ(json({"--resume", state, "--steps", "1"})["first_step"], 200);
}

TEST_F(SimNetwork, RefusesAStateThatCannotBeSavedBeforeTheRun) {
    const std::string record = path("spikes.h5"), state = path(std::string(NAME_MAX, 's'));  // ".part" is too much
    const Outcome refused = run({"--record", record, "--save", state});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find(".part: cannot be created: File name too long"), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(record));
}

TEST_F(SimNetwork, RefusesAPlotThatCannotBeWrittenBeforeTheRun) {
    const std::string record = path("spikes.h5"),
                      plot = path(std::string(NAME_MAX - 4, 'p') + ".png");  // ".new" is too much
    const Outcome refused = run({"--record", record, "--plot", plot});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find(".png.new: cannot be created: File name too long"), std::string::npos) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(record));
    EXPECT_EQ(run({"--plot", path("raster.png")}).exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(path("raster.png.new")));
}

TEST_F(SimNetwork, LeavesNoUnfinishedNetworkBehindWhenInterrupted) {
    const std::vector<std::string> many = {
        "sim",     network_, "--set",           "population.E.size=50000", "--set", "projection.0.indegree=100",
        "--steps", "1",      "--record-network"};
    for (const auto& [signal, exit_code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143), std::pair(SIGHUP, 129)}) {
        std::vector<std::string> arguments = many;
        arguments.push_back(path("net.h5"));
        program_.start(arguments);
        for (int wait = 0; wait < 1000 && !std::filesystem::exists(path("net.h5.new")); ++wait)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        ASSERT_TRUE(std::filesystem::exists(path("net.h5.new")));
        program_.send(signal);
        EXPECT_EQ(program_.wait_for_end().exit_code, exit_code);
        EXPECT_FALSE(std::filesystem::exists(path("net.h5.new")));
        EXPECT_FALSE(std::filesystem::exists(path("net.h5")));
    }
}

TEST_F(SimNetwork, RecordsTheRestOfAResumedRunInEveryFormat) {
    const std::string state = path("state");
    json({"--steps", "1000", "--save", state});
    for (const std::string name : {"a.h5", "a.npz", "a.nwb", "a.dat"}) {
        const Outcome resumed = run({"--resume", state, "--record", path(name), "--json"});
        ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
        const auto rest = nlohmann::json::parse(resumed.out);
        const Outcome read = program_.run({"sim", "convert", path(name), "--to", "npz", "-o", path("b-" + name)});
        EXPECT_EQ(read.exit_code, 0) << read.err;
        uint64_t spikes = 0;
        for (const auto& population : rest["populations"]) spikes += population["spikes"].get<uint64_t>();
        EXPECT_NE(read.out.find(": " + std::to_string(spikes) + " spikes"), std::string::npos) << read.out;
    }
}

TEST_F(SimNetwork, CountsRatesOverTheWindowThatIsRecorded) {
    const auto whole = json({"--discard", "150 ms"});
    std::string text = kNetwork;
    text.replace(text.find("spikes = \"all\""), 14, "spikes = \"all\"\nstart = \"150 ms\"");
    std::ofstream(network_) << text;
    EXPECT_EQ(json({})["populations"], whole["populations"]);
}

TEST_F(SimNetwork, WritesWhatWasRecordedAndSavesWhenInterrupted) {
    const std::string record = path("spikes.npz"), state = path("state");
    program_.start({"sim", network_, "--duration", "3000 s", "--record", record, "--save", state, "--json"});
    program_.wait_for_cpu_seconds(0.7 * kSanitizerSlowdown);
    program_.send(SIGINT);
    const Outcome outcome = program_.wait_for_end();
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    const auto result = nlohmann::json::parse(outcome.out);
    EXPECT_GT(result["steps"], 0);
    EXPECT_LT(result["steps"], 30'000'000);
    const Outcome read = program_.run({"sim", "convert", record, "--to", "dat"});
    EXPECT_NE(read.out.find(result["spikes"].dump() + " spikes"), std::string::npos) << read.out << read.err;
    const auto resumed = json({"--resume", state, "--steps", "10"});
    EXPECT_EQ(resumed["first_step"], result["steps"]);
}

TEST_F(SimNetwork, EndsWith143WhenTerminated) {
    program_.start({"sim", network_, "--duration", "3000 s", "--json"});
    program_.wait_for_cpu_seconds(0.5 * kSanitizerSlowdown);
    program_.send(SIGTERM);
    const Outcome outcome = program_.wait_for_end();
    EXPECT_EQ(outcome.exit_code, 143) << outcome.err;
    EXPECT_GT(nlohmann::json::parse(outcome.out)["steps"], 0);
}

// The ramp network's function of the counts, from the rows of a file.
TEST_F(SimNetwork, HashesTheCountsOfItsNeurons) {
    const auto result = json({"--set", "record=[]", "--record", path("spikes.dat")});
    std::ifstream rows(path("spikes.dat"));
    std::string line;
    for (int i = 0; i < 3; ++i) std::getline(rows, line);
    std::vector<uint64_t> counts(100);
    while (std::getline(rows, line)) ++counts.at(std::stoul(line) - 1);
    uint64_t hash = 1469598103934665603u;
    for (const uint64_t count : counts) hash = (hash ^ count) * 1099511628211u;
    char text[17];
    std::snprintf(text, sizeof text, "%016lx", hash);
    EXPECT_EQ(result["counts_hash"], text);
}

TEST_F(SimNetwork, PrintsTheHashesAlone) {
    const auto result = json({"-t", "2"});
    const Outcome outcome = run({"--hash", "-t", "5"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "spikes " + result["spikes_hash"].get<std::string>() + "\ncounts " +
                               result["counts_hash"].get<std::string>() + "\ngraph " +
                               result["graph_hash"].get<std::string>() + "\n");
}

TEST_F(SimNetwork, SaysWhatWasChecked) {
    EXPECT_EQ(json({})["checked"], nlohmann::json({"arrivals", "states", "weights"}));
    EXPECT_EQ(json({"--check"})["checked"], nlohmann::json({"arrivals", "states", "weights", "counts", "on_the_way"}));
    const Outcome outcome = run({"--check"});
    EXPECT_NE(
        outcome.out.find("checks       every spike arrived at each of its targets; states and weights are finite; "
                         "so is what is on its way; the counts of the neurons add up\n"),
        std::string::npos)
        << outcome.out;
}

TEST_F(SimNetwork, ExplainsInJson) {
    const auto plan = json({"--explain"});
    EXPECT_EQ(plan["neurons"], 100);
    EXPECT_EQ(plan["projections"].size(), 4u);
    EXPECT_EQ(plan["projections"][0]["bytes_per_synapse"], 12);
    // 1000 synapses with weights of their own, 400 without; a sum in f64 is read and written.
    EXPECT_DOUBLE_EQ(plan["bytes_per_synaptic_event"], (1000 * (12 + 16) + 400 * (4 + 16)) / 1400.0);
    EXPECT_EQ(plan["recorders"][0]["bytes_per_sample"], 5 * 8);
    EXPECT_EQ(plan["bytes_per_step_without_spikes"].get<double>(), plan["bytes_per_neuron_step"].get<double>() * 100);
    EXPECT_GT(plan["bytes_per_neuron"], 3 * 8);
}

TEST_F(SimNetwork, MissesAStandardOutputThatCannotBeWritten) {
    for (const std::string how : {"> /dev/full", ">&-"}) {
        for (const std::string& what : {network_ + " --json", network_, network_ + " --explain", network_ + " --hash",
                                        std::string("--neurons 100 --json"), std::string("cuba --print-network"),
                                        std::string("--neurons 100 --dump-isa")}) {
            std::ofstream(path("script.sh"))
                << RIFTJIT_BINARY << " sim " << what << " " << how << " 2> " << path("errors") << "\n";
            const int status =
                std::system(("RIFTJIT_CACHE_DIR=" + path("cache") + " bash " + path("script.sh")).c_str());
            EXPECT_EQ(WEXITSTATUS(status), 1) << what << how;
            EXPECT_EQ(read_whole(path("errors")), how == ">&-" ? "error: standard output: Bad file descriptor\n"
                                                               : "error: standard output: No space left on device\n")
                << what;
        }
    }
}

TEST_F(SimNetwork, EndsWithALineWhereNotEvenTheHeaderOfAFileFits) {
    run({"--steps", "1"});  // fills the cache of kernels
    for (const char* what : {"--record ", "--record-format sonata --record ", "--record-network "}) {
        std::ofstream(path("script.sh")) << "trap '' XFSZ; ulimit -f 4; " << RIFTJIT_BINARY << " sim " << network_
                                         << " --steps 1 " << what << path("out.h5") << " > /dev/null 2> "
                                         << path("errors") << "\n";
        const int status = std::system(("RIFTJIT_CACHE_DIR=" + path("cache") + " bash " + path("script.sh")).c_str());
        EXPECT_EQ(WEXITSTATUS(status), 1) << what;
        const std::string errors = read_whole(path("errors"));  // sonata: after what it leaves out
        EXPECT_TRUE(errors.ends_with("error: " + path("out.h5") + ": File too large\n")) << what << errors;
        EXPECT_FALSE(std::filesystem::exists(path("out.h5"))) << what;
    }
}

TEST_F(SimNetwork, ExplainsWithoutRunning) {
    const Outcome outcome = run({"--explain"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const char* part : {"100 neurons", "exact", "fixed in-degree 10", "bytes are needed", "multapses allowed"})
        EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in\n" << outcome.out;
}

TEST_F(SimNetwork, ListsEachKernelOnce) {
    const Outcome outcome = run({"--dump-isa", "--max-isa", "avx512_fp16"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    size_t kernels = 0;
    for (size_t at = 0; (at = outcome.out.find(".globl", at)) != std::string::npos; ++at) ++kernels;
    EXPECT_EQ(kernels, 2u) << "E records its potential, I does not";
    EXPECT_NE(outcome.out.find("zmm"), std::string::npos);
}

TEST_F(SimNetwork, ShowsTheKernelsOfInitialValues) {
    const std::vector<std::string> drawn = {"--set", "population.E.initial.V=E_L + 2*mV*randn()"};
    std::vector<std::string> arguments = drawn;
    arguments.push_back("--explain");
    Outcome outcome = run(arguments);
    EXPECT_NE(outcome.out.find("  E, initial values: rj_column_program_"), std::string::npos)
        << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find(" bytes per element, once\n"), std::string::npos) << outcome.out;
    arguments.push_back("--json");
    const auto programs = nlohmann::json::parse(run(arguments).out)["programs"];
    EXPECT_EQ(programs[0]["runs"], "step");
    EXPECT_EQ(programs[1]["name"], "E, initial values");
    EXPECT_EQ(programs[1]["runs"], "once");
    arguments = drawn;
    arguments.push_back("--dump-isa");
    outcome = run(arguments);
    EXPECT_NE(outcome.out.find("E, initial values"), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("runs for"), outcome.out.find("runs for     E\n"));
}

TEST_F(SimNetwork, CutsLongNamesInItsErrors) {
    const std::string name(20'000, 'n');
    const Outcome outcome = run({"--set", "population.E.model=" + name});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("there is no neuron model 'nnn"), std::string::npos) << outcome.err;
    EXPECT_LT(outcome.err.size(), 800u);
}

TEST_F(SimNetwork, PrintsNetworksThatItRuns) {
    for (const std::string name : {"brunel", "cuba", "coba", "pd14"}) {
        const Outcome printed = program_.run({"sim", name, "--print-network"});
        EXPECT_EQ(printed.exit_code, 0);
        std::ofstream(network_) << printed.out;
        const Outcome explained = run({"--explain"});
        EXPECT_EQ(explained.exit_code, 0) << name << explained.err;
        EXPECT_NE(explained.out.find(name), std::string::npos);
    }
}

TEST_F(SimNetwork, RefusesInOneLine) {
    std::ofstream(path("taken.png")) << "precious";
    const std::pair<std::vector<std::string>, const char*> cases[] = {
        {{"--set", "population.E.size=0"}, "size"},
        {{"--set", "population.X.size=5"}, "there is no 'X'"},
        {{"--set", "size"}, "expected PATH=VALUE"},
        {{"--duration", "5 mV"}, "expected a unit of ms"},
        {{"--duration", "0 ms"}, "duration"},
        {{"--neurons", "5"}, "either a network or --neurons"},
        {{"--record", path("x.foo")}, "x.foo"},
        {{"--record-format", "npz"}, "--record names no file"},
        {{"--plot", path("taken.png")}, "exists; --force"},
        {{"--plot", path("x.gif")}, ".png and .svg"},
        {{"--plot", "-", "--json"}, "--json has the standard output"},
        {{"--save-interval", "1 s"}, "--save names no file"},
        {{"--resume", path("missing")}, "missing"},
        {{"--targets", "stored"}, "--targets is for --neurons"},
        {{"--seed", "-1"}, "expected a whole number from 0 to 2^64 - 1"},
        {{"--scale", "0"}, "0 is out of range"},
        {{"--discard", "200 ms"}, "leaves nothing of 200 ms"},
        {{"--steps", "5", "--duration", "1 s"}, "--duration says how long already"},
        {{"--save", path("taken.png")}, "exists; --force"},
        {{"--save", network_}, "is the file of the network too"},
        {{"--record", path("a.h5"), "--save", path("a.h5")}, "is the file of --record too"},
        {{"--record", "unwritten.h5", "--save", "./unwritten.h5"}, "./unwritten.h5 is the file of --record too"},
        {{"--plot", path("a.png"), "--plot", path("a.png")}, "is the file of --plot too"},
        {{"--record", path("r.npz"), "--save", path("r.npz.part")}, "r.npz.part is where --record "},
        {{"--record", path("r.nwb"), "--save", path("r.nwb.new")}, "r.nwb.new is where --record "},
        {{"--save", path("s"), "--record", path("s.part"), "--record-format", "h5"}, "s.part is where --save "},
        {{"--record-network", path("n.h5"), "--save", path("n.h5.new")}, "n.h5.new is where --record-network "},
        {{"--plot", path("none/a.png")}, "there is no folder"},
        {{"--save", path("")}, "is a folder"},
        {{"--plot-kind", "isi"}, "--plot names no file"},
        {{"--duration", ""}, "--duration: expected a time with its unit, got \"\""},
        {{"--step", ""}, "--step: expected a time with its unit, got \"\""},
        {{"--discard", ""}, "--discard: expected a time with its unit, got \"\""},
        {{"--save", path("s"), "--save-interval", ""}, "--save-interval: expected a time with its unit"},
        {{"--save", path("s"), "--save-interval", "0.25 ms"}, "0.25 ms is not a whole number of steps of 0.1 ms"},
        {{"--save", path("s"), "--save-interval", "0.01 ms"}, "0.01 ms is not a whole number of steps of 0.1 ms"},
        {{"--hash", "--json"}, "--json prints the hashes too"},
        {{"--hash", "--explain"}, "--hash: nothing is run"},
        {{"--check", "--dump-isa"}, "--check: nothing is run"},
        {{"--json", "--dump-isa"}, "--json: --dump-isa prints text"},
        {{"--hash", "--plot", "-"}, "--hash has the standard output"},
        {{"--record-network", path("net.npz")}, "net.npz does not end in .h5"},
        {{"--record-network", path("net.h5"), "--record", path("net.h5")}, "is the file of --record too"},
    };
    for (const auto& [arguments, part] : cases) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, 1) << part << outcome.out;
        EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_EQ(outcome.out, "");
    }
    EXPECT_EQ(read_whole(path("taken.png")), "precious");
}

// ---- hostile files and limits ---------------------------------------------------------------------------------------

TEST_F(SimNetwork, ReadsNothingThatIsNoFile) {
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    const std::string fifo = path("fifo") + ": is a FIFO, not a regular file\n",
                      device = "/dev/zero: is a character device, not a regular file\n";
    for (const auto& [arguments, refused] :
         {std::pair(std::vector<std::string>{"sim", network_, "--resume", path("fifo")}, fifo),
          {{"sim", network_, "--resume", "/dev/zero"}, device},
          {{"sim", path("fifo")}, fifo},
          {{"sim", "/dev/zero"}, device},
          {{"sim", "convert", path("fifo"), "--to", "npz"}, fifo},
          {{"sim", "convert", "/dev/zero", "--to", "npz"}, device}}) {
        const Outcome outcome = program_.run_within(20 * kSanitizerSlowdown, arguments);
        EXPECT_EQ(outcome.exit_code, 1) << refused;
        EXPECT_EQ(outcome.err, "error: " + refused);
        EXPECT_EQ(outcome.out, "");
    }
}

// libhdf5 would open every lib*.so of that folder for a filter that it does not know: here a FIFO that tells.
TEST_F(SimNetwork, LoadsNoFiltersForRecordings) {
    if (std::system("/usr/bin/python3 -c 'import h5py' > /dev/null 2>&1") != 0) return lack_oracle("python3-h5py");
    std::ofstream(path("make.py"))
        << "import h5py, sys\n"
           "f = h5py.File(sys.argv[1], 'w')\n"
           "f.create_group('spikes/all')\n"
           "for name, kind in (('timestamps', h5py.h5t.NATIVE_DOUBLE), ('node_ids', h5py.h5t.NATIVE_UINT64)):\n"
           "    p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)\n"
           "    p.set_chunk((10,))\n"
           "    p.set_filter(32017, h5py.h5z.FLAG_OPTIONAL)\n"
           "    d = h5py.h5d.create(f['spikes/all'].id, name.encode(), kind, h5py.h5s.create_simple((10,)), p)\n"
           "    d.write_direct_chunk((0,), bytes(80), 0)\n";
    ASSERT_EQ(std::system(fmt::format("/usr/bin/python3 {} {}", path("make.py"), path("filtered.h5")).c_str()), 0);
    std::filesystem::create_directory(path("plugins"));
    const std::string plugin = path("plugins") + "/libplugin.so";
    ASSERT_EQ(mkfifo(plugin.c_str(), 0600), 0);
    const int ends = open(plugin.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ASSERT_EQ(write(ends, std::string(1000, 'x').data(), 1000), 1000);
    setenv("HDF5_PLUGIN_PATH", path("plugins").c_str(), 1);
    const Outcome outcome =
        program_.run_within(20 * kSanitizerSlowdown, {"sim", "convert", path("filtered.h5"), "--to", "npz"});
    unsetenv("HDF5_PLUGIN_PATH");
    int waiting = 0;
    ASSERT_EQ(ioctl(ends, FIONREAD, &waiting), 0);
    close(ends);
    EXPECT_EQ(waiting, 1000);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("filter"), std::string::npos) << outcome.err;
}

TEST_F(SimNetwork, WritesOverNoFileThatItReads) {
    std::ofstream(path("pairs.txt")) << "0 1 20 1\n";
    std::ofstream(path("listed.toml"))
        << "[simulation]\nduration = \"1 ms\"\n[population.E]\nmodel = \"iaf_psc_exp\"\nsize "
           "= 2\n[[projection]]\nfrom = \"E\"\nto = \"E\"\nreceptor = \"ex\"\nrule = "
           "\"list\"\nfile = \"pairs.txt\"\n";
    std::filesystem::create_symlink("pairs.txt", path("link.h5"));
    for (const std::vector<std::string>& option : {std::vector<std::string>{"--record", path("link.h5")},
                                                   {"--save", path("pairs.txt")},
                                                   {"--record-network", path("link.h5")},
                                                   {"--record", path("pairs.txt"), "--record-format", "dat"}}) {
        std::vector<std::string> arguments{"sim", path("listed.toml"), "--force"};
        arguments.insert(arguments.end(), option.begin(), option.end());
        const Outcome outcome = program_.run(arguments);
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.err, "error: " + option[0] + ": " + option[1] + " is a file that the network reads\n");
        EXPECT_EQ(read_whole(path("pairs.txt")), "0 1 20 1\n");
    }
    std::filesystem::copy_file(network_, path("copy.toml"));
    const Outcome itself =
        program_.run({"sim", path("copy.toml"), "--force", "--record", path("copy.toml"), "--record-format", "h5"});
    EXPECT_EQ(itself.exit_code, 1);
    EXPECT_EQ(itself.err, "error: --record: " + path("copy.toml") + " is the file of the network too\n");
    EXPECT_EQ(read_whole(path("copy.toml")), kNetwork);
}

// `limit` as ulimit has it.
Outcome run_limited(Program& program, const std::string& limit, const std::string& arguments) {
    const std::string folder = program.folder();
    const int status =
        std::system(fmt::format("ulimit {}; RIFTJIT_CACHE_DIR={}/cache exec {} {} > {}/limited 2> {}/why", limit,
                                folder, RIFTJIT_BINARY, arguments, folder, folder)
                        .c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_whole(folder + "/limited"),
            read_whole(folder + "/why")};
}

TEST_F(SimNetwork, KeepsTheOldFileWhereNoNewOneMayBeWritten) {
    for (const std::string name : {"old.h5", "old.sonata.h5", "old.dat", "old.npz", "old.nwb"}) {
        std::ofstream(path(name)) << "precious";
        // In blocks of 512 bytes.
        const Outcome outcome = run_limited(
            program_, "-f 60", fmt::format("sim {} --duration '4 s' --force --record {}", network_, path(name)));
        EXPECT_EQ(outcome.exit_code, 1) << name;
        const size_t error = outcome.err.find("error: ");  // behind what is left out
        ASSERT_NE(error, std::string::npos) << outcome.err;
        EXPECT_TRUE(outcome.err.substr(error).starts_with("error: " + path(name))) << outcome.err;
        EXPECT_NE(outcome.err.find("File too large"), std::string::npos) << outcome.err;
        EXPECT_EQ(outcome.err.find('\n', error), outcome.err.size() - 1) << outcome.err;
        EXPECT_EQ(read_whole(path(name)), "precious") << name;
    }
}

TEST_F(SimNetwork, NeedsNoMoreStackThanItIsGiven) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizers' own frames are larger";
#endif
    const std::string head =
        "[simulation]\nduration = \"1 ms\"\n[population.E]\nmodel = \"iaf_psc_exp\"\nsize = 2\n[constants]\n";
    std::string chain = head;
    for (int i = 0; i < 499; ++i) chain += fmt::format("c{} = \"c{}\"\n", i, i + 1);
    std::ofstream(path("chain.toml")) << chain + "c499 = 1\n";
    std::ofstream(path("parentheses.toml"))
        << head + "c = \"" + std::string(190, '(') + "1" + std::string(190, ')') + "\"\n";
    std::ofstream(path("nested.toml")) << head + "c = \"" + std::string(5000, '(') + "1\"\n";
    std::string sum = "0*mV/ms";
    for (int i = 0; i < 200; ++i) sum += " + 1*mV/ms";
    std::ofstream(path("sum.toml")) << "[simulation]\nduration = \"1 ms\"\n[population.E]\nmodel = \"own\"\nsize = 1\n"
                                       "[models.own]\nkind = \"neuron\"\nequations = \"dV/dt = -V / (10 * ms) + " +
                                           sum + " : mV\"\nthreshold = \"V >= 1000 * mV\"\nreset = \"V = 0 * mV\"\n";
    for (const std::string name : {"chain.toml", "parentheses.toml", "sum.toml", "nested.toml"})
        for (const char* const limit : {"-s 8192", "-s 256", "-s 64"}) {
            const Outcome outcome = run_limited(program_, limit, "sim --hash " + path(name));
            EXPECT_EQ(outcome.exit_code, name == "nested.toml" ? 1 : 0) << name << limit << outcome.err;
        }
    const Outcome recorded = run({"--record", path("spikes.nwb")});
    EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
    EXPECT_EQ(run_limited(program_, "-s 64", fmt::format("sim convert {} --to npz", path("spikes.nwb"))).exit_code, 0);
}

}  // namespace sim_network_command_test
}  // namespace riftjit::tools
