#include "jit/rdna/passes/exec_regions.h"

#include <algorithm>

#include "host/result.h"
#include "jit/rdna/passes/effects.h"

namespace riftjit::rdna {
namespace {

constexpr RegisterRange kExec{Operand::kExec, 2};

bool is_exec(Operand operand) { return operand.code == Operand::kExec; }

// Told from the row and few operands, for the many lines that do not come near exec.
bool may_write_exec(const Instruction& instruction) {
    constexpr unsigned kMostDwords = 16;
    if (instruction.encoding == Encoding::vopd) return true;
    const InstructionInfo& row = info(instruction.opcode);
    if (row.writes_exec) return true;
    for (unsigned i = 0; i < row.destinations; ++i) {
        const unsigned code = instruction.operands[i].code;
        if (!instruction.operands[i].exists()) return true;
        if (code + kMostDwords > kExec.first && code < kExec.first + kExec.count) return true;
    }
    return false;
}

}  // namespace

ExecRegions::ExecRegions(const Program& program, const std::vector<VirtualRegister>& registers,
                         const std::vector<Block>& blocks)
    : program_(program), blocks_(blocks) {
    parent_.push_back(kAllLanes);
    made_by_line_.assign(program.lines.size(), kUnknown);
    made_by_block_.assign(blocks.size(), kUnknown);
    on_.assign(program.lines.size(), kAllLanes);
    on_at_end_.assign(blocks.size(), kAllLanes);
    find_holders(registers);
    find_events();
    solve();
}

bool ExecRegions::is_within(LaneSet set, LaneSet other) const {
    if (other == kAllLanes) return true;
    for (; set != other && set != kAllLanes; set = parent_[set]) ++visits_;
    return set == other;
}

LaneSet ExecRegions::smallest_around(LaneSet a, LaneSet b) const {
    while (!is_within(b, a)) a = parent_[a];
    return a;
}

LaneSet ExecRegions::before_maker(size_t line, LaneSet set) const {
    const LaneSet made = made_by_line_[line];
    return made != kUnknown && is_within(set, made) ? parent_[made] : set;
}

LaneSet ExecRegions::at_end_of(size_t predecessor, size_t block, LaneSet set) const {
    const LaneSet made = made_by_block_[block];
    return made != kUnknown && is_within(set, made) ? on_at_end_[predecessor] : set;
}

std::optional<size_t> ExecRegions::holder_of(const RegisterPart& part) const {
    return part.exists() ? holder_of_register_[part.id] : std::nullopt;
}

bool ExecRegions::is_mask_move(const Instruction& instruction) const {
    return instruction.opcode == (program_.wave_size == WaveSize::wave32 ? Opcode::s_mov_b32 : Opcode::s_mov_b64);
}

ExecRegions::ExecWrite ExecRegions::exec_write(const Line& line) const {
    const Instruction& instruction = line.instruction;
    if (is_compare_to_exec(info(instruction.opcode))) return ExecWrite::narrows;
    if (!may_write_exec(instruction) || !effects(program_.target, program_.wave_size, instruction).writes_any(kExec))
        return ExecWrite::none;
    const bool is_wave32 = program_.wave_size == WaveSize::wave32;
    if (instruction.opcode == (is_wave32 ? Opcode::s_and_saveexec_b32 : Opcode::s_and_saveexec_b64))
        return ExecWrite::narrows;
    if (!is_exec(instruction.operands[0])) return ExecWrite::other;
    const bool is_and = instruction.opcode == (is_wave32 ? Opcode::s_and_b32 : Opcode::s_and_b64);
    const bool is_and_not = instruction.opcode == (is_wave32 ? Opcode::s_and_not1_b32 : Opcode::s_and_not1_b64);
    if ((is_and || is_and_not) && is_exec(instruction.operands[1])) return ExecWrite::narrows;
    if (is_and && is_exec(instruction.operands[2])) return ExecWrite::narrows;
    return is_mask_move(instruction) && line.parts[1].exists() ? ExecWrite::restores : ExecWrite::other;
}

void ExecRegions::find_holders(const std::vector<VirtualRegister>& registers) {
    holder_of_register_.assign(registers.size(), std::nullopt);
    for (const Line& line : program_.lines) {
        if (!is_mask_move(line.instruction) || exec_write(line) != ExecWrite::restores) continue;
        const RegisterPart& from = line.parts[1];
        if (from.dwords != registers[from.id].dwords || holder_of(from)) continue;
        holder_of_register_[from.id] = holders_++;
    }
}

void ExecRegions::find_events() {
    events_.resize(blocks_.size());
    makers_.resize(blocks_.size());
    for (size_t b = 0; b < blocks_.size(); ++b) {
        for (size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
            const Line& line = program_.lines[i];
            bool concerns = exec_write(line) != ExecWrite::none;
            const auto is_holder = [this](const RegisterPart& part) { return holder_of(part).has_value(); };
            if (!concerns && std::ranges::none_of(line.parts, is_holder)) continue;
            for (const SlotEffect& effect : slots_of(program_, line))
                concerns |= effect.writes && holder_of(line.parts[effect.slot]).has_value();
            if (concerns) events_[b].push_back(static_cast<uint32_t>(i));
        }
    }
}

void ExecRegions::solve() {
    at_entry_.resize(blocks_.size());
    at_entry_[0] = State{kAllLanes, std::vector<LaneSet>(holders_, kUnknown)};
    std::vector<bool> pending(blocks_.size(), false);
    pending[0] = true;
    size_t rounds = 0;
    for (bool changed = true; changed;) {
        check(++rounds < 4 * blocks_.size() + 8, "sets of lanes only grow, so the regions come to rest");
        changed = tree_changed_ = false;
        visits_ += blocks_.size();
        for (size_t b = 0; b < blocks_.size(); ++b) {
            if (!at_entry_[b] || !pending[b]) continue;
            pending[b] = false;
            State state = *at_entry_[b];
            apply_block(b, state);
            for (const size_t next : blocks_[b].successors)
                if (join(next, state)) pending[next] = changed = true;
        }
        // What a set lies in decides what else is forgotten when it is made anew.
        if (tree_changed_) pending.assign(blocks_.size(), changed = true);
    }
    for (size_t b = 0; b < blocks_.size(); ++b)
        for (const uint32_t line : events_[b])
            if (made_by_line_[line] != kUnknown) makers_[b].push_back(line);
}

void ExecRegions::apply_block(size_t block, State& state) {
    if (const LaneSet made = made_by_block_[block]; made != kUnknown) make(made, parent_[made], state);
    visits_ += blocks_[block].end - blocks_[block].begin;
    size_t line = blocks_[block].begin;
    for (const uint32_t event : events_[block]) {
        for (; line <= event; ++line) on_[line] = state.on;
        apply(event, state);
    }
    for (; line < blocks_[block].end; ++line) on_[line] = state.on;
    on_at_end_[block] = state.on;
}

void ExecRegions::apply(size_t i, State& state) {
    const Line& line = program_.lines[i];
    const LaneSet before = state.on;
    const ExecWrite write = exec_write(line);
    if (write == ExecWrite::restores) {
        const std::optional<size_t> holder = holder_of(line.parts[1]);
        if (holder && state.held[*holder] != kUnknown) {
            state.on = state.held[*holder];
            return;
        }
    }
    if (write != ExecWrite::none) {
        if (made_by_line_[i] == kUnknown) made_by_line_[i] = new_set(kAllLanes);
        make(made_by_line_[i], write == ExecWrite::narrows ? before : kAllLanes, state);
    }
    const bool saves =
        write == ExecWrite::narrows || (is_mask_move(line.instruction) && is_exec(line.instruction.operands[1]));
    for (const SlotEffect& effect : slots_of(program_, line)) {
        const RegisterPart& part = line.parts[effect.slot];
        if (const std::optional<size_t> holder = holder_of(part); holder && effect.writes)
            state.held[*holder] = saves && part.dwords == lanes(program_.wave_size) / 32 ? before : kUnknown;
    }
}

// Masks that were saved when the set was made last are not within it any more.
void ExecRegions::make(LaneSet set, LaneSet parent, State& state) {
    for (LaneSet& held : state.held)
        if (held != kUnknown && is_within(held, set)) held = kUnknown;
    set_parent(set, parent);
    state.on = set;
}

bool ExecRegions::join(size_t block, const State& state) {
    std::optional<State>& entry = at_entry_[block];
    if (!entry) {
        entry = state;
        return true;
    }
    bool changed = false;
    LaneSet& made = made_by_block_[block];
    if (made == kUnknown && entry->on != state.on) {
        made = new_set(smallest_around(entry->on, state.on));
        entry->on = made;
        changed = true;
    } else if (made != kUnknown && !is_within(state.on, made)) {
        set_parent(made, smallest_around(parent_[made], state.on));
    }
    for (size_t h = 0; h < holders_; ++h) {
        if (entry->held[h] == state.held[h] || entry->held[h] == kUnknown) continue;
        entry->held[h] = kUnknown;
        changed = true;
    }
    return changed;
}

void ExecRegions::set_parent(LaneSet set, LaneSet parent) {
    if (is_within(parent, set)) parent = kAllLanes;
    if (parent_[set] == parent) return;
    parent_[set] = parent;
    tree_changed_ = true;
}

LaneSet ExecRegions::new_set(LaneSet parent) {
    parent_.push_back(parent);
    return static_cast<LaneSet>(parent_.size() - 1);
}

}  // namespace riftjit::rdna
