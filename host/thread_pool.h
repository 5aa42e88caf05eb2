// Persistent workers that walk a list of launches together; submit and join below 5 microseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/result.h"
#include "host/signal.h"

namespace riftjit {

class ThreadPool {
public:
    // The caller of run is thread 0, so threads - 1 are started. Fails when the system refuses one.
    static Result<ThreadPool> create(uint32_t threads);
    ThreadPool(ThreadPool&&) noexcept;
    ThreadPool& operator=(ThreadPool&&) noexcept;
    ~ThreadPool();

    uint32_t size() const;

    // Of the stack, what a body may use on any thread.
    static constexpr size_t kBodyStackBytes = 1 << 20;

    // Runs body(context, thread) on every thread, returns when all are done. body must not throw. One caller at a time.
    // Returns the time stamp ticks that the caller waited for the others at the end.
    using Body = void (*)(void* context, uint32_t thread);
    uint64_t run(Body body, void* context);

    // Inside run: returns once every thread arrived. What any of them wrote before is visible to all. Returns the ticks
    // that this thread waited, and brings nearer what it is going to read.
    uint64_t barrier(Ahead& ahead);
    uint64_t barrier() {
        Ahead nothing;
        return barrier(nothing);
    }

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    explicit ThreadPool(std::unique_ptr<Impl> impl);
};

// The contiguous share of thread `thread` of `count` units: shares cover [0, count) in order and differ by at most one.
struct Share {
    uint32_t begin, end;
};
constexpr Share share_of(uint32_t count, uint32_t thread, uint32_t threads) {
    return {uint32_t(uint64_t(count) * thread / threads), uint32_t(uint64_t(count) * (thread + 1) / threads)};
}

}  // namespace riftjit
