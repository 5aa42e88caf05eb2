#include "runtime/rdna/hip_accelerator.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace riftjit::runtime {
namespace {

// The device that HIP's calls of this thread go to.
thread_local int current_device = -1;

// An event costs the GPU a few microseconds: behind the first launches of each kernel, when it is most likely to show
// that it has no end, and then behind one launch in so many.
constexpr size_t kLaunchesPerMilestone = 32;

}  // namespace

// A thread that sees to it that no wait lasts longer than it may.
class HipAccelerator::Patience {
public:
    explicit Patience(const HipAccelerator& owner) : owner_(owner), thread_([this] { watch(); }) {}
    ~Patience() {
        {
            const std::lock_guard lock(mutex_);
            has_ended_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    void begin() { set(Clock::now() + std::chrono::seconds(owner_.options_.patience_seconds)); }
    void end() { set(std::nullopt); }

private:
    using Clock = std::chrono::steady_clock;

    void set(std::optional<Clock::time_point> deadline) {
        {
            const std::lock_guard lock(mutex_);
            deadline_ = deadline;
        }
        if (deadline) changed_.notify_one();
    }
    void watch() {
        std::unique_lock lock(mutex_);
        while (!has_ended_) {
            if (!deadline_)
                changed_.wait(lock);
            else if (changed_.wait_until(lock, *deadline_) == std::cv_status::timeout && deadline_ &&
                     Clock::now() >= *deadline_) {
                deadline_.reset();
                owner_.options_.stuck(owner_.who_is_stuck());
            }
        }
    }

    const HipAccelerator& owner_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<Clock::time_point> deadline_;
    bool has_ended_ = false;
    std::thread thread_;
};

HipAccelerator::HipAccelerator(std::shared_ptr<const HipLibrary> hip, HipDevice device, const HipOptions& options)
    : hip_(std::move(hip)), device_(std::move(device)), options_(options) {
    if (options_.stuck == nullptr) options_.patience_seconds = 0;
}

template <class Purpose>
Result<void> HipAccelerator::of(const Purpose& purpose, Result<void> result) const {
    if (result) return result;
    has_failed_ = true;
    std::string text;
    if constexpr (std::is_invocable_v<Purpose>)
        text = purpose();
    else
        text = purpose;
    return fail(result.error().kind, "{}: {}: {}", name(), text, result.error().message);
}

Result<std::unique_ptr<HipAccelerator>> HipAccelerator::create(std::shared_ptr<const HipLibrary> hip, HipDevice device,
                                                               const HipOptions& options) {
    std::unique_ptr<HipAccelerator> made(new HipAccelerator(std::move(hip), std::move(device), options));
    RIFTJIT_TRY_VOID(made->enter());
    RIFTJIT_TRY_VOID(made->of("how waits are to go", made->hip_->hipSetDeviceFlags(HipLibrary::kBlockingSync)));
    return made;
}

HipAccelerator::~HipAccelerator() {
    patience_.reset();
    const bool had_failed = has_failed_;  // on a GPU that failed once releasing fails too, of which there is no news
    const auto released = release_all();
    if (!released && !had_failed && options_.unreleased != nullptr) options_.unreleased(released.error().message);
}

// All of it, and the first failure.
Result<void> HipAccelerator::release_all() const {
    RIFTJIT_TRY_VOID(enter());
    Result<void> all;
    const auto release = [&](const auto& purpose, Result<void> released) {
        const auto told = of(purpose, std::move(released));
        if (all) all = told;
    };
    for (const Events* events : {&moments_, &ends_})
        for (HipLibrary::Event event : events->all) release("giving an event back", hip_->hipEventDestroy(event));
    for (const Loaded& kernel : kernels_)
        release([&] { return "unloading " + kernel.name; }, hip_->hipModuleUnload(kernel.module));
    for (const Allocated& memory : memory_)
        release([&] { return "giving back " + memory.what; }, hip_->hipFree(reinterpret_cast<void*>(memory.address)));
    return all;
}

Result<void> HipAccelerator::enter() const {
    if (current_device == device_.index) return {};
    RIFTJIT_TRY_VOID(of("choosing the device", hip_->hipSetDevice(device_.index)));
    current_device = device_.index;
    return {};
}

std::string HipAccelerator::memory_at(uint64_t address) const {
    for (const Allocated& memory : memory_)
        if (address - memory.address < memory.bytes) return memory.what;
    return "memory";
}

Result<Accelerator::Memory> HipAccelerator::memory() const {
    RIFTJIT_TRY_VOID(enter());
    size_t free = 0, total = 0;
    RIFTJIT_TRY_VOID(of("how much memory is free", hip_->hipMemGetInfo(&free, &total)));
    return Memory{free, total};
}

Result<uint64_t> HipAccelerator::allocate(uint64_t bytes, std::string_view what) {
    RIFTJIT_TRY_VOID(enter());
    void* memory = nullptr;
    const auto needed = [&] {
        size_t free = 0, total = 0;
        const bool is_known = hip_->hipMemGetInfo.code(&free, &total) == 0;
        return fmt::format("{}, {} bytes{}", what, bytes,
                           is_known ? fmt::format(" where {} of {} are free", free, total) : "");
    };
    RIFTJIT_TRY_VOID(of(needed, hip_->hipMalloc(&memory, std::max<uint64_t>(bytes, 1))));
    const auto address = uint64_t(reinterpret_cast<uintptr_t>(memory));
    memory_.push_back({address, bytes, std::string(what)});
    if (bytes != 0)
        RIFTJIT_TRY_VOID(
            of([&] { return fmt::format("zeros in {}, {} bytes", what, bytes); }, hip_->hipMemset(memory, 0, bytes)));
    return address;
}

Result<void> HipAccelerator::write(uint64_t to, std::span<const std::byte> bytes) {
    RIFTJIT_TRY_VOID(enter());
    return of([&] { return fmt::format("writing {} bytes to {}", bytes.size(), memory_at(to)); },
              hip_->hipMemcpyHtoD(reinterpret_cast<void*>(to), bytes.data(), bytes.size()));
}

Result<void> HipAccelerator::read(std::span<std::byte> to, uint64_t from) {
    RIFTJIT_TRY_VOID(wait());
    return of([&] { return fmt::format("reading {} bytes of {}", to.size(), memory_at(from)); },
              hip_->hipMemcpyDtoH(to.data(), reinterpret_cast<void*>(from), to.size()));
}

Result<void> HipAccelerator::copy(uint64_t to, uint64_t from, uint64_t bytes) {
    RIFTJIT_TRY_VOID(enter());
    return of([&] { return fmt::format("copying {} bytes of {}", bytes, memory_at(from)); },
              hip_->hipMemcpyDtoD(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes));
}

Result<Accelerator::Kernel> HipAccelerator::load(const CodeObject& object) {
    const auto known = std::ranges::find(kernels_, object.name, &Loaded::name);
    if (known != kernels_.end()) return Kernel(known - kernels_.begin());
    RIFTJIT_TRY_VOID(enter());
    Loaded loaded{object.name, nullptr, nullptr};
    const auto loading = [&] { return "loading " + object.name; };
    RIFTJIT_TRY_VOID(of(loading, hip_->hipModuleLoadData(&loaded.module, object.elf.data())));
    if (auto found = of(loading, hip_->hipModuleGetFunction(&loaded.function, loaded.module, object.name.c_str()));
        !found) {
        hip_->hipModuleUnload.code(loaded.module);
        return std::unexpected(found.error());
    }
    kernels_.push_back(std::move(loaded));
    return Kernel(kernels_.size() - 1);
}

template <class Purpose>
Result<HipLibrary::Event> HipAccelerator::record(Events& events, const Purpose& purpose) {
    if (events.used == events.all.size()) {
        HipLibrary::Event event = nullptr;
        RIFTJIT_TRY_VOID(of(purpose, hip_->hipEventCreateWithFlags(&event, events.flags)));
        events.all.push_back(event);
    }
    HipLibrary::Event event = events.all[events.used++];
    RIFTJIT_TRY_VOID(of(purpose, hip_->hipEventRecord(event, nullptr)));
    return event;
}

// The arguments are copied before the call returns.
Result<void> HipAccelerator::launch(Kernel kernel, uint32_t groups, uint32_t lanes, std::span<const std::byte> args) {
    RIFTJIT_TRY_VOID(enter());
    const Loaded& loaded = kernels_[kernel];
    size_t bytes = args.size();
    const auto key = [](uintptr_t number) { return reinterpret_cast<void*>(number); };
    void* extra[] = {key(1), const_cast<std::byte*>(args.data()), key(2), &bytes, key(3)};
    RIFTJIT_TRY_VOID(
        of([&] { return "launching " + loaded.name; },
           hip_->hipModuleLaunchKernel(loaded.function, groups, 1, 1, lanes, 1, 1, 0, nullptr, nullptr, extra)));
    launched_.push_back(kernel);
    if (options_.patience_seconds == 0 || (loaded.has_ended && launched_.size() % kLaunchesPerMilestone != 0))
        return {};
    RIFTJIT_TRY(event, record(ends_, [&] { return "an event behind " + loaded.name; }));
    milestones_.push_back({event, launched_.size()});
    return {};
}

Result<void> HipAccelerator::wait() {
    RIFTJIT_TRY_VOID(enter());
    if (launched_.empty()) return {};
    if (options_.patience_seconds != 0) {
        if (patience_ == nullptr) patience_ = std::make_unique<Patience>(*this);
        patience_->begin();
    }
    const auto ended =
        of([&] { return fmt::format("{} launches up to {}", launched_.size(), kernels_[launched_.back()].name); },
           hip_->hipStreamSynchronize({}));
    if (patience_ != nullptr) patience_->end();
    if (ended)
        for (const Kernel kernel : launched_) kernels_[kernel].has_ended = true;
    launched_.clear();
    milestones_.clear();
    ends_.used = 0;
    return ended;
}

// Asked by the thread that watches, while the one that launches waits.
std::string HipAccelerator::who_is_stuck() const {
    size_t first = 0, end = launched_.size();
    if (enter()) {
        for (const Milestone& milestone : milestones_) {
            if (hip_->hipEventQuery.code(milestone.event) != 0) {
                end = milestone.launches;
                break;
            }
            first = milestone.launches;
        }
    }
    const std::string& name = kernels_[launched_[std::min(first, launched_.size() - 1)]].name;
    const std::string which = end - first <= 1 ? name
                                               : fmt::format("one of {} launches from {} to {}", end - first, name,
                                                             kernels_[launched_[end - 1]].name);
    return fmt::format("{}: {} has not ended within {} seconds (RIFTJIT_HIP_PATIENCE)", this->name(), which,
                       options_.patience_seconds);
}

Result<void> HipAccelerator::mark() {
    RIFTJIT_TRY_VOID(enter());
    RIFTJIT_TRY_VOID(record(moments_, "a moment between launches"));
    return {};
}

Result<std::vector<double>> HipAccelerator::seconds_between_marks() {
    std::vector<double> seconds;
    for (size_t i = 0; i + 1 < moments_.used; ++i) {
        float milliseconds = 0;
        RIFTJIT_TRY_VOID(of("the time between launches",
                            hip_->hipEventElapsedTime(&milliseconds, moments_.all[i], moments_.all[i + 1])));
        seconds.push_back(1e-3 * double(milliseconds));
    }
    moments_.used = 0;
    return seconds;
}

}  // namespace riftjit::runtime
