// The published constants of the ramp network: generator, targets, totals, hashes.
#include "sim/ramp/ramp_network.h"

#include <gtest/gtest.h>

#include "host/available_memory.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/ramp/ramp_engine.h"

namespace riftjit::sim {
namespace ramp_network_test {

RampNetwork network_of(uint32_t neurons) {
    RampNetwork network;
    network.neurons = neurons;
    return network;
}

std::vector<uint32_t> targets_of(uint32_t neurons, uint32_t source) {
    const RampTargets targets(network_of(neurons));
    return {targets(source, 0), targets(source, 1), targets(source, 2), targets(source, 3)};
}

TEST(RampNetwork, DrawsThePublishedValues) {
    const uint64_t seed = network_of(1).seed;
    EXPECT_EQ(random_value(seed, 0), 0xb5933bfafbc70d8au);
    EXPECT_EQ(random_value(seed, 1), 0x4dc32b44abdc6395u);
    EXPECT_EQ(random_value(seed, 2), 0xb37afa501d2539c9u);
    EXPECT_EQ(random_value(seed, 3), 0x2c9c40e31313e214u);
}

TEST(RampNetwork, HasThePublishedTargets) {
    EXPECT_EQ(targets_of(1'000, 0), (std::vector<uint32_t>{978, 837, 145, 540}));
    EXPECT_EQ(targets_of(60'000'000, 0), (std::vector<uint32_t>{53411978, 146837, 1107145, 17515540}));
    EXPECT_EQ(targets_of(60'000'000, 59'999'999), (std::vector<uint32_t>{9130901, 52920125, 17133478, 52320157}));
}

TEST(RampNetwork, ReducesExactlyAsADivisionDoes) {
    for (const uint32_t neurons : {1u, 2u, 3u, 7u, 1'000u, 65'537u, 60'000'000u, 2'147'483'649u, 4'294'967'295u}) {
        const RampTargets targets(network_of(neurons));
        for (uint32_t i = 0; i < 20'000; ++i) {
            const uint32_t source = static_cast<uint32_t>(uint64_t(i) * 2654435761u % neurons);
            const uint64_t value = random_value(network_of(1).seed, uint64_t(source) * 4 + i % 4);
            uint64_t expected = value % neurons;
            if (expected == source) expected = source + 1u == neurons ? 0 : source + 1u;
            ASSERT_EQ(targets(source, i % 4), expected) << neurons << " " << source;
        }
    }
}

TEST(RampNetwork, MovesLoopsOnByOne) {
    uint32_t moved = 0;
    for (uint32_t source = 0; source < 1'000; ++source)
        for (uint32_t k = 0; k < 4; ++k)
            moved += random_value(network_of(1).seed, uint64_t(source) * 4 + k) % 1'000 == source;
    EXPECT_EQ(moved, 2u);
    EXPECT_EQ(targets_of(1'000, 144)[1], 145u);
    EXPECT_EQ(targets_of(1'000, 293)[0], 294u);
}

struct Published {
    uint32_t neurons, steps;
    uint64_t spikes, first_100, counts_hash, graph_hash;
};
constexpr Published kPublished[] = {
    {1'000, 2000, 33'107, 1'728, 0x580cee97616e544e, 0x69eb9d1d788c1f1e},
    {10'000, 2000, 330'906, 17'245, 0xa0ca6442e5958063, 0x3e895c0e870e6449},
    {1'000, 200, 3'283, 1'728, 0x900864a17ab318e8, 0x69eb9d1d788c1f1e},
    {10'000, 200, 32'822, 17'245, 0xd2d09cb470c7ee95, 0x3e895c0e870e6449},
};

class Levels : public testing::TestWithParam<Isa> {};

TEST_P(Levels, GiveThePublishedTotalsAndHashesAtAnyThreadCount) {
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    for (const Published& published : kPublished) {
        for (const uint32_t threads : {1u, 2u, 3u, 5u}) {
            for (const TargetStore targets : {TargetStore::computed, TargetStore::stored}) {
                auto pool = ThreadPool::create(threads);
                ASSERT_TRUE(pool);
                auto engine = RampEngine::create(network_of(published.neurons), targets, kernels, GetParam(), *pool);
                ASSERT_TRUE(engine) << engine.error().message;
                engine->run(published.steps);
                EXPECT_EQ(engine->spikes(), published.spikes) << threads;
                uint64_t first = 0;
                for (uint32_t step = 0; step < 100; ++step) first += engine->spikes_per_step()[step];
                EXPECT_EQ(first, published.first_100);
                EXPECT_EQ(engine->counts_hash(), published.counts_hash) << threads;
                EXPECT_EQ(engine->graph_hash(), published.graph_hash);
                EXPECT_EQ(engine->arrivals(), 4 * published.spikes);
                EXPECT_TRUE(engine->check_conservation());
                EXPECT_TRUE(engine->check_totals());
            }
        }
    }
}

TEST_P(Levels, RunInPiecesAsInOne) {
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(2);
    auto engine = RampEngine::create(network_of(1'000), TargetStore::computed, kernels, GetParam(), *pool);
    ASSERT_TRUE(engine);
    for (const uint32_t steps : {1u, 0u, 99u, 700u, 1200u}) engine->run(steps);
    EXPECT_EQ(engine->spikes(), 33'107u);
    EXPECT_EQ(engine->counts_hash(), 0x580cee97616e544eu);
}

// Facts of the smallest network: one neuron without synapses.
TEST_P(Levels, FireOneNeuronAsItsClosedFormDoes) {
    RampNetwork network = network_of(1);
    network.fan_out = 0;
    network.tau_membrane = 20;
    network.rest = -70;
    network.reset = -75;
    network.threshold = -55;
    network.drive = 20;
    network.drive_rise = 0;
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(1);
    auto engine = RampEngine::create(network, TargetStore::computed, kernels, GetParam(), *pool);
    ASSERT_TRUE(engine) << engine.error().message;
    engine->run(10'000);
    EXPECT_EQ(engine->spikes(), 29u);
    std::vector<size_t> fired;
    for (size_t step = 0; step < 10'000; ++step)
        if (engine->spikes_per_step()[step] != 0) fired.push_back(step);
    EXPECT_EQ(fired.front(), 276u);
    EXPECT_EQ(fired.back(), 9852u);
}

TEST(RampEngine, StopsWhereTheCallerSays) {
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(3);
    auto engine = RampEngine::create(network_of(1'000), TargetStore::computed, kernels, Isa::avx2, *pool);
    ASSERT_TRUE(engine);
    engine->run(2000, [](uint32_t steps) { return steps < 100; });
    EXPECT_EQ(engine->steps(), 100u);
    EXPECT_EQ(engine->spikes(), 1'728u);
}

TEST(RampEngine, RefusesWhatDoesNotFitBeforeAllocating) {
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(1);
    const auto none = RampEngine::create(network_of(0), TargetStore::computed, kernels, Isa::avx2, *pool);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("0 neurons"), std::string::npos);
    const auto huge = RampEngine::create(network_of(UINT32_MAX), TargetStore::stored, kernels, Isa::avx2, *pool);
    if (available_memory() > ramp_memory_bytes(network_of(UINT32_MAX), TargetStore::stored)) GTEST_SKIP();
    ASSERT_FALSE(huge);
    EXPECT_NE(huge.error().message.find("4294967295 neurons take"), std::string::npos) << huge.error().message;
}

INSTANTIATE_TEST_SUITE_P(Here, Levels, testing::ValuesIn(x86::detect().levels),
                         [](const auto& level) { return std::string(name(level.param)); });

}  // namespace ramp_network_test
}  // namespace riftjit::sim
