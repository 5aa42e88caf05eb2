// SONATA's networks: /nodes/<population> and /edges/<projection>, with what the format has no place for in attributes.
// /edges/<projection>/indices tells where the edges of a node lie: without it readers look through all of them.
#include <algorithm>

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

// Edges with the same end, in runs of successive numbers.
class Runs {
public:
    explicit Runs(uint32_t nodes) : ends_(nodes) {}
    void add(uint32_t node) {
        if (node != last_) ++ends_[node];
        last_ = node;
    }
    // Once all are added: where the runs of a node lie among those of all nodes.
    void finish() {
        for (size_t node = 1; node < ends_.size(); ++node) ends_[node] += ends_[node - 1];
    }
    size_t nodes() const { return ends_.size(); }
    uint64_t begin(size_t node) const { return node == 0 ? 0 : ends_[node - 1]; }
    uint64_t end(size_t node) const { return ends_[node]; }
    uint64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

private:
    std::vector<uint64_t> ends_;  // how many runs, then where they end
    uint64_t last_ = UINT64_MAX;
};
struct EdgeCount {
    uint64_t edges = 0;
    Runs sources, targets;
};

uint32_t size_of(const NetworkSource::Description& description, const std::string& population) {
    const auto found = std::ranges::find(description.nodes, population, &NetworkNodes::name);
    check(found != description.nodes.end(), "edges join populations of the network");
    return found->size;
}

constexpr uint64_t kRowsAtOnce = 1 << 20;
constexpr uint64_t kRunsAtOnce = 4 << 20;  // put in order in one pass over all edges: 64 MiB

// [node][begin, end) into [run][first edge, end). The edges are read once for each so many runs, in bounded memory.
void write_index(hid_t indices, const std::string& name, hid_t column, uint64_t edges, const Runs& runs) {
    const Handle group = create_group(indices, name);
    const Handle nodes = create_dataset<uint64_t>(group, "node_id_to_ranges", {runs.nodes(), 2});
    std::vector<uint64_t> rows;
    for (size_t node = 0; node < runs.nodes();) {
        const size_t first = node;
        for (rows.clear(); node < std::min<size_t>(runs.nodes(), first + kRowsAtOnce); ++node)
            rows.insert(rows.end(), {runs.begin(node), runs.end(node)});
        write_rows<uint64_t>(nodes, first, rows);
    }
    const Handle ranges = create_dataset<uint64_t>(group, "range_to_edge_id", {runs.size(), 2});
    std::vector<uint64_t> ends, next;
    for (size_t first = 0, last = 0; first < runs.nodes(); first = last) {
        const uint64_t begin = runs.begin(first);
        for (last = first + 1; last < runs.nodes() && runs.end(last) - begin <= kRunsAtOnce;) ++last;
        rows.assign(2 * (runs.end(last - 1) - begin), 0);
        next.clear();
        for (size_t node = first; node < last; ++node) next.push_back(runs.begin(node) - begin);
        uint64_t before = UINT64_MAX;
        for (uint64_t edge = 0; edge < edges && !rows.empty(); edge += ends.size()) {
            read_rows<uint64_t>(column, edge, std::min(kRowsAtOnce, edges - edge), ends);
            for (size_t i = 0; i < ends.size(); ++i) {
                const uint64_t node = ends[i];
                const bool goes_on = node == std::exchange(before, node);
                if (node < first || node >= last) continue;
                uint64_t& run = next[node - first];
                if (!goes_on) rows[2 * run++] = edge + i;
                rows[2 * run - 1] = edge + i + 1;
            }
        }
        write_rows<uint64_t>(ranges, begin, rows);
    }
}

void write_indices(hid_t file, const NetworkEdges& edges, EdgeCount& count) {
    const Handle group = open_group(file, "edges/" + edges.name), indices = create_group(group, "indices");
    for (const bool by_target : {false, true}) {
        Runs& runs = by_target ? count.targets : count.sources;
        runs.finish();
        write_index(indices, by_target ? "target_to_source" : "source_to_target",
                    open_dataset(group, by_target ? "target_node_id" : "source_node_id"), count.edges, runs);
    }
}

Result<void> append_edges(GrowingFile& file, const Columns& columns, const NetworkSource& source, size_t projection,
                          EdgeCount& count) {
    return source.each_edge(projection, [&](std::span<const NetworkEdge> block) {
        for (const NetworkEdge& edge : block) {
            count.sources.add(edge.source);
            count.targets.add(edge.target);
            file.push<uint64_t>(columns.source, edge.source);
            file.push<uint64_t>(columns.target, edge.target);
            file.push<uint64_t>(columns.group_index, count.edges++);
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
    std::vector<EdgeCount> counts;
    for (size_t i = 0; i < description.edges.size(); ++i) {
        const NetworkEdges& edges = description.edges[i];
        counts.push_back({0, Runs(size_of(description, edges.source)), Runs(size_of(description, edges.target))});
        RIFTJIT_TRY_VOID(append_edges(file, add_columns(file, edges), source, i, counts[i]));
    }
    RIFTJIT_TRY_VOID(file.finish([&](hid_t written) {
        set_attribute<uint64_t>(written, "graph_hash", source.graph_hash());
        for (size_t i = 0; i < counts.size(); ++i)
            for (const char* const column : {"/edge_type_id", "/edge_group_id"})
                set_rows(written, "edges/" + description.edges[i].name + column, counts[i].edges);
    }));
    return no_throw(path, [&] {
        Handle written = open_file(path, Access::change);
        for (size_t i = 0; i < counts.size(); ++i) write_indices(written, description.edges[i], counts[i]);
        written.close();
    });
}

}  // namespace riftjit::sim::h5
