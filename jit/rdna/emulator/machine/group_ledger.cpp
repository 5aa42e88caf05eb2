#include "jit/rdna/emulator/machine/group_ledger.h"

#include <fmt/format.h>

#include <algorithm>

namespace riftjit::rdna::emulator {
namespace {

// So that a long workgroup does not let the others' ends pile up behind it.
constexpr uint64_t kMostAhead = 1 << 16;

}  // namespace

std::optional<uint64_t> GroupLedger::take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return next_ < committed_ + kMostAhead || next_ > stop_; });
    if (next_ >= launch_.grid.count() || next_ > stop_) return std::nullopt;
    return next_++;
}

uint32_t GroupLedger::group(uint64_t turn) const {
    return static_cast<uint32_t>(options_.schedule == Schedule::reversed ? launch_.grid.count() - 1 - turn : turn);
}

void GroupLedger::finish(uint64_t turn, Outcome outcome, uint64_t executed) {
    {
        const std::lock_guard lock(mutex_);
        if (turn > stop_) return;
        if (outcome != Outcome::completed) stop_at(turn);
        if (turn == committed_)
            commit({outcome, executed});
        else
            ended_.emplace(turn, Ended{outcome, executed});
        while (outcome_ == Outcome::completed && !ended_.empty() && ended_.begin()->first == committed_) {
            commit(ended_.begin()->second);
            ended_.erase(ended_.begin());
        }
    }
    changed_.notify_all();
}

void GroupLedger::commit(const Ended& ended) {
    const uint32_t number = group(committed_);
    launch_.findings->commit(number);
    executed_ += ended.executed;
    outcome_ = ended.outcome;
    ++committed_;
    if (outcome_ != Outcome::completed || executed_ <= options_.instruction_limit) return;
    outcome_ = Outcome::limit;
    stop_at(committed_ - 1);
    launch_.findings->report(
        Finding{.kind = FindingKind::run_limit,
                .kernel = launch_.kernel->name,
                .group = number,
                .detail = fmt::format("the limit of {} instructions is reached after {} of {} workgroups",
                                      options_.instruction_limit, committed_, launch_.grid.count())});
    launch_.findings->commit(number);
}

void GroupLedger::stop_at(uint64_t turn) { stop_ = std::min(stop_.load(), turn); }

Outcome GroupLedger::close() {
    const std::lock_guard lock(mutex_);
    if (outcome_ == Outcome::interrupted)  // what the threads have found till then is all there is
        for (uint64_t turn = committed_; turn < next_; ++turn) launch_.findings->commit(group(turn));
    launch_.findings->drop_pending();
    return outcome_;
}

}  // namespace riftjit::rdna::emulator
