#include "engine/serving/scheduler.h"

#include "engine/serving/loop.h"

namespace riftjit::engine {

Scheduler::Answer::~Answer() {
    if (job_) cancel();
}

std::optional<ServingEvent> Scheduler::Answer::wait(std::chrono::milliseconds most) {
    std::optional<ServingEvent> event;
    {
        std::unique_lock lock(job_->mutex);
        if (!job_->changed.wait_for(lock, most, [&] { return !job_->events.empty(); })) return std::nullopt;
        event = std::move(job_->events.front());
        job_->events.pop_front();
        job_->unread = job_->events.size();
    }
    if (job_->is_stalled && job_->may_go_on()) scheduler_->loop_->wake();
    return event;
}

void Scheduler::Answer::cancel() {
    job_->is_cancelled = true;
    scheduler_->loop_->wake();
}

Scheduler::Scheduler(Engine& engine, ServingOptions options)
    : loop_(std::make_unique<Loop>(engine, std::move(options))) {}
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

Result<uint32_t> Scheduler::erase(uint32_t slot) { return loop_->erase(slot); }
Result<uint32_t> Scheduler::save(uint32_t slot, const TextIdentity& identity, const runtime::Sequences::Sink& sink) {
    return loop_->save(slot, identity, sink);
}
Result<Scheduler::Restored> Scheduler::restore(uint32_t slot, const std::filesystem::path& path,
                                               const TextIdentity& identity) {
    return loop_->restore(slot, path, identity);
}
Result<void> Scheduler::restore(uint32_t slot, const std::vector<int32_t>& ids,
                                const runtime::Sequences::Source& source) {
    return loop_->restore(slot, ids, source);
}

}  // namespace riftjit::engine
