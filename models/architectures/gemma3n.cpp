// gemma3n: gemma's blocks on several streams of rows (AltUp, Baykal et al. 2023, arXiv 2301.13310): each block predicts
// all of them, works on the active one, and corrects all by what came out. Beside attention stands a product of low
// rank (LAuReL, Menghani et al. 2024, arXiv 2411.07501), the first layers keep few of their gates, and a token brings a
// row to each layer (layer_inputs.h).
#include <cmath>
#include <numbers>

#include "models/architectures/architectures.h"
#include "models/architectures/hyperparameters.h"
#include "models/architectures/layer_inputs.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

using graph::kNoTensor;
using graph::TensorId;

namespace {

constexpr float kSqrtHalf = static_cast<float>(1 / std::numbers::sqrt2);

// How many deviations above their mean gates must be: one number each, or none (minus infinity).
Result<void> read_sparsity(const Gguf& file, Hyperparameters& result) {
    const std::string key = "gemma3n.activation_sparsity_scale";
    const GgufEntry* entry = file.find(key);
    if (entry == nullptr) return missing_key(file, key);
    const auto* array = std::get_if<GgufArray>(&entry->value);
    if (array == nullptr || array->element_type == GgufType::string || array->count < result.layers)
        return fail(ErrorKind::Format, "{}: key {} has wrong array length; expected {} numbers, got {}",
                    file.place_of(*entry), key, result.layers, array == nullptr ? 0 : array->count);
    for (uint32_t i = 0; i < result.layers; ++i) {
        const GgufValue value = element(*array, i);
        const auto* number = std::get_if<double>(&value);
        if (number == nullptr || std::isnan(*number) || *number > 100)
            return fail(ErrorKind::Format, "{}: element {} is no number up to 100", file.place_of(*entry), i);
        if (std::isfinite(*number)) result.layer[i].gate_deviations = static_cast<float>(*number);
    }
    return {};
}

Result<Hyperparameters> read_gemma3n(const Gguf& file) {
    RIFTJIT_TRY(result, read_hyperparameters(file, {.architecture = "gemma3n",
                                                    .pairing = RopePairing::half,
                                                    .implemented = "attention.sliding_window final_logit_softcapping "
                                                                   "attention.shared_kv_layers "
                                                                   "embedding_length_per_layer_input"}));
    result.embedding_scale = std::sqrt(static_cast<float>(result.width));
    result.attention_scale = 1;
    RIFTJIT_TRY_VOID(read_windows(file, {0, 5, 10000}, result));
    RIFTJIT_TRY_VOID(read_layer_sharing(file, result));
    RIFTJIT_TRY_VOID(read_sparsity(file, result));
    RIFTJIT_TRY(logit_softcap, read_factor(file, "gemma3n", "final_logit_softcapping", 30));
    result.logit_softcap = logit_softcap;
    constexpr uint64_t kMostStreams = 16;
    RIFTJIT_TRY(streams, file.require_integer("gemma3n.altup.num_inputs", 2, kMostStreams));
    RIFTJIT_TRY(active, file.integer("gemma3n.altup.active_idx", 0, streams - 1));
    result.streams = {static_cast<uint32_t>(streams), static_cast<uint32_t>(active.value_or(0))};
    return result;
}

constexpr DecoderTraits kTraits = {
    .head_norms = DecoderTraits::HeadNorms::each_head, .activation = Activation::gelu_tanh, .has_value_norms = true};

class Gemma3nBuilder {
public:
    explicit Gemma3nBuilder(const Model& model)
        : hyper_(model.hyperparameters), weights_(model, graph_), parts_{{model, graph_, weights_}, kTraits} {
        parts_.kv_slots.resize(hyper_.layers);
    }

    Result<BuiltGraph> run() {
        RIFTJIT_TRY(table, weights_.matrix("token_embd.weight", hyper_.vocabulary, hyper_.width));
        parts_.token_ids = graph_.add_input("token_ids");
        RIFTJIT_TRY(embedded, graph_.embed("token_embd", parts_.token_ids, table));
        RIFTJIT_TRY(scaled, parts_.scale_by("token_embd.scale", embedded, hyper_.embedding_scale));
        RIFTJIT_TRY(inputs, add_layer_inputs(parts_, scaled));
        parts_.layer_inputs = inputs;
        Streams streams = {scaled};
        for (uint32_t i = 1; i < count(); ++i) {
            RIFTJIT_TRY(stream, project_stream("altup_proj", i - 1, scaled, scaled));
            streams.push_back(stream);
        }
        for (uint32_t layer = 0; layer < hyper_.layers; ++layer) {
            RIFTJIT_TRY(out, add_block(layer, streams));
            streams = out;
        }
        RIFTJIT_TRY(merged, merge(streams));
        RIFTJIT_TRY_VOID(add_output(parts_, merged, table));
        return BuiltGraph{std::move(graph_), weights_.used()};
    }

private:
    using Streams = std::vector<TensorId>;
    using Op = ElementwiseOp;

    uint32_t count() const { return hyper_.streams.count; }
    uint32_t active() const { return hyper_.streams.active; }
    static std::string block(uint32_t layer, std::string_view what) { return BlockParts::block(layer, what); }

    // ---- streams ----

    // The sum of each row's elements, as a row of one.
    Result<TensorId> sum_elements(const std::string& name, TensorId x) {
        return graph_.matmul(name, x, weights_.ones(graph_.tensor(x).width));
    }
    Result<TensorId> sum_squares(const std::string& name, TensorId x) {
        RIFTJIT_TRY(squares,
                    graph_.elementwise(name + ".squares", graph_.tensor(x).width, {{x}}, {{Op::multiply, 0, 0, 0}}));
        return sum_elements(name, squares);
    }
    // x times table number `index` of a stack, made as long as `target` is.
    Result<TensorId> project_stream(std::string_view tables, uint32_t index, TensorId x, TensorId target) {
        const std::string name = fmt::format("{}.{}", tables, index);
        RIFTJIT_TRY(weight, weights_.table_of_stack(fmt::format("{}.weight", tables), count() - 1, hyper_.width,
                                                    hyper_.width, index));
        RIFTJIT_TRY(projected, graph_.matmul(name, x, weight));
        RIFTJIT_TRY(wanted, sum_squares(name + ".wanted", target));
        RIFTJIT_TRY(found, sum_squares(name + ".found", projected));
        constexpr float kLeastMeanSquare = 1e-5f;
        const float least = kLeastMeanSquare * static_cast<float>(hyper_.width);
        return graph_.elementwise(
            name + ".sized", hyper_.width, {{projected}, {wanted, 0}, {found, 0}},
            {{Op::at_least, 2, 0, least}, {Op::divide, 1, 3, 0}, {Op::square_root, 4, 0, 0}, {Op::multiply, 0, 5, 0}});
    }
    Result<TensorId> merge(const Streams& streams) {
        TensorId sum = streams[0];
        for (uint32_t i = 1; i < count(); ++i) {
            RIFTJIT_TRY(stream, project_stream("altup_unembd_proj", i - 1, streams[i], streams[active()]));
            RIFTJIT_TRY(more, graph_.add(fmt::format("altup_merged.{}", i), sum, stream));
            sum = more;
        }
        return graph_.scale("altup_merged", sum, 1 / static_cast<float>(count()));
    }
    // tanh(norm(x) R / width): what coefficients are made of.
    Result<TensorId> modalities(uint32_t layer, std::string_view when, TensorId x) {
        const auto name = [&](std::string_view what) { return block(layer, fmt::format("{}_{}", what, when)); };
        RIFTJIT_TRY(gain, weights_.vector(block(layer, "altup_router_norm.weight"), hyper_.width));
        RIFTJIT_TRY(normed, graph_.rms_norm(name("altup_router_norm"), x, gain, hyper_.norm_epsilon));
        RIFTJIT_TRY(scaled, graph_.scale(name("altup_router_input"), normed, 1 / static_cast<float>(hyper_.width)));
        RIFTJIT_TRY(weight, weights_.matrix(block(layer, "altup_router.weight"), count(), hyper_.width));
        RIFTJIT_TRY(routed, graph_.matmul(name("altup_router"), scaled, weight));
        return graph_.softcap(name("altup_modalities"), routed, 1);
    }
    // Of each stream i: x_i + sum over j of c[i n + j] x_j.
    Result<Streams> predict(uint32_t layer, const Streams& streams) {
        RIFTJIT_TRY(inputs, modalities(layer, "predict", streams[active()]));
        RIFTJIT_TRY(coefficients, parts_.project(block(layer, "altup_predict_coef"), inputs, count() * count()));
        Streams predictions;
        for (uint32_t i = 0; i < count(); ++i) {
            TensorId sum = streams[i];
            for (uint32_t j = 0; j < count(); ++j) {
                RIFTJIT_TRY(more,
                            graph_.elementwise(block(layer, fmt::format("altup_predicted.{}.{}", i, j)), hyper_.width,
                                               {{sum}, {streams[j]}, {coefficients, i * count() + j}},
                                               {{Op::multiply, 1, 2, 0}, {Op::add, 0, 3, 0}}));
                sum = more;
            }
            predictions.push_back(sum);
        }
        return predictions;
    }
    // Of each stream i: prediction_i + (1 + c[i]) (activated - prediction of the active one).
    Result<Streams> correct(uint32_t layer, const Streams& predictions, TensorId activated) {
        RIFTJIT_TRY(inputs, modalities(layer, "correct", activated));
        RIFTJIT_TRY(coefficients, parts_.project(block(layer, "altup_correct_coef"), inputs, count()));
        RIFTJIT_TRY(innovation, graph_.elementwise(block(layer, "altup_innovation"), hyper_.width,
                                                   {{activated}, {predictions[active()]}},
                                                   {{Op::scale, 1, 0, -1}, {Op::add, 0, 2, 0}}));
        Streams corrected;
        for (uint32_t i = 0; i < count(); ++i) {
            RIFTJIT_TRY(stream, graph_.elementwise(block(layer, fmt::format("altup_corrected.{}", i)), hyper_.width,
                                                   {{predictions[i]}, {innovation}, {coefficients, i}},
                                                   {{Op::multiply, 1, 2, 0}, {Op::add, 1, 3, 0}, {Op::add, 0, 4, 0}}));
            corrected.push_back(stream);
        }
        return corrected;
    }

    // ---- the block ----

    Result<Streams> add_block(uint32_t layer, const Streams& streams) {
        const auto name = [&](std::string_view what) { return block(layer, what); };
        RIFTJIT_TRY(predictions, predict(layer, streams));
        const TensorId x = predictions[active()];
        RIFTJIT_TRY(normed, parts_.norm(name("attn_norm"), x));
        RIFTJIT_TRY(low_rank, add_low_rank(layer, normed));
        RIFTJIT_TRY(attended, add_attention(parts_, layer, normed));
        RIFTJIT_TRY(attended_normed, parts_.norm(name("post_attention_norm"), attended));
        RIFTJIT_TRY(middle, graph_.add(name("attn_residual"), x, attended_normed));
        RIFTJIT_TRY(both, graph_.add(name("laurel_residual"), middle, low_rank));
        RIFTJIT_TRY(sum, graph_.scale(name("attn_laurel"), both, kSqrtHalf));
        RIFTJIT_TRY(ffn_input, parts_.norm(name("ffn_norm"), sum));
        RIFTJIT_TRY(fed, feed_forward(layer, ffn_input));
        RIFTJIT_TRY(fed_normed, parts_.norm(name("post_ffw_norm"), fed));
        RIFTJIT_TRY(out, graph_.add(name("ffn_residual"), sum, fed_normed));
        RIFTJIT_TRY(corrected, correct(layer, predictions, out));
        RIFTJIT_TRY(branch, first_branch(layer, corrected[active()]));
        for (uint32_t i = 1; i < count(); ++i) {
            RIFTJIT_TRY(stream, graph_.add(name(fmt::format("layer_input_residual.{}", i)), corrected[i], branch));
            corrected[i] = stream;
        }
        return corrected;
    }
    Result<TensorId> first_branch(uint32_t layer, TensorId x) {
        RIFTJIT_TRY(scale, weights_.vector(block(layer, "altup_correct_scale.weight"), hyper_.width));
        RIFTJIT_TRY(scaled, graph_.elementwise(block(layer, "altup_correct_scale"), hyper_.width, {{x}, {scale}},
                                               {{Op::multiply, 0, 1, 0}}));
        return add_layer_input(parts_, layer, scaled);
    }
    // x + norm(x L R)
    Result<TensorId> add_low_rank(uint32_t layer, TensorId x) {
        const auto name = [&](std::string_view what) { return block(layer, what); };
        RIFTJIT_TRY(low, parts_.project(name("laurel_l"), x, weights_.rows_of(name("laurel_l.weight"))));
        RIFTJIT_TRY(high, parts_.project(name("laurel_r"), low, hyper_.width));
        RIFTJIT_TRY(normed, parts_.norm(name("laurel_post_norm"), high));
        return graph_.add(name("laurel"), x, normed);
    }
    Result<TensorId> feed_forward(uint32_t layer, TensorId x) {
        const auto name = [&](std::string_view what) { return block(layer, what); };
        const LayerTraits& traits = hyper_.layer[layer];
        if (!traits.gate_deviations) return add_dense_feed_forward(parts_, layer, x);
        RIFTJIT_TRY(gate, parts_.project(name("ffn_gate"), x, traits.ffn_width));
        RIFTJIT_TRY(kept, keep_highest(layer, gate, *traits.gate_deviations));
        RIFTJIT_TRY(up, parts_.project(name("ffn_up"), x, traits.ffn_width));
        RIFTJIT_TRY(gated, graph_.swiglu(name("ffn_swiglu"), kept, up, kTraits.activation));
        return parts_.project(name("ffn_down"), gated, hyper_.width);
    }
    // max(0, x - mean - factor * deviation), of each row's elements.
    Result<TensorId> keep_highest(uint32_t layer, TensorId x, float factor) {
        const uint32_t width = graph_.tensor(x).width;
        const float share = 1 / static_cast<float>(width);
        RIFTJIT_TRY(sum, sum_elements(block(layer, "ffn_gate_sum"), x));
        RIFTJIT_TRY(centred, graph_.elementwise(block(layer, "ffn_gate_centred"), width, {{x}, {sum, 0}},
                                                {{Op::scale, 1, 0, -share}, {Op::add, 0, 2, 0}}));
        RIFTJIT_TRY(squares, sum_squares(block(layer, "ffn_gate_variance"), centred));
        return graph_.elementwise(block(layer, "ffn_gate_kept"), width, {{centred}, {squares, 0}},
                                  {{Op::scale, 1, 0, share},
                                   {Op::square_root, 2, 0, 0},
                                   {Op::scale, 3, 0, -factor},
                                   {Op::add, 0, 4, 0},
                                   {Op::at_least, 5, 0, 0}});
    }

    const Hyperparameters& hyper_;
    graph::Graph graph_;
    Weights weights_;
    DecoderParts parts_;
};

Result<BuiltGraph> build_gemma3n(const Model& model) { return Gemma3nBuilder(model).run(); }

}  // namespace

const Architecture kGemma3n = {"gemma3n", read_gemma3n, build_gemma3n};

}  // namespace riftjit::models
