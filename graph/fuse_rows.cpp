// Norms, quantisations and gates taken into the matmuls beside them: for back ends where a launch costs more than to
// norm or quantise a row in each of a product's parts. Only in plans of one row; what is computed stays the same.
#include <algorithm>

#include "graph/lowering.h"

namespace riftjit::graph {
namespace {

bool is_arena(const Place& place) { return place.kind == Place::Kind::arena; }

bool is_same(const Place& a, const Place& b) { return a.kind == b.kind && a.index == b.index; }

// Places of a matmul, and of one that is fused, by argument.
enum MatmulPlace : size_t { kWeights, kBias, kX, kOut };
enum FusedPlace : size_t { kFusedWeights, kFusedUpWeights, kFusedBias, kFusedX, kFusedGain, kFusedOut };
enum SwigluPlace : size_t { kGate, kUp, kGated };

struct Source {
    RowSource source;
    float epsilon = 0;
    Presence gain = Presence::absent;
    Place x = {}, gain_weight = {}, out = {};
};

// Of a step that norms or quantises rows and does no more.
std::optional<Source> source_of(const Step& step) {
    if (const auto* quantize = std::get_if<QuantizeSpec>(&step.spec); quantize != nullptr)
        if (quantize->output == RowFormat::i16)
            return Source{.source = RowSource::quantize, .x = step.places[0], .out = step.places[1]};
    if (const auto* norm = std::get_if<RmsNormSpec>(&step.spec); norm != nullptr)
        if (norm->output != RowFormat::bf16 && norm->addend == Addend::none)
            return Source{RowSource::rms_norm, norm->epsilon,  norm->gain,
                          step.places[0],      step.places[2], step.places[3]};
    return std::nullopt;
}

}  // namespace

void Lowering::fuse_rows() {
    if (plan_.form != MatmulForm::vector) return;
    is_dead_.assign(plan_.steps.size(), false);
    for (size_t i = 0; i < plan_.steps.size(); ++i)
        if (!is_dead_[i]) fuse_source(i);
    for (size_t i = 0; i < plan_.steps.size(); ++i)
        if (!is_dead_[i]) fuse_gate(i);
    remove_dead_steps();
}

std::vector<size_t> Lowering::steps_of(uint32_t buffer) const {
    std::vector<size_t> steps;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
        const auto touches = [&](const Place& place) { return is_arena(place) && place.index == buffer; };
        if (!is_dead_[i] && std::ranges::any_of(plan_.steps[i].places, touches)) steps.push_back(i);
    }
    return steps;
}

bool Lowering::writes_to(size_t step, const Place& rows) const {
    return std::ranges::any_of(touches_[step],
                               [&](const Touch& touch) { return is_same(touch.place, rows) && writes(touch.access); });
}

bool Lowering::is_written_between(const Place& rows, size_t first, size_t last) const {
    for (size_t i = first + 1; i < last; ++i)
        if (!is_dead_[i] && writes_to(i, rows)) return true;
    return false;
}

void Lowering::replace(size_t step, KernelSpec spec, std::vector<Place> places) {
    const std::vector<Argument> arguments = signature(spec).arguments;
    touches_[step].clear();
    for (size_t i = 0; i < places.size(); ++i) touches_[step].push_back({places[i], arguments[i].access});
    plan_.steps[step].spec = std::move(spec);
    plan_.steps[step].places = std::move(places);
}

// Step `i`, if it norms or quantises rows for matmuls alone, is left to them.
bool Lowering::fuse_source(size_t i) {
    const std::optional<Source> source = source_of(plan_.steps[i]);
    if (!source || !is_arena(source->x)) return false;
    struct Fused {
        size_t step;
        FusedMatmulSpec spec;
    };
    std::vector<Fused> readers;
    for (const size_t step : steps_of(source->out.index)) {
        if (step == i) continue;
        const auto* matmul = std::get_if<MatmulSpec>(&plan_.steps[step].spec);
        if (step < i || matmul == nullptr || matmul->form != MatmulForm::vector) return false;
        const FusedMatmulSpec fused{*matmul, source->source, source->epsilon, source->gain, Gating::none};
        if (!options_.backend->supports(fused)) return false;
        // Every part of the product reads the whole row, so nobody may write it meanwhile.
        if (is_written_between(source->x, i, step) || writes_to(step, source->x)) return false;
        readers.push_back({step, fused});
    }
    if (readers.empty()) return false;
    for (const auto& [step, spec] : readers) {
        const std::vector<Place> places = plan_.steps[step].places;
        replace(step, spec, {places[kWeights], Place{}, places[kBias], source->x, source->gain_weight, places[kOut]});
    }
    is_dead_[i] = true;
    return true;
}

// Step `i`, if it gates two products of one row, is left to them; what reads its quantised rows quantises by itself.
bool Lowering::fuse_gate(size_t i) {
    const auto* swiglu = std::get_if<SwigluSpec>(&plan_.steps[i].spec);
    if (swiglu == nullptr || swiglu->activation != Activation::silu || swiglu->up == Presence::absent) return false;
    const std::vector<Place> places = plan_.steps[i].places;
    const auto product_of = [&](const Place& rows) -> std::optional<size_t> {
        const std::vector<size_t> steps = steps_of(rows.index);
        if (steps.size() != 2 || steps[1] != i) return std::nullopt;
        return std::holds_alternative<FusedMatmulSpec>(plan_.steps[steps[0]].spec) ? std::optional(steps[0])
                                                                                   : std::nullopt;
    };
    const auto gate = product_of(places[kGate]), up = product_of(places[kUp]);
    if (!gate || !up || *gate == *up) return false;
    const Step &gate_step = plan_.steps[*gate], &up_step = plan_.steps[*up];
    if (gate_step.spec != up_step.spec || !is_same(gate_step.places[kFusedX], up_step.places[kFusedX]) ||
        !is_same(gate_step.places[kFusedGain], up_step.places[kFusedGain]))
        return false;
    FusedMatmulSpec gated = std::get<FusedMatmulSpec>(gate_step.spec);
    gated.gating = Gating::silu;
    gated.product.out_stride = f32_stride(gated.product.rows);
    const Place x = gate_step.places[kFusedX];
    if (gated.product.rows != swiglu->width || is_written_between(x, std::min(*gate, *up), i)) return false;
    if (!validate(gated) || !options_.backend->supports(gated)) return false;

    Place out = places[kGated];
    std::vector<size_t> quantising;
    if (swiglu->output != RowFormat::f32) {
        for (const size_t step : steps_of(out.index)) {
            if (step == i) continue;
            const auto* matmul = std::get_if<MatmulSpec>(&plan_.steps[step].spec);
            if (matmul == nullptr || matmul->form != MatmulForm::vector) return false;
            if (!options_.backend->supports(
                    FusedMatmulSpec{*matmul, RowSource::quantize, 0, Presence::absent, Gating::none}))
                return false;
            quantising.push_back(step);
        }
        buffers_.push_back({round_up(f32_row_bytes(swiglu->width), 64), i, i});
        out = buffer_place(uint32_t(buffers_.size() - 1));
    }
    for (const size_t step : quantising) {
        const MatmulSpec matmul = std::get<MatmulSpec>(plan_.steps[step].spec);
        const std::vector<Place> own = plan_.steps[step].places;
        replace(step, FusedMatmulSpec{matmul, RowSource::quantize, 0, Presence::absent, Gating::none},
                {own[kWeights], Place{}, own[kBias], out, Place{}, own[kOut]});
    }
    const std::vector<Place> gate_places = gate_step.places;
    replace(i, gated,
            {gate_places[kFusedWeights], up_step.places[kFusedWeights], Place{}, x, gate_places[kFusedGain], out});
    is_dead_[*gate] = is_dead_[*up] = true;
    return true;
}

void Lowering::remove_dead_steps() {
    size_t kept = 0;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
        if (is_dead_[i]) continue;
        if (kept != i) {
            plan_.steps[kept] = std::move(plan_.steps[i]);
            touches_[kept] = std::move(touches_[i]);
        }
        ++kept;
    }
    plan_.steps.resize(kept);
    touches_.resize(kept);
    // Buffers live from the first of their steps that is left to the last.
    std::vector<bool> is_used(buffers_.size());
    for (Buffer& buffer : buffers_) buffer.first_step = buffer.last_step = plan_.steps.size();
    for (size_t i = 0; i < kept; ++i) {
        for (const Place& place : plan_.steps[i].places) {
            if (!is_arena(place)) continue;
            is_used[place.index] = true;
            Buffer& buffer = buffers_[place.index];
            buffer.first_step = std::min(buffer.first_step, i);
            buffer.last_step = i;
        }
    }
    for (size_t i = 0; i < buffers_.size(); ++i)
        if (!is_used[i]) buffers_[i].bytes = 0;
}

namespace {

// What may be a part of one launch with others.
std::optional<SideBySidePart> part_of(const KernelSpec& spec) {
    return std::visit(
        [](const auto& op) -> std::optional<SideBySidePart> {
            if constexpr (std::is_constructible_v<SideBySidePart, decltype(op)>)
                return op;
            else
                return std::nullopt;
        },
        spec);
}

}  // namespace

// Steps without a barrier between them become one launch, where the back end takes it.
void Lowering::join_launches() {
    if (plan_.form != MatmulForm::vector) return;
    std::vector<Step> joined;
    for (size_t i = 0; i < plan_.steps.size();) {
        Step step = plan_.steps[i];
        SideBySideSpec together;
        size_t end = i;
        for (; end < plan_.steps.size(); ++end) {
            const Step& next = plan_.steps[end];
            const auto part = part_of(next.spec);
            if (!part || next.rows != step.rows || (end != i && !plan_.steps[end - 1].parallel_with_next)) break;
            together.parts.push_back(*part);
        }
        while (end > i + 1 && !options_.backend->supports(together)) {
            together.parts.pop_back();
            --end;
        }
        if (end > i + 1) {
            step.spec = together;
            step.parallel_with_next = plan_.steps[end - 1].parallel_with_next;
            for (size_t other = i + 1; other < end; ++other) {
                const Step& part = plan_.steps[other];
                if (step.name.find(part.name) == std::string::npos) step.name += ", " + part.name;
                step.places.insert(step.places.end(), part.places.begin(), part.places.end());
            }
        }
        joined.push_back(std::move(step));
        i = std::max(end, i + 1);
    }
    plan_.steps = std::move(joined);
}

}  // namespace riftjit::graph
