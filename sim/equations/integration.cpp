#include "sim/equations/integration.h"

#include <cmath>

#include "sim/equations/linear_step.h"

namespace riftjit::sim {

namespace {

class Integrator {
public:
    Integrator(ValueGraph& graph, const OdeSystem& system)
        : graph_(graph), system_(system), step_(graph.constant(system.step_ms)) {
        for (const OdeState& state : system.states) start_.push_back(state.start);
    }

    std::vector<Value> euler() { return advance(step_, slopes(start_)); }

    // Hochbruck & Ostermann 2010: x + (e^(a h) - 1) / a * x', a = d x' / d x. The reason where that is not free of x.
    std::expected<std::vector<Value>, std::string> exponential_euler() {
        const std::vector<Value> slope = slopes(start_);
        std::vector<Value> end;
        for (size_t i = 0; i < start_.size(); ++i) {
            std::vector<Value> values = start_;
            values[i] = graph_.symbol(0);
            const auto linear = graph_.linear_in(system_.derivatives(values)[i], values[i]);
            if (!linear) return std::unexpected(fmt::format("d{0}/dt is not linear in {0}", system_.states[i].name));
            end.push_back(graph_.add(start_[i], graph_.multiply(effective_step(linear->first), slope[i])));
        }
        return end;
    }

    std::vector<Value> runge_kutta() {
        const Value half = graph_.multiply(graph_.constant(0.5), step_);
        const std::vector<Value> k1 = slopes(start_), k2 = slopes(advance(half, k1));
        const std::vector<Value> k3 = slopes(advance(half, k2)), k4 = slopes(advance(step_, k3));
        std::vector<Value> mean;
        for (size_t i = 0; i < start_.size(); ++i) {
            const Value ends = graph_.add(k1[i], k4[i]), middles = graph_.add(k2[i], k3[i]);
            mean.push_back(graph_.multiply_add(graph_.constant(2), middles, ends));
        }
        return advance(graph_.multiply(graph_.constant(1 / 6.0L), step_), mean);
    }

private:
    // Derivatives, 0 for what stands still.
    std::vector<Value> slopes(const std::vector<Value>& at) {
        std::vector<Value> slopes = system_.derivatives(at);
        for (size_t i = 0; i < slopes.size(); ++i)
            if (system_.states[i].stops_while_refractory)
                slopes[i] = graph_.select(system_.is_refractory, graph_.constant(0), slopes[i]);
        return slopes;
    }
    std::vector<Value> advance(Value step, const std::vector<Value>& slope) {
        std::vector<Value> end;
        for (size_t i = 0; i < start_.size(); ++i)
            end.push_back(slope[i] == graph_.constant(0) ? start_[i] : graph_.multiply_add(step, slope[i], start_[i]));
        return end;
    }
    // (e^(a h) - 1) / a, which is h at a = 0. A rate that is infinite by its constants must not pass as a step of 0.
    Value effective_step(Value rate) {
        if (!std::isfinite(graph_.number(rate).value_or(0))) return graph_.constant(NAN);
        const Value zero = graph_.constant(0);
        const Value ratio = graph_.divide(graph_.function(ColumnOp::expm1, graph_.multiply(rate, step_)), rate);
        return graph_.select(graph_.equal(rate, zero), step_, ratio);
    }

    ValueGraph& graph_;
    const OdeSystem& system_;
    Value step_;
    std::vector<Value> start_;
};

constexpr std::string_view kExactNote = "exact: linear with constant coefficients (matrix exponential)";

}  // namespace

Result<OdeStep> integrate(ValueGraph& graph, const OdeSystem& system, Method method) {
    Integrator integrator(graph, system);
    if (system.states.empty()) return OdeStep{{}, Method::automatic, "no differential equations"};
    if (method == Method::euler) return OdeStep{integrator.euler(), method, "forward Euler, order h: as asked"};
    if (method == Method::rk4) return OdeStep{integrator.runge_kutta(), method, "Runge-Kutta, order h^4: as asked"};

    std::string reason = "as asked";
    if (method != Method::exponential_euler) {
        auto exact = linear_step(graph, system);
        if (exact) return OdeStep{std::move(*exact), Method::exact, std::string(kExactNote)};
        if (method == Method::exact) return fail(ErrorKind::Usage, "no exact integration: {}", exact.error());
        reason = exact.error();
    }
    auto exponential = integrator.exponential_euler();
    if (exponential)
        return OdeStep{std::move(*exponential), Method::exponential_euler, "exponential Euler, order h: " + reason};
    if (method == Method::exponential_euler)
        return fail(ErrorKind::Usage, "no exponential Euler integration: {}", exponential.error());
    return OdeStep{integrator.runge_kutta(), Method::rk4, "Runge-Kutta, order h^4: " + exponential.error()};
}

}  // namespace riftjit::sim
