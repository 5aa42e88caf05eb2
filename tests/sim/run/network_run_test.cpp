// A run as a library gives it: the same results as the simulation alone, files beside it, stops and faults.
#include "sim/run/network_run.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "host/cpus.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "tests/host/scratch.h"
#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace network_run_test {

constexpr const char* kText = R"(
name = "small"
[simulation]
duration = "100 ms"
[population.E]
model = "iaf_psc_exp"
size = 60
initial = { V = { uniform = ["-70 mV", "-55 mV"] } }
[[projection]]
from = "E"
to = "E"
receptor = "ex"
rule = "fixed_indegree"
indegree = 10
weight = { normal = ["60 pA", "6 pA"] }
delay = { uniform = ["0.5 ms", "3 ms"] }
[[input]]
kind = "poisson"
to = "E"
receptor = "ex"
rate = "8 kHz"
weight = "60 pA"
)";

class NetworkRuns : public testing::Test {
protected:
    Network network() const {
        auto parsed = parse_network(kText, "small.toml");
        EXPECT_TRUE(parsed) << parsed.error().message;
        record_all_spikes_if_none(*parsed);
        return std::move(*parsed);
    }
    std::unique_ptr<NetworkRun> create(RunRequest request = {}) {
        auto run = NetworkRun::create(network(), std::move(request), kernels_, x86::detect().levels.back());
        EXPECT_TRUE(run) << run.error().message;
        return std::move(*run);
    }
    // What went wrong, or empty.
    std::string go(NetworkRun& run, const std::function<bool(uint32_t)>& between = [](uint32_t) { return true; }) {
        const auto fault = [](const Result<void>& done) { return done ? "" : done.error().message; };
        if (const std::string text = fault(run.build()); !text.empty()) return text;
        const Warn warn = [this](const std::string& message) { warnings_.push_back(message); };
        if (const std::string text = fault(run.open(warn)); !text.empty()) return text;
        return fault(run.run(between));
    }
    std::string path(const std::string& name) const { return folder_.path(name); }

    KernelCache cache_{x86::compile, DiskCache::disabled()};
    x86::HostKernels kernels_{cache_};
    Scratch folder_;
    std::vector<std::string> warnings_;
};

TEST_F(NetworkRuns, AreTheSimulationWithRatesBesideIt) {
    auto pool = ThreadPool::create(1);
    auto alone = Simulation::create(network(), kernels_, x86::detect().levels.front(), *pool);
    ASSERT_TRUE(alone);
    ASSERT_TRUE(alone->run(1000));
    ASSERT_GT(alone->spikes(), 50u);
    const std::vector<Spike> spikes = alone->take_spikes();
    for (const uint32_t threads : {1u, 2u, 3u, 5u}) {
        const auto run = create({.threads = threads});
        EXPECT_EQ(go(*run), "");
        EXPECT_EQ(run->threads(), threads);
        EXPECT_EQ(run->simulation().spikes_hash(), alone->spikes_hash());
        EXPECT_EQ(run->simulation().graph_hash(), alone->graph_hash());
        EXPECT_EQ(run->spikes()->spikes, spikes);
        ASSERT_EQ(run->result().populations.size(), 1u);
        EXPECT_EQ(run->result().populations[0].spikes, alone->spikes());
    }
    EXPECT_EQ(warnings_.size(), 0u);
}

TEST_F(NetworkRuns, SpareCoresWhereAStepIsShort) {
    const auto run = create();
    EXPECT_EQ(run->threads(), 1u);
    EXPECT_EQ(run->spares_cores(), default_threads() > 1);
    EXPECT_EQ(run->plan().neurons, 60u);
}

TEST_F(NetworkRuns, LeaveOutOfTheirRatesWhatIsDiscarded) {
    const auto whole = create(), late = create({.discard_ms = 50});
    EXPECT_EQ(go(*whole), "");
    EXPECT_EQ(go(*late), "");
    // The window is of stamps, which are ends of steps.
    const auto is_late = [](const Spike& spike) { return spike.step + 1 >= 500; };
    EXPECT_NEAR(double(late->result().populations[0].spikes),
                double(std::ranges::count_if(whole->spikes()->spikes, is_late)), 3);
    EXPECT_LT(late->result().populations[0].spikes, whole->result().populations[0].spikes);
}

TEST_F(NetworkRuns, MeasureRatesInAllWindowsOfAPopulation) {
    const auto whole = create();
    EXPECT_EQ(go(*whole), "");
    using Windows = std::vector<std::pair<double, double>>;
    const std::pair<Windows, double> cases[] = {{{{10, 40}, {60, 90}}, 60},
                                                {{{10, 40}, {30, 50}}, 40},
                                                {{{10, 40}, {200, 300}}, 30},
                                                {{{200, 300}}, 0},
                                                {{}, 0}};
    for (const auto& [windows, length_ms] : cases) {
        Network recorded = network();
        recorded.recorders.clear();
        for (const auto& [start, stop] : windows)
            recorded.recorders.push_back({fmt::format("from {}", start), 0, SpikeRecorder{}, start, stop});
        const auto run = NetworkRun::create(recorded, {}, kernels_, x86::detect().levels.back()).value();
        EXPECT_EQ(go(*run), "");
        const auto spikes = std::ranges::count_if(whole->spikes()->spikes, [&](const Spike& spike) {
            return std::ranges::any_of(windows, [&](const auto& window) {
                return spike.step >= 10 * window.first && spike.step < 10 * window.second;
            });
        });
        const auto& populations = run->result().populations;
        ASSERT_EQ(populations.size(), length_ms > 0 ? 1u : 0u);
        if (populations.empty()) continue;
        EXPECT_EQ(populations[0].spikes, uint64_t(spikes));
        EXPECT_NEAR(populations[0].rate_hz, double(spikes) / 60 / (length_ms * 1e-3), 1e-9);
    }
}

// Of recorders of every kind; what is planned is said before the first step, what an interrupt does at the end.
TEST_F(NetworkRuns, SayWhatTheyRecordNothingOf) {
    struct Case {
        double start_ms, stop_ms;
        bool is_resumed;  // after 40 ms
        std::optional<uint64_t> steps;
        uint32_t stop_at;
        std::string warning;
    };
    const std::string is_late = "recorder late starts at 60 ms and the run ends at {} ms: it records nothing";
    const Case cases[] = {
        {60, kUnlimited, false, {}, UINT32_MAX, ""},
        {60, kUnlimited, false, 600, UINT32_MAX, is_late},
        {60, kUnlimited, true, 100, UINT32_MAX, is_late},
        {60, kUnlimited, true, 201, UINT32_MAX, ""},
        {60, kUnlimited, false, 1100, 300, is_late},
        {10, 40, true, {}, UINT32_MAX, "recorder late stops at 40 ms and the run starts at 40 ms: it records nothing"},
        {10, 41, true, {}, UINT32_MAX, ""},
    };
    for (const Case& one : cases) {
        for (const bool is_of_states : {false, true}) {
            Network recorded = network();
            recorded.recorders = {{"late", 0, SpikeRecorder{}, one.start_ms, one.stop_ms}};
            if (is_of_states) recorded.recorders[0].kind = StateRecorder{{"V"}, {0}, 1};
            RunRequest first{.steps = 400}, request{.steps = one.steps};
            first.files.save = path("state");
            if (one.is_resumed) {
                EXPECT_EQ(go(*NetworkRun::create(recorded, first, kernels_, x86::detect().levels.back()).value()), "");
                request.resume = path("state");
            }
            warnings_.clear();
            const auto run = NetworkRun::create(recorded, request, kernels_, x86::detect().levels.back()).value();
            EXPECT_EQ(go(*run, [&](uint32_t steps) { return steps < one.stop_at; }), "");
            const std::string warning = fmt::format(fmt::runtime(one.warning), run->simulation().steps() * 0.1);
            EXPECT_EQ(warnings_, warning.empty() ? std::vector<std::string>() : std::vector{warning});
        }
    }
}

TEST_F(NetworkRuns, GoOnFromWhatTheySaved) {
    const auto whole = create();
    EXPECT_EQ(go(*whole), "");
    RunRequest first{.steps = 400}, second;
    first.files.save = path("state");
    first.files.save_interval_ms = 10;
    second.resume = path("state");
    const auto before = create(first), after = create(second);
    EXPECT_EQ(go(*before), "");
    EXPECT_EQ(go(*after), "");
    EXPECT_EQ(after->result().first_step, 400u);
    EXPECT_EQ(after->result().first_spikes, before->simulation().spikes());
    EXPECT_EQ(after->simulation().spikes_hash(), whole->simulation().spikes_hash());
    EXPECT_EQ(go(*create({.steps = 0})), "sim: nothing is left to do:  is at step 0 of 0");
}

// Of a resumed run, of recorders with a start and a stop, of a run that ends before its recorder does.
TEST_F(NetworkRuns, TellInEveryFormatWhichTimeWasRecorded) {
    struct Case {
        std::vector<std::pair<double, double>> recorders;  // start and stop in ms
        bool is_resumed;                                   // after 40 ms
        std::optional<uint64_t> steps;
        std::vector<RecordedWindow> windows;
    };
    const Case cases[] = {
        {{{0, kUnlimited}}, false, {}, {{0, 1000}}},
        {{{0, kUnlimited}}, true, {}, {{400, 1000}}},
        {{{30, 60}}, true, {}, {{400, 600}}},
        {{{10, 20}, {30, 35}}, false, {}, {{100, 200}, {300, 350}}},
        {{{10, 20}, {30, 90}}, true, 300, {{400, 700}}},
        {{{10, 20}, {15, 30}}, false, {}, {{100, 300}}},
        {{{10, 20}}, true, {}, {{400, 400}}},
        {{{20, 300}}, false, 500, {{200, 500}}},
    };
    for (size_t i = 0; i < std::size(cases); ++i) {
        Network recorded = network();
        recorded.recorders.clear();
        for (const auto& [start, stop] : cases[i].recorders)
            recorded.recorders.push_back({fmt::format("{}", start), 0, SpikeRecorder{}, start, stop});
        const auto fault_of = [&](const RunRequest& request) {
            auto run = NetworkRun::create(recorded, request, kernels_, x86::detect().levels.back());
            return run ? go(**run) : run.error().message;
        };
        RunRequest before{.steps = 400};
        before.files.save = path(fmt::format("{}.state", i));
        if (cases[i].is_resumed) {
            ASSERT_EQ(fault_of(before), "");
        }
        for (const RecordingFormat format : kAllFormats) {
            RunRequest request{.steps = cases[i].steps, .resume = cases[i].is_resumed ? before.files.save : ""};
            request.files.record = path(fmt::format("{}.{}", i, name(format)));
            request.files.format = format;
            ASSERT_EQ(fault_of(request), "") << i << " " << name(format);
            const auto read = read_recording(request.files.record);
            ASSERT_TRUE(read) << read.error().message;
            EXPECT_EQ(read->header.populations[0].windows, cases[i].windows) << i << " " << name(format);
        }
    }
    const auto is_of_nothing = [](const std::string& warning) { return warning.ends_with(": it records nothing"); };
    EXPECT_TRUE(std::ranges::all_of(warnings_, is_of_nothing));
    warnings_.clear();
    RunRequest request;
    request.files.record = path("parts.npz");
    request.files.format = RecordingFormat::npz;
    Network parts = network();
    parts.recorders = {{"a", 0, SpikeRecorder{{1, 2}}, 0, 10}, {"b", 0, SpikeRecorder{{3}}, 20, 30}};
    EXPECT_EQ(go(*NetworkRun::create(parts, request, kernels_, x86::detect().levels.back()).value()), "");
    EXPECT_EQ(warnings_, std::vector<std::string>{"population E: its recorders differ in neurons and in times: files "
                                                  "tell, and rates count, the times of all together"});
}

TEST_F(NetworkRuns, StopWhereTheyAreTold) {
    RunRequest request;
    request.files.record = path("spikes.npz");
    request.files.format = RecordingFormat::npz;
    const auto run = create(request);
    EXPECT_EQ(go(*run, [](uint32_t steps) { return steps < 100; }), "");
    EXPECT_LT(run->simulation().steps(), 1000u);
    const auto recording = read_recording(path("spikes.npz"));
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_EQ(recording->summary.steps, run->simulation().steps());
    EXPECT_EQ(recording->spikes, run->spikes()->spikes);
}

TEST_F(NetworkRuns, FailBeforeTheFirstStepWhereAFileCannotBeWritten) {
    RunRequest nowhere;
    nowhere.files.save = path("none/state");
    EXPECT_NE(go(*create(nowhere)).find(path("none/state")), std::string::npos);
    RunRequest between;
    between.files.save = path("state");
    between.files.save_interval_ms = 0.25;
    EXPECT_EQ(go(*create(between)), "an interval between saves of 0.25 ms is not a whole number of steps of 0.1 ms");
    RunRequest taken;
    taken.files.record = path("spikes.npz");
    taken.files.format = RecordingFormat::npz;
    EXPECT_EQ(go(*create(taken)), "");
    EXPECT_NE(go(*create(taken)).find("exists, and is not replaced unless forced"), std::string::npos);
    taken.files.existing = Existing::replace;
    EXPECT_EQ(go(*create(taken)), "");
}

}  // namespace network_run_test
}  // namespace riftjit::sim
