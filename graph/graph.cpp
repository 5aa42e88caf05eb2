#include "graph/graph.h"

#include <algorithm>

namespace riftjit::graph {

namespace {

// What an op's tensors() is given: hands every id on as visit(id, is_output).
template <class Visit>
struct TensorVisitor {
    Visit& visit;

    void in(auto&... ids) const { (hand_on(ids, false), ...); }
    void out(auto&... ids) const { (hand_on(ids, true), ...); }

private:
    template <class Id>
        requires std::is_same_v<std::remove_const_t<Id>, TensorId>
    void hand_on(Id& id, bool is_output) const {
        visit(id, is_output);
    }
    template <class Ids>
    void hand_on(Ids& ids, bool is_output) const {
        for (auto& id : ids) visit(id, is_output);
    }
};

template <class Operation, class Visit>
void visit_tensors(Operation& op, Visit&& visit) {
    std::visit([&](auto& o) { std::decay_t<decltype(o)>::tensors(o, TensorVisitor<Visit>{visit}); }, op);
}

}  // namespace

std::vector<TensorId> inputs(const Op& op) {
    std::vector<TensorId> ids;
    visit_tensors(op, [&](TensorId id, bool is_output) {
        if (!is_output && id != kNoTensor) ids.push_back(id);
    });
    return ids;
}

std::vector<TensorId> outputs(const Op& op) {
    std::vector<TensorId> ids;
    visit_tensors(op, [&](TensorId id, bool is_output) {
        if (is_output && id != kNoTensor) ids.push_back(id);
    });
    return ids;
}

void replace_input(Op& op, TensorId from, TensorId to) {
    visit_tensors(op, [&](TensorId& id, bool is_output) {
        if (!is_output && id == from) id = to;
    });
}

const char* op_name(const Op& op) {
    return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kName; }, op);
}

TensorId Graph::add_input(std::string name, TensorKind kind) {
    tensors.push_back({std::move(name), kind, DType::I32, 0, 1, nullptr});
    return static_cast<TensorId>(tensors.size() - 1);
}

TensorId Graph::add_weight(std::string name, DType type, uint32_t rows, uint32_t width, const std::byte* data) {
    tensors.push_back({std::move(name), TensorKind::weight, type, rows, width, data});
    return static_cast<TensorId>(tensors.size() - 1);
}

SlotId Graph::add_slot(StateSlot slot) {
    slots.push_back(std::move(slot));
    return static_cast<SlotId>(slots.size() - 1);
}

TensorId Graph::add_activation(std::string name, uint32_t width) {
    tensors.push_back({std::move(name), TensorKind::activation, DType::F32, 0, width, nullptr});
    return static_cast<TensorId>(tensors.size() - 1);
}

std::string to_text(const Graph& graph) {
    std::string text;
    for (const Node& node : graph.nodes) {
        text += fmt::format("{:<24} {:<12}", node.name, op_name(node.op));
        for (TensorId id : inputs(node.op)) {
            const Tensor& tensor = graph.tensor(id);
            text += tensor.kind == TensorKind::weight
                        ? fmt::format(" {}[{}x{} {}]", tensor.name, tensor.rows, tensor.width, name(tensor.type))
                        : fmt::format(" %{}", id);
        }
        text += " ->";
        for (TensorId id : outputs(node.op)) text += fmt::format(" %{}[{}]", id, graph.tensor(id).width);
        text += '\n';
    }
    return text;
}

}  // namespace riftjit::graph
