// Lowers a graph to launches: picks kernels and row formats, places buffers in one arena, and finds needless barriers.

#include "graph/plan.h"

#include <algorithm>
#include <array>

namespace riftjit::graph {

namespace {

constexpr uint32_t kNoBuffer = ~0u;
constexpr size_t kFormats = 3;  // RowFormat::f32, i16, bf16

struct Buffer {
    uint64_t bytes;
    size_t first_step, last_step;
    uint64_t offset = 0;
};

uint32_t f32_stride(uint32_t width) { return static_cast<uint32_t>(round_up(width, 16)); }

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
        plan_.max_tokens = options.max_tokens;
        plan_.max_outputs = std::min(options.max_outputs, options.max_tokens);
        plan_.form = options.max_tokens > 1 ? MatmulForm::tile : MatmulForm::vector;
    }

    Result<Plan> run() {
        for (node_ = 0; node_ < graph_.nodes.size(); ++node_)
            RIFTJIT_TRY_VOID(std::visit([&](const auto& op) { return lower(op); }, graph_.nodes[node_].op));
        if (graph_.logits == kNoTensor || storage_[graph_.logits][0] == kNoBuffer)
            return fail(ErrorKind::Format, "graph: no node computes the logits");
        if (!gathered_[graph_.logits]) return fail(ErrorKind::Format, "graph: the logits are not of gathered rows");
        Buffer& logits = buffers_[storage_[graph_.logits][0]];
        logits.last_step = plan_.steps.size();
        place_buffers();
        resolve_places();
        if (options_.passes.contains("elide-barriers")) elide_barriers();
        plan_.logits_offset_bytes = logits.offset;
        plan_.logits_stride = f32_stride(graph_.tensor(graph_.logits).width);
        for (const Step& step : plan_.steps) {
            RIFTJIT_TRY_VOID(validate(step.spec));
            RIFTJIT_TRY_VOID(options_.backend->supports(step.spec));
        }
        return std::move(plan_);
    }

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

    uint32_t new_buffer(TensorId id, RowFormat format) {
        const uint64_t rows = gathered_[id] ? plan_.max_outputs : plan_.max_tokens;
        const uint64_t bytes = round_up(rows * options_.backend->row_bytes(format, graph_.tensor(id).width), 64);
        buffers_.push_back({bytes, plan_.steps.size(), plan_.steps.size()});
        const auto buffer = static_cast<uint32_t>(buffers_.size() - 1);
        storage_[id][static_cast<size_t>(format)] = buffer;
        return buffer;
    }

    Place output(TensorId id, RowFormat format = RowFormat::f32) { return buffer_place(new_buffer(id, format)); }

    // The rows of `id` in `format`, converted first if only f32 exists.
    Place input(TensorId id, RowFormat format = RowFormat::f32) {
        uint32_t buffer = storage_[id][static_cast<size_t>(format)];
        if (buffer == kNoBuffer) {
            check(format != RowFormat::f32, "an f32 row is read that was only written quantised");
            const Place rows = input(id);
            const Place converted = output(id, format);
            emit(QuantizeSpec{graph_.tensor(id).width, format}, {rows, converted}, rows_of(id));
            buffer = converted.index;
        }
        return buffer_place(buffer);
    }

    StepRows rows_of(TensorId id) const { return gathered_[id] ? StepRows::outputs : StepRows::batch; }

    bool dies_here(TensorId id) const { return id != graph_.logits && readers_[id].back() == node_; }

    // Storage for `out` that already holds `id`: the same buffer when nobody reads id later, else a copy.
    Place take_over(TensorId id, TensorId out) {
        gathered_[out] = gathered_[id];
        if (dies_here(id)) {
            storage_[out][0] = storage_[id][0];
            return buffer_place(storage_[out][0]);
        }
        const Place from = input(id), to = output(out);
        const uint32_t width = graph_.tensor(id).width;
        const ElementwiseSpec copy{
            width, f32_stride(width), {{f32_stride(width)}}, {{ElementwiseOp::scale, 0, 0, 1.0f}}};
        emit(copy, {from, to}, rows_of(id));
        return to;
    }

    // One launch. The places are those of the arguments that the op describes (the batch excluded), in that order.
    void emit(KernelSpec spec, std::vector<Place> places, StepRows rows) {
        const std::vector<Argument> arguments = signature(spec).arguments;
        check(arguments.size() == places.size() + 1, "a launch has a place for every argument");
        std::vector<Touch> touches;
        for (size_t i = 0; i < places.size(); ++i) {
            check(fits(places[i], arguments[i]), "a place suits its argument");
            touches.push_back({places[i], arguments[i].access});
            if (places[i].kind == Place::Kind::arena) buffers_[places[i].index].last_step = plan_.steps.size();
        }
        plan_.steps.push_back({graph_.nodes[node_].name, std::move(spec), std::move(places), rows, false});
        touches_.push_back(std::move(touches));
    }

    static bool fits(const Place& place, const Argument& argument) {
        if (argument.presence == Presence::absent) return place.kind == Place::Kind::none;
        switch (place.kind) {
            case Place::Kind::none:
                return false;
            case Place::Kind::arena:
                return argument.role == Role::rows;
            case Place::Kind::weight:
                return argument.role == Role::packed || argument.role == Role::vector;
            case Place::Kind::keys:
            case Place::Kind::values:
                return argument.role == Role::cache;
            case Place::Kind::token_ids:
                return argument.role == Role::token_ids;
            case Place::Kind::rope_table:
                return argument.role == Role::table;
        }
        return false;
    }

    // ---- row formats ----

    RowFormat matmul_format(const MatmulOp& op) const {
        return options_.backend->activation_format(graph_.tensor(op.weight).type);
    }

    // The one format that every reader of `id` wants, or f32 when they differ (others are converted on demand).
    RowFormat output_format(TensorId id) const {
        if (!options_.passes.contains("fuse-quantize") || id == graph_.logits || readers_[id].empty())
            return RowFormat::f32;
        std::optional<RowFormat> wanted;
        for (size_t reader : readers_[id]) {
            const auto* matmul = std::get_if<MatmulOp>(&graph_.nodes[reader].op);
            const RowFormat format = matmul != nullptr && matmul->x == id ? matmul_format(*matmul) : RowFormat::f32;
            if (wanted && *wanted != format) return RowFormat::f32;
            wanted = format;
        }
        return *wanted;
    }

    // ---- one overload per op ----

    Result<void> lower(const EmbedOp& op) {
        const Tensor& table = graph_.tensor(op.table);
        emit(EmbedSpec{table.type, table.width},
             {weight_place(op.table), Place{Place::Kind::token_ids, 0, 0}, output(op.out)}, StepRows::batch);
        return {};
    }

    Result<void> lower(const RmsNormOp& op) {
        if (op.head_dim != 0) return lower_head_norm(op);
        gathered_[op.out] = gathered_[op.x];
        const RmsNormSpec spec{graph_.tensor(op.x).width, op.epsilon,
                               op.gain == kNoTensor ? Presence::absent : Presence::present,
                               op.addend == kNoTensor ? Addend::none : Addend::residual, output_format(op.out)};
        const bool adds = op.addend != kNoTensor;
        const Place addend = adds ? input(op.addend) : Place{}, x = adds ? take_over(op.x, op.sum) : input(op.x);
        const Place out = output(op.out, spec.output);
        emit(spec, {x, addend, weight_place(op.gain), out}, rows_of(op.x));
        return {};
    }

    Result<void> lower_head_norm(const RmsNormOp& op) {
        if (op.gain == kNoTensor)
            return fail(ErrorKind::Unsupported, "{}: a per-head norm without a gain has no kernel", node_name());
        const Place rows = take_over(op.x, op.out);
        RopeSpec spec = rope_spec(op.out, op.head_dim);
        spec.norm = Presence::present;
        spec.epsilon = op.epsilon;
        emit(spec, {rows, weight_place(op.gain), Place{}, Place{}}, rows_of(op.x));
        return {};
    }

    Result<void> lower(const MatmulOp& op) {
        const Tensor& weight = graph_.tensor(op.weight);
        const Place x = input(op.x, matmul_format(op));
        gathered_[op.out] = gathered_[op.x];
        const bool accumulates = op.residual != kNoTensor;
        if (accumulates && gathered_[op.residual] != gathered_[op.x])
            return fail(ErrorKind::Format, "{}: input and residual have different row counts", node_name());
        const Place out = accumulates ? take_over(op.residual, op.out) : output(op.out);
        const auto emit_form = [&](MatmulForm form, StepRows rows) {
            emit(MatmulSpec{weight.type, weight.rows, weight.width, f32_stride(weight.rows), form,
                            accumulates ? Epilogue::accumulate : Epilogue::store,
                            op.bias == kNoTensor ? Presence::absent : Presence::present},
                 {weight_place(op.weight), weight_place(op.bias), x, out}, rows);
        };
        if (!gathered_[op.x]) {
            emit_form(plan_.form, StepRows::batch);
        } else {
            emit_form(MatmulForm::vector, StepRows::one_output);
            if (plan_.max_outputs > 1) emit_form(MatmulForm::tile, StepRows::many_outputs);
        }
        return {};
    }

    // Neither norms nor rotates, in place.
    RopeSpec rope_spec(TensorId x, uint32_t head_dim) const {
        const uint32_t width = graph_.tensor(x).width;
        return {width / head_dim, head_dim, 0, f32_stride(width), RopePairing::half, Presence::absent, 0.0f, {}};
    }

    // The attention that alone reads `id` as its keys: then the keys are stored by the kernel that makes them.
    const AttentionOp* sole_key_reader(TensorId id) const {
        if (readers_[id].size() != 1) return nullptr;
        const auto* attention = std::get_if<AttentionOp>(&graph_.nodes[readers_[id].front()].op);
        return attention != nullptr && attention->k == id && attention->q != id && attention->v != id ? attention
                                                                                                      : nullptr;
    }

    Result<void> lower(const RopeOp& op) {
        const AttentionOp* attention = sole_key_reader(op.out);
        const Place table = op.rotary_dims == 0 ? Place{} : rope_table(op);
        if (gathered_[op.x]) return fail_gathered();
        RopeSpec spec = rope_spec(op.x, op.head_dim);
        spec.rotary_dims = op.rotary_dims;
        spec.pairing = op.pairing;
        spec.norm = op.gain == kNoTensor ? Presence::absent : Presence::present;
        spec.epsilon = op.epsilon;
        if (attention != nullptr) {
            key_stored_[op.out] = true;
            spec.key_cache = options_.key_type;
            const Place keys = cache_place(Place::Kind::keys, attention->slot);
            emit(spec, {input(op.x), weight_place(op.gain), table, keys}, StepRows::batch);
        } else {
            const Place rows = take_over(op.x, op.out);
            emit(spec, {rows, weight_place(op.gain), table, Place{}}, StepRows::batch);
        }
        return {};
    }

    Place rope_table(const RopeOp& op) {
        for (size_t i = 0; i < plan_.rope_tables.size(); ++i) {
            const RopeTable& table = plan_.rope_tables[i];
            if (table.rotary_dims == op.rotary_dims && table.base == op.base && table.scale == op.scale &&
                table.factors == op.factors)
                return Place{Place::Kind::rope_table, 0, static_cast<uint32_t>(i)};
        }
        plan_.rope_tables.push_back({op.rotary_dims, op.base, op.scale, op.factors});
        return Place{Place::Kind::rope_table, 0, static_cast<uint32_t>(plan_.rope_tables.size() - 1)};
    }

    Result<void> lower(const AttentionOp& op) {
        if (gathered_[op.q]) return fail_gathered();
        const Place keys = cache_place(Place::Kind::keys, op.slot), values = cache_place(Place::Kind::values, op.slot);
        if (!key_stored_[op.k]) {
            RopeSpec store = rope_spec(op.k, op.head_dim);
            store.key_cache = options_.key_type;
            emit(store, {input(op.k), Place{}, Place{}, keys}, StepRows::batch);
        }
        emit(ValueStoreSpec{op.kv_heads, op.head_dim, f32_stride(graph_.tensor(op.v).width), options_.value_type},
             {input(op.v), values}, StepRows::batch);
        const Place q = input(op.q), out = output(op.out);
        // Tiles, and rows that stand alone: a prompt plan takes both, a decode plan has but the latter.
        for (const MatmulForm form : {MatmulForm::tile, MatmulForm::vector})
            if (form == MatmulForm::vector || plan_.form == MatmulForm::tile)
                emit(AttentionSpec{op.heads, op.kv_heads, op.head_dim, f32_stride(graph_.tensor(op.q).width),
                                   f32_stride(graph_.tensor(op.out).width), options_.key_type, options_.value_type,
                                   op.scale, form},
                     {q, keys, values, out}, StepRows::batch);
        return {};
    }

    Result<void> lower(const SwigluOp& op) {
        const uint32_t width = graph_.tensor(op.gate).width;
        gathered_[op.out] = gathered_[op.gate];
        const Place gate = input(op.gate), up = input(op.up);
        const RowFormat format = output_format(op.out);
        emit(SwigluSpec{width, f32_stride(width), format}, {gate, up, output(op.out, format)}, rows_of(op.gate));
        return {};
    }

    // A batch of one row is what is gathered of it.
    Result<void> lower(const GatherRowsOp& op) {
        gathered_[op.out] = true;
        const Place x = input(op.x);
        if (plan_.max_tokens == 1 && dies_here(op.x)) {
            storage_[op.out][0] = x.index;
            return {};
        }
        emit(GatherRowsSpec{graph_.tensor(op.x).width}, {x, output(op.out)}, StepRows::outputs);
        return {};
    }

    Result<void> lower(const AddOp& op) {
        return lower(ElementwiseChainOp{{op.left, op.right}, {{ElementwiseOp::add, 0, 1, 0.0f}}, op.out});
    }
    Result<void> lower(const ScaleOp& op) {
        return lower(ElementwiseChainOp{{op.x}, {{ElementwiseOp::scale, 0, 0, op.factor}}, op.out});
    }

    Result<void> lower(const ElementwiseChainOp& op) {
        ElementwiseSpec spec{graph_.tensor(op.out).width, f32_stride(graph_.tensor(op.out).width), {}, op.steps};
        std::vector<Place> places;
        for (TensorId id : op.inputs) {
            const Tensor& tensor = graph_.tensor(id);
            const bool is_weight = tensor.kind == TensorKind::weight;
            spec.inputs.push_back({is_weight ? 0 : f32_stride(tensor.width)});
            places.push_back(is_weight ? weight_place(id) : input(id));
            if (!is_weight) gathered_[op.out] = gathered_[id];
        }
        places.push_back(output(op.out));
        emit(std::move(spec), std::move(places), rows_of(op.out));
        return {};
    }

    // ---- memory ----

    // First fit in order of first use, over the buffers alive at that step.
    void place_buffers() {
        const bool reuse = options_.passes.contains("reuse-memory");
        std::vector<uint32_t> order(buffers_.size()), alive;
        for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [&](uint32_t a, uint32_t b) { return buffers_[a].first_step < buffers_[b].first_step; });
        for (uint32_t current : order) {
            Buffer& buffer = buffers_[current];
            if (reuse)
                std::erase_if(alive, [&](uint32_t other) { return buffers_[other].last_step < buffer.first_step; });
            std::sort(alive.begin(), alive.end(),
                      [&](uint32_t a, uint32_t b) { return buffers_[a].offset < buffers_[b].offset; });
            uint64_t offset = 0;
            for (uint32_t other : alive) {
                if (offset + buffer.bytes <= buffers_[other].offset) break;
                offset = std::max(offset, buffers_[other].offset + buffers_[other].bytes);
            }
            buffer.offset = offset;
            plan_.arena_bytes = std::max(plan_.arena_bytes, offset + buffer.bytes);
            alive.push_back(current);
        }
    }

    void resolve_places() {
        for (Step& step : plan_.steps)
            for (Place& place : step.places)
                if (place.kind == Place::Kind::arena) place = {Place::Kind::arena, buffers_[place.index].offset, 0};
    }

    bool conflict(const Touch& a, const Touch& b) const {
        if (!writes(a.access) && !writes(b.access)) return false;
        if (a.place.kind != b.place.kind || a.place.kind == Place::Kind::none) return false;
        if (a.place.kind != Place::Kind::arena) return a.place.index == b.place.index;
        const Buffer &x = buffers_[a.place.index], &y = buffers_[b.place.index];
        return x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
    }

    // Threads run ahead of each other between barriers: a launch needs one before it when it touches what a launch
    // since the last barrier wrote, or writes what one of them touched.
    void elide_barriers() {
        std::vector<Touch> since_barrier;
        for (size_t i = 0; i < plan_.steps.size(); ++i) {
            const bool conflicts = std::ranges::any_of(touches_[i], [&](const Touch& mine) {
                return std::ranges::any_of(since_barrier,
                                           [&](const Touch& earlier) { return conflict(mine, earlier); });
            });
            if (conflicts) since_barrier.clear();
            if (i != 0) plan_.steps[i - 1].parallel_with_next = !conflicts;
            since_barrier.insert(since_barrier.end(), touches_[i].begin(), touches_[i].end());
        }
    }

    std::unexpected<Error> fail_gathered() const {
        return fail(ErrorKind::Format, "{}: gathered rows have no position", node_name());
    }
    const std::string& node_name() const { return graph_.nodes[node_].name; }

    const Graph& graph_;
    const PlanOptions& options_;
    Plan plan_;
    size_t node_ = 0;
    std::vector<Buffer> buffers_;
    std::vector<std::vector<Touch>> touches_;              // per step
    std::vector<std::array<uint32_t, kFormats>> storage_;  // per tensor: its buffer in each format
    std::vector<bool> gathered_;                           // per tensor: only the rows with logits exist
    std::vector<bool> key_stored_;                         // per tensor: already written to the key cache
    std::vector<std::vector<size_t>> readers_;             // per tensor: node indices, ascending
};

std::string place_text(const Place& place) {
    switch (place.kind) {
        case Place::Kind::none:
            return "-";
        case Place::Kind::arena:
            return fmt::format("@{}", place.offset_bytes);
        case Place::Kind::weight:
            return fmt::format("w{}", place.index);
        case Place::Kind::keys:
            return fmt::format("keys{}", place.index);
        case Place::Kind::values:
            return fmt::format("values{}", place.index);
        case Place::Kind::token_ids:
            return "ids";
        case Place::Kind::rope_table:
            return fmt::format("rope{}", place.index);
    }
    return "?";
}

}  // namespace

Result<Plan> make_plan(const Graph& graph, const PlanOptions& options) {
    if (options.max_tokens == 0) return fail(ErrorKind::Usage, "plan: a batch must hold at least one token");
    return Lowering(graph, options).run();
}

std::string to_text(const Plan& plan) {
    std::string text = fmt::format(
        "arena {} bytes for {} tokens, {} launches, {} barriers\n", plan.arena_bytes, plan.max_tokens,
        plan.steps.size(),
        std::count_if(plan.steps.begin(), plan.steps.end(), [](const Step& s) { return !s.parallel_with_next; }));
    for (const Step& step : plan.steps) {
        text += fmt::format("{:<22} {:<56}", step.name, describe(step.spec));
        for (const Place& place : step.places) text += ' ' + place_text(place);
        text += step.parallel_with_next ? "\n" : "  |\n";
    }
    return text;
}

}  // namespace riftjit::graph
