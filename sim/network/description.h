// A network as its file describes it, checked: models parsed, units converted, names resolved, every number finite.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/equations/model.h"

namespace riftjit::sim {

inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// A value per neuron or per synapse, in the units of model.h. Random ones are drawn by (seed, purpose, object, index):
// distribution.h.
struct Constant {
    double value;
};
struct Normal {
    double mean, deviation;
};
struct Uniform {
    double low, high;
};
struct Lognormal {
    double mu, sigma;  // of the logarithm
};
struct Values {
    std::vector<double> values;  // one per object
};
struct Distribution {
    std::variant<Constant, Normal, Uniform, Lognormal, Values> kind = Constant{0};
    double least = -kUnlimited, most = kUnlimited;  // redrawn until inside, both ends included
};

// A rate over time: level + amplitude sin(2 pi frequency t + phase), t from the start of the run; 0 where that is
// below. Within a step it is what it is at the step's start.
struct Rate {
    double level_per_ms = 0;
    std::vector<double> times_ms, levels_per_ms;  // unless empty, the level from each time on; 0 before the first
    double amplitude_per_ms = 0, frequency_per_ms = 0, phase = 0;

    double most_per_ms() const;
};

struct NeuronPopulation {
    NeuronModel model;
    std::map<std::string, Distribution> parameters, initial;  // those that the file sets
    Method method = Method::automatic;
};
struct PoissonPopulation {  // each neuron fires with probability 1 - exp(-rate h) in a step
    Rate rate;
    double start_ms = 0, stop_ms = kUnlimited;
};
struct SpikeTimePopulation {
    std::vector<std::vector<double>> times_ms;  // per neuron, ascending
};
struct RelayPopulation {};  // repeats its input

// Places of neurons in the plane, for rules that depend on distance. Lengths in a unit of the user's choice.
struct Layout {
    enum class Shape : uint8_t {
        grid,     // rows of `columns` places, row by row from (0, 0); spacing width / columns and height / rows
        ring,     // on a circle of circumference `width`, in order; height 0
        uniform,  // drawn from [0, width) x [0, height)
    };
    Shape shape;
    double width, height;
    uint32_t columns = 0;  // of the grid
};

struct Population {
    std::string name;
    uint32_t size;
    uint32_t first_id;  // global: populations follow one another
    std::variant<NeuronPopulation, PoissonPopulation, SpikeTimePopulation, RelayPopulation> kind;
    std::optional<Layout> layout;
    std::string place = {};  // in the file, for messages: "net.toml:4:1"
};

struct OneToOne {};
struct AllToAll {};
struct PairwiseBernoulli {
    double probability;
};
struct FixedInDegree {
    uint32_t degree;
};
struct FixedOutDegree {
    uint32_t degree;
};
struct FixedTotal {
    uint64_t synapses;
};
struct PairList {
    struct Pair {
        uint32_t source, target;  // within their populations
    };
    std::vector<Pair> pairs;
};
struct DistanceDependent {  // pairwise, probability * profile(distance)
    enum class Profile : uint8_t {
        gaussian,     // exp(-d^2 / (2 length^2))
        exponential,  // exp(-d / length)
        disc,         // 1
    };
    enum class Boundary : uint8_t { open, periodic };  // periodic: the shorter way round the target's layout
    Profile profile;
    double probability, length;
    double most_distance = kUnlimited;  // none beyond it
    Boundary boundary = Boundary::open;
};
using ConnectionRule = std::variant<OneToOne, AllToAll, PairwiseBernoulli, FixedInDegree, FixedOutDegree, FixedTotal,
                                    PairList, DistanceDependent>;
std::string rule_text(const ConnectionRule& rule);  // "fixed in-degree 1000"

struct SynapseChoice {
    SynapseModel model;
    std::map<std::string, double> parameters;  // those that the file sets
};
struct Projection {
    std::string name;
    uint32_t source, target;  // populations
    std::string receptor;     // of the target's model; "" where the target relays
    ConnectionRule rule;
    bool autapses, multapses;  // may a neuron connect to itself; may a pair be connected more than once
    Distribution weight, delay_ms;
    std::optional<SynapseChoice> synapse;  // none: static
    std::string place = {};                // as a population's
};

struct PoissonInput {  // every neuron its own train
    std::string receptor;
    Rate rate;
    double weight;
};
struct CurrentInput {
    std::string parameter;
    Distribution amplitude;
};
struct StepInput {  // amplitudes[i] from times_ms[i] on, until the next; nothing before the first
    std::string parameter;
    std::vector<double> times_ms, amplitudes;
};
struct SineInput {  // offset + amplitude sin(2 pi frequency t + phase), t from the start of the run
    std::string parameter;
    double amplitude, offset, frequency_per_ms, phase;
};
struct NoiseInput {  // mean + deviation * normal, drawn anew after each interval, on which its power depends
    std::string parameter;
    double mean, deviation;
    double interval_ms = 0;  // 0: a step
};
struct Input {
    std::string name;
    uint32_t target;  // population
    std::variant<PoissonInput, CurrentInput, StepInput, SineInput, NoiseInput> kind;
    double start_ms = 0, stop_ms = kUnlimited;
};

struct SpikeRecorder {
    std::vector<uint32_t> neurons;  // within the population, ascending; empty: all
};
struct StateRecorder {
    std::vector<std::string> variables;  // states, subexpressions
    std::vector<uint32_t> neurons;
    double interval_ms;
};
struct WeightRecorder {
    uint32_t projection;
    double interval_ms;
};
struct Recorder {
    std::string name;
    uint32_t population;  // of weights: the source
    std::variant<SpikeRecorder, StateRecorder, WeightRecorder> kind;
    double start_ms = 0, stop_ms = kUnlimited;
};

struct Network {
    std::string name;
    double step_ms = 0.1, duration_ms = 0;
    uint64_t seed = 1;
    Compat compat = Compat::nest;
    std::vector<Population> populations;
    std::vector<Projection> projections;
    std::vector<Input> inputs;
    std::vector<Recorder> recorders;
    std::string text;                // the file's, stored in results
    std::vector<std::string> files;  // that it names and were read
    std::vector<std::string> notes;  // what the user should know: delays that were rounded, projections of no synapses

    uint32_t neurons() const;  // of all populations
    uint32_t steps() const;    // of the duration
};

inline constexpr uint32_t kMaxDelaySteps = UINT16_MAX - 1;  // of a synapse

inline constexpr uint64_t kMostNetworkBytes = 64 << 20;  // of a file
// Of all variants together: each reads the whole file again, 16 MiB in some two seconds.
inline constexpr uint64_t kMostVariantBytes = 16 << 20;

struct NetworkOverrides {  // from the command line; unset ones leave the file's
    std::optional<double> scale, duration_ms, step_ms;
    std::optional<uint64_t> seed;
    std::optional<Compat> compat;
    // --set PATH=VALUE, in order: "population.E.size" = "100", "constants.g" = "4.5", "variant" = "SR".
    std::vector<std::pair<std::string, std::string>> settings;
};
// Errors: "FILE:LINE:COLUMN: what is wrong", one line.
Result<Network> read_network(const std::string& path, const NetworkOverrides& overrides = {});
Result<Network> parse_network(const std::string& text, const std::string& file_name, const NetworkOverrides& = {});
// "brunel", "cuba", "coba", "pd14": texts of share/sim/networks/*.toml, built in.
const std::vector<std::string>& builtin_network_names();
Result<std::string> builtin_network_text(const std::string& name);

}  // namespace riftjit::sim
