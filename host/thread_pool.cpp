#include "host/thread_pool.h"

#include <pthread.h>

#include <cstring>
#include <vector>

#include "host/cpus.h"
#include "host/signal.h"

namespace riftjit {
namespace {

// Steps of one token follow each other within microseconds, so a barrier spins for about as long as putting a thread
// to sleep and waking it would cost. Between tokens the caller samples and prints; workers stay awake a little longer.
constexpr uint64_t kBarrierSpinTicks = 60'000;  // some 20 microseconds
constexpr uint64_t kIdleSpinTicks = 600'000;
// With more threads than CPUs whoever is waited for may not be running: the CPU is given up at once.
constexpr uint64_t kCrowdedSpinTicks = 500;

// With what a thread itself needs. Less than 2 MiB, so that no huge page backs what is hardly touched.
constexpr size_t kStackBytes = ThreadPool::kBodyStackBytes + 256 * 1024;

}  // namespace

struct ThreadPool::Impl {
    uint32_t threads;
    uint64_t barrier_spin_ticks = kBarrierSpinTicks;
    uint64_t idle_spin_ticks = kIdleSpinTicks;

    // Written by the caller of run before `submitted` advances.
    Body body = nullptr;
    void* context = nullptr;

    // Each on its own cache line: all of them are written by one thread while others spin on the next.
    alignas(64) Signal submitted;
    alignas(64) std::atomic<uint32_t> unfinished = 0;
    alignas(64) Signal finished;
    alignas(64) std::atomic<uint32_t> arrived = 0;
    alignas(64) Signal released;

    struct Worker {
        Impl* pool;
        uint32_t thread;
        pthread_t handle;
    };
    std::vector<Worker> workers;

    explicit Impl(uint32_t count) : threads(count) {
        if (threads <= usable_cpus()) return;
        barrier_spin_ticks = idle_spin_ticks = kCrowdedSpinTicks;
    }
    ~Impl() { stop(); }

    Result<void> start();
    void stop();
    void work(uint32_t thread);
    static void* enter(void* worker);
};

Result<void> ThreadPool::Impl::start() {
    workers.reserve(threads - 1);  // workers keep pointers into it
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    int error = 0;
    for (uint32_t thread = 1; thread < threads && error == 0; ++thread) {
        Worker& worker = workers.emplace_back(Worker{this, thread, {}});
        error = pthread_create(&worker.handle, &attributes, enter, &worker);
        if (error != 0) workers.pop_back();
    }
    pthread_attr_destroy(&attributes);
    if (error == 0) return {};
    return fail(ErrorKind::Io, "thread {} of {} could not be started: {}", workers.size() + 1, threads,
                std::strerror(error));
}

void ThreadPool::Impl::stop() {
    body = nullptr;  // tells workers to leave
    submitted.advance();
    for (Worker& worker : workers) pthread_join(worker.handle, nullptr);
}

void* ThreadPool::Impl::enter(void* argument) {
    auto* worker = static_cast<Worker*>(argument);
    worker->pool->work(worker->thread);
    return nullptr;
}

void ThreadPool::Impl::work(uint32_t thread) {
    for (uint32_t seen = 0;; ++seen) {
        submitted.wait_while(seen, idle_spin_ticks);
        if (body == nullptr) return;
        body(context, thread);
        if (unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) finished.advance();
    }
}

Result<ThreadPool> ThreadPool::create(uint32_t threads) {
    check(threads >= 1, "a pool has at least its caller");
    auto impl = std::make_unique<Impl>(threads);
    RIFTJIT_TRY_VOID(impl->start());
    return ThreadPool(std::move(impl));
}

ThreadPool::ThreadPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ThreadPool::ThreadPool(ThreadPool&&) noexcept = default;
ThreadPool& ThreadPool::operator=(ThreadPool&&) noexcept = default;
ThreadPool::~ThreadPool() = default;

uint32_t ThreadPool::size() const { return impl_->threads; }

uint64_t ThreadPool::run(Body body, void* context) {
    Impl& pool = *impl_;
    if (pool.threads == 1) {
        body(context, 0);
        return 0;
    }
    pool.body = body;
    pool.context = context;
    pool.unfinished.store(pool.threads - 1, std::memory_order_relaxed);
    const uint32_t finished_before = pool.finished.value();
    pool.submitted.advance();
    body(context, 0);
    return pool.finished.wait_while(finished_before, pool.barrier_spin_ticks);
}

uint64_t ThreadPool::barrier(Ahead& ahead) {
    Impl& pool = *impl_;
    if (pool.threads == 1) return 0;
    const uint32_t released_before = pool.released.value();
    if (pool.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == pool.threads) {
        pool.arrived.store(0, std::memory_order_relaxed);  // nobody arrives again before the release below
        pool.released.advance();
        return 0;
    }
    return pool.released.wait_while(released_before, pool.barrier_spin_ticks, ahead);
}

}  // namespace riftjit
