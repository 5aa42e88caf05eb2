// Connection rules: how many synapses, which ones, how often, and that no split of the sources changes them.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include "sim/network/distribution.h"
#include "sim/network/layout.h"
#include "sim/network/synapse_table.h"

namespace riftjit::sim {
namespace projection_builder_test {

struct Edge {
    uint32_t source;
    Synapse synapse;
    bool operator==(const Edge&) const = default;
};

// Two populations of parrots, or one connected to itself.
Network network_of(uint32_t sources, uint32_t targets, ConnectionRule rule) {
    Network network;
    network.populations = {{"A", sources, 0, RelayPopulation{}, {}}, {"B", targets, sources, RelayPopulation{}, {}}};
    network.projections = {{"A -> B", 0, 1, "", std::move(rule), true, true, {Constant{2}}, {Constant{1.5}}, {}}};
    return network;
}
Network recurrent(uint32_t neurons, ConnectionRule rule) {
    Network network = network_of(neurons, 1, std::move(rule));
    network.populations.pop_back();
    network.projections[0].target = 0;
    network.projections[0].name = "A -> A";
    return network;
}
Network without_multapses(Network network) {
    network.projections[0].multapses = false;
    return network;
}
Network without_autapses(Network network) {
    network.projections[0].autapses = false;
    return network;
}

ProjectionBuilder builder_of(const Network& network) {
    auto builder = ProjectionBuilder::create(network, 0);
    EXPECT_TRUE(builder) << builder.error().message;
    return *builder;
}
std::string refusal(const Network& network) {
    const auto builder = ProjectionBuilder::create(network, 0);
    return builder ? "" : builder.error().message;
}

struct Part {
    Slice sources, targets;
};
Part whole(const Network& network) {
    const Projection& projection = network.projections[0];
    return {{0, network.populations[projection.source].size}, {0, network.populations[projection.target].size}};
}

std::vector<Edge> edges_of(const ProjectionBuilder& builder, const Part& part) {
    std::vector<Edge> edges;
    builder.generate(part.sources, part.targets, [&](uint32_t source, std::span<const Synapse> synapses) {
        EXPECT_FALSE(synapses.empty());
        for (const Synapse& synapse : synapses) edges.push_back({source, synapse});
    });
    return edges;
}
std::vector<Edge> edges_of(const Network& network) { return edges_of(builder_of(network), whole(network)); }
uint64_t hash_of(const ProjectionBuilder& builder, const Part& part) {
    uint64_t hash = 0;
    builder.generate(part.sources, part.targets,
                     [&](uint32_t source, auto synapses) { hash += hash_synapses(0, source, synapses, {}); });
    return hash;
}

std::vector<uint64_t> out_degrees(const std::vector<Edge>& edges, uint32_t sources) {
    std::vector<uint64_t> degrees(sources);
    for (const Edge& edge : edges) ++degrees[edge.source];
    return degrees;
}
std::vector<uint64_t> in_degrees(const std::vector<Edge>& edges, uint32_t targets) {
    std::vector<uint64_t> degrees(targets);
    for (const Edge& edge : edges) ++degrees[edge.synapse.target];
    return degrees;
}
std::map<std::pair<uint32_t, uint32_t>, uint64_t> pairs_of(const std::vector<Edge>& edges) {
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> pairs;
    for (const Edge& edge : edges) ++pairs[{edge.source, edge.synapse.target}];
    return pairs;
}
bool has_autapses(const std::vector<Edge>& edges) {
    return std::any_of(edges.begin(), edges.end(), [](const Edge& e) { return e.source == e.synapse.target; });
}
bool has_multapses(const std::vector<Edge>& edges) {
    const auto pairs = pairs_of(edges);
    return std::any_of(pairs.begin(), pairs.end(), [](const auto& pair) { return pair.second > 1; });
}

// A chi-square of k cells: five of its deviations above its mean, which few seeds exceed (one in thousands for 20
// cells, in millions for many); seeds are fixed.
template <class Counts>
void expect_uniform(const Counts& counts, double expected) {
    double sum = 0;
    for (const uint64_t count : counts) sum += (count - expected) * (count - expected) / expected;
    EXPECT_LT(sum, counts.size() + 5 * std::sqrt(2.0 * counts.size()));
}

const PairList kPairs{{{2, 1}, {0, 4}, {2, 0}, {2, 1}, {1, 3}}};

// Every rule, with and without what may be left out; sizes around powers of two and small numbers.
std::vector<Network> all_rules() {
    const DistanceDependent gaussian{DistanceDependent::Profile::gaussian, 0.9, 0.2};
    std::vector<Network> networks = {network_of(37, 37, OneToOne{}),
                                     network_of(37, 5, AllToAll{}),
                                     network_of(101, 53, PairwiseBernoulli{0.1}),
                                     network_of(101, 53, FixedInDegree{7}),
                                     network_of(101, 53, FixedOutDegree{7}),
                                     network_of(101, 53, FixedTotal{999}),
                                     network_of(5, 5, kPairs),
                                     network_of(101, 53, gaussian)};
    for (Network& network : networks) {
        for (Population& population : network.populations) population.layout = {{Layout::Shape::uniform, 1, 1}};
        network.projections[0].weight = {Normal{1, 0.1}, 0};
        network.projections[0].delay_ms = {Normal{1.5, 0.75}};
    }
    for (size_t i = 1, rules = networks.size(); i < rules; ++i) {
        Network same = networks[i];
        same.populations[1].size = same.populations[0].size;
        same.populations.pop_back();
        same.projections[0].target = 0;
        networks.push_back(without_autapses(same));
        if (!std::holds_alternative<PairList>(same.projections[0].rule))
            networks.push_back(without_multapses(without_autapses(same)));
    }
    return networks;
}

Slice slice(uint32_t size, uint32_t part, uint32_t parts) { return {size * part / parts, size * (part + 1) / parts}; }

// Each part on a thread of its own; what it should hold is what the whole has of it, in the same order.
void expect_parts_of(const Network& network, const std::vector<Part>& parts) {
    const ProjectionBuilder builder = builder_of(network);
    const std::vector<Edge> all = edges_of(builder, whole(network));
    EXPECT_FALSE(all.empty());
    std::vector<std::vector<Edge>> found(parts.size());
    std::vector<uint64_t> hashes(parts.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < parts.size(); ++i) {
        threads.emplace_back([&, i] {
            found[i] = edges_of(builder, parts[i]);
            hashes[i] = hash_of(builder, parts[i]);
        });
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t hash = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        std::vector<Edge> expected = all;
        std::erase_if(expected, [&](const Edge& edge) {
            return !parts[i].sources.contains(edge.source) || !parts[i].targets.contains(edge.synapse.target);
        });
        EXPECT_EQ(found[i], expected) << rule_text(network.projections[0].rule) << " in " << parts.size() << " parts";
        hash += hashes[i];
    }
    EXPECT_EQ(hash, hash_of(builder, whole(network)));
}

// nest-simulator issue 2119: networks that depend on how processes and threads share the work.
TEST(ConnectionRules, GiveTheSameNetworkAtAnySplitOfSourcesAndTargets) {
    for (const Network& network : all_rules()) {
        const auto [sources, targets] = whole(network);
        for (const uint32_t count : {1u, 2u, 3u, 5u}) {
            std::vector<Part> by_source, by_target, by_both;
            for (uint32_t i = 0; i < count; ++i) {
                by_source.push_back({slice(sources.size(), i, count), targets});
                by_target.push_back({sources, slice(targets.size(), i, count)});
                for (uint32_t j = 0; j < 3; ++j)
                    by_both.push_back({slice(sources.size(), j, 3), slice(targets.size(), i, count)});
            }
            expect_parts_of(network, by_source);
            expect_parts_of(network, by_target);
            expect_parts_of(network, by_both);
        }
    }
}

TEST(ConnectionRules, GiveAnotherNetworkForAnotherSeedOrProjection) {
    for (Network network : all_rules()) {
        const std::vector<Edge> edges = edges_of(network);
        network.seed = 2;
        EXPECT_NE(edges_of(network), edges) << rule_text(network.projections[0].rule);
        network.seed = 1;
        network.projections.push_back(network.projections[0]);
        const auto second = ProjectionBuilder::create(network, 1);
        ASSERT_TRUE(second);
        EXPECT_NE(edges_of(*second, whole(network)), edges);
        EXPECT_EQ(edges_of(network), edges);
    }
}

TEST(ConnectionRules, LeaveOutWhatTheyAreToldTo) {
    for (const Network& network : all_rules()) {
        const Projection& projection = network.projections[0];
        const std::vector<Edge> edges = edges_of(network);
        EXPECT_TRUE(projection.autapses || !has_autapses(edges)) << rule_text(projection.rule);
        EXPECT_TRUE(projection.multapses || !has_multapses(edges)) << rule_text(projection.rule);
        for (const Edge& edge : edges) {
            ASSERT_LT(edge.source, network.populations[0].size);
            ASSERT_LT(edge.synapse.target, network.populations[projection.target].size);
        }
    }
}

TEST(ConnectionRules, FixWhatTheyFix) {
    const auto all_equal = [](const std::vector<uint64_t>& degrees, uint64_t degree) {
        return std::all_of(degrees.begin(), degrees.end(), [&](uint64_t found) { return found == degree; });
    };
    const auto pairs = pairs_of(edges_of(network_of(20, 20, OneToOne{})));
    EXPECT_EQ(pairs.size(), 20u);
    EXPECT_TRUE(std::all_of(pairs.begin(), pairs.end(), [](auto& p) { return p.first.first == p.first.second; }));
    EXPECT_EQ(pairs_of(edges_of(network_of(7, 9, AllToAll{}))).size(), 63u);
    EXPECT_EQ(pairs_of(edges_of(without_autapses(recurrent(7, AllToAll{})))).size(), 42u);
    EXPECT_EQ(pairs_of(edges_of(network_of(7, 9, PairwiseBernoulli{1}))).size(), 63u);
    EXPECT_TRUE(edges_of(network_of(7, 9, PairwiseBernoulli{0})).empty());
    // More synapses than candidates with replacement; nearly all and all of them without.
    for (const uint32_t degree : {0u, 1u, 60u, 150u})
        EXPECT_TRUE(all_equal(in_degrees(edges_of(network_of(60, 40, FixedInDegree{degree})), 40), degree));
    for (const uint32_t degree : {0u, 1u, 59u, 60u}) {
        const auto edges = edges_of(without_multapses(network_of(60, 40, FixedInDegree{degree})));
        EXPECT_TRUE(all_equal(in_degrees(edges, 40), degree));
        EXPECT_FALSE(has_multapses(edges));
    }
    for (const uint32_t degree : {0u, 1u, 39u, 40u}) {
        const auto edges = edges_of(without_multapses(network_of(60, 40, FixedOutDegree{degree})));
        EXPECT_TRUE(all_equal(out_degrees(edges, 60), degree));
        EXPECT_FALSE(has_multapses(edges));
    }
    for (const uint64_t total : {0u, 1u, 500u, 1'300u, 2'399u, 2'400u}) {
        EXPECT_EQ(edges_of(network_of(60, 40, FixedTotal{total})).size(), total);
        const auto edges = edges_of(without_multapses(network_of(60, 40, FixedTotal{total})));
        EXPECT_EQ(edges.size(), total);
        EXPECT_FALSE(has_multapses(edges));
    }
    EXPECT_EQ(edges_of(network_of(60, 40, FixedTotal{5'000})).size(), 5'000u);
}

TEST(ConnectionRules, SayHowManySynapsesToExpect) {
    for (const Network& network : all_rules()) {
        const ProjectionBuilder builder = builder_of(network);
        const double expected = builder.expected_synapses(), found = edges_of(network).size();
        // Pairs are independent, so the deviation is below the root of the mean.
        EXPECT_NEAR(found, expected, builder.is_exact() ? 0 : 5 * std::sqrt(expected))
            << rule_text(network.projections[0].rule);
    }
}

// Each of 30 x 20 pairs (or 25 x 24 without autapses), each source and each target equally often over many seeds.
template <class Rule>
void expect_every_pair_alike(const Rule& rule, bool is_recurrent) {
    const uint32_t sources = is_recurrent ? 25 : 30, targets = is_recurrent ? 25 : 20;
    std::vector<uint64_t> pairs(30 * 20), by_source(sources), by_target(targets);
    double edges = 0;
    for (uint32_t seed = 0; seed < 400; ++seed) {
        Network network = is_recurrent ? without_autapses(recurrent(25, rule)) : network_of(30, 20, rule);
        if (seed % 2 == 0) network.projections[0].multapses = false;
        network.seed = seed;
        for (const auto& [source, synapse] : edges_of(network)) {
            const uint32_t target = synapse.target;
            ++pairs[is_recurrent ? source * 24 + target - (target > source ? 1 : 0) : source * 20 + target];
            ++by_source[source];
            ++by_target[target];
            ++edges;
        }
    }
    expect_uniform(pairs, edges / pairs.size());
    expect_uniform(by_source, edges / sources);
    expect_uniform(by_target, edges / targets);
}

TEST(ConnectionRules, ReachEveryPairEquallyOften) {
    for (const bool is_recurrent : {false, true}) {
        expect_every_pair_alike(PairwiseBernoulli{0.3}, is_recurrent);
        expect_every_pair_alike(FixedInDegree{4}, is_recurrent);
        expect_every_pair_alike(FixedOutDegree{3}, is_recurrent);
        expect_every_pair_alike(FixedTotal{150}, is_recurrent);
        expect_every_pair_alike(FixedTotal{450}, is_recurrent);
    }
}

TEST(FixedTotal, SpreadsOverSourcesAsAMultinomialDoes) {
    // Degrees of 500 sources at 40 synapses each: Poisson-like, variance 40 (1 - 1/500); the sum of squares over 40 is
    // a chi-square of 499 degrees. Both ends are tested: degrees that are too even are wrong as well.
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        Network network = network_of(500, 300, FixedTotal{20'000});
        network.seed = seed;
        double sum = 0;
        for (const uint64_t degree : out_degrees(edges_of(network), 500)) sum += (degree - 40.0) * (degree - 40.0) / 40;
        EXPECT_NEAR(sum, 499, 5 * std::sqrt(2 * 499.0));
    }
}

TEST(FixedTotal, WithoutMultapsesSpreadsAsDrawsFromAnUrnDo) {
    // Hypergeometric degrees: variance n K/N (1 - K/N) (N - n) / (N - 1) of n draws from N pairs, K of them a source's.
    for (const uint64_t total : {6'000u, 14'000u}) {
        const double pairs = 400 * 50, share = 1.0 / 400;
        const double mean = total * share, variance = mean * (1 - share) * (pairs - total) / (pairs - 1);
        double sum = 0;
        for (uint64_t degree : out_degrees(edges_of(without_multapses(network_of(400, 50, FixedTotal{total}))), 400))
            sum += (degree - mean) * (degree - mean) / variance;
        EXPECT_NEAR(sum, 400, 5 * std::sqrt(2 * 400.0));
    }
}

TEST(PairwiseBernoulli, HasBinomialDegrees) {
    const uint32_t neurons = 1'000;
    const double p = 0.05, mean = p * neurons, variance = mean * (1 - p);
    const std::vector<Edge> edges = edges_of(network_of(neurons, neurons, PairwiseBernoulli{p}));
    for (const auto& degrees : {out_degrees(edges, neurons), in_degrees(edges, neurons)}) {
        double sum = 0, squares = 0;
        for (const uint64_t degree : degrees) {
            sum += degree;
            squares += (degree - mean) * (degree - mean) / variance;
        }
        EXPECT_NEAR(sum / neurons, mean, 5 * std::sqrt(variance / neurons));
        EXPECT_NEAR(squares, neurons, 5 * std::sqrt(2.0 * neurons));
    }
    EXPECT_FALSE(has_multapses(edges));
}

TEST(FixedInDegree, SpreadsOverSourcesInEveryBlock) {
    // 3 million draws go through more than one block of sources (16 MiB at 12 bytes a pair).
    const Network network = network_of(1'000, 3'000, FixedInDegree{1'000});
    const std::vector<Edge> edges = edges_of(network);
    EXPECT_EQ(edges.size(), 3'000'000u);
    expect_uniform(out_degrees(edges, 1'000), 3'000);
    const ProjectionBuilder builder = builder_of(network);
    const Slice targets{0, 3'000};
    EXPECT_EQ(hash_of(builder, {{0, 1'000}, targets}), hash_of(builder, {{0, 333}, targets}) +
                                                           hash_of(builder, {{333, 1'000}, {0, 7}}) +
                                                           hash_of(builder, {{333, 1'000}, {7, 3'000}}));
}

TEST(PairList, KeepsItsOrderAndItsValues) {
    Network network = network_of(5, 5, kPairs);
    network.projections[0].weight = {Values{{1, 2, 3, 4, 5}}};
    network.projections[0].delay_ms = {Values{{0.1, 0.2, 0.3, 0.4, 0.5}}};
    const std::vector<Edge> expected = {
        {0, {4, 2, 2}}, {1, {3, 5, 5}}, {2, {1, 1, 1}}, {2, {0, 3, 3}}, {2, {1, 4, 4, 1}}};
    EXPECT_EQ(edges_of(network), expected);
    EXPECT_TRUE(edges_of(network_of(5, 5, PairList{})).empty());
}

TEST(DistanceDependent, FallsWithDistanceAsItsProfileSays) {
    struct Case {
        DistanceDependent rule;
        double (*profile)(double);
    };
    using Profile = DistanceDependent::Profile;
    const std::vector<Case> cases = {
        {{Profile::gaussian, 0.8, 0.2}, [](double d) { return 0.8 * std::exp(-d * d / 0.08); }},
        {{Profile::exponential, 0.8, 0.2}, [](double d) { return 0.8 * std::exp(-d / 0.2); }},
        {{Profile::disc, 0.5, 1, 0.3}, [](double d) { return d <= 0.3 ? 0.5 : 0; }}};
    for (const auto boundary : {DistanceDependent::Boundary::open, DistanceDependent::Boundary::periodic}) {
        for (Case item : cases) {
            item.rule.boundary = boundary;
            Network network = network_of(600, 600, item.rule);
            const Layout layout{Layout::Shape::uniform, 1, 1};
            for (Population& population : network.populations) population.layout = layout;
            const auto sources = places_of(layout, 600, 1, 0), targets = places_of(layout, 600, 1, 1);
            const auto pairs = pairs_of(edges_of(network));
            // By bins of distance: found and expected numbers, the latter summed over all pairs.
            std::vector<double> found(15), expected(15);
            for (uint32_t s = 0; s < 600; ++s) {
                for (uint32_t t = 0; t < 600; ++t) {
                    double dx = std::abs(sources[s].x - targets[t].x), dy = std::abs(sources[s].y - targets[t].y);
                    if (boundary == DistanceDependent::Boundary::periodic) {
                        dx = std::min(dx, 1 - dx);
                        dy = std::min(dy, 1 - dy);
                    }
                    const double d = std::hypot(dx, dy);
                    found[size_t(d * 10)] += pairs.contains({s, t}) ? 1 : 0;
                    expected[size_t(d * 10)] += item.profile(d);
                }
            }
            for (size_t bin = 0; bin < 15; ++bin)
                EXPECT_NEAR(found[bin], expected[bin], 5 * std::sqrt(expected[bin]) + 1e-9) << bin;
        }
    }
}

TEST(Layout, PlacesGridsAndRings) {
    const auto grid = places_of({Layout::Shape::grid, 3, 2, 3}, 6, 1, 0);
    EXPECT_EQ(grid[4].x, 1);
    EXPECT_EQ(grid[4].y, 1);
    const Layout ring{Layout::Shape::ring, 10, 0};
    const auto places = places_of(ring, 10, 1, 0);
    EXPECT_EQ(distance(places[1], places[9], ring, DistanceDependent::Boundary::open), 2);
}

TEST(SynapseValues, AreDrawnPerSynapse) {
    Network network = network_of(200, 500, AllToAll{});
    network.projections[0].weight = {Normal{87.81, 8.781}, 0};
    network.projections[0].delay_ms = {Normal{1.5, 0.75}};
    double weight_sum = 0, weight_squares = 0, product = 0, delay_sum = 0, delay_squares = 0;
    const std::vector<Edge> edges = edges_of(network);
    for (const Edge& edge : edges) {
        const double weight = (edge.synapse.weight - 87.81) / 8.781, delay = edge.synapse.delay * 0.1;
        ASSERT_GE(edge.synapse.delay, 1);
        weight_sum += weight;
        weight_squares += weight * weight;
        delay_sum += delay;
        delay_squares += delay * delay;
        product += weight * delay;
    }
    const double count = edges.size(), error = 5 / std::sqrt(count);
    EXPECT_NEAR(weight_sum / count, 0, error);
    EXPECT_NEAR(weight_squares / count, 1, error * std::sqrt(2.0));
    // A normal (1.5, 0.75) above 0.05, in steps of 0.1: mean and deviation of the truncated normal (Phi(-1.9333) =
    // 0.0266, phi = 0.0616 give lambda = 0.0632): 1.5 + 0.75 * 0.0632, 0.75 sqrt(1 - 1.9333 * 0.0632 - 0.0632^2),
    // and h^2 / 12 from the rounding.
    const double mean = delay_sum / count;
    EXPECT_NEAR(mean, 1.5474, 0.7 * error + 1e-3);
    EXPECT_NEAR(std::sqrt(delay_squares / count - mean * mean), 0.7009, 0.7 * error + 1e-3);
    EXPECT_NEAR(product / count - mean * weight_sum / count, 0, 0.75 * error) << "weights and delays are independent";
}

// Whatever the rule, the order of drawing and the other synapses: what makes it possible to draw a part alone.
TEST(SynapseValues, DependOnSourceTargetAndOccurrenceAlone) {
    const Distribution weight{Normal{1, 0.1}, 0}, delay{Uniform{1, 5}};
    const uint64_t key = random_key(1, Purpose::synapse_value, 0);
    PairList backwards;
    for (uint32_t pair = 0; pair < 600; ++pair) backwards.pairs.push_back({29 - pair % 30, 19 - pair / 30});
    backwards.pairs.insert(backwards.pairs.end(), backwards.pairs.begin() + 100, backwards.pairs.begin() + 200);
    for (const ConnectionRule& rule : std::vector<ConnectionRule>{AllToAll{}, PairwiseBernoulli{0.3}, FixedInDegree{40},
                                                                  FixedOutDegree{25}, FixedTotal{900}, backwards}) {
        Network network = network_of(30, 20, rule);
        network.projections[0].weight = weight;
        network.projections[0].delay_ms = delay;
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> occurrences;
        for (const auto& [source, synapse] : edges_of(network)) {
            const uint32_t occurrence = occurrences[{source, synapse.target}]++;
            EXPECT_EQ(synapse.occurrence, occurrence) << rule_text(rule);
            const uint64_t index = synapse.target | uint64_t(occurrence) << 32;
            EXPECT_EQ(synapse.weight, draw(weight, key, source, index, Half::first));
            EXPECT_EQ(synapse.delay, uint16_t(draw(delay, key, source, index, Half::second) / 0.1 + 0.5));
        }
    }
}

TEST(SynapseValues, AreSharedWhereConstant) {
    const ProjectionBuilder builder = builder_of(network_of(3, 3, AllToAll{}));
    EXPECT_EQ(builder.shared_weight(), 2.0);
    EXPECT_EQ(builder.shared_delay(), 15);
    EXPECT_EQ(builder.likely_delays(), 1u);
    Network network = network_of(3, 3, AllToAll{});
    network.projections[0].delay_ms = {Uniform{1, 2}};
    EXPECT_EQ(builder_of(network).likely_delays(), 11u);
    EXPECT_FALSE(builder_of(network).shared_delay());
}

TEST(Delays, StayWithinTheSteps) {
    const auto with_delay = [](Distribution delay, Compat compat = Compat::nest) {
        Network network = network_of(10, 10, AllToAll{});
        network.projections[0].delay_ms = std::move(delay);
        network.compat = compat;
        return network;
    };
    EXPECT_EQ(refusal(with_delay({Constant{0.04}})),
              "projection A -> B: a delay of 0.04 ms is below one step of 0.1 ms");
    EXPECT_EQ(refusal(with_delay({Constant{0.05}})),
              "projection A -> B: a delay of 0.05 ms is below one step of 0.1 ms");
    EXPECT_EQ(edges_of(with_delay({Constant{0.09}}))[0].synapse.delay, 1) << "as rounded";
    EXPECT_EQ(edges_of(with_delay({Constant{0.051}}))[0].synapse.delay, 1);
    EXPECT_EQ(refusal(with_delay({Constant{0}})), "projection A -> B: a delay of 0 ms is below one step of 0.1 ms");
    EXPECT_EQ(edges_of(with_delay({Constant{0.1}}))[0].synapse.delay, 1);
    EXPECT_EQ(edges_of(with_delay({Constant{0}}, Compat::brian2))[0].synapse.delay, 0);
    EXPECT_EQ(refusal(with_delay({Constant{-0.1}}, Compat::brian2)),
              "projection A -> B: a delay of -0.1 ms is below 0");
    EXPECT_EQ(refusal(with_delay({Constant{-0.01}}, Compat::brian2)),
              "projection A -> B: a delay of -0.01 ms is below 0");
    EXPECT_EQ(edges_of(with_delay({Constant{0.05}}, Compat::brian2))[0].synapse.delay, 0);
    EXPECT_EQ(edges_of(with_delay({Constant{6553.45}}))[0].synapse.delay, 65534) << "as rounded, to the even step";
    EXPECT_EQ(edges_of(with_delay({Constant{6553.4}}))[0].synapse.delay, 65534);
    EXPECT_EQ(refusal(with_delay({Constant{6553.5}})),
              "projection A -> B: a delay of 6553.5 ms is above 65534 steps of 0.1 ms");
    EXPECT_EQ(refusal(with_delay({Normal{-5, 1}})),
              "projection A -> B: its delay in ms has normal (mean -5, deviation 1), at least 0.05, at most "
              "6553.400000000001: "
              "a draw has probability 2.2e-07 of lying inside");
    // Drawn anew, not clipped: one step has its share of the normal and no more.
    uint64_t ones = 0;
    Network wide = network_of(200, 500, AllToAll{});
    wide.projections[0].delay_ms = {Normal{0.1, 0.1}};
    const std::vector<Edge> edges = edges_of(wide);
    for (const Edge& edge : edges) ones += edge.synapse.delay == 1 ? 1 : 0;
    // P(0.05 <= d < 0.15 | d >= 0.05) = (Phi(0.5) - Phi(-0.5)) / Phi(0.5) = 0.38292 / 0.69146.
    EXPECT_NEAR(double(ones) / edges.size(), 0.55379, 5 * std::sqrt(0.25 / edges.size()));
}

TEST(ConnectionRules, RefuseWhatCannotBe) {
    EXPECT_EQ(refusal(network_of(3, 4, OneToOne{})),
              "projection A -> B: one_to_one needs populations of equal size, not 3 and 4");
    EXPECT_EQ(refusal(without_autapses(recurrent(3, OneToOne{}))),
              "projection A -> A: one_to_one within a population makes autapses only: set autapses = true");
    EXPECT_EQ(refusal(without_multapses(network_of(3, 4, FixedInDegree{4}))),
              "projection A -> B: an in-degree of 4 needs as many sources, there are 3 (no multapses)");
    EXPECT_EQ(refusal(without_autapses(without_multapses(recurrent(3, FixedInDegree{3})))),
              "projection A -> A: an in-degree of 3 needs as many sources, there are 2 (no multapses, no autapses)");
    EXPECT_EQ(refusal(without_multapses(network_of(3, 4, FixedOutDegree{5}))),
              "projection A -> B: an out-degree of 5 needs as many targets, there are 4 (no multapses)");
    EXPECT_EQ(refusal(without_multapses(network_of(3, 4, FixedTotal{13}))),
              "projection A -> B: 13 synapses need as many pairs, there are 12 (no multapses)");
    for (const ConnectionRule& rule : std::vector<ConnectionRule>{FixedInDegree{1}, FixedOutDegree{1}, FixedTotal{1}})
        EXPECT_NE(refusal(without_autapses(recurrent(1, rule))), "");
    EXPECT_EQ(refusal(network_of(2, 4, FixedTotal{1ull << 33})),
              "projection A -> B: 8589934592 synapses of 2 sources are more than 2147483648 each");
    EXPECT_EQ(refusal(network_of(2, 5, kPairs)), "projection A -> B: source 2 of the list is not below 2");
    EXPECT_EQ(refusal(network_of(5, 4, kPairs)), "projection A -> B: target 4 of the list is not below 4");
    EXPECT_EQ(refusal(without_multapses(network_of(5, 5, kPairs))),
              "projection A -> B: the list has 2 -> 1 twice: set multapses = true");
    EXPECT_EQ(refusal(without_autapses(recurrent(5, PairList{{{3, 3}}}))),
              "projection A -> A: the list connects neuron 3 to itself: set autapses = true");
    Network network = network_of(5, 5, kPairs);
    network.projections[0].weight = {Values{{1, 2}}};
    EXPECT_EQ(refusal(network), "projection A -> B: 2 values of its weight for 5 pairs");
    network = network_of(5, 5, AllToAll{});
    network.projections[0].weight = {Values{{1, 2}}};
    EXPECT_EQ(refusal(network), "projection A -> B: one weight per synapse needs a list of pairs");
    network.projections[0].weight = {Constant{NAN}};
    EXPECT_EQ(refusal(network), "projection A -> B: its weight has a value of nan");
    EXPECT_EQ(refusal(network_of(5, 5, DistanceDependent{})),
              "projection A -> B: a distance needs positions in both populations");
}

// Bytes that this process has taken from the allocator.
uint64_t bytes_in_use() {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

TEST(ConnectionRules, AreRefusedBeforeAnythingIsAllocated) {
    constexpr uint32_t kHalf = 1u << 31;
    const uint64_t before = bytes_in_use();
    for (const ConnectionRule& rule : std::vector<ConnectionRule>{
             FixedInDegree{kHalf + 1}, FixedOutDegree{kHalf}, FixedTotal{uint64_t(kHalf) * kHalf}, DistanceDependent{},
             PairwiseBernoulli{-0.1}, OneToOne{}})
        EXPECT_NE(refusal(without_multapses(network_of(kHalf, kHalf - 1, rule))), "") << rule_text(rule);
    // Nor does what is right take memory by the number of neurons, unless each has a number of its own.
    for (const ConnectionRule& rule :
         std::vector<ConnectionRule>{AllToAll{}, FixedInDegree{9}, FixedOutDegree{9}, PairwiseBernoulli{1e-6}})
        EXPECT_EQ(refusal(network_of(kHalf, kHalf - 1, rule)), "");
    EXPECT_LT(bytes_in_use(), before + (1 << 20));
}

TEST(ConnectionRules, LeaveNoMemoryBehind) {
    const std::vector<Network> networks = all_rules();
    const auto build_all = [&] {
        for (const Network& network : networks) hash_of(builder_of(network), whole(network));
    };
    build_all();
    const uint64_t before = bytes_in_use();
    for (int i = 0; i < 100; ++i) build_all();
    EXPECT_LT(bytes_in_use(), before + (64 << 10));
}

TEST(SynapseHash, IsWhatItWasWhenItWasFirstPublished) {
    const std::vector<Synapse> row = {{1, 2, 3.0f}, {4, 15, -0.5f}, {4, 5, 6.0f, 1}};
    EXPECT_EQ(hash_synapses(0, 0, {}, {}), 0u);
    EXPECT_EQ(hash_synapses(0, 0, std::span(row).first(1), {}), 0x5185272ef7bf46cbu);
    EXPECT_EQ(hash_synapses(3, 70'000, row, {}), 0xa42692b926fec014u);
    EXPECT_EQ(hash_synapses(3, 70'000, row, 0.1), 0xf88532404f95f798u);
}

TEST(SynapseHash, IsASumOverSynapses) {
    const std::vector<Synapse> row = {{1, 2, 3.0f}, {4, 5, 6.0f}, {1, 2, 3.0f, 1}};
    uint64_t sum = 0;
    for (const Synapse& synapse : row) sum += hash_synapses(7, 8, {&synapse, 1}, {});
    EXPECT_EQ(hash_synapses(7, 8, row, {}), sum);
}

TEST(SynapseHash, DependsOnEveryPart) {
    const std::vector<Synapse> row = {{1, 2, 3.0f}, {4, 5, 6.0f}};
    const uint64_t hash = hash_synapses(0, 0, row, {});
    EXPECT_NE(hash, hash_synapses(1, 0, row, {}));
    EXPECT_NE(hash, hash_synapses(0, 1, row, {}));
    EXPECT_NE(hash, hash_synapses(0, 0, row, 3));
    for (const std::vector<Synapse>& other : {std::vector<Synapse>{{1, 2, 6.0f}, {4, 5, 3.0f}},
                                              {{1, 2, 3.0f}},
                                              {{1, 2, 3.5f}, {4, 5, 6.0f}},
                                              {{1, 3, 3.0f}, {4, 5, 6.0f}},
                                              {{1, 5, 3.0f}, {4, 2, 6.0f}},
                                              {{2, 2, 3.0f}, {4, 5, 6.0f}},
                                              {{4, 2, 3.0f}, {1, 5, 6.0f}},
                                              {{1, 2, 3.0f, 1}, {4, 5, 6.0f}}})
        EXPECT_NE(hash, hash_synapses(0, 0, other, {}));
}

}  // namespace projection_builder_test
}  // namespace riftjit::sim
