// A plan bound to this processor: a flat list of calls that every thread walks.
#pragma once

#include <vector>

#include "graph/plan.h"
#include "jit/kernel_cache.h"
#include "runtime/device.h"
#include "runtime/thread_pool.h"

namespace riftjit::runtime {

class CpuPlan final : public BoundPlan {
public:
    static Result<std::unique_ptr<CpuPlan>> create(const graph::Plan& plan, const Addresses& addresses, Isa isa,
                                                   ThreadPool& pool, KernelCache& cache);
    void run(uint32_t tokens, uint32_t position) override;

private:
    struct Launch {
        KernelFunction function;
        const void* args;
        bool barrier_after;
    };

    CpuPlan(const graph::Plan& plan, ThreadPool& pool) : plan_(plan), pool_(pool) {}
    Result<void> find_kernels(Isa isa, KernelCache& cache);
    void bind_arguments(const Addresses& addresses);
    void share_units(uint32_t tokens);
    void walk(uint32_t thread) const;

    const graph::Plan& plan_;
    ThreadPool& pool_;
    std::vector<Launch> launches_;
    std::vector<const void*> pointers_;  // every Args struct is a row of pointers, the last to a BatchState
    std::vector<Share> shares_;          // [thread][launch], for shared_tokens_
    uint32_t shared_tokens_ = 0;
    BatchState batch_{}, last_row_{};  // the latter for steps that run on one row
};

}  // namespace riftjit::runtime
