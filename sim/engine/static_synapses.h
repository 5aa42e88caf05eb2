// Synapses whose weights stay: rows per source neuron, read once along their delays while a spike travels.
//
// A row lists the synapses that end in one thread's slices, in runs by ascending lag (steps from the spike to the
// kernel that takes it), each in the order of drawing. In words of 32 bits:
//     lag, count, count x (arrival index[, weight as f64, or as f32 in Precision::f32]), lag, count, ..., 0, 0
// Rows of one weight leave it out. A spike keeps a cursor at its next run, so a step reads only what is due, and what
// arrives is added in the order (lag, source, projection, drawing), whatever the number of threads.
#pragma once

#include <optional>
#include <vector>

#include "host/pages.h"
#include "sim/engine/blueprint.h"
#include "sim/engine/neuron_state.h"
#include "sim/engine/slices.h"

namespace riftjit::sim {

inline constexpr uint32_t kMaxLag = UINT16_MAX;
// Words of a synapse in a row.
constexpr uint32_t entry_words(const std::optional<double>& shared_weight, Precision precision) {
    return shared_weight ? 1 : precision == Precision::f32 ? 2 : 3;
}

// Static projections of one source population that share a format: one row per source and thread. Projections that are
// drawn by target stay alone, because joining rows takes many small slices of the sources.
struct RowGroup {
    uint32_t source;                      // population
    std::optional<double> shared_weight;  // of all synapses
    bool is_drawn_by_target;
    std::vector<uint32_t> projections;
};
std::vector<RowGroup> row_groups(const Blueprint& blueprint);

// What one building thread writes rows with, for all owners: their room, in which rows never move, and its own scratch.
// The rows of an owner lie together in chunks, so that its cache and pages hold little of the others'.
class alignas(64) RowWriter {
public:
    RowWriter(uint32_t owners, uint64_t chunk_words);
    Result<uint32_t*> allocate(uint32_t owner, uint64_t words);
    void drop_scratch() { counts = {}, lags = {}, seen = {}; }

    // Of the row that is being written.
    std::vector<uint32_t> counts;  // by lag; zero between rows
    std::vector<uint16_t> lags;
    std::vector<bool> seen;  // lags of any row so far

private:
    struct Room {
        uint32_t* next = nullptr;
        uint64_t left = 0;  // words
    };
    uint64_t chunk_words_;
    Room block_;                // of the last of `blocks_`, not yet given to an owner
    std::vector<Room> chunks_;  // by owner
    std::vector<Pages> blocks_;
};

// The lags that occur in the rows of all writers, ascending.
std::vector<uint32_t> lags_of(const std::vector<RowWriter>& writers);

class StaticSynapses {  // of one thread
public:
    StaticSynapses(const Blueprint& blueprint, const std::vector<RowGroup>& groups, uint32_t owner);

    // Building: a thread writes the rows of its own sources, each thread with a writer of its own.
    struct Entry {
        uint32_t arrival;
        double weight;
        uint16_t lag;
    };
    Result<void> add_row(RowWriter& writer, uint32_t group, uint32_t source, std::span<const Entry> entries);
    // Once all rows are there: the lags that occur in any, ascending; those of other owners' rows do no harm.
    void finish(const std::vector<uint32_t>& lags);

    // The neurons of `population` that fired in `step`; populations come in ascending order, elements too.
    void begin_step(uint32_t step);
    void spike(uint32_t step, uint32_t population, std::span<const uint32_t> elements);
    // Adds what the kernel of `step` takes. Every step is delivered, in order.
    void deliver(uint32_t step, double* arrivals);
    // Moves the spikes of `step` on as if everything due before the kernel of `next` had been delivered.
    void skip_delivered(uint32_t step, uint32_t next);

    void clear_spikes();

    uint64_t delivered() const { return delivered_; }
    uint64_t in_flight() const;
    uint32_t max_lag() const { return lags_.empty() ? 0 : lags_.back(); }

private:
    struct Rows {
        uint32_t source;       // population
        uint32_t entry_words;  // as entry_words() has them
        double weight;
        std::vector<const uint32_t*> starts;  // by source element; null: no synapses
    };
    struct Cursor {
        const uint32_t* entries;
        uint32_t count;
        uint16_t lag;  // 0: the row has ended
        uint16_t group;
    };

    static void read_header(Cursor& cursor);
    static void prefetch(const Cursor& cursor, uint32_t entry_words);
    void collect_due(uint32_t step);
    std::vector<Cursor>& spikes_of(uint32_t step) { return spikes_[step % spikes_.size()]; }

    uint32_t owner_;
    std::vector<Rows> groups_;
    std::vector<uint32_t> lags_;               // that occur, ascending
    std::vector<std::vector<Cursor>> spikes_;  // of the last max_lag steps
    std::vector<Cursor*> due_;
    uint64_t delivered_ = 0;
};

}  // namespace riftjit::sim
