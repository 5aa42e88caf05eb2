#include "sim/equations/linear_step.h"

#include <cmath>

#include "sim/equations/propagators.h"

namespace riftjit::sim {

namespace {

// x' = rates x + inputs
struct LinearSystem {
    SquareMatrix rates;
    std::vector<AffineForm> inputs;  // of atoms that stand still during the step
};

std::expected<LinearSystem, std::string> analyse(ValueGraph& graph, const OdeSystem& system) {
    const size_t size = system.states.size();
    std::vector<Value> symbols;
    for (size_t i = 0; i < size; ++i) symbols.push_back(graph.symbol(static_cast<uint32_t>(i)));
    const std::vector<Value> derivatives = system.derivatives(symbols);
    LinearSystem linear{SquareMatrix(size), std::vector<AffineForm>(size)};
    for (size_t i = 0; i < size; ++i) {
        AffineForm form = graph.affine(derivatives[i]);
        for (size_t j = 0; j < size; ++j) {
            const auto found = form.coefficients.find(symbols[j]);
            if (found == form.coefficients.end()) continue;
            linear.rates(i, j) = found->second;
            form.coefficients.erase(found);
        }
        for (const auto& [atom, coefficient] : form.coefficients)
            if (graph.symbols_in(atom) != 0)
                return std::unexpected(
                    fmt::format("d{}/dt is not linear with constant coefficients", system.states[i].name));
        for (const long double value : linear.rates.values)
            if (!std::isfinite(value))
                return std::unexpected(fmt::format("d{}/dt has an infinite coefficient", system.states[i].name));
        linear.inputs[i] = std::move(form);
    }
    return linear;
}

class LinearStep {
public:
    LinearStep(ValueGraph& graph, const OdeSystem& system, const LinearSystem& linear)
        : graph_(graph), system_(system), linear_(linear), propagators_(propagators(linear.rates, system.step_ms)) {}

    // x + change_ii (x - rest) + what the other states and inputs add. `rest` is where the state's own input would hold
    // it: a neuron at rest stays there to the last bit.
    Value state(size_t row) {
        const AffineForm& own_input = linear_.inputs[row];
        const long double change = propagators_.change(row, row), gain = propagators_.inputs(row, row);
        const Value x = start(row);
        AffineForm inputs;
        Value sum;
        if (!own_input.is_zero() && change != 0) {
            const Value rest = graph_.from_affine(AffineForm().add(own_input, -gain / change));
            sum = graph_.multiply_add(graph_.constant(change), graph_.subtract(x, rest), x);
        } else {
            sum = graph_.multiply(graph_.constant(propagators_.states(row, row)), x);
            inputs.add(own_input, gain);
        }
        for (size_t j = 0; j < linear_.inputs.size(); ++j) {
            if (j == row) continue;
            sum = graph_.multiply_add(graph_.constant(propagators_.states(row, j)), start(j), sum);
            inputs.add(linear_.inputs[j], propagators_.inputs(row, j));
        }
        for (const auto& [atom, coefficient] : inputs.coefficients)
            sum = graph_.multiply_add(graph_.constant(coefficient), atom, sum);
        return graph_.add(sum, graph_.constant(inputs.constant));
    }
    bool depends_on(size_t row, size_t column) const { return propagators_.states(row, column) != 0; }

private:
    Value start(size_t state) const { return system_.states[state].start; }

    ValueGraph& graph_;
    const OdeSystem& system_;
    const LinearSystem& linear_;
    Propagators propagators_;
};

}  // namespace

std::expected<std::vector<Value>, std::string> linear_step(ValueGraph& graph, const OdeSystem& system) {
    const auto linear = analyse(graph, system);
    if (!linear) return std::unexpected(linear.error());
    const size_t size = system.states.size();
    // While refractory, what stops is a constant input to the others.
    LinearSystem stopped = *linear;
    for (size_t i = 0; i < size; ++i) {
        if (!system.states[i].stops_while_refractory) continue;
        for (size_t j = 0; j < size; ++j) stopped.rates(i, j) = 0;
        stopped.inputs[i] = {};
    }
    LinearStep free(graph, system, *linear), clamped(graph, system, stopped);
    std::vector<Value> end;
    for (size_t i = 0; i < size; ++i) {
        bool is_affected = system.states[i].stops_while_refractory;
        for (size_t j = 0; j < size; ++j)
            is_affected |= system.states[j].stops_while_refractory && free.depends_on(i, j);
        const Value moved = free.state(i);
        end.push_back(is_affected ? graph.select(system.is_refractory, clamped.state(i), moved) : moved);
    }
    return end;
}

}  // namespace riftjit::sim
