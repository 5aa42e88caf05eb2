// The synapses of a network, drawn for a file: as a simulation starts with them.
#pragma once

#include "sim/files/network_file.h"
#include "sim/network/description.h"

namespace riftjit::sim {

struct NetworkFileSummary {
    uint64_t synapses, graph_hash;
};
// SONATA's nodes and edges, whole or not at all. Memory: that of one row, or of the draws of a rule of in-degrees.
Result<NetworkFileSummary> write_network_edges(const std::string& path, const Network& network, Precision precision,
                                               const std::string& command_line, const std::string& program_version,
                                               Existing existing);

}  // namespace riftjit::sim
