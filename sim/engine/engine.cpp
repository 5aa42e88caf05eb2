#include "sim/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "host/available_memory.h"

namespace riftjit::sim {

namespace {

constexpr auto kLongEnough = std::chrono::milliseconds(20);  // between two calls of `between`

std::vector<uint32_t> sizes_of(const Blueprint& blueprint) {
    std::vector<uint32_t> sizes;
    for (const BlueprintPopulation& population : blueprint.populations) sizes.push_back(population.size);
    return sizes;
}

bool has_receptor(const BlueprintPopulation& population, const std::string& receptor) {
    if (std::holds_alternative<RelayedPopulation>(population.kind)) return true;
    const auto* program = std::get_if<ProgramPopulation>(&population.kind);
    if (!program) return false;
    const std::vector<ColumnBinding>& columns = program->program.columns;
    return std::find(columns.begin(), columns.end(), ColumnBinding{ColumnRole::arrivals, receptor}) != columns.end();
}

}  // namespace

Engine::Engine(Blueprint blueprint, ThreadPool& pool)
    : blueprint_(std::move(blueprint)), pool_(&pool), slices_(sizes_of(blueprint_), pool.size()), filter_(blueprint_) {}

Result<std::unique_ptr<Engine>> Engine::create(Blueprint blueprint, ThreadPool& pool) {
    RIFTJIT_TRY_VOID(check_references(blueprint));
    std::unique_ptr<Engine> engine(new Engine(std::move(blueprint), pool));
    RIFTJIT_TRY_VOID(engine->check_memory());
    RIFTJIT_TRY_VOID(engine->build());
    return engine;
}

Result<void> Engine::check_references(const Blueprint& blueprint) {
    for (const BlueprintProjection& projection : blueprint.projections) {
        const BlueprintPopulation& target = blueprint.populations.at(projection.target);
        if (!has_receptor(target, projection.receptor)) {
            return fail(ErrorKind::Usage, "projection {}: population {} has no receptor {}", projection.name,
                        target.name, projection.receptor);
        }
        if (projection.rule && !std::holds_alternative<ProgramPopulation>(target.kind)) {
            return fail(ErrorKind::Unsupported,
                        "projection {}: plastic synapses to {}, which takes no notice of weights", projection.name,
                        target.name);
        }
    }
    for (const Recorder& recorder : blueprint.recorders) {
        const BlueprintPopulation& population = blueprint.populations.at(recorder.population);
        const auto* spikes = std::get_if<SpikeRecorder>(&recorder.kind);
        for (size_t i = 0; spikes && i < spikes->neurons.size(); ++i) {
            if (spikes->neurons[i] >= population.size) {
                return fail(ErrorKind::Usage, "recorder {}: neuron {} of population {}, which has {}", recorder.name,
                            spikes->neurons[i], population.name, population.size);
            }
        }
    }
    return {};
}

uint64_t Engine::memory_bytes(const Blueprint& blueprint, uint32_t threads) {
    const uint64_t fired = 3 * uint64_t(blueprint.neurons()) * sizeof(uint32_t);  // two lists, and counts
    uint64_t recorded = 0;  // how much gathers is up to who takes it: a sample, joined, and on its way, at least
    for (const Recorder& recorder : blueprint.recorders) recorded += 3 * sample_bytes(blueprint, recorder);
    std::vector<bool> remembers(blueprint.populations.size());
    for (const BlueprintProjection& projection : blueprint.projections)
        if (projection.rule && projection.rule->has_post_events) remembers[projection.target] = true;
    uint64_t histories = 0;
    for (size_t i = 0; i < remembers.size(); ++i)
        if (remembers[i]) histories += SpikeHistory::first_bytes(blueprint.populations[i].size);
    return NeuronState::bytes(blueprint) + connection_bytes(blueprint, threads) + fired + recorded + histories;
}

Result<void> Engine::check_memory() const {
    const uint64_t needed = memory_bytes(blueprint_, pool_->size()), available = available_memory();
    if (available == 0 || needed <= available) return {};
    uint64_t synapses = 0;
    for (const BlueprintProjection& projection : blueprint_.projections) synapses += projection.expected_synapses;
    return fail(ErrorKind::OutOfMemory, "{} neurons and {} synapses take {} bytes of memory, {} are available",
                blueprint_.neurons(), synapses, needed, available);
}

Result<void> Engine::build() {
    RIFTJIT_TRY(state, NeuronState::create(blueprint_, slices_, *pool_));
    state_ = std::move(state);
    RIFTJIT_TRY(connections, build_connections(blueprint_, state_, slices_, *pool_));
    connections_ = std::move(connections);
    build_workers();
    RIFTJIT_TRY_VOID(build_recorders());
    network_hash_ = hash_network();
    const auto starts_by_formula = [](const BlueprintPopulation& population) {
        const auto* program = std::get_if<ProgramPopulation>(&population.kind);
        return program != nullptr && program->initial;
    };
    if (std::ranges::any_of(blueprint_.populations, starts_by_formula)) return check_finite();  // not at the end only
    return {};
}

void Engine::build_workers() {
    for (auto& lists : fired_) {
        lists.resize(size_t(populations()) * pool_->size());
        for (uint32_t population = 0; population < populations(); ++population) {
            for (uint32_t thread = 0; thread < pool_->size(); ++thread)
                lists[population * pool_->size() + thread].elements.resize(slices_.of(population, thread).size() +
                                                                           kColumnPadding);
        }
    }
    for (auto& threads : has_fired_) threads.resize(pool_->size());
    recent_.resize(max_static_lag() + 1);
    counts_.resize(blueprint_.neurons());
    for (uint32_t thread = 0; thread < pool_->size(); ++thread) {
        auto worker = std::make_unique<Worker>();
        worker->histories.resize(populations());
        worker->next_timed.resize(populations());
        for (const BlueprintPopulation& population : blueprint_.populations) {
            const auto* program = std::get_if<ProgramPopulation>(&population.kind);
            worker->scalars.emplace_back(program ? program->scalars.size() : 0);
        }
        for (const PlasticProjection& plastic : connections_.plastics) {
            if (plastic.threads[thread].has_post_events() && !worker->histories[plastic.target])
                worker->histories[plastic.target].emplace(slices_.of(plastic.target, thread));
        }
        workers_.push_back(std::move(worker));
    }
}

Result<void> Engine::build_recorders() {
    for (const Recorder& recorder : blueprint_.recorders) {
        states_.emplace_back();
        weights_.emplace_back();
        if (std::holds_alternative<StateRecorder>(recorder.kind)) {
            RIFTJIT_TRY(sampler, StateSampler::create(blueprint_, recorder, state_, slices_));
            states_.back() = std::move(sampler);
        } else if (std::holds_alternative<WeightRecorder>(recorder.kind)) {
            RIFTJIT_TRY(sampler, WeightSampler::create(blueprint_, recorder, pool_->size(), connections_));
            weights_.back() = std::move(sampler);
        }
    }
    return {};
}

// ---- steps ----------------------------------------------------------------------------------------------------------

Result<void> Engine::run(uint32_t steps, const std::function<bool(uint32_t)>& between) {
    if (steps > UINT32_MAX - 1 - steps_)
        return fail(ErrorKind::Usage, "{} steps after {}: at most {} in all", steps, steps_, UINT32_MAX - 1);
    const uint32_t end = steps_ + steps;
    uint32_t chunk = 1;
    while (steps_ < end) {
        const auto started = std::chrono::steady_clock::now();
        run_steps(between ? std::min(chunk, end - steps_) : steps);
        if (between && !between(steps_)) break;
        if (std::chrono::steady_clock::now() - started < kLongEnough) chunk = std::min(2 * chunk, 1u << 20);
    }
    return check_finite();
}

Result<void> Engine::check_finite() const {
    for (uint32_t i = 0; i < populations(); ++i) {
        const BlueprintPopulation& population = blueprint_.populations[i];
        const auto* kind = std::get_if<ProgramPopulation>(&population.kind);
        if (!kind) continue;
        const LoweredProgram& program = kind->program;
        for (size_t column = 0; column < program.columns.size(); ++column) {
            if (program.columns[column].role != ColumnRole::state) continue;
            for (uint32_t element = 0; element < population.size; ++element) {
                const double value = read(i, column, element);
                if (std::isfinite(value)) continue;
                return fail(ErrorKind::Usage, "after {} steps, {} of neuron {} of population {} is {}", steps_,
                            program.columns[column].name, element, population.name, value);
            }
        }
    }
    for (const PlasticProjection& plastic : connections_.plastics) {
        for (const PlasticSynapses& synapses : plastic.threads) {
            const auto fault = synapses.find_fault();
            if (!fault) continue;
            return fail(ErrorKind::Usage, "after {} steps, {} of a synapse from neuron {} to {} of projection {} is {}",
                        steps_, fault->name, fault->source, fault->target,
                        blueprint_.projections[plastic.projection].name, fault->value);
        }
    }
    return {};
}

void Engine::run_steps(uint32_t steps) {
    struct Run {
        Engine* engine;
        uint32_t steps;
    } run{this, steps};
    pool_->run(
        [](void* context, uint32_t thread) {
            const Run& run = *static_cast<const Run*>(context);
            run.engine->run_thread(run.steps, thread);
        },
        &run);
    steps_ += steps;
}

void Engine::run_thread(uint32_t steps, uint32_t thread) {
    const uint32_t first = steps_;
    seek_timed(*workers_[thread], first);
    for (uint32_t step = first; step < first + steps; ++step) {
        integrate(thread, step);
        pool_->barrier();
        exchange(thread, step);
    }
}

void Engine::seek_timed(Worker& worker, uint32_t step) const {
    for (uint32_t i = 0; i < populations(); ++i) {
        const auto* timed = std::get_if<TimedPopulation>(&blueprint_.populations[i].kind);
        if (!timed) continue;
        const auto first = std::lower_bound(timed->spikes.begin(), timed->spikes.end(), std::pair(step, 0u));
        worker.next_timed[i] = static_cast<size_t>(first - timed->spikes.begin());
    }
}

void Engine::integrate(uint32_t thread, uint32_t step) {
    Worker& worker = *workers_[thread];
    bool has_fired = false;
    for (uint32_t i = 0; i < populations(); ++i) {
        FiredList& list = fired(step, i, thread);
        list.count = 0;
        const auto& kind = blueprint_.populations[i].kind;
        if (const auto* program = std::get_if<ProgramPopulation>(&kind)) {
            launch(*program, i, thread, step, list);
        } else if (const auto* timed = std::get_if<TimedPopulation>(&kind)) {
            size_t& next = worker.next_timed[i];
            for (; next < timed->spikes.size() && timed->spikes[next].first == step; ++next)
                if (slices_.of(i, thread).contains(timed->spikes[next].second)) list.push(timed->spikes[next].second);
        } else {
            relay(i, thread, list);
        }
        has_fired |= list.count != 0;
    }
    has_fired_[step & 1][thread] = has_fired;
}

void Engine::launch(const ProgramPopulation& population, uint32_t index, uint32_t thread, uint32_t step,
                    FiredList& fired) {
    const Slice slice = slices_.of(index, thread);
    if (slice.size() == 0) return;
    std::vector<double>& scalars = workers_[thread]->scalars[index];
    for (size_t i = 0; i < scalars.size(); ++i) scalars[i] = population.scalars[i].at(step);
    ColumnProgramArgs args{state_.columns(index).data(),
                           scalars.data(),
                           fired.elements.data(),
                           0,
                           blueprint_.populations[index].size,
                           blueprint_.populations[index].first_id,
                           population.key,
                           step};
    population.kernel(&args, slice.begin, slice.end);
    fired.count = args.fired_count;
}

void Engine::relay(uint32_t index, uint32_t thread, FiredList& fired) {
    double* const arrivals = state_.arrivals() + *state_.first_arrival(index, "");
    const Slice slice = slices_.of(index, thread);
    for (uint32_t element = slice.begin; element < slice.end; ++element) {
        for (auto spikes = static_cast<uint32_t>(arrivals[element]); spikes > 0; --spikes) fired.push(element);
        arrivals[element] = 0;
    }
}

// After the barrier of `step`: everyone's lists are complete, and the columns of this thread's slices are its own
// again.
void Engine::exchange(uint32_t thread, uint32_t step) {
    hear(thread, step);
    if (thread == 0) record(step);
    remember(thread, step);
    fire_plastic(thread, step);
    sample(thread, step);
    StaticSynapses& synapses = connections_.statics[thread];
    synapses.begin_step(step);
    for (uint32_t population = 0; population < populations(); ++population) {
        for (const uint32_t owner : workers_[thread]->heard)
            synapses.spike(step, population, fired(step, population, owner).span());
    }
    deliver(thread, step + 1);
}

// So that a step does not look at the lists of every thread for every population: many threads are mostly silent.
void Engine::hear(uint32_t thread, uint32_t step) {
    std::vector<uint32_t>& heard = workers_[thread]->heard;
    heard.clear();
    for (uint32_t owner = 0; owner < pool_->size(); ++owner)
        if (has_fired_[step & 1][owner]) heard.push_back(owner);
}

void Engine::deliver(uint32_t thread, uint32_t step) {
    for (ArrivalRing& ring : connections_.rings)
        ring.take(step, slices_.of(ring.population(), thread), state_.arrivals());
    connections_.statics[thread].deliver(step, state_.arrivals());
}

uint32_t Engine::max_delay(uint32_t population) const {
    uint32_t delay = 0;
    for (const ArrivalRing& ring : connections_.rings)
        if (ring.population() == population) delay = std::max(delay, ring.max_lag());
    return delay;
}

uint32_t Engine::max_static_lag() const {
    uint32_t lag = 0;
    for (const StaticSynapses& synapses : connections_.statics) lag = std::max(lag, synapses.max_lag());
    return lag;
}

// Keeps the spikes of plastic synapses' targets. A neuron without room makes all synapses catch up first, so that only
// spikes that have yet to act are kept; more room is made where that does not help much.
void Engine::remember(uint32_t thread, uint32_t step) {
    Worker& worker = *workers_[thread];
    for (uint32_t population = 0; population < populations(); ++population) {
        std::optional<SpikeHistory>& history = worker.histories[population];
        if (!history) continue;
        for (const uint32_t element : fired(step, population, thread).span()) {
            if (history->is_full(element)) {
                if (step > 0) replay(population, thread, step - 1);
                const uint32_t delay = max_delay(population);
                history->prune(step > delay ? step - delay : 0);
                if (history->of(element).size() > history->capacity() / 2) history->make_room();
            }
            history->add(element, step);
        }
    }
}

void Engine::replay(uint32_t population, uint32_t thread, uint32_t step) {
    const std::optional<SpikeHistory>& history = workers_[thread]->histories[population];
    for (PlasticProjection& plastic : connections_.plastics)
        if (history && plastic.target == population) plastic.threads[thread].replay(step, *history);
}

void Engine::fire_plastic(uint32_t thread, uint32_t step) {
    for (PlasticProjection& plastic : connections_.plastics) {
        const std::optional<SpikeHistory>& history = workers_[thread]->histories[plastic.target];
        for (const uint32_t owner : workers_[thread]->heard) {
            plastic.threads[thread].fire(step, fired(step, plastic.source, owner).span(), history ? &*history : nullptr,
                                         connections_.rings[plastic.ring]);
        }
    }
}

void Engine::sample(uint32_t thread, uint32_t step) {
    for (std::optional<StateSampler>& sampler : states_)
        if (sampler) sampler->sample(step, thread);
    for (std::optional<WeightSampler>& sampler : weights_) {
        if (!sampler || !sampler->samples(step)) continue;
        PlasticProjection& plastic = connections_.plastics[sampler->plastic()];
        replay(plastic.target, thread, step);
        sampler->sample(thread, plastic.threads[thread]);
    }
}

// On thread 0.
void Engine::record(uint32_t step) {
    std::vector<uint32_t>& recent = recent_[step % recent_.size()];
    recent.clear();
    for (uint32_t population = 0; population < populations(); ++population) {
        const uint32_t first_id = blueprint_.populations[population].first_id;
        for (const uint32_t thread : workers_[0]->heard) {
            const std::span<const uint32_t> elements = fired(step, population, thread).span();
            for (const uint32_t element : elements) {
                const Spike spike{step, first_id + element};
                recent.push_back(spike.id);
                fan_out_sum_ += connections_.fan_out[spike.id];
                ++counts_[spike.id];
                spikes_hash_ = hash_spikes({&spike, 1}, spikes_hash_);
            }
            const size_t before = recorded_.size();
            filter_.keep(population, step, elements, recorded_);
            recorded_hash_ = hash_spikes(std::span(recorded_).subspan(before), recorded_hash_);
        }
    }
    spikes_ += recent.size();
}

// ---- results --------------------------------------------------------------------------------------------------------

uint64_t Engine::delivered() const {
    uint64_t delivered = delivered_before_;
    for (const StaticSynapses& synapses : connections_.statics)
        delivered += synapses.delivered() + synapses.in_flight();
    for (const PlasticProjection& plastic : connections_.plastics)
        for (const PlasticSynapses& synapses : plastic.threads) delivered += synapses.delivered();
    return delivered;
}

double Engine::read(uint32_t population, size_t column, uint32_t element) const {
    const auto& program = std::get<ProgramPopulation>(blueprint_.populations[population].kind).program;
    return read_column(state_.columns(population)[column], program.spec.columns[column], element);
}

std::vector<double> Engine::take_samples(size_t recorder) {
    if (states_[recorder]) return states_[recorder]->take();
    if (weights_[recorder]) return weights_[recorder]->take(connections_.plastics[weights_[recorder]->plastic()]);
    return {};
}

}  // namespace riftjit::sim
