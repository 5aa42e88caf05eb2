// Turns what the projections draw into the rows that each thread delivers from.
#pragma once

#include <vector>

#include "host/thread_pool.h"
#include "sim/engine/plastic_synapses.h"
#include "sim/engine/static_synapses.h"

namespace riftjit::sim {

struct PlasticProjection {
    uint32_t projection, source, target;
    size_t ring;  // of arrival_rings
    std::vector<PlasticSynapses> threads;

    uint64_t synapses() const {
        uint64_t synapses = 0;
        for (const PlasticSynapses& part : threads) synapses += part.size();
        return synapses;
    }
};
struct Connections {
    std::vector<StaticSynapses> statics;  // per thread
    std::vector<RowWriter> rows;          // of statics, per thread that wrote them
    std::vector<PlasticProjection> plastics;
    std::vector<ArrivalRing> rings;
    std::vector<uint32_t> fan_out;  // per neuron
    uint64_t synapses = 0, hash = 0;
};

// What build_connections() will take, about: exact for the entries, likely for delays and random fan-outs.
uint64_t connection_bytes(const Blueprint& blueprint, uint32_t threads);

// In parallel, each thread drawing its share of the sources, or what ends at its own neurons. Takes little more memory
// than the rows: static rows are written once, where they stay; plastic ones are drawn twice, to count and to store.
// The blueprint must stay in place.
Result<Connections> build_connections(const Blueprint& blueprint, const NeuronState& state, const Slices& slices,
                                      ThreadPool& pool);

}  // namespace riftjit::sim
