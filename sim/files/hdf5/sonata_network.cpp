// SONATA's networks: /nodes/<population> and /edges/<projection>, with what the format has no place for in attributes.
#include "sim/files/hdf5/growing_file.h"
#include "sim/files/hdf5/layouts.h"

namespace riftjit::sim::h5 {

namespace {

// All have the type -1 (none in a table of types) and the group 0. No element of these columns is ever written: they
// read as their fill value.
constexpr int64_t kNoType = -1;
constexpr uint32_t kGroup = 0;

struct Columns {
    size_t source, target, group_index, weight, delay;
};

void write_nodes(hid_t parent, const NetworkNodes& nodes) {
    const Handle group = create_group(parent, nodes.name);
    create_filled<int64_t>(group, "node_type_id", nodes.size, kNoType);
    create_filled<uint32_t>(group, "node_group_id", nodes.size, kGroup);
    const Handle index = create_dataset<uint64_t>(group, "node_group_index", {nodes.size});
    constexpr uint32_t kBlock = 1 << 16;
    std::vector<uint64_t> block;
    for (uint64_t first = 0; first < nodes.size; first += block.size()) {
        block.clear();
        for (uint64_t node = first; node < std::min<uint64_t>(nodes.size, first + kBlock); ++node)
            block.push_back(node);
        write_rows<uint64_t>(index, first, block);
    }
    create_group(group, "0");
}

void create_edges(hid_t parent, const NetworkEdges& edges) {
    const Handle group = create_group(parent, edges.name);
    write_attribute(group, "projection", edges.projection);
    write_attribute(group, "receptor", edges.receptor);
    write_attribute(create_growing<uint64_t>(group, "source_node_id"), "node_population", edges.source);
    write_attribute(create_growing<uint64_t>(group, "target_node_id"), "node_population", edges.target);
    create_growing<uint64_t>(group, "edge_group_index");
    create_growing_filled<int64_t>(group, "edge_type_id", kNoType);
    create_growing_filled<uint32_t>(group, "edge_group_id", kGroup);
    const Handle values = create_group(group, "0");
    write_attribute(create_growing<double>(values, "syn_weight"), "units", edges.unit);
    write_attribute(create_growing<double>(values, "delay"), "units", "ms");
}

void fill(hid_t file, const NetworkSource::Description& description) {
    write_sonata_version(file);
    write_attribute(file, "program_version", description.program_version);
    write_attribute(file, "command_line", description.command_line);
    write_attribute(file, "network_name", description.network_name);
    write_attribute(file, "compat", description.compat);
    write_attribute<double>(file, "step_ms", description.step_ms);
    write_attribute<uint64_t>(file, "seed", description.seed);
    write_attribute<uint64_t>(file, "graph_hash", 0);
    write_text(file, "network_text", description.network_text);
    const Handle nodes = create_group(file, "nodes"), edges = create_group(file, "edges");
    for (const NetworkNodes& population : description.nodes) write_nodes(nodes, population);
    for (const NetworkEdges& projection : description.edges) create_edges(edges, projection);
}

Columns add_columns(GrowingFile& file, const NetworkEdges& edges) {
    const std::string group = "edges/" + edges.name + "/";
    return {file.add_column<uint64_t>(group + "source_node_id"), file.add_column<uint64_t>(group + "target_node_id"),
            file.add_column<uint64_t>(group + "edge_group_index"), file.add_column<double>(group + "0/syn_weight"),
            file.add_column<double>(group + "0/delay")};
}

// Counts them in `edges`.
Result<void> append_edges(GrowingFile& file, const Columns& columns, const NetworkSource& source, size_t projection,
                          uint64_t& edges) {
    return source.each_edge(projection, [&](std::span<const NetworkEdge> block) {
        for (const NetworkEdge& edge : block) {
            file.push<uint64_t>(columns.source, edge.source);
            file.push<uint64_t>(columns.target, edge.target);
            file.push<uint64_t>(columns.group_index, edges++);
            file.push<double>(columns.weight, edge.weight);
            file.push<double>(columns.delay, edge.delay_ms);
        }
        return file.flush_when_large();
    });
}

}  // namespace

Result<void> write_network(const std::string& path, const NetworkSource& source) {
    const NetworkSource::Description& description = source.description();
    GrowingFile file(path, [&](hid_t created) { fill(created, description); });
    std::vector<uint64_t> counts(description.edges.size());
    for (size_t i = 0; i < counts.size(); ++i)
        RIFTJIT_TRY_VOID(append_edges(file, add_columns(file, description.edges[i]), source, i, counts[i]));
    return file.finish([&](hid_t written) {
        set_attribute<uint64_t>(written, "graph_hash", source.graph_hash());
        for (size_t i = 0; i < counts.size(); ++i)
            for (const char* const column : {"/edge_type_id", "/edge_group_id"})
                set_rows(written, "edges/" + description.edges[i].name + column, counts[i]);
    });
}

}  // namespace riftjit::sim::h5
