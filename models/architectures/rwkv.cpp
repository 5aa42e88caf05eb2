// rwkv6 (Finch) and rwkv7 (Goose): layers whose two branches see each row mixed with the one before it, in shares of
// each channel; a matrix per head, which every row changes, in attention's place (jit/kernel_spec.h, WkvSpec); squared
// ReLU behind it. arwkv7 has RWKV-7's matrices among qwen2's norms and feed-forward blocks.
#include "models/architectures/architectures.h"
#include "models/architectures/decoder.h"
#include "models/architectures/decoder_parts.h"
#include "models/architectures/hyperparameters.h"

namespace riftjit::models {

namespace {

using graph::kNoTensor;
using graph::TensorId;

constexpr float kHeadNormEpsilon = 64e-5f;  // no key of files says so

Result<Hyperparameters> read_rwkv(const Gguf& file, std::string_view architecture, Reading::Norm norm,
                                  LayerTraits::Mixer mixer) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = architecture,
                                                    .pairing = RopePairing::half,
                                                    .norm = norm,
                                                    .is_rotated = false,
                                                    .other_mixer = mixer}));
    const std::string key = fmt::format("{}.wkv.head_size", architecture);
    RIFTJIT_TRY(head_dim, file.require_integer(key, 1, kMaxStates));
    if (head_dim % kChannelBlock != 0 || result.width % head_dim != 0)
        return fail(ErrorKind::Unsupported,
                    "{} is {}: unsupported; it must be a multiple of {} that divides the width {}",
                    file.place_of(*file.find(key)), head_dim, kChannelBlock, result.width);
    result.state_space = {.taps = 2,
                          .inner = result.width,
                          .states = static_cast<uint32_t>(head_dim),
                          .heads = static_cast<uint32_t>(result.width / head_dim)};
    return result;
}

Result<Hyperparameters> read_rwkv6(const Gguf& file) {
    return read_rwkv(file, "rwkv6", Reading::Norm::layer, LayerTraits::Mixer::rwkv6);
}
Result<Hyperparameters> read_rwkv7(const Gguf& file) {
    return read_rwkv(file, "rwkv7", Reading::Norm::layer, LayerTraits::Mixer::rwkv7);
}
Result<Hyperparameters> read_arwkv7(const Gguf& file) {
    return read_rwkv(file, "arwkv7", Reading::Norm::rms, LayerTraits::Mixer::rwkv7);
}

// ---- rows mixed with those before them ----

class Shifts {
public:
    Shifts(const DecoderParts& parts, uint32_t layer, TensorId x) : parts_(parts), layer_(layer), x_(x) {}

    // By vector `index` of `rows` in a tensor.
    Result<TensorId> mixed(std::string_view what, uint32_t rows = 1, uint32_t index = 0) const {
        const std::string tensor = parts_.block(layer_, what) + ".weight";
        RIFTJIT_TRY(taps, parts_.weights.shift(tensor, rows, parts_.hyper().width, index));
        return convolved(fmt::format("{}[{}]", parts_.block(layer_, what), index), taps);
    }
    // The row before, less this one.
    Result<TensorId> difference(std::string_view what) const {
        return convolved(parts_.block(layer_, what), parts_.weights.differences(parts_.hyper().width));
    }

private:
    Result<TensorId> convolved(const std::string& name, TensorId taps) const {
        const graph::SlotId slot = parts_.graph.add_slot({name, graph::RunningSlot{parts_.hyper().width, 1}});
        return parts_.graph.convolution(name, x_, taps, kNoTensor, slot, std::nullopt, false);
    }

    const DecoderParts& parts_;
    uint32_t layer_;
    TensorId x_;
};

// ---- time mixing ----

class TimeMixing {
public:
    TimeMixing(DecoderParts& parts, uint32_t layer, TensorId x)
        : parts_(parts), layer_(layer), x_(x), shifts_(parts, layer, x), width_(parts.hyper().width) {}

    Result<TensorId> run_v7() {
        // Files of arwkv7 may have no gates.
        const bool has_gate = has("time_mix_g1.weight");
        const auto mixed = [&](uint32_t index) {
            return shifts_.mixed("time_mix_lerp_fused", has_gate ? 6 : 5, index);
        };
        RIFTJIT_TRY(x_of_r, mixed(0));
        RIFTJIT_TRY(x_of_w, mixed(1));
        RIFTJIT_TRY(x_of_k, mixed(2));
        RIFTJIT_TRY(x_of_v, mixed(3));
        RIFTJIT_TRY(x_of_a, mixed(4));
        RIFTJIT_TRY(r, project("time_mix_receptance", x_of_r));
        RIFTJIT_TRY(w, low_rank("time_mix_w", x_of_w, true));
        RIFTJIT_TRY(k, project("time_mix_key", x_of_k));
        RIFTJIT_TRY(own_values, project("time_mix_value", x_of_v));
        RIFTJIT_TRY(v, mix_values(own_values, x_of_v));
        RIFTJIT_TRY(a, low_rank("time_mix_a", x_of_a, false));
        RIFTJIT_TRY(bonus_weights, vector("time_mix_r_k"));
        RIFTJIT_TRY(key_scale, vector("time_mix_k_k"));
        RIFTJIT_TRY(key_rate, vector("time_mix_k_a"));
        RIFTJIT_TRY(mixed_rows, parts_.graph.wkv(name("wkv"), {r, w, k, v, bonus_weights, a, key_scale, key_rate},
                                                 state_slot(), spec(WkvRule::v7)));
        RIFTJIT_TRY(normed, norm_heads(mixed_rows.out));
        RIFTJIT_TRY(sum, parts_.graph.add(name("wkv_sum"), normed, mixed_rows.bonus));
        if (!has_gate) return project("time_mix_output", sum);
        RIFTJIT_TRY(x_of_g, mixed(5));
        RIFTJIT_TRY(down, parts_.project(name("time_mix_g1"), x_of_g, rank("time_mix_g1")));
        RIFTJIT_TRY(bent, parts_.graph.swiglu(name("time_mix_g_sigmoid"), down, kNoTensor, Activation::sigmoid));
        RIFTJIT_TRY(gate, parts_.project(name("time_mix_g2"), bent, width_));
        RIFTJIT_TRY(gated, multiply("wkv_gated", sum, gate));
        return project("time_mix_output", gated);
    }

    Result<TensorId> run_v6() {
        RIFTJIT_TRY(difference, shifts_.difference("time_mix_shift"));
        RIFTJIT_TRY(x_of_shares, shifts_.mixed("time_mix_lerp_x"));
        const auto mixed = [&](uint32_t index) { return mixed_by_itself(x_of_shares, difference, index); };
        RIFTJIT_TRY(x_of_w, mixed(0));
        RIFTJIT_TRY(x_of_k, mixed(1));
        RIFTJIT_TRY(x_of_v, mixed(2));
        RIFTJIT_TRY(x_of_r, mixed(3));
        RIFTJIT_TRY(x_of_g, mixed(4));
        RIFTJIT_TRY(r, project("time_mix_receptance", x_of_r));
        RIFTJIT_TRY(k, project("time_mix_key", x_of_k));
        RIFTJIT_TRY(v, project("time_mix_value", x_of_v));
        RIFTJIT_TRY(g, project("time_mix_gate", x_of_g));
        RIFTJIT_TRY(w, low_rank("time_mix_decay_w1", "time_mix_decay_w2", "time_mix_decay", x_of_w, true));
        const StateSpace& sizes = parts_.hyper().state_space;
        RIFTJIT_TRY(first, parts_.weights.rows_as_vector(name("time_mix_first.weight"), sizes.heads, sizes.states));
        RIFTJIT_TRY(mixed_rows, parts_.graph.wkv(name("wkv"), {r, w, k, v, first}, state_slot(), spec(WkvRule::v6)));
        RIFTJIT_TRY(normed, norm_heads(mixed_rows.out));
        RIFTJIT_TRY(gated, parts_.graph.swiglu(name("wkv_gated"), g, normed));
        return project("time_mix_output", gated);
    }

private:
    std::string name(std::string_view what) const { return parts_.block(layer_, what); }
    bool has(std::string_view what) const { return parts_.weights.has(name(what)); }
    uint32_t rank(std::string_view what) const { return parts_.weights.rows_of(name(what) + ".weight"); }
    Result<TensorId> vector(std::string_view what) const {
        return parts_.weights.vector(name(what) + ".weight", width_);
    }
    Result<TensorId> project(std::string_view what, TensorId x) const { return parts_.project(name(what), x, width_); }
    Result<TensorId> multiply(std::string_view what, TensorId left, TensorId right) const {
        return parts_.graph.elementwise(name(what), width_, {{left}, {right}}, {{ElementwiseOp::multiply, 0, 1, 0}});
    }
    graph::SlotId state_slot() const {
        const StateSpace& sizes = parts_.hyper().state_space;
        return parts_.graph.add_slot({name("wkv"), graph::RunningSlot{width_, sizes.states}});
    }
    bool norms_heads() const { return has("time_mix_ln.weight") && has("time_mix_ln.bias"); }
    // A norm subtracts each head's mean, which the op does at less cost.
    WkvSpec spec(WkvRule rule) const {
        const StateSpace& sizes = parts_.hyper().state_space;
        return {sizes.heads, sizes.states, rule, norms_heads() ? Presence::present : Presence::absent};
    }
    Result<TensorId> norm_heads(TensorId x) const {
        if (!norms_heads()) return x;
        RIFTJIT_TRY(gain, vector("time_mix_ln"));
        RIFTJIT_TRY(bias, parts_.weights.vector(name("time_mix_ln.bias"), width_));
        RIFTJIT_TRY(normed, parts_.graph.rms_norm(name("time_mix_ln"), x, gain, kHeadNormEpsilon,
                                                  parts_.hyper().state_space.states));
        return parts_.graph.add(name("time_mix_ln_sum"), normed, bias);
    }

    // [tanh](x W1) W2 + b, with W1, W2 and b in NAME1, NAME2 and NAME0.
    Result<TensorId> low_rank(const std::string& stem, TensorId x, bool is_bent) const {
        return low_rank(stem + "1", stem + "2", stem + "0", x, is_bent);
    }
    Result<TensorId> low_rank(const std::string& down_name, const std::string& up_name, const std::string& bias_name,
                              TensorId x, bool is_bent) const {
        RIFTJIT_TRY(down, parts_.project(name(down_name), x, rank(down_name)));
        RIFTJIT_TRY(bent,
                    is_bent ? parts_.graph.softcap(name(down_name) + ".tanh", down, 1.0f) : Result<TensorId>(down));
        RIFTJIT_TRY(up, parts_.weights.matrix(name(up_name) + ".weight", width_, parts_.graph.tensor(bent).width));
        RIFTJIT_TRY(bias, vector(bias_name));
        return parts_.project(name(up_name), bent, up, bias);
    }
    // The first layer's values, in shares of each channel.
    Result<TensorId> mix_values(TensorId values, TensorId x) {
        if (parts_.first_values == kNoTensor) {
            for (const char* unused : {"time_mix_v0.weight", "time_mix_v1.weight", "time_mix_v2.weight"})
                parts_.weights.pass_over(name(unused));
            return parts_.first_values = values;
        }
        RIFTJIT_TRY(share, low_rank("time_mix_v", x, false));
        RIFTJIT_TRY(difference,
                    parts_.graph.elementwise(name("time_mix_v_difference"), width_, {{parts_.first_values}, {values}},
                                             {{ElementwiseOp::scale, 1, 0, -1.0f}, {ElementwiseOp::add, 0, 2, 0}}));
        RIFTJIT_TRY(part, parts_.graph.swiglu(name("time_mix_v_share"), share, difference, Activation::sigmoid));
        return parts_.graph.add(name("time_mix_v"), values, part);
    }
    // x + (x' - x) (m + tanh(x_of_shares W1) W2), of the tables number `index` of five.
    Result<TensorId> mixed_by_itself(TensorId x_of_shares, TensorId difference, uint32_t index) const {
        static constexpr std::array<std::string_view, 5> kNames = {"w", "k", "v", "r", "g"};
        const std::string part(kNames[index]);
        const uint32_t all = rank("time_mix_w1"), each = all / 5;
        if (all % 5 != 0 || each == 0)
            return fail(ErrorKind::Format, "{} has {} rows; expected are five times as many for each share",
                        name("time_mix_w1.weight"), all);
        RIFTJIT_TRY(down, parts_.project_part(name("time_mix_w1"), x_of_shares, all, index * each, each, part));
        RIFTJIT_TRY(bent, parts_.graph.softcap(name("time_mix_tanh_" + part), down, 1.0f));
        RIFTJIT_TRY(up, parts_.weights.table_of_stack(name("time_mix_w2.weight"), 5, width_, each, index));
        // Older files have a vector for each share.
        RIFTJIT_TRY(shares,
                    has("time_mix_lerp_fused.weight")
                        ? parts_.weights.vector_of_rows(name("time_mix_lerp_fused.weight"), 5, width_, index)
                        : parts_.weights.vector_of_rows(name("time_mix_lerp_" + part + ".weight"), 1, width_, 0));
        RIFTJIT_TRY(share, parts_.project(name("time_mix_w2_" + part), bent, up, shares));
        return parts_.graph.elementwise(name("time_mix_x_" + part), width_, {{x_}, {difference}, {share}},
                                        {{ElementwiseOp::multiply, 1, 2, 0}, {ElementwiseOp::add, 0, 3, 0}});
    }

    DecoderParts& parts_;
    uint32_t layer_;
    TensorId x_;
    Shifts shifts_;
    uint32_t width_;
};

// ---- channel mixing, in the feed-forward block's place ----

Result<TensorId> mix_channels(const DecoderParts& parts, uint32_t layer, TensorId x) {
    const auto name = [&](std::string_view what) { return parts.block(layer, what); };
    RIFTJIT_TRY(normed, parts.norm(name("attn_norm_2"), x));
    const Shifts shifts(parts, layer, normed);
    RIFTJIT_TRY(x_of_k, shifts.mixed("channel_mix_lerp_k"));
    RIFTJIT_TRY(k, parts.project(name("channel_mix_key"), x_of_k, parts.traits(layer).ffn_width));
    RIFTJIT_TRY(bent, parts.graph.swiglu(name("channel_mix_relu"), k, kNoTensor, Activation::relu_squared));
    RIFTJIT_TRY(value, parts.project(name("channel_mix_value"), bent, parts.hyper().width));
    if (!parts.weights.has(name("channel_mix_receptance.weight"))) return value;
    RIFTJIT_TRY(x_of_r, shifts.mixed("channel_mix_lerp_r"));
    RIFTJIT_TRY(r, parts.project(name("channel_mix_receptance"), x_of_r, parts.hyper().width));
    return parts.graph.swiglu(name("channel_mix_gate"), r, value, Activation::sigmoid);
}

// Files of rwkv6 have outputs divided by two every so many layers, so that f16 holds them.
Result<TensorId> rescale(const DecoderParts& parts, uint32_t layer, TensorId x) {
    RIFTJIT_TRY(period, parts.model.file.integer("rwkv6.rescale_every_n_layers", 0, INT32_MAX));
    if (period.value_or(0) == 0 || (layer + 1) % *period != 0) return x;
    return parts.graph.scale(parts.block(layer, "rescaled"), x, 0.5f);
}

Result<BuiltGraph> build_rwkv(const Model& model) {
    return build_decoder(model, {.norm = DecoderTraits::Norm::layer,
                                 .has_embedding_norm = true,
                                 .feed_forward = mix_channels,
                                 .end_of_block = rescale});
}
Result<BuiltGraph> build_arwkv7(const Model& model) { return build_decoder(model, {}); }

}  // namespace

Result<TensorId> add_time_mixing(DecoderParts& parts, uint32_t layer, TensorId x) {
    TimeMixing mixing(parts, layer, x);
    return parts.traits(layer).mixer == LayerTraits::Mixer::rwkv7 ? mixing.run_v7() : mixing.run_v6();
}

const Architecture kRwkv6 = {"rwkv6", read_rwkv6, build_rwkv};
const Architecture kRwkv7 = {"rwkv7", read_rwkv7, build_rwkv};
const Architecture kArwkv7 = {"arwkv7", read_arwkv7, build_arwkv7};

}  // namespace riftjit::models
