// RWKV's time mixing.
#include <cmath>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<Graph::WkvOutputs> Graph::wkv(std::string name, const WkvInputs& inputs, SlotId slot, const WkvSpec& spec) {
    const uint32_t channels = spec.heads * spec.head_dim;
    const bool is_v7 = spec.rule == WkvRule::v7;
    RIFTJIT_TRY_VOID(validate(spec));
    RIFTJIT_TRY(running, expect_running(*this, name, slot, channels));
    if (running.numbers != spec.head_dim)
        return fail(ErrorKind::Format, "{}: slot '{}' keeps {} numbers of each channel, expected {}", name,
                    slots[slot].name, running.numbers, spec.head_dim);
    if (is_v7 != (inputs.a != kNoTensor))
        return fail(ErrorKind::Format, "{}: rates are v7's alone, which has them", name);
    RIFTJIT_TRY_VOID(expect_width(*this, name, "receptance", inputs.r, channels));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "decay", inputs.w, channels));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "key", inputs.k, channels));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "value", inputs.v, channels));
    if (is_v7) RIFTJIT_TRY_VOID(expect_width(*this, name, "rate", inputs.a, channels));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "mix", inputs.mix, channels));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "scale of keys", inputs.key_scale, channels));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "rate of keys", inputs.key_rate, channels));
    const TensorId out = add_activation(name, channels);
    const TensorId bonus = is_v7 ? add_activation(name + ".bonus", channels) : kNoTensor;
    nodes.push_back({std::move(name), WkvOp{inputs.r, inputs.w, inputs.k, inputs.v, inputs.a, inputs.mix,
                                            inputs.key_scale, inputs.key_rate, out, bonus, slot, spec}});
    return WkvOutputs{out, bonus};
}

namespace {
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
}  // namespace

template <>
Result<void> ReferenceRun::apply(const WkvOp& op) {
    const auto [heads, dim, rule, centered] = op.spec;
    const bool is_v7 = rule == WkvRule::v7;
    const std::vector<double> mix = weight_vector(op.mix), key_scale = weight_vector(op.key_scale),
                              key_rate = weight_vector(op.key_rate);
    std::vector<double>& numbers = state(op.slot);
    resize(op.out, token_count(op.v));
    if (is_v7) resize(op.bonus, token_count(op.v));
    std::vector<double> decay(dim), key(dim), known(dim), rate(dim);
    for (uint32_t token = 0; token < token_count(op.v); ++token)
        for (uint32_t head = 0; head < heads; ++head) {
            const uint32_t first = head * dim;
            const auto at = [&](TensorId id, uint32_t i) { return row(id, token)[first + i]; };
            double squares = 0, bonus = 0, mean = 0;
            for (uint32_t i = 0; i < dim; ++i) {
                const double k = at(op.k, i), w = at(op.w, i);
                decay[i] = is_v7 ? std::exp(-std::exp(-0.5) * sigmoid_of(w)) : std::exp(-std::exp(w));
                rate[i] = is_v7 ? sigmoid_of(at(op.a, i)) : 0;
                key[i] = is_v7 ? k * (1 + (rate[i] - 1) * key_rate[first + i]) : k;
                known[i] = is_v7 ? k * key_scale[first + i] : 0;
                squares += known[i] * known[i];
                bonus += at(op.r, i) * key[i] * mix[first + i];
                mean += centered == Presence::present ? at(op.v, i) / dim : 0;
            }
            const double length = std::max(std::sqrt(squares), 1e-12);
            for (double& element : known) element /= length;
            for (uint32_t column = 0; column < dim; ++column) {
                const uint32_t channel = first + column;
                const auto s = [&](uint32_t i) -> double& { return numbers[channel_place(channel, i, dim)]; };
                const double value = at(op.v, column) - mean;
                double difference = 0, sum = 0;
                for (uint32_t i = 0; is_v7 && i < dim; ++i) difference -= s(i) * known[i];
                for (uint32_t i = 0; i < dim; ++i) {
                    if (!is_v7) sum += s(i) * at(op.r, i);
                    s(i) = decay[i] * s(i) + key[i] * value + known[i] * rate[i] * difference;
                    if (is_v7) sum += s(i) * at(op.r, i);
                }
                row(op.out, token)[channel] = is_v7 ? sum : sum + value * bonus;
                if (is_v7) row(op.bonus, token)[channel] = at(op.v, column) * bonus;
            }
        }
    return {};
}

template <>
Result<void> Lowering::lower(const WkvOp& op) {
    if (gathered_[op.v]) return fail_gathered();
    const bool is_v7 = op.spec.rule == WkvRule::v7;
    const Place r = input(op.r), w = input(op.w), k = input(op.k), v = input(op.v);
    const Place a = is_v7 ? input(op.a) : Place{};
    const Place bonus = is_v7 ? output(op.bonus) : Place{};
    emit(op.spec,
         {r, w, k, v, a, weight_place(op.mix), weight_place(op.key_scale), weight_place(op.key_rate),
          state_place(op.slot), bonus, output(op.out)},
         StepRows::batch);
    return {};
}

}  // namespace riftjit::graph
