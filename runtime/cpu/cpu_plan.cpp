#include "runtime/cpu/cpu_plan.h"

#include <x86intrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "host/half.h"
#include "jit/x86/decoders/packed.h"
#include "jit/x86/kv_layout.h"
#include "jit/x86/rows.h"

namespace riftjit::runtime {
namespace {

// A launch of some ten microseconds and more is taken in pieces, so that a thread that is done with its share helps
// those on slow or busy cores. Each begins with its own share, whose weights follow each other in memory: what is
// fetched ahead of one piece is the next one. Shorter launches are cut into equal shares: a piece costs as much as a
// cache miss.
constexpr uint32_t kClaimsPerThread = 6;
constexpr size_t kSlotsPerLine = 64 / sizeof(uint32_t);

// Up to so many rows, reading weights is what takes the time. What is fetched ahead must fit a second-level cache.
constexpr uint32_t kFewRows = 8;
constexpr uint64_t kMaxAheadBytes = 96 * 1024;

// `times` that the spec's flops are done.
bool is_long(const KernelSpec& spec, uint64_t times) {
    constexpr uint64_t kManyBytes = 256 * 1024, kManyFlops = 1'000'000;
    const KernelCost work = cost(spec);
    return work.weight_bytes >= kManyBytes || work.flops * times >= kManyFlops;
}

// Attention takes single rows whole where the longest is less than a thread's work divided by this: then whoever ends
// last ends little later than the others.
constexpr uint32_t kRowsPerThread = 8;

bool is_finite(const float* rows, const Argument& shape, uint32_t count) {
    for (uint32_t row = 0; row < count; ++row) {
        const float* const values = rows + uint64_t(row) * (shape.stride_bytes / sizeof(float));
        if (!std::all_of(values, values + shape.width, [](float value) { return std::isfinite(value); })) return false;
    }
    return true;
}

}  // namespace

Result<std::unique_ptr<CpuPlan>> CpuPlan::create(const graph::Plan& plan, const Addresses& addresses,
                                                 const Context& context) {
    std::unique_ptr<CpuPlan> bound(new CpuPlan(plan, context));
    RIFTJIT_TRY_VOID(bound->find_kernels(context.kernels));
    bound->bind_arguments(addresses);
    RIFTJIT_TRY_VOID(bound->reserve_parts(addresses.pages_per_sequence));
    return bound;
}

Result<void> CpuPlan::find_kernels(x86::HostKernels& kernels) {
    launches_.reserve(plan_.steps.size());
    for (const graph::Step& step : plan_.steps) {
        RIFTJIT_TRY(function, kernels.get(step.spec, isa_));
        launches_.push_back({function, nullptr, 0, 0, false});
    }
    slots_per_thread_ = launches_.size() + kSlotsPerLine;
    shares_.resize(pool_.size() * slots_per_thread_);
    taken_ = std::vector<std::atomic<uint32_t>>(shares_.size());
    return {};
}

void CpuPlan::bind_arguments(const Addresses& addresses) {
    std::vector<Signature> signatures;
    size_t words = 0;
    for (const graph::Step& step : plan_.steps) {
        signatures.push_back(signature(step.spec));
        words += signatures.back().args_bytes / sizeof(void*);
    }
    arguments_.resize(words);  // launches keep pointers into it
    std::byte* next = reinterpret_cast<std::byte*>(arguments_.data());
    for (size_t i = 0; i < launches_.size(); ++i) {
        const graph::Step& step = plan_.steps[i];
        launches_[i].args = next;
        for (size_t place = 0; const Argument& argument : signatures[i].arguments) {
            const void* value = step.rows == graph::StepRows::batch ? &batch_ : &outputs_;
            // Places of absent arguments may be left out at the end.
            if (argument.role != Role::batch && place < step.places.size())
                value = resolve(step.places[place++], addresses);
            check(argument.presence == Presence::absent || value != nullptr, "every argument has an address");
            std::memcpy(next + argument.offset_bytes, &value, sizeof value);
        }
        if (const auto* matmul = std::get_if<MatmulSpec>(&step.spec)) {
            std::memcpy(&launches_[i].weights, next + offsetof(MatmulArgs, weights), sizeof(void*));
            launches_[i].unit_bytes = x86::packed_panel_bytes(matmul->weight, matmul->width);
        }
        next += signatures[i].args_bytes;
    }
}

// Room for the parts of as many units as measure_attention() may make, of which a text touches what it needs: a part is
// about a hundredth of what its segment takes in the cache of a layer.
Result<void> CpuPlan::reserve_parts(uint32_t pages_per_sequence) {
    uint64_t part_bytes = 0;
    for (const graph::Step& step : plan_.steps) {
        const auto* attention = std::get_if<AttentionSpec>(&step.spec);
        if (attention == nullptr || attention->form != MatmulForm::vector) continue;
        kv_heads_ = std::max(kv_heads_, attention->kv_heads);
        const uint32_t group = attention->heads / attention->kv_heads;
        part_bytes = std::max(part_bytes, x86::attention_part_bytes(group, attention->head_dim));
    }
    if (pool_.size() == 1 || kv_heads_ == 0 || pages_per_sequence < 2) return {};
    const uint64_t units = std::min(uint64_t(plan_.max_tokens) * kv_heads_, uint64_t(kRowsPerThread) * pool_.size());
    RIFTJIT_TRY(pages, Pages::allocate(units * pages_per_sequence * part_bytes, Pages::Size::normal,
                                       "the parts of attention", Pages::Backing::sparse));
    parts_ = std::move(pages);
    finished_.resize(size_t(plan_.max_tokens) * kv_heads_);
    return {};
}

// Whole rows or segments of them: either gives the same bits.
void CpuPlan::measure_attention() {
    attention_ = {};
    for (const BatchTile& tile : std::span(batch_.tile, batch_.tiles))
        attention_.seen_by_tiles += uint64_t(tile.rows) * (tile.position + 1);
    uint32_t longest = 0;
    uint64_t segments = 0;
    for (const BatchTile& row : std::span(batch_.single, batch_.singles)) {
        attention_.seen_by_singles += row.position + 1;
        segments += segment_count(row.position);
        longest = std::max(longest, segment_count(row.position));
    }
    // Powers of two are near enough, and seldom become others.
    attention_.seen_by_tiles = std::bit_floor(attention_.seen_by_tiles);
    attention_.seen_by_singles = std::bit_floor(attention_.seen_by_singles);
    const bool is_even = uint64_t(longest) * kRowsPerThread * pool_.size() <= segments * kv_heads_;
    if (parts_.data() == nullptr || longest < 2 || is_even) return;
    attention_.segments = uint32_t(segments);
    batch_.parts = parts_.data();
    batch_.finished = finished_.data();
}

// That a step reads: each of them is the same amount of work, in whatever launches they are.
uint32_t CpuPlan::row_count(const graph::Step& step) const {
    return (step.rows == graph::StepRows::batch ? batch_.rows : outputs_.rows) * step.rows_each;
}

// What unit_count() wants.
uint32_t CpuPlan::rows_of(const graph::Step& step) const {
    return is_cut(step) ? attention_.segments : runtime::rows_of(step, batch_);
}

// How often the cost of the step's spec: for each row, or position that a row sees.
uint64_t CpuPlan::work_of(const graph::Step& step) const {
    const auto* attention = std::get_if<AttentionSpec>(&step.spec);
    if (attention == nullptr) return row_count(step);
    return attention->form == MatmulForm::tile ? attention_.seen_by_tiles : attention_.seen_by_singles;
}

// Whether the same launches have the same units.
bool CpuPlan::is_counted() const {
    return batch_.rows == counted_.rows && batch_.tiles == counted_.tiles && batch_.singles == counted_.singles &&
           batch_.outputs == counted_.outputs && batch_.runs == counted_.runs && attention_ == counted_attention_;
}

bool CpuPlan::is_cut(const graph::Step& step) const {
    const auto* attention = std::get_if<AttentionSpec>(&step.spec);
    return attention_.segments != 0 && attention != nullptr && cuts_rows(*attention);
}

// A barrier that no launch has passed since the last one is left out.
void CpuPlan::count_units() {
    if (is_counted()) return;
    const uint32_t threads = pool_.size();
    bool has_work = false;  // since the last barrier
    behind_barriers_ = 0;
    for (size_t i = 0; i < launches_.size(); ++i) {
        const graph::Step& step = plan_.steps[i];
        Launch& launch = launches_[i];
        const uint32_t rows = rows_of(step);
        launch.units = rows == 0 ? 0 : unit_count(step.spec, rows);
        const bool is_shared_out = launch.units != 0 && is_long(step.spec, work_of(step));
        const uint32_t grain = unit_grain(step.spec), grains = (launch.units + grain - 1) / grain;
        launch.claim = is_shared_out ? std::max(1u, grains / (threads * kClaimsPerThread)) * grain : 0;
        for (uint32_t thread = 0; thread < threads; ++thread) {
            const Share share = share_of(grains, thread, threads);
            shares_[slot(thread, i)] = {share.begin * grain, std::min(share.end * grain, launch.units)};
        }
        has_work |= launch.units != 0;
        // At the end is the pool's join. Two attentions side by side would need parts of their own.
        launch.barrier_after = has_work && (!step.parallel_with_next || is_cut(step)) && i + 1 != launches_.size();
        if (!launch.barrier_after) continue;
        has_work = false;
        behind_barriers_ = i + 1;
    }
    size_t next_weights = kNone;
    for (size_t i = launches_.size(); i-- > 0;) {
        launches_[i].next_weights = batch_.rows <= kFewRows ? next_weights : kNone;
        if (launches_[i].weights != nullptr && launches_[i].units != 0) next_weights = i;
    }
    counted_ = batch_;
    counted_attention_ = attention_;
}

void CpuPlan::run_alone() {
    if (ticks_.empty()) {
        for (const Launch& launch : launches_)
            if (launch.units != 0) run_whole(launch);
        return;
    }
    uint64_t then = __rdtsc();
    for (size_t i = 0; i < launches_.size(); ++i) {
        if (launches_[i].units != 0) run_whole(launches_[i]);
        const uint64_t now = __rdtsc();
        ticks_[0].working[i] += now - then;
        then = now;
    }
}

// A piece of a share that has some left.
bool CpuPlan::run_claim(const Launch& launch, size_t slot) {
    const Share share = shares_[slot];
    const uint32_t count = share.end - share.begin;
    if (taken_[slot].load(std::memory_order_relaxed) >= count) return false;
    const uint32_t taken = taken_[slot].fetch_add(launch.claim, std::memory_order_relaxed);
    if (taken >= count) return false;
    const uint32_t begin = share.begin + taken;
    launch.function(launch.args, begin, std::min(begin + launch.claim, share.end));
    return true;
}

void CpuPlan::run_part(size_t index, uint32_t thread) {
    const Launch& launch = launches_[index];
    if (launch.claim == 0) {
        const Share share = shares_[slot(thread, index)];
        if (share.begin != share.end) launch.function(launch.args, share.begin, share.end);
        return;
    }
    const uint32_t threads = pool_.size();
    for (uint32_t i = 0; i < threads; ++i)
        while (run_claim(launch, slot((thread + i) % threads, index))) {
        }
}

void CpuPlan::forget_progress(uint32_t thread, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) taken_[slot(thread, i)].store(0, std::memory_order_relaxed);
}

uint64_t CpuPlan::wait(uint32_t thread, size_t launch, NextWeights& next) {
    if (const size_t target = launches_[launch].next_weights; target != next.launch) {
        next = {target, {}};
        if (target != kNone) {
            const Share share = shares_[slot(thread, target)];
            const uint64_t unit_bytes = launches_[target].unit_bytes;
            const std::byte* const begin = launches_[target].weights + share.begin * unit_bytes;
            next.ahead = {begin, begin + std::min((share.end - share.begin) * unit_bytes, kMaxAheadBytes)};
        }
    }
    return pool_.barrier(next.ahead);
}

// Behind a barrier nobody asks any more what was taken before it.
uint64_t CpuPlan::walk(uint32_t thread) {
    Ticks* const ticks = ticks_.empty() ? nullptr : &ticks_[thread];
    uint64_t waited = 0;
    size_t first = 0;  // since the last barrier
    NextWeights next;
    for (size_t i = 0; i < launches_.size(); ++i) {
        const uint64_t start = ticks != nullptr ? __rdtsc() : 0;
        run_part(i, thread);
        if (ticks != nullptr) ticks->working[i] += __rdtsc() - start;
        if (!launches_[i].barrier_after) continue;
        const uint64_t ticks_waited = wait(thread, i, next);
        if (ticks != nullptr) ticks->waiting[i] += ticks_waited;
        waited += ticks_waited;
        forget_progress(thread, first, i + 1);
        first = i + 1;
    }
    return waited;
}

void CpuPlan::set_timed(bool is_timed) {
    ticks_.assign(is_timed ? pool_.size() : 0,
                  {std::vector<uint64_t>(launches_.size()), std::vector<uint64_t>(launches_.size())});
    first_tick_ = __rdtsc();
    first_moment_ = Clock::now();
}

std::vector<StepTimes> CpuPlan::times() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - first_moment_).count();
    const double per_tick = seconds / double(__rdtsc() - first_tick_);
    const auto in_seconds = [&](const std::vector<uint64_t>& ticks) {
        std::vector<double> times(ticks.size());
        std::ranges::transform(ticks, times.begin(), [&](uint64_t count) { return double(count) * per_tick; });
        return times;
    };
    std::vector<StepTimes> times;
    for (const Ticks& ticks : ticks_) times.push_back({in_seconds(ticks.working), in_seconds(ticks.waiting)});
    return times;
}

void CpuPlan::run_together() {
    const uint64_t start = __rdtsc();
    const uint64_t waited = pool_.run(
        [](void* context, uint32_t thread) {
            auto* plan = static_cast<CpuPlan*>(context);
            const uint64_t ticks = plan->walk(thread);
            if (thread == 0) plan->caller_waited_ = ticks;
        },
        this);
    for (uint32_t thread = 0; thread < pool_.size(); ++thread)
        forget_progress(thread, behind_barriers_, launches_.size());
    team_.record(caller_waited_ + waited, __rdtsc() - start);
}

namespace {

void decode_row(RowFormat format, const std::byte* row, std::span<float> values) {
    switch (format) {
        case RowFormat::f32:
            std::memcpy(values.data(), row, values.size_bytes());
            return;
        case RowFormat::bf16:
            for (size_t i = 0; i < values.size(); ++i) {
                uint16_t bits;
                std::memcpy(&bits, row + 2 * i, sizeof bits);
                values[i] = bfloat_to_float(bits);
            }
            return;
        case RowFormat::i16:
        case RowFormat::i16_bf16:
        case RowFormat::i16_bytes: {
            const x86::I16Row layout{uint32_t(values.size()), format};
            for (size_t i = 0; i < values.size(); ++i) {
                int16_t code;
                float scale;
                std::memcpy(&code, row + layout.codes_offset_bytes() + 2 * i, sizeof code);
                std::memcpy(&scale, row + layout.scales_offset_bytes() + 4 * (i / kI16Block), sizeof scale);
                values[i] = float(code) * scale;
            }
            return;
        }
        case RowFormat::i8:
            break;
    }
    check_failed("rows of 8 bits are not shown", std::source_location::current());
}

}  // namespace

void CpuPlan::show_rows(size_t index) {
    const graph::Step& step = plan_.steps[index];
    const auto* matmul = std::get_if<MatmulSpec>(&step.spec);
    const auto* experts = std::get_if<ExpertMatmulSpec>(&step.spec);
    if (matmul == nullptr && experts == nullptr) return;
    const MatmulSpec& product = matmul != nullptr ? *matmul : experts->product;
    const auto* args = static_cast<const std::byte*>(launches_[index].args);
    const std::byte* x;
    std::memcpy(&x, args + (matmul != nullptr ? offsetof(MatmulArgs, x) : offsetof(ExpertMatmulArgs, x)), sizeof x);
    const RowFormat format = x86::activation_format(product.weight, product.activations, isa_);
    const uint64_t stride = x86::activation_row_bytes(format, product.width);
    std::vector<float> values(product.width);
    const auto show = [&](uint32_t matrix, uint32_t first, uint32_t count) {
        for (uint32_t row = first; row < first + count; ++row) {
            decode_row(format, x + row * stride, values);
            observer_({step.places.front().index, matrix, values});
        }
    };
    const uint32_t rows = row_count(step);
    if (matmul != nullptr) return show(0, 0, rows);
    const ExpertGroups* groups;
    std::memcpy(&groups, args + offsetof(ExpertMatmulArgs, groups), sizeof groups);
    if (groups == nullptr) {
        for (uint32_t matrix = 0; matrix < experts->experts; ++matrix) show(matrix, matrix * rows, rows);
        return;
    }
    const auto* group = reinterpret_cast<const ExpertGroup*>(groups + 1);
    for (uint32_t i = 0; i < groups->count; ++i) {
        const bool is_shared = experts->shared_row == Presence::present;  // one token's row, which all experts get
        show(group[i].expert, is_shared ? 0 : group[i].first, is_shared ? 1 : group[i].count);
    }
}

// A barrier behind each launch: its rows may be another's output.
void CpuPlan::run_observed() {
    for (size_t i = 0; i < launches_.size(); ++i) {
        if (launches_[i].units == 0) continue;
        show_rows(i);
        std::pair<CpuPlan*, size_t> job{this, i};
        pool_.run(
            [](void* context, uint32_t thread) {
                const auto& [plan, index] = *static_cast<std::pair<CpuPlan*, size_t>*>(context);
                plan->run_part(index, thread);
            },
            &job);
        for (uint32_t thread = 0; thread < pool_.size(); ++thread) forget_progress(thread, i, i + 1);
    }
}

// Rows in other formats than f32 show in the step that reads them. Running states go on from where the run left them:
// a number that is none stays in them.
const graph::Step* CpuPlan::first_not_finite() {
    for (size_t i = 0; i < launches_.size(); ++i) {
        const graph::Step& step = plan_.steps[i];
        if (launches_[i].units == 0) continue;
        launches_[i].function(launches_[i].args, 0, launches_[i].units);
        const uint32_t count = row_count(step);
        for (const Argument& argument : signature(step.spec).arguments) {
            if (argument.role != Role::rows || !writes(argument.access) || argument.format != RowFormat::f32) continue;
            const float* rows;
            std::memcpy(&rows, static_cast<const std::byte*>(launches_[i].args) + argument.offset_bytes, sizeof rows);
            if (!is_finite(rows, argument, count * argument.rows_each)) return &step;
        }
    }
    return nullptr;
}

Result<void> CpuPlan::run(const BatchState& batch) {
    check(batch.rows >= 1 && batch.rows <= plan_.max_tokens, "a batch fits its plan");
    check(batch.outputs <= plan_.max_outputs, "so do its outputs");
    batch_ = batch;
    outputs_ = batch;
    outputs_.rows = batch.outputs;
    measure_attention();
    count_units();
    if (observer_)
        run_observed();
    else if (team_.together())
        run_together();
    else
        run_alone();
    return {};
}

}  // namespace riftjit::runtime
