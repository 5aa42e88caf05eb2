#include "runtime/cpu/cpu_plan.h"

#include <x86intrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace riftjit::runtime {
namespace {

// A launch of some ten microseconds and more is handed out in pieces, so that a thread on a slow or busy core takes
// fewer. Shorter ones are cut into equal shares: a claim costs as much as a cache miss.
constexpr uint32_t kClaimsPerThread = 6;

bool is_long(const KernelSpec& spec, uint32_t rows) {
    constexpr uint64_t kManyBytes = 256 * 1024, kManyFlops = 1'000'000;
    const KernelCost work = cost(spec);
    return work.weight_bytes >= kManyBytes || work.flops * rows >= kManyFlops;
}

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
    std::unique_ptr<CpuPlan> bound(new CpuPlan(plan, context.pool, context.helpers));
    RIFTJIT_TRY_VOID(bound->find_kernels(context.isa, context.kernels));
    bound->bind_arguments(addresses);
    return bound;
}

Result<void> CpuPlan::find_kernels(Isa isa, x86::HostKernels& kernels) {
    launches_.reserve(plan_.steps.size());
    for (const graph::Step& step : plan_.steps) {
        RIFTJIT_TRY(function, kernels.get(step.spec, isa));
        launches_.push_back({function, nullptr, 0, 0, false});
    }
    progress_ = std::vector<Progress>(launches_.size());
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
            if (argument.role != Role::batch) value = resolve(step.places.at(place++), addresses);
            check(argument.presence == Presence::absent || value != nullptr, "every argument has an address");
            std::memcpy(next + argument.offset_bytes, &value, sizeof value);
        }
        next += signatures[i].args_bytes;
    }
}

// That a step reads: each of them is the same amount of work, in whatever launches they are.
uint32_t CpuPlan::row_count(const graph::Step& step) const {
    return step.rows == graph::StepRows::batch ? batch_.rows : outputs_.rows;
}

// Rows, tiles or single rows: what unit_count() wants.
uint32_t CpuPlan::rows_of(const graph::Step& step) const {
    switch (step.rows) {
        case graph::StepRows::batch:
            break;
        case graph::StepRows::outputs:
            return outputs_.rows;
        case graph::StepRows::one_output:
            return outputs_.rows == 1 ? 1 : 0;
        case graph::StepRows::many_outputs:
            return outputs_.rows == 1 ? 0 : outputs_.rows;
    }
    if (const auto* attention = std::get_if<AttentionSpec>(&step.spec))
        return attention->form == MatmulForm::tile ? batch_.tiles : batch_.singles;
    return batch_.rows;
}

// Whether the same launches have the same units.
bool CpuPlan::is_counted() const {
    return batch_.rows == counted_.rows && batch_.tiles == counted_.tiles && batch_.singles == counted_.singles &&
           batch_.outputs == counted_.outputs;
}

// A barrier that no launch has passed since the last one is left out.
void CpuPlan::count_units() {
    if (is_counted()) return;
    const uint32_t threads = pool_.size();
    bool has_work = false;  // since the last barrier
    shares_.resize(size_t(threads) * launches_.size());
    for (size_t i = 0; i < launches_.size(); ++i) {
        const graph::Step& step = plan_.steps[i];
        Launch& launch = launches_[i];
        const uint32_t rows = rows_of(step);
        launch.units = rows == 0 ? 0 : unit_count(step.spec, rows);
        const bool is_shared_out = launch.units != 0 && is_long(step.spec, row_count(step));
        const uint32_t grain = unit_grain(step.spec), grains = (launch.units + grain - 1) / grain;
        launch.claim = is_shared_out ? std::max(1u, grains / (threads * kClaimsPerThread)) * grain : 0;
        for (uint32_t thread = 0; thread < threads; ++thread) {
            const Share share = share_of(grains, thread, threads);
            shares_[size_t(thread) * launches_.size() + i] = {share.begin * grain,
                                                              std::min(share.end * grain, launch.units)};
        }
        has_work |= launch.units != 0;
        launch.barrier_after = has_work && !step.parallel_with_next && i + 1 != launches_.size();  // the pool's join
        if (launch.barrier_after) has_work = false;
    }
    counted_ = batch_;
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

void CpuPlan::run_part(size_t index, Share share) {
    const Launch& launch = launches_[index];
    if (launch.claim != 0) {
        auto& next = progress_[index].next;
        for (uint32_t begin; (begin = next.fetch_add(launch.claim, std::memory_order_relaxed)) < launch.units;)
            launch.function(launch.args, begin, std::min(begin + launch.claim, launch.units));
    } else if (share.begin != share.end) {
        launch.function(launch.args, share.begin, share.end);
    }
}

uint64_t CpuPlan::walk(uint32_t thread) {
    uint64_t waited = 0;
    const Share* const shares = shares_.data() + size_t(thread) * launches_.size();
    for (size_t i = 0; i < launches_.size(); ++i) {
        run_part(i, shares[i]);
        if (launches_[i].barrier_after) waited += pool_.barrier();
    }
    return waited;
}

uint64_t CpuPlan::walk_timed(uint32_t thread) {
    uint64_t waited = 0;
    const Share* const shares = shares_.data() + size_t(thread) * launches_.size();
    Ticks& ticks = ticks_[thread];
    for (size_t i = 0; i < launches_.size(); ++i) {
        const uint64_t start = __rdtsc();
        run_part(i, shares[i]);
        ticks.working[i] += __rdtsc() - start;
        if (!launches_[i].barrier_after) continue;
        const uint64_t ticks_waited = pool_.barrier();
        ticks.waiting[i] += ticks_waited;
        waited += ticks_waited;
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
    for (Progress& progress : progress_) progress.next.store(0, std::memory_order_relaxed);
    const uint64_t start = __rdtsc();
    const uint64_t waited = pool_.run(
        [](void* context, uint32_t thread) {
            auto* plan = static_cast<CpuPlan*>(context);
            const uint64_t ticks = plan->ticks_.empty() ? plan->walk(thread) : plan->walk_timed(thread);
            if (thread == 0) plan->caller_waited_ = ticks;
        },
        this);
    team_.record(caller_waited_ + waited, __rdtsc() - start);
}

// Rows in other formats than f32 show in the step that reads them.
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
            if (!is_finite(rows, argument, count)) return &step;
        }
    }
    return nullptr;
}

void CpuPlan::run(const BatchState& batch) {
    check(batch.rows >= 1 && batch.rows <= plan_.max_tokens, "a batch fits its plan");
    check(batch.outputs <= plan_.max_outputs, "so do its outputs");
    batch_ = batch;
    outputs_ = batch;
    outputs_.rows = batch.outputs;
    count_units();
    if (team_.together())
        run_together();
    else
        run_alone();
}

}  // namespace riftjit::runtime
