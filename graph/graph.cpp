#include "graph/graph.h"

#include <algorithm>

namespace riftjit::graph {

namespace {

// Calls visit(id, is_output) for every tensor field of an op; the one place that knows the fields.
template <class Operation, class Visit>
void visit_tensors(Operation& op, Visit&& visit) {
    constexpr bool kIn = false, kOut = true;
    std::visit(
        [&](auto& o) {
            using T = std::decay_t<decltype(o)>;
            if constexpr (std::is_same_v<T, EmbedOp>) {
                visit(o.ids, kIn), visit(o.table, kIn), visit(o.out, kOut);
            } else if constexpr (std::is_same_v<T, RmsNormOp>) {
                visit(o.x, kIn), visit(o.addend, kIn), visit(o.gain, kIn), visit(o.out, kOut), visit(o.sum, kOut);
            } else if constexpr (std::is_same_v<T, MatmulOp>) {
                visit(o.x, kIn), visit(o.weight, kIn), visit(o.bias, kIn), visit(o.residual, kIn), visit(o.out, kOut);
            } else if constexpr (std::is_same_v<T, AddOp>) {
                visit(o.left, kIn), visit(o.right, kIn), visit(o.out, kOut);
            } else if constexpr (std::is_same_v<T, RopeOp>) {
                visit(o.x, kIn), visit(o.factors, kIn), visit(o.gain, kIn), visit(o.out, kOut);
            } else if constexpr (std::is_same_v<T, AttentionOp>) {
                visit(o.q, kIn), visit(o.k, kIn), visit(o.v, kIn), visit(o.out, kOut);
            } else if constexpr (std::is_same_v<T, SwigluOp>) {
                visit(o.gate, kIn), visit(o.up, kIn), visit(o.out, kOut);
            } else if constexpr (std::is_same_v<T, ElementwiseChainOp>) {
                for (auto& id : o.inputs) visit(id, kIn);
                visit(o.out, kOut);
            } else {  // GatherRowsOp, ScaleOp
                visit(o.x, kIn), visit(o.out, kOut);
            }
        },
        op);
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
    static constexpr const char* kNames[] = {"embed",     "rms_norm", "matmul",      "add",   "rope",
                                             "attention", "swiglu",   "gather_rows", "scale", "elementwise"};
    static_assert(std::size(kNames) == std::variant_size_v<Op>);
    return kNames[op.index()];
}

TensorId Graph::add_input(std::string name) {
    tensors.push_back({std::move(name), TensorKind::token_ids, DType::I32, 0, 1, nullptr});
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

namespace {

Result<void> expect_vector(const Graph& graph, const std::string& node, const char* what, TensorId id, uint32_t width) {
    if (id == kNoTensor) return {};
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::weight || tensor.width != width || tensor.rows != 1)
        return fail(ErrorKind::Format, "{}: {} '{}' has shape [{}, {}], expected [1, {}]", node, what, tensor.name,
                    tensor.rows, tensor.width, width);
    return {};
}

Result<void> expect_width(const Graph& graph, const std::string& node, const char* what, TensorId id, uint32_t width) {
    if (graph.tensor(id).width == width) return {};
    return fail(ErrorKind::Format, "{}: {} '{}' has width {}, expected {}", node, what, graph.tensor(id).name,
                graph.tensor(id).width, width);
}

}  // namespace

Result<TensorId> Graph::embed(std::string name, TensorId ids, TensorId table) {
    if (tensor(ids).kind != TensorKind::token_ids)
        return fail(ErrorKind::Format, "{}: '{}' is not the token input", name, tensor(ids).name);
    const TensorId out = add_activation(name, tensor(table).width);
    nodes.push_back({std::move(name), EmbedOp{ids, table, out}});
    return out;
}

Result<TensorId> Graph::rms_norm(std::string name, TensorId x, TensorId gain, float epsilon, uint32_t head_dim) {
    const uint32_t width = tensor(x).width, span = head_dim == 0 ? width : head_dim;
    if (width % span != 0)
        return fail(ErrorKind::Format, "{}: width {} is not a multiple of the head size {}", name, width, head_dim);
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "gain", gain, span));
    const TensorId out = add_activation(name, width);
    nodes.push_back({std::move(name), RmsNormOp{x, kNoTensor, gain, out, kNoTensor, head_dim, epsilon}});
    return out;
}

Result<TensorId> Graph::matmul(std::string name, TensorId x, TensorId weight, TensorId bias) {
    const uint32_t rows = tensor(weight).rows;
    RIFTJIT_TRY_VOID(expect_width(*this, name, "input", x, tensor(weight).width));
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "bias", bias, rows));
    const TensorId out = add_activation(name, rows);
    nodes.push_back({std::move(name), MatmulOp{x, weight, bias, kNoTensor, out}});
    return out;
}

Result<TensorId> Graph::add(std::string name, TensorId left, TensorId right) {
    RIFTJIT_TRY_VOID(expect_width(*this, name, "right side", right, tensor(left).width));
    const TensorId out = add_activation(name, tensor(left).width);
    nodes.push_back({std::move(name), AddOp{left, right, out}});
    return out;
}

Result<TensorId> Graph::rope(std::string name, TensorId x, TensorId factors, uint32_t head_dim, uint32_t rotary_dims,
                             RopePairing pairing, float base, float scale) {
    const uint32_t width = tensor(x).width;
    if (head_dim == 0 || width % head_dim != 0 || rotary_dims > head_dim || rotary_dims % 2 != 0)
        return fail(ErrorKind::Format, "{}: rotary dimensions {} and head size {} do not fit width {}", name,
                    rotary_dims, head_dim, width);
    RIFTJIT_TRY_VOID(expect_vector(*this, name, "frequency factors", factors, rotary_dims / 2));
    const TensorId out = add_activation(name, width);
    nodes.push_back({std::move(name), RopeOp{x, factors, out, head_dim, rotary_dims, pairing, base, scale}});
    return out;
}

Result<TensorId> Graph::attention(std::string name, TensorId q, TensorId k, TensorId v, SlotId slot, uint32_t heads,
                                  float scale) {
    const auto* kv = slot < slots.size() ? std::get_if<KvSlot>(&slots[slot].shape) : nullptr;
    if (kv == nullptr) return fail(ErrorKind::Format, "{}: slot {} is none of keys and values", name, slot);
    const auto [kv_heads, head_dim] = *kv;
    if (kv_heads == 0 || heads % kv_heads != 0)
        return fail(ErrorKind::Format, "{}: {} query heads are not a multiple of {} key/value heads", name, heads,
                    kv_heads);
    RIFTJIT_TRY_VOID(expect_width(*this, name, "query", q, heads * head_dim));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "key", k, kv_heads * head_dim));
    RIFTJIT_TRY_VOID(expect_width(*this, name, "value", v, kv_heads * head_dim));
    const TensorId out = add_activation(name, heads * head_dim);
    nodes.push_back({std::move(name), AttentionOp{q, k, v, out, slot, heads, kv_heads, head_dim, scale}});
    return out;
}

Result<TensorId> Graph::swiglu(std::string name, TensorId gate, TensorId up) {
    RIFTJIT_TRY_VOID(expect_width(*this, name, "up", up, tensor(gate).width));
    const TensorId out = add_activation(name, tensor(gate).width);
    nodes.push_back({std::move(name), SwigluOp{gate, up, out}});
    return out;
}

Result<TensorId> Graph::gather_rows(std::string name, TensorId x) {
    const TensorId out = add_activation(name, tensor(x).width);
    nodes.push_back({std::move(name), GatherRowsOp{x, out}});
    return out;
}

Result<TensorId> Graph::scale(std::string name, TensorId x, float factor) {
    const TensorId out = add_activation(name, tensor(x).width);
    nodes.push_back({std::move(name), ScaleOp{x, out, factor}});
    return out;
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
