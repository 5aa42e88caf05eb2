#include "graph/reference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/dequantize.h"

namespace riftjit::graph {

namespace reference {

// Not in sequence, because one chain of dependent additions would make whole models too slow to test.
static double dot(const float* weights, const double* x, uint32_t width) {
    return sum_in_order<double>(KOrder::lanes64, width,
                                [=](double sum, uint32_t i) { return sum + weights[i] * x[i]; });
}

void rms_norm(const double* x, const double* gain, double epsilon, uint32_t width, double* out) {
    const double sum_squares =
        sum_in_order<double>(KOrder::lanes64, width, [=](double sum, uint32_t i) { return sum + x[i] * x[i]; });
    const double scale = 1 / std::sqrt(sum_squares / width + epsilon);
    for (uint32_t i = 0; i < width; ++i) out[i] = x[i] * scale * (gain == nullptr ? 1.0 : gain[i]);
}

void matmul_row(DType type, const std::byte* weight_row, const double* x, uint32_t width, double* out) {
    std::vector<float> weights(width);
    dequantize_row(type, weight_row, width, weights.data());
    *out = dot(weights.data(), x, width);
}

void rope(double* head, uint32_t rotary_dims, RopePairing pairing, double base, double scale, const float* factors,
          uint32_t position) {
    const uint32_t pairs = rotary_dims / 2;
    for (uint32_t i = 0; i < pairs; ++i) {
        const double frequency = std::pow(base, -2.0 * i / rotary_dims) / (factors == nullptr ? 1.0 : factors[i]);
        const double angle = position * scale * frequency;
        const bool is_adjacent = pairing == RopePairing::adjacent;
        double& first = head[is_adjacent ? 2 * i : i];
        double& second = head[is_adjacent ? 2 * i + 1 : i + pairs];
        const double a = first, b = second;
        first = a * std::cos(angle) - b * std::sin(angle);
        second = a * std::sin(angle) + b * std::cos(angle);
    }
}

void attention_head(const double* q, const double* keys, const double* values, uint32_t positions, uint32_t stride,
                    uint32_t head_dim, double scale, double* out) {
    std::vector<double> weights(positions);
    for (uint32_t p = 0; p < positions; ++p) {
        const double* key = keys + size_t{p} * stride;
        double score = 0;
        for (uint32_t i = 0; i < head_dim; ++i) score += q[i] * key[i];
        weights[p] = score * scale;
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - largest);
    std::fill_n(out, head_dim, 0.0);
    for (uint32_t p = 0; p < positions; ++p)
        for (uint32_t i = 0; i < head_dim; ++i) out[i] += weights[p] / total * values[size_t{p} * stride + i];
}

double silu(double x) { return x / (1 + std::exp(-x)); }

}  // namespace reference

// One pass over the nodes: owns the activations; the cache and the decoded weights are the interpreter's.
class ReferenceRun {
public:
    ReferenceRun(Reference& owner, std::span<const int32_t> ids, std::span<const uint32_t> output_rows)
        : owner_(owner), graph_(owner.graph_), ids_(ids), output_rows_(output_rows), rows_(graph_.tensors.size()) {}

    Result<void> run_all() {
        for (const Node& node : graph_.nodes) {
            node_ = &node;
            RIFTJIT_TRY_VOID(std::visit([&](const auto& op) { return apply(op); }, node.op));
        }
        return {};
    }

    // Row-major values of an activation: [tokens, width].
    std::vector<double>& rows(TensorId id) { return rows_[id]; }

private:
    uint32_t width(TensorId id) const { return graph_.tensor(id).width; }
    uint32_t token_count(TensorId id) const { return static_cast<uint32_t>(rows_[id].size() / width(id)); }
    double* row(TensorId id, uint32_t token) { return rows_[id].data() + size_t{token} * width(id); }

    std::vector<double>& resize(TensorId id, uint32_t tokens) {
        rows_[id].assign(size_t{tokens} * width(id), 0.0);
        return rows_[id];
    }

    // A row of an activation, or the one row of a weight vector for every token.
    std::vector<double> operand(TensorId id, uint32_t token) {
        if (graph_.tensor(id).kind != TensorKind::weight) return {row(id, token), row(id, token) + width(id)};
        return weight_vector(id);
    }

    std::vector<double> weight_vector(TensorId id) {
        if (id == kNoTensor) return {};
        const auto values = owner_.weight_row(id, 0);
        return {values.begin(), values.end()};
    }

    Result<void> apply(const EmbedOp& op) {
        resize(op.out, static_cast<uint32_t>(ids_.size()));
        const uint32_t vocabulary = graph_.tensor(op.table).rows;
        for (uint32_t token = 0; token < ids_.size(); ++token) {
            const int32_t id = ids_[token];
            if (id < 0 || static_cast<uint32_t>(id) >= vocabulary)
                return fail(ErrorKind::Usage, "{}: token {} is not in the vocabulary of {}", node_->name, id,
                            vocabulary);
            const auto values = owner_.weight_row(op.table, static_cast<uint32_t>(id));
            std::ranges::copy(values, row(op.out, token));
        }
        return {};
    }

    Result<void> apply(const RmsNormOp& op) {
        std::vector<double> sums = rows_[op.x];
        if (op.addend != kNoTensor) {
            std::transform(sums.begin(), sums.end(), rows_[op.addend].begin(), sums.begin(), std::plus{});
            if (op.sum != kNoTensor) rows_[op.sum] = sums;
        }
        const uint32_t span = op.head_dim == 0 ? width(op.x) : op.head_dim;
        const std::vector<double> gain = weight_vector(op.gain);
        resize(op.out, static_cast<uint32_t>(sums.size() / width(op.x)));
        for (size_t at = 0; at < sums.size(); at += span)
            reference::rms_norm(&sums[at], gain.empty() ? nullptr : gain.data(), op.epsilon, span, &rows_[op.out][at]);
        return {};
    }

    Result<void> apply(const MatmulOp& op) {
        const uint32_t tokens = token_count(op.x);
        const std::vector<double> bias = weight_vector(op.bias);
        std::vector<double> out(size_t{tokens} * width(op.out));
        for (uint32_t r = 0; r < width(op.out); ++r) {
            const auto weights = owner_.weight_row(op.weight, r);
            for (uint32_t token = 0; token < tokens; ++token) {
                double& value = out[size_t{token} * width(op.out) + r];
                value = reference::dot(weights.data(), row(op.x, token), width(op.x));
                if (!bias.empty()) value += bias[r];
                if (op.residual != kNoTensor) value += row(op.residual, token)[r];
            }
        }
        rows_[op.out] = std::move(out);
        return {};
    }

    Result<void> apply(const AddOp& op) {
        const TensorId shaped = graph_.tensor(op.left).kind == TensorKind::weight ? op.right : op.left;
        const uint32_t tokens = token_count(shaped);
        resize(op.out, tokens);
        for (uint32_t token = 0; token < tokens; ++token) {
            const auto left = operand(op.left, token), right = operand(op.right, token);
            std::transform(left.begin(), left.end(), right.begin(), row(op.out, token), std::plus{});
        }
        return {};
    }

    Result<void> apply(const RopeOp& op) {
        std::vector<double> heads = rows_[op.x];
        const std::vector<double> gain = weight_vector(op.gain);
        const float* factors = op.factors == kNoTensor ? nullptr : owner_.weight_row(op.factors, 0).data();
        for (size_t at = 0; at < heads.size(); at += op.head_dim) {
            if (!gain.empty()) reference::rms_norm(&heads[at], gain.data(), op.epsilon, op.head_dim, &heads[at]);
            const uint32_t position = owner_.position_ + static_cast<uint32_t>(at / width(op.x));
            reference::rope(&heads[at], op.rotary_dims, op.pairing, op.base, op.scale, factors, position);
        }
        rows_[op.out] = std::move(heads);
        return {};
    }

    Result<void> apply(const AttentionOp& op) {
        const uint32_t stride = op.kv_heads * op.head_dim, group = op.heads / op.kv_heads, tokens = token_count(op.q);
        auto &keys = owner_.keys_[op.slot], &values = owner_.values_[op.slot];
        keys.insert(keys.end(), rows_[op.k].begin(), rows_[op.k].end());
        values.insert(values.end(), rows_[op.v].begin(), rows_[op.v].end());
        resize(op.out, tokens);
        for (uint32_t token = 0; token < tokens; ++token) {
            const uint32_t visible = owner_.position_ + token + 1;
            for (uint32_t head = 0; head < op.heads; ++head) {
                const uint32_t offset = head * op.head_dim, kv_offset = head / group * op.head_dim;
                reference::attention_head(row(op.q, token) + offset, keys.data() + kv_offset, values.data() + kv_offset,
                                          visible, stride, op.head_dim, op.scale, row(op.out, token) + offset);
            }
        }
        return {};
    }

    Result<void> apply(const SwigluOp& op) {
        resize(op.out, token_count(op.gate));
        std::transform(rows_[op.gate].begin(), rows_[op.gate].end(), rows_[op.up].begin(), rows_[op.out].begin(),
                       [](double gate, double up) { return reference::silu(gate) * up; });
        return {};
    }

    Result<void> apply(const GatherRowsOp& op) {
        resize(op.out, static_cast<uint32_t>(output_rows_.size()));
        for (uint32_t output = 0; output < output_rows_.size(); ++output)
            std::copy_n(row(op.x, output_rows_[output]), width(op.x), row(op.out, output));
        return {};
    }

    Result<void> apply(const ScaleOp& op) {
        resize(op.out, token_count(op.x));
        std::ranges::transform(rows_[op.x], rows_[op.out].begin(), [&](double x) { return x * op.factor; });
        return {};
    }

    Result<void> apply(const ElementwiseChainOp& op) {
        const auto shaped = std::ranges::find_if(
            op.inputs, [&](TensorId id) { return graph_.tensor(id).kind == TensorKind::activation; });
        check(shaped != op.inputs.end(), "a chain has an activation among its inputs");
        const uint32_t tokens = token_count(*shaped);
        resize(op.out, tokens);
        for (uint32_t token = 0; token < tokens; ++token) {
            std::vector<std::vector<double>> registers;
            for (TensorId id : op.inputs) registers.push_back(operand(id, token));
            for (const ElementwiseStep& step : op.steps) registers.push_back(apply_step(step, registers));
            std::ranges::copy(registers.back(), row(op.out, token));
        }
        return {};
    }

    static std::vector<double> apply_step(const ElementwiseStep& step,
                                          const std::vector<std::vector<double>>& registers) {
        const auto &left = registers[step.left], &right = registers[step.right];
        std::vector<double> out(left.size());
        std::transform(left.begin(), left.end(), right.begin(), out.begin(),
                       [&](double a, double b) { return apply_step(step, a, b); });
        return out;
    }

    static double apply_step(const ElementwiseStep& step, double left, double right) {
        switch (step.op) {
            case ElementwiseOp::add:
                return left + right;
            case ElementwiseOp::scale:
                return left * step.constant;
        }
        check_failed("unknown elementwise step", std::source_location::current());
    }

    Reference& owner_;
    const Graph& graph_;
    std::span<const int32_t> ids_;
    std::span<const uint32_t> output_rows_;
    std::vector<std::vector<double>> rows_;
    const Node* node_ = nullptr;
};

Reference::Reference(const Graph& graph)
    : graph_(graph), keys_(graph.slots.size()), values_(graph.slots.size()), weights_(graph.tensors.size()) {}

std::span<const float> Reference::weight_row(TensorId id, uint32_t row) {
    const Tensor& tensor = graph_.tensor(id);
    std::vector<float>& decoded = weights_[id];
    if (decoded.empty()) {
        decoded.resize(size_t{tensor.rows} * tensor.width);
        for (uint32_t r = 0; r < tensor.rows; ++r)
            dequantize_row(tensor.type, tensor.data + r * row_bytes(tensor.type, tensor.width), tensor.width,
                           decoded.data() + size_t{r} * tensor.width);
    }
    return {decoded.data() + size_t{row} * tensor.width, tensor.width};
}

Result<std::vector<double>> Reference::run(std::span<const int32_t> ids) {
    std::vector<uint32_t> rows(ids.size());
    std::iota(rows.begin(), rows.end(), 0u);
    return run(ids, rows);
}

Result<std::vector<double>> Reference::run(std::span<const int32_t> ids, std::span<const uint32_t> output_rows) {
    if (ids.empty()) return fail(ErrorKind::Usage, "reference: no tokens to run");
    if (graph_.logits == kNoTensor) return fail(ErrorKind::Usage, "reference: the graph has no logits");
    for (const uint32_t row : output_rows)
        if (row >= ids.size())
            return fail(ErrorKind::Usage, "reference: row {} is wanted of {} tokens", row, ids.size());
    ReferenceRun run(*this, ids, output_rows);
    RIFTJIT_TRY_VOID(run.run_all());
    position_ += static_cast<uint32_t>(ids.size());
    return std::move(run.rows(graph_.logits));
}

void Reference::reset() {
    for (auto* cache : {&keys_, &values_})
        for (auto& slot : *cache) slot.clear();
    position_ = 0;
}

}  // namespace riftjit::graph
