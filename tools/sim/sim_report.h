// What `riftjit sim NETWORK` prints: a table, one JSON object, the plan.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "jit/isa.h"
#include "sim/engine/simulation.h"
#include "sim/files/statistics.h"

namespace riftjit::tools {

struct NetworkResult {
    Isa isa;
    Precision precision;
    uint32_t threads = 0;
    std::string threads_note;  // why they are fewer than the cores
    double build_seconds = 0, kernels_ms = 0, run_seconds = 0;
    uint32_t first_step = 0;                      // of this run: after 0 when it went on from a saved state
    uint64_t first_spikes = 0, first_events = 0;  // spikes and synaptic events before it
    uint64_t peak_rss = 0;
    std::optional<double> read_rate;                     // bytes per second
    bool is_checked = false;                             // by --check
    std::vector<sim::PopulationStatistics> populations;  // empty: no spikes were kept
};
nlohmann::ordered_json network_json(const sim::Network& network, const sim::Simulation& simulation,
                                    const NetworkResult& result);
void print_network_table(const sim::Network& network, const sim::Simulation& simulation, const NetworkResult& result);

void print_network_hashes(const sim::Simulation& simulation);

// "16 bytes per element and step"
std::string work_text(const sim::SimulationPlan::Program& program);
nlohmann::ordered_json network_plan_json(const sim::Network& network, const sim::SimulationPlan& plan,
                                         const NetworkResult& result);
void print_network_plan(const sim::Network& network, const sim::SimulationPlan& plan, const NetworkResult& result);

}  // namespace riftjit::tools
