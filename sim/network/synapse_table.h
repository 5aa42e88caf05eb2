// The synapses of a projection, made row by row: all synapses of one source, then those of the next. Nothing is stored
// that the rule does not need, and the same rows come at any split of the sources over calls and threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "host/result.h"
#include "sim/network/description.h"

namespace riftjit::sim {

struct Synapse {
    uint32_t target;  // within the target population
    uint16_t delay;   // steps; at least 1 (Compat::nest) or 0 (Compat::brian2)
    float weight;     // in the unit of the receptor
    bool operator==(const Synapse&) const = default;
};

class ConnectionRows;  // who connects to whom, per rule: connection_rows.h

class ProjectionBuilder {
public:
    using Receive = std::function<void(uint32_t source, std::span<const Synapse> synapses)>;

    // Refuses what the rule cannot do (more distinct sources asked than there are, ...), naming the projection. Fixed
    // totals draw here how many synapses each source has; lists are sorted by source.
    static Result<ProjectionBuilder> create(const Network& network, uint32_t projection);

    // Exact where is_exact(), else the mean.
    uint64_t expected_synapses() const;
    bool is_exact() const;

    // Calls receive for those sources of [begin, end) that have synapses, ascending, with their synapses in the order
    // of drawing. Any thread may call it, for any range. The in-degree rules go through the draws of all targets in
    // each call, so give them few wide ranges: one per thread. Such a call holds up to 16 MiB or a byte per synapse of
    // the projection, whichever is more, beside one row; for the other rules it holds one row.
    void generate(uint32_t begin, uint32_t end, const Receive& receive) const;

    std::optional<float> shared_weight() const;    // all weights are equal
    std::optional<uint16_t> shared_delay() const;  // steps; all delays are equal
    uint32_t likely_delays() const;                // about how many different delays occur

private:
    std::shared_ptr<const ConnectionRows> rows_;
    Distribution weight_, delay_ms_;
    double step_ms_ = 0;
    uint64_t key_ = 0;
};

// Part of the hash of a graph that one row is. The hash of a graph is the sum of those of all its rows (modulo 2^64),
// so rows may be hashed in any order and on any thread; the order within a row counts.
uint64_t row_hash(uint32_t projection, uint32_t source, std::span<const Synapse> synapses);

}  // namespace riftjit::sim
