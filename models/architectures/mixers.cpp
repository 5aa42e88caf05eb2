// What stands in attention's place: layers that keep a running state.
#include "models/architectures/block_parts.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {

// LFM2: one table makes b, c and x; c * convolution(b * x).
Result<TensorId> add_short_convolution(const BlockParts& parts, uint32_t layer, TensorId input) {
    const uint32_t width = parts.hyper().width, taps = parts.hyper().state_space.taps;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const auto project = [&](std::string_view part, uint32_t first) {
        return parts.project_part(name("shortconv.in_proj"), input, 3 * width, first, width, part);
    };
    RIFTJIT_TRY(b, project("b", 0));
    RIFTJIT_TRY(c, project("c", width));
    RIFTJIT_TRY(x, project("x", 2 * width));
    RIFTJIT_TRY(weights, parts.weights.by_channel(name("shortconv.conv.weight"), width, taps));
    const graph::SlotId slot = parts.graph.add_slot({name("shortconv"), graph::RunningSlot{width, taps - 1}});
    RIFTJIT_TRY(mixed, parts.graph.convolution(name("shortconv.conv"), x, weights, kNoTensor, slot,
                                               graph::Graph::Gates{b, c}, false));
    return parts.project(name("shortconv.out_proj"), mixed, width);
}

// Mamba 1: one table makes x and z, another times, B and C from x behind the convolution; out = silu(z) * scan(x).
Result<TensorId> add_mamba(const BlockParts& parts, uint32_t layer, TensorId input) {
    const StateSpace& sizes = parts.hyper().state_space;
    const uint32_t inner = sizes.inner, states = sizes.states, rank = sizes.heads;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    RIFTJIT_TRY(rows, parts.project_part(name("ssm_in"), input, 2 * inner, 0, inner, "x"));
    RIFTJIT_TRY(z, parts.project_part(name("ssm_in"), input, 2 * inner, inner, inner, "z"));
    RIFTJIT_TRY(x, add_convolution(parts, layer, rows, inner, 0, "x"));
    const auto parameter = [&](std::string_view part, uint32_t first, uint32_t count) -> Result<TensorId> {
        RIFTJIT_TRY(values, parts.project_part(name("ssm_x"), x, rank + 2 * states, first, count, part));
        const std::string norm = name(fmt::format("ssm_{}_norm", part));
        RIFTJIT_TRY(gain, parts.weights.optional_vector(norm + ".weight", count));
        if (gain == kNoTensor && !sizes.norms_parameters) return values;
        return parts.graph.rms_norm(norm, values, gain, parts.hyper().norm_epsilon);
    };
    RIFTJIT_TRY(times, parameter("dt", 0, rank));
    RIFTJIT_TRY(b, parameter("b", rank, states));
    RIFTJIT_TRY(c, parameter("c", rank + states, states));
    RIFTJIT_TRY(weight, parts.weights.matrix(name("ssm_dt.weight"), inner, rank));
    RIFTJIT_TRY(time, parts.project(name("ssm_dt"), times, weight, kNoTensor));
    RIFTJIT_TRY(time_bias, parts.weights.vector(name("ssm_dt.bias"), inner));
    RIFTJIT_TRY(decay, parts.weights.by_channel(name("ssm_a"), inner, states));
    RIFTJIT_TRY(skip, parts.weights.vector(name("ssm_d"), inner));
    const graph::SlotId slot = parts.graph.add_slot({name("ssm"), graph::RunningSlot{inner, states}});
    RIFTJIT_TRY(scanned, parts.graph.scan(name("ssm"), {x, time, b, c, time_bias, decay, skip}, slot, 1));
    RIFTJIT_TRY(gated, parts.graph.swiglu(name("ssm_gate"), z, scanned));
    return parts.project(name("ssm_out"), gated, parts.hyper().width);
}

// Mamba 2: one table makes z, x, B, C and times; out = norm(silu(z) * scan(x)).
Result<TensorId> add_mamba2(const BlockParts& parts, uint32_t layer, TensorId input) {
    const StateSpace& sizes = parts.hyper().state_space;
    const uint32_t inner = sizes.inner, shared = sizes.groups * sizes.states, heads = sizes.heads;
    const uint32_t convolved = inner + 2 * shared, all = inner + convolved + heads;
    if (inner % heads != 0 || heads % sizes.groups != 0)
        return fail(ErrorKind::Format, "{}: {} channels, {} heads and {} groups do not divide each other",
                    printable_path(parts.model.file.path()), inner, heads, sizes.groups);
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const auto project = [&](std::string_view part, uint32_t first, uint32_t count) {
        return parts.project_part(name("ssm_in"), input, all, first, count, part);
    };
    RIFTJIT_TRY(z, project("z", 0, inner));
    RIFTJIT_TRY(x_rows, project("x", inner, inner));
    RIFTJIT_TRY(b_rows, project("b", 2 * inner, shared));
    RIFTJIT_TRY(c_rows, project("c", 2 * inner + shared, shared));
    RIFTJIT_TRY(time, project("dt", inner + convolved, heads));
    RIFTJIT_TRY(x, add_convolution(parts, layer, x_rows, convolved, 0, "x"));
    RIFTJIT_TRY(b, add_convolution(parts, layer, b_rows, convolved, inner, "b"));
    RIFTJIT_TRY(c, add_convolution(parts, layer, c_rows, convolved, inner + shared, "c"));
    RIFTJIT_TRY(time_bias, parts.weights.vector(name("ssm_dt.bias"), heads));
    RIFTJIT_TRY(decay, parts.weights.rows_as_vector(name("ssm_a"), heads, 1));
    RIFTJIT_TRY(skip, parts.weights.rows_as_vector(name("ssm_d"), heads, 1));
    const graph::SlotId slot = parts.graph.add_slot({name("ssm"), graph::RunningSlot{inner, sizes.states}});
    RIFTJIT_TRY(scanned, parts.graph.scan(name("ssm"), {x, time, b, c, time_bias, decay, skip}, slot, sizes.groups));
    RIFTJIT_TRY(gated, parts.graph.swiglu(name("ssm_gate"), z, scanned));
    TensorId normed = gated;
    // Falcon H1 has models without.
    const bool may_lack_norm = parts.hyper().layer[layer].mixer == LayerTraits::Mixer::attention_and_mamba2;
    if (const std::string norm = name("ssm_norm"); !may_lack_norm || parts.weights.has(norm + ".weight")) {
        RIFTJIT_TRY(gain, parts.weights.rows_as_vector(norm + ".weight", sizes.groups, inner / sizes.groups));
        RIFTJIT_TRY(out, parts.graph.rms_norm(norm, gated, gain, parts.hyper().norm_epsilon,
                                              sizes.groups == 1 ? 0 : inner / sizes.groups));
        normed = out;
    }
    return parts.project(name("ssm_out"), normed, parts.hyper().width);
}

}  // namespace

Result<TensorId> add_convolution(const BlockParts& parts, uint32_t layer, TensorId x, uint32_t channels, uint32_t first,
                                 std::string_view part) {
    const uint32_t taps = parts.hyper().state_space.taps, count = parts.graph.tensor(x).width;
    const std::string name = parts.block(layer, "ssm_conv1d"), own = fmt::format("{}[{}]", name, part);
    RIFTJIT_TRY(weights, parts.weights.by_channel_part(name + ".weight", channels, taps, first, count, part));
    TensorId bias = kNoTensor;
    if (parts.weights.has(name + ".bias")) {
        RIFTJIT_TRY(whole, parts.weights.vector_part(name + ".bias", channels, first, count, part));
        bias = whole;
    }
    const graph::SlotId slot = parts.graph.add_slot({own, graph::RunningSlot{count, taps - 1}});
    return parts.graph.convolution(own, x, weights, bias, slot, std::nullopt, true);
}

Result<TensorId> add_mixer(const BlockParts& parts, uint32_t layer, TensorId x) {
    using Mixer = LayerTraits::Mixer;
    switch (parts.hyper().layer[layer].mixer) {
        case Mixer::attention:
        case Mixer::none:
        case Mixer::rwkv6:  // see add_time_mixing
        case Mixer::rwkv7:
            break;
        case Mixer::linear:
            return parts.project(parts.block(layer, "attn_output"), x, parts.hyper().width);
        case Mixer::short_convolution:
            return add_short_convolution(parts, layer, x);
        case Mixer::mamba:
            return add_mamba(parts, layer, x);
        case Mixer::mamba2:
        case Mixer::attention_and_mamba2:
            return add_mamba2(parts, layer, x);
        case Mixer::plamo2:
            return add_plamo2_mixer(parts, layer, x);
        case Mixer::delta_net:
            return add_delta_net(parts, layer, x);
    }
    check_failed("the layer has a mixer", std::source_location::current());
}

}  // namespace riftjit::models
