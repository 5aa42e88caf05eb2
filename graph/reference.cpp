#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "graph/dequantize.h"
#include "graph/reference_run.h"
#include "host/half.h"

namespace riftjit::graph {

namespace reference {

// Not in sequence, because one chain of dependent additions would make whole models too slow to test.
double dot(const float* weights, const double* x, uint32_t width) {
    return sum_in_order<double>(KOrder::lanes64, width,
                                [=](double sum, uint32_t i) { return sum + weights[i] * x[i]; });
}

std::vector<double> rounded(RowFormat format, std::span<const double> x) {
    std::vector<double> values(x.begin(), x.end());
    if (format == RowFormat::bf16)
        for (double& value : values) value = bfloat_to_float(float_to_bfloat(float(value)));
    if (!is_quantized(format)) return values;
    const size_t block = format == RowFormat::i8 ? kI8Block : kI16Block;
    const int most = format == RowFormat::i8 ? kI8Max : kI16Max;
    for (size_t begin = 0; begin < values.size(); begin += block) {
        const std::span<double> part = std::span(values).subspan(begin, std::min(block, values.size() - begin));
        double largest = 0;
        for (const double value : part) largest = std::max(largest, std::abs(value));
        if (largest == 0) continue;
        for (double& value : part) value = std::nearbyint(value * (most / largest)) * (largest / most);
    }
    return values;
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

void rope(double* head, RopePairing pairing, const RopeAngles& angles, const float* factors, uint32_t position) {
    const uint32_t pairs = angles.rotary_dims / 2;
    for (uint32_t i = 0; i < pairs; ++i) {
        const double angle = position * angles.frequency(i, factors == nullptr ? 1.0 : factors[i]);
        const double magnitude = angles.magnitude_at(position);
        const double cosine = magnitude * std::cos(angle), sine = magnitude * std::sin(angle);
        const bool is_adjacent = pairing == RopePairing::adjacent;
        double& first = head[is_adjacent ? 2 * i : i];
        double& second = head[is_adjacent ? 2 * i + 1 : i + pairs];
        const double a = first, b = second;
        first = a * cosine - b * sine;
        second = a * sine + b * cosine;
    }
}

void walsh_hadamard(std::span<double> x) {
    for (size_t apart = 1; apart < x.size(); apart *= 2)
        for (size_t i = 0; i < x.size(); ++i) {
            if ((i & apart) != 0) continue;
            const double left = x[i], right = x[i + apart];
            x[i] = left + right;
            x[i + apart] = left - right;
        }
    const double factor = 1 / std::sqrt(double(x.size()));
    for (double& value : x) value *= factor;
}

void attention_head(const double* q, const double* keys, const double* values, uint32_t positions, uint32_t stride,
                    uint32_t head_dim, double scale, double* out, double softcap, const double* sink, double slope,
                    uint32_t own) {
    std::vector<double> weights(positions);
    for (uint32_t p = 0; p < positions; ++p) {
        const double* key = keys + size_t{p} * stride;
        double score = 0;
        for (uint32_t i = 0; i < head_dim; ++i) score += q[i] * key[i];
        weights[p] = softcap == 0 ? score * scale : softcap * std::tanh(score * scale / softcap);
        weights[p] -= slope * std::abs(double(own) - double(p));
    }
    double largest = *std::max_element(weights.begin(), weights.end());
    if (sink != nullptr) largest = std::max(largest, *sink);
    double total = sink == nullptr ? 0 : std::exp(*sink - largest);
    for (double& weight : weights) total += weight = std::exp(weight - largest);
    std::fill_n(out, head_dim, 0.0);
    for (uint32_t p = 0; p < positions; ++p)
        for (uint32_t i = 0; i < head_dim; ++i) out[i] += weights[p] / total * values[size_t{p} * stride + i];
}

double silu(double x) { return x / (1 + std::exp(-x)); }

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double activate(Activation activation, double gate, double up, const Xielu& xielu) {
    switch (activation) {
        case Activation::silu:
            return silu(gate) * up;
        case Activation::gelu_tanh: {  // x (1 + tanh(u)) / 2, of which 1 + tanh(u) alone would cancel
            const double u = std::sqrt(2 / std::numbers::pi) * (gate + 0.044715 * gate * gate * gate);
            return gate / (1 + std::exp(-2 * u)) * up;
        }
        case Activation::gelu_erf:
            return gate / 2 * std::erfc(-gate / std::numbers::sqrt2) * up;
        case Activation::relu:
            return std::max(gate, 0.0) * up;
        case Activation::relu_squared:
            return std::max(gate, 0.0) * std::max(gate, 0.0) * up;
        case Activation::clamped_silu: {
            const double clamped = std::min(gate, double(kClampedLimit));
            const double other = std::clamp(up, -double(kClampedLimit), double(kClampedLimit)) + 1;
            return clamped / (1 + std::exp(-double(kClampedSteepness) * clamped)) * other;
        }
        case Activation::xielu: {
            const double curved = gate > 0 ? xielu.positive * gate * gate
                                           : xielu.negative * (std::expm1(std::min(gate, double(xielu.limit))) - gate);
            return (curved + xielu.linear * gate) * up;
        }
        case Activation::sigmoid:
            return up / (1 + std::exp(-gate));
    }
    check_failed("unknown activation", std::source_location::current());
}

}  // namespace reference

Result<void> ReferenceRun::run_all() {
    for (const Node& node : graph_.nodes) {
        node_ = &node;
        RIFTJIT_TRY_VOID(std::visit([&](const auto& op) { return apply(op); }, node.op));
    }
    return {};
}

Reference::Reference(const Graph& graph, std::optional<ReferenceCache> cache)
    : graph_(graph),
      cache_(cache),
      keys_(graph.slots.size()),
      values_(graph.slots.size()),
      states_(graph.slots.size()),
      weights_(graph.tensors.size()) {}

std::span<const float> Reference::weight_row(TensorId id, uint32_t row) {
    const Tensor& tensor = graph_.tensor(id);
    std::vector<float>& decoded = weights_[id];
    if (decoded.empty()) {
        const uint32_t rows = tensor.matrices * tensor.rows;
        decoded.resize(size_t{rows} * tensor.width);
        for (uint32_t r = 0; r < rows; ++r)
            dequantize_row(tensor.type, tensor.row(r), tensor.width, decoded.data() + size_t{r} * tensor.width);
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
    for (auto* cache : {&keys_, &values_, &states_})
        for (auto& slot : *cache) slot.clear();
    position_ = 0;
}

}  // namespace riftjit::graph
