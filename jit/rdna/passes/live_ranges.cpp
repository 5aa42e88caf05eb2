// Register by register and backwards from its reads, so that the work grows with the lines that a value lives over, not
// with lines times registers.
#include "jit/rdna/passes/live_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "jit/rdna/passes/assembly_error.h"
#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/exec_regions.h"

namespace riftjit::rdna {
namespace {

// Lanes that a value is needed for; dead: none.
constexpr LaneSet kDead = UINT32_MAX;

// One line's use of one dword.
struct Access {
    uint32_t line;
    bool reads, writes;
    LaneSet lanes;  // read for, written for
};

// A run of accesses that lie in one block.
struct BlockAccesses {
    size_t block;
    std::span<const Access> accesses;
    bool writes() const {
        return std::ranges::any_of(accesses, [](const Access& access) { return access.writes; });
    }
};

// The accesses of every dword of every register, in the order of the lines.
class AccessTable {
public:
    AccessTable(const Program& program, const std::vector<VirtualRegister>& registers, const ExecRegions& regions) {
        for (const VirtualRegister& reg : registers) {
            first_dword_.push_back(static_cast<uint32_t>(owner_.size()));
            owner_.insert(owner_.end(), reg.dwords, static_cast<uint16_t>(first_dword_.size() - 1));
        }
        collect(program, registers, regions);
    }

    size_t dwords() const { return owner_.size(); }
    uint16_t owner(uint32_t dword) const { return owner_[dword]; }
    uint32_t in_register(uint32_t dword) const { return dword - first_dword_[owner_[dword]]; }
    std::span<const Access> of(uint32_t dword) const {
        return {accesses_.data() + starts_[dword], accesses_.data() + starts_[dword + 1]};
    }

private:
    void collect(const Program& program, const std::vector<VirtualRegister>& registers, const ExecRegions& regions) {
        std::vector<std::pair<uint32_t, Access>> by_line;
        by_line.reserve(4 * program.lines.size());
        for (size_t i = 0; i < program.lines.size(); ++i) {
            const Line& line = program.lines[i];
            const bool across = reads_across_lanes(line.instruction);
            for (const SlotEffect& effect : slots_of(program, line)) {
                const RegisterPart part = line.parts[effect.slot];
                if (!part.exists()) continue;
                const bool is_vector = registers[part.id].bank == RegisterBank::vector;
                const LaneSet on = is_vector ? regions.on_at(i) : kAllLanes;
                for (uint32_t d = 0; d < part.dwords; ++d) {
                    const uint32_t dword = first_dword_[part.id] + part.first + d;
                    const auto number = static_cast<uint32_t>(i);
                    if (effect.writes) by_line.emplace_back(dword, Access{number, false, true, on});
                    if (effect.reads) by_line.emplace_back(dword, Access{number, true, false, across ? kAllLanes : on});
                }
            }
        }
        starts_.assign(owner_.size() + 1, 0);
        for (const auto& [dword, access] : by_line) ++starts_[dword + 1];
        for (size_t d = 0; d < owner_.size(); ++d) starts_[d + 1] += starts_[d];
        accesses_.resize(by_line.size());
        std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
        for (const auto& [dword, access] : by_line) accesses_[next[dword]++] = access;
    }

    std::vector<uint32_t> first_dword_, starts_;
    std::vector<uint16_t> owner_;
    std::vector<Access> accesses_;
};

class Liveness {
public:
    Liveness(const Program& program, const std::vector<VirtualRegister>& registers)
        : program_(program),
          registers_(registers),
          blocks_(control_flow(program)),
          regions_(program, registers, blocks_),
          accesses_(program, registers, regions_),
          ranges_(registers.size()),
          at_entry_(blocks_.size(), kDead),
          at_end_(blocks_.size(), kDead),
          group_of_(blocks_.size(), kNoGroup),
          mark_(blocks_.size(), false) {
        for (size_t b = 0; b < blocks_.size(); ++b)
            block_of_.insert(block_of_.end(), blocks_[b].end - blocks_[b].begin, static_cast<uint32_t>(b));
    }

    std::vector<LiveRange> run(Work& work) {
        for (uint32_t dword = 0; dword < accesses_.dwords(); ++dword)
            if (!accesses_.of(dword).empty()) take(dword);
        if (!undefined_.empty()) fail_undefined();
        work.liveness += visits_ + regions_.visits();
        return std::move(ranges_);
    }

private:
    static constexpr uint32_t kNoGroup = UINT32_MAX;

    void take(uint32_t dword) {
        group(dword);
        // Most values are made and used up within a block.
        if (groups_.size() == 1 && over_block(groups_[0].block, kDead) == kDead) {
            visits_ += groups_[0].accesses.size();
            include_accesses(dword);
            group_of_[groups_[0].block] = kNoGroup;
            return;
        }
        find_live();
        find_undefined(dword);
        extend_range(dword);
        for (const size_t block : live_) at_entry_[block] = kDead;
        for (const size_t block : live_at_end_) at_end_[block] = kDead;
        for (const BlockAccesses& group : groups_) group_of_[group.block] = kNoGroup;
    }

    void group(uint32_t dword) {
        groups_.clear();
        const std::span<const Access> all = accesses_.of(dword);
        if (const uint32_t block = block_of_[all.front().line]; block == block_of_[all.back().line]) {
            group_of_[block] = 0;
            groups_.push_back({block, all});
            return;
        }
        for (size_t begin = 0; begin < all.size();) {
            const uint32_t block = block_of_[all[begin].line];
            size_t end = begin;
            while (end < all.size() && block_of_[all[end].line] == block) ++end;
            group_of_[block] = static_cast<uint32_t>(groups_.size());
            groups_.push_back({block, all.subspan(begin, end - begin)});
            begin = end;
        }
    }

    const BlockAccesses* accesses_in(size_t block) const {
        return group_of_[block] == kNoGroup ? nullptr : &groups_[group_of_[block]];
    }

    LaneSet join(LaneSet a, LaneSet b) const {
        if (a == kDead || b == kDead) return a == kDead ? b : a;
        return regions_.smallest_around(a, b);
    }

    // --- who needs the value, backwards
    void find_live() {
        live_.clear();
        live_at_end_.clear();
        std::vector<size_t> open;
        for (const BlockAccesses& group : groups_) enter(group.block, open);
        while (!open.empty()) {
            const size_t block = open.back();
            open.pop_back();
            visits_ += blocks_[block].predecessors.size();
            for (const size_t before : blocks_[block].predecessors) {
                const LaneSet needed = join(at_end_[before], regions_.at_end_of(before, block, at_entry_[block]));
                if (needed == at_end_[before]) continue;
                if (at_end_[before] == kDead) live_at_end_.push_back(before);
                at_end_[before] = needed;
                enter(before, open);
            }
        }
    }

    void enter(size_t block, std::vector<size_t>& open) {
        const LaneSet needed = join(at_entry_[block], over_block(block, at_end_[block]));
        if (needed == at_entry_[block]) return;
        if (at_entry_[block] == kDead) live_.push_back(block);
        at_entry_[block] = needed;
        open.push_back(block);
    }

    LaneSet over_block(size_t block, LaneSet needed) const {
        const BlockAccesses* group = accesses_in(block);
        const std::span<const Access> accesses = group != nullptr ? group->accesses : std::span<const Access>{};
        const std::vector<uint32_t>& makers = regions_.makers(block);
        size_t a = accesses.size(), m = makers.size();
        while (a > 0 || (m > 0 && needed != kAllLanes && needed != kDead)) {
            ++visits_;
            const bool maker_is_last = m > 0 && (a == 0 || makers[m - 1] >= accesses[a - 1].line);
            if (maker_is_last && needed != kDead) needed = regions_.before_maker(makers[m - 1], needed);
            if (maker_is_last)
                --m;
            else
                needed = over_line(accesses, a, needed);
        }
        return needed;
    }

    // Over all accesses of the line of accesses[a - 1]: its writes, then its reads.
    LaneSet over_line(std::span<const Access> accesses, size_t& a, LaneSet needed) const {
        const size_t end = a;
        while (a > 0 && accesses[a - 1].line == accesses[end - 1].line) --a;
        for (size_t i = a; i < end; ++i)
            if (accesses[i].writes && needed != kDead && regions_.is_within(needed, accesses[i].lanes)) needed = kDead;
        for (size_t i = a; i < end; ++i)
            if (accesses[i].reads) needed = join(needed, accesses[i].lanes);
        return needed;
    }

    // --- from where on it has been written, forwards through the blocks that need it at their entry
    template <class GoesOn>
    std::vector<size_t> reach(std::vector<size_t> open, const GoesOn& goes_on) {
        std::vector<size_t> reached;
        const auto mark = [&](size_t block) {
            if (at_entry_[block] == kDead || mark_[block]) return;
            mark_[block] = true;
            reached.push_back(block);
        };
        for (const size_t block : open) mark(block);
        visits_ += open.size();
        for (size_t next = 0; next < reached.size(); ++next) {
            ++visits_;
            const size_t block = reached[next];
            if (goes_on(block))
                for (const size_t after : blocks_[block].successors) mark(after);
        }
        for (const size_t block : reached) mark_[block] = false;
        return reached;
    }

    bool is_defined_at_start(uint32_t dword) const { return registers_[accesses_.owner(dword)].defined_at_start; }

    // Blocks that a path reaches on which nothing writes the register, and their reads before the first write.
    void find_undefined(uint32_t dword) {
        if (is_defined_at_start(dword) || at_entry_[0] == kDead) return;
        const auto writes_nothing = [&](size_t block) {
            const BlockAccesses* group = accesses_in(block);
            return group == nullptr || !group->writes();
        };
        for (const size_t block : reach({0}, writes_nothing)) {
            const BlockAccesses* group = accesses_in(block);
            if (group == nullptr) continue;
            const Access& first = *std::ranges::min_element(
                group->accesses, {}, [](const Access& access) { return std::pair(access.line, !access.reads); });
            if (first.reads) undefined_.emplace_back(first.line, dword);
        }
    }

    [[noreturn]] void fail_undefined() const {
        const auto [line, dword] = *std::ranges::min_element(undefined_);
        const VirtualRegister& reg = registers_[accesses_.owner(dword)];
        const std::string_view path = reg.where.file_name();
        throw AssemblyError(fmt::format(
            "{}: instruction {}, {}: dword {} of the {} declared at {}:{} is read before it is written", program_.name,
            line, info(program_.lines[line].instruction.opcode).name, accesses_.in_register(dword),
            reg.bank == RegisterBank::vector ? "vgpr" : "sgpr", path.substr(path.rfind('/') + 1), reg.where.line()));
    }

    // A value counts from its first write on.
    void include_accesses(uint32_t dword) {
        LiveRange& range = ranges_[accesses_.owner(dword)];
        for (const Access& access : accesses_.of(dword)) {
            const uint32_t read_at = 2 * access.line, written_at = read_at + 1;
            range.include(access.reads ? read_at : written_at);
            if (access.writes && writes_early(program_.lines[access.line].instruction)) range.include(read_at);
        }
    }

    void extend_range(uint32_t dword) {
        LiveRange& range = ranges_[accesses_.owner(dword)];
        visits_ += accesses_.of(dword).size() + live_.size() + live_at_end_.size();
        include_accesses(dword);
        for (const size_t block : written_before(dword)) {
            range.include(static_cast<uint32_t>(2 * blocks_[block].begin));
            mark_[block] = true;
        }
        for (const size_t block : live_at_end_) {
            const BlockAccesses* group = accesses_in(block);
            if (mark_[block] || (group != nullptr && group->writes()))
                range.include(static_cast<uint32_t>(2 * blocks_[block].end - 1));
        }
        for (const size_t block : live_) mark_[block] = false;
    }

    std::vector<size_t> written_before(uint32_t dword) {
        if (is_defined_at_start(dword)) return live_;
        std::vector<size_t> open;
        for (const BlockAccesses& group : groups_)
            if (group.writes())
                open.insert(open.end(), blocks_[group.block].successors.begin(), blocks_[group.block].successors.end());
        return reach(std::move(open), [](size_t) { return true; });
    }

    // Destinations that may not share a register with a source that dies here: WMMA's D with A or B, and the 64-bit
    // multiply-add of gfx1100 to gfx1103.
    bool writes_early(const Instruction& instruction) const {
        if (is_wmma(instruction.opcode)) return true;
        return rdna::info(program_.target).mad_u64_overlap && rdna::info(instruction.opcode).wide_mad;
    }

    const Program& program_;
    const std::vector<VirtualRegister>& registers_;
    const std::vector<Block> blocks_;
    const ExecRegions regions_;
    const AccessTable accesses_;
    std::vector<uint32_t> block_of_;  // by line
    std::vector<LiveRange> ranges_;
    std::vector<std::pair<uint32_t, uint32_t>> undefined_;  // line and dword of reads before any write

    // Of the dword at hand; by block, and empty between two of them.
    std::vector<LaneSet> at_entry_, at_end_;
    std::vector<uint32_t> group_of_;
    std::vector<bool> mark_;
    std::vector<BlockAccesses> groups_;
    std::vector<size_t> live_, live_at_end_;

    mutable uint64_t visits_ = 0;
};

}  // namespace

std::vector<LiveRange> live_ranges(const Program& program, const std::vector<VirtualRegister>& registers, Work& work) {
    return Liveness(program, registers).run(work);
}

}  // namespace riftjit::rdna
