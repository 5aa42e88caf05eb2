// What the engine runs, with every name resolved: programs with their kernels, values to start from, sources of
// synapses. Simulation::create() makes one from a Network; tests make theirs by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "jit/kernel_spec.h"
#include "sim/equations/model.h"
#include "sim/network/description.h"
#include "sim/network/synapse_checks.h"
#include "sim/network/synapse_table.h"

namespace riftjit::sim {

// A scalar of a program in each step: level + amplitude sin(angle_per_step step + phase) inside [begin, end), at least
// `least`; 0 outside, and in all steps but every `every_steps`th from `begin` on.
struct Waveform {
    double level = 0, amplitude = 0, angle_per_step = 0, phase = 0;
    uint32_t begin_step = 0, end_step = UINT32_MAX, every_steps = 1;
    double least = -kUnlimited;
    // probability: of at least one event, 1 - exp(-x), where x, the value above, is their mean number.
    enum class Gives : uint8_t { value, probability } gives = Gives::value;
    // Unless empty: the level from each step on until the next, 0 before the first; ascending.
    std::vector<std::pair<uint32_t, double>> levels;

    double at(uint32_t step) const;
};

// Values of a column at the start.
struct ColumnStart {
    double value = 0;
    std::function<double(uint32_t element)> each;  // unless empty; any thread calls it
};

// Starts of single neurons that a program makes: parameters in, states out.
struct InitialProgram {
    LoweredProgram program;
    KernelFunction kernel = nullptr;
    std::vector<ColumnStart> start;  // of program.columns; of those that are written, unused
    uint64_t key = 0;
};

struct ProgramPopulation {
    std::optional<InitialProgram> initial;  // after `start`
    LoweredProgram program;
    KernelFunction kernel = nullptr;
    std::vector<ColumnStart> start;  // of program.columns
    std::vector<Waveform> scalars;   // of program.scalars
    uint64_t key = 0;                // of random numbers
};
struct TimedPopulation {
    std::vector<std::pair<uint32_t, uint32_t>> spikes;  // (step, element), ascending
};
struct RelayedPopulation {};  // fires once for each spike that arrives; weights do not count
struct BlueprintPopulation {
    std::string name;
    uint32_t size, first_id;
    std::variant<ProgramPopulation, TimedPopulation, RelayedPopulation> kind;
};

struct PlasticRule {
    LoweredProgram on_pre, on_post;
    bool has_post_events = false;
    KernelFunction pre_kernel = nullptr, post_kernel = nullptr;  // post_kernel: only with post events
    std::vector<std::pair<std::string, double>> start;           // of states; 0 where absent
};
struct BlueprintProjection {
    std::string name;
    uint32_t source, target;              // populations
    std::string receptor;                 // ignored where the target relays
    std::optional<double> shared_weight;  // all weights are this one; those of the synapses are not read
    WeightRange weights = {};             // that it may have, in `weight_unit`
    std::string weight_unit = "1";
    uint64_t expected_synapses = 0;
    uint32_t likely_delays = 1;  // about how many different delays occur
    // As ProjectionBuilder::generate. A call costs what it draws: for all targets of the sources asked for, or from all
    // sources to the targets asked for.
    enum class DrawnBy : uint8_t { source, target } drawn_by = DrawnBy::source;
    std::function<void(Slice sources, Slice targets, const ProjectionBuilder::Receive& receive)> generate;
    std::optional<PlasticRule> rule;
};

struct Blueprint {
    double step_ms = 0.1;
    Compat compat = Compat::nest;
    Precision precision = Precision::f64;
    uint64_t seed = 0;
    std::vector<BlueprintPopulation> populations;  // first_id ascends
    std::vector<BlueprintProjection> projections;
    std::vector<Recorder> recorders;

    // Steps from a spike to the kernel that takes it: `delay`, and one more under the rules of Brian2.
    uint32_t lag(uint32_t delay) const { return delay + (compat == Compat::brian2 ? 1 : 0); }
    // A step as a time stamp in steps: spikes belong to the end of their step (NEST) or its start (Brian2).
    uint32_t stamp(uint32_t step) const { return step + (compat == Compat::nest ? 1 : 0); }
    uint32_t neurons() const { return populations.empty() ? 0 : populations.back().first_id + populations.back().size; }
};

}  // namespace riftjit::sim
