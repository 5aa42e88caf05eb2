// Lowers a graph to launches: picks kernels and row formats, places buffers in one arena, and finds needless barriers.

#include <algorithm>

#include "graph/lowering.h"

namespace riftjit::graph {

Result<Plan> Lowering::run() {
    for (node_ = 0; node_ < graph_.nodes.size(); ++node_)
        RIFTJIT_TRY_VOID(std::visit([&](const auto& op) { return lower(op); }, graph_.nodes[node_].op));
    if (graph_.logits == kNoTensor || storage_[graph_.logits][0] == kNoBuffer)
        return fail(ErrorKind::Format, "graph: no node computes the logits");
    if (!gathered_[graph_.logits]) return fail(ErrorKind::Format, "graph: the logits are not of gathered rows");
    if (options_.passes.contains("fuse-rows")) fuse_rows();
    const std::optional<uint32_t> highest = options_.passes.contains("find-highest") ? find_highest() : std::nullopt;
    Buffer& logits = buffers_[storage_[graph_.logits][0]];
    logits.last_step = plan_.steps.size();
    if (highest) buffers_[*highest].last_step = plan_.steps.size();
    place_buffers();
    resolve_places();
    if (options_.passes.contains("elide-barriers")) elide_barriers();
    if (options_.passes.contains("join-launches")) join_launches();
    plan_.logits_offset_bytes = logits.offset;
    if (highest) plan_.highest_offset_bytes = buffers_[*highest].offset;
    plan_.logits_stride = f32_stride(graph_.tensor(graph_.logits).width);
    for (const Step& step : plan_.steps) {
        RIFTJIT_TRY_VOID(validate(step.spec));
        RIFTJIT_TRY_VOID(options_.backend->supports(step.spec));
    }
    return std::move(plan_);
}

uint32_t Lowering::new_buffer(TensorId id, RowFormat format) {
    const uint64_t rows = gathered_[id] ? plan_.max_outputs : plan_.max_tokens;
    const uint64_t bytes = round_up(rows * options_.backend->row_bytes(format, graph_.tensor(id).width), 64);
    buffers_.push_back({bytes, plan_.steps.size(), plan_.steps.size()});
    const auto buffer = static_cast<uint32_t>(buffers_.size() - 1);
    storage_[id][static_cast<size_t>(format)] = buffer;
    return buffer;
}

Place Lowering::input(TensorId id, RowFormat format) {
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

Place Lowering::scratch(uint64_t bytes) {
    const size_t now = plan_.steps.size();
    buffers_.push_back({round_up(bytes, 64), now, now});
    return buffer_place(static_cast<uint32_t>(buffers_.size() - 1));
}

Place Lowering::take_over(TensorId id, TensorId out) {
    gathered_[out] = gathered_[id];
    if (dies_here(id)) {
        storage_[out][0] = storage_[id][0];
        return buffer_place(storage_[out][0]);
    }
    const Place from = input(id), to = output(out);
    const uint32_t width = graph_.tensor(id).width;
    const ElementwiseSpec copy{width, f32_stride(width), {{f32_stride(width)}}, {{ElementwiseOp::scale, 0, 0, 1.0f}}};
    emit(copy, {from, to}, rows_of(id));
    return to;
}

void Lowering::emit(KernelSpec spec, std::vector<Place> places, StepRows rows) {
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

bool Lowering::fits(const Place& place, const Argument& argument) {
    if (argument.presence == Presence::absent) return place.kind == Place::Kind::none;
    switch (place.kind) {
        case Place::Kind::none:
            return false;
        case Place::Kind::arena:
            return argument.role == Role::rows || argument.role == Role::routes;
        case Place::Kind::weight:
            return argument.role == Role::packed || argument.role == Role::vector;
        case Place::Kind::keys:
        case Place::Kind::values:
            return argument.role == Role::cache;
        case Place::Kind::token_ids:
        case Place::Kind::positions:
            return argument.role == Role::token_ids;
        case Place::Kind::rope_table:
            return argument.role == Role::table;
        case Place::Kind::state:
            return argument.role == Role::state;
    }
    return false;
}

RowFormat Lowering::output_format(TensorId id) const {
    if (!options_.passes.contains("fuse-quantize") || id == graph_.logits || readers_[id].empty())
        return RowFormat::f32;
    std::optional<RowFormat> wanted;
    for (size_t reader : readers_[id]) {
        const auto* matmul = std::get_if<MatmulOp>(&graph_.nodes[reader].op);
        const RowFormat format = matmul != nullptr && matmul->x == id ? product_format(matmul->weight) : RowFormat::f32;
        if (wanted && *wanted != format) return RowFormat::f32;
        wanted = format;
    }
    return *wanted;
}

std::optional<uint32_t> Lowering::find_highest() {
    const uint32_t width = graph_.tensor(graph_.logits).width, parts = highest_parts(width);
    const HighestSpec first{width, parts == 1 ? HighestStage::whole : HighestStage::parts};
    const HighestSpec merge{width, HighestStage::merge};
    if (!options_.backend->supports(first) || (parts > 1 && !options_.backend->supports(merge))) return std::nullopt;
    node_ = graph_.nodes.size() - 1;
    const auto add_buffer = [&](uint64_t lists) {
        return scratch(plan_.max_outputs * lists * kHighest * sizeof(IndexedLogit));
    };
    const auto add_step = [&](const HighestSpec& spec, std::vector<Place> places) {
        emit(spec, std::move(places), StepRows::outputs);
        plan_.steps.back().name = "highest";
    };
    const Place logits = input(graph_.logits);
    if (parts == 1) {
        const Place out = add_buffer(1);
        add_step(first, {logits, Place{}, out});
        return out.index;
    }
    const Place lists = add_buffer(parts);
    add_step(first, {logits, lists, Place{}});
    const Place out = add_buffer(1);
    add_step(merge, {Place{}, lists, out});
    return out.index;
}

void Lowering::place_buffers() {
    const bool reuse = options_.passes.contains("reuse-memory");
    std::vector<uint32_t> order(buffers_.size()), alive;
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return buffers_[a].first_step < buffers_[b].first_step; });
    for (uint32_t current : order) {
        Buffer& buffer = buffers_[current];
        if (reuse) std::erase_if(alive, [&](uint32_t other) { return buffers_[other].last_step < buffer.first_step; });
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

void Lowering::resolve_places() {
    for (Step& step : plan_.steps)
        for (Place& place : step.places)
            if (place.kind == Place::Kind::arena) place = {Place::Kind::arena, buffers_[place.index].offset, 0};
}

bool Lowering::conflict(const Touch& a, const Touch& b) const {
    if (!writes(a.access) && !writes(b.access)) return false;
    if (a.place.kind != b.place.kind || a.place.kind == Place::Kind::none) return false;
    if (a.place.kind != Place::Kind::arena) return a.place.index == b.place.index;
    const Buffer &x = buffers_[a.place.index], &y = buffers_[b.place.index];
    return x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
}

void Lowering::elide_barriers() {
    std::vector<Touch> since_barrier;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
        const bool conflicts = std::ranges::any_of(touches_[i], [&](const Touch& mine) {
            return std::ranges::any_of(since_barrier, [&](const Touch& earlier) { return conflict(mine, earlier); });
        });
        if (conflicts) since_barrier.clear();
        if (i != 0) plan_.steps[i - 1].parallel_with_next = !conflicts;
        since_barrier.insert(since_barrier.end(), touches_[i].begin(), touches_[i].end());
    }
}

std::string to_text(const Place& place) {
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
        case Place::Kind::positions:
            return "positions";
        case Place::Kind::rope_table:
            return fmt::format("rope{}", place.index);
        case Place::Kind::state:
            return fmt::format("state{}", place.index);
    }
    return "?";
}

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
        for (const Place& place : step.places) text += ' ' + to_text(place);
        text += step.parallel_with_next ? "\n" : "  |\n";
    }
    return text;
}

}  // namespace riftjit::graph
