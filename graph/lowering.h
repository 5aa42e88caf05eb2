// Lowers a graph node by node: picks kernels and row formats, and keeps account of buffers and of what launches touch.
#pragma once

#include <algorithm>
#include <array>

#include "graph/plan.h"

namespace riftjit::graph {

inline constexpr uint32_t kNoBuffer = ~0u;

struct Buffer {
    uint64_t bytes;
    size_t first_step, last_step;
    uint64_t offset = 0;
};

inline uint32_t f32_stride(uint32_t width) { return static_cast<uint32_t>(round_up(width, 16)); }

class Lowering {
public:
    Lowering(const Graph& graph, const PlanOptions& options) : graph_(graph), options_(options) {
        storage_.resize(graph.tensors.size());
        for (auto& formats : storage_) formats.fill(kNoBuffer);
        gathered_.resize(graph.tensors.size());
        key_stored_.resize(graph.tensors.size());
        readers_.resize(graph.tensors.size());
        for (size_t i = 0; i < graph.nodes.size(); ++i)
            for (TensorId id : inputs(graph.nodes[i].op)) readers_[id].push_back(i);
        plan_.target = options.backend->target();
        plan_.max_tokens = options.max_tokens;
        plan_.max_outputs = std::min(options.max_outputs, options.max_tokens);
        plan_.form = options.max_tokens > 1 ? MatmulForm::tile : MatmulForm::vector;
    }

    Result<Plan> run();

private:
    // ---- places and buffers ----

    // What a launch does to a place (in the arena: index is the buffer).
    struct Touch {
        Place place;
        Access access;
    };

    static Place buffer_place(uint32_t buffer) { return {Place::Kind::arena, 0, buffer}; }
    static Place weight_place(TensorId id) { return id == kNoTensor ? Place{} : Place{Place::Kind::weight, 0, id}; }
    static Place cache_place(Place::Kind kind, SlotId slot) { return {kind, 0, slot}; }
    static Place state_place(SlotId slot) { return {Place::Kind::state, 0, slot}; }

    uint32_t new_buffer(TensorId id, RowFormat format);
    Place output(TensorId id, RowFormat format = RowFormat::f32) { return buffer_place(new_buffer(id, format)); }

    // Room that no tensor of the graph is in.
    Place scratch(uint64_t bytes);

    // The rows of `id` in `format`, converted first if only f32 exists.
    Place input(TensorId id, RowFormat format = RowFormat::f32);
    StepRows rows_of(TensorId id) const { return gathered_[id] ? StepRows::outputs : StepRows::batch; }

    bool dies_here(TensorId id) const { return id != graph_.logits && readers_[id].back() == node_; }

    // Storage for `out` that already holds `id`: the same buffer when nobody reads id later, else a copy.
    Place take_over(TensorId id, TensorId out);
    // One launch. The places are those of the arguments that the op describes (the batch excluded), in that order.
    void emit(KernelSpec spec, std::vector<Place> places, StepRows rows);
    static bool fits(const Place& place, const Argument& argument);

    // ---- row formats ----

    // That products with the tensor read.
    RowFormat product_format(TensorId weight) const {
        return options_.backend->activation_format(graph_.tensor(weight).type, options_.activations);
    }
    // A product with the tensor, or with each matrix of a stack, that is stored.
    MatmulSpec product_spec(TensorId weight, TensorId bias, MatmulForm form) const {
        const Tensor& tensor = graph_.tensor(weight);
        return {tensor.type,
                tensor.rows,
                tensor.width,
                f32_stride(tensor.rows),
                form,
                Epilogue::store,
                bias == kNoTensor ? Presence::absent : Presence::present,
                KOrder::sequence,
                is_quantized(tensor.type) ? options_.activations : Activations::i13};
    }

    // The one format that every reader of `id` wants, or f32 when they differ (others are converted on demand).
    RowFormat output_format(TensorId id) const;
    // ---- ops ----

    // One launch or more for a node: the specialisation for its op, in the op's own file (ops/). An op without one does
    // not link.
    template <class Operation>
    Result<void> lower(const Operation& op);

    Result<void> lower_head_norm(const RmsNormOp& op);
    Place rope_table(const RopeOp& op);
    // The attention that alone reads `id` as its keys, and wants them as they are: then the kernel that makes the keys
    // stores them.
    const AttentionOp* sole_key_reader(TensorId id) const;

    // Neither norms nor rotates, in place.
    RopeSpec rope_spec(TensorId x, uint32_t head_dim) const {
        const uint32_t width = graph_.tensor(x).width;
        return {width / head_dim, head_dim, 0, f32_stride(width), RopePairing::half, Presence::absent, 0.0f, {}};
    }

    // ---- fusion across launches (fuse_rows.cpp) ----

    // Norms, quantisation and gating into the matmuls behind or before them, where the back end has such kernels.
    void fuse_rows();
    void join_launches();  // once barriers are known
    bool fuse_source(size_t step);
    bool fuse_gate(size_t step);
    // Steps that touch the buffer, those that are gone left out.
    std::vector<size_t> steps_of(uint32_t buffer) const;
    bool is_written_between(const Place& rows, size_t first, size_t last) const;
    bool writes_to(size_t step, const Place& rows) const;
    void replace(size_t step, KernelSpec spec, std::vector<Place> places);
    void remove_dead_steps();
    std::vector<bool> is_dead_;

    // Launches behind the logits, where the back end has them; the buffer of what they find.
    std::optional<uint32_t> find_highest();

    // ---- memory ----

    // First fit in order of first use, over the buffers alive at that step.
    void place_buffers();
    void resolve_places();

    bool conflict(const Touch& a, const Touch& b) const;
    // Threads run ahead of each other between barriers: a launch needs one before it when it touches what a launch
    // since the last barrier wrote, or writes what one of them touched.
    void elide_barriers();

    std::unexpected<Error> fail_gathered() const {
        return fail(ErrorKind::Format, "{}: gathered rows have no position", node_name());
    }
    const std::string& node_name() const { return graph_.nodes[node_].name; }

    const Graph& graph_;
    const PlanOptions& options_;
    Plan plan_;
    size_t node_ = 0;
    std::vector<Buffer> buffers_;
    std::vector<std::vector<Touch>> touches_;                 // per step
    std::vector<std::array<uint32_t, kRowFormats>> storage_;  // per tensor: its buffer in each format
    std::vector<bool> gathered_;                              // per tensor: only the rows with logits exist
    std::vector<bool> key_stored_;                            // per tensor: already written to the key cache
    std::vector<std::vector<size_t>> readers_;                // per tensor: node indices, ascending
};

}  // namespace riftjit::graph
