#include "sim/engine/recorders.h"

#include <algorithm>
#include <cmath>

#include "sim/step_times.h"

namespace riftjit::sim {

namespace {

Result<uint32_t> interval_steps(const Recorder& recorder, double interval_ms, double step_ms) {
    const double steps = interval_ms / step_ms, whole = std::round(steps);
    // A thousandth of a step allows for intervals written in decimals.
    if (!(whole >= 1 && whole <= double(UINT32_MAX)) || std::abs(steps - whole) > 1e-3) {
        return fail(ErrorKind::Usage, "recorder {}: an interval of {} ms is no whole number of steps of {} ms",
                    recorder.name, interval_ms, step_ms);
    }
    return static_cast<uint32_t>(whole);
}

}  // namespace

StepWindow step_window(double start_ms, double stop_ms, double step_ms) {
    return {first_step_from(start_ms, step_ms), first_step_from(stop_ms, step_ms)};
}

uint64_t sample_bytes(const Blueprint& blueprint, const Recorder& recorder) {
    if (const auto* states = std::get_if<StateRecorder>(&recorder.kind)) {
        const uint64_t neurons =
            states->neurons.empty() ? blueprint.populations[recorder.population].size : states->neurons.size();
        return neurons * states->variables.size() * sizeof(double);
    }
    if (const auto* weights = std::get_if<WeightRecorder>(&recorder.kind))
        return blueprint.projections[weights->projection].expected_synapses * sizeof(double);
    return 0;
}

SpikeFilter::SpikeFilter(const Blueprint& blueprint) : wanted_(blueprint.populations.size()) {
    for (const BlueprintPopulation& population : blueprint.populations) first_ids_.push_back(population.first_id);
    for (const Recorder& recorder : blueprint.recorders) {
        const auto* spikes = std::get_if<SpikeRecorder>(&recorder.kind);
        if (!spikes) continue;
        Wanted wanted{step_window(recorder.start_ms, recorder.stop_ms, blueprint.step_ms), {}};
        if (!spikes->neurons.empty()) wanted.neurons.resize(blueprint.populations[recorder.population].size);
        for (const uint32_t neuron : spikes->neurons) wanted.neurons.at(neuron) = true;
        wanted_[recorder.population].push_back(std::move(wanted));
    }
}

void SpikeFilter::keep(uint32_t population, uint32_t step, std::span<const uint32_t> elements,
                       std::vector<Spike>& spikes) const {
    const std::vector<Wanted>& wanted = wanted_[population];
    if (wanted.empty()) return;
    for (const uint32_t element : elements) {
        const auto wants = [&](const Wanted& one) {
            return one.window.contains(step) && (one.neurons.empty() || one.neurons[element]);
        };
        if (std::any_of(wanted.begin(), wanted.end(), wants))
            spikes.push_back({step, first_ids_[population] + element});
    }
}

std::vector<RecordedWindow> SpikeFilter::windows(uint32_t population) const {
    std::vector<RecordedWindow> all, joined;
    for (const Wanted& wanted : wanted_[population]) all.push_back({wanted.window.begin, wanted.window.end});
    std::ranges::sort(all);
    for (const RecordedWindow& window : all) {
        if (!joined.empty() && window.first_step <= joined.back().end_step)
            joined.back().end_step = std::max(joined.back().end_step, window.end_step);
        else
            joined.push_back(window);
    }
    return joined;
}

std::optional<uint32_t> SpikeFilter::recorded_neurons(uint32_t population) const {
    std::vector<bool> any;
    for (const Wanted& wanted : wanted_[population]) {
        if (wanted.neurons.empty()) return std::nullopt;
        any.resize(wanted.neurons.size());
        for (size_t i = 0; i < any.size(); ++i) any[i] = any[i] || wanted.neurons[i];
    }
    return static_cast<uint32_t>(std::count(any.begin(), any.end(), true));
}

void Sampler::join(std::span<const Piece> pieces) {
    std::vector<size_t> taken(buffers_.size());
    uint64_t values = 0;
    for (const Piece& piece : pieces) values += piece.values;
    if (values == 0) return;
    uint64_t present = 0;
    for (const std::vector<double>& buffer : buffers_) present += buffer.size();
    for (uint64_t sample = 0; sample < present / values; ++sample) {
        for (const Piece& piece : pieces) {
            const auto first = buffers_[piece.thread].begin() + static_cast<int64_t>(taken[piece.thread]);
            joined_.insert(joined_.end(), first, first + static_cast<int64_t>(piece.values));
            taken[piece.thread] += piece.values;
        }
    }
    for (std::vector<double>& buffer : buffers_) buffer.clear();
}

Result<StateSampler> StateSampler::create(const Blueprint& blueprint, const Recorder& recorder,
                                          const NeuronState& state, const Slices& slices) {
    const auto& wanted = std::get<StateRecorder>(recorder.kind);
    const BlueprintPopulation& population = blueprint.populations[recorder.population];
    RIFTJIT_TRY(interval, interval_steps(recorder, wanted.interval_ms, blueprint.step_ms));
    StateSampler sampler(
        Sampler(step_window(recorder.start_ms, recorder.stop_ms, blueprint.step_ms), interval, slices.threads()));
    const auto* program = std::get_if<ProgramPopulation>(&population.kind);
    for (const std::string& variable : wanted.variables) {
        std::optional<size_t> found;
        // A column of its own goes before the state: it holds what the user calls by that name.
        for (const ColumnRole role : {ColumnRole::state, ColumnRole::recorded}) {
            for (size_t i = 0; program && i < program->program.columns.size(); ++i)
                if (program->program.columns[i] == ColumnBinding{role, variable}) found = i;
        }
        if (!found) {
            return fail(ErrorKind::Usage, "recorder {}: population {} has no variable {}", recorder.name,
                        population.name, variable);
        }
        sampler.variables_.push_back(
            {state.columns(recorder.population)[*found], program->program.spec.columns[*found]});
    }
    sampler.neurons_ = wanted.neurons;
    for (uint32_t i = 0; wanted.neurons.empty() && i < population.size; ++i) sampler.neurons_.push_back(i);
    std::sort(sampler.neurons_.begin(), sampler.neurons_.end());
    if (sampler.neurons_.back() >= population.size) {
        return fail(ErrorKind::Usage, "recorder {}: neuron {} of population {}, which has {}", recorder.name,
                    sampler.neurons_.back(), population.name, population.size);
    }
    for (uint32_t thread = 0; thread < slices.threads(); ++thread) {
        const Slice slice = slices.of(recorder.population, thread);
        const auto at = [&](uint32_t element) {
            return static_cast<uint32_t>(std::lower_bound(sampler.neurons_.begin(), sampler.neurons_.end(), element) -
                                         sampler.neurons_.begin());
        };
        sampler.shares_.push_back({at(slice.begin), at(slice.end)});
    }
    return sampler;
}

void StateSampler::sample(uint32_t step, uint32_t thread) {
    if (!sampler_.samples(step)) return;
    std::vector<double>& buffer = sampler_.buffer(thread);
    for (uint32_t i = shares_[thread].begin; i < shares_[thread].end; ++i) {
        for (const Variable& variable : variables_)
            buffer.push_back(read_column(variable.column, variable.type, neurons_[i]));
    }
}

void StateSampler::join() {
    std::vector<Sampler::Piece> pieces;
    for (uint32_t thread = 0; thread < shares_.size(); ++thread)
        pieces.push_back({thread, uint64_t(shares_[thread].size()) * variables_.size()});
    sampler_.join(pieces);
}

std::vector<double> StateSampler::take() {
    join();
    return sampler_.take();
}

std::vector<double>& StateSampler::pending() {
    join();
    return sampler_.joined();
}

Result<WeightSampler> WeightSampler::create(const Blueprint& blueprint, const Recorder& recorder, uint32_t threads,
                                            const Connections& connections) {
    const auto& wanted = std::get<WeightRecorder>(recorder.kind);
    RIFTJIT_TRY(interval, interval_steps(recorder, wanted.interval_ms, blueprint.step_ms));
    for (size_t i = 0; i < connections.plastics.size(); ++i) {
        if (connections.plastics[i].projection != wanted.projection) continue;
        return WeightSampler(
            Sampler(step_window(recorder.start_ms, recorder.stop_ms, blueprint.step_ms), interval, threads), i);
    }
    return fail(ErrorKind::Usage, "recorder {}: the weights of projection {} are static and do not change",
                recorder.name, blueprint.projections[wanted.projection].name);
}

void WeightSampler::sample(uint32_t thread, const PlasticSynapses& synapses) {
    for (uint32_t source = 0; source < synapses.sources(); ++source)
        synapses.append_weights(source, sampler_.buffer(thread));
}

void WeightSampler::join(const PlasticProjection& plastic) {
    std::vector<Sampler::Piece> pieces;
    for (uint32_t source = 0; source < plastic.threads.front().sources(); ++source) {
        for (uint32_t thread = 0; thread < plastic.threads.size(); ++thread)
            pieces.push_back({thread, plastic.threads[thread].row_size(source)});
    }
    sampler_.join(pieces);
}

std::vector<double> WeightSampler::take(const PlasticProjection& plastic) {
    join(plastic);
    return sampler_.take();
}

std::vector<double>& WeightSampler::pending(const PlasticProjection& plastic) {
    join(plastic);
    return sampler_.joined();
}

Result<void> each_synapse(const PlasticProjection& plastic, uint32_t first_source, uint32_t first_target,
                          const TakeSynapses& take) {
    constexpr size_t kBlock = 1 << 16;
    std::vector<SynapseEnds> block;
    for (uint32_t source = 0; source < plastic.threads.front().sources(); ++source) {
        for (const PlasticSynapses& synapses : plastic.threads) {
            for (const uint32_t target : synapses.row_targets(source))
                block.push_back({first_source + source, first_target + target});
        }
        if (block.size() < kBlock) continue;
        RIFTJIT_TRY_VOID(take(block));
        block.clear();
    }
    return block.empty() ? Result<void>() : take(block);
}

}  // namespace riftjit::sim
