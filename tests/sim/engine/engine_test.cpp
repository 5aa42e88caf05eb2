// The engine against a simulator made of loops, and against itself at other numbers of threads.
#include "sim/engine/engine.h"

#include <sys/resource.h>

#include "host/available_memory.h"
#include "tests/sim/engine/hand_made.h"

namespace riftjit::sim {
namespace engine_test {

using namespace test;

// Two kinds of neurons, a list of spikes and a relay, joined at random.
struct RandomNetwork {
    Blueprint blueprint;
    std::vector<Lif> lifs;
};
RandomNetwork random_network(uint32_t seed, Compat compat) {
    std::mt19937 random(seed);
    RandomNetwork network;
    Blueprint& blueprint = network.blueprint;
    blueprint.compat = compat;
    const Lif quick{.compat = compat, .refractory = 2}, slow{.compat = compat, .refractory = 7, .decay_v = 0.97};
    network.lifs = {quick, slow, {}, {}};
    const auto size = [&] { return 1 + static_cast<uint32_t>(random() % 150); };
    const uint32_t salt = seed;
    const auto start = [salt](uint32_t i) { return double((i * 37 + salt) % 64) / 8; };
    blueprint.populations.push_back(lif_population("quick", size(), quick, 0.875, start));
    blueprint.populations.push_back(lif_population("slow", size(), slow, 0.25, start));
    TimedPopulation timed;
    const uint32_t timed_size = size();
    for (uint32_t i = 0; i < 200; ++i)
        timed.spikes.emplace_back(random() % 300, static_cast<uint32_t>(random() % timed_size));
    std::sort(timed.spikes.begin(), timed.spikes.end());
    blueprint.populations.push_back({"timed", timed_size, 0, std::move(timed)});
    blueprint.populations.push_back({"relay", size(), 0, RelayedPopulation{}});
    number_populations(blueprint);
    const uint32_t least = compat == Compat::nest ? 1 : 0;
    const std::tuple<uint32_t, uint32_t, std::string, double> pairs[] = {
        {0, 0, "ex", 0.5}, {0, 1, "delta", 0.75}, {1, 0, "delta", -1.5}, {1, 1, "ex", -0.5},
        {2, 0, "ex", 2},   {2, 3, "", 1},         {3, 1, "delta", 1.25}, {0, 0, "delta", 0.25}};
    for (const auto& [source, target, receptor, weight] : pairs) {
        const uint32_t sources = blueprint.populations[source].size, targets = blueprint.populations[target].size;
        // A relay that hears many would fire without end.
        const double fan_out = target == 3 ? 1 : double(1 + random() % 12);
        const uint32_t most = least + random() % 20;
        blueprint.projections.push_back(
            projection_of(fmt::format("{} to {}", source, target), source, target, receptor,
                          random_rows(random, sources, targets, fan_out, least, most, weight)));
        if (random() % 3 == 0) blueprint.projections.back().shared_weight = weight;
        if (random() % 4 == 0) blueprint.projections.back().drawn_by = BlueprintProjection::DrawnBy::target;
    }
    record_all_spikes(blueprint);
    return network;
}

// nest-simulator issue 1394 lost spikes at random: what arrives is counted against what was sent, too.
TEST(Engine, SpikesAsLoopsDo) {
    for (const Compat compat : {Compat::nest, Compat::brian2}) {
        for (uint32_t seed = 1; seed <= 12; ++seed) {
            const RandomNetwork network = random_network(seed, compat);
            LoopSimulator loops(network.blueprint, network.lifs);
            const std::vector<Spike> expected = loops.run(400);
            ASSERT_GT(expected.size(), 300u);
            ThreadPool pool = pool_of(1 + seed % 3);
            auto engine = Engine::create(network.blueprint, pool);
            ASSERT_TRUE(engine.has_value()) << engine.error().message;
            ASSERT_TRUE((*engine)->run(400, {}).has_value());
            ASSERT_EQ((*engine)->take_spikes(), expected) << "seed " << seed;
            for (uint32_t population : {0u, 1u}) {
                for (uint32_t i = 0; i < network.blueprint.populations[population].size; ++i) {
                    ASSERT_EQ((*engine)->read(population, Lif::kV, i), loops.state(population, i).v);
                    ASSERT_EQ((*engine)->read(population, Lif::kS, i), loops.state(population, i).s);
                }
            }
            EXPECT_EQ((*engine)->delivered(), loops.sent());
            EXPECT_EQ((*engine)->spikes(), expected.size());
            EXPECT_EQ((*engine)->spikes_hash(), hash_spikes(expected));
            EXPECT_EQ((*engine)->recorded_hash(), hash_spikes(expected));
        }
    }
}

// One population whose synapses have weights that do not add up exactly: the order of the sums is seen in the result.
Blueprint inexact_network() {
    std::mt19937 random(7);
    Blueprint blueprint;
    const Lif lif;
    blueprint.populations.push_back(
        lif_population("cells", 1500, lif, 0.9, [](uint32_t i) { return double(i % 97) / 13; }));
    number_populations(blueprint);
    Rows rows = random_rows(random, 1500, 1500, 40, 1, 25, 0.1);
    for (auto& row : rows)
        for (Synapse& synapse : row) synapse.weight *= 0.1234567f * float(1 + random() % 1000);
    blueprint.projections.push_back(projection_of("all", 0, 0, "ex", std::move(rows)));
    blueprint.projections.push_back(
        projection_of("back", 0, 0, "delta", random_rows(random, 1500, 1500, 20, 1, 9, -0.3)));
    record_all_spikes(blueprint);
    return blueprint;
}

// nest-simulator issue 3217: totals that change with the threads.
TEST(Engine, GivesTheSameBitsAtAnyThreadCount) {
    std::vector<Spike> expected;
    std::vector<double> states;
    uint64_t graph_hash = 0;
    for (const uint32_t threads : {1u, 2u, 3u, 5u}) {
        ThreadPool pool = pool_of(threads);
        auto engine = Engine::create(inexact_network(), pool);
        ASSERT_TRUE(engine.has_value()) << engine.error().message;
        ASSERT_TRUE((*engine)->run(300, {}).has_value());
        std::vector<double> these;
        for (uint32_t i = 0; i < 1500; ++i)
            for (const uint32_t column : {Lif::kV, Lif::kS}) these.push_back((*engine)->read(0, column, i));
        const std::vector<Spike> spikes = (*engine)->take_spikes();
        if (threads == 1) {
            expected = spikes;
            states = these;
            graph_hash = (*engine)->graph_hash();
            ASSERT_GT(spikes.size(), 5000u);
        }
        EXPECT_EQ(spikes, expected) << threads;
        EXPECT_EQ(these, states) << threads;
        EXPECT_EQ((*engine)->graph_hash(), graph_hash);
        EXPECT_TRUE((*engine)->check_conservation().has_value());
    }
}

// One spike at step 4, one synapse, a target that fires on arrival.
std::vector<Spike> answer_to_one_spike(Compat compat, uint16_t delay) {
    Blueprint blueprint;
    blueprint.compat = compat;
    blueprint.populations.push_back({"source", 1, 0, TimedPopulation{{{4, 0}}}});
    blueprint.populations.push_back(lif_population("target", 1, Lif{.compat = compat}, 0));
    number_populations(blueprint);
    blueprint.projections.push_back(projection_of("one", 0, 1, "delta", {{{0, delay, 10}}}));
    record_all_spikes(blueprint);
    ThreadPool pool = pool_of(1);
    auto engine = Engine::create(std::move(blueprint), pool);
    EXPECT_TRUE(engine.has_value()) << engine.error().message;
    EXPECT_TRUE((*engine)->run(uint32_t(delay) + 20, {}).has_value());
    return (*engine)->take_spikes();
}

// genn issues 26, 393, 610: delayed values from the wrong slot.
TEST(Delays, CountFromSpikeToArrival) {
    for (const uint16_t delay : {uint16_t(1), uint16_t(2), uint16_t(17), uint16_t(kMaxDelaySteps)}) {
        EXPECT_EQ(answer_to_one_spike(Compat::nest, delay), (std::vector<Spike>{{4, 0}, {4u + delay, 1}}));
        EXPECT_EQ(answer_to_one_spike(Compat::brian2, delay), (std::vector<Spike>{{4, 0}, {5u + delay, 1}}));
    }
    EXPECT_EQ(answer_to_one_spike(Compat::brian2, 0), (std::vector<Spike>{{4, 0}, {5, 1}}));
}

TEST(Delays, OutsideTheirRangeAreRefused) {
    const auto message = [](uint16_t delay) {
        Blueprint blueprint;
        blueprint.populations.push_back(lif_population("cells", 2, Lif{}, 0));
        number_populations(blueprint);
        blueprint.projections.push_back(projection_of("loop", 0, 0, "ex", {{{1, delay, 1}}}));
        ThreadPool pool = pool_of(1);
        const auto engine = Engine::create(std::move(blueprint), pool);
        return engine ? "accepted" : engine.error().message;
    };
    EXPECT_EQ(
        message(0),
        "projection loop: a synapse from neuron 0 to 1 of 2 with a delay of 0 steps: delays are 1 to 65534 steps");
    EXPECT_EQ(message(65535),
              "projection loop: a synapse from neuron 0 to 1 of 2 with a delay of 65535 steps: delays are 1 to 65534 "
              "steps");
    EXPECT_EQ(message(65534), "accepted");
}

TEST(StepRing, TakesLagsUpToItsLongest) {
    const StepRing ring(5);
    EXPECT_EQ(ring.slots(), 6u);
    for (uint32_t step = 0; step < 20; ++step) {
        EXPECT_EQ(ring.slot(step, 0), step % 6);
        EXPECT_EQ(ring.slot(step, 5), ring.slot(step + 5, 0));
    }
    EXPECT_EQ(StepRing(7).slot(UINT32_MAX, 1), 0u);  // 2^32 mod 8: the sum is not cut to 32 bits
    EXPECT_DEATH(ring.slot(3, 6), "a delay fits into its ring");
}

// BindsNET issue 137, PyNN issue 651: off by one against Brian.
// A neuron driven so hard that it fires whenever it may.
TEST(Refractoriness, GivesIntervalsByTheRulesInForce) {
    const auto interval = [](Compat compat) {
        Blueprint blueprint;
        blueprint.compat = compat;
        blueprint.populations.push_back(lif_population("cell", 1, Lif{.compat = compat, .refractory = 20}, 100));
        number_populations(blueprint);
        record_all_spikes(blueprint);
        ThreadPool pool = pool_of(1);
        auto engine = Engine::create(std::move(blueprint), pool);
        EXPECT_TRUE((*engine)->run(100, {}).has_value());
        const std::vector<Spike> spikes = (*engine)->take_spikes();
        for (size_t i = 2; i < spikes.size(); ++i)
            EXPECT_EQ(spikes[i].step - spikes[i - 1].step, spikes[1].step - spikes[0].step);
        return spikes[1].step - spikes[0].step;
    };
    EXPECT_EQ(interval(Compat::nest), 21u);
    EXPECT_EQ(interval(Compat::brian2), 20u);
}

TEST(Memory, IsComparedBeforeAnythingIsAllocated) {
    Blueprint blueprint;
    blueprint.populations.push_back(lif_population("cells", 1000, Lif{}, 0));
    number_populations(blueprint);
    blueprint.projections.push_back(projection_of("huge", 0, 0, "ex", {}));
    blueprint.projections.back().expected_synapses = uint64_t(1) << 42;
    blueprint.projections.back().generate = [](Slice, Slice, const ProjectionBuilder::Receive&) {
        FAIL() << "drew synapses that have no room";
    };
    ThreadPool pool = pool_of(2);
    const auto engine = Engine::create(std::move(blueprint), pool);
    ASSERT_FALSE(engine.has_value());
    EXPECT_EQ(engine.error().kind, ErrorKind::OutOfMemory);
    EXPECT_TRUE(engine.error().message.starts_with("1000 neurons and 4398046511104 synapses take 527"))
        << engine.error().message;
    EXPECT_TRUE(engine.error().message.ends_with("are available"));
}

// nest-simulator issues 2512 and 3359, brian2cuda issue 119.
TEST(Memory, DoesNotGrowOverRebuilds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer keeps what is freed for a while";
#endif
    ThreadPool pool = pool_of(2);
    const auto build = [&] {
        auto engine = Engine::create(inexact_network(), pool);
        EXPECT_TRUE((*engine)->run(20, {}).has_value());
    };
    const auto resident = [] {
        long pages = 0, size = 0;
        FILE* const file = fopen("/proc/self/statm", "r");
        EXPECT_EQ(fscanf(file, "%ld %ld", &size, &pages), 2);
        fclose(file);
        return pages * 4096;
    };
    for (int i = 0; i < 10; ++i) build();
    const long before = resident();
    for (int i = 0; i < 100; ++i) build();
    // One network takes some 3 MB; the allocator may keep a little more than after the first rounds.
    EXPECT_LT(resident() - before, 6'000'000);
}

// The greatest resident size so far, in MiB.
long peak_resident() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

// What grows with the square of the threads would be gigabytes: 128^2 tables of lags are 4 GB. In a process of its own,
// whose peak nothing else has raised.
TEST(Memory, GrowsWithTheThreadsNotWithTheirSquare) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers keep memory of their own for every thread";
#endif
    EXPECT_EXIT(
        {
            const long before = peak_resident();
            ThreadPool pool = pool_of(128);
            auto engine = Engine::create(inexact_network(), pool);
            const bool ran = engine && (*engine)->run(3, {});
            std::exit(!ran ? 1 : peak_resident() - before < 128 ? 0 : 2);  // a MiB a thread
        },
        testing::ExitedWithCode(0), "");
}

// genn issues 669 and 703: ids that are not there and empty lists crashed the device.
TEST(References, ThatLeadNowhereAreRefused) {
    const auto message = [](const std::function<void(Blueprint&)>& change) {
        Blueprint blueprint;
        blueprint.populations.push_back(lif_population("cells", 2, Lif{}, 0));
        blueprint.populations.push_back({"times", 3, 0, TimedPopulation{}});
        blueprint.populations.push_back({"relay", 3, 0, RelayedPopulation{}});
        number_populations(blueprint);
        change(blueprint);
        ThreadPool pool = pool_of(1);
        const auto engine = Engine::create(std::move(blueprint), pool);
        return engine ? "accepted" : engine.error().message;
    };
    EXPECT_EQ(message([](Blueprint& b) { b.projections.push_back(projection_of("p", 1, 0, "nmda", {})); }),
              "projection p: population cells has no receptor nmda");
    EXPECT_EQ(message([](Blueprint& b) { b.projections.push_back(projection_of("p", 0, 1, "ex", {})); }),
              "projection p: population times has no receptor ex");
    EXPECT_EQ(message([](Blueprint& b) {
                  b.projections.push_back(projection_of("p", 0, 2, "", {}));
                  b.projections.back().rule.emplace();
              }),
              "projection p: plastic synapses to relay, which takes no notice of weights");
    EXPECT_EQ(message([](Blueprint& b) { b.recorders.push_back({"r", 0, SpikeRecorder{{2}}}); }),
              "recorder r: neuron 2 of population cells, which has 2");
    EXPECT_EQ(message([](Blueprint& b) { b.recorders.push_back({"r", 0, StateRecorder{{"V"}, {5}, 0.1}}); }),
              "recorder r: neuron 5 of population cells, which has 2");
    EXPECT_EQ(message([](Blueprint& b) { b.recorders.push_back({"r", 0, StateRecorder{{"U"}, {}, 0.1}}); }),
              "recorder r: population cells has no variable U");
    EXPECT_EQ(message([](Blueprint& b) { b.recorders.push_back({"r", 0, StateRecorder{{"V"}, {}, 0.25}}); }),
              "recorder r: an interval of 0.25 ms is no whole number of steps of 0.1 ms");
    EXPECT_EQ(message([](Blueprint& b) {
                  b.projections.push_back(projection_of("p", 1, 0, "ex", {}));
                  b.recorders.push_back({"r", 1, WeightRecorder{0, 1}});
              }),
              "recorder r: the weights of projection p are static and do not change");
}

// ---- recording ------------------------------------------------------------------------------------------------------

TEST(Recorders, KeepChosenNeuronsInTheirWindow) {
    RandomNetwork network = random_network(3, Compat::nest);
    const std::vector<Spike> all = LoopSimulator(network.blueprint, network.lifs).run(300);
    network.blueprint.recorders = {{"some", 0, SpikeRecorder{{1, 4, 5}}, 10, 20},
                                   {"overlap", 0, SpikeRecorder{{4}}, 15, 25},
                                   {"rest", 1, SpikeRecorder{}, 5, kUnlimited}};
    std::vector<Spike> expected;
    const uint32_t first = network.blueprint.populations[1].first_id, end = network.blueprint.populations[2].first_id;
    for (const Spike& spike : all) {
        const bool some = (spike.id == 1 || spike.id == 4 || spike.id == 5) && spike.step >= 100 && spike.step < 200;
        const bool overlap = spike.id == 4 && spike.step >= 150 && spike.step < 250;
        const bool rest = spike.id >= first && spike.id < end && spike.step >= 50;
        if (some || overlap || rest) expected.push_back(spike);
    }
    ThreadPool pool = pool_of(3);
    auto engine = Engine::create(network.blueprint, pool);
    ASSERT_TRUE(engine.has_value());
    std::vector<Spike> taken;
    ASSERT_TRUE((*engine)
                    ->run(300,
                          [&](uint32_t) {
                              const std::vector<Spike> more = (*engine)->take_spikes();
                              taken.insert(taken.end(), more.begin(), more.end());
                              return true;
                          })
                    .has_value());
    EXPECT_EQ(taken, expected);
    EXPECT_EQ((*engine)->recorded_hash(), hash_spikes(expected));
    EXPECT_EQ((*engine)->spikes_hash(), hash_spikes(all));
}

TEST(Recorders, SampleStatesAtTheEndOfSteps) {
    for (const uint32_t threads : {1u, 3u}) {
        RandomNetwork network = random_network(5, Compat::nest);
        const uint32_t size = network.blueprint.populations[1].size;
        ASSERT_GT(size, 20u);
        network.blueprint.recorders = {{"states", 1, StateRecorder{{"S", "V"}, {0, 17, size - 1}, 0.7}, 1.0, 10.0}};
        std::vector<double> expected;
        for (uint32_t step = 0; step < 100; ++step) {
            if (step < 10 || (step + 1) % 7 != 0) continue;
            LoopSimulator loops(network.blueprint, network.lifs);
            loops.run(step + 1);
            for (const uint32_t neuron : {0u, 17u, size - 1}) {
                expected.push_back(loops.state(1, neuron).s);
                expected.push_back(loops.state(1, neuron).v);
            }
        }
        ThreadPool pool = pool_of(threads);
        auto engine = Engine::create(network.blueprint, pool);
        ASSERT_TRUE(engine.has_value()) << engine.error().message;
        ASSERT_TRUE((*engine)->run(55, {}).has_value());
        std::vector<double> taken = (*engine)->take_samples(0);
        ASSERT_TRUE((*engine)->run(100, {}).has_value());
        const std::vector<double> more = (*engine)->take_samples(0);
        taken.insert(taken.end(), more.begin(), more.end());
        EXPECT_EQ(taken, expected);
    }
}

TEST(Waveforms, AreZeroOutsideTheirWindow) {
    const Waveform sine{.level = 2, .amplitude = 3, .angle_per_step = 0.5, .phase = 1, .begin_step = 4, .end_step = 9};
    EXPECT_EQ(sine.at(3), 0);
    EXPECT_EQ(sine.at(4), 2 + 3 * std::sin(0.5 * 4 + 1));
    EXPECT_EQ(sine.at(8), 2 + 3 * std::sin(0.5 * 8 + 1));
    EXPECT_EQ(sine.at(9), 0);
    const Waveform steps{.levels = {{3, 1.5}, {5, -2}}};
    EXPECT_EQ(steps.at(2), 0);
    EXPECT_EQ(steps.at(3), 1.5);
    EXPECT_EQ(steps.at(4), 1.5);
    EXPECT_EQ(steps.at(1000), -2);
}

TEST(Run, EndsWhereItIsToldTo) {
    ThreadPool pool = pool_of(2);
    auto engine = Engine::create(random_network(2, Compat::nest).blueprint, pool);
    uint32_t seen = 0;
    ASSERT_TRUE((*engine)
                    ->run(100'000,
                          [&](uint32_t steps) {
                              seen = steps;
                              return steps < 10;
                          })
                    .has_value());
    EXPECT_GE(seen, 10u);
    EXPECT_LT(seen, 1000u);
    EXPECT_EQ((*engine)->steps(), seen);
}

TEST(Slices, CoverEachPopulationOnce) {
    for (const uint32_t threads : {1u, 2u, 3u, 5u, 16u}) {
        const std::vector<uint32_t> sizes = {1, 15, 16, 17, 1000, 100'000};
        const Slices slices(sizes, threads);
        for (uint32_t population = 0; population < sizes.size(); ++population) {
            uint32_t end = 0;
            for (uint32_t thread = 0; thread < threads; ++thread) {
                const Slice slice = slices.of(population, thread);
                EXPECT_EQ(slice.begin, end);
                EXPECT_TRUE(slice.begin % kColumnPadding == 0 || slice.size() == 0);
                end = slice.end;
                for (uint32_t i = slice.begin; i < slice.end; ++i) ASSERT_EQ(slices.owner(population, i), thread);
            }
            EXPECT_EQ(end, sizes[population]);
        }
    }
}

}  // namespace engine_test
}  // namespace riftjit::sim
