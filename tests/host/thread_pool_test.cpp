#include "host/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <ranges>
#include <thread>
#include <vector>

#include "host/cpus.h"

namespace riftjit {
namespace thread_pool_test {

ThreadPool make_pool(uint32_t threads) {
    auto pool = ThreadPool::create(threads);
    EXPECT_TRUE(pool.has_value()) << pool.error().message;
    return std::move(*pool);
}

// Runs a callable on every thread.
template <class Callable>
void run(ThreadPool& pool, Callable&& callable) {
    pool.run([](void* context, uint32_t thread) { (*static_cast<Callable*>(context))(thread); }, &callable);
}

double median_microseconds(ThreadPool& pool, int repetitions) {
    std::vector<double> times(repetitions);
    for (double& time : times) {
        const auto start = std::chrono::steady_clock::now();
        run(pool, [](uint32_t) {});
        time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    }
    std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
    return times[repetitions / 2];
}

TEST(ThreadPool, RunsTheBodyOnceOnEveryThreadAtAnyCount) {
    for (uint32_t threads : {1u, 2u, 3u, 7u, 16u, 61u}) {
        ThreadPool pool = make_pool(threads);
        ASSERT_EQ(pool.size(), threads);
        std::vector<uint32_t> runs(threads, 0);
        for (int round = 0; round < 200; ++round) run(pool, [&](uint32_t thread) { ++runs[thread]; });
        for (uint32_t thread = 0; thread < threads; ++thread) EXPECT_EQ(runs[thread], 200u) << "thread " << thread;
    }
}

TEST(ThreadPool, GivesEveryBodyItsStack) {
    ThreadPool pool = make_pool(3);
    run(pool, [](uint32_t) {
        volatile std::byte room[ThreadPool::kBodyStackBytes];
        for (size_t at = sizeof room; at > 0; at -= 1024) room[at - 1] = std::byte{1};  // downwards, as stacks grow
    });
}

TEST(ThreadPool, ShowsTheCallerEverythingThatWorkersWrote) {
    ThreadPool pool = make_pool(3);
    std::vector<uint32_t> values(30'000, 0);
    for (uint32_t round = 1; round <= 50; ++round) {
        run(pool, [&](uint32_t thread) {
            const Share share = share_of(uint32_t(values.size()), thread, 3);
            for (uint32_t i = share.begin; i < share.end; ++i) values[i] += round;
        });
        ASSERT_EQ(uint32_t(std::count(values.begin(), values.end(), round * (round + 1) / 2)), values.size());
    }
}

// Each phase reads what other threads wrote in the phase before; a barrier that lets anyone through early, or that
// does not publish writes, leaves a wrong number.
TEST(ThreadPool, BarrierOrdersPhasesAtAnyCount) {
    for (uint32_t threads : {1u, 2u, 3u, 7u, 16u}) {
        ThreadPool pool = make_pool(threads);
        std::vector<uint32_t> even(threads, 0), odd(threads, 0);
        constexpr uint32_t kPhases = 400;
        run(pool, [&](uint32_t thread) {
            const uint32_t neighbour = (thread + 1) % threads;
            for (uint32_t phase = 0; phase < kPhases; ++phase) {
                auto& from = phase % 2 == 0 ? even : odd;
                auto& to = phase % 2 == 0 ? odd : even;
                to[thread] = from[neighbour] + 1;
                pool.barrier();
            }
        });
        EXPECT_EQ(std::count(even.begin(), even.end(), kPhases), threads) << threads << " threads";
    }
}

// Who waits asks for memory line by line, for none behind the end, and goes on where it stopped.
TEST(ThreadPool, BarrierBringsWhatIsReadNextNearer) {
    ThreadPool pool = make_pool(2);
    const std::vector<std::byte> memory(1 << 20);
    const Ahead all{memory.data(), memory.data() + memory.size()};
    Ahead early = all, last = all, nothing;
    run(pool, [&](uint32_t thread) {
        const timespec pause{0, 20'000'000};
        if (thread == 0) nanosleep(&pause, nullptr);
        pool.barrier(thread == 0 ? last : early);
        const std::byte* const reached = early.next;
        pool.barrier();
        if (thread == 0) nanosleep(&pause, nullptr);
        pool.barrier(thread == 0 ? nothing : early);
        EXPECT_GE(early.next, reached);
    });
    EXPECT_NE(early.next - all.next + (last.next - all.next), 0);  // on a busy machine either may come last
    for (const Ahead& ahead : {early, last}) {
        EXPECT_LE(ahead.next, all.end);
        EXPECT_EQ((ahead.next - all.next) % 64, 0);
    }
    EXPECT_EQ(nothing.next, nullptr);
}

TEST(ThreadPool, WakesWorkersThatWentToSleep) {
    ThreadPool pool = make_pool(2);
    std::atomic<int> runs = 0;
    for (int round = 0; round < 5; ++round) {
        const timespec pause{0, 5'000'000};
        nanosleep(&pause, nullptr);
        run(pool, [&](uint32_t) { ++runs; });
    }
    EXPECT_EQ(runs, 10);
}

ptrdiff_t threads_of_this_process() {
    return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/task"));
}

// A thread that was joined may stand in /proc a moment longer.
bool falls_to(ptrdiff_t threads) {
    for (int wait = 0; wait < 10'000; ++wait) {
        if (threads_of_this_process() == threads) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

TEST(ThreadPool, EndsItsThreadsWithoutEverHavingRun) {
    const ptrdiff_t before = threads_of_this_process();
    for (int round = 0; round < 20; ++round) {
        {
            const ThreadPool pool = make_pool(4);
            ASSERT_EQ(threads_of_this_process(), before + 3);
        }
        ASSERT_TRUE(falls_to(before)) << threads_of_this_process() << " threads, of which " << before << " are ours";
    }
}

// Seven threads pinned to one CPU: barriers that only spin would wait a scheduler's slice (milliseconds) each, so a
// thousand of them would take seconds. The limit is a hundred times what sleeping in the kernel takes here.
TEST(ThreadPool, DoesNotCollapseWhenThreadsShareOneCpu) {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &all)) continue;
        CPU_SET(cpu, &one);
        break;
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cpus(), 1u);
    EXPECT_EQ(physical_cores(), 1u);
    const auto start = std::chrono::steady_clock::now();
    {
        ThreadPool pool = make_pool(7);
        run(pool, [&](uint32_t) {
            for (int phase = 0; phase < 200; ++phase) pool.barrier();
        });
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    std::printf("7 threads on one CPU: %.1f us per barrier\n", seconds * 1e6 / 200);
    EXPECT_LT(seconds, 10.0);
}

// In a child process, because the limit stays.
TEST(ThreadPoolDeathTest, SaysWhichThreadTheSystemRefused) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "wants a build without AddressSanitizer, which maps memory of its own for every thread";
#endif
    const auto refuse = [] {
        rlimit limit;
        getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = 1;  // no further mapping, so no stack for a thread
        setrlimit(RLIMIT_AS, &limit);
        const auto pool = ThreadPool::create(3);
        std::fprintf(stderr, "%s\n", pool ? "started" : pool.error().message.c_str());
        std::_Exit(pool ? 0 : 1);
    };
    EXPECT_EXIT(refuse(), testing::ExitedWithCode(1), "^thread 1 of 3 could not be started: ");
}

// A measurement, not an assertion: on a machine whose cores are busy with other work it says little.
TEST(ThreadPool, ReportsSubmitAndJoin) {
    for (uint32_t threads = 2; threads <= std::min(usable_cpus(), 8u); ++threads) {
        ThreadPool pool = make_pool(threads);
        median_microseconds(pool, 200);
        const double median = median_microseconds(pool, 2000);
        RecordProperty("submit_join_us_" + std::to_string(threads), std::to_string(median));
        std::printf("%u threads: submit and join %.2f us (median)\n", threads, median);
        EXPECT_GT(median, 0.0);
    }
}

TEST(Share, CoversEveryUnitOnceInOrder) {
    for (uint32_t count : {0u, 1u, 2u, 7u, 100u, 4'000'000'000u}) {
        for (uint32_t threads : {1u, 2u, 3u, 7u, 64u}) {
            uint32_t next = 0, smallest = ~0u, largest = 0;
            for (uint32_t thread = 0; thread < threads; ++thread) {
                const Share share = share_of(count, thread, threads);
                EXPECT_EQ(share.begin, next);
                next = share.end;
                smallest = std::min(smallest, share.end - share.begin);
                largest = std::max(largest, share.end - share.begin);
            }
            EXPECT_EQ(next, count);
            EXPECT_LE(largest - smallest, 1u);
        }
    }
}

TEST(Cpus, CountsAreWithinTheProcessesSet) {
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(usable_cpus(), uint32_t(CPU_COUNT(&set)));
    EXPECT_GE(physical_cores(), 1u);
    EXPECT_LE(physical_cores(), usable_cpus());
}

TEST(Cpus, DefaultThreadsAreWithinCores) {
    EXPECT_GE(default_threads(), 1u);
    EXPECT_LE(default_threads(), physical_cores());
}

}  // namespace thread_pool_test
}  // namespace riftjit
