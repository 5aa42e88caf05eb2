// Synapses of a projection: the rows of its rule, with a weight and a delay for each.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "sim/network/connection_rows.h"
#include "sim/network/distribution.h"
#include "sim/network/occurrences.h"
#include "sim/network/precision.h"
#include "sim/network/random.h"
#include "sim/network/synapse_checks.h"
#include "sim/network/synapse_table.h"
#include "sim/step_times.h"

namespace riftjit::sim {

Rows make_connection_rows(const ConnectionRule& rule, const ConnectionSetup& setup) {
    return std::visit([&](const auto& kind) { return make_rows(kind, setup); }, rule);
}

ConnectionSetup connection_setup(const Network& network, const Projection& projection, uint32_t index) {
    const Population& source = network.populations[projection.source];
    const Population& target = network.populations[projection.target];
    return {.sources = source.size,
            .targets = target.size,
            .same_population = projection.source == projection.target,
            .autapses = projection.autapses,
            .multapses = projection.multapses,
            .seed = network.seed,
            .index = index,
            .source_end = {projection.source, source.layout},
            .target_end = {projection.target, target.layout}};
}

namespace {

uint16_t least_delay_steps(const Network& network) { return network.compat == Compat::nest ? 1 : 0; }

}  // namespace

Distribution delay_within_steps(const Network& network, const Distribution& delay) {
    Distribution within = delay;
    if (constant_of(delay) || std::holds_alternative<Values>(delay.kind))
        return within;  // delay_value_fault() has them
    within.least = std::max(delay.least, network.compat == Compat::nest ? 0.5 * network.step_ms : 0);
    within.most = std::min(delay.most, kMaxDelaySteps * network.step_ms);
    return within;
}

std::string value_fault(const ConnectionRule& rule, std::string_view what, std::string_view unit,
                        const Distribution& distribution) {
    if (const std::string fault = distribution_fault(distribution); !fault.empty())
        return fmt::format("its {}{}{} has {}", what, unit == "1" ? "" : " in ", unit == "1" ? "" : unit, fault);
    const auto* values = std::get_if<Values>(&distribution.kind);
    if (values == nullptr) return "";
    const auto* list = std::get_if<PairList>(&rule);
    if (list == nullptr) return fmt::format("one {} per synapse needs a list of pairs", what);
    if (list->pairs.size() != values->values.size())
        return fmt::format("{} values of its {} for {} pairs", values->values.size(), what, list->pairs.size());
    return "";
}

namespace {

std::map<std::string, double> constants_of(const NeuronPopulation& neurons) {
    std::map<std::string, double> constants;
    for (const auto& [name, distribution] : neurons.parameters)
        if (const auto constant = constant_of(distribution)) constants[name] = *constant;
    return constants;
}

// delivered: by 1 or -1 times their weight.
WeightRange conductance_range(const NeuronPopulation& neurons, std::string_view receptor, int delivered) {
    WeightRange range;
    const int sign = conductance_sign(neurons.model, receptor, constants_of(neurons)) * delivered;
    if (sign > 0) {
        range.least = 0;
        range.why_least =
            "conductances are not negative (NEST's negative weight is its size, into the inhibitory receptor)";
    } else if (sign < 0) {
        range.most = 0;
        range.why_most = "conductances are not negative, and the model reverses the sign of this weight";
    }
    return range;
}

}  // namespace

WeightRange weight_range(const NeuronPopulation& neurons, std::string_view receptor) {
    return conductance_range(neurons, receptor, 1);
}

WeightRange weight_range(const Network& network, const Projection& projection) {
    WeightRange range;
    if (const auto* neurons = std::get_if<NeuronPopulation>(&network.populations[projection.target].kind))
        range = conductance_range(
            *neurons, projection.receptor,
            projection.synapse ? delivered_sign(projection.synapse->model, projection.synapse->parameters) : 1);
    if (!projection.synapse) return range;
    const SynapseChoice& synapse = *projection.synapse;
    for (const Variable& parameter : synapse.model.parameters()) {
        if (!parameter.has_sign_of_weight) continue;
        const auto chosen = synapse.parameters.find(parameter.name);
        const double value = chosen != synapse.parameters.end() ? chosen->second : parameter.value;
        const std::string why = fmt::format("it must have the sign of '{}', which is {}", parameter.name, value);
        if (value > 0 && range.least < 0) range.least = 0, range.why_least = why;
        if (value < 0 && range.most > 0) range.most = 0, range.why_most = why;
    }
    return range;
}

bool is_within(const WeightRange& range, double weight, Precision precision) {
    return weight >= range.least && weight <= range.most && std::isfinite(weight) &&
           precision_fault(precision, weight).empty();
}

std::string weight_fault(const WeightRange& range, double weight, std::string_view unit, Precision precision) {
    if (is_within(range, weight, precision)) return "";
    const std::string shown = fmt::format("{}{}{}", weight, unit == "1" ? "" : " ", unit == "1" ? "" : unit);
    if (!std::isfinite(weight)) return shown + ": it must be finite";
    if (const auto fault = precision_fault(precision, weight); !fault.empty())
        return fmt::format("{}: {}", shown, fault);
    return fmt::format("{}: {}", shown, weight < range.least ? range.why_least : range.why_most);
}

// Of a distribution the mean or an end stands for all that it would draw.
std::string weight_fault(const Network& network, const Projection& projection, Precision precision) {
    const WeightRange range = weight_range(network, projection);
    const std::string unit = weight_unit(network, projection);
    const auto fault_of = [&](double weight) { return weight_fault(range, weight, unit, precision); };
    const Distribution& weight = projection.weight;
    if (const auto* values = std::get_if<Values>(&weight.kind)) {
        for (size_t i = 0; i < values->values.size(); ++i)
            if (const std::string fault = fault_of(values->values[i]); !fault.empty())
                return fmt::format("its weight of pair {} is {}", i, fault);
        return "";
    }
    std::vector<double> ends;
    if (const auto* constant = std::get_if<Constant>(&weight.kind)) ends = {constant->value};
    if (const auto* normal = std::get_if<Normal>(&weight.kind)) ends = {normal->mean};
    if (const auto* uniform = std::get_if<Uniform>(&weight.kind)) ends = {uniform->low, uniform->high};
    for (const double end : ends) {
        if (const std::string fault = fault_of(std::clamp(end, weight.least, weight.most)); !fault.empty())
            return fmt::format("its weight is {}{}", ends.size() == 1 ? "" : "drawn from ", fault);
    }
    return "";
}

std::string weight_unit(const Network& network, const Projection& projection) {
    const auto* neurons = std::get_if<NeuronPopulation>(&network.populations[projection.target].kind);
    if (neurons == nullptr) return "1";
    const auto& receptors = neurons->model.receptors();
    const auto found = std::ranges::find(receptors, projection.receptor, &Variable::name);
    return found == receptors.end() ? "1" : unit_text(found->unit);
}

std::string delay_value_fault(const Network& network, double delay_ms) {
    const double step = network.step_ms, steps = nearest_steps(delay_ms, step);
    if (least_delay_steps(network) > 0 && steps < least_delay_steps(network))
        return fmt::format("a delay of {} ms is below one step of {} ms", delay_ms, step);
    if (delay_ms < 0) return fmt::format("a delay of {} ms is below 0", delay_ms);
    if (!(steps <= kMaxDelaySteps))
        return fmt::format("a delay of {} ms is above {} steps of {} ms", delay_ms, kMaxDelaySteps, step);
    return "";
}

std::string delay_fault(const Network& network, const Projection& projection) {
    const auto fault_of = [&](double value) { return delay_value_fault(network, value); };
    if (const std::optional<double> constant = constant_of(projection.delay_ms)) {
        if (const std::string fault = fault_of(*constant); !fault.empty()) return fault;
    }
    if (const auto* values = std::get_if<Values>(&projection.delay_ms.kind)) {
        for (const double value : values->values)
            if (const std::string fault = fault_of(value); !fault.empty()) return fault;
    }
    return value_fault(projection.rule, "delay", "ms", delay_within_steps(network, projection.delay_ms));
}

namespace {

uint16_t steps_of(double delay_ms, double step_ms) { return static_cast<uint16_t>(nearest_steps(delay_ms, step_ms)); }

}  // namespace

Result<ProjectionBuilder> ProjectionBuilder::create(const Network& network, uint32_t index, Precision precision) {
    check(index < network.projections.size(), "a projection of the network");
    const Projection& projection = network.projections[index];
    const ConnectionSetup setup = connection_setup(network, projection, index);
    for (const std::string& fault :
         {connection_fault(projection.rule, setup),
          value_fault(projection.rule, "weight", weight_unit(network, projection), projection.weight),
          weight_fault(network, projection, precision), delay_fault(network, projection)}) {
        if (!fault.empty()) return fail(ErrorKind::Usage, "projection {}: {}", projection.name, fault);
    }
    ProjectionBuilder builder;
    builder.rows_ = make_connection_rows(projection.rule, setup);
    builder.weight_ = projection.weight;
    builder.delay_ms_ = delay_within_steps(network, projection.delay_ms);
    builder.precision_ = precision;
    builder.step_ms_ = network.step_ms;
    builder.least_delay_ = least_delay_steps(network);
    builder.key_ = random_key(network.seed, Purpose::synapse_value, index);
    builder.multapses_ = setup.multapses;
    return builder;
}

uint64_t ProjectionBuilder::expected_synapses() const { return std::llround(rows_->expected_synapses()); }

bool ProjectionBuilder::is_exact() const { return rows_->is_exact(); }

void ProjectionBuilder::generate(Slice sources, Slice targets, const Receive& receive) const {
    std::vector<Synapse> row;
    std::vector<uint32_t> places;  // of each in the list of pairs
    OccurrenceCounter occurrences;
    rows_->generate(sources, targets,
                    [&](uint32_t source, std::span<const uint32_t> ends, std::span<const uint32_t> listed) {
                        row.clear();
                        places.clear();
                        for (size_t i = 0; i < ends.size(); ++i) {
                            if (!targets.contains(ends[i])) continue;
                            row.push_back({ends[i], 0, 0});
                            if (!listed.empty()) places.push_back(listed[i]);
                        }
                        if (row.empty()) return;
                        if (multapses_) occurrences.number(row);
                        draw_values(source, row, places);
                        receive(source, row);
                    });
}

void ProjectionBuilder::draw_values(uint32_t source, std::span<Synapse> row, std::span<const uint32_t> listed) const {
    const std::optional<double> weight = shared_weight();
    const std::optional<uint16_t> delay = shared_delay();
    for (size_t i = 0; i < row.size(); ++i) {
        Synapse& synapse = row[i];
        synapse.weight = weight.value_or(0);
        synapse.delay = delay.value_or(0);
        if (weight && delay) continue;
        const uint64_t index = synapse_index(synapse.target, synapse.occurrence);
        const PhiloxWords words = random_words(key_, source, index);
        const auto value = [&](const Distribution& distribution, Half half) {
            if (const auto* values = std::get_if<Values>(&distribution.kind)) return values->values[listed[i]];
            return draw(distribution, words, key_, source, index, half);
        };
        if (!weight) synapse.weight = in_precision(precision_, value(weight_, Half::first));
        // Half a step, the least that is drawn, is rounded to none.
        if (!delay) synapse.delay = std::max(least_delay_, steps_of(value(delay_ms_, Half::second), step_ms_));
    }
}

std::optional<double> ProjectionBuilder::shared_weight() const {
    const std::optional<double> weight = constant_of(weight_);
    return weight ? std::optional(in_precision(precision_, *weight)) : weight;
}

std::optional<uint16_t> ProjectionBuilder::shared_delay() const {
    const std::optional<double> delay = constant_of(delay_ms_);
    if (!delay) return std::nullopt;
    return steps_of(*delay, step_ms_);
}

uint32_t ProjectionBuilder::likely_delays() const {
    double low = delay_ms_.least, high = delay_ms_.most;
    if (constant_of(delay_ms_)) return 1;
    if (const auto* normal = std::get_if<Normal>(&delay_ms_.kind)) {
        constexpr double kReach = 5;  // deviations
        low = std::max(low, normal->mean - kReach * normal->deviation);
        high = std::min(high, normal->mean + kReach * normal->deviation);
    } else if (const auto* uniform = std::get_if<Uniform>(&delay_ms_.kind)) {
        low = std::max(low, uniform->low);
        high = std::min(high, uniform->high);
    } else if (const auto* lognormal = std::get_if<Lognormal>(&delay_ms_.kind)) {
        high = std::min(high, portable_exp(lognormal->mu + 4 * lognormal->sigma));
    } else if (const auto* values = std::get_if<Values>(&delay_ms_.kind)) {
        const auto [least, most] = std::minmax_element(values->values.begin(), values->values.end());
        if (least == values->values.end()) return 1;
        low = *least;
        high = *most;
    }
    return static_cast<uint32_t>(steps_of(high, step_ms_) - steps_of(low, step_ms_)) + 1;
}

uint64_t hash_synapses(uint32_t projection, uint32_t source, std::span<const Synapse> synapses,
                       std::optional<double> shared_weight) {
    constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15u;
    const uint64_t row = mix(kGoldenRatio + (uint64_t(projection) << 32 | source));
    uint64_t sum = 0;
    for (const Synapse& synapse : synapses) {
        const double weight = shared_weight.value_or(synapse.weight);
        const uint64_t pair = mix(row ^ synapse_index(synapse.target, synapse.occurrence));
        sum += mix((pair + synapse.delay * kGoldenRatio) ^ std::bit_cast<uint64_t>(weight));
    }
    return sum;
}

}  // namespace riftjit::sim
