#include "jit/cache/kernel_batch.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "host/cpus.h"

namespace riftjit {

namespace {

class KernelBatch {
public:
    KernelBatch(KernelCache& cache, std::span<const KernelRequest> requests) : cache_(cache), requests_(requests) {}

    // Of any number of threads. Requests are taken in order, so all before one that fails are made or fail too.
    void work() {
        while (!is_failed_) {
            const size_t i = next_++;
            if (i >= requests_.size()) return;
            const auto made = cache_.get(requests_[i].spec, requests_[i].target);
            if (made) continue;
            is_failed_ = true;
            const std::lock_guard lock(mutex_);
            if (failure_ && failure_->request < i) continue;
            failure_ = {i, made.error()};
        }
    }
    Result<void> result() const {
        if (failure_) return std::unexpected(failure_->error);
        return {};
    }

private:
    struct Failure {
        size_t request;
        Error error;
    };

    KernelCache& cache_;
    const std::span<const KernelRequest> requests_;
    std::atomic<size_t> next_ = 0;
    std::atomic<bool> is_failed_ = false;
    std::mutex mutex_;
    std::optional<Failure> failure_;
};

}  // namespace

Result<void> make_kernels(KernelCache& cache, std::span<const KernelRequest> requests, uint32_t threads) {
    KernelBatch batch(cache, requests);
    {
        // Signals are for the threads that know what to do with them: helpers are born with all blocked.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        std::vector<std::jthread> helpers;
        try {
            while (helpers.size() + 1 < std::min<size_t>(threads, requests.size()))
                helpers.emplace_back([&batch] { batch.work(); });
        } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
            // No more threads for this user: those that are there do the work.
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        batch.work();
    }
    return batch.result();
}

Result<void> make_kernels(KernelCache& cache, std::span<const KernelRequest> requests) {
    const uint32_t cpus = usable_cpus();
    return make_kernels(cache, requests, std::min(cpus, cpu_quota().value_or(cpus)));
}

}  // namespace riftjit
