#include "jit/rdna/emulator/machine/scheduler.h"

#include <fmt/format.h>

#include <algorithm>

namespace riftjit::rdna::emulator {
namespace {

// A wave that spins without sleeping would keep the others from ever setting what it waits for.
constexpr uint64_t kLongQuantum = 100'000;
constexpr uint64_t kAskEvery = 1 << 16;  // instructions: some milliseconds
constexpr size_t kWavesInReport = 16;
constexpr size_t kMostWavesKept = 1024;  // of up to 150 KB each

}  // namespace

std::unique_ptr<ResidentGroup> SlotPool::take(const LaunchContext& launch) {
    std::unique_ptr<ResidentGroup> slot;
    {
        const std::lock_guard lock(mutex_);
        if (slots_.empty()) return std::make_unique<ResidentGroup>();
        slot = std::move(slots_.back());
        slots_.pop_back();
        waves_ -= slot->waves.size();
    }
    for (const std::unique_ptr<Wave>& wave : slot->waves) renew_wave(*wave, launch);
    return slot;
}

void SlotPool::give_back(std::unique_ptr<ResidentGroup> slot) {
    const std::lock_guard lock(mutex_);
    if (waves_ + slot->waves.size() > kMostWavesKept) return;
    waves_ += slot->waves.size();
    slots_.push_back(std::move(slot));
}

Scheduler::Scheduler(const LaunchContext& launch, const LaunchOptions& options, MemorySystem& memory, SlotPool& pool)
    : launch_(launch),
      options_(options),
      memory_(memory),
      pool_(pool),
      interpreter_(memory, launch.checks),
      tracer_(options.trace),
      random_(launch.seed) {}

Scheduler::~Scheduler() {
    for (std::unique_ptr<ResidentGroup>& slot : slots_)
        if (slot) pool_.give_back(std::move(slot));
}

void Scheduler::start_group(std::unique_ptr<ResidentGroup>& slot) {
    slot = pool_.take(launch_);
    Group& group = slot->group;
    group = {};
    group.number = static_cast<uint32_t>(next_);
    next_ += options_.schedule == Schedule::reversed ? -1 : 1;
    --waiting_;
    group.id = launch_.group_id(group.number);
    const uint32_t wave_count = launch_.waves_per_group();
    while (slot->waves.size() < wave_count) slot->waves.push_back(std::make_unique<Wave>());
    for (Barrier& barrier : group.barriers) barrier.members = 0;
    group.barriers[0].members = wave_count;
    group.barriers[kBarriers - 1].members = wave_count;
    for (uint32_t i = 0; i < wave_count; ++i) {
        prepare_wave(*slot->waves[i], launch_, group, i);
        group.waves.push_back(&slot->waves[i]->state);
    }
    memory_.begin_group(group);
    for (uint32_t i = 0; i < wave_count; ++i) {
        memory_.begin_wave(slot->waves[i]->state);
        initialise_registers(*slot->waves[i], launch_, memory_);
    }
    slot->ended = 0;
}

void Scheduler::finish_group(std::unique_ptr<ResidentGroup>& slot) {
    if (slot->is_done() && options_.group_ended) options_.group_ended();
    memory_.end_group(slot->group);
    pool_.give_back(std::move(slot));
    slot = nullptr;
}

Outcome Scheduler::run(uint64_t first, uint64_t count, uint64_t resident, const std::function<bool()>& is_interrupted) {
    executed_ = asked_at_ = 0;
    asks_ = is_interrupted ? &is_interrupted : nullptr;
    // Whatever ran before, and on which thread.
    if (options_.schedule == Schedule::random) random_.seed(launch_.seed + first);
    next_ = options_.schedule == Schedule::reversed ? first + count - 1 : first;
    waiting_ = count;
    slots_.resize(std::max<size_t>(slots_.size(), std::min(resident, count)));
    const Outcome outcome = options_.schedule == Schedule::random ? run_randomly() : run_in_turn();
    if (outcome != Outcome::completed) abandon();
    return outcome;
}

// What a run that stopped early still owes to memory.
void Scheduler::abandon() {
    for (std::unique_ptr<ResidentGroup>& slot : slots_) {
        if (!slot) continue;
        for (size_t w = 0; w < slot->group.waves.size(); ++w)
            if (slot->waves[w]->status != Wave::Status::ended) memory_.end_wave(slot->waves[w]->state);
        finish_group(slot);
    }
}

// Whether nothing but barriers that all have reached keeps the group's waves.
bool Scheduler::goes_on_behind_a_barrier(const ResidentGroup& slot) {
    bool any_can_run = false;
    for (size_t w = 0; w < slot.group.waves.size(); ++w) {
        const Wave& wave = *slot.waves[w];
        if (wave.status == Wave::Status::running) return false;
        any_can_run |= wave.status == Wave::Status::at_barrier && wave.can_run();
    }
    return any_can_run;
}

// A group starts when its turn comes and keeps it as long as it has no need of others, so that it leaves its registers,
// warm in the host's caches, to the next when it ends.
Outcome Scheduler::run_in_turn() {
    const uint64_t quantum = options_.schedule == Schedule::lock_step ? 1 : kLongQuantum;
    const bool backwards = options_.schedule == Schedule::reversed;
    for (bool any_left = true; any_left;) {
        progressed_ = any_left = false;
        for (std::unique_ptr<ResidentGroup>& slot : slots_) {
            if (!slot && waiting_ > 0) start_group(slot);
            if (!slot) continue;
            any_left = true;
            const size_t wave_count = slot->group.waves.size();
            const uint64_t executed_before = executed_;
            do {
                for (size_t w = 0; w < wave_count; ++w)
                    if (!advance(*slot, *slot->waves[backwards ? wave_count - 1 - w : w], quantum)) return outcome_;
            } while (executed_ - executed_before < quantum && goes_on_behind_a_barrier(*slot));
            if (slot->is_done()) finish_group(slot);
        }
        if (any_left && !progressed_) {
            report_deadlock();
            return Outcome::deadlock;
        }
    }
    return Outcome::completed;
}

// Quanta of very different lengths, so that waves drift apart as well as meet.
Outcome Scheduler::run_randomly() {
    std::vector<std::pair<std::unique_ptr<ResidentGroup>*, Wave*>> ready;
    for (;;) {
        bool any_left = false;
        ready.clear();
        for (std::unique_ptr<ResidentGroup>& slot : slots_) {
            if (!slot && waiting_ > 0) start_group(slot);
            if (!slot) continue;
            any_left = true;
            for (size_t w = 0; w < slot->group.waves.size(); ++w)
                if (slot->waves[w]->can_run()) ready.emplace_back(&slot, slot->waves[w].get());
        }
        if (!any_left) return Outcome::completed;
        if (ready.empty()) {
            report_deadlock();
            return Outcome::deadlock;
        }
        // Several picks per list: making it anew costs more than a short quantum. One that can no longer run is
        // skipped.
        for (size_t pick = 0; pick < ready.size(); ++pick) {
            const auto [slot, wave] = ready[random_() % ready.size()];
            const uint64_t quantum = uint64_t{1} << random_() % 8;
            if (!*slot || !wave->can_run()) continue;
            if (!advance(**slot, *wave, quantum)) return outcome_;
            if ((*slot)->is_done()) finish_group(*slot);
        }
    }
}

bool Scheduler::stop(Outcome outcome) {
    outcome_ = outcome;
    return false;
}

bool Scheduler::is_interrupted() {
    if (asks_ == nullptr || executed_ - asked_at_ < kAskEvery) return false;
    asked_at_ = executed_;
    return (*asks_)();
}

bool Scheduler::advance(ResidentGroup& slot, Wave& wave, uint64_t budget) {
    if (wave.status == Wave::Status::ended || !wave.can_run()) return true;
    const uint64_t limit = options_.instruction_limit;
    if (executed_ >= limit) {
        report_limit();
        return stop(Outcome::limit);
    }
    if (is_interrupted()) {
        interrupted_ = where_waves_stand();
        return stop(Outcome::interrupted);
    }
    progressed_ = true;
    const uint64_t allowed = std::min(budget, limit - executed_);
    const Stop reason = tracer_.enabled() ? tracer_.run(interpreter_, wave, allowed, executed_)
                                          : interpreter_.run(wave, allowed, executed_);
    if (reason == Stop::fault) return stop(Outcome::fault);
    if (reason == Stop::ended) ++slot.ended;
    return true;
}

std::string Scheduler::where_waves_stand() const {
    std::string text;
    size_t listed = 0, more = 0;
    for (const std::unique_ptr<ResidentGroup>& slot : slots_) {
        if (!slot) continue;
        for (size_t w = 0; w < slot->group.waves.size(); ++w) {
            const Wave& wave = *slot->waves[w];
            if (wave.status == Wave::Status::ended) continue;
            if (++listed > kWavesInReport) {
                ++more;
                continue;
            }
            const CodeLocation at = wave.state.op->program->locate(wave.state.op->address);
            const std::string reason = wave.status == Wave::Status::at_barrier
                                           ? fmt::format("waits at barrier {}", wave.barrier)
                                           : std::string("runs");
            text += fmt::format("{}group {} wave {} {} at {}+{:#x}", text.empty() ? "" : "; ", slot->group.number, w,
                                reason, at.function, at.offset);
        }
    }
    if (more) text += fmt::format("; and {} more", more);
    return text;
}

const Wave* Scheduler::first_waiting() const {
    for (const std::unique_ptr<ResidentGroup>& slot : slots_) {
        if (!slot) continue;
        for (size_t w = 0; w < slot->group.waves.size(); ++w)
            if (slot->waves[w]->status != Wave::Status::ended) return slot->waves[w].get();
    }
    return nullptr;
}

// Placed where the first wave stands that has not ended.
Finding Scheduler::finding_at(FindingKind kind, std::string detail) const {
    Finding finding{.kind = kind, .kernel = launch_.kernel->name, .detail = std::move(detail)};
    if (const Wave* wave = first_waiting()) {
        const Op& op = *wave->state.op;
        const CodeLocation at = op.program->locate(op.address);
        finding.kernel = at.function;
        finding.code_offset = at.offset;
        finding.instruction = op.text();
        finding.group = wave->state.group_number;
        finding.wave = wave->state.index;
    }
    return finding;
}

void Scheduler::report_deadlock() {
    launch_.findings->report(finding_at(FindingKind::deadlock, "no wave can make progress: " + where_waves_stand()));
}

void Scheduler::report_limit() {
    launch_.findings->report(
        finding_at(FindingKind::run_limit,
                   fmt::format("the limit of {} instructions is reached: {}", executed_, where_waves_stand())));
}

}  // namespace riftjit::rdna::emulator
