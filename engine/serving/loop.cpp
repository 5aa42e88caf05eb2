#include "engine/serving/loop.h"

#include <algorithm>

#include "engine/sampling.h"

namespace riftjit::engine {

namespace {

constexpr std::chrono::milliseconds kLookWhereHeld{1};

}  // namespace

Scheduler::Loop::Loop(Engine& engine, ServingOptions options)
    : engine_(engine),
      sequences_(*engine.sequences),
      batch_(sequences_.model().prompt_plan.max_tokens),
      most_outputs_(std::min<size_t>(sequences_.model().prompt_plan.max_outputs, batch_)),
      shifts_context_(options.shifts_context),
      synthetic_shares_(options.synthetic_shares),
      slots_(sequences_.limits().sequences),
      status_(slots_.size()) {
    rows_.reserve(batch_);
    check(options.drafts.empty() || options.drafts.size() == slots_.size(), "a draft for each slot, or none");
    for (size_t i = 0; i < options.drafts.size(); ++i)
        slots_[i].drafting.emplace(std::move(options.drafts[i]), DraftPace(options.draft_limits));
    thread_ = std::thread([this] { run(); });
}

// Whoever changed what is waited for may have done so between a look at it and the wait.
void Scheduler::Loop::wake() {
    {
        const std::lock_guard lock(mutex_);
    }
    work_.notify_all();
}

Result<std::shared_ptr<Scheduler::Job>> Scheduler::Loop::submit(ServingRequest request) {
    const uint32_t context = sequences_.limits().positions;
    if (request.prompt.empty())
        return fail(ErrorKind::Usage, "the prompt is empty and the model has no BOS token to start from");
    if (request.prompt.size() > context)
        return fail(ErrorKind::Usage, "the prompt has {} tokens, the context {} (-c); context_length_exceeded",
                    request.prompt.size(), context);
    for (size_t i = 0; i < request.prompt.size(); ++i)
        if (const int32_t id = request.prompt[i]; id < 0 || uint32_t(id) >= engine_.tokenizer.size())
            return fail(ErrorKind::Usage, "token {} at index {} is outside the vocabulary of {}", id, i,
                        engine_.tokenizer.size());
    if (request.slot && *request.slot >= slots_.size())
        return fail(ErrorKind::Usage, "slot {}: there are {}", *request.slot, slots_.size());
    RIFTJIT_TRY(sampler, make_sampler(engine_, request.sampling, [](const std::string&) {}));
    std::shared_ptr<Job> job;
    {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) return fail(ErrorKind::Interrupted, "the server is stopping");
        job = std::make_shared<Job>(std::move(request), std::move(sampler), ++tasks_);
        waiting_.push_back(job);
    }
    work_.notify_all();
    return job;
}

void Scheduler::Loop::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    work_.notify_all();
    if (thread_.joinable()) thread_.join();
}

Result<uint32_t> Scheduler::Loop::between_steps(uint32_t index, const std::function<Result<uint32_t>(Slot&)>& act,
                                                uint64_t hold) {
    Result<uint32_t> result = fail(ErrorKind::Interrupted, "the server is stopping");
    std::packaged_task<void()> command([&] {
        Slot& slot = slots_[index];
        if (hold != 0 && slot.hold != hold)
            result = fail(ErrorKind::Interrupted, "slot {}: the cache was wanted for requests, and its text forgotten",
                          index);
        else if (slot.job || slot.hold != hold)
            result = fail(ErrorKind::Interrupted, "slot {} is at work", index);
        else
            result = act(slot);
        publish();
    });
    auto done = command.get_future();
    {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) return result;
        commands_.push_back(std::move(command));
    }
    work_.notify_all();
    done.wait();
    return result;
}

Result<uint32_t> Scheduler::Loop::erase(uint32_t index) {
    return between_steps(index, [&](Slot& slot) -> Result<uint32_t> {
        const auto erased = uint32_t(slot.text.size());
        forget(slot);
        return erased;
    });
}

// A piece of the text's bytes between two steps; whoever takes them, a disk perhaps, takes its time beside others'
// requests.
Result<uint32_t> Scheduler::Loop::save(uint32_t index, const TextIdentity& identity,
                                       const runtime::Sequences::Sink& sink) {
    uint64_t hold = 0;
    std::vector<int32_t> ids;
    const auto begun = between_steps(index, [&](Slot& slot) -> Result<uint32_t> {
        if (!slot.sequence) return fail(ErrorKind::Usage, "slot {} holds no text", index);
        hold = slot.hold = ++holds_;
        ids = slot.text;
        return 0;
    });
    if (!begun) return begun;
    const auto length = uint32_t(ids.size());
    const uint64_t payload = sequences_.saved_bytes(length);
    const auto save_payload = [&](const runtime::Sequences::Sink& to) -> Result<void> {
        std::vector<std::byte> bytes;
        for (uint64_t offset = 0; offset < payload; offset += bytes.size()) {
            const auto read = between_steps(
                index,
                [&](Slot& slot) -> Result<uint32_t> {
                    RIFTJIT_TRY_VOID(sequences_.save_some(*slot.sequence, length, offset, bytes));
                    return 0;
                },
                hold);
            if (!read) return std::unexpected(read.error());
            RIFTJIT_TRY_VOID(to(bytes));
        }
        return {};
    };
    const auto saved = save_text(HeldText{ids, payload, save_payload}, identity, sink);
    const auto released = between_steps(
        index,
        [](Slot& slot) -> Result<uint32_t> {
            slot.hold = 0;
            return 0;
        },
        hold);
    if (!saved) return std::unexpected(saved.error());
    if (!released) return released;
    return length;
}

// The file is checked and read on the caller's thread.
Result<Scheduler::Restored> Scheduler::Loop::restore(uint32_t index, const std::filesystem::path& path,
                                                     const TextIdentity& identity) {
    const auto saved_bytes = [&](uint32_t length) { return sequences_.saved_bytes(length); };
    RIFTJIT_TRY(file, SavedText::open(path, identity,
                                      {sequences_.limits().positions, sequences_.model().token_limit, saved_bytes}));
    RIFTJIT_TRY_VOID(restore(index, file.ids(), file.payload()));
    return Restored{uint32_t(file.ids().size()), file.bytes()};
}

// As in save(): the slot is held, and its text, of which nobody may go on while bytes are missing, is empty until then.
Result<void> Scheduler::Loop::restore(uint32_t index, const std::vector<int32_t>& ids,
                                      const runtime::Sequences::Source& source) {
    const auto length = uint32_t(ids.size());
    uint64_t hold = 0;
    const auto begun = between_steps(index, [&](Slot& slot) -> Result<uint32_t> {
        if (const auto opened = open_for(slot, length); !opened) {
            forget(slot);
            return std::unexpected(opened.error());
        }
        hold = slot.hold = ++holds_;
        slot.used_at = ++clock_;
        return 0;
    });
    if (!begun) return std::unexpected(begun.error());
    const auto filled = fill(index, hold, sequences_.saved_bytes(length), source);
    const auto ended = between_steps(
        index,
        [&](Slot& slot) -> Result<uint32_t> {
            if (filled) {
                slot.text = ids;
                slot.hold = 0;
            } else {
                forget(slot);
            }
            return 0;
        },
        hold);
    if (filled && !ended) return std::unexpected(ended.error());
    return filled;
}

// An empty sequence that has room for a text, and its length.
Result<void> Scheduler::Loop::open_for(Slot& slot, uint32_t length) {
    forget(slot);
    while (runtime::page_count(length) > sequences_.tables().free_pages())
        if (!forget_oldest())
            return fail(ErrorKind::OutOfMemory, "the KV cache has no room for the text's {} tokens (-c)", length);
    RIFTJIT_TRY(sequence, sequences_.open());
    slot.sequence = sequence;
    return sequences_.skip(sequence, length);
}

Result<void> Scheduler::Loop::fill(uint32_t index, uint64_t hold, uint64_t payload,
                                   const runtime::Sequences::Source& source) {
    std::vector<std::byte> bytes;
    for (uint64_t offset = 0; offset < payload; offset += bytes.size()) {
        bytes.resize(std::min(runtime::Sequences::kSavedAtOnce, payload - offset));
        RIFTJIT_TRY_VOID(source(bytes));
        const auto written = between_steps(
            index,
            [&](Slot& slot) -> Result<uint32_t> {
                RIFTJIT_TRY_VOID(sequences_.restore_some(*slot.sequence, offset, bytes));
                return 0;
            },
            hold);
        if (!written) return std::unexpected(written.error());
    }
    return {};
}

// Under the lock.
bool Scheduler::Loop::has_work() const {
    return is_stopping_ || !waiting_.empty() || !commands_.empty() ||
           std::ranges::any_of(stalled_, [](const auto& job) { return job->may_go_on(); });
}

void Scheduler::Loop::run() {
    while (true) {
        std::vector<std::packaged_task<void()>> commands;
        bool is_last = false;
        {
            std::unique_lock lock(mutex_);
            const bool is_busy = std::ranges::any_of(slots_, [](const Slot& slot) { return slot.job != nullptr; });
            const bool is_held = std::ranges::any_of(slots_, [](const Slot& slot) { return slot.hold != 0; });
            // Who waits may wait for a slot that is held.
            if (!is_busy && is_held)
                work_.wait_for(lock, kLookWhereHeld, [&] { return is_stopping_ || !commands_.empty(); });
            else if (!is_busy)
                work_.wait(lock, [&] { return has_work(); });
            commands.swap(commands_);
            is_last = is_stopping_;
            if (is_last) {
                for (auto& job : waiting_) job->is_cancelled = true;
                for (auto& job : stalled_) job->is_cancelled = true;
                for (Slot& slot : slots_)
                    if (slot.job) slot.job->is_cancelled = true;
            }
        }
        for (auto& command : commands) command();
        take_back();
        end_cancelled();
        set_aside();
        take_requests();
        step();
        publish();
        const std::lock_guard lock(mutex_);
        if (is_last) {
            commands_.clear();  // who waits for one learns that none will be done
            break;
        }
    }
}

// Those that wait too.
void Scheduler::Loop::end_cancelled() {
    for (Slot& slot : slots_)
        if (slot.job && slot.job->is_cancelled)
            end(slot, {.text = slot.job->stream.finish(), .finish = FinishReason::interrupted});
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [](const std::shared_ptr<Job>& job) {
        if (job->is_cancelled) job->push({.finish = FinishReason::interrupted});
        return job->is_cancelled.load();
    });
}

// Answers whose readers do not keep up: what they have read stays in the slot as long as nobody else wants it.
void Scheduler::Loop::set_aside() {
    for (Slot& slot : slots_) {
        if (!slot.job || slot.job->unread < kMostUnread) continue;
        auto job = leave(slot);
        job->is_stalled = true;
        const std::lock_guard lock(mutex_);
        stalled_.push_back(std::move(job));
    }
}

void Scheduler::Loop::take_back() {
    const std::lock_guard lock(mutex_);
    std::erase_if(stalled_, [this](const std::shared_ptr<Job>& job) {
        if (!job->may_go_on()) return false;
        job->is_stalled = false;
        waiting_.push_front(job);
        return true;
    });
}

// First come, first served; but who waits for one slot holds up nobody who takes any.
void Scheduler::Loop::take_requests() {
    std::vector<std::shared_ptr<Job>> jobs;
    {
        const std::lock_guard lock(mutex_);
        size_t idle = size_t(std::ranges::count_if(slots_, &Slot::is_idle));
        std::vector<bool> is_taken(slots_.size());
        for (auto it = waiting_.begin(); it != waiting_.end() && idle > 0;) {
            const auto wanted = (*it)->request.slot;
            const bool has_slot = !wanted || (slots_[*wanted].is_idle() && !is_taken[*wanted]);
            if (!has_slot) {
                ++it;
                continue;
            }
            if (!may_begin(**it)) break;
            if (wanted) is_taken[*wanted] = true;
            --idle;
            jobs.push_back(std::move(*it));
            it = waiting_.erase(it);
        }
    }
    // Those with a slot of their own first: the others take what is left.
    std::ranges::stable_partition(jobs, [](const auto& job) { return job->request.slot.has_value(); });
    for (auto& job : jobs) begin(std::move(job));
}

// A text that lost its pages to others comes back once they would suffice for it.
bool Scheduler::Loop::may_begin(const Job& job) const {
    if (!job.lost_its_pages) return true;
    const bool is_alone = std::ranges::none_of(slots_, [](const Slot& slot) { return slot.job != nullptr; });
    return is_alone || runtime::page_count(job.ids.size() + 1) < sequences_.tables().free_pages();
}

void Scheduler::Loop::publish() {
    const std::lock_guard lock(mutex_);
    totals_.processing = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        const Slot& slot = slots_[i];
        SlotStatus& status = status_[i];
        status.is_processing = slot.job != nullptr;
        status.kept_tokens = uint32_t(slot.text.size());
        if (!slot.job) continue;
        ++totals_.processing;
        status.task = slot.job->task;
        status.prompt_tokens = uint32_t(slot.job->request.prompt.size());
        status.predicted_tokens = slot.job->timings.predicted_tokens;
        status.max_tokens = slot.job->request.max_tokens;
    }
}

std::vector<SlotStatus> Scheduler::Loop::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

ServingTotals Scheduler::Loop::totals() const {
    const std::lock_guard lock(mutex_);
    ServingTotals totals = totals_;
    totals.deferred = uint32_t(waiting_.size() + stalled_.size());
    return totals;
}

}  // namespace riftjit::engine
