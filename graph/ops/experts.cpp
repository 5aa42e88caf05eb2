// Mixtures of experts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/lowering.h"
#include "graph/reference_run.h"
#include "graph/shapes.h"

namespace riftjit::graph {

namespace {

Result<void> expect_stack(const Graph& graph, std::string_view name, std::string_view what, TensorId id,
                          uint32_t experts, uint32_t rows, uint32_t width) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.matrices == experts && tensor.rows == rows && tensor.width == width) return {};
    return fail(ErrorKind::Format, "{}: {} has {} matrices of {} x {}; expected {} of {} x {}", name, what,
                tensor.matrices, tensor.rows, tensor.width, experts, rows, width);
}

}  // namespace

namespace reference {

RouteSpec route_spec(const Graph& graph, const ExpertsOp& op) {
    const ExpertTraits& traits = op.traits;
    const auto present_if = [](bool is_there) { return is_there ? Presence::present : Presence::absent; };
    return {graph.tensor(op.logits).width,
            traits.used,
            traits.scoring,
            present_if(op.tensors_of.choice_bias != kNoTensor),
            present_if(traits.is_normed),
            traits.scale,
            traits.groups,
            traits.groups_used,
            present_if(op.tensors_of.weight_scale != kNoTensor)};
}

}  // namespace reference

Result<TensorId> Graph::experts(std::string name, TensorId x, TensorId logits, const ExpertTensors& of,
                                const ExpertTraits& traits) {
    const uint32_t experts = tensor(logits).width, inner = tensor(of.up).rows, outer = tensor(of.down).rows;
    RIFTJIT_TRY_VOID(expect_stack(*this, name, "up", of.up, experts, inner, tensor(x).width));
    if (of.gate != kNoTensor)
        RIFTJIT_TRY_VOID(expect_stack(*this, name, "gate", of.gate, experts, inner, tensor(x).width));
    RIFTJIT_TRY_VOID(expect_stack(*this, name, "down", of.down, experts, outer, inner));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "gate bias", of.gate_bias, experts * inner));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "up bias", of.up_bias, experts * inner));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "down bias", of.down_bias, experts * outer));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "choice bias", of.choice_bias, experts));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "weight scale", of.weight_scale, experts));
    if (traits.weighs_inputs && (of.gate == kNoTensor || of.gate_bias != kNoTensor || of.up_bias != kNoTensor))
        return fail(ErrorKind::Unsupported, "{}: weights of inputs need a gate and products without biases", name);
    if (of.shared != kNoTensor) RIFTJIT_TRY_VOID(expect_width(*this, name, "shared", of.shared, outer));
    if (of.shared_gate != kNoTensor) RIFTJIT_TRY_VOID(expect_width(*this, name, "shared gate", of.shared_gate, 1));
    const TensorId out = add_activation(name, outer);
    const ExpertsOp op{x, logits, out, of, traits};
    RIFTJIT_TRY_VOID(validate(reference::route_spec(*this, op)));
    nodes.push_back({std::move(name), op});
    return out;
}

namespace reference {

std::vector<Choice> route(const double* logits, const double* bias, const RouteSpec& spec) {
    constexpr double kLowest = -std::numeric_limits<double>::infinity();
    std::vector<double> weights(logits, logits + spec.experts);
    if (spec.scoring == Scoring::softmax) {
        const double largest = *std::max_element(weights.begin(), weights.end());
        double sum = 0;
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (double& weight : weights) weight /= sum;
    } else if (spec.scoring == Scoring::sigmoid) {
        for (double& weight : weights) weight = 1 / (1 + std::exp(-weight));
    }
    std::vector<double> scores = weights;
    for (uint32_t i = 0; bias != nullptr && i < spec.experts; ++i) scores[i] += bias[i];
    const auto take_highest = [](std::vector<double>& values) {
        const auto highest = std::max_element(values.begin(), values.end());  // the first of equal ones
        const auto index = static_cast<uint32_t>(highest - values.begin());
        *highest = kLowest;
        return index;
    };
    if (spec.groups > 1) {
        const uint32_t size = spec.experts / spec.groups;
        std::vector<double> group_scores;
        for (uint32_t group = 0; group < spec.groups; ++group) {
            std::vector<double> of(scores.begin() + group * size, scores.begin() + (group + 1) * size);
            std::ranges::sort(of, std::greater());
            group_scores.push_back(spec.scoring == Scoring::sigmoid ? of[0] + of[1] : of[0]);
        }
        std::vector<bool> is_used(spec.groups);
        for (uint32_t i = 0; i < spec.groups_used; ++i) is_used[take_highest(group_scores)] = true;
        for (uint32_t i = 0; i < spec.experts; ++i)
            if (!is_used[i / size]) scores[i] = kLowest;
    }
    std::vector<Choice> chosen;
    for (uint32_t i = 0; i < spec.used; ++i) {
        const uint32_t expert = take_highest(scores);
        double weight = weights[expert];
        if (spec.scoring == Scoring::sparse_mixer) {
            const double logit = weight;
            double sum = 1;
            for (const double other : scores)
                if (!((logit - other) / std::max(std::abs(other), logit) > kMixedDistance))
                    sum += std::exp(other - logit);
            weight = 1 / sum;
        }
        chosen.push_back({expert, weight});
    }
    const bool is_softmax = spec.scoring == Scoring::softmax_of_chosen;
    const double first = chosen[0].weight;
    if (is_softmax)
        for (Choice& choice : chosen) choice.weight = std::exp(choice.weight - first);
    double sum = 0;
    for (const Choice& choice : chosen) sum += choice.weight;
    const bool is_divided = is_softmax || spec.normed == Presence::present;
    for (Choice& choice : chosen)
        choice.weight *= spec.scale / (is_divided ? std::max(sum, double(kLeastRouteSum)) : 1.0);
    return chosen;
}

}  // namespace reference

template <>
Result<void> ReferenceRun::apply(const ExpertsOp& op) {
    const ExpertTensors& of = op.tensors_of;
    const RouteSpec spec = reference::route_spec(graph_, op);
    const uint32_t inner = graph_.tensor(of.up).rows, outer = width(op.out);
    const std::vector<double> choice_bias = weight_vector(of.choice_bias), scales = weight_vector(of.weight_scale);
    const std::vector<double> gate_bias = weight_vector(of.gate_bias), up_bias = weight_vector(of.up_bias),
                              down_bias = weight_vector(of.down_bias);
    const auto product = [&](TensorId stack, const std::vector<double>& bias, uint32_t row, const double* x) {
        return reference::dot(owner_.weight_row(stack, row).data(), x, graph_.tensor(stack).width) +
               (bias.empty() ? 0.0 : bias[row]);
    };
    resize(op.out, token_count(op.x));
    std::vector<double> middle(inner), x_of_gate;
    for (uint32_t token = 0; token < token_count(op.x); ++token) {
        double* const out = row(op.out, token);
        const std::vector<double> x_of_up = factors(of.up, row(op.x, token));
        if (of.gate != kNoTensor) x_of_gate = factors(of.gate, row(op.x, token));
        if (of.shared != kNoTensor) {
            const double gate = of.shared_gate == kNoTensor ? 1 : 1 / (1 + std::exp(-row(of.shared_gate, token)[0]));
            for (uint32_t i = 0; i < outer; ++i) out[i] = gate * row(of.shared, token)[i];
        }
        const double* bias = choice_bias.empty() ? nullptr : choice_bias.data();
        for (auto [expert, weight] : reference::route(row(op.logits, token), bias, spec)) {
            if (!scales.empty()) weight *= scales[expert];
            const double before = op.traits.weighs_inputs ? weight : 1, behind = op.traits.weighs_inputs ? 1 : weight;
            for (uint32_t i = 0; i < inner; ++i) {
                const uint32_t at = expert * inner + i;
                const double up = before * product(of.up, up_bias, at, x_of_up.data());
                middle[i] = of.gate == kNoTensor
                                ? reference::activate(op.traits.activation, up, 1)
                                : reference::activate(op.traits.activation,
                                                      before * product(of.gate, gate_bias, at, x_of_gate.data()), up);
            }
            const std::vector<double> x_of_down = factors(of.down, middle.data());
            for (uint32_t i = 0; i < outer; ++i)
                out[i] += behind * product(of.down, down_bias, expert * outer + i, x_of_down.data());
        }
    }
    return {};
}

// The choice, the order of pairs, the rows of each expert side by side, two products and their gate, a third, the sum.
template <>
Result<void> Lowering::lower(const ExpertsOp& op) {
    if (gathered_[op.x]) return fail(ErrorKind::Format, "{}: experts of gathered rows are unsupported", node_name());
    const ExpertTensors& of = op.tensors_of;
    const RouteSpec route = reference::route_spec(graph_, op);
    const uint32_t used = route.used, inner = graph_.tensor(of.up).rows, outer = graph_.tensor(of.down).rows;
    const uint64_t pairs = uint64_t(plan_.max_tokens) * used;
    const bool is_one_row = plan_.max_tokens == 1;
    const auto pair_rows = [&](RowFormat format, uint32_t width) {
        return scratch(pairs * options_.backend->row_bytes(format, width));
    };

    const Place choices = scratch(pairs * sizeof(ExpertChoice)), tokens = scratch(pairs * sizeof(uint32_t));
    const Place groups = scratch(expert_groups_bytes(uint32_t(std::min<uint64_t>(route.experts, pairs))));
    emit(route, {input(op.logits), weight_place(of.choice_bias), choices, weight_place(of.weight_scale)},
         StepRows::batch);
    emit(GroupPairsSpec{route.experts, used}, {choices, groups, tokens}, StepRows::batch);

    std::array<Place, kRowFormats> gathered;  // x by pairs
    const auto x_in = [&](RowFormat format) {
        const Place x = input(op.x, format);
        if (is_one_row) return x;
        Place& rows = gathered[size_t(format)];
        if (rows.kind == Place::Kind::none) {
            const uint32_t width = graph_.tensor(op.x).width;
            rows = pair_rows(format, width);
            emit(GatherPairsSpec{width, used, format}, {x, tokens, rows}, StepRows::batch);
        }
        return rows;
    };
    const auto multiply = [&](TensorId stack, TensorId bias, const Place& x, bool is_shared) {
        const MatmulSpec product = product_spec(stack, bias, plan_.form);
        const Place out = pair_rows(RowFormat::f32, product.rows);
        emit(ExpertMatmulSpec{product, route.experts, used, is_shared ? Presence::present : Presence::absent},
             {weight_place(stack), weight_place(bias), x, route.experts == used ? Place{} : groups, out},
             StepRows::batch);
        return out;
    };
    const bool has_gate = of.gate != kNoTensor;
    const Place x_of_up = x_in(product_format(of.up)), x_of_gate = has_gate ? x_in(product_format(of.gate)) : Place{};
    const Place gate = has_gate ? multiply(of.gate, of.gate_bias, x_of_gate, is_one_row) : Place{};
    const Place up = multiply(of.up, of.up_bias, x_of_up, is_one_row);
    if (op.traits.weighs_inputs) emit(WeighPairsSpec{inner, used}, {choices, gate, up}, StepRows::batch);
    const RowFormat down_format = product_format(of.down);
    const Place gated = pair_rows(down_format, inner);
    emit(SwigluSpec{inner, f32_stride(inner), down_format, op.traits.activation,
                    has_gate ? Presence::present : Presence::absent},
         {has_gate ? gate : up, has_gate ? up : Place{}, gated}, StepRows::batch);
    plan_.steps.back().rows_each = used;
    const Place results = multiply(of.down, of.down_bias, gated, false);
    const Place shared = of.shared == kNoTensor ? Place{} : input(of.shared),
                shared_gate = of.shared_gate == kNoTensor ? Place{} : input(of.shared_gate);
    emit(CombineSpec{outer, used, of.shared == kNoTensor ? Presence::absent : Presence::present,
                     of.shared_gate == kNoTensor ? Presence::absent : Presence::present},
         {results, choices, shared, shared_gate, output(op.out)}, StepRows::batch);
    return {};
}

}  // namespace riftjit::graph
