// The synapses of a network as SONATA's nodes and edges, in one HDF5 file: docs/SIMULATOR.md, "Networks as files".
#pragma once

#include <functional>
#include <utility>

#include "sim/files/recording.h"

namespace riftjit::sim {

struct NetworkEdge {
    uint32_t source, target;  // within their populations
    double weight;            // in the unit of the projection
    double delay_ms;
};

struct NetworkNodes {
    std::string name;
    uint32_t size;
};
struct NetworkEdges {  // one projection
    std::string name;  // of the group; no other has it
    std::string source, target, projection, receptor, unit;
};

// A network that hands out its synapses block by block.
class NetworkSource {
public:
    using Take = std::function<Result<void>(std::span<const NetworkEdge>)>;
    struct Description {
        std::string network_name, network_text, command_line, program_version, compat;
        double step_ms;
        uint64_t seed;
        std::vector<NetworkNodes> nodes;
        std::vector<NetworkEdges> edges;
    };

    virtual ~NetworkSource() = default;
    virtual const Description& description() const = 0;
    // Ascending by source. The first error ends it.
    virtual Result<void> each_edge(size_t projection, const Take& take) const = 0;
    virtual uint64_t graph_hash() const = 0;  // of what was handed out
};

// Whole, or not at all.
Result<void> write_network_file(const std::string& path, const NetworkSource& source, Existing existing);

}  // namespace riftjit::sim
