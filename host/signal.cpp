#include "host/signal.h"

#include <emmintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <climits>

namespace riftjit {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "futex(2) works on the 32-bit word itself");

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// Reading the time stamp costs as much as a pause, so it is looked at once per this many pauses.
constexpr int kPausesPerClockRead = 8;
constexpr ptrdiff_t kLineBytes = 64;

}  // namespace

uint64_t Signal::wait_while(uint32_t old, uint64_t spin_ticks, Ahead& ahead) {
    const uint64_t start = __rdtsc();
    do {
        for (int pause = 0; pause < kPausesPerClockRead; ++pause) {
            if (value_.load(std::memory_order_acquire) != old) return __rdtsc() - start;
            if (ahead.next < ahead.end) {
                _mm_prefetch(ahead.next, _MM_HINT_T1);
                ahead.next += kLineBytes;
            } else {
                _mm_pause();
            }
        }
    } while (__rdtsc() - start < spin_ticks);

    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (value_.load(std::memory_order_seq_cst) == old) futex_wait(value_, old);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return __rdtsc() - start;
}

void Signal::advance() {
    value_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) futex_wake_all(value_);
}

}  // namespace riftjit
