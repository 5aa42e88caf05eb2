#include "jit/cache/kernel_publisher.h"

#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace riftjit {

namespace {

// Signals are for the threads that know what to do with them.
void block_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

struct KernelPublisher::Work {
    struct Entry {
        const KernelSpec* spec;
        const CodeObject* object;
    };

    explicit Work(DiskCache disk_cache) : disk(std::move(disk_cache)) {}

    void run();

    DiskCache disk;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Entry> queue;
    bool is_last = false;
    std::thread thread;
};

KernelPublisher::KernelPublisher(DiskCache disk) : owner_(getpid()), work_(std::make_unique<Work>(std::move(disk))) {}

KernelPublisher::~KernelPublisher() {
    if (getpid() != owner_) {
        // After fork() the child has no such thread to join, and destroying a condition that the thread waits on would
        // wait for it. The parent publishes.
        std::ignore = work_.release();
        return;
    }
    start();
    {
        const std::lock_guard lock(work_->mutex);
        work_->is_last = true;
    }
    work_->changed.notify_one();
    if (work_->thread.joinable())
        work_->thread.join();
    else if (!work_->queue.empty())
        work_->run();
}

void KernelPublisher::add(const KernelSpec& spec, const CodeObject& object) {
    if (work_->disk.mode() != CacheMode::rw) return;
    {
        const std::lock_guard lock(work_->mutex);
        work_->queue.push_back({&spec, &object});
    }
    work_->changed.notify_one();
}

void KernelPublisher::start() {
    const std::lock_guard lock(work_->mutex);
    if (work_->thread.joinable() || work_->queue.empty()) return;
    try {
        work_->thread = std::thread([work = work_.get()] {
            block_signals();
            work->run();
        });
    } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
        // No more threads for this user: the destructor publishes.
    }
}

void KernelPublisher::Work::run() {
    std::unique_lock lock(mutex);
    while (true) {
        changed.wait(lock, [this] { return !queue.empty() || is_last; });
        if (queue.empty()) break;
        const Entry entry = queue.front();
        queue.pop_front();
        lock.unlock();
        disk.store(*entry.spec, *entry.object);
        lock.lock();
    }
    lock.unlock();
    disk.collect();
}

}  // namespace riftjit
