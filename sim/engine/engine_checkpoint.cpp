// Saving and restoring. The bytes do not depend on the number of threads: what is split by threads is written in the
// order of neurons, rows by target, and what the next steps need of the past as the spikes themselves.
#include <xxhash.h>

#include <algorithm>

#include "sim/engine/engine.h"

namespace riftjit::sim {

namespace {

bool is_saved(ColumnRole role) {
    return role == ColumnRole::state || role == ColumnRole::arrivals || role == ColumnRole::refractory;
}

// Collects what makes two networks the same one.
class IdentityHash {
public:
    void number(uint64_t value) { append(&value, sizeof value); }
    void number(double value) { append(&value, sizeof value); }
    void text(const std::string& text) {
        number(uint64_t(text.size()));
        append(text.data(), text.size());
    }
    void program(const LoweredProgram& program) {
        const std::vector<std::byte> spec = serialize(program.spec);
        append(spec.data(), spec.size());
        for (const ColumnBinding& binding : program.columns) {
            number(uint64_t(binding.role));
            text(binding.name);
        }
    }
    uint64_t value() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

private:
    void append(const void* data, size_t size) {
        const auto* const first = static_cast<const std::byte*>(data);
        bytes_.insert(bytes_.end(), first, first + size);
    }
    std::vector<std::byte> bytes_;
};

void add(IdentityHash& hash, const BlueprintPopulation& population) {
    hash.text(population.name);
    hash.number(uint64_t(population.size));
    hash.number(uint64_t(population.kind.index()));
    if (const auto* timed = std::get_if<TimedPopulation>(&population.kind)) {
        for (const auto& [step, element] : timed->spikes) hash.number(uint64_t(step) << 32 | element);
    }
    const auto* program = std::get_if<ProgramPopulation>(&population.kind);
    if (!program) return;
    hash.program(program->program);
    hash.number(program->key);
    const auto add_starts = [&](const std::vector<ColumnStart>& starts) {
        for (const ColumnStart& start : starts) {
            hash.number(start.value);
            // A sample of drawn values stands for all of them.
            for (uint32_t element = 0; start.each && element < population.size; element += 1 + population.size / 64)
                hash.number(start.each(element));
        }
    };
    add_starts(program->start);
    if (program->initial) {
        hash.program(program->initial->program);
        add_starts(program->initial->start);
    }
    // What the scalars come to is left out: rates and currents may change between runs.
}

void add(IdentityHash& hash, const Recorder& recorder) {
    hash.text(recorder.name);
    hash.number(uint64_t(recorder.kind.index()));
    hash.number(uint64_t(recorder.population));
    hash.number(recorder.start_ms);
    hash.number(recorder.stop_ms);
    const auto add_neurons = [&](const std::vector<uint32_t>& neurons) {
        hash.number(uint64_t(neurons.size()));
        for (const uint32_t neuron : neurons) hash.number(uint64_t(neuron));
    };
    if (const auto* spikes = std::get_if<SpikeRecorder>(&recorder.kind)) add_neurons(spikes->neurons);
    if (const auto* states = std::get_if<StateRecorder>(&recorder.kind)) {
        for (const std::string& variable : states->variables) hash.text(variable);
        add_neurons(states->neurons);
        hash.number(states->interval_ms);
    }
    if (const auto* weights = std::get_if<WeightRecorder>(&recorder.kind)) {
        hash.number(uint64_t(weights->projection));
        hash.number(weights->interval_ms);
    }
}

struct Totals {
    uint64_t spikes, spikes_hash, recorded_hash, delivered, fan_out_sum;
};

}  // namespace

uint64_t Engine::hash_network() const {
    IdentityHash hash;
    hash.number(blueprint_.step_ms);
    hash.number(uint64_t(blueprint_.compat));
    hash.number(connections_.hash);
    for (const BlueprintPopulation& population : blueprint_.populations) add(hash, population);
    for (const BlueprintProjection& projection : blueprint_.projections) {
        hash.text(projection.name);
        hash.number(uint64_t(projection.source) << 32 | projection.target);
        hash.text(projection.receptor);
        hash.number(projection.shared_weight.value_or(0));
        if (!projection.rule) continue;
        hash.program(projection.rule->on_pre);
        hash.program(projection.rule->on_post);
        for (const auto& [name, value] : projection.rule->start) {
            hash.text(name);
            hash.number(value);
        }
    }
    for (const Recorder& recorder : blueprint_.recorders) add(hash, recorder);
    return hash.value();
}

CheckpointIdentity Engine::identity() const {
    return {network_hash_, blueprint_.seed, uint32_t(blueprint_.precision), steps_};
}

// ---- saving ---------------------------------------------------------------------------------------------------------

// Every synapse takes what has acted so far, so that the history holds only what has not.
void Engine::replay_all(uint32_t next_step) {
    if (next_step == 0) return;
    struct Replay {
        Engine* engine;
        uint32_t step;
    } task{this, next_step - 1};
    pool_->run(
        [](void* context, uint32_t thread) {
            const auto [engine, step] = *static_cast<const Replay*>(context);
            for (uint32_t population = 0; population < engine->populations(); ++population) {
                std::optional<SpikeHistory>& history = engine->workers_[thread]->histories[population];
                if (!history) continue;
                engine->replay(population, thread, step);
                const uint32_t delay = engine->max_delay(population);
                history->prune(step > delay ? step - delay : 0);
            }
        },
        &task);
}

Result<void> Engine::save(const std::string& path) {
    replay_all(steps_);
    RIFTJIT_TRY(writer, CheckpointWriter::create(path, identity()));
    writer.value(Totals{spikes_, spikes_hash_, recorded_hash_, delivered(), fan_out_sum_});
    writer.array(std::span<const uint32_t>(counts_));
    save_neurons(writer);
    save_plastic(writer);
    save_records(writer);
    return writer.finish();
}

void Engine::save_neurons(CheckpointWriter& writer) const {
    for (uint32_t i = 0; i < populations(); ++i) {
        const uint64_t size = blueprint_.populations[i].size;
        const auto* program = std::get_if<ProgramPopulation>(&blueprint_.populations[i].kind);
        for (size_t column = 0; program && column < program->program.columns.size(); ++column) {
            if (is_saved(program->program.columns[column].role))
                writer.bytes(state_.columns(i)[column], size * column_bytes(program->program.spec.columns[column]));
        }
        if (std::holds_alternative<RelayedPopulation>(blueprint_.populations[i].kind))
            writer.bytes(state_.arrivals() + *state_.first_arrival(i, ""), size * sizeof(double));
    }
    std::vector<Spike> in_flight;
    const uint32_t age = std::min(steps_, static_cast<uint32_t>(recent_.size()));
    for (uint32_t step = steps_ - age; step < steps_; ++step)
        for (const uint32_t id : recent_[step % recent_.size()]) in_flight.push_back({step, id});
    writer.array(std::span<const Spike>(in_flight));
}

void Engine::save_plastic(CheckpointWriter& writer) {
    for (const ArrivalRing& ring : connections_.rings) {
        const uint64_t size = blueprint_.populations[ring.population()].size;
        for (uint32_t lag = 0; lag <= ring.max_lag(); ++lag)
            writer.bytes(ring.slot(steps_, lag), size * sizeof(double));
    }
    for (PlasticProjection& plastic : connections_.plastics) {
        for (uint32_t source = 0; source < blueprint_.populations[plastic.source].size; ++source) {
            std::vector<std::vector<std::span<std::byte>>> rows;
            for (PlasticSynapses& synapses : plastic.threads) rows.push_back(synapses.row_columns(source));
            for (size_t column = 0; column < rows.front().size(); ++column)
                for (const auto& row : rows) writer.bytes(row[column].data(), row[column].size());
        }
    }
    for (uint32_t population = 0; population < populations(); ++population) {
        if (!workers_.front()->histories[population]) continue;
        for (uint32_t element = 0; element < blueprint_.populations[population].size; ++element)
            writer.array(workers_[slices_.owner(population, element)]->histories[population]->of(element));
    }
}

void Engine::save_records(CheckpointWriter& writer) {
    writer.array(std::span<const Spike>(recorded_));
    for (size_t i = 0; i < blueprint_.recorders.size(); ++i) {
        if (states_[i]) writer.array(std::span<const double>(states_[i]->pending()));
        if (weights_[i]) {
            const PlasticProjection& plastic = connections_.plastics[weights_[i]->plastic()];
            writer.array(std::span<const double>(weights_[i]->pending(plastic)));
        }
    }
}

// ---- restoring ------------------------------------------------------------------------------------------------------

// Points into the reader's memory; every count and id is inside its bounds.
struct Engine::Restored {
    struct Copy {
        void* to;
        const std::byte* from;
        uint64_t bytes;
    };
    Totals totals;
    uint32_t step;
    std::vector<Copy> copies;
    std::vector<Spike> in_flight, recorded;
    std::vector<uint32_t> counts;
    std::vector<std::vector<CheckpointReader::Array>> histories;  // by population, by neuron
    std::vector<std::optional<CheckpointReader::Array>> samples;  // by recorder
};

Result<void> Engine::restore(const std::string& path) {
    RIFTJIT_TRY(reader, CheckpointReader::open(path, identity()));
    RIFTJIT_TRY(restored, read_state(reader));
    apply(restored);
    return {};
}

Result<Engine::Restored> Engine::read_state(CheckpointReader& reader) {
    Restored restored;
    restored.step = reader.step();
    if (restored.step == UINT32_MAX) return reader.refuse("has no step left");
    RIFTJIT_TRY(totals, reader.value<Totals>());
    restored.totals = totals;
    RIFTJIT_TRY_VOID(read_counts(reader, restored));
    RIFTJIT_TRY_VOID(read_neurons(reader, restored));
    RIFTJIT_TRY_VOID(read_plastic(reader, restored));
    RIFTJIT_TRY_VOID(read_histories(reader, restored));
    RIFTJIT_TRY_VOID(read_records(reader, restored));
    RIFTJIT_TRY_VOID(reader.expect_end());
    return restored;
}

Result<void> Engine::read_spikes(CheckpointReader& reader, std::vector<Spike>& spikes, uint32_t first_step,
                                 uint32_t end_step) const {
    RIFTJIT_TRY(array, reader.array(sizeof(Spike)));
    for (uint64_t i = 0; i < array.count; ++i) {
        const auto spike = array.at<Spike>(i);
        if (spike.id >= blueprint_.neurons()) return reader.refuse("names a neuron that does not exist");
        if (spike.step < first_step || spike.step >= end_step || (i > 0 && spike < spikes.back()))
            return reader.refuse("has spikes out of order");
        spikes.push_back(spike);
    }
    return {};
}

Result<void> Engine::read_counts(CheckpointReader& reader, Restored& restored) const {
    RIFTJIT_TRY(counts, reader.array(sizeof(uint32_t)));
    if (counts.count != counts_.size()) return reader.refuse("counts the spikes of other neurons");
    uint64_t spikes = 0;
    for (uint64_t i = 0; i < counts.count; ++i) {
        restored.counts.push_back(counts.at<uint32_t>(i));
        spikes += restored.counts.back();
    }
    if (spikes != restored.totals.spikes) return reader.refuse("counts other spikes than it says");
    return {};
}

Result<void> Engine::read_neurons(CheckpointReader& reader, Restored& restored) const {
    const auto copy = [&](void* to, uint64_t bytes) -> Result<void> {
        RIFTJIT_TRY(from, reader.bytes(bytes));
        restored.copies.push_back({to, from, bytes});
        return {};
    };
    std::vector<CheckpointReader::Array> relayed;
    for (uint32_t i = 0; i < populations(); ++i) {
        const uint64_t size = blueprint_.populations[i].size;
        const auto* program = std::get_if<ProgramPopulation>(&blueprint_.populations[i].kind);
        for (size_t column = 0; program && column < program->program.columns.size(); ++column) {
            if (!is_saved(program->program.columns[column].role)) continue;
            RIFTJIT_TRY_VOID(
                copy(state_.columns(i)[column], size * column_bytes(program->program.spec.columns[column])));
        }
        if (std::holds_alternative<RelayedPopulation>(blueprint_.populations[i].kind)) {
            RIFTJIT_TRY_VOID(copy(state_.arrivals() + *state_.first_arrival(i, ""), size * sizeof(double)));
            relayed.push_back({restored.copies.back().from, size});
        }
    }
    const uint32_t age = std::min(restored.step, static_cast<uint32_t>(recent_.size()));
    RIFTJIT_TRY_VOID(read_spikes(reader, restored.in_flight, restored.step - age, restored.step));
    // A relay fires as often as its arrivals say: no more than the spikes on their way can have sent.
    double left = 0;
    for (const Spike& spike : restored.in_flight) left += connections_.fan_out[spike.id];
    for (const CheckpointReader::Array& arrivals : relayed) {
        for (uint64_t i = 0; i < arrivals.count; ++i) {
            const auto count = arrivals.at<double>(i);
            left -= count;
            if (!(count >= 0) || !(left >= 0)) return reader.refuse("relays more than was sent");
        }
    }
    return {};
}

Result<void> Engine::read_plastic(CheckpointReader& reader, Restored& restored) {
    const auto copy = [&](void* to, uint64_t bytes) -> Result<void> {
        RIFTJIT_TRY(from, reader.bytes(bytes));
        restored.copies.push_back({to, from, bytes});
        return {};
    };
    for (const ArrivalRing& ring : connections_.rings) {
        const uint64_t size = blueprint_.populations[ring.population()].size;
        for (uint32_t lag = 0; lag <= ring.max_lag(); ++lag)
            RIFTJIT_TRY_VOID(copy(ring.slot(restored.step, lag), size * sizeof(double)));
    }
    for (PlasticProjection& plastic : connections_.plastics) {
        for (uint32_t source = 0; source < blueprint_.populations[plastic.source].size; ++source) {
            std::vector<std::vector<std::span<std::byte>>> rows;
            for (PlasticSynapses& synapses : plastic.threads) rows.push_back(synapses.row_columns(source));
            for (size_t column = 0; column < rows.front().size(); ++column) {
                for (const auto& row : rows)
                    if (!row[column].empty()) RIFTJIT_TRY_VOID(copy(row[column].data(), row[column].size()));
            }
        }
    }
    return {};
}

Result<void> Engine::read_histories(CheckpointReader& reader, Restored& restored) const {
    restored.histories.resize(populations());
    for (uint32_t population = 0; population < populations(); ++population) {
        if (!workers_.front()->histories[population]) continue;
        for (uint32_t element = 0; element < blueprint_.populations[population].size; ++element) {
            RIFTJIT_TRY(steps, reader.array(sizeof(uint32_t)));
            for (uint64_t i = 0; i < steps.count; ++i) {
                if (steps.at<uint32_t>(i) >= restored.step ||
                    (i > 0 && steps.at<uint32_t>(i) < steps.at<uint32_t>(i - 1)))
                    return reader.refuse("has spikes out of order");
            }
            restored.histories[population].push_back(steps);
        }
    }
    return {};
}

Result<void> Engine::read_records(CheckpointReader& reader, Restored& restored) const {
    RIFTJIT_TRY_VOID(read_spikes(reader, restored.recorded, 0, restored.step));
    restored.samples.resize(blueprint_.recorders.size());
    for (size_t i = 0; i < blueprint_.recorders.size(); ++i) {
        if (!states_[i] && !weights_[i]) continue;
        RIFTJIT_TRY(values, reader.array(sizeof(double)));
        const uint64_t sample =
            states_[i] ? states_[i]->sample_values() : connections_.plastics[weights_[i]->plastic()].synapses();
        if (sample == 0 ? values.count != 0 : values.count % sample != 0)
            return reader.refuse("ends within a sample of a recorder");
        restored.samples[i] = values;
    }
    return {};
}

void Engine::apply(const Restored& restored) {
    for (const Restored::Copy& copy : restored.copies) std::memcpy(copy.to, copy.from, copy.bytes);
    steps_ = restored.step;
    restore_in_flight(restored.in_flight);
    for (uint32_t population = 0; population < populations(); ++population) {
        for (const auto& worker : workers_)
            if (worker->histories[population]) worker->histories[population]->clear();
        for (uint32_t element = 0; element < restored.histories[population].size(); ++element) {
            SpikeHistory& history = *workers_[slices_.owner(population, element)]->histories[population];
            const CheckpointReader::Array& steps = restored.histories[population][element];
            for (uint64_t i = 0; i < steps.count; ++i) {
                if (history.is_full(element)) history.make_room();
                history.add(element, steps.at<uint32_t>(i));
            }
        }
    }
    for (PlasticProjection& plastic : connections_.plastics)
        for (PlasticSynapses& synapses : plastic.threads) synapses.set_replayed_end(restored.step);
    recorded_ = restored.recorded;
    for (size_t i = 0; i < restored.samples.size(); ++i) {
        if (!restored.samples[i]) continue;
        std::vector<double>& pending =
            states_[i] ? states_[i]->pending() : weights_[i]->pending(connections_.plastics[weights_[i]->plastic()]);
        pending.clear();
        for (uint64_t k = 0; k < restored.samples[i]->count; ++k) pending.push_back(restored.samples[i]->at<double>(k));
    }
    counts_ = restored.counts;
    spikes_ = restored.totals.spikes;
    spikes_hash_ = restored.totals.spikes_hash;
    recorded_hash_ = restored.totals.recorded_hash;
    fan_out_sum_ = restored.totals.fan_out_sum;
    delivered_before_ = 0;
    delivered_before_ = restored.totals.delivered - delivered();
}

// The spikes of the last steps stand again where they were in their rows.
void Engine::restore_in_flight(const std::vector<Spike>& spikes) {
    for (std::vector<uint32_t>& ids : recent_) ids.clear();
    for (const Spike& spike : spikes) recent_[spike.step % recent_.size()].push_back(spike.id);
    for (StaticSynapses& synapses : connections_.statics) synapses.clear_spikes();
    for (const Spike& spike : spikes) {
        const auto population = std::prev(std::upper_bound(
            blueprint_.populations.begin(), blueprint_.populations.end(), spike.id,
            [](uint32_t id, const BlueprintPopulation& candidate) { return id < candidate.first_id; }));
        const uint32_t element = spike.id - population->first_id;
        const auto index = static_cast<uint32_t>(population - blueprint_.populations.begin());
        for (StaticSynapses& synapses : connections_.statics)
            if (steps_ - spike.step <= synapses.max_lag()) synapses.spike(spike.step, index, {&element, 1});
    }
    for (StaticSynapses& synapses : connections_.statics) {
        for (uint32_t age = 1; age <= std::min(steps_, synapses.max_lag()); ++age)
            synapses.skip_delivered(steps_ - age, steps_ + 1);
    }
}

}  // namespace riftjit::sim
