// Synapse models against sums over pairs of spikes, written down from the papers and independent of any trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/sim/equations/program_runner.h"

namespace riftjit::sim {
namespace synapse_models_test {

enum class Side : uint8_t { pre, post };
struct Spike {
    double ms;
    Side side;
};

// Values of one synapse after each presynaptic spike.
struct Outcome {
    std::vector<double> weights, delivered;
};

Outcome run(const std::string& name, const std::map<std::string, double>& constants, double weight,
            const std::vector<Spike>& spikes) {
    const SynapseModel model = synapse_model(name);
    SynapsePrograms programs = value_or_fail(lower(model, constants, 0.1));
    ProgramRunner pre(std::move(programs.on_pre)), post(std::move(programs.on_post));
    std::map<std::string, double> states = value_or_fail(initial_values(model, constants));
    Outcome outcome;
    double last_ms = 0;
    for (const Spike& spike : spikes) {
        ProgramRunner& event = spike.side == Side::pre ? pre : post;
        for (const auto& [state, value] : states) event.state(state) = value;
        event(ColumnRole::weight) = weight;
        event(ColumnRole::event_time) = spike.ms - last_ms;
        event(ColumnRole::coincident) = std::ranges::any_of(
            spikes, [&](const Spike& other) { return other.side == Side::post && other.ms == spike.ms; });
        EXPECT_FALSE(event.run());
        for (auto& [state, value] : states) value = event.state(state);
        weight = event(ColumnRole::weight);
        last_ms = spike.ms;
        if (spike.side != Side::pre) continue;
        outcome.weights.push_back(weight);
        outcome.delivered.push_back(event(ColumnRole::delivered));
    }
    return outcome;
}

// Irregular trains with a coincidence (at 57) and repeats on either side; of a coincidence the postsynaptic is first.
const std::vector<Spike> kSpikes = {{3, Side::post},  {10, Side::pre},  {14, Side::post}, {15.5, Side::post},
                                    {21, Side::pre},  {22, Side::pre},  {40, Side::post}, {57, Side::post},
                                    {57, Side::pre},  {60, Side::post}, {61, Side::pre},  {90, Side::pre},
                                    {95, Side::post}, {96, Side::post}, {130, Side::pre}};

double times_of(Side side, const std::function<double(double)>& term) {
    double sum = 0;
    for (const Spike& spike : kSpikes)
        if (spike.side == side) sum += term(spike.ms);
    return sum;
}
// Sum of e^(-(now - t) / tau) over the spikes of a side before `now`.
double trace(Side side, double now, double tau) {
    return times_of(side, [&](double t) { return t < now ? std::exp(-(now - t) / tau) : 0; });
}
// The same of the last such spike alone.
double nearest(Side side, double now, double tau) {
    double last = -INFINITY;
    times_of(side, [&](double t) { return t < now ? last = std::max(last, t) : 0; });
    return std::exp(-(now - last) / tau);
}

// A rule's change at one spike, on its own: the weight after it.
using Change = std::function<double(double weight, const Spike& spike)>;
std::vector<double> expected_weights(double weight, const Change& change) {
    std::vector<double> weights;
    for (const Spike& spike : kSpikes) {
        weight = change(weight, spike);
        if (spike.side == Side::pre) weights.push_back(weight);
    }
    return weights;
}
void expect_weights(const std::string& name, const std::map<std::string, double>& constants, double weight,
                    const Change& change) {
    SCOPED_TRACE(name);
    const Outcome outcome = run(name, constants, weight, kSpikes);
    const std::vector<double> expected = expected_weights(weight, change);
    ASSERT_EQ(outcome.weights.size(), expected.size());
    // Each of the 15 spikes rounds some ten times.
    for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(outcome.weights[i], expected[i], 150 * 0x1p-53 * std::fabs(weight)) << "spike " << i;
    EXPECT_EQ(outcome.delivered, outcome.weights);
}

struct PairRule {
    double mu_plus, mu_minus, tau_plus = 17, tau_minus = 34, lambda = 0.02, alpha = 1.1, most = 80;

    std::map<std::string, double> constants() const {
        return {{"mu_plus", mu_plus}, {"mu_minus", mu_minus}, {"tau_plus", tau_plus}, {"tau_minus", tau_minus},
                {"lambda", lambda},   {"alpha", alpha},       {"Wmax", most}};
    }
    double potentiate(double w, double k) const {
        return most * std::min(1.0, w / most + lambda * std::pow(1 - w / most, mu_plus) * k);
    }
    double depress(double w, double k) const {
        return most * std::max(0.0, w / most - alpha * lambda * std::pow(w / most, mu_minus) * k);
    }
};
const std::vector<PairRule> kPairRules = {{0, 0}, {1, 1}, {0, 1}, {0.3, 0.7}};  // additive ... Guetig

TEST(SynapseModels, StdpOfAllPairsFollowsItsSum) {
    for (const PairRule& rule : kPairRules)
        expect_weights("stdp", rule.constants(), 40, [&](double w, const Spike& spike) {
            return spike.side == Side::post ? rule.potentiate(w, trace(Side::pre, spike.ms, rule.tau_plus))
                                            : rule.depress(w, trace(Side::post, spike.ms, rule.tau_minus));
        });
}

TEST(SynapseModels, AdditiveStdpIsASumOverPairs) {  // not even the weight's course enters
    const PairRule rule{0, 0};
    double expected = 40;
    for (const Spike& pre : kSpikes)
        for (const Spike& post : kSpikes) {
            if (pre.side != Side::pre || post.side != Side::post) continue;
            const double lag = post.ms - pre.ms;
            if (lag > 0) expected += rule.most * rule.lambda * std::exp(-lag / rule.tau_plus);
            if (lag < 0) expected -= rule.most * rule.lambda * rule.alpha * std::exp(lag / rule.tau_minus);
        }
    EXPECT_NEAR(run("stdp", rule.constants(), 40, kSpikes).weights.back(), expected, 40 * 150 * 0x1p-53);
}

TEST(SynapseModels, SymmetricNearestPairsTakeTheLastSpikeOfTheOtherSide) {
    for (const PairRule& rule : kPairRules)
        expect_weights("stdp_nn_symm", rule.constants(), 40, [&](double w, const Spike& spike) {
            return spike.side == Side::post ? rule.potentiate(w, nearest(Side::pre, spike.ms, rule.tau_plus))
                                            : rule.depress(w, nearest(Side::post, spike.ms, rule.tau_minus));
        });
}

// The last spike of `side` before `now`; -infinity where there is none.
double last_before(Side side, double now) {
    double last = -INFINITY;
    times_of(side, [&](double t) { return t < now ? last = std::max(last, t) : 0; });
    return last;
}

TEST(SynapseModels, PresynapticCentredPairsTakeTheLastAndTheNextPostsynapticSpike) {
    for (const PairRule& rule : kPairRules)
        expect_weights("stdp_nn_pre_centered", rule.constants(), 40, [&](double w, const Spike& spike) {
            if (spike.side == Side::pre) return rule.depress(w, nearest(Side::post, spike.ms, rule.tau_minus));
            // All presynaptic spikes to which this one is the next: since the postsynaptic spike before, with it.
            const double since = last_before(Side::post, spike.ms);
            const double k = times_of(Side::pre, [&](double t) {
                return t >= since && t < spike.ms ? std::exp(-(spike.ms - t) / rule.tau_plus) : 0;
            });
            return rule.potentiate(w, k);
        });
}

TEST(SynapseModels, RestrictedPairsFollowEachOtherImmediately) {
    for (const PairRule& rule : kPairRules)
        expect_weights("stdp_nn_restr", rule.constants(), 40, [&](double w, const Spike& spike) {
            const Side other = spike.side == Side::pre ? Side::post : Side::pre;
            const double partner = last_before(other, spike.ms), own = last_before(spike.side, spike.ms);
            const double tau = spike.side == Side::pre ? rule.tau_minus : rule.tau_plus;
            // Of a coincidence the postsynaptic spike is first: a partner at the own spike's time follows it only
            // there.
            const bool follows = spike.side == Side::post ? partner >= own : partner > own;
            const double k = follows ? std::exp(-(spike.ms - partner) / tau) : 0;
            return spike.side == Side::pre ? rule.depress(w, k) : rule.potentiate(w, k);
        });
}

TEST(SynapseModels, PowerLawStdpFollowsItsSum) {
    expect_weights("stdp_pl", {}, 45, [](double w, const Spike& spike) {
        if (spike.side == Side::post) return w + 0.1 * std::pow(w, 0.4) * trace(Side::pre, spike.ms, 15);
        return std::max(0.0, w - 0.1 * 0.0513 * w * trace(Side::post, spike.ms, 30));
    });
    expect_weights("stdp_pl", {{"w_0", 20}, {"mu", 0.5}}, 45, [](double w, const Spike& spike) {
        if (spike.side == Side::post) return w + 0.1 * std::sqrt(w * 20) * trace(Side::pre, spike.ms, 15);
        return std::max(0.0, w - 0.1 * 0.0513 * w * trace(Side::post, spike.ms, 30));
    });
}

TEST(SynapseModels, TripletStdpFollowsItsSum) {
    expect_weights("stdp_triplet", {{"A2_plus", 0.01}}, 3, [](double w, const Spike& spike) {
        if (spike.side == Side::post)
            return std::min(100.0,
                            w + trace(Side::pre, spike.ms, 16.8) * (0.01 + 6.2e-3 * trace(Side::post, spike.ms, 125)));
        return std::max(0.0, w - trace(Side::post, spike.ms, 33.7) * (7e-3 + 2.3e-4 * trace(Side::pre, spike.ms, 101)));
    });
}

TEST(SynapseModels, InhibitoryStdpFollowsItsSumAndKeepsItsSign) {
    for (const double sign : {1.0, -1.0}) {
        expect_weights("vogels_sprekeler", {{"eta", 0.05}, {"Wmax", sign}}, sign * 0.5,
                       [&](double w, const Spike& spike) {
                           if (spike.side == Side::post)
                               return sign * std::min(1.0, sign * w + 0.05 * trace(Side::pre, spike.ms, 20));
                           const double grown = std::min(1.0, sign * w + 0.05 * trace(Side::post, spike.ms, 20));
                           return sign * std::max(0.0, grown - 0.05 * 0.12);
                       });
    }
}

TEST(SynapseModels, WeightsStayWithinTheirBounds) {
    const std::map<std::string, double> strong = {{"lambda", 2}, {"mu_plus", 0}, {"mu_minus", 0}};
    EXPECT_EQ(run("stdp", strong, 50, {{1, Side::pre}, {2, Side::post}, {900, Side::pre}}).weights.back(), 100);
    EXPECT_EQ(run("stdp", strong, 50, {{1, Side::post}, {2, Side::pre}}).weights.back(), 0);
    EXPECT_EQ(run("stdp_triplet", {{"A2_minus", 5}}, 1, {{1, Side::post}, {2, Side::pre}}).weights.back(), 0);
    EXPECT_EQ(run("stdp_pl", {{"alpha", 50}}, 1, {{1, Side::post}, {2, Side::pre}}).weights.back(), 0);
    EXPECT_EQ(run("vogels_sprekeler", {}, 0.0001, {{1, Side::pre}}).weights.back(), 0);
}

const std::vector<Spike> kTrain = {{0, Side::pre},  {10, Side::pre}, {20, Side::pre},
                                   {30, Side::pre}, {45, Side::pre}, {500, Side::pre}};

// The recursion as published: x and u just before each spike; the first one finds x = 1, u = U.
void expect_tsodyks(double use, double tau_rec, double tau_fac) {
    std::vector<double> expected;
    double x = 1, u = use, last = 0;
    for (const Spike& spike : kTrain) {
        if (!expected.empty()) {
            const double elapsed = spike.ms - last;
            x = 1 + (x - x * u - 1) * std::exp(-elapsed / tau_rec);
            u = use + u * (1 - use) * (tau_fac == 0 ? 0 : std::exp(-elapsed / tau_fac));
        }
        expected.push_back(250 * x * u);
        last = spike.ms;
    }
    const Outcome outcome = run("tsodyks", {{"U", use}, {"tau_rec", tau_rec}, {"tau_fac", tau_fac}}, 250, kTrain);
    for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(outcome.delivered[i], expected[i], 250 * 100 * 0x1p-53) << "spike " << i;
        EXPECT_EQ(outcome.weights[i], 250);
    }
}

TEST(SynapseModels, TsodyksMarkramFollowsItsRecursion) {
    expect_tsodyks(0.5, 800, 0);
    expect_tsodyks(0.1, 100, 1000);
    expect_tsodyks(0.25, 130, 530);
}

TEST(SynapseModels, WorkingMemorySynapseFollowsItsEquations) {
    // Between spikes both relax; at a spike u += U (1 - u), J u x is sent, x -= u x.
    double u = 0.3, x = 1, last = 0;
    const Outcome outcome = run("mongillo", {{"U", 0.3}}, 2, kTrain);
    for (size_t i = 0; i < kTrain.size(); ++i) {
        const double elapsed = kTrain[i].ms - last;
        u = 0.3 + (u - 0.3) * std::exp(-elapsed / 1500);
        x = 1 + (x - 1) * std::exp(-elapsed / 200);
        u += 0.3 * (1 - u);
        EXPECT_NEAR(outcome.delivered[i], 2 * u * x, 2 * 100 * 0x1p-53) << "spike " << i;
        x -= u * x;
        last = kTrain[i].ms;
    }
}

TEST(SynapseModels, ProgramsTouchOnlyWhatTheirEventNeeds) {
    const SynapsePrograms tsodyks = value_or_fail(lower(synapse_model("tsodyks"), {}, 0.1));
    std::vector<std::string> columns;
    for (const ColumnBinding& one : tsodyks.on_pre.columns)
        columns.push_back(one.role == ColumnRole::state ? one.name : fmt::format("{}", static_cast<int>(one.role)));
    // x, u, weight, elapsed time, delivered; nothing decays u where tau_fac is 0, but it is kept.
    EXPECT_EQ(columns, (std::vector<std::string>{"x", "u", fmt::format("{}", static_cast<int>(ColumnRole::weight)),
                                                 fmt::format("{}", static_cast<int>(ColumnRole::event_time)),
                                                 fmt::format("{}", static_cast<int>(ColumnRole::delivered))}));
    EXPECT_EQ(lower(synapse_model("tsodyks"), {{"tau", 3}}, 0.1).error().message,
              "model 'tsodyks' has no parameter 'tau'");
    EXPECT_EQ(lower(synapse_model("tsodyks"), {{"tau_rec", 0}}, 0.1).error().message,
              "model 'tsodyks': 'tau_rec' is 0 ms: it must be above 0");
    EXPECT_TRUE(lower(synapse_model("tsodyks"), {{"tau_fac", 0}}, 0.1));
    EXPECT_EQ(lower(synapse_model("tsodyks"), {{"tau_fac", -1}}, 0.1).error().message,
              "model 'tsodyks': 'tau_fac' is -1 ms: it must not be below 0");
    const SynapseModelSource source{
        .name = "m", .parameters = {{"a", {"1"}}, {"b", {"1"}}}, .on_pre = {"deliver(w * b / a)"}};
    EXPECT_EQ(lower(value_or_fail(SynapseModel::parse(source)), {{"a", 0}, {"b", 2}}, 0.1).error().message,
              "model 'm': with 'a' of 0 a constant is not finite (a division by 0, or the root or logarithm of a "
              "negative number)");
}

}  // namespace synapse_models_test
}  // namespace riftjit::sim
