// The synapses of a projection, made row by row: all synapses of one source, then those of the next. Nothing is stored
// that the rule does not need, and the same synapses come at any split of sources and targets over calls, threads and
// processes: which there are depends on seed, rule and projection, the values of each on (seed, projection, source,
// target, occurrence) alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "host/result.h"
#include "sim/network/description.h"
#include "sim/network/slice.h"

namespace riftjit::sim {

struct Synapse {
    uint32_t target;          // within the target population
    uint16_t delay;           // steps; at least 1 (Compat::nest) or 0 (Compat::brian2)
    double weight;            // in the unit of the receptor; rounded to f32 in Precision::f32
    uint32_t occurrence = 0;  // of the synapses of its projection from the same source to the same target, as drawn
    bool operator==(const Synapse&) const = default;
};

class ConnectionRows;  // who connects to whom, per rule: connection_rows.h

class ProjectionBuilder {
public:
    using Receive = std::function<void(uint32_t source, std::span<const Synapse> synapses)>;

    // Refuses what the rule cannot do (more distinct sources asked than there are, ...), naming the projection. Fixed
    // totals draw here how many synapses each source has; lists are sorted by source. `precision`: of weights that are
    // listed or drawn; one that all synapses share is the file's number in either.
    static Result<ProjectionBuilder> create(const Network& network, uint32_t projection,
                                            Precision precision = Precision::f64);

    // Exact where is_exact(), else the mean.
    uint64_t expected_synapses() const;
    bool is_exact() const;

    // Calls receive for those of `sources` that have synapses to `targets`, ascending, with these synapses in the order
    // of drawing. Any thread may call it, for any slices. The in-degree rules draw by target: a call goes through the
    // draws of all `targets`, whatever the sources, and holds up to 16 MiB or a byte per synapse of these targets,
    // whichever is more, beside one row. The others draw by source, whatever the targets, and hold one row.
    void generate(Slice sources, Slice targets, const Receive& receive) const;

    std::optional<double> shared_weight() const;   // all weights are equal
    std::optional<uint16_t> shared_delay() const;  // steps; all delays are equal
    uint32_t likely_delays() const;                // about how many different delays occur

private:
    // listed: the place of each in the list of pairs, where there is one.
    void draw_values(uint32_t source, std::span<Synapse> row, std::span<const uint32_t> listed) const;

    std::shared_ptr<const ConnectionRows> rows_;
    Distribution weight_, delay_ms_;
    Precision precision_ = Precision::f64;
    double step_ms_ = 0;
    uint16_t least_delay_ = 0;
    uint64_t key_ = 0;
    bool multapses_ = false;
};

// Part of the hash of a graph that these synapses are: the sum (modulo 2^64) of a hash of each, so that a graph may be
// hashed in any order and in any parts. docs/SIMULATOR.md has the function, which never changes. `shared_weight`:
// unless empty, the weight of all.
uint64_t hash_synapses(uint32_t projection, uint32_t source, std::span<const Synapse> synapses,
                       std::optional<double> shared_weight);

}  // namespace riftjit::sim
