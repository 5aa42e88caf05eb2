// What slots hold: texts that stay there for whoever goes on from them, and the room in the cache.
#include <algorithm>

#include "engine/serving/loop.h"

namespace riftjit::engine {

namespace {

size_t common_prefix(std::span<const int32_t> one, std::span<const int32_t> other) {
    return size_t(std::ranges::mismatch(one, other).in1 - one.begin());
}

}  // namespace

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
        if (slot.is_idle() && (best == nullptr || loss(slot) < loss(*best))) best = &slot;
    check(best != nullptr, "a request begins where a slot is idle");
    return *best;
}

void Scheduler::Loop::begin(std::shared_ptr<Job> job) {
    const Slot* const origin = job->request.reuses_text || job->begun ? most_alike(job->ids) : nullptr;
    Slot& slot = job->request.slot ? slots_[*job->request.slot] : slot_to_use(job->ids, origin);
    slot.job = std::move(job);
    slot.used_at = ++clock_;
    if (const auto prepared = prepare(slot, origin); !prepared) {
        forget(slot);
        return end(slot, {.error = prepared.error()});
    }
    if (slot.drafting) {
        slot.guesses.emplace(*slot.drafting);
        slot.guesses->restart(slot.job->ids);
    }
    Job& begun = *slot.job;
    if (begun.first_token) return;
    begun.timings.cached_tokens = uint32_t(slot.text.size());
    begun.timings.prompt_tokens = 0;
    if (begun.begun) return;
    begun.begun = ServingClock::now();
    if (begun.request.tells_progress)
        begun.push({.read_tokens = uint32_t(slot.text.size()), .total_tokens = uint32_t(begun.ids.size())});
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
    slot.text.assign(ids.begin(), ids.begin() + ptrdiff_t(same));
    return cut(slot, same);
}

// Where the model keeps running states, perhaps to less.
Result<void> Scheduler::Loop::cut(Slot& slot, size_t length) {
    RIFTJIT_TRY_VOID(sequences_.truncate(*slot.sequence, uint32_t(length)));
    slot.text.resize(sequences_.length(*slot.sequence));
    return {};
}

// Drops what stands behind the kept beginning, and has what is left read again where it now stands: to move keys and
// values would leave those of a text that never was.
Result<void> Scheduler::Loop::shift(Slot& slot) {
    Job& job = *slot.job;
    constexpr size_t kLeastShifted = 4;
    const size_t context = sequences_.limits().positions;
    const bool has_begin = !job.ids.empty() && engine_.tokenizer.bos() == job.ids.front();
    size_t kept = job.request.kept_tokens < 0 ? job.request.prompt.size() : size_t(job.request.kept_tokens) + has_begin;
    kept = std::min(kept, context - std::min(context, kLeastShifted));
    const size_t left = job.ids.size() - kept;
    const size_t wanted = job.request.discarded_tokens == 0 ? left / 2 : job.request.discarded_tokens;
    const auto from = job.ids.begin() + ptrdiff_t(kept);
    job.ids.erase(from, from + ptrdiff_t(std::clamp<size_t>(wanted, 1, left - 1)));
    job.is_truncated = true;
    if (slot.guesses) slot.guesses->restart(job.ids);
    return cut(slot, common_prefix(slot.text, job.ids));
}

void Scheduler::Loop::forget(Slot& slot) {
    if (slot.sequence) sequences_.close(*slot.sequence);
    slot.sequence.reset();
    slot.text.clear();
    slot.hold = 0;
}

// The slot keeps its text.
std::shared_ptr<Scheduler::Job> Scheduler::Loop::leave(Slot& slot) {
    slot.guesses.reset();
    slot.guessed.clear();
    slot.used_at = ++clock_;
    return std::exchange(slot.job, nullptr);
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
        totals_.drafted_tokens += job.timings.drafted_tokens;
        totals_.accepted_tokens += job.timings.accepted_tokens;
        totals_.most_tokens = std::max<uint64_t>(totals_.most_tokens, job.ids.size());
    }
    const std::shared_ptr<Job> done = leave(slot);
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

// Of the texts that nobody goes on with, at last of those that are being saved or restored; false: there is none.
bool Scheduler::Loop::forget_oldest() {
    Slot* oldest = nullptr;
    const auto order = [](const Slot& slot) { return std::pair(slot.hold != 0, slot.used_at); };
    for (Slot& slot : slots_)
        if (!slot.job && slot.sequence && (oldest == nullptr || order(slot) < order(*oldest))) oldest = &slot;
    if (oldest != nullptr) forget(*oldest);
    return oldest != nullptr;
}

uint64_t Scheduler::Loop::pages_needed() const {
    uint64_t pages = 0;
    for (size_t i = 0; i < slots_.size(); ++i)
        if (shares_[i] != 0) pages += sequences_.tables().pages_to_extend(*slots_[i].sequence, uint32_t(shares_[i]));
    return pages;
}

// In the cache, for the step's rows: first the oldest of texts that nobody goes on with, then the youngest request goes
// back to those who wait. False: something changed, so that rows are to be shared anew.
bool Scheduler::Loop::make_room() {
    while (pages_needed() > sequences_.tables().free_pages()) {
        if (forget_oldest()) continue;
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
            auto job = leave(*youngest);
            job->lost_its_pages = true;
            const std::lock_guard lock(mutex_);
            waiting_.push_front(std::move(job));
        }
        return false;
    }
    return true;
}

}  // namespace riftjit::engine
