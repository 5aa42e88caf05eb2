#include "host/demand_memory.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <vector>

#include "host/round_up.h"

namespace riftjit {
namespace {

constexpr uint64_t kAlignment = 2 << 20;  // of huge pages
constexpr uint64_t kMostPieces = 16384;   // each may be a mapping of its own, of which a process has 65,530
constexpr uint32_t kPiecesPerThread = 4;  // one load may touch two

enum class State : uint8_t { absent, changing, present };

std::byte* map(std::byte* at, uint64_t bytes, int protection, int flags) {
    void* const address = mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
}

std::byte* aligned(std::byte* address) {
    return reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uintptr_t>(address), kAlignment));
}

// Within a signal handler nothing can be returned.
[[noreturn]] void die(std::string_view message) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
    _exit(1);
}

class Region final : public DemandMemory {
public:
    Region(uint64_t bytes, const Limits& limits, const Maker& maker)
        : maker_(maker),
          piece_bytes_(bytes / kMostPieces < limits.piece_bytes ? limits.piece_bytes
                                                                : round_up(bytes / kMostPieces + 1, kAlignment)),
          bytes_(round_up(std::max<uint64_t>(bytes, 1), piece_bytes_)),
          most_resident_(std::max(limits.most_resident, piece_bytes_ * kPiecesPerThread * (limits.threads + 1))),
          states_(bytes_ / piece_bytes_) {}
    ~Region() override;

    Result<void> open(std::string_view what);
    std::byte* data() const override { return data_; }
    uint64_t size_bytes() const override { return bytes_; }
    uint64_t most_resident() const override { return most_resident_; }
    uint64_t made_bytes() const override { return made_.load(std::memory_order_relaxed); }

    bool holds(const std::byte* address) const { return address >= data_ && address < data_ + bytes_; }
    void bring(const std::byte* address);

private:
    void make(size_t piece);
    void make_room();
    std::byte* staged(size_t piece);

    const Maker& maker_;
    const uint64_t piece_bytes_, bytes_, most_resident_;
    std::byte* reserved_ = nullptr;
    std::byte* data_ = nullptr;
    std::vector<std::atomic<State>> states_;
    std::atomic<uint64_t> resident_{0}, made_{0}, lots_{0};
};

// ---- the handler and what it knows
// -------------------------------------------------------------------------------------

constexpr size_t kMostRegions = 64;
std::array<std::atomic<Region*>, kMostRegions> g_regions;
struct sigaction g_before{};

// As if this handler were not there.
void pass_on(int signal, siginfo_t* info, void* context) {
    if ((g_before.sa_flags & SA_SIGINFO) != 0 && g_before.sa_sigaction != nullptr)
        return g_before.sa_sigaction(signal, info, context);
    if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) return g_before.sa_handler(signal);
    sigaction(signal, &g_before, nullptr);  // the instruction faults once more, on its own
}

bool is_write(const void* context) {
#ifdef __x86_64__
    constexpr long long kWrite = 2;  // of the page fault's error code
    return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
#else
    return false;
#endif
}

void on_fault(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    const auto* address = static_cast<const std::byte*>(info->si_addr);
    for (const std::atomic<Region*>& each : g_regions) {
        Region* const region = each.load(std::memory_order_acquire);
        if (region == nullptr || !region->holds(address) || is_write(context)) continue;
        region->bring(address);
        errno = error;
        return;
    }
    pass_on(signal, info, context);
}

Result<void> install_handler() {
    static std::once_flag once;
    static int failure = 0;
    std::call_once(once, [] {
        struct sigaction action{};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGSEGV, &action, &g_before) != 0) failure = errno;
    });
    if (failure != 0) return fail(ErrorKind::Io, "SIGSEGV cannot be handled: {}", std::strerror(failure));
    return {};
}

// ---- a region
// ----------------------------------------------------------------------------------------------------------

Result<void> Region::open(std::string_view what) {
    reserved_ = map(nullptr, bytes_ + kAlignment, PROT_NONE, MAP_NORESERVE);
    if (reserved_ == nullptr)
        return fail(ErrorKind::OutOfMemory, "{} needs {} bytes of address space: {}", what, bytes_,
                    std::strerror(errno));
    data_ = aligned(reserved_);
    RIFTJIT_TRY_VOID(install_handler());
    for (std::atomic<Region*>& each : g_regions) {
        Region* expected = nullptr;
        if (each.compare_exchange_strong(expected, this)) return {};
    }
    return fail(ErrorKind::OutOfMemory, "{}: {} regions of memory on demand are open", what, kMostRegions);
}

Region::~Region() {
    for (std::atomic<Region*>& each : g_regions) {
        Region* expected = this;
        each.compare_exchange_strong(expected, nullptr);
    }
    if (reserved_ != nullptr) munmap(reserved_, bytes_ + kAlignment);
}

void Region::bring(const std::byte* address) {
    const auto piece = size_t(uint64_t(address - data_) / piece_bytes_);
    State expected = State::absent;
    if (states_[piece].compare_exchange_strong(expected, State::changing)) {
        make(piece);
        states_[piece].store(State::present, std::memory_order_release);
        return;
    }
    // Another thread makes it, or gives it up, or has made it by now: the instruction tries again.
    if (expected == State::changing) {
        const timespec pause{0, 20'000};
        nanosleep(&pause, nullptr);
    }
}

void Region::make(size_t piece) {
    if (resident_.fetch_add(piece_bytes_) + piece_bytes_ > most_resident_) make_room();
    std::byte* const made = staged(piece);
    std::byte* const place = data_ + piece * piece_bytes_;
    if (mremap(made, piece_bytes_, piece_bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
        die("error: memory on demand: mremap failed; too many mappings (vm.max_map_count)?\n");
    made_.fetch_add(piece_bytes_, std::memory_order_relaxed);
}

// The piece in memory of its own, made and readable, between flanks that are gone again.
std::byte* Region::staged(size_t piece) {
    const uint64_t flank = round_up(maker_.flank(), kAlignment);
    const uint64_t whole = flank + piece_bytes_ + flank + kAlignment;
    std::byte* base = nullptr;
    for (int attempt = 0; base == nullptr && attempt < 16; ++attempt) {
        base = map(nullptr, whole, PROT_READ | PROT_WRITE, MAP_NORESERVE);
        if (base == nullptr) make_room();
    }
    if (base == nullptr) die("error: memory on demand: there is no memory for what is needed next\n");
    std::byte* const made = aligned(base) + flank;
    madvise(made, piece_bytes_, MADV_HUGEPAGE);  // a wish: a kernel without huge pages may refuse
    const uint64_t begin = piece * piece_bytes_;
    maker_.make(begin, begin + piece_bytes_, made);
    mprotect(made, piece_bytes_, PROT_READ);
    munmap(base, uint64_t(made - base));
    munmap(made + piece_bytes_, whole - uint64_t(made - base) - piece_bytes_);
    return made;
}

// Gives up one that is there, if there is any.
void Region::make_room() {
    const size_t pieces = states_.size();
    // splitmix64 (Steele, Lea, Flood 2014): lots that no lock is needed for.
    uint64_t lot = lots_.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed);
    lot = (lot ^ lot >> 30) * 0xbf58476d1ce4e5b9;
    lot = (lot ^ lot >> 27) * 0x94d049bb133111eb;
    const auto first = size_t((lot ^ lot >> 31) % pieces);
    for (size_t i = 0; i < pieces; ++i) {
        const size_t piece = (first + i) % pieces;
        State expected = State::present;
        if (!states_[piece].compare_exchange_strong(expected, State::changing)) continue;
        // Whoever reads it at this moment faults, and finds it absent.
        if (map(data_ + piece * piece_bytes_, piece_bytes_, PROT_NONE, MAP_FIXED | MAP_NORESERVE) == nullptr)
            die("error: memory on demand: a piece cannot be given up\n");
        states_[piece].store(State::absent, std::memory_order_release);
        resident_.fetch_sub(piece_bytes_);
        return;
    }
}

}  // namespace

Result<std::unique_ptr<DemandMemory>> DemandMemory::reserve(uint64_t bytes, const Limits& limits, const Maker& maker,
                                                            std::string_view what) {
    auto region = std::make_unique<Region>(bytes, limits, maker);
    RIFTJIT_TRY_VOID(region->open(what));
    return std::unique_ptr<DemandMemory>(std::move(region));
}

}  // namespace riftjit
