// Blueprints made by hand, with programs run by the scalar reference, and a simulator of them that is nothing but
// loops.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <random>

#include "jit/columns/column_reference.h"
#include "sim/engine/engine.h"
#include "sim/network/occurrences.h"

namespace riftjit::sim::test {

// ---- programs -------------------------------------------------------------------------------------------------------

// Column programs written step by step: each call returns the number of its value.
class ProgramText {
public:
    explicit ProgramText(std::vector<std::pair<ColumnBinding, ColumnType>> columns,
                         std::vector<std::string> scalars = {}) {
        program_.spec.precision = Precision::f64;
        program_.spec.scalars = static_cast<uint32_t>(scalars.size());
        program_.scalars = std::move(scalars);
        for (auto& [binding, type] : columns) {
            program_.columns.push_back(binding);
            program_.spec.columns.push_back(type);
        }
    }
    uint16_t op(ColumnOp op, uint16_t a = 0, uint16_t b = 0, uint16_t c = 0, uint32_t index = 0, double number = 0) {
        program_.spec.steps.push_back({op, a, b, c, index, number});
        return static_cast<uint16_t>(program_.spec.steps.size() - 1);
    }
    uint16_t number(double value) { return op(ColumnOp::constant, 0, 0, 0, 0, value); }
    uint16_t scalar(uint32_t index) { return op(ColumnOp::scalar, 0, 0, 0, index); }
    uint16_t load(uint32_t column) { return op(ColumnOp::load, 0, 0, 0, column); }
    void store(uint32_t column, uint16_t value) { op(ColumnOp::store, value, 0, 0, column); }
    uint16_t add(uint16_t a, uint16_t b) { return op(ColumnOp::add, a, b); }
    uint16_t subtract(uint16_t a, uint16_t b) { return op(ColumnOp::subtract, a, b); }
    uint16_t multiply(uint16_t a, uint16_t b) { return op(ColumnOp::multiply, a, b); }
    uint16_t select(uint16_t truth, uint16_t a, uint16_t b) { return op(ColumnOp::select, truth, a, b); }
    LoweredProgram take() { return std::move(program_); }

private:
    LoweredProgram program_;
};

inline constexpr size_t kReferenceSlots = 64;
inline std::array<ColumnProgramSpec, kReferenceSlots>& reference_specs() {
    static std::array<ColumnProgramSpec, kReferenceSlots> specs;
    return specs;
}
template <size_t Slot>
void run_reference(const void* args, uint32_t begin, uint32_t end) {
    run_column_program(reference_specs()[Slot], *static_cast<ColumnProgramArgs*>(const_cast<void*>(args)), begin, end);
}
template <size_t... Slots>
KernelFunction reference_function(size_t slot, std::index_sequence<Slots...>) {
    static constexpr KernelFunction kFunctions[] = {run_reference<Slots>...};
    return kFunctions[slot];
}
// A function that runs `spec` by the reference; the same for equal specs.
inline KernelFunction reference_kernel(const ColumnProgramSpec& spec) {
    static size_t used = 0;
    auto& specs = reference_specs();
    size_t slot = 0;
    while (slot < used && specs[slot] != spec) ++slot;
    if (slot == used) {
        check(used < kReferenceSlots, "the tests have few programs");
        specs[used++] = spec;
    }
    return reference_function(slot, std::make_index_sequence<kReferenceSlots>());
}

// ---- a neuron -------------------------------------------------------------------------------------------------------

// V decays to 0 and is driven by S ("ex", which decays too) and by arrivals of its own ("delta").
struct Lif {
    Compat compat = Compat::nest;
    uint16_t refractory = 3;
    double decay_v = 0.9, decay_s = 0.75, gain = 0.25, threshold = 8, reset = -1;

    enum Column : uint32_t { kV, kS, kRefractory, kEx, kDelta };

    LoweredProgram program() const {
        ProgramText text({{{ColumnRole::state, "V"}, ColumnType::f64},
                          {{ColumnRole::state, "S"}, ColumnType::f64},
                          {{ColumnRole::refractory, ""}, ColumnType::u16},
                          {{ColumnRole::arrivals, "ex"}, ColumnType::f64},
                          {{ColumnRole::arrivals, "delta"}, ColumnType::f64}},
                         {"drive"});
        const uint16_t zero = text.number(0), one = text.number(1), drive = text.scalar(0);
        uint16_t v = text.load(kV), s = text.load(kS);
        const uint16_t left = text.load(kRefractory), ex = text.load(kEx), delta = text.load(kDelta);
        const uint16_t active = text.op(ColumnOp::equal, left, zero);
        if (compat == Compat::brian2) {
            s = text.add(s, ex);
            v = text.select(active, text.add(v, delta), v);
        }
        v = text.add(text.add(text.multiply(v, text.number(decay_v)), text.multiply(s, text.number(gain))), drive);
        s = text.multiply(s, text.number(decay_s));
        if (compat == Compat::nest) {
            v = text.add(v, delta);
            s = text.add(s, ex);
        }
        const uint16_t limit = text.number(threshold);
        const uint16_t above =
            compat == Compat::nest ? text.op(ColumnOp::less_equal, limit, v) : text.op(ColumnOp::less, limit, v);
        const uint16_t fires = text.op(ColumnOp::both, active, above);
        const uint16_t free = text.op(ColumnOp::both, active, text.op(ColumnOp::negation, fires));
        text.store(kV, text.select(free, v, text.number(reset)));
        text.store(kS, s);
        const uint16_t waiting = text.op(ColumnOp::maximum, text.subtract(left, one), zero);
        text.store(kRefractory, text.select(fires, text.number(hold()), waiting));
        text.store(kEx, zero);
        text.store(kDelta, zero);
        text.op(ColumnOp::fire, fires);
        return text.take();
    }
    // Steps after the spike's own in which the neuron waits: R (NEST) or R - 1 (Brian2).
    double hold() const { return compat == Compat::nest ? refractory : refractory - 1; }

    struct State {
        double v = 0, s = 0, left = 0, ex = 0, delta = 0;
    };
    bool step(State& state, double drive) const {
        const bool active = state.left == 0;
        if (compat == Compat::brian2) {
            state.s += state.ex;
            if (active) state.v += state.delta;
        }
        double v = state.v * decay_v + state.s * gain + drive;
        state.s *= decay_s;
        if (compat == Compat::nest) {
            v += state.delta;
            state.s += state.ex;
        }
        const bool fires = active && (compat == Compat::nest ? v >= threshold : v > threshold);
        state.v = active && !fires ? v : reset;
        state.left = fires ? hold() : std::max(state.left - 1, 0.0);
        state.ex = state.delta = 0;
        return fires;
    }
};

// ---- networks -------------------------------------------------------------------------------------------------------

using Rows = std::vector<std::vector<Synapse>>;  // by source

inline BlueprintPopulation lif_population(const std::string& name, uint32_t size, const Lif& lif, double drive,
                                          const std::function<double(uint32_t)>& start = {}) {
    ProgramPopulation population;
    population.program = lif.program();
    population.kernel = reference_kernel(population.program.spec);
    population.start.resize(population.program.columns.size());
    population.start[Lif::kV].each = start;
    population.scalars = {{.level = drive}};
    population.key = 0;
    return {name, size, 0, std::move(population)};
}

inline void number_populations(Blueprint& blueprint) {
    uint32_t first = 0;
    for (BlueprintPopulation& population : blueprint.populations) {
        population.first_id = first;
        first += population.size;
    }
}

inline BlueprintProjection projection_of(const std::string& name, uint32_t source, uint32_t target,
                                         const std::string& receptor, Rows rows) {
    BlueprintProjection projection;
    projection.name = name;
    projection.source = source;
    projection.target = target;
    projection.receptor = receptor;
    OccurrenceCounter occurrences;
    for (std::vector<Synapse>& row : rows) {
        occurrences.number(row);
        projection.expected_synapses += row.size();
    }
    projection.likely_delays = 8;
    projection.generate = [rows = std::move(rows)](Slice sources, Slice targets,
                                                   const ProjectionBuilder::Receive& receive) {
        for (uint32_t source = sources.begin; source < sources.end && source < rows.size(); ++source) {
            std::vector<Synapse> row = rows[source];
            std::erase_if(row, [&](const Synapse& synapse) { return !targets.contains(synapse.target); });
            if (!row.empty()) receive(source, row);
        }
    };
    return projection;
}

inline Rows rows_of(const BlueprintProjection& projection, uint32_t sources) {
    Rows rows(sources);
    projection.generate({0, sources}, {0, UINT32_MAX}, [&](uint32_t source, std::span<const Synapse> synapses) {
        rows[source].assign(synapses.begin(), synapses.end());
    });
    return rows;
}

// Random rows. Weights are multiples of 2^-10, so that sums of them are exact in any order.
inline Rows random_rows(std::mt19937& random, uint32_t sources, uint32_t targets, double per_source,
                        uint32_t least_delay, uint32_t most_delay, double mean_weight) {
    Rows rows(sources);
    std::poisson_distribution<uint32_t> count(per_source);
    for (std::vector<Synapse>& row : rows) {
        for (uint32_t i = count(random); i > 0; --i) {
            const uint32_t delay = least_delay + random() % (most_delay - least_delay + 1);
            const double weight = std::round(mean_weight * (0.5 + double(random() % 1024) / 1024) * 1024) / 1024;
            row.push_back({static_cast<uint32_t>(random() % targets), static_cast<uint16_t>(delay), weight});
        }
    }
    return rows;
}

inline ThreadPool pool_of(uint32_t threads) {
    auto pool = ThreadPool::create(threads);
    EXPECT_TRUE(pool.has_value());
    return std::move(*pool);
}

inline void record_all_spikes(Blueprint& blueprint) {
    for (uint32_t i = 0; i < blueprint.populations.size(); ++i)
        blueprint.recorders.push_back({"spikes", i, SpikeRecorder{}});
}

// Every neuron and every spike by itself; static synapses only.
class LoopSimulator {
public:
    LoopSimulator(const Blueprint& blueprint, std::vector<Lif> lifs) : blueprint_(blueprint), lifs_(std::move(lifs)) {
        for (const BlueprintPopulation& population : blueprint.populations) {
            std::vector<Lif::State>& states = states_.emplace_back(population.size);
            const auto* program = std::get_if<ProgramPopulation>(&population.kind);
            for (uint32_t i = 0; program && i < population.size; ++i)
                states[i].v = program->start[Lif::kV].each ? program->start[Lif::kV].each(i) : 0;
        }
        for (const BlueprintProjection& projection : blueprint.projections)
            rows_.push_back(rows_of(projection, blueprint.populations[projection.source].size));
    }

    std::vector<Spike> run(uint32_t steps) {
        std::vector<Spike> spikes;
        for (uint32_t step = 0; step < steps; ++step) {
            for (const Arrival& arrival : std::exchange(arrivals_[step], {})) {
                Lif::State& state = states_[arrival.population][arrival.element];
                (arrival.receptor == "ex" ? state.ex : state.delta) += arrival.weight;
            }
            arrivals_.erase(step);
            for (uint32_t i = 0; i < states_.size(); ++i) {
                for (uint32_t element = 0; element < states_[i].size(); ++element)
                    for (uint32_t times = fires(i, element, step); times > 0; --times) send(i, element, step, spikes);
            }
        }
        return spikes;
    }
    const Lif::State& state(uint32_t population, uint32_t element) const { return states_[population][element]; }
    uint64_t sent() const { return sent_; }

private:
    struct Arrival {
        uint32_t population, element;
        std::string receptor;
        double weight;
    };

    uint32_t fires(uint32_t population, uint32_t element, uint32_t step) {
        const auto& kind = blueprint_.populations[population].kind;
        Lif::State& state = states_[population][element];
        if (const auto* program = std::get_if<ProgramPopulation>(&kind))
            return lifs_[population].step(state, program->scalars[0].at(step));
        if (const auto* timed = std::get_if<TimedPopulation>(&kind))
            return static_cast<uint32_t>(
                std::count(timed->spikes.begin(), timed->spikes.end(), std::pair(step, element)));
        return static_cast<uint32_t>(std::exchange(state.delta, 0.0));
    }

    void send(uint32_t population, uint32_t element, uint32_t step, std::vector<Spike>& spikes) {
        spikes.push_back({step, blueprint_.populations[population].first_id + element});
        for (size_t i = 0; i < rows_.size(); ++i) {
            const BlueprintProjection& projection = blueprint_.projections[i];
            if (projection.source != population) continue;
            const bool relayed =
                std::holds_alternative<RelayedPopulation>(blueprint_.populations[projection.target].kind);
            for (const Synapse& synapse : rows_[i][element]) {
                const double weight = relayed ? 1 : projection.shared_weight.value_or(double(synapse.weight));
                const uint32_t due = step + synapse.delay + (blueprint_.compat == Compat::brian2 ? 1 : 0);
                arrivals_[due].push_back({projection.target, synapse.target, projection.receptor, weight});
                ++sent_;
            }
        }
    }

    const Blueprint& blueprint_;
    std::vector<Lif> lifs_;
    std::vector<std::vector<Lif::State>> states_;
    std::vector<Rows> rows_;
    std::map<uint32_t, std::vector<Arrival>> arrivals_;  // by step
    uint64_t sent_ = 0;
};

}  // namespace riftjit::sim::test
