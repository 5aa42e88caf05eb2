#include "sim/engine/connection_build.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "host/available_memory.h"

namespace riftjit::sim {

namespace {

constexpr uint64_t kBlockSynapses = 1 << 18;  // drawn before they are sorted into rows: 7 MiB per thread
constexpr uint64_t kMinChunkWords = 1 << 6, kMaxChunkWords = 1 << 23;
constexpr uint64_t kRunHeaderBytes = 8;

struct ThreadTotals {
    uint64_t synapses = 0, hash = 0;
    std::optional<Error> error;
};

// What all threads of a build share.
struct Build {
    const Blueprint* blueprint;
    const NeuronState* state;
    const Slices* slices;
    const std::vector<RowGroup>* groups;
    Connections* connections;
    std::vector<ThreadTotals> totals;

    const BlueprintProjection& projection(uint32_t index) const { return blueprint->projections[index]; }
    uint32_t first_arrival(const BlueprintProjection& projection) const {
        return *state->first_arrival(projection.target, projection.receptor);
    }
    uint32_t size(uint32_t population) const { return blueprint->populations[population].size; }
    Slice sources(uint32_t population, uint32_t thread) const {
        const Share share = share_of(size(population), thread, slices->threads());
        return {share.begin, share.end};
    }
    // Calls receive for the thread's part of a projection, so that all threads together draw once: its sources with all
    // their targets, or its own targets.
    void generate(uint32_t index, uint32_t thread, const ProjectionBuilder::Receive& receive) const {
        const BlueprintProjection& made = projection(index);
        if (made.drawn_by == BlueprintProjection::DrawnBy::target)
            made.generate({0, size(made.source)}, slices->of(made.target, thread), receive);
        else
            made.generate(sources(made.source, thread), {0, size(made.target)}, receive);
    }
    bool accept(ThreadTotals& totals, uint32_t index, uint32_t source, std::span<const Synapse> synapses) const;
};

// Counts and hashes a row, or notes what is wrong with it.
bool Build::accept(ThreadTotals& totals, uint32_t index, uint32_t source, std::span<const Synapse> synapses) const {
    if (totals.error) return false;
    const BlueprintProjection& made = projection(index);
    const uint32_t least = blueprint->compat == Compat::nest ? 1 : 0, targets = size(made.target);
    for (const Synapse& synapse : synapses) {
        if (synapse.target >= targets || synapse.delay < least || synapse.delay > kMaxDelaySteps) {
            totals.error =
                Error{ErrorKind::Usage,
                      fmt::format("projection {}: a synapse from neuron {} to {} of {} with a delay of {} "
                                  "steps: delays are {} to {} steps",
                                  made.name, source, synapse.target, targets, synapse.delay, least, kMaxDelaySteps)};
            return false;
        }
        if (made.shared_weight || is_within(made.weights, synapse.weight, blueprint->precision)) continue;
        totals.error =
            Error{ErrorKind::Usage,
                  fmt::format(
                      "projection {}: the weight drawn for a synapse from neuron {} to {} is {}; 'keep_sign', 'least' "
                      "and 'most' bound what is drawn",
                      made.name, source, synapse.target,
                      weight_fault(made.weights, synapse.weight, made.weight_unit, blueprint->precision))};
        return false;
    }
    totals.synapses += synapses.size();
    totals.hash += hash_synapses(index, source, synapses, made.shared_weight);
    // Several threads may hold a part of the source's synapses.
    uint32_t& fan_out = connections->fan_out[blueprint->populations[made.source].first_id + source];
    std::atomic_ref(fan_out).fetch_add(static_cast<uint32_t>(synapses.size()), std::memory_order_relaxed);
    return true;
}

// One thread's part of the static rows: those of its share of the sources, for all threads, and of what is drawn by
// target those to its own.
class StaticRowBuild {
public:
    StaticRowBuild(Build& build, uint32_t thread) : build_(build), thread_(thread), totals_(build.totals[thread]) {
        rows_.resize(build.slices->threads());
    }

    void run() {
        const auto populations = static_cast<uint32_t>(build_.blueprint->populations.size());
        for (uint32_t population = 0; population < populations; ++population) join(population);
        for (uint32_t group = 0; group < build_.groups->size(); ++group)
            if ((*build_.groups)[group].is_drawn_by_target) write_drawn_by_target(group);
    }

private:
    struct Drawn {  // synapses of a block of sources, by one projection
        uint32_t group;
        std::vector<StaticSynapses::Entry> entries;
        std::vector<uint16_t> owners;
        std::vector<size_t> ends;  // by source of the block
    };

    void join(uint32_t population);
    void draw(uint32_t begin, uint32_t end);
    void write_block(uint32_t begin, uint32_t end);
    void write_drawn_by_target(uint32_t group);
    void write_rows(uint32_t group, uint32_t source);
    template <class Place>
    void for_each_entry(uint32_t projection, uint32_t source, std::span<const Synapse> synapses, const Place& place);

    Build& build_;
    uint32_t thread_;
    ThreadTotals& totals_;
    std::vector<uint32_t> projections_;                     // of a population, drawn by source; in their order
    std::vector<Drawn> drawn_;                              // of each
    std::vector<std::vector<StaticSynapses::Entry>> rows_;  // of one source, per owner
};

template <class Place>
void StaticRowBuild::for_each_entry(uint32_t projection, uint32_t source, std::span<const Synapse> synapses,
                                    const Place& place) {
    if (!build_.accept(totals_, projection, source, synapses)) return;
    const BlueprintProjection& made = build_.projection(projection);
    const uint32_t first = build_.first_arrival(made);
    for (const Synapse& synapse : synapses) {
        const uint32_t lag = build_.blueprint->lag(synapse.delay);
        place(StaticSynapses::Entry{first + synapse.target, synapse.weight, static_cast<uint16_t>(lag)},
              build_.slices->owner(made.target, synapse.target));
    }
}

void StaticRowBuild::join(uint32_t population) {
    projections_.clear();
    drawn_.clear();
    uint64_t expected = 0;
    for (uint32_t group = 0; group < build_.groups->size(); ++group) {
        const RowGroup& made = (*build_.groups)[group];
        if (made.source != population || made.is_drawn_by_target) continue;
        for (const uint32_t projection : made.projections) {
            projections_.push_back(projection);
            drawn_.push_back({group, {}, {}, {}});
            expected += build_.projection(projection).expected_synapses;
        }
    }
    if (projections_.empty()) return;
    const Slice share = build_.sources(population, thread_);
    const uint64_t per_source = expected / build_.size(population) + 1;
    const auto block = static_cast<uint32_t>(std::max<uint64_t>(1, kBlockSynapses / per_source));
    for (uint64_t begin = share.begin; begin < share.end && !totals_.error; begin += block) {
        const auto end = static_cast<uint32_t>(std::min<uint64_t>(begin + block, share.end));
        draw(static_cast<uint32_t>(begin), end);
        write_block(static_cast<uint32_t>(begin), end);
    }
}

void StaticRowBuild::draw(uint32_t begin, uint32_t end) {
    for (size_t i = 0; i < projections_.size(); ++i) {
        auto& [group, entries, owners, ends] = drawn_[i];
        entries.clear();
        owners.clear();
        ends.clear();
        const auto keep = [&](const StaticSynapses::Entry& entry, uint32_t owner) {
            entries.push_back(entry);
            owners.push_back(static_cast<uint16_t>(owner));
        };
        const BlueprintProjection& made = build_.projection(projections_[i]);
        made.generate({begin, end}, {0, build_.size(made.target)},
                      [&](uint32_t source, std::span<const Synapse> synapses) {
                          ends.resize(source - begin, entries.size());  // sources without synapses
                          for_each_entry(projections_[i], source, synapses, keep);
                          ends.push_back(entries.size());
                      });
        ends.resize(end - begin, entries.size());
    }
}

void StaticRowBuild::write_block(uint32_t begin, uint32_t end) {
    for (uint32_t source = begin; source < end && !totals_.error; ++source) {
        for (size_t i = 0; i < drawn_.size(); ++i) {
            const Drawn& drawn = drawn_[i];
            const size_t first = source == begin ? 0 : drawn.ends[source - begin - 1];
            for (size_t entry = first; entry < drawn.ends[source - begin]; ++entry)
                rows_[drawn.owners[entry]].push_back(drawn.entries[entry]);
            if (i + 1 == drawn_.size() || drawn_[i + 1].group != drawn.group) write_rows(drawn.group, source);
        }
    }
}

void StaticRowBuild::write_drawn_by_target(uint32_t group) {
    const uint32_t projection = (*build_.groups)[group].projections.front();
    build_.generate(projection, thread_, [&](uint32_t source, std::span<const Synapse> synapses) {
        for_each_entry(projection, source, synapses,
                       [&](const StaticSynapses::Entry& entry, uint32_t owner) { rows_[owner].push_back(entry); });
        write_rows(group, source);
    });
}

void StaticRowBuild::write_rows(uint32_t group, uint32_t source) {
    for (size_t owner = 0; owner < rows_.size(); ++owner) {
        if (!totals_.error) {
            const auto added = build_.connections->statics[owner].add_row(build_.connections->rows[thread_], group,
                                                                          source, rows_[owner]);
            if (!added) totals_.error = added.error();
        }
        rows_[owner].clear();
    }
}

// Runs body(thread) on every thread.
template <class Body>
void on_all_threads(ThreadPool& pool, const Body& body) {
    pool.run([](void* context, uint32_t thread) { (*static_cast<const Body*>(context))(thread); },
             const_cast<Body*>(&body));
}

Result<void> first_error(const Build& build) {
    for (const ThreadTotals& totals : build.totals)
        if (totals.error) return std::unexpected(*totals.error);
    return {};
}

// Rows of plastic projections: how many synapses each source has in each thread's slice, and the longest lag.
struct RowCounts {
    std::vector<std::vector<uint64_t>> starts;  // per thread, by source
    uint32_t max_lag = 0;
};
Result<RowCounts> count_rows(Build& build, uint32_t index, ThreadPool& pool) {
    const BlueprintProjection& projection = build.projection(index);
    RowCounts counts;
    counts.starts.resize(pool.size(), std::vector<uint64_t>(build.size(projection.source) + 1u));
    std::vector<uint32_t> max_lags(pool.size());
    on_all_threads(pool, [&](uint32_t thread) {
        build.generate(index, thread, [&](uint32_t source, std::span<const Synapse> synapses) {
            if (!build.accept(build.totals[thread], index, source, synapses)) return;
            for (const Synapse& synapse : synapses) {
                ++counts.starts[build.slices->owner(projection.target, synapse.target)][source + 1];
                max_lags[thread] = std::max(max_lags[thread], build.blueprint->lag(synapse.delay));
            }
        });
    });
    RIFTJIT_TRY_VOID(first_error(build));
    for (std::vector<uint64_t>& starts : counts.starts)
        for (size_t source = 1; source < starts.size(); ++source) starts[source] += starts[source - 1];
    counts.max_lag = *std::max_element(max_lags.begin(), max_lags.end());
    return counts;
}

void store_rows(const Build& build, PlasticProjection& plastic, ThreadPool& pool) {
    const BlueprintProjection& projection = build.projection(plastic.projection);
    on_all_threads(pool, [&](uint32_t thread) {
        std::vector<std::vector<PlasticSynapses::Entry>> rows(pool.size());
        build.generate(plastic.projection, thread, [&](uint32_t source, std::span<const Synapse> synapses) {
            for (auto& row : rows) row.clear();
            for (const Synapse& synapse : synapses) {
                rows[build.slices->owner(projection.target, synapse.target)].push_back(
                    {synapse.target, synapse.delay, projection.shared_weight.value_or(synapse.weight)});
            }
            for (uint32_t owner = 0; owner < rows.size(); ++owner) plastic.threads[owner].set_row(source, rows[owner]);
        });
    });
}

Result<void> build_plastic(Build& build, uint32_t index, std::vector<uint32_t>& ring_lags, ThreadPool& pool) {
    const BlueprintProjection& projection = build.projection(index);
    RIFTJIT_TRY(counts, count_rows(build, index, pool));
    PlasticProjection plastic{index, projection.source, projection.target, 0, {}};
    for (std::vector<uint64_t>& starts : counts.starts) {
        RIFTJIT_TRY(synapses, PlasticSynapses::create(*build.blueprint, projection, std::move(starts)));
        plastic.threads.push_back(std::move(synapses));
    }
    store_rows(build, plastic, pool);
    ring_lags[index] = counts.max_lag;
    build.connections->plastics.push_back(std::move(plastic));
    return {};
}

// One ring for all plastic projections to a receptor.
Result<void> add_rings(Build& build, const std::vector<uint32_t>& ring_lags) {
    Connections& connections = *build.connections;
    std::vector<std::pair<uint32_t, uint32_t>> rings;  // first arrival, longest lag
    for (PlasticProjection& plastic : connections.plastics) {
        const uint32_t first = build.first_arrival(build.projection(plastic.projection));
        const auto known =
            std::find_if(rings.begin(), rings.end(), [&](const auto& ring) { return ring.first == first; });
        plastic.ring = static_cast<size_t>(known - rings.begin());
        if (known == rings.end()) rings.push_back({first, 0});
        uint32_t& lag = rings[plastic.ring].second;
        lag = std::max(lag, ring_lags[plastic.projection]);
    }
    for (size_t ring = 0; ring < rings.size(); ++ring) {
        const auto user = std::find_if(connections.plastics.begin(), connections.plastics.end(),
                                       [&](const PlasticProjection& plastic) { return plastic.ring == ring; });
        const uint32_t size = build.blueprint->populations[user->target].size;
        const uint64_t needed = ArrivalRing::bytes(size, rings[ring].second), available = available_memory();
        if (available != 0 && needed > available) {
            return fail(ErrorKind::OutOfMemory,
                        "delays of {} steps to {} plastic neurons take {} bytes, {} are available", rings[ring].second,
                        size, needed, available);
        }
        RIFTJIT_TRY(made, ArrivalRing::create(user->target, size, rings[ring].first, rings[ring].second));
        connections.rings.push_back(std::move(made));
    }
    return {};
}

uint64_t static_bytes(const Blueprint& blueprint, const RowGroup& group, uint32_t threads) {
    uint64_t synapses = 0, delays = 1;
    for (const uint32_t projection : group.projections) {
        synapses += blueprint.projections[projection].expected_synapses;
        delays = std::max<uint64_t>(delays, blueprint.projections[projection].likely_delays);
    }
    const uint64_t rows = uint64_t(blueprint.populations[group.source].size) * threads;
    const uint64_t runs = std::min(synapses, rows * delays);
    return synapses * entry_words(group.shared_weight, blueprint.precision) * sizeof(uint32_t) +
           runs * kRunHeaderBytes + rows * (kRunHeaderBytes + sizeof(void*));
}

}  // namespace

uint64_t connection_bytes(const Blueprint& blueprint, uint32_t threads) {
    uint64_t bytes = blueprint.neurons() * sizeof(uint32_t);
    for (const RowGroup& group : row_groups(blueprint)) bytes += static_bytes(blueprint, group, threads);
    for (const BlueprintProjection& projection : blueprint.projections) {
        if (!projection.rule) continue;
        const uint64_t sources = blueprint.populations[projection.source].size;
        bytes += projection.expected_synapses * PlasticSynapses::bytes_per_synapse(*projection.rule) +
                 sources * threads * (sizeof(uint64_t) + sizeof(uint32_t));
    }
    return bytes;
}

Result<Connections> build_connections(const Blueprint& blueprint, const NeuronState& state, const Slices& slices,
                                      ThreadPool& pool) {
    const uint32_t threads = pool.size();
    const std::vector<RowGroup> groups = row_groups(blueprint);
    const uint64_t share_words = connection_bytes(blueprint, threads) / sizeof(uint32_t) / threads / threads;
    const uint64_t chunk_words = std::clamp(share_words / 16, kMinChunkWords, kMaxChunkWords);
    Connections connections;
    connections.fan_out.resize(blueprint.neurons());
    for (uint32_t thread = 0; thread < threads; ++thread) {
        connections.statics.emplace_back(blueprint, groups, thread);
        connections.rows.emplace_back(threads, chunk_words);
    }
    Build build{&blueprint, &state, &slices, &groups, &connections, std::vector<ThreadTotals>(threads)};
    on_all_threads(pool, [&](uint32_t thread) { StaticRowBuild(build, thread).run(); });
    RIFTJIT_TRY_VOID(first_error(build));
    const std::vector<uint32_t> lags = lags_of(connections.rows);
    for (StaticSynapses& synapses : connections.statics) synapses.finish(lags);
    for (RowWriter& writer : connections.rows) writer.drop_scratch();
    std::vector<uint32_t> ring_lags(blueprint.projections.size());
    for (uint32_t index = 0; index < blueprint.projections.size(); ++index)
        if (blueprint.projections[index].rule) RIFTJIT_TRY_VOID(build_plastic(build, index, ring_lags, pool));
    RIFTJIT_TRY_VOID(add_rings(build, ring_lags));
    for (const ThreadTotals& totals : build.totals) {
        connections.synapses += totals.synapses;
        connections.hash += totals.hash;
    }
    return connections;
}

}  // namespace riftjit::sim
