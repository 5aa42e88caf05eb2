// A request on its way: what the scheduler's thread knows of it, and the events that its reader has not taken yet.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "engine/serving/scheduler.h"
#include "engine/text_stream.h"
#include "runtime/sampling/random.h"

namespace riftjit::engine {

using ServingClock = std::chrono::steady_clock;

inline double serving_ms(ServingClock::time_point from, ServingClock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

struct Scheduler::Job {
    Job(ServingRequest asked, runtime::Sampler chosen, uint64_t number)
        : request(std::move(asked)),
          sampler(std::move(chosen)),
          stream(request.stop_words),
          lots(sampler.seed()),
          ids(request.prompt),
          task(number) {
        sampler.restart({});
        for (const int32_t id : ids) sampler.accept(id);
    }

    // The scheduler's thread alone touches these once the job was handed to it.
    ServingRequest request;
    runtime::Sampler sampler;
    TextStream stream;
    runtime::Random lots;      // of ServingOptions::synthetic_shares
    std::vector<int32_t> ids;  // the prompt and what was sampled, without what shifts dropped
    uint64_t task;
    ServingTimings timings;
    std::optional<ServingClock::time_point> begun, first_token;
    int64_t sampled = 0;  // without the end token
    bool has_line_end = false;
    bool is_in_indentation = false;  // of a line behind the first
    uint32_t indentation = 0;        // of it, so far
    bool is_truncated = false;
    bool lost_its_pages = false;  // to others, and waits to be read again

    std::atomic<bool> is_cancelled = false;
    std::atomic<bool> is_stalled = false;  // without a slot until its reader has caught up
    std::atomic<size_t> unread = 0;        // events
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<ServingEvent> events;

    void push(ServingEvent event) {
        event.timings = timings;
        event.is_truncated = is_truncated;
        {
            const std::lock_guard lock(mutex);
            events.push_back(std::move(event));
            unread = events.size();
        }
        changed.notify_all();
    }
    // Whether a stalled one may go on, or need not any more.
    bool may_go_on() const { return is_cancelled || unread <= kMostUnread / 2; }
};

}  // namespace riftjit::engine
