// Gated delta nets.
#include <cmath>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::delta_net(std::string name, const DeltaNetInputs& inputs, SlotId slot,
                                  const DeltaNetSpec& spec) {
    const auto [q, k, v, alpha, beta, time_bias, decay] = inputs;
    const uint32_t channels = spec.value_heads * spec.value_dim;
    RIFTJIT_TRY(running, expect_running(*this, name, slot, channels));
    if (running.numbers != spec.key_dim)
        return fail(ErrorKind::Format, "{}: slot '{}' keeps {} numbers of each channel, expected {}", name,
                    slots[slot].name, running.numbers, spec.key_dim);
    const bool is_grouped = spec.order == HeadOrder::grouped;
    RIFTJIT_TRY_VOID(expect_width(*this, name, "query", q, spec.key_heads * spec.key_dim));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "key", k, spec.key_heads * spec.key_dim));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "value", v, channels));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "alpha", alpha, spec.value_heads * (is_grouped ? 2 : 1)));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "beta", beta, spec.value_heads * (is_grouped ? 2 : 1)));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "time bias", time_bias, spec.value_heads));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "decay", decay, spec.value_heads));
    const TensorId out = add_activation(name, channels);
    nodes.push_back({std::move(name), DeltaNetOp{q, k, v, alpha, beta, time_bias, decay, out, slot, spec}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const DeltaNetOp& op) {
    const auto [key_heads, value_heads, key_dim, value_dim, order, epsilon] = op.spec;
    const uint32_t shared = value_heads / key_heads;
    const bool is_grouped = order == HeadOrder::grouped;
    const std::vector<double> time_bias = weight_vector(op.time_bias), decay = weight_vector(op.decay);
    std::vector<double>& numbers = state(op.slot);
    resize(op.out, token_count(op.v));
    const auto normed = [&](const double* x) {
        double squares = 0;
        for (uint32_t i = 0; i < key_dim; ++i) squares += x[i] * x[i];
        std::vector<double> out(x, x + key_dim);
        for (double& element : out) element /= std::sqrt(squares + epsilon);
        return out;
    };
    for (uint32_t token = 0; token < token_count(op.v); ++token)
        for (uint32_t head = 0; head < value_heads; ++head) {
            const uint32_t key_head = is_grouped ? head / shared : head % key_heads;
            const uint32_t beta_at = is_grouped ? key_head * 2 * shared + head % shared : head;
            const uint32_t alpha_at = is_grouped ? beta_at + shared : head;
            const std::vector<double> q = normed(row(op.q, token) + key_head * key_dim);
            const std::vector<double> k = normed(row(op.k, token) + key_head * key_dim);
            const double dt = reference::softplus(row(op.alpha, token)[alpha_at] + time_bias[head]);
            const double kept = std::exp(dt * decay[head]), beta = 1 / (1 + std::exp(-row(op.beta, token)[beta_at]));
            for (uint32_t column = 0; column < value_dim; ++column) {
                const uint32_t channel = head * value_dim + column;
                const auto s = [&](uint32_t i) -> double& { return numbers[channel_place(channel, i, key_dim)]; };
                double known = 0, sum = 0;
                for (uint32_t i = 0; i < key_dim; ++i) known += (s(i) *= kept) * k[i];
                const double difference = beta * (row(op.v, token)[channel] - known);
                for (uint32_t i = 0; i < key_dim; ++i) sum += (s(i) += k[i] * difference) * q[i];
                row(op.out, token)[channel] = sum / std::sqrt(double(key_dim));
            }
        }
    return {};
}

template <>
Result<void> Lowering::lower(const DeltaNetOp& op) {
    if (gathered_[op.v]) return fail_gathered();
    const Place q = input(op.q), k = input(op.k), v = input(op.v), alpha = input(op.alpha), beta = input(op.beta);
    emit(op.spec,
         {q, k, v, alpha, beta, weight_place(op.time_bias), weight_place(op.decay), state_place(op.slot),
          output(op.out)},
         StepRows::batch);
    return {};
}

}  // namespace riftjit::graph
