// Persistent workers that walk a list of launches together; submit and join below 5 microseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "jit/result.h"

namespace riftjit::runtime {

class ThreadPool {
public:
    explicit ThreadPool(uint32_t threads);  // the caller is thread 0
    ~ThreadPool();

    uint32_t size() const;

    // Runs body(thread) on every thread, returns when all are done. body must not throw.
    using Body = void (*)(void* context, uint32_t thread);
    void run(Body body, void* context);

    // Inside run: waits until every thread arrived. Spins, then yields, so that a shared core does not collapse.
    void barrier(uint32_t thread);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

// CPUs that this process may use, as physical cores (hwloc; cpusets and containers respected).
uint32_t physical_cores();
uint32_t usable_cpus();

}  // namespace riftjit::runtime
