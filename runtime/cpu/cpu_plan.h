// A plan bound to this processor: a flat list of calls that every thread walks.
#pragma once

#include <atomic>
#include <chrono>
#include <vector>

#include "graph/plan.h"
#include "host/pages.h"
#include "host/thread_pool.h"
#include "jit/x86/host_kernels.h"
#include "runtime/cpu/team_choice.h"
#include "runtime/device.h"

namespace riftjit::runtime {

class CpuPlan final : public BoundPlan {
public:
    struct Context {
        Isa isa;  // of plans that name none
        ThreadPool& pool;
        Helpers helpers;
        x86::HostKernels& kernels;
    };
    static Result<std::unique_ptr<CpuPlan>> create(const graph::Plan& plan, const Addresses& addresses,
                                                   const Context& context);
    Result<void> run(const BatchState& batch) override;
    const graph::Step* first_not_finite() override;
    void set_timed(bool is_timed) override;
    Result<void> observe(ProductObserver observer) override {
        observer_ = std::move(observer);
        return {};
    }
    std::vector<StepTimes> times() const override;

private:
    using Clock = std::chrono::steady_clock;
    struct Launch {
        KernelFunction function;
        const void* args;
        uint32_t units;  // of the batch
        uint32_t claim;  // units taken at a time, from one's own share and then from others'; 0: nobody helps
        bool barrier_after;
        const std::byte* weights = nullptr;  // of a matmul; unit_bytes each unit
        uint64_t unit_bytes = 0;
        size_t next_weights = kNone;  // the next launch that reads some, where they are what takes the time
    };
    static constexpr size_t kNone = SIZE_MAX;
    // What a thread reads next, brought nearer while it waits for others.
    struct NextWeights {
        size_t launch = kNone;
        Ahead ahead;
    };

    CpuPlan(const graph::Plan& plan, const Context& context)
        : plan_(plan),
          pool_(context.pool),
          isa_(plan.target ? isa_of(*plan.target) : context.isa),
          team_(context.pool.size(), context.helpers) {}
    // What attention has to do in a batch.
    struct Attention {
        uint32_t segments = 0;                            // of all single rows where they are cut; 0: each is whole
        uint64_t seen_by_tiles = 0, seen_by_singles = 0;  // positions
        bool operator==(const Attention&) const = default;
    };

    Result<void> find_kernels(x86::HostKernels& kernels);
    void bind_arguments(const Addresses& addresses);
    Result<void> reserve_parts(uint32_t pages_per_sequence);
    void measure_attention();
    uint32_t row_count(const graph::Step& step) const;
    uint32_t rows_of(const graph::Step& step) const;
    uint64_t work_of(const graph::Step& step) const;
    bool is_cut(const graph::Step& step) const;  // into segments
    bool is_counted() const;
    void count_units();
    void run_alone();
    // All of a launch, or the thread's part of it.
    static void run_whole(const Launch& launch) { launch.function(launch.args, 0, launch.units); }
    void run_part(size_t index, uint32_t thread);
    bool run_claim(const Launch& launch, size_t slot);
    void forget_progress(uint32_t thread, size_t begin, size_t end);
    void run_together();
    void run_observed();
    void show_rows(size_t index);
    uint64_t wait(uint32_t thread, size_t launch, NextWeights& next);  // for all to arrive behind it; returns ticks
    uint64_t walk(uint32_t thread);                                    // returns ticks waited

    const graph::Plan& plan_;
    ThreadPool& pool_;
    Isa isa_;
    std::vector<Launch> launches_;
    std::vector<const void*> arguments_;  // the Args structs of all launches, one after the other
    size_t behind_barriers_ = 0;          // the first launch that the pool's join alone follows
    BatchState counted_;                  // units and shares are those of a batch with its counts
    // [thread][launch], a cache line's width between those of two threads.
    size_t slot(uint32_t thread, size_t launch) const { return thread * slots_per_thread_ + launch; }
    size_t slots_per_thread_ = 0;
    std::vector<Share> shares_;
    std::vector<std::atomic<uint32_t>> taken_;  // units of the share, by whomever; 0 between runs
    BatchState batch_, outputs_;                // the latter for steps that run on gathered rows
    Attention attention_, counted_attention_;
    // Where rows may be cut into segments: the memory that this takes (BatchState::parts).
    Pages parts_;
    std::vector<uint32_t> finished_;
    uint32_t kv_heads_ = 0;  // the most of a step
    TeamChoice team_;
    ProductObserver observer_;
    uint64_t caller_waited_ = 0;

    // Time stamp ticks of each thread's launches; empty unless timed. On a cache line of its own.
    struct alignas(64) Ticks {
        std::vector<uint64_t> working, waiting;
    };
    std::vector<Ticks> ticks_;
    uint64_t first_tick_ = 0;
    Clock::time_point first_moment_;
};

}  // namespace riftjit::runtime
