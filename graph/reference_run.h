// One run of the reference interpreter, for the files of the ops.
#pragma once

#include <algorithm>
#include <functional>

#include "graph/reference.h"

namespace riftjit::graph {

// One pass over the nodes: owns the activations; the cache and the decoded weights are the interpreter's.
class ReferenceRun {
public:
    ReferenceRun(Reference& owner, std::span<const int32_t> ids, std::span<const uint32_t> output_rows)
        : owner_(owner), graph_(owner.graph_), ids_(ids), output_rows_(output_rows), rows_(graph_.tensors.size()) {}

    Result<void> run_all();

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

    // Elements that are multiplied by rows of a matrix.
    std::vector<double> factors(TensorId matrix, const double* x) const {
        const std::span<const double> values(x, width(matrix));
        if (owner_.product_format_ == nullptr) return {values.begin(), values.end()};
        return reference::rounded(owner_.product_format_(graph_.tensor(matrix).type), values);
    }

    // What the slot keeps; zeros before the first position.
    std::vector<double>& state(SlotId slot) {
        std::vector<double>& numbers = owner_.states_[slot];
        numbers.resize(running_bytes(graph_.slots[slot]) / sizeof(float));
        return numbers;
    }

    std::vector<double> weight_vector(TensorId id) {
        if (id == kNoTensor) return {};
        const auto values = owner_.weight_row(id, 0);
        return {values.begin(), values.end()};
    }

    // What a node computes: the specialisation for its op, in the op's own file (ops/).
    template <class Operation>
    Result<void> apply(const Operation& op);

    Reference& owner_;
    const Graph& graph_;
    std::span<const int32_t> ids_;
    std::span<const uint32_t> output_rows_;
    std::vector<std::vector<double>> rows_;
    const Node* node_ = nullptr;
};

}  // namespace riftjit::graph
