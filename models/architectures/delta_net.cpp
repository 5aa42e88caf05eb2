// Gated delta nets in attention's place: out = silu(z) * norm(delta_net(q, k, v)), where a convolution makes q, k and
// v.
#include "models/architectures/block_parts.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {
constexpr float kLengthEpsilon = 1e-6f;  // of queries and keys; no key of files says so
}

Result<TensorId> add_delta_net(const BlockParts& parts, uint32_t layer, TensorId input) {
    const StateSpace& sizes = parts.hyper().state_space;
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    if (sizes.inner % sizes.heads != 0 || sizes.heads % sizes.groups != 0)
        return fail(ErrorKind::Format, "{}: {} channels, {} value heads and {} key heads do not divide each other",
                    printable_path(parts.model.file.path()), sizes.inner, sizes.heads, sizes.groups);
    // Gates of both kinds from one table, or from two: then heads are in another order, too.
    const bool is_grouped = parts.weights.has(name("ssm_ba.weight"));
    const DeltaNetSpec spec{sizes.groups,
                            sizes.heads,
                            sizes.states,
                            sizes.inner / sizes.heads,
                            is_grouped ? HeadOrder::grouped : HeadOrder::tiled,
                            kLengthEpsilon};
    const uint32_t keys = spec.key_heads * spec.key_dim, values = sizes.inner, all = 2 * keys + values;
    const auto project = [&](std::string_view part, uint32_t first, uint32_t count) {
        return parts.project_part(name("attn_qkv"), input, all, first, count, part);
    };
    RIFTJIT_TRY(q_rows, project("q", 0, keys));
    RIFTJIT_TRY(k_rows, project("k", keys, keys));
    RIFTJIT_TRY(v_rows, project("v", 2 * keys, values));
    RIFTJIT_TRY(z, parts.project(name("attn_gate"), input, values));
    RIFTJIT_TRY(alpha, parts.project(name(is_grouped ? "ssm_ba" : "ssm_alpha"), input,
                                     is_grouped ? 2 * spec.value_heads : spec.value_heads));
    TensorId beta = alpha;
    if (!is_grouped) {
        RIFTJIT_TRY(own, parts.project(name("ssm_beta"), input, spec.value_heads));
        beta = own;
    }
    RIFTJIT_TRY(q, add_convolution(parts, layer, q_rows, all, 0, "q"));
    RIFTJIT_TRY(k, add_convolution(parts, layer, k_rows, all, keys, "k"));
    RIFTJIT_TRY(v, add_convolution(parts, layer, v_rows, all, 2 * keys, "v"));
    RIFTJIT_TRY(time_bias, parts.weights.vector(name("ssm_dt.bias"), spec.value_heads));
    RIFTJIT_TRY(decay, parts.weights.vector(name("ssm_a"), spec.value_heads));
    RIFTJIT_TRY(gain, parts.weights.vector(name("ssm_norm.weight"), spec.value_dim));
    const graph::SlotId slot = parts.graph.add_slot({name("ssm"), graph::RunningSlot{values, spec.key_dim}});
    RIFTJIT_TRY(mixed, parts.graph.delta_net(name("ssm"), {q, k, v, alpha, beta, time_bias, decay}, slot, spec));
    RIFTJIT_TRY(normed,
                parts.graph.rms_norm(name("ssm_norm"), mixed, gain, parts.hyper().norm_epsilon, spec.value_dim));
    RIFTJIT_TRY(gated, parts.graph.swiglu(name("ssm_gate"), z, normed));
    return parts.project(name("ssm_out"), gated, parts.hyper().width);
}

}  // namespace riftjit::models
