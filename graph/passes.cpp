// The passes: each rewrites the graph so that fewer launches move fewer bytes, and keeps what it computes.

#include <algorithm>
#include <array>

#include "graph/plan.h"

namespace riftjit::graph {

namespace {

constexpr size_t kNowhere = ~size_t{0};

// Where a tensor is written and read.
struct Uses {
    size_t producer = kNowhere;
    std::vector<size_t> readers;
};

std::vector<Uses> find_uses(const Graph& graph) {
    std::vector<Uses> uses(graph.tensors.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
        for (TensorId id : inputs(graph.nodes[i].op)) uses[id].readers.push_back(i);
        for (TensorId id : outputs(graph.nodes[i].op)) uses[id].producer = i;
    }
    return uses;
}

void erase_nodes(Graph& graph, const std::vector<bool>& dead) {
    size_t kept = 0;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
        if (dead[i]) continue;
        if (kept != i) graph.nodes[kept] = std::move(graph.nodes[i]);
        ++kept;
    }
    graph.nodes.resize(kept);
}

void remove_unused_nodes(Graph& graph) {
    std::vector<bool> needed(graph.tensors.size()), dead(graph.nodes.size());
    if (graph.logits != kNoTensor) needed[graph.logits] = true;
    for (size_t i = graph.nodes.size(); i-- > 0;) {
        const auto outs = outputs(graph.nodes[i].op);
        dead[i] = std::none_of(outs.begin(), outs.end(), [&](TensorId id) { return needed[id]; });
        if (dead[i]) continue;
        for (TensorId id : inputs(graph.nodes[i].op)) needed[id] = true;
    }
    erase_nodes(graph, dead);
}

// Add(x, Matmul(...)) => the matmul accumulates into x, when nothing reads x afterwards.
void fuse_residual_into_matmul(Graph& graph) {
    const std::vector<Uses> uses = find_uses(graph);
    std::vector<bool> dead(graph.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
        const auto* add = std::get_if<AddOp>(&graph.nodes[i].op);
        if (add == nullptr) continue;
        for (auto [residual, product] : {std::pair{add->left, add->right}, std::pair{add->right, add->left}}) {
            const size_t producer = uses[product].producer;
            auto* matmul = producer == kNowhere ? nullptr : std::get_if<MatmulOp>(&graph.nodes[producer].op);
            if (matmul == nullptr || matmul->residual != kNoTensor || uses[product].readers.size() != 1) continue;
            // The sum is written where the residual lies, at the matmul: its other readers must come before.
            const auto& readers = uses[residual].readers;
            const bool is_free = std::all_of(readers.begin(), readers.end(),
                                             [&](size_t reader) { return reader == i || reader < producer; });
            const bool is_ready = uses[residual].producer != kNowhere && uses[residual].producer < producer;
            if (!is_free || !is_ready || residual == product) continue;
            matmul->residual = residual;
            matmul->out = add->out;
            dead[i] = true;
            break;
        }
    }
    erase_nodes(graph, dead);
}

// RmsNorm(Add(x, y)) => one pass over the row that also stores the sum, when nothing else needs x afterwards.
void fuse_residual_into_norm(Graph& graph) {
    const std::vector<Uses> uses = find_uses(graph);
    std::vector<bool> dead(graph.nodes.size());
    for (size_t i = 0; i + 1 < graph.nodes.size(); ++i) {
        const auto* add = std::get_if<AddOp>(&graph.nodes[i].op);
        auto* norm = std::get_if<RmsNormOp>(&graph.nodes[i + 1].op);
        if (add == nullptr || norm == nullptr || norm->x != add->out) continue;
        if (norm->head_dim != 0 || norm->addend != kNoTensor || add->left == add->right) continue;
        if (uses[add->left].producer == kNowhere || uses[add->left].readers.back() != i) continue;
        norm->x = add->left;
        norm->addend = add->right;
        norm->sum = add->out;
        dead[i] = true;
    }
    erase_nodes(graph, dead);
}

// Rope(RmsNorm per head) => one kernel that keeps the head in registers.
void fuse_head_norm_into_rope(Graph& graph) {
    const std::vector<Uses> uses = find_uses(graph);
    std::vector<bool> dead(graph.nodes.size());
    for (Node& node : graph.nodes) {
        auto* rope = std::get_if<RopeOp>(&node.op);
        if (rope == nullptr || rope->gain != kNoTensor || uses[rope->x].producer == kNowhere) continue;
        const size_t producer = uses[rope->x].producer;
        const auto* norm = std::get_if<RmsNormOp>(&graph.nodes[producer].op);
        if (norm == nullptr || norm->head_dim != rope->head_dim || norm->gain == kNoTensor) continue;
        if (graph.tensor(norm->gain).width != norm->head_dim) continue;  // gains of their own
        if (uses[rope->x].readers.size() != 1) continue;
        rope->gain = norm->gain;
        rope->epsilon = norm->epsilon;
        rope->x = norm->x;
        dead[producer] = true;
    }
    erase_nodes(graph, dead);
}

std::optional<ElementwiseChainOp> as_chain(const Op& op) {
    if (const auto* add = std::get_if<AddOp>(&op))
        return ElementwiseChainOp{{add->left, add->right}, {{ElementwiseOp::add, 0, 1, 0.0f}}, add->out};
    if (const auto* scale = std::get_if<ScaleOp>(&op))
        return ElementwiseChainOp{{scale->x}, {{ElementwiseOp::scale, 0, 0, scale->factor}}, scale->out};
    if (const auto* softcap = std::get_if<SoftcapOp>(&op))
        return ElementwiseChainOp{{softcap->x}, {{ElementwiseOp::softcap, 0, 0, softcap->cap}}, softcap->out};
    if (const auto* chain = std::get_if<ElementwiseChainOp>(&op)) return *chain;
    return std::nullopt;
}

// first feeds input `slot` of second: values are first's inputs, second's other inputs, first's steps, second's steps.
std::optional<ElementwiseChainOp> join_chains(const ElementwiseChainOp& first, const ElementwiseChainOp& second) {
    ElementwiseChainOp joined{first.inputs, {}, second.out};
    for (size_t i = 0; i < first.inputs.size(); ++i) joined.columns.push_back(first.column(i));
    for (size_t i = 0; i < second.inputs.size(); ++i) {
        const TensorId id = second.inputs[i];
        if (id == first.out) {
            if (second.column(i) != kWholeRow) return std::nullopt;  // rows of another width
            continue;
        }
        joined.inputs.push_back(id);
        joined.columns.push_back(second.column(i));
    }
    const size_t inputs = joined.inputs.size();
    if (inputs > kMaxElementwiseInputs) return std::nullopt;
    const auto first_value = [&](uint8_t value) {
        return static_cast<uint8_t>(value < first.inputs.size() ? value : value - first.inputs.size() + inputs);
    };
    std::vector<uint8_t> second_inputs;
    size_t next_input = first.inputs.size();
    const size_t first_result = inputs + first.steps.size() - 1;
    for (TensorId id : second.inputs)
        second_inputs.push_back(static_cast<uint8_t>(id == first.out ? first_result : next_input++));
    const auto second_value = [&](uint8_t value) {
        if (value < second_inputs.size()) return second_inputs[value];
        return static_cast<uint8_t>(value - second_inputs.size() + first_result + 1);
    };
    for (const ElementwiseStep& step : first.steps)
        joined.steps.push_back({step.op, first_value(step.left), first_value(step.right), step.constant});
    for (const ElementwiseStep& step : second.steps)
        joined.steps.push_back({step.op, second_value(step.left), second_value(step.right), step.constant});
    return joined;
}

// Chains of Add and Scale whose links nobody else reads => one pass over memory.
void fuse_elementwise_chains(Graph& graph) {
    bool changed = true;
    while (changed) {
        changed = false;
        const std::vector<Uses> uses = find_uses(graph);
        std::vector<bool> dead(graph.nodes.size());
        for (size_t i = 0; i < graph.nodes.size() && !changed; ++i) {
            const auto first = as_chain(graph.nodes[i].op);
            if (!first || uses[first->out].readers.size() != 1 || first->out == graph.logits) continue;
            const size_t reader = uses[first->out].readers.front();
            const auto second = as_chain(graph.nodes[reader].op);
            if (!second) continue;
            const auto joined = join_chains(*first, *second);
            if (!joined) continue;
            graph.nodes[reader].op = *joined;
            dead[i] = changed = true;
        }
        erase_nodes(graph, dead);
    }
}

constexpr std::array kPasses = {
    Pass{"remove-unused", "drop nodes whose results nobody reads", remove_unused_nodes},
    Pass{"fuse-residual-matmul", "let a matmul accumulate into the residual stream", fuse_residual_into_matmul},
    Pass{"fuse-residual-norm", "add the residual inside the norm that follows", fuse_residual_into_norm},
    Pass{"fuse-head-norm-rope", "norm a head and rotate it in one kernel", fuse_head_norm_into_rope},
    Pass{"fuse-elementwise", "join chains of add and scale", fuse_elementwise_chains},
    Pass{"fuse-quantize", "write quantised rows straight from norms and SwiGLU", nullptr},
    Pass{"fuse-rows", "leave norms, quantisation and gates to the matmuls beside them, where launches cost more",
         nullptr},
    Pass{"find-highest", "find the highest logits where they are computed, where reading all of them costs more",
         nullptr},
    Pass{"elide-barriers", "no barrier between launches that touch different data", nullptr},
    Pass{"join-launches", "make one launch of those without a barrier between them, where launches cost more", nullptr},
    Pass{"reuse-memory", "share arena bytes between buffers that never live together", nullptr},
};

const Pass* find_pass(std::string_view name) {
    for (const Pass& pass : kPasses)
        if (pass.name == name) return &pass;
    return nullptr;
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

Result<PassSet> parse_passes(std::string_view text) {
    PassSet all, chosen;
    std::string known;
    for (const Pass& pass : kPasses) {
        all.insert(pass.name);
        known.append(known.empty() ? "" : ", ").append(pass.name);
    }
    if (text == "all") return all;
    if (text == "none") return chosen;
    const bool excluding = text.starts_with('-');
    if (excluding) chosen = all;
    while (!text.empty()) {
        const size_t comma = std::min(text.find(','), text.size());
        std::string_view name = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        if (excluding != name.starts_with('-'))
            return fail(ErrorKind::Usage, "--passes: '{}' mixes names to keep with names to leave out", name);
        if (excluding) name.remove_prefix(1);
        const Pass* pass = find_pass(name);
        if (pass == nullptr)
            return fail(ErrorKind::Usage, "--passes: unknown pass '{}'; known: all, none, {} (each also as -NAME)",
                        name, known);
        if (excluding)
            chosen.erase(pass->name);
        else
            chosen.insert(pass->name);
    }
    return chosen;
}

Graph apply_passes(Graph graph, const PassSet& enabled) {
    for (const Pass& pass : kPasses)
        if (pass.run != nullptr && enabled.contains(pass.name)) pass.run(graph);
    return graph;
}

}  // namespace riftjit::graph
