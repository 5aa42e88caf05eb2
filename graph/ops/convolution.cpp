// Causal convolution of each channel by itself.
#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

Result<TensorId> Graph::convolution(std::string name, TensorId x, TensorId weights, TensorId bias, SlotId slot,
                                    std::optional<Gates> gates, bool has_silu) {
    const uint32_t channels = tensor(x).width;
    RIFTJIT_TRY(running, expect_running(*this, name, slot, channels));
    const uint32_t taps = running.numbers + 1;
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "weights", weights, channel_blocks(channels) * kChannelBlock * taps));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "bias", bias, channels));
    const auto [in, out_gate] = gates.value_or(Gates{kNoTensor, kNoTensor});
    if (gates) {
        RIFTJIT_TRY_VOID(expect_width(*this, name, "gate of what comes in", in, channels));
        RIFTJIT_TRY_VOID(expect_width(*this, name, "gate of what goes out", out_gate, channels));
    }
    const TensorId out = add_activation(name, channels);
    nodes.push_back({std::move(name), ConvolutionOp{x, in, out_gate, weights, bias, out, slot, taps, has_silu}});
    return out;
}

template <>
Result<void> ReferenceRun::apply(const ConvolutionOp& op) {
    const uint32_t channels = width(op.x), kept = op.taps - 1;
    const std::vector<double> weights = weight_vector(op.weights), bias = weight_vector(op.bias);
    std::vector<double>& past = state(op.slot);
    resize(op.out, token_count(op.x));
    for (uint32_t token = 0; token < token_count(op.x); ++token)
        for (uint32_t channel = 0; channel < channels; ++channel) {
            const auto kept_at = [&](uint32_t i) -> double& { return past[channel_place(channel, i, kept)]; };
            double x = row(op.x, token)[channel], sum = bias.empty() ? 0 : bias[channel];
            if (op.in_gate != kNoTensor) x *= row(op.in_gate, token)[channel];
            for (uint32_t i = 0; i < kept; ++i) {
                sum += weights[channel_place(channel, i, op.taps)] * kept_at(i);
                kept_at(i) = i + 1 < kept ? kept_at(i + 1) : x;
            }
            sum += weights[channel_place(channel, kept, op.taps)] * x;
            if (op.has_silu) sum = reference::silu(sum);
            if (op.out_gate != kNoTensor) sum *= row(op.out_gate, token)[channel];
            row(op.out, token)[channel] = sum;
        }
    return {};
}

template <>
Result<void> Lowering::lower(const ConvolutionOp& op) {
    if (gathered_[op.x]) return fail_gathered();
    const bool is_gated = op.in_gate != kNoTensor;
    const ConvolutionSpec spec{
        graph_.tensor(op.x).width, op.taps, op.bias == kNoTensor ? Presence::absent : Presence::present,
        is_gated ? ConvolutionGates::both : ConvolutionGates::none, op.has_silu ? Presence::present : Presence::absent};
    const Place x = input(op.x), in = is_gated ? input(op.in_gate) : Place{};
    const Place out_gate = is_gated ? input(op.out_gate) : Place{};
    emit(spec, {x, in, out_gate, weight_place(op.weights), weight_place(op.bias), state_place(op.slot), output(op.out)},
         StepRows::batch);
    return {};
}

}  // namespace riftjit::graph
