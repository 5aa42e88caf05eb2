#include "sim/engine/network_edges.h"

#include <algorithm>

#include "sim/network/synapse_checks.h"
#include "sim/network/synapse_table.h"

namespace riftjit::sim {

namespace {

// A group's name holds no '/'; the number keeps apart what differed in it alone.
std::string group_name(const Network& network, size_t index) {
    const std::string& name = network.projections[index].name;
    if (name.find('/') == std::string::npos) return name;
    std::string legal = name;
    std::ranges::replace(legal, '/', '_');
    return fmt::format("{} ({})", legal, index);
}

class Edges final : public NetworkSource {
public:
    Edges(const Network& network, Precision precision, const std::string& command_line,
          const std::string& program_version)
        : network_(network), precision_(precision) {
        description_ = {network.name,
                        network.text,
                        command_line,
                        program_version,
                        network.compat == Compat::nest ? "nest" : "brian2",
                        network.step_ms,
                        network.seed,
                        {},
                        {}};
        for (const Population& population : network.populations)
            description_.nodes.push_back({population.name, population.size});
        for (size_t i = 0; i < network.projections.size(); ++i) {
            const Projection& projection = network.projections[i];
            description_.edges.push_back({group_name(network, i), network.populations[projection.source].name,
                                          network.populations[projection.target].name, projection.name,
                                          projection.receptor, weight_unit(network, projection)});
        }
    }

    const Description& description() const override { return description_; }
    uint64_t graph_hash() const override { return hash_; }
    uint64_t synapses() const { return synapses_; }

    Result<void> each_edge(size_t projection, const Take& take) const override {
        const auto index = static_cast<uint32_t>(projection);
        const Projection& drawn = network_.projections[projection];
        RIFTJIT_TRY(builder, ProjectionBuilder::create(network_, index, precision_));
        std::vector<NetworkEdge> block;
        Result<void> taken;
        const Slice sources{0, network_.populations[drawn.source].size},
            targets{0, network_.populations[drawn.target].size};
        builder.generate(sources, targets, [&](uint32_t source, auto synapses) {
            hash_ += hash_synapses(index, source, synapses, std::nullopt);
            synapses_ += synapses.size();
            for (const Synapse& synapse : synapses)
                block.push_back({source, synapse.target, synapse.weight, synapse.delay * network_.step_ms});
            if (taken && block.size() >= kBlock) taken = take(block);
            if (block.size() >= kBlock) block.clear();
        });
        return taken && !block.empty() ? take(block) : taken;
    }

private:
    static constexpr size_t kBlock = 1 << 15;

    const Network& network_;
    Precision precision_;
    Description description_;
    mutable uint64_t hash_ = 0, synapses_ = 0;
};

}  // namespace

Result<NetworkFileSummary> write_network_edges(const std::string& path, const Network& network, Precision precision,
                                               const std::string& command_line, const std::string& program_version,
                                               Existing existing) {
    const Edges edges(network, precision, command_line, program_version);
    RIFTJIT_TRY_VOID(write_network_file(path, edges, existing));
    return NetworkFileSummary{edges.synapses(), edges.graph_hash()};
}

}  // namespace riftjit::sim
