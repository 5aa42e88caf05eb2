// Plastic synapses of described networks against NEST's rule, event by event from lists of spikes: at a presynaptic
// spike at t, with the last one at t' and a delay of d, the postsynaptic spikes in (t' - d, t - d] potentiate first,
// then those strictly before t - d depress (models/stdp_synapse.h and its sisters in nest-simulator). NEST counts a
// presynaptic spike at time 0 for nearest neighbours; here the first spike follows none.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "jit/x86/backend.h"
#include "jit/x86/detect.h"
#include "sim/engine/simulation.h"

namespace riftjit::sim {
namespace nest_stdp_test {

constexpr uint32_t kSources = 6, kTargets = 5, kSteps = 3000;
constexpr double kStep = 0.1;

struct Train {
    std::vector<uint32_t> stamps;  // in steps, ascending; a source may have one twice
};
struct Case {
    std::vector<Train> sources, targets;
    std::vector<std::vector<uint32_t>> delays;  // by source and target, in steps
};

// Dense enough that many spikes coincide once the delay is added. All sources fire in the last step, so that weights
// have taken everything in.
Case random_case(uint32_t seed) {
    std::mt19937 random(seed);
    Case made;
    const auto train = [&](double rate) {
        Train one;
        for (uint32_t stamp = 3; stamp < kSteps; ++stamp)
            if (double(random()) < rate * double(UINT32_MAX)) one.stamps.push_back(stamp);
        return one;
    };
    for (uint32_t i = 0; i < kSources; ++i) {
        made.sources.push_back(train(0.02));
        made.sources.back().stamps.push_back(kSteps);
        made.delays.emplace_back();
        for (uint32_t j = 0; j < kTargets; ++j) made.delays.back().push_back(1 + random() % 12);
    }
    for (uint32_t i = 0; i < kTargets; ++i) made.targets.push_back(train(0.05));
    return made;
}

std::string times_text(const std::vector<Train>& trains, uint32_t earlier) {
    std::string text;
    for (const Train& train : trains) {
        text += "[";
        for (const uint32_t stamp : train.stamps) text += fmt::format("\"{:.1f} ms\",", (stamp - earlier) * kStep);
        text += "],";
    }
    return "[" + text + "]";
}

// Targets fire when the teacher's spikes arrive, a step later; what plastic synapses send has no effect.
std::vector<double> weights_of(const Case& given, const std::string& synapse, double weight) {
    std::string text = fmt::format(
        "[simulation]\nduration = \"{} ms\"\n[models.taught]\nkind = \"neuron\"\nequations = \"V : 1\\nsink : 1\"\n"
        "receptors = {{ teach = \"V += w\", syn = \"sink += w\" }}\nthreshold = \"V >= 1\"\nreset = \"V = 0\"\n"
        "[population.S]\nmodel = \"spike_times\"\ntimes = {}\n[population.T]\nmodel = \"taught\"\nsize = {}\n"
        "[population.L]\nmodel = \"spike_times\"\ntimes = {}\n[[projection]]\nfrom = \"L\"\nto = \"T\"\nreceptor = "
        "\"teach\"\n"
        "rule = \"one_to_one\"\nweight = 1\ndelay = \"0.1 ms\"\n",
        kSteps * kStep, times_text(given.sources, 0), kTargets, times_text(given.targets, 1));
    std::string pairs, delays;
    for (uint32_t i = 0; i < kSources; ++i) {
        for (uint32_t j = 0; j < kTargets; ++j) {
            pairs += fmt::format("[{},{}],", i, j);
            delays += fmt::format("\"{:.1f} ms\",", given.delays[i][j] * kStep);
        }
    }
    text += fmt::format(
        "[[projection]]\nname = \"plastic\"\nfrom = \"S\"\nto = \"T\"\nreceptor = \"syn\"\nrule = \"list\"\npairs = "
        "[{}]\n"
        "weight = {}\ndelay = [{}]\nsynapse = \"{}\"\n[[record]]\nweights = \"plastic\"\ninterval = \"{} ms\"\n",
        pairs, weight, delays, synapse, kSteps * kStep);
    const Result<Network> network = parse_network(text, "net.toml");
    if (!network) throw std::runtime_error(network.error().message);
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(2);
    auto simulation = Simulation::create(*network, kernels, x86::detect().levels.back(), *pool).value();
    if (const auto ran = simulation.run(network->steps()); !ran) throw std::runtime_error(ran.error().message);
    return simulation.take_samples(0);
}

// A synapse as NEST's send() sees it. Times in steps.
struct Synapse {
    const Train& post;
    uint32_t delay;
    double w;
    double k_plus = 0, k_plus_slow = 0;
    int64_t last = 0;
    bool has_last = false;

    double decay(int64_t steps, double tau) const { return std::exp(-double(steps) * kStep / tau); }
    // Those that act in (last, now].
    std::vector<int64_t> acting(int64_t now) const {
        std::vector<int64_t> times;
        for (const uint32_t stamp : post.stamps)
            if (const int64_t at = int64_t(stamp) + delay; at > last && at <= now) times.push_back(at);
        return times;
    }
    // Sum over the postsynaptic spikes that act strictly before `now`.
    double k_minus(int64_t now, double tau) const {
        double sum = 0;
        for (const uint32_t stamp : post.stamps)
            if (const int64_t at = int64_t(stamp) + delay; at < now) sum += decay(now - at, tau);
        return sum;
    }
    double nearest_minus(int64_t now, double tau) const {
        double nearest = 0;
        for (const uint32_t stamp : post.stamps)
            if (const int64_t at = int64_t(stamp) + delay; at < now) nearest = decay(now - at, tau);
        return nearest;
    }
    void pass(int64_t now, double tau) {
        k_plus = k_plus * decay(now - last, tau) + 1;
        last = now;
        has_last = true;
    }
};
using Send = std::function<void(Synapse& synapse, int64_t now)>;

void expect_as_nest(const std::string& name, double weight, const Send& send) {
    for (uint32_t seed = 1; seed <= 3; ++seed) {
        const Case given = random_case(seed);
        const std::vector<double> weights = weights_of(given, name, weight);
        ASSERT_EQ(weights.size(), kSources * kTargets);
        for (uint32_t i = 0; i < kSources; ++i) {
            for (uint32_t j = 0; j < kTargets; ++j) {
                Synapse synapse{given.targets[j], given.delays[i][j], weight};
                for (const uint32_t stamp : given.sources[i].stamps) send(synapse, stamp);
                // Some 200 events of ten roundings each; traces add up to 10 at most.
                EXPECT_NEAR(weights[i * kTargets + j], synapse.w, 200 * 10 * 10 * 0x1p-53 * std::max(weight, 100.0))
                    << name << ", seed " << seed << ", " << i << " to " << j;
                EXPECT_NE(synapse.w, weight);
            }
        }
    }
}

double facilitate(double w, double k) { return 100 * std::min(1.0, w / 100 + 0.01 * (1 - w / 100) * k); }
double depress(double w, double k) { return 100 * std::max(0.0, w / 100 - 0.01 * w / 100 * k); }

TEST(NestStdp, OfAllPairs) {
    expect_as_nest("stdp", 40, [](Synapse& s, int64_t now) {
        for (const int64_t at : s.acting(now)) s.w = facilitate(s.w, s.k_plus * s.decay(at - s.last, 20));
        s.w = depress(s.w, s.k_minus(now, 20));
        s.pass(now, 20);
    });
}

TEST(NestStdp, OfNearestSpikesOfBothSides) {
    expect_as_nest("stdp_nn_symm", 40, [](Synapse& s, int64_t now) {
        for (const int64_t at : s.acting(now))
            if (s.has_last) s.w = facilitate(s.w, s.decay(at - s.last, 20));
        s.w = depress(s.w, s.nearest_minus(now, 20));
        s.pass(now, 20);
    });
}

TEST(NestStdp, OfNearestSpikesAroundThePresynapticOne) {
    expect_as_nest("stdp_nn_pre_centered", 40, [](Synapse& s, int64_t now) {
        if (const std::vector<int64_t> times = s.acting(now); !times.empty()) {
            s.w = facilitate(s.w, s.k_plus * s.decay(times[0] - s.last, 20));
            s.k_plus = 0;
        }
        s.w = depress(s.w, s.nearest_minus(now, 20));
        s.pass(now, 20);
    });
}

TEST(NestStdp, OfNearestSpikesThatFollowEachOther) {
    expect_as_nest("stdp_nn_restr", 40, [](Synapse& s, int64_t now) {
        if (const std::vector<int64_t> times = s.acting(now); !times.empty()) {
            if (s.has_last) s.w = facilitate(s.w, s.decay(times[0] - s.last, 20));
            s.w = depress(s.w, s.nearest_minus(now, 20));
        }
        s.pass(now, 20);
    });
}

TEST(NestStdp, OfAPowerLaw) {
    expect_as_nest("stdp_pl", 40, [](Synapse& s, int64_t now) {
        for (const int64_t at : s.acting(now)) s.w += 0.1 * std::pow(s.w, 0.4) * s.k_plus * s.decay(at - s.last, 15);
        s.w = std::max(0.0, s.w - 0.1 * 0.0513 * s.w * s.k_minus(now, 30));
        s.pass(now, 15);
    });
}

// Pfister & Gerstner 2006, table 3 (visual cortex, all to all): tau- 33.7 ms, tau_y 125 ms.
TEST(NestStdp, OfTriplets) {
    expect_as_nest("stdp_triplet", 4, [](Synapse& s, int64_t now) {
        for (const int64_t at : s.acting(now))
            s.w = std::min(100.0, s.w + s.k_plus * s.decay(at - s.last, 16.8) * (5e-10 + 6.2e-3 * s.k_minus(at, 125)));
        s.k_plus_slow *= s.decay(now - s.last, 101);
        s.w = std::max(0.0, s.w - s.k_minus(now, 33.7) * (7e-3 + 2.3e-4 * s.k_plus_slow));
        s.k_plus_slow += 1;
        s.pass(now, 16.8);
    });
}

TEST(NestStdp, OfInhibitorySynapses) {
    expect_as_nest("vogels_sprekeler", 0.5, [](Synapse& s, int64_t now) {
        for (const int64_t at : s.acting(now)) s.w = std::min(1.0, s.w + 0.001 * s.k_plus * s.decay(at - s.last, 20));
        s.w = std::min(1.0, s.w + 0.001 * s.k_minus(now, 20));
        s.w = std::max(0.0, s.w - 0.001 * 0.12);
        s.pass(now, 20);
    });
}

// A relay that fires twice in a step, just when a postsynaptic spike acts: neither of its spikes is depressed by that
// one, both are by the earlier one.
TEST(NestStdp, OfTwoSpikesInOneStep) {
    const std::string text =
        "[simulation]\nduration = \"5 ms\"\n[models.taught]\nkind = \"neuron\"\nequations = \"V : 1\\nsink : 1\"\n"
        "receptors = { teach = \"V += w\", syn = \"sink += w\" }\nthreshold = \"V >= 1\"\nreset = \"V = 0\"\n"
        "[population.S]\nmodel = \"spike_times\"\ntimes = [[\"3.9 ms\"], [\"3.9 ms\"]]\n[population.R]\nmodel = "
        "\"relay\"\nsize = 1\n"
        "[population.L]\nmodel = \"spike_times\"\ntimes = [[\"0.9 ms\", \"2.9 ms\"]]\n[population.T]\nmodel = "
        "\"taught\"\nsize = 1\n"
        "[[projection]]\nfrom = \"S\"\nto = \"R\"\nrule = \"all_to_all\"\ndelay = \"0.1 ms\"\n"
        "[[projection]]\nfrom = \"L\"\nto = \"T\"\nreceptor = \"teach\"\nrule = \"one_to_one\"\nweight = 1\ndelay = "
        "\"0.1 ms\"\n"
        "[[projection]]\nname = \"p\"\nfrom = \"R\"\nto = \"T\"\nreceptor = \"syn\"\nrule = \"one_to_one\"\nweight = "
        "40\n"
        "delay = \"1 ms\"\nsynapse = \"stdp\"\n[[record]]\nweights = \"p\"\ninterval = \"5 ms\"\n";
    const Network network = parse_network(text, "net.toml").value();
    KernelCache cache(x86::compile, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    auto pool = ThreadPool::create(1);
    auto simulation = Simulation::create(network, kernels, x86::detect().levels.back(), *pool).value();
    ASSERT_TRUE(simulation.run(50));
    // Postsynaptic spikes at 1 and 3 ms act at 2 and 4 ms; the relay fires twice at 4 ms.
    const double k = std::exp(-2.0 / 20);
    EXPECT_NEAR(simulation.take_samples(0).at(0), depress(depress(40, k), k), 1e-13);
}

}  // namespace nest_stdp_test
}  // namespace riftjit::sim
