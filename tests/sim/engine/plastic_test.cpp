// Plastic synapses against the rules written out event by event.
#include <cmath>

#include "sim/engine/plastic_synapses.h"
#include "tests/sim/engine/hand_made.h"

namespace riftjit::sim {
namespace plastic_test {

using namespace test;

// Pairs, all to all, multiplicative: Guetig et al. 2003 as NEST has it. Traces belong to the synapse here.
struct Stdp {
    double tau_plus = 2, tau_minus = 3, lambda = 0.05, alpha = 1.1, most = 10;

    static std::vector<std::pair<ColumnBinding, ColumnType>> columns() {
        return {{{ColumnRole::weight, ""}, ColumnType::f64},
                {{ColumnRole::state, "before"}, ColumnType::f64},
                {{ColumnRole::state, "after"}, ColumnType::f64},
                {{ColumnRole::event_time, ""}, ColumnType::f64}};
    }
    // Both traces at the present.
    std::pair<uint16_t, uint16_t> traces(ProgramText& text) const {
        const uint16_t elapsed = text.op(ColumnOp::negate, text.load(3));
        const auto decayed = [&](uint32_t column, double tau) {
            const uint16_t factor = text.op(ColumnOp::exp, text.op(ColumnOp::divide, elapsed, text.number(tau)));
            return text.multiply(text.load(column), factor);
        };
        const uint16_t before = decayed(1, tau_plus);
        return {before, decayed(2, tau_minus)};
    }
    LoweredProgram on_pre() const {
        auto bindings = columns();
        bindings.push_back({{ColumnRole::delivered, ""}, ColumnType::f64});
        ProgramText text(std::move(bindings));
        const auto [before, after] = traces(text);
        const uint16_t weight = text.load(0);
        const uint16_t less = text.multiply(text.multiply(text.number(lambda * alpha), weight), after);
        const uint16_t changed = text.op(ColumnOp::maximum, text.subtract(weight, less), text.number(0));
        text.store(0, changed);
        text.store(1, text.add(before, text.number(1)));
        text.store(2, after);
        text.store(4, changed);
        return text.take();
    }
    LoweredProgram on_post() const {
        ProgramText text(columns());
        const auto [before, after] = traces(text);
        const uint16_t weight = text.load(0);
        const uint16_t room = text.subtract(text.number(most), weight);
        const uint16_t more = text.multiply(text.multiply(text.number(lambda), room), before);
        text.store(0, text.op(ColumnOp::minimum, text.add(weight, more), text.number(most)));
        text.store(1, before);
        text.store(2, text.add(after, text.number(1)));
        return text.take();
    }

    // One synapse, event by event.
    struct State {
        double weight, before = 0, after = 0;
        uint32_t last = 0;
    };
    void decay(State& state, uint32_t stamp, double step_ms) const {
        const double elapsed = -((stamp - state.last) * step_ms);
        state.before *= std::exp(elapsed / tau_plus);
        state.after *= std::exp(elapsed / tau_minus);
        state.last = stamp;
    }
    double pre(State& state, uint32_t stamp, double step_ms) const {
        decay(state, stamp, step_ms);
        state.weight = std::max(state.weight - lambda * alpha * state.weight * state.after, 0.0);
        state.before += 1;
        return state.weight;
    }
    void post(State& state, uint32_t stamp, double step_ms) const {
        decay(state, stamp, step_ms);
        state.weight = std::min(state.weight + lambda * (most - state.weight) * state.before, most);
        state.after += 1;
    }
};

PlasticRule rule_of(const Stdp& stdp) {
    PlasticRule rule{stdp.on_pre(), stdp.on_post()};
    rule.has_post_events = true;
    rule.pre_kernel = reference_kernel(rule.on_pre.spec);
    rule.post_kernel = reference_kernel(rule.on_post.spec);
    return rule;
}

struct Driven {  // lists of spikes before and after, and the synapses between
    std::vector<std::pair<uint32_t, uint32_t>> before, after;
    Rows rows;
    uint32_t sources, targets;
};
Driven random_driven(uint32_t seed, uint32_t steps, uint32_t least_delay) {
    std::mt19937 random(seed);
    Driven driven{{}, {}, {}, 3 + static_cast<uint32_t>(random() % 40), 3 + static_cast<uint32_t>(random() % 60)};
    // Each pair of the same step and neuron once: neurons fire at most once in a step.
    const auto trains = [&](uint32_t neurons, double rate) {
        std::vector<std::pair<uint32_t, uint32_t>> spikes;
        for (uint32_t step = 0; step < steps; ++step)
            for (uint32_t i = 0; i < neurons; ++i)
                if (double(random()) < rate * double(UINT32_MAX)) spikes.emplace_back(step, i);
        return spikes;
    };
    driven.before = trains(driven.sources, 0.03);
    driven.after = trains(driven.targets, 0.06);
    driven.rows = random_rows(random, driven.sources, driven.targets, 30, least_delay, least_delay + 12, 5);
    return driven;
}

// The targets are made to fire at given steps by strong arrivals; plastic synapses send to a receptor without effect.
Blueprint driven_network(const Driven& driven, Compat compat, const PlasticRule& rule, double weight_interval_ms) {
    Blueprint blueprint;
    blueprint.compat = compat;
    // Fires at once on an arrival of 100.
    const uint16_t never = compat == Compat::brian2 ? 1 : 0;  // waits for no step after its spike
    const Lif cell{.compat = compat, .refractory = never, .decay_v = 1, .gain = 0, .threshold = 50, .reset = 0};
    blueprint.populations.push_back({"sources", driven.sources, 0, TimedPopulation{driven.before}});
    blueprint.populations.push_back(lif_population("targets", driven.targets, cell, 0));
    TimedPopulation teacher;
    const uint32_t lag = compat == Compat::brian2 ? 2 : 1;
    for (const auto& [step, element] : driven.after)
        if (step >= lag) teacher.spikes.emplace_back(step - lag, element);
    blueprint.populations.push_back({"teacher", driven.targets, 0, std::move(teacher)});
    number_populations(blueprint);
    blueprint.projections.push_back(projection_of("plastic", 0, 1, "ex", driven.rows));
    blueprint.projections.back().rule = rule;
    Rows lessons(driven.targets);
    for (uint32_t i = 0; i < driven.targets; ++i) lessons[i] = {{i, 1, 100}};
    blueprint.projections.push_back(projection_of("lessons", 2, 1, "delta", std::move(lessons)));
    if (weight_interval_ms > 0) blueprint.recorders.push_back({"weights", 0, WeightRecorder{0, weight_interval_ms}});
    return blueprint;
}

// Weights by source, then target, then drawing, after every `interval` steps.
std::vector<double> weights_event_by_event(const Driven& driven, const Stdp& stdp, Compat compat, uint32_t steps,
                                           uint32_t interval) {
    struct Place {
        uint32_t source;
        Synapse synapse;
        Stdp::State state;
    };
    std::vector<Place> places;
    for (uint32_t source = 0; source < driven.sources; ++source) {
        std::vector<Synapse> row = driven.rows[source];
        std::stable_sort(row.begin(), row.end(), [](auto& a, auto& b) { return a.target < b.target; });
        for (const Synapse& synapse : row) places.push_back({source, synapse, {double(synapse.weight)}});
    }
    std::vector<std::vector<bool>> before(steps, std::vector<bool>(driven.sources)),
        after(steps, std::vector<bool>(driven.targets));
    const uint32_t lag = compat == Compat::brian2 ? 2 : 1;
    for (const auto& [step, i] : driven.before) before[step][i] = true;
    for (const auto& [step, i] : driven.after) after[step][i] = step >= lag;
    std::vector<double> weights;
    const uint32_t offset = compat == Compat::nest ? 1 : 0;
    for (uint32_t step = 0; step < steps; ++step) {
        for (Place& place : places) {
            const uint32_t delay = place.synapse.delay;
            if (step >= delay && after[step - delay][place.synapse.target]) stdp.post(place.state, step + offset, 0.1);
            if (before[step][place.source]) stdp.pre(place.state, step + offset, 0.1);
        }
        if ((step + 1) % interval == 0)
            for (const Place& place : places) weights.push_back(place.state.weight);
    }
    return weights;
}

TEST(Stdp, MatchesTheRuleEventByEvent) {
    const Stdp stdp;
    for (const Compat compat : {Compat::nest, Compat::brian2}) {
        for (uint32_t seed = 1; seed <= 6; ++seed) {
            const uint32_t steps = 700;
            const Driven driven = random_driven(seed, steps, compat == Compat::nest ? 1 : 0);
            const std::vector<double> expected = weights_event_by_event(driven, stdp, compat, steps, 100);
            for (const uint32_t threads : {1u, 3u}) {
                ThreadPool pool = pool_of(threads);
                auto engine = Engine::create(driven_network(driven, compat, rule_of(stdp), 10), pool);
                ASSERT_TRUE(engine.has_value()) << engine.error().message;
                ASSERT_TRUE((*engine)->run(steps, {}).has_value());
                ASSERT_EQ((*engine)->take_samples(0), expected) << seed << " " << threads;
                EXPECT_TRUE((*engine)->check_conservation().has_value());
            }
        }
    }
}

// Looking at the weights makes synapses catch up; nothing that follows may depend on it.
TEST(Stdp, DoesNotDependOnWhenItIsLookedAt) {
    const Stdp stdp;
    const uint32_t steps = 600;
    const Driven driven = random_driven(9, steps, 1);
    const std::vector<double> fine = weights_event_by_event(driven, stdp, Compat::nest, steps, 1);
    for (const double interval : {0.1, 0.7, 60.0}) {
        ThreadPool pool = pool_of(2);
        auto engine = Engine::create(driven_network(driven, Compat::nest, rule_of(stdp), interval), pool);
        ASSERT_TRUE((*engine)->run(steps, {}).has_value());
        const std::vector<double> weights = (*engine)->take_samples(0);
        const size_t synapses = fine.size() / steps;
        const auto every = static_cast<size_t>(std::round(interval / 0.1));
        ASSERT_EQ(weights.size(), steps / every * synapses);
        for (size_t sample = 0; sample < steps / every; ++sample) {
            for (size_t i = 0; i < synapses; ++i)
                ASSERT_EQ(weights[sample * synapses + i], fine[((sample + 1) * every - 1) * synapses + i]);
        }
    }
}

// Tsodyks, Pawelzik, Markram 1998, in the form of facts of its NEST implementation: what arrives is w x u.
struct Depression {
    double use = 0.5, tau_recovery = 8, tau_facilitation = 5;

    LoweredProgram on_pre() const {
        ProgramText text({{{ColumnRole::weight, ""}, ColumnType::f64},
                          {{ColumnRole::state, "x"}, ColumnType::f64},
                          {{ColumnRole::state, "u"}, ColumnType::f64},
                          {{ColumnRole::event_time, ""}, ColumnType::f64},
                          {{ColumnRole::delivered, ""}, ColumnType::f64}});
        const uint16_t one = text.number(1), elapsed = text.op(ColumnOp::negate, text.load(3));
        const uint16_t x = text.load(1), u = text.load(2), base = text.number(use);
        const uint16_t recovery = text.op(ColumnOp::exp, text.op(ColumnOp::divide, elapsed, text.number(tau_recovery)));
        const uint16_t facilitation =
            text.op(ColumnOp::exp, text.op(ColumnOp::divide, elapsed, text.number(tau_facilitation)));
        // x = 1 + (x - x u - 1) e^..., u = U + u (1 - U) e^...
        const uint16_t left = text.subtract(text.subtract(x, text.multiply(x, u)), one);
        const uint16_t new_x = text.add(one, text.multiply(left, recovery));
        const uint16_t new_u = text.add(base, text.multiply(text.multiply(u, text.subtract(one, base)), facilitation));
        text.store(1, new_x);
        text.store(2, new_u);
        text.store(4, text.multiply(text.multiply(text.load(0), new_x), new_u));
        return text.take();
    }
};

TEST(ShortTermPlasticity, SendsWhatTheRecursionSays) {
    const Depression depression;
    PlasticRule rule{depression.on_pre(), {}};
    rule.pre_kernel = reference_kernel(rule.on_pre.spec);
    rule.start = {{"x", 1}, {"u", 0}};
    const std::vector<uint32_t> spikes = {3, 10, 11, 40, 41, 42, 160};
    const uint16_t delays[] = {1, 4, 9};
    Blueprint blueprint;
    TimedPopulation source;
    for (const uint32_t step : spikes) source.spikes.emplace_back(step, 0);
    blueprint.populations.push_back({"source", 1, 0, std::move(source)});
    const Lif cell{.decay_v = 0, .decay_s = 0, .gain = 0, .threshold = 1e9};
    blueprint.populations.push_back(lif_population("targets", 3, cell, 0));
    number_populations(blueprint);
    blueprint.projections.push_back(
        projection_of("plastic", 0, 1, "ex", {{{0, delays[0], 2}, {1, delays[1], 3}, {2, delays[2], 4}}}));
    blueprint.projections.back().rule = rule;
    blueprint.recorders = {{"sums", 1, StateRecorder{{"S"}, {}, 0.1}}};
    ThreadPool pool = pool_of(2);
    auto engine = Engine::create(std::move(blueprint), pool);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    ASSERT_TRUE((*engine)->run(200, {}).has_value());
    // S holds what arrived in the step.
    std::vector<double> expected(200 * 3);
    double x = 1, u = 0, last = 0;
    for (const uint32_t step : spikes) {
        const double stamp = (step + 1) * 0.1, elapsed = stamp - last;
        x = 1 + (x - x * u - 1) * std::exp(-elapsed / depression.tau_recovery);
        u = depression.use + u * (1 - depression.use) * std::exp(-elapsed / depression.tau_facilitation);
        last = stamp;
        for (uint32_t i = 0; i < 3; ++i) expected[(step + delays[i]) * 3 + i] = (2.0 + i) * x * u;
    }
    const std::vector<double> sums = (*engine)->take_samples(0);
    ASSERT_EQ(sums.size(), expected.size());
    // Elapsed times are differences of steps here and of rounded times there: 1e-14 in the exponent.
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected[i], 1e-13) << i;
}

// A neuron that fires far more often than its synapses hear from their source fills its history many times.
TEST(SpikeHistory, IsReplayedWhenItIsFull) {
    Driven driven{{}, {}, {{{0, 3, 5}, {1, 12, 5}}, {{0, 1, 4}}}, 2, 2};
    const uint32_t steps = 1000;
    driven.before = {{5, 0}, {7, 1}, {990, 0}, {995, 1}};
    for (uint32_t step = 2; step < steps; ++step) driven.after.emplace_back(step, 0);
    const Stdp stdp;
    const std::vector<double> expected = weights_event_by_event(driven, stdp, Compat::nest, steps, steps);
    ThreadPool pool = pool_of(1);
    auto engine = Engine::create(driven_network(driven, Compat::nest, rule_of(stdp), steps * 0.1), pool);
    ASSERT_TRUE((*engine)->run(steps, {}).has_value());
    EXPECT_EQ((*engine)->take_samples(0), expected);
}

// A source that fires twice in a step is two events, one after the other.
TEST(PlasticSynapses, TakeTwoSpikesOfOneStepInTurn) {
    const Stdp stdp;
    Driven driven{{{4, 0}, {4, 0}, {9, 0}}, {{5, 0}}, {{{0, 2, 5}}}, 1, 1};
    ThreadPool pool = pool_of(1);
    auto engine = Engine::create(driven_network(driven, Compat::nest, rule_of(stdp), 2), pool);
    ASSERT_TRUE((*engine)->run(20, {}).has_value());
    Stdp::State state{5};
    stdp.pre(state, 5, 0.1);
    stdp.pre(state, 5, 0.1);
    stdp.post(state, 8, 0.1);
    stdp.pre(state, 10, 0.1);
    EXPECT_EQ((*engine)->take_samples(0), std::vector<double>{state.weight});
    EXPECT_EQ((*engine)->delivered(), 3u + 1u);  // and one lesson
}

}  // namespace plastic_test
}  // namespace riftjit::sim
