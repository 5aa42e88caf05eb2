// The reference networks that come with the program: sizes, synapses and drives of their papers.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "sim/network/description.h"
#include "sim/network/synapse_table.h"

namespace riftjit::sim {
namespace builtin_networks_test {

Network builtin(const std::string& name, const NetworkOverrides& overrides = {}) {
    const auto text = builtin_network_text(name);
    EXPECT_TRUE(text) << text.error().message;
    Result<Network> network = parse_network(*text, name + ".toml", overrides);
    EXPECT_TRUE(network) << network.error().message;
    return network ? *network : Network{};
}
NetworkOverrides scaled(double scale) {
    NetworkOverrides overrides;
    overrides.scale = scale;
    return overrides;
}
NetworkOverrides variant(const std::string& name, double scale = 1) {
    NetworkOverrides overrides = scaled(scale);
    overrides.settings = {{"variant", name}};
    return overrides;
}
double constant(const Distribution& distribution) { return std::get<Constant>(distribution.kind).value; }
uint64_t total(const Network& network) {
    return std::accumulate(
        network.projections.begin(), network.projections.end(), uint64_t(0),
        [](uint64_t sum, const Projection& p) { return sum + std::get<FixedTotal>(p.rule).synapses; });
}
double current(const Network& network, uint32_t population) {
    double sum = 0;
    for (const Input& input : network.inputs)
        if (const auto* dc = std::get_if<CurrentInput>(&input.kind); dc && input.target == population)
            sum += constant(dc->amplitude);
    return sum;
}

TEST(BuiltinNetworks, AreReadWithoutANote) {
    EXPECT_EQ(builtin_network_names(), (std::vector<std::string>{"brunel", "coba", "cuba", "pd14"}));
    for (const std::string& name : builtin_network_names()) {
        const Network network = builtin(name);
        EXPECT_EQ(network.name, name);
        EXPECT_TRUE(network.notes.empty()) << network.notes[0];
    }
    EXPECT_EQ(builtin_network_text("brunell").error().message,
              "no network 'brunell' is built in; did you mean 'brunel'?");
}

TEST(Brunel, HasItsRegimes) {
    const Network network = builtin("brunel");
    EXPECT_EQ(network.neurons(), 12'500u);
    EXPECT_EQ(std::get<FixedInDegree>(network.projections[0].rule).degree, 1'000u);
    EXPECT_EQ(std::get<FixedInDegree>(network.projections[2].rule).degree, 250u);
    struct Regime {
        const char* name;
        double g, eta;
    };
    for (const auto& [name, g, eta] :
         {Regime{"AI", 5, 2}, Regime{"SR", 3, 2}, Regime{"SI_fast", 6, 4}, Regime{"SI_slow", 4.5, 0.9}}) {
        const Network chosen = builtin("brunel", variant(name));
        EXPECT_DOUBLE_EQ(constant(chosen.projections[2].weight), -0.1 * g);
        const auto& drive = std::get<PoissonInput>(chosen.inputs[0].kind);
        EXPECT_NEAR(drive.rate.level_per_ms, eta * 10, 1e-12) << "eta times 10 kHz";
        EXPECT_EQ(drive.weight, 0.1);
    }
    EXPECT_EQ(builtin("brunel", scaled(0.2)).neurons(), 2'500u);
}

TEST(VogelsAbbott, KeepsTheSynapsesOfANeuronAtAnyScale) {
    for (const char* name : {"cuba", "coba"}) {
        for (const double scale : {1.0, 0.25}) {
            const Network network = builtin(name, scaled(scale));
            EXPECT_EQ(network.neurons(), 4'000 * scale);
            EXPECT_EQ(std::get<PairwiseBernoulli>(network.projections[0].rule).probability, 0.02 / scale);
        }
        EXPECT_EQ(constant(builtin(name).projections[0].delay_ms), 0.1) << "one step under the rules of NEST";
        NetworkOverrides brian2;
        brian2.compat = Compat::brian2;
        EXPECT_EQ(constant(builtin(name, brian2).projections[0].delay_ms), 0);
    }
    const auto error = parse_network(*builtin_network_text("cuba"), "cuba.toml", scaled(0.01)).error().message;
    EXPECT_NE(error.find("a probability of 2 is not between 0 and 1"), std::string::npos) << error;
}

// Populations and rates of the reference simulation, in the order L23E, L23I, ..., L6I.
constexpr double kRates[] = {0.903, 2.965, 4.414, 5.876, 7.569, 8.633, 1.105, 7.829};
constexpr double kExternal[] = {1600, 1500, 2100, 1900, 2000, 1900, 2900, 2100};

TEST(Microcircuit, HasThePublishedNumbers) {
    const Network network = builtin("pd14");
    EXPECT_EQ(network.neurons(), 77'169u);
    EXPECT_EQ(total(network), 298'880'968u);
    EXPECT_EQ(network.projections.size(), 55u) << "64 pairs less nine that are not connected";
    const Network small = builtin("pd14", scaled(0.2));
    EXPECT_EQ(small.neurons(), 15'435u);
    EXPECT_EQ(total(small), 11'955'239u);
    const double weight = std::get<Normal>(network.projections[0].weight.kind).mean;
    EXPECT_NEAR(weight, 87.81, 0.005);
    EXPECT_NEAR(weight / 0.15, 585.39, 0.005);
    for (const Projection& projection : network.projections) {
        const auto& normal = std::get<Normal>(projection.weight.kind);
        const auto& delay = std::get<Normal>(projection.delay_ms.kind);
        const bool is_inhibitory = projection.source % 2 == 1,
                   is_double = projection.source == 2 && projection.target == 0;
        EXPECT_DOUBLE_EQ(normal.mean, weight * (is_inhibitory ? -4 : is_double ? 2 : 1)) << projection.name;
        EXPECT_DOUBLE_EQ(normal.deviation, 0.1 * std::abs(normal.mean));
        EXPECT_EQ(is_inhibitory ? projection.weight.most : projection.weight.least, 0);
        EXPECT_EQ(delay.mean, is_inhibitory ? 0.75 : 1.5);
        EXPECT_EQ(delay.deviation, delay.mean / 2);
        EXPECT_TRUE(projection.autapses && projection.multapses);
    }
}

// What a target receives in the mean from the others of the network, pA ms of charge a ms, at given rates.
double recurrent(const Network& network, uint32_t target) {
    double sum = 0;
    for (const Projection& projection : network.projections) {
        if (projection.target != target) continue;
        const double in_degree =
            double(std::get<FixedTotal>(projection.rule).synapses) / network.populations[target].size;
        sum += std::get<Normal>(projection.weight.kind).mean * in_degree * kRates[projection.source] * 1e-3 * 0.5;
    }
    return sum;
}

TEST(Microcircuit, KeepsItsMeanInputAtAnyScaleAndDrive) {
    const Network full = builtin("pd14");
    for (uint32_t target = 0; target < 8; ++target)
        EXPECT_NEAR(current(full, target), 8e-3 * kExternal[target] * 87.81 * 0.5, 0.1) << "the drive's mean current";
    for (const char* name : {"dc", "poisson"}) {
        for (const double scale : {1.0, 0.5, 0.2}) {
            const Network network = builtin("pd14", variant(name, scale));
            for (uint32_t target = 0; target < 8; ++target) {
                double mean = current(network, target) + recurrent(network, target);
                for (const Input& input : network.inputs) {
                    const auto* poisson = std::get_if<PoissonInput>(&input.kind);
                    if (poisson == nullptr || input.target != target) continue;
                    EXPECT_NEAR(poisson->rate.level_per_ms, 8e-3 * kExternal[target] * scale, 1e-9);
                    mean += poisson->rate.level_per_ms * poisson->weight * 0.5;
                }
                // Rounded counts move it by less than a thousandth of the terms, which are below 2000 pA.
                EXPECT_NEAR(mean, current(full, target) + recurrent(full, target), 2) << name << " " << scale;
            }
        }
    }
}

TEST(Microcircuit, BuildsWithTheDegreesThatItsTotalsImply) {
    const Network network = builtin("pd14", scaled(0.2));
    uint64_t synapses = 0;
    for (uint32_t i = 0; i < network.projections.size(); ++i) {
        const Projection& projection = network.projections[i];
        if (std::get<FixedTotal>(projection.rule).synapses > 100'000) continue;  // the smaller ones, for time
        const auto builder = ProjectionBuilder::create(network, i);
        ASSERT_TRUE(builder) << builder.error().message;
        const Slice sources{0, network.populations[projection.source].size};
        const Slice targets{0, network.populations[projection.target].size};
        builder->generate(sources, targets, [&](uint32_t, auto row) {
            synapses += row.size();
            for (const Synapse& synapse : row) {
                EXPECT_GE(synapse.delay, 1);
                EXPECT_EQ(synapse.weight < 0, projection.source % 2 == 1);
            }
        });
        synapses -= builder->expected_synapses();
        EXPECT_EQ(synapses, 0u) << projection.name;
    }
}

}  // namespace builtin_networks_test
}  // namespace riftjit::sim
