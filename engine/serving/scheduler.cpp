#include "engine/serving/scheduler.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "engine/text_stream.h"
#include "runtime/sampling/log_probabilities.h"

namespace riftjit::engine {

namespace {

using ServingClock = std::chrono::steady_clock;
using runtime::SequenceId;
using runtime::StepRow;

double serving_ms(ServingClock::time_point from, ServingClock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

size_t common_prefix(std::span<const int32_t> one, std::span<const int32_t> other) {
    return size_t(std::ranges::mismatch(one, other).in1 - one.begin());
}

}  // namespace

struct Scheduler::Job {
    Job(ServingRequest asked, runtime::Sampler chosen, uint64_t number)
        : request(std::move(asked)),
          sampler(std::move(chosen)),
          stream(request.stop_words),
          ids(request.prompt),
          task(number) {
        sampler.restart({});
        for (const int32_t id : ids) sampler.accept(id);
    }

    // The scheduler's thread alone touches these once the job was handed to it.
    ServingRequest request;
    runtime::Sampler sampler;
    TextStream stream;
    std::vector<int32_t> ids;  // the prompt and what was sampled
    uint64_t task;
    ServingTimings timings;
    std::optional<ServingClock::time_point> begun, first_token;
    bool has_line_end = false;
    bool was_put_back = false;  // lost its pages to others and waits to be read again

    std::atomic<bool> is_cancelled = false;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<ServingEvent> events;

    void push(ServingEvent event) {
        event.timings = timings;
        {
            const std::lock_guard lock(mutex);
            events.push_back(std::move(event));
        }
        changed.notify_all();
    }
};

Scheduler::Answer::~Answer() {
    if (job_) cancel();
}

std::optional<ServingEvent> Scheduler::Answer::wait(std::chrono::milliseconds most) {
    std::unique_lock lock(job_->mutex);
    if (!job_->changed.wait_for(lock, most, [&] { return !job_->events.empty(); })) return std::nullopt;
    ServingEvent event = std::move(job_->events.front());
    job_->events.pop_front();
    return event;
}

class Scheduler::Loop {
public:
    explicit Loop(Engine& engine)
        : engine_(engine),
          sequences_(*engine.sequences),
          batch_(sequences_.model().prompt_plan.max_tokens),
          slots_(sequences_.limits().sequences),
          status_(slots_.size()) {
        rows_.reserve(batch_);
        thread_ = std::thread([this] { run(); });
    }
    ~Loop() { stop(); }

    Result<std::shared_ptr<Job>> submit(ServingRequest request);
    void wake() { work_.notify_all(); }
    void stop();
    std::optional<uint32_t> erase(uint32_t slot);

    const runtime::Sequences& sequences() const { return sequences_; }
    std::vector<SlotStatus> status() const {
        const std::lock_guard lock(mutex_);
        return status_;
    }
    ServingTotals totals() const {
        const std::lock_guard lock(mutex_);
        ServingTotals totals = totals_;
        totals.deferred = uint32_t(waiting_.size());
        return totals;
    }

private:
    struct Slot {
        std::optional<SequenceId> sequence;
        std::vector<int32_t> text;  // what the sequence holds
        std::shared_ptr<Job> job;   // null: idle
        uint64_t used_at = 0;

        size_t unread() const { return job->ids.size() - text.size(); }
    };

    void run();
    void take_requests();
    bool may_begin(const Job& job) const;
    const Slot* most_alike(std::span<const int32_t> ids) const;
    Slot& slot_to_use(std::span<const int32_t> ids, const Slot* origin);
    void begin(std::shared_ptr<Job> job);
    Result<void> prepare(Slot& slot, const Slot* origin);
    void end(Slot& slot, ServingEvent event);
    void forget(Slot& slot);
    void end_cancelled();
    void share_rows();
    bool make_room();
    void step();
    void after_step(Slot& slot, size_t rows, runtime::StepLogits& logits, uint32_t& output);
    Result<int32_t> sample(Job& job, runtime::StepLogits& logits, uint32_t output, ServingEvent& event);
    void advance(Slot& slot, int32_t id, ServingEvent event);
    void publish();

    Engine& engine_;
    runtime::Sequences& sequences_;
    const size_t batch_;
    std::vector<Slot> slots_;
    std::vector<size_t> shares_;  // rows of each slot in the step
    std::vector<StepRow> rows_;
    uint64_t clock_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable work_;
    std::deque<std::shared_ptr<Job>> waiting_;
    std::vector<std::packaged_task<void()>> commands_;
    uint64_t tasks_ = 0;
    bool is_stopping_ = false;
    std::vector<SlotStatus> status_;
    ServingTotals totals_;

    std::thread thread_;
};

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
    wake();
    return job;
}

void Scheduler::Loop::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
    }
    wake();
    if (thread_.joinable()) thread_.join();
}

std::optional<uint32_t> Scheduler::Loop::erase(uint32_t index) {
    std::optional<uint32_t> erased;
    std::packaged_task<void()> command([&] {
        Slot& slot = slots_[index];
        if (slot.job) return;
        erased = uint32_t(slot.text.size());
        forget(slot);
    });
    auto done = command.get_future();
    {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) return std::nullopt;
        commands_.push_back(std::move(command));
    }
    wake();
    done.wait();
    return erased;
}

void Scheduler::Loop::run() {
    while (true) {
        std::vector<std::packaged_task<void()>> commands;
        bool is_last = false;
        {
            std::unique_lock lock(mutex_);
            const bool is_busy = std::ranges::any_of(slots_, [](const Slot& slot) { return slot.job != nullptr; });
            if (!is_busy) work_.wait(lock, [&] { return is_stopping_ || !waiting_.empty() || !commands_.empty(); });
            commands.swap(commands_);
            is_last = is_stopping_;
            if (is_last) {
                for (auto& job : waiting_) job->is_cancelled = true;
                for (Slot& slot : slots_)
                    if (slot.job) slot.job->is_cancelled = true;
            }
        }
        for (auto& command : commands) command();
        end_cancelled();
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

// First come, first served; but who waits for one slot holds up nobody who takes any.
void Scheduler::Loop::take_requests() {
    std::vector<std::shared_ptr<Job>> jobs;
    {
        const std::lock_guard lock(mutex_);
        size_t idle = size_t(std::ranges::count_if(slots_, [](const Slot& slot) { return slot.job == nullptr; }));
        std::vector<bool> is_taken(slots_.size());
        for (auto it = waiting_.begin(); it != waiting_.end() && idle > 0;) {
            const auto wanted = (*it)->request.slot;
            const bool has_slot = !wanted || (!slots_[*wanted].job && !is_taken[*wanted]);
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
    if (!job.was_put_back) return true;
    const bool is_alone = std::ranges::none_of(slots_, [](const Slot& slot) { return slot.job != nullptr; });
    return is_alone || runtime::page_count(job.ids.size() + 1) < sequences_.tables().free_pages();
}

// The slot whose text begins most like `ids`, an idle one of equals; null: none does.
const Scheduler::Loop::Slot* Scheduler::Loop::most_alike(std::span<const int32_t> ids) const {
    const Slot* best = nullptr;
    size_t most = 0;
    for (const Slot& slot : slots_) {
        const size_t same = common_prefix(slot.text, ids);
        if (same > most || (same == most && best != nullptr && best->job && !slot.job)) best = &slot, most = same;
    }
    return best;
}

// An idle slot. What would be lost is looked at: a text that is wholly gone on from, then nothing, then a text that is
// mostly kept, then the oldest.
Scheduler::Loop::Slot& Scheduler::Loop::slot_to_use(std::span<const int32_t> ids, const Slot* origin) {
    const auto loss = [&](const Slot& slot) -> std::pair<int, uint64_t> {
        if (slot.text.empty()) return {1, slot.used_at};
        const size_t same = &slot == origin ? common_prefix(slot.text, ids) : 0;
        if (same == slot.text.size()) return {0, slot.used_at};
        return {same * 2 >= slot.text.size() ? 2 : 3, slot.used_at};
    };
    Slot* best = nullptr;
    for (Slot& slot : slots_)
        if (!slot.job && (best == nullptr || loss(slot) < loss(*best))) best = &slot;
    check(best != nullptr, "a request begins where a slot is idle");
    return *best;
}

void Scheduler::Loop::begin(std::shared_ptr<Job> job) {
    const Slot* const origin = job->request.reuses_text || job->was_put_back ? most_alike(job->ids) : nullptr;
    Slot& slot = job->request.slot ? slots_[*job->request.slot] : slot_to_use(job->ids, origin);
    slot.job = std::move(job);
    slot.used_at = ++clock_;
    if (const auto prepared = prepare(slot, origin); !prepared) {
        forget(slot);
        return end(slot, {.error = prepared.error()});
    }
    if (slot.job->begun) return;
    slot.job->begun = ServingClock::now();
    slot.job->timings.cached_tokens = uint32_t(slot.text.size());
    slot.job->timings.prompt_tokens = uint32_t(slot.unread());
    if (slot.job->request.tells_progress) slot.job->push({.read_tokens = uint32_t(slot.text.size())});
}

// Leaves in the slot what of the text is there already, in it or in `origin`. At least the last token is read: its
// logits are wanted.
Result<void> Scheduler::Loop::prepare(Slot& slot, const Slot* origin) {
    const std::vector<int32_t>& ids = slot.job->ids;
    size_t same = origin == nullptr ? 0 : common_prefix(origin->text, ids);
    if (same > 0 && common_prefix(slot.text, ids) == same) origin = &slot;
    same = std::min(same, ids.size() - 1);
    if (origin != &slot || same == 0) forget(slot);
    if (!slot.sequence) {
        RIFTJIT_TRY(sequence, same > 0 ? sequences_.fork(*origin->sequence) : sequences_.open());
        slot.sequence = sequence;
    }
    RIFTJIT_TRY_VOID(sequences_.truncate(*slot.sequence, uint32_t(same)));
    slot.text.assign(ids.begin(), ids.begin() + sequences_.length(*slot.sequence));
    return {};
}

void Scheduler::Loop::forget(Slot& slot) {
    if (slot.sequence) sequences_.close(*slot.sequence);
    slot.sequence.reset();
    slot.text.clear();
}

void Scheduler::Loop::end(Slot& slot, ServingEvent event) {
    Job& job = *slot.job;
    if (job.first_token) job.timings.predicted_ms = serving_ms(*job.first_token, ServingClock::now());
    {
        const std::lock_guard lock(mutex_);
        totals_.prompt_tokens += job.timings.prompt_tokens;
        totals_.cached_tokens += job.timings.cached_tokens;
        totals_.prompt_ms += job.timings.prompt_ms;
        totals_.predicted_tokens += job.timings.predicted_tokens;
        totals_.predicted_ms += job.timings.predicted_ms;
        totals_.most_tokens = std::max<uint64_t>(totals_.most_tokens, job.ids.size());
    }
    const std::shared_ptr<Job> done = std::move(slot.job);
    slot.job.reset();
    slot.used_at = ++clock_;
    publish();  // who hears that it is done finds the slot idle
    done->push(std::move(event));
}

// Rows of the step, as even as what there is to read allows: texts that go on token by token take one each.
void Scheduler::Loop::share_rows() {
    shares_.assign(slots_.size(), 0);
    std::vector<size_t> order;
    for (size_t i = 0; i < slots_.size(); ++i)
        if (slots_[i].job) order.push_back(i);
    std::ranges::sort(order, {}, [&](size_t i) { return std::pair(slots_[i].unread(), slots_[i].job->task); });
    size_t left = batch_, texts = order.size();
    for (const size_t i : order) {
        shares_[i] = std::min(slots_[i].unread(), left / texts--);
        left -= shares_[i];
    }
}

// In the cache, for the step's rows: first the oldest of texts that nobody goes on with, then the youngest request goes
// back to those who wait. False: something changed, so that rows are to be shared anew.
bool Scheduler::Loop::make_room() {
    const auto needed = [&] {
        uint64_t pages = 0;
        for (size_t i = 0; i < slots_.size(); ++i)
            if (shares_[i] != 0)
                pages += sequences_.tables().pages_to_extend(*slots_[i].sequence, uint32_t(shares_[i]));
        return pages;
    };
    while (needed() > sequences_.tables().free_pages()) {
        Slot* oldest = nullptr;
        for (Slot& slot : slots_)
            if (!slot.job && slot.sequence && (oldest == nullptr || slot.used_at < oldest->used_at)) oldest = &slot;
        if (oldest != nullptr) {
            forget(*oldest);
            continue;
        }
        Slot* youngest = nullptr;
        size_t running = 0;
        for (Slot& slot : slots_) {
            running += slot.job != nullptr;
            if (slot.job && (youngest == nullptr || slot.job->task > youngest->job->task)) youngest = &slot;
        }
        check(youngest != nullptr, "what takes pages is somebody's");
        forget(*youngest);
        if (running == 1) {
            end(*youngest, {.error = Error{ErrorKind::OutOfMemory, "the KV cache is full (-c)"}});
        } else {
            youngest->job->was_put_back = true;
            const std::lock_guard lock(mutex_);
            waiting_.push_front(std::move(youngest->job));
        }
        return false;
    }
    return true;
}

void Scheduler::Loop::step() {
    do share_rows();
    while (!make_room());
    rows_.clear();
    auto reading = runtime::LogitReading::highest;
    uint32_t busy = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        const Slot& slot = slots_[i];
        if (shares_[i] == 0) continue;
        ++busy;
        for (size_t k = 0; k < shares_[i]; ++k)
            rows_.push_back({*slot.sequence, slot.job->ids[slot.text.size() + k], StepRow::Logits::none});
        if (shares_[i] != slot.unread()) continue;
        rows_.back().logits = StepRow::Logits::wanted;
        if (slot.job->request.chances > 0 || !slot.job->sampler.takes_highest()) reading = runtime::LogitReading::rows;
    }
    if (rows_.empty()) return;
    auto logits = sequences_.step(rows_, reading);
    {
        const std::lock_guard lock(mutex_);
        ++totals_.steps;
        totals_.busy_slots += busy;
    }
    uint32_t output = 0;
    for (size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (shares_[i] == 0) continue;
        if (logits) {
            after_step(slot, shares_[i], *logits, output);
        } else {
            forget(slot);
            end(slot, {.error = logits.error()});
        }
    }
}

void Scheduler::Loop::after_step(Slot& slot, size_t rows, runtime::StepLogits& logits, uint32_t& output) {
    Job& job = *slot.job;
    const auto next = job.ids.begin() + ptrdiff_t(slot.text.size());
    slot.text.insert(slot.text.end(), next, next + ptrdiff_t(rows));
    const auto now = ServingClock::now();
    const bool reads_prompt = !job.first_token;
    if (reads_prompt) job.timings.prompt_ms = serving_ms(*job.begun, now);
    if (reads_prompt && job.request.tells_progress) job.push({.read_tokens = uint32_t(slot.text.size())});
    if (slot.unread() != 0) return;
    const uint32_t row = output++;
    if (job.request.max_tokens == 0) return end(slot, {.finish = FinishReason::length});
    if (job.sampler.must_end()) return end(slot, {.finish = FinishReason::end_of_generation});
    ServingEvent event;
    const auto id = sample(job, logits, row, event);
    if (!id) return end(slot, {.error = id.error()});
    if (!job.first_token) job.first_token = ServingClock::now();
    job.timings.predicted_ms = serving_ms(*job.first_token, now);
    advance(slot, *id, std::move(event));
}

Result<int32_t> Scheduler::Loop::sample(Job& job, runtime::StepLogits& logits, uint32_t output, ServingEvent& event) {
    std::optional<int32_t> of_highest;
    if (logits.highest != nullptr) of_highest = job.sampler.sample(logits.highest_of(output));
    if (!of_highest && logits.data == nullptr) {
        const auto* highest = logits.highest;
        RIFTJIT_TRY(rows, sequences_.read_rows());
        logits = rows;
        logits.highest = highest;
    }
    const auto id = of_highest ? Result<int32_t>(*of_highest) : job.sampler.sample(logits.row(output));
    if (!id) return id;
    RIFTJIT_TRY_VOID(job.sampler.accept_sampled(*id));
    ++job.timings.predicted_tokens;
    event.token.emplace(ServingEvent::Token{.id = *id});
    if (job.request.chances > 0) {
        // Rows of the table behind the vocabulary are no tokens.
        const std::span<const float> row = logits.row(output);
        auto [picked, top] = runtime::log_probabilities(
            row.first(std::min<size_t>(row.size(), engine_.tokenizer.size())), *id, job.request.chances);
        event.token->logprob = picked.log_probability;
        event.token->chances = std::move(top);
    }
    return *id;
}

// Tells the token, and whether it is the last.
void Scheduler::Loop::advance(Slot& slot, int32_t id, ServingEvent event) {
    Job& job = *slot.job;
    const ServingRequest& request = job.request;
    const models::Tokenizer& tokenizer = engine_.tokenizer;
    if (tokenizer.is_end_of_generation(id)) {
        event.token->is_end = true;
        event.finish = FinishReason::end_of_generation;
    } else {
        job.ids.push_back(id);
        const bool is_hidden = request.show_control == models::Tokenizer::ShowControl::no && tokenizer.is_control(id);
        if (!is_hidden) event.text = job.stream.push(tokenizer.piece(id));
        job.has_line_end |= event.text.contains('\n');
        const size_t sampled = job.ids.size() - request.prompt.size();
        const bool is_late =
            request.most_time && job.has_line_end && job.timings.predicted_ms > double(request.most_time->count());
        if (job.stream.found_stop_word()) {
            event.finish = FinishReason::stop_word;
            event.stop_word = job.stream.stop_word();
        } else if (job.sampler.must_end()) {
            event.finish = FinishReason::end_of_generation;
        } else if ((request.max_tokens >= 0 && sampled >= size_t(request.max_tokens)) || is_late ||
                   slot.text.size() == sequences_.limits().positions) {
            event.finish = FinishReason::length;
        }
    }
    if (!event.finish) return job.push(std::move(event));
    event.text += job.stream.finish();
    end(slot, std::move(event));
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

void Scheduler::Answer::cancel() {
    job_->is_cancelled = true;
    scheduler_->loop_->wake();
}

Scheduler::Scheduler(Engine& engine) : loop_(std::make_unique<Loop>(engine)) {}
Scheduler::~Scheduler() = default;

Result<Scheduler::Answer> Scheduler::submit(ServingRequest request) {
    RIFTJIT_TRY(job, loop_->submit(std::move(request)));
    return Answer(std::move(job), *this);
}

void Scheduler::stop() { loop_->stop(); }
uint32_t Scheduler::slots() const { return loop_->sequences().limits().sequences; }
uint32_t Scheduler::context() const { return loop_->sequences().limits().positions; }
std::vector<SlotStatus> Scheduler::status() const { return loop_->status(); }
ServingTotals Scheduler::totals() const { return loop_->totals(); }
std::optional<uint32_t> Scheduler::erase(uint32_t slot) { return loop_->erase(slot); }

}  // namespace riftjit::engine
