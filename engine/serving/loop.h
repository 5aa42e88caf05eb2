// The scheduler's thread: who waits, who has a slot, and one step after the other.
#pragma once

#include <future>
#include <thread>

#include "engine/guesses.h"
#include "engine/serving/job.h"

namespace riftjit::engine {

class Scheduler::Loop {
public:
    Loop(Engine& engine, ServingOptions options);
    ~Loop() { stop(); }

    Result<std::shared_ptr<Job>> submit(ServingRequest request);
    void wake();
    void stop();
    Result<uint32_t> erase(uint32_t slot);
    Result<uint32_t> save(uint32_t slot, const TextIdentity& identity, const runtime::Sequences::Sink& sink);
    Result<Restored> restore(uint32_t slot, const std::filesystem::path& path, const TextIdentity& identity);
    Result<void> restore(uint32_t slot, const std::vector<int32_t>& ids, const runtime::Sequences::Source& source);

    const runtime::Sequences& sequences() const { return sequences_; }
    std::vector<SlotStatus> status() const;
    ServingTotals totals() const;

private:
    struct Slot {
        std::optional<runtime::SequenceId> sequence;
        std::vector<int32_t> text;  // what the sequence holds
        std::shared_ptr<Job> job;   // null: idle
        uint64_t used_at = 0;
        uint64_t hold = 0;  // of who saves or restores its text, counted from 1: nobody begins here until that is done
        std::optional<Drafting> drafting;
        std::optional<Guesses> guesses;  // of the job
        std::vector<int32_t> guessed;    // rows of the step behind the text's last token

        size_t unread() const { return job->ids.size() - text.size(); }
        bool is_idle() const { return job == nullptr && hold == 0; }
    };

    // loop.cpp: requests that come and go, and what is asked for between two steps
    void run();
    bool has_work() const;
    void end_cancelled();
    void take_requests();
    bool may_begin(const Job& job) const;
    void set_aside();
    void take_back();
    // On an idle slot, or on one that `hold` is of.
    Result<uint32_t> between_steps(uint32_t slot, const std::function<Result<uint32_t>(Slot&)>& act, uint64_t hold = 0);
    Result<void> open_for(Slot& slot, uint32_t length);
    Result<void> fill(uint32_t slot, uint64_t hold, uint64_t payload, const runtime::Sequences::Source& source);
    void publish();

    // slots.cpp: what slots hold, and the room that there is
    const Slot* most_alike(std::span<const int32_t> ids) const;
    Slot& slot_to_use(std::span<const int32_t> ids, const Slot* origin);
    void begin(std::shared_ptr<Job> job);
    Result<void> prepare(Slot& slot, const Slot* origin);
    void end(Slot& slot, ServingEvent event);
    void forget(Slot& slot);
    std::shared_ptr<Job> leave(Slot& slot);
    Result<void> cut(Slot& slot, size_t length);
    Result<void> shift(Slot& slot);
    void share_rows();
    bool forget_oldest();
    uint64_t pages_needed() const;
    bool make_room();

    // steps.cpp: a step, and what is sampled behind it
    void step();
    void guess_all();
    Result<void> guess(Slot& slot, size_t most);
    void after_step(Slot& slot, size_t rows, runtime::StepLogits& logits, uint32_t& output);
    std::optional<ServingEvent> take_tokens(Slot& slot, runtime::StepLogits& logits, uint32_t output);
    bool takes_unseen(const Slot& slot, size_t guess) const;
    Result<int32_t> sample(Slot& slot, runtime::StepLogits& logits, uint32_t output, std::optional<int32_t> instead,
                           ServingEvent& event);
    Result<void> advance(Slot& slot, int32_t id, ServingEvent& event);
    bool has_reached_limit(const Job& job) const;

    Engine& engine_;
    runtime::Sequences& sequences_;
    const size_t batch_, most_outputs_;
    const bool shifts_context_;
    const std::vector<double> synthetic_shares_;
    std::vector<Slot> slots_;
    std::vector<size_t> shares_;  // rows of each slot in the step, without guesses
    std::vector<runtime::StepRow> rows_;
    uint64_t clock_ = 0, holds_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable work_;
    std::deque<std::shared_ptr<Job>> waiting_;
    std::vector<std::shared_ptr<Job>> stalled_;
    std::vector<std::packaged_task<void()>> commands_;
    uint64_t tasks_ = 0;
    bool is_stopping_ = false;
    std::vector<SlotStatus> status_;
    ServingTotals totals_;

    std::thread thread_;
};

}  // namespace riftjit::engine
