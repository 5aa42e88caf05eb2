#include "jit/cache/kernel_cache.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "jit/cache/kernel_publisher.h"

namespace riftjit {

namespace {

// For how long somebody is at it, be they one thread or several: what a user waits for.
class BusyTime {
public:
    void begin() {
        if (busy_++ == 0) since_ = Clock::now();
    }
    // Milliseconds that no end() before has told.
    double end() {
        --busy_;
        const Clock::time_point now = Clock::now();
        return std::chrono::duration<double, std::milli>(now - std::exchange(since_, now)).count();
    }

private:
    using Clock = std::chrono::steady_clock;
    uint32_t busy_ = 0;
    Clock::time_point since_;
};

// Exact identity of spec and target, floats by their bits.
std::string identity(const KernelSpec& spec, Target target) {
    const std::vector<std::byte> fields = serialize(spec);
    std::string bytes(reinterpret_cast<const char*>(fields.data()), fields.size());
    return bytes + name(target);
}

}  // namespace

struct KernelCache::Impl {
    // A kernel that is being made, or is ready. Slots of failed kernels are erased.
    struct Slot {
        std::unique_ptr<Kernel> kernel;
        uint32_t order = 0;
    };
    enum class Origin : uint8_t { disk, compiler };
    struct Obtained {
        CodeObject object;
        Origin origin;
    };

    Impl(Compile compile_function, DiskCache disk_cache)
        : compile(std::move(compile_function)), disk(std::move(disk_cache)), publisher(disk) {}

    Result<const Kernel*> find_or_make(const KernelSpec& spec, Target target);
    Result<std::unique_ptr<Kernel>> make(const KernelSpec& spec, Target target);
    Result<Obtained> load_or_compile(const KernelSpec& spec, Target target);

    const Compile compile;
    DiskCache disk;

    mutable std::mutex mutex;  // guards all below; never held while compiling, reading or writing
    std::condition_variable ready;
    std::map<std::string, Slot> slots;
    uint32_t next_order = 0;
    CacheStatistics statistics;
    BusyTime loading, compiling;

    KernelPublisher publisher;  // last: it is joined before what it reads goes away
};

Result<KernelCache::Impl::Obtained> KernelCache::Impl::load_or_compile(const KernelSpec& spec, Target target) {
    {
        const std::lock_guard lock(mutex);
        loading.begin();
    }
    auto loaded = disk.load(spec, target);
    {
        const std::lock_guard lock(mutex);
        statistics.load_ms += loading.end();
        if (!loaded) return std::unexpected(loaded.error());
        if (*loaded) {
            ++statistics.hits;
            return Obtained{std::move(**loaded), Origin::disk};
        }
        compiling.begin();
    }
    auto compiled = compile(spec, target);
    const std::lock_guard lock(mutex);
    statistics.compile_ms += compiling.end();
    ++statistics.misses;
    if (!compiled) return std::unexpected(compiled.error());
    return Obtained{std::move(*compiled), Origin::compiler};
}

Result<std::unique_ptr<Kernel>> KernelCache::Impl::make(const KernelSpec& spec, Target target) {
    RIFTJIT_TRY_VOID(validate(spec));
    RIFTJIT_TRY(obtained, load_or_compile(spec, target));
    check(obtained.object.target == target, "a back end compiles for the target it is asked for");
    auto kernel = std::make_unique<Kernel>(spec, std::move(obtained.object), obtained.origin == Origin::disk);
    if (obtained.origin == Origin::compiler) publisher.add(kernel->spec, kernel->object);
    return kernel;
}

Result<const Kernel*> KernelCache::Impl::find_or_make(const KernelSpec& spec, Target target) {
    const std::string id = identity(spec, target);
    std::unique_lock lock(mutex);
    while (true) {
        const auto [slot, is_new] = slots.try_emplace(id);
        if (slot->second.kernel) return slot->second.kernel.get();
        if (is_new) {
            slot->second.order = next_order++;
            break;
        }
        ready.wait(lock);  // another thread makes it; if that fails, this one tries
    }
    lock.unlock();
    auto made = make(spec, target);
    lock.lock();
    const auto slot = slots.find(id);
    ready.notify_all();
    if (!made) {
        slots.erase(slot);
        return std::unexpected(made.error());
    }
    slot->second.kernel = std::move(*made);
    return slot->second.kernel.get();
}

KernelCache::KernelCache(Compile compile, DiskCache disk)
    : impl_(std::make_unique<Impl>(std::move(compile), std::move(disk))) {}

KernelCache::~KernelCache() = default;

Result<const Kernel*> KernelCache::get(const KernelSpec& spec, Target target) {
    return impl_->find_or_make(spec, target);
}

const CacheStatistics& KernelCache::statistics() const { return impl_->statistics; }

std::vector<const Kernel*> KernelCache::kernels() const {
    const std::lock_guard lock(impl_->mutex);
    std::vector<const Impl::Slot*> finished;
    for (const auto& [id, slot] : impl_->slots)
        if (slot.kernel) finished.push_back(&slot);
    std::ranges::sort(finished, {}, &Impl::Slot::order);
    std::vector<const Kernel*> kernels;
    kernels.reserve(finished.size());
    for (const Impl::Slot* slot : finished) kernels.push_back(slot->kernel.get());
    return kernels;
}

void KernelCache::publish() { impl_->publisher.start(); }

}  // namespace riftjit
