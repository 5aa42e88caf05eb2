// plamo2: norms on both sides of each branch; layers with attention, whose heads have norms with gains of their own,
// among layers with a selective state space in its place: Mamba 2's with norms over times, B and C, which are made of
// what the convolution gives; heads have their z and x side by side.
#include <algorithm>

#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

Result<Hyperparameters> read_plamo2(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "plamo2",
                                                    .pairing = RopePairing::half,
                                                    .is_partly_rotated = true,
                                                    .other_mixer = LayerTraits::Mixer::plamo2}));
    RIFTJIT_TRY_VOID(read_state_space(file, result, 0));
    return result;
}

Result<BuiltGraph> build_plamo2(const Model& model) {
    return build_decoder(model, {.branches = DecoderTraits::Branches::normed_both,
                                 .head_norms = DecoderTraits::HeadNorms::own_gains,
                                 .gates_in_up = true});
}

}  // namespace

Result<graph::TensorId> add_plamo2_mixer(const BlockParts& parts, uint32_t layer, graph::TensorId input) {
    using graph::kNoTensor;
    using graph::TensorId;
    const StateSpace& sizes = parts.hyper().state_space;
    const uint32_t inner = sizes.inner, states = sizes.states, heads = sizes.heads, width = parts.hyper().width;
    const uint32_t each = inner / heads, rank = std::max(64u, width / 16);
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    const auto project_half = [&](std::string_view part, uint32_t first) -> Result<TensorId> {
        RIFTJIT_TRY(weight, parts.weights.matrix_row_groups(name("ssm_in.weight"), 2 * inner, width, first, each,
                                                            2 * each, part));
        return parts.project(name(fmt::format("ssm_in[{}]", part)), input, weight, kNoTensor);
    };
    RIFTJIT_TRY(z, project_half("z", 0));
    RIFTJIT_TRY(rows, project_half("x", each));
    RIFTJIT_TRY(x, add_convolution(parts, layer, rows, inner, 0, "x"));
    const auto parameter = [&](std::string_view part, uint32_t first, uint32_t count) -> Result<TensorId> {
        RIFTJIT_TRY(values, parts.project_part(name("ssm_x"), x, rank + 2 * states, first, count, part));
        const std::string norm = name(fmt::format("ssm_{}_norm", part));
        RIFTJIT_TRY(gain, parts.weights.vector(parts.weights.has(norm) ? norm : norm + ".weight", count));
        return parts.graph.rms_norm(norm, values, gain, parts.hyper().norm_epsilon);
    };
    RIFTJIT_TRY(b, parameter("b", 0, states));
    RIFTJIT_TRY(c, parameter("c", states, states));
    RIFTJIT_TRY(times, parameter("dt", 2 * states, rank));
    RIFTJIT_TRY(weight, parts.weights.matrix(name("ssm_dt.weight"), heads, rank));
    RIFTJIT_TRY(time, parts.project(name("ssm_dt"), times, weight, kNoTensor));
    RIFTJIT_TRY(time_bias, parts.weights.vector(name("ssm_dt.bias"), heads));
    RIFTJIT_TRY(decay, parts.weights.vector(name("ssm_a"), heads));
    RIFTJIT_TRY(skip, parts.weights.vector(name("ssm_d"), heads));
    const graph::SlotId slot = parts.graph.add_slot({name("ssm"), graph::RunningSlot{inner, states}});
    RIFTJIT_TRY(scanned, parts.graph.scan(name("ssm"), {x, time, b, c, time_bias, decay, skip}, slot, 1));
    RIFTJIT_TRY(gated, parts.graph.swiglu(name("ssm_gate"), z, scanned));
    return parts.project(name("ssm_out"), gated, width);
}

const Architecture kPlamo2 = {"plamo2", read_plamo2, build_plamo2};

}  // namespace riftjit::models
