#include "jit/kernel_publisher.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace riftjit {

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
    if (!work_->thread.joinable()) return;
    {
        const std::lock_guard lock(work_->mutex);
        work_->is_last = true;
    }
    work_->changed.notify_one();
    work_->thread.join();
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
    work_->thread = std::thread([work = work_.get()] { work->run(); });
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
