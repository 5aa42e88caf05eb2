// Selective state spaces.
#include <cmath>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::scan(std::string name, const ScanInputs& inputs, SlotId slot, uint32_t groups) {
    const auto [x, time, b, c, time_bias, decay, skip] = inputs;
    const uint32_t channels = tensor(x).width, heads = tensor(time).width;
    RIFTJIT_TRY(running, expect_running(*this, name, slot, channels));
    if (heads == 0 || channels % heads != 0)
        return fail(ErrorKind::Format, "{}: {} channels are not a multiple of {} heads", name, channels, heads);
    const ScanSpec spec{heads, channels / heads, running.numbers, groups};
    RIFTJIT_TRY_VOID(expect_width(*this, name, "b", b, groups * spec.states));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "c", c, groups * spec.states));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "time bias", time_bias, heads));
    RIFTJIT_TRY_VOID(
        expect_vector(*this, name, "decay", decay,
                      spec.head_dim == 1 ? channel_blocks(channels) * kChannelBlock * spec.states : heads));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "skip", skip, heads));
    const TensorId out = add_activation(name, channels);
    nodes.push_back({std::move(name), ScanOp{x, time, b, c, time_bias, decay, skip, out, slot, spec}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const ScanOp& op) {
    const auto [heads, head_dim, states, groups] = op.spec;
    const std::vector<double> time_bias = weight_vector(op.time_bias), decay = weight_vector(op.decay),
                              skip = weight_vector(op.skip);
    std::vector<double>& numbers = state(op.slot);
    resize(op.out, token_count(op.x));
    for (uint32_t token = 0; token < token_count(op.x); ++token)
        for (uint32_t channel = 0; channel < heads * head_dim; ++channel) {
            const uint32_t head = channel / head_dim, first = head * groups / heads * states;
            const double *b = row(op.b, token) + first, *c = row(op.c, token) + first;
            const double dt = reference::softplus(row(op.time, token)[head] + time_bias[head]);
            const double x = row(op.x, token)[channel];
            double sum = 0;
            for (uint32_t n = 0; n < states; ++n) {
                double& h = numbers[channel_place(channel, n, states)];
                h = h * std::exp(dt * decay[head_dim == 1 ? channel_place(channel, n, states) : head]) + dt * x * b[n];
                sum += h * c[n];
            }
            row(op.out, token)[channel] = sum + skip[head] * x;
        }
    return {};
}

template <>
Result<void> Lowering::lower(const ScanOp& op) {
    if (gathered_[op.x]) return fail_gathered();
    const Place x = input(op.x), time = input(op.time), b = input(op.b), c = input(op.c);
    emit(op.spec,
         {x, time, b, c, weight_place(op.time_bias), weight_place(op.decay), weight_place(op.skip),
          state_place(op.slot), output(op.out)},
         StepRows::batch);
    return {};
}

}  // namespace riftjit::graph
