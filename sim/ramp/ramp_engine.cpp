#include "sim/ramp/ramp_engine.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "host/available_memory.h"
#include "host/round_up.h"
#include "sim/spike_checks.h"

namespace riftjit::sim {

namespace {

// Two bytes of counters per neuron of a range: 128 KiB at most, half of the smallest second-level cache in use.
constexpr uint32_t kMaxLog2Range = 16, kMinLog2Range = 6;
constexpr uint32_t kRangesWanted = 64;  // small networks: enough to share out
constexpr uint64_t kAlignment = 4096;
// The most neurons that fire in one step of the published network (facts of its publication: 5,871,330 of 60 million).
constexpr double kPeakShare = 0.098;

struct StateLayout {
    uint64_t s_exc, s_inh, refractory, spikes, bytes;  // offsets; v lies at 0
};
StateLayout layout_of(uint32_t neurons) {
    const uint64_t padded = round_up(neurons, kLifStepNeurons);
    StateLayout layout{};
    layout.s_exc = round_up(padded * sizeof(double), kAlignment);
    layout.s_inh = 2 * layout.s_exc;
    layout.refractory = 3 * layout.s_exc;
    layout.spikes = layout.refractory + round_up(padded, kAlignment);
    layout.bytes = layout.spikes + round_up(padded * sizeof(uint16_t), kAlignment);
    return layout;
}

}  // namespace

uint64_t ramp_memory_bytes(const RampNetwork& network, TargetStore targets) {
    const auto in_flight = static_cast<uint64_t>(double(network.synapses()) * kPeakShare);
    return layout_of(network.neurons).bytes + 2 * in_flight * sizeof(uint32_t) +
           (targets == TargetStore::stored ? network.synapses() * sizeof(uint32_t) : 0);
}

RampEngine::RampEngine(const RampNetwork& network, ThreadPool& pool)
    : network_(network), targets_(network), pool_(&pool) {
    const auto wanted = static_cast<uint32_t>(std::bit_width(network.neurons / kRangesWanted));
    log2_range_ = std::clamp(wanted, kMinLog2Range, kMaxLog2Range);
    ranges_ = static_cast<uint32_t>(((uint64_t(network.neurons) - 1) >> log2_range_) + 1);
}

Result<RampEngine> RampEngine::create(const RampNetwork& network, TargetStore targets, x86::HostKernels& kernels,
                                      Isa isa, ThreadPool& pool) {
    if (network.neurons == 0) return fail(ErrorKind::Usage, "a network of 0 neurons: expected 1 to {}", UINT32_MAX);
    const uint64_t needed = ramp_memory_bytes(network, targets), available = available_memory();
    if (available != 0 && needed > available) {
        return fail(ErrorKind::OutOfMemory, "{} neurons take {} bytes of memory, {} are available", network.neurons,
                    needed, available);
    }
    RampEngine engine(network, pool);
    RIFTJIT_TRY(kernel, kernels.get(network.spec(), isa));
    RIFTJIT_TRY_VOID(kernels.seal());
    engine.kernel_ = kernel;
    RIFTJIT_TRY_VOID(engine.allocate(targets));
    engine.initialize();
    return engine;
}

Result<void> RampEngine::allocate(TargetStore targets) {
    const StateLayout layout = layout_of(network_.neurons);
    RIFTJIT_TRY(memory, Pages::allocate(layout.bytes, Pages::Size::huge, "the neurons"));
    memory_ = std::move(memory);
    std::byte* base = memory_.as<std::byte>();
    state_ = {reinterpret_cast<double*>(base), reinterpret_cast<double*>(base + layout.s_exc),
              reinterpret_cast<double*>(base + layout.s_inh), reinterpret_cast<uint8_t*>(base + layout.refractory),
              reinterpret_cast<uint16_t*>(base + layout.spikes)};
    if (targets == TargetStore::stored) {
        RIFTJIT_TRY(stored, Pages::allocate(network_.synapses() * sizeof(uint32_t), Pages::Size::huge, "the targets"));
        stored_targets_ = std::move(stored);
    }
    for (uint32_t thread = 0; thread < pool_->size(); ++thread) {
        auto worker = std::make_unique<Worker>();
        for (SpikeBuckets& buckets : worker->buckets) {
            RIFTJIT_TRY(created, SpikeBuckets::create(ranges_, network_.synapses()));
            buckets = std::move(created);
        }
        const Share share = share_of(ranges_, thread, pool_->size());
        worker->first_range = share.begin;
        worker->end_range = share.end;
        for (auto& next : worker->next_range) next = share.begin;
        worker->arrivals.resize(size_t(1) << log2_range_);
        worker->fired.resize((size_t(1) << log2_range_) + kLifStepNeurons);
        workers_.push_back(std::move(worker));
    }
    return {};
}

void RampEngine::initialize() {
    pool_->run([](void* engine, uint32_t thread) { static_cast<RampEngine*>(engine)->fill(thread); }, this);
}

// First touch: a page lies near the thread that will mostly work on it.
void RampEngine::fill(uint32_t thread) {
    const Worker& worker = *workers_[thread];
    if (worker.first_range == worker.end_range) return;
    const uint32_t begin = worker.first_range << log2_range_;
    const uint32_t end = range_end(worker.end_range - 1);
    std::fill(state_.v + begin, state_.v + end, network_.rest);
    std::fill(state_.s_exc + begin, state_.s_exc + end, 0.0);
    std::fill(state_.s_inh + begin, state_.s_inh + end, 0.0);
    std::fill(state_.refractory + begin, state_.refractory + end, uint8_t(0));
    std::fill(state_.spikes + begin, state_.spikes + end, uint16_t(0));
    if (stored_targets_.size_bytes() == 0) return;
    auto* targets = stored_targets_.as<uint32_t>();
    for (uint64_t source = begin; source < end; ++source) {
        for (uint32_t k = 0; k < network_.fan_out; ++k)
            targets[source * network_.fan_out + k] = targets_(static_cast<uint32_t>(source), k);
    }
}

uint32_t RampEngine::range_end(uint32_t range) const {
    return static_cast<uint32_t>(std::min<uint64_t>((uint64_t(range) + 1) << log2_range_, network_.neurons));
}

void RampEngine::run(uint32_t steps, const std::function<bool(uint32_t)>& between) {
    spikes_per_step_.reserve(spikes_per_step_.size() + steps);
    Run run{this, steps, &between};
    pool_->run(
        [](void* context, uint32_t thread) {
            Run& shared = *static_cast<Run*>(context);
            shared.engine->run_thread(shared, thread);
        },
        &run);
}

void RampEngine::run_thread(Run& run, uint32_t thread) {
    Worker& worker = *workers_[thread];
    const uint32_t first = steps_;
    pool_->barrier();  // everyone has read steps_
    for (uint32_t done = 0; done < run.steps; ++done) {
        const uint32_t parity = (first + done) & 1;
        step(worker, thread, parity);
        pool_->barrier();
        // The others meanwhile work on the next step, which leaves the sums of this parity alone.
        if (thread == 0) {
            uint64_t spikes = 0;
            for (const auto& other : workers_) spikes += other->step_spikes[parity];
            spikes_ += spikes;
            spikes_per_step_.push_back(spikes);
            ++steps_;
            if (*run.between && !(*run.between)(steps_)) run.stop = true;
        }
        if (*run.between) pool_->barrier();  // before anyone looks at stop
        if (run.stop) return;
    }
}

void RampEngine::step(Worker& worker, uint32_t thread, uint32_t parity) {
    worker.next_range[parity ^ 1] = worker.first_range;  // for the next step; nobody claims by it during this one
    worker.buckets[parity].clear();                      // drained in the step before
    worker.step_spikes[parity] = 0;
    for (uint32_t range; claim_range(thread, parity, range);) step_range(worker, range, parity);
}

// The thread's own ranges first, then what others have left.
bool RampEngine::claim_range(uint32_t thread, uint32_t parity, uint32_t& range) {
    for (uint32_t i = 0; i < pool_->size(); ++i) {
        Worker& owner = *workers_[(thread + i) % pool_->size()];
        if (owner.next_range[parity].load(std::memory_order_relaxed) >= owner.end_range) continue;
        range = owner.next_range[parity].fetch_add(1, std::memory_order_relaxed);
        if (range < owner.end_range) return true;
    }
    return false;
}

void RampEngine::step_range(Worker& worker, uint32_t range, uint32_t parity) {
    drain(worker, range, parity ^ 1);
    const uint32_t first = range << log2_range_, count = range_end(range) - first;
    LifStepArgs args{state_.v + first,      state_.s_exc + first,   state_.s_inh + first, state_.refractory + first,
                     state_.spikes + first, worker.arrivals.data(), worker.fired.data(),  first,
                     /*fired_count=*/0};
    kernel_(&args, 0, static_cast<uint32_t>(round_up(count, kLifStepNeurons)));
    worker.step_spikes[parity] += args.fired_count;
    send(worker.buckets[parity], worker.fired.data(), args.fired_count);
}

void RampEngine::drain(Worker& worker, uint32_t range, uint32_t parity) {
    uint16_t* arrivals = worker.arrivals.data();
    for (const auto& source : workers_) {
        source->buckets[parity].drain(range, [&](const uint32_t* entries, uint32_t count) {
            // A byte cannot overflow: even the largest in-degree at 60 million neurons is 19, and with fewer than 64
            // neurons there are fewer than 256 synapses in all.
            for (uint32_t i = 0; i < count; ++i) {
                const uint32_t entry = entries[i];
                arrivals[entry & (SpikeBuckets::kInhibitory - 1)] += static_cast<uint16_t>(1u << (entry >> 31) * 8);
            }
            worker.delivered += count;
        });
    }
}

void RampEngine::send(SpikeBuckets& buckets, const uint32_t* fired, uint32_t count) const {
    const uint32_t mask = (1u << log2_range_) - 1, shift = log2_range_, excitatory = network_.excitatory();
    const uint32_t fan_out = network_.fan_out;
    const RampTargets targets = targets_;
    const auto* stored = stored_targets_.as<const uint32_t>();
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t source = fired[i];
        const uint32_t kind = source < excitatory ? 0 : SpikeBuckets::kInhibitory;
        for (uint32_t k = 0; k < fan_out; ++k) {
            const uint32_t target = stored ? stored[uint64_t(source) * fan_out + k] : targets(source, k);
            buckets.push(target >> shift, (target & mask) | kind);
        }
    }
}

uint64_t RampEngine::arrivals() const {
    uint64_t count = 0;
    for (const auto& worker : workers_) {
        count += worker->delivered;
        if (steps_ != 0) count += worker->buckets[(steps_ - 1) & 1].pushed();
    }
    return count;
}

Result<void> RampEngine::check_conservation() const { return check_arrivals(arrivals(), spikes_ * network_.fan_out); }

Result<void> RampEngine::check_totals() const {
    return check_counts(std::accumulate(state_.spikes, state_.spikes + network_.neurons, uint64_t(0)), spikes_);
}

uint64_t RampEngine::counts_hash() const {
    SequenceHash hash;
    for (uint32_t neuron = 0; neuron < network_.neurons; ++neuron) hash.add(state_.spikes[neuron]);
    return hash.value();
}

uint64_t RampEngine::graph_hash() const {
    SequenceHash hash;
    for (uint32_t source = 0; source < network_.neurons; ++source)
        for (uint32_t k = 0; k < network_.fan_out; ++k) hash.add(targets_(source, k));
    return hash.value();
}

}  // namespace riftjit::sim
