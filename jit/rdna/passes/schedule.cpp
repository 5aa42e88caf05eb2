#include "jit/rdna/passes/schedule.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

#include "jit/rdna/object/kernel_descriptor.h"
#include "jit/rdna/object/occupancy.h"
#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/dependences.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/live_ranges.h"
#include "jit/rdna/passes/vopd_pairing.h"

namespace riftjit::rdna {
namespace {

// How far a line may move up, in lines; bounds the work per line, too.
constexpr size_t kWindow = 64;

// Scalar registers are few and hold addresses: two thirds of them, and the rest for what comes to lie between.
constexpr unsigned kSgprBudget = 72;

// Cycles until a result can be used, in round numbers: only their order of size matters.
unsigned latency(const InstructionInfo& row) {
    if (row.format == Format::SMEM) return 60;
    if (row.format == Format::DS) return 30;
    if (row.format > Format::DS) return 120;
    if (row.transcendental) return 10;
    if (is_wmma(row.opcode)) return 16;
    return is_valu(row.format) ? 5 : 2;
}

struct Pressure {
    int vector = 0, scalar = 0;
};

// Registers that live at once, as the allocator sees them: whole, from their first use to their last.
class PressureTracker {
public:
    PressureTracker(const Program& program, const std::vector<VirtualRegister>& registers, Work& work)
        : program_(program),
          registers_(registers),
          ranges_(live_ranges(program, registers, work)),
          uses_left_(registers.size(), 0),
          is_live_(registers.size(), false) {}

    const std::vector<LiveRange>& ranges() const { return ranges_; }

    // Registers that a line names, each once.
    using Named = InlineVector<uint16_t, kSlotCount>;

    void start(size_t begin, size_t end) {
        end_ = static_cast<uint32_t>(2 * end);
        named_.clear();
        for (size_t i = begin; i < end; ++i) {
            named_.push_back(named_by(program_.lines[i]));
            for (const uint16_t id : named_.back()) {
                ++uses_left_[id];
                is_live_[id] = ranges_[id].begin < 2 * begin;
            }
        }
    }

    // By how much issuing a line of the run would change the number of live registers.
    Pressure change(uint32_t number) const {
        Pressure change;
        for (const uint16_t id : named_[number]) {
            int dwords = is_live_[id] ? 0 : registers_[id].dwords;
            if (uses_left_[id] == 1 && ranges_[id].end < end_) dwords -= registers_[id].dwords;
            (registers_[id].bank == RegisterBank::vector ? change.vector : change.scalar) += dwords;
        }
        return change;
    }

    void issue(uint32_t number) {
        for (const uint16_t id : named_[number]) {
            is_live_[id] = true;
            --uses_left_[id];
        }
    }

private:
    static Named named_by(const Line& line) {
        Named named;
        for (const RegisterPart& part : line.parts)
            if (part.exists() && std::ranges::find(named, part.id) == named.end()) named.push_back(part.id);
        return named;
    }

    const Program& program_;
    const std::vector<VirtualRegister>& registers_;
    const std::vector<LiveRange> ranges_;
    std::vector<unsigned> uses_left_;
    std::vector<bool> is_live_;
    std::vector<Named> named_;  // by line of the run
    uint32_t end_ = 0;          // position behind the run
};

// Most registers of a bank that live at one position.
unsigned peak_of(const std::vector<LiveRange>& ranges, const std::vector<VirtualRegister>& registers, size_t lines,
                 RegisterBank bank, std::vector<int>& at) {
    at.assign(2 * lines + 2, 0);
    for (size_t id = 0; id < registers.size(); ++id) {
        if (registers[id].bank != bank || ranges[id].empty()) continue;
        at[ranges[id].begin] += registers[id].dwords;
        at[ranges[id].end + 1] -= registers[id].dwords;
    }
    int live = 0, peak = 0;
    for (int& change : at) peak = std::max(peak, change = live += change);
    return static_cast<unsigned>(peak);
}

class Scheduler {
public:
    Scheduler(const Program& program, const std::vector<VirtualRegister>& registers, Work& work)
        : program_(program),
          work_(work),
          dependences_(program, registers),
          pressure_(program, registers, work),
          pairs_(program.wave_size == WaveSize::wave32 && generation(program.target) != Generation::gfx10) {
        const std::vector<LiveRange>& ranges = pressure_.ranges();
        const size_t lines = program.lines.size();
        const unsigned vectors = peak_of(ranges, registers, lines, RegisterBank::vector, vectors_at_);
        const unsigned scalars = peak_of(ranges, registers, lines, RegisterBank::scalar, scalars_at_);
        vector_budget_ = static_cast<int>(vgpr_budget(program, vectors));
        scalar_budget_ = static_cast<int>(std::max(scalars, kSgprBudget));
    }

    Scheduled run() {
        Scheduled result{program_, static_cast<unsigned>(vector_budget_)};
        for (const Block& block : control_flow(program_)) {
            for (size_t begin = block.begin; begin < block.end;) {
                size_t end = begin;
                while (end < block.end && !dependences_.is_fence(end)) ++end;
                if (end - begin > 2) schedule(begin, end, result.program);
                begin = end + 1;
            }
        }
        return result;
    }

private:
    struct Node {
        size_t first_after = 0, end_after = 0;  // in after_
        unsigned waits_for = 0;                 // lines that must be issued before
        unsigned height = 0;                    // cycles from its issue to the end of the run at best
        unsigned ready_at = 0;                  // cycle at which its sources are there
        unsigned unlocked_at = 0;               // how many lines had been issued when the last of `waits_for` was
        DualRole role = DualRole::none;
    };

    void schedule(size_t begin, size_t end, Program& result) {
        build_graph(begin, end);
        pressure_.start(begin, end);
        const std::vector<uint32_t> order = order_of(begin);
        // The budget is at least what the old order needs.
        if (peak_vectors_ > vector_budget_ || peak_scalars_ > scalar_budget_) return;
        std::vector<Label> labels = program_.lines[begin].labels;
        for (size_t i = 0; i < order.size(); ++i) {
            result.lines[begin + i] = program_.lines[begin + order[i]];
            result.lines[begin + i].labels.clear();
        }
        result.lines[begin].labels = std::move(labels);
    }

    void build_graph(size_t begin, size_t end) {
        nodes_.assign(end - begin, {});
        const std::vector<Dependence>& found = dependences_.find(begin, end);
        work_.scheduling += found.size();
        for (const Dependence& dependence : found) {
            ++nodes_[dependence.before].end_after;
            ++nodes_[dependence.after].waits_for;
        }
        size_t next = 0;
        for (Node& node : nodes_) {
            const size_t count = node.end_after;
            node.first_after = node.end_after = next;
            next += count;
        }
        after_.resize(found.size());
        for (const Dependence& dependence : found) after_[nodes_[dependence.before].end_after++] = dependence;
        for (size_t i = nodes_.size(); i-- > 0;) {
            const Line& line = program_.lines[begin + i];
            if (pairs_) nodes_[i].role = dual_role(line, generation(program_.target));
            const InstructionInfo& row = info(line.instruction.opcode);
            const unsigned own = latency(row);
            nodes_[i].height = row.destinations != 0 ? own : 0;  // what follows the run waits for results, too
            for (const Dependence& dependence : after(nodes_[i]))
                nodes_[i].height =
                    std::max(nodes_[i].height, nodes_[dependence.after].height + (dependence.carries_value ? own : 1));
        }
    }

    std::span<const Dependence> after(const Node& node) const {
        return std::span(after_).subspan(node.first_after, node.end_after - node.first_after);
    }

    // List scheduling, downwards over a window that begins at the first line not yet issued.
    std::vector<uint32_t> order_of(size_t begin) {
        std::vector<uint32_t> order, ready;
        std::vector<bool> issued(nodes_.size(), false);
        size_t first = 0, admitted = 0;
        unsigned cycle = 0;
        live_vectors_ = peak_vectors_ = vectors_at_[2 * begin];
        live_scalars_ = peak_scalars_ = scalars_at_[2 * begin];
        unpaired_.reset();
        while (order.size() < nodes_.size()) {
            for (; admitted < std::min(first + kWindow, nodes_.size()); ++admitted)
                if (nodes_[admitted].waits_for == 0) ready.push_back(static_cast<uint32_t>(admitted));
            work_.scheduling += ready.size();
            const uint32_t chosen = take_best(ready, begin, cycle, static_cast<unsigned>(order.size()));
            order.push_back(chosen);
            issued[chosen] = true;
            while (first < nodes_.size() && issued[first]) ++first;
            issue(chosen, begin, cycle, static_cast<unsigned>(order.size()), admitted, ready);
        }
        return order;
    }

    // Smaller is better: what fits into the budget; a partner for the line before; what need not wait; what the longest
    // way depends on; the order of the text.
    using Rank = std::tuple<int, bool, unsigned, int, uint32_t>;
    Rank rank(uint32_t number, size_t begin, unsigned cycle, unsigned step) const {
        const Node& node = nodes_[number];
        const Pressure change = pressure_.change(number);
        const int over = std::max({0, live_vectors_ + change.vector - vector_budget_ + kReserve,
                                   live_scalars_ + change.scalar - scalar_budget_});
        const bool grows = change.vector > 0 || change.scalar > 0;
        const unsigned stall = node.ready_at > cycle ? node.ready_at - cycle : 0;
        const bool pairs = stall == 0 && node.unlocked_at != step && pairs_with_last(number, begin);
        return {grows ? over : 0, !pairs, stall, -static_cast<int>(node.height), number};
    }

    uint32_t take_best(std::vector<uint32_t>& ready, size_t begin, unsigned cycle, unsigned step) const {
        size_t best = 0;
        Rank least = rank(ready[0], begin, cycle, step);
        for (size_t i = 1; i < ready.size(); ++i)
            if (const Rank other = rank(ready[i], begin, cycle, step); other < least) {
                least = other;
                best = i;
            }
        const uint32_t chosen = ready[best];
        ready[best] = ready.back();
        ready.pop_back();
        return chosen;
    }

    void issue(uint32_t number, size_t begin, unsigned& cycle, unsigned step, size_t admitted,
               std::vector<uint32_t>& ready) {
        const Line& line = program_.lines[begin + number];
        cycle = std::max(cycle, nodes_[number].ready_at);
        const unsigned own = latency(info(line.instruction.opcode));
        for (const Dependence& dependence : after(nodes_[number])) {
            Node& later = nodes_[dependence.after];
            later.ready_at = std::max(later.ready_at, cycle + (dependence.carries_value ? own : 1));
            later.unlocked_at = step;
            if (--later.waits_for == 0 && dependence.after < admitted) ready.push_back(dependence.after);
        }
        ++cycle;
        const Pressure change = pressure_.change(number);
        pressure_.issue(number);
        live_vectors_ += change.vector;
        live_scalars_ += change.scalar;
        peak_vectors_ = std::max(peak_vectors_, live_vectors_);
        peak_scalars_ = std::max(peak_scalars_, live_scalars_);
        unpaired_ = pairs_with_last(number, begin) ? std::nullopt : std::optional(number);
    }

    // The line before is not half of a pair yet, and may become one with this.
    bool pairs_with_last(uint32_t number, size_t begin) const {
        return unpaired_ && may_be_paired(nodes_[*unpaired_].role, program_.lines[begin + *unpaired_].instruction,
                                          nodes_[number].role, program_.lines[begin + number].instruction);
    }

    // Wide registers do not fit into every gap: some of the budget is for what lies between.
    static constexpr int kReserve = 8;

    const Program& program_;
    Work& work_;
    DependenceFinder dependences_;
    PressureTracker pressure_;
    const bool pairs_;
    std::vector<int> vectors_at_, scalars_at_;  // live registers by position
    int vector_budget_ = 0, scalar_budget_ = 0;

    // Of the run at hand.
    std::vector<Node> nodes_;
    std::vector<Dependence> after_;  // by the line before
    int live_vectors_ = 0, live_scalars_ = 0, peak_vectors_ = 0, peak_scalars_ = 0;
    std::optional<uint32_t> unpaired_;  // the line issued last, unless it completed a pair
};

}  // namespace

unsigned vgpr_budget(const Program& program, unsigned needed) {
    const uint32_t kept = waves_per_simd(program.target, program.wave_size, std::min<uint32_t>(needed, kMaxVgprs));
    unsigned budget = needed;
    while (budget < kMaxVgprs && waves_per_simd(program.target, program.wave_size, budget + 1) >= kept) ++budget;
    return budget;
}

Scheduled scheduled(const Program& program, const std::vector<VirtualRegister>& registers, Work& work) {
    return Scheduler(program, registers, work).run();
}

}  // namespace riftjit::rdna
