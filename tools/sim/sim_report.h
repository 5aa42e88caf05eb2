// What `riftjit sim NETWORK` prints: a table, one JSON object, the plan.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "sim/run/network_run.h"

namespace riftjit::tools {

struct Measured {
    uint64_t peak_rss = 0;
    std::optional<double> read_rate;  // bytes per second
};
nlohmann::ordered_json network_json(const sim::NetworkRun& run, const Measured& measured);
void print_network_table(const sim::NetworkRun& run, const Measured& measured);

void print_network_hashes(const sim::Simulation& simulation);

// "16 bytes per element and step"
std::string work_text(const sim::SimulationPlan::Program& program);
nlohmann::ordered_json network_plan_json(const sim::NetworkRun& run, const sim::SimulationPlan& plan,
                                         std::optional<double> read_rate);
void print_network_plan(const sim::NetworkRun& run, const sim::SimulationPlan& plan, std::optional<double> read_rate);

}  // namespace riftjit::tools
