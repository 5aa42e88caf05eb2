#include "jit/rdna/passes/sgpr_hazard.h"

#include <bitset>
#include <utility>
#include <vector>

#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/wait_alu.h"

namespace riftjit::rdna {
namespace {

constexpr unsigned kScalars = 124;  // ttmp15 is the last that can be meant: m0, exec and null never are

using Registers = std::bitset<kScalars>;

// Union over the paths that lead to a point.
struct State {
    std::bitset<kScalars / 2> tracked;       // pairs that a vector instruction has read
    Registers scalar_writes, vector_writes;  // of tracked pairs, perhaps under way
    bool operator==(const State&) const = default;
    void merge(const State& other) {
        tracked |= other.tracked;
        scalar_writes |= other.scalar_writes;
        vector_writes |= other.vector_writes;
    }
};

bool is_vcc(unsigned code) { return code == Operand::kVcc || code == Operand::kVcc + 1; }

template <class Function>
void for_each_scalar(const RegisterRanges& ranges, const Function& function) {
    for (const RegisterRange range : ranges)
        for (unsigned code = range.first; code < range.first + range.count && code < kScalars; ++code) function(code);
}

class SgprReadWaits {
public:
    explicit SgprReadWaits(Program& program) : program_(program), blocks_(control_flow(program)) {}

    void run() {
        find_states();
        std::vector<Line> result;
        for (size_t b = 0; b < blocks_.size(); ++b) {
            State state = at_entry_[b];
            for (size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) {
                Line& line = program_.lines[i];
                if (const uint16_t wait = step(line, state); wait != kWaitNothing) {
                    Line cure;
                    cure.instruction.opcode = Opcode::s_wait_alu;
                    cure.instruction.simm16 = wait;
                    cure.origin = Origin::hazards;
                    cure.labels = std::exchange(line.labels, {});
                    result.push_back(std::move(cure));
                }
                result.push_back(std::move(line));
            }
        }
        program_.lines = std::move(result);
    }

private:
    // What the line must wait for; the state becomes that after it.
    uint16_t step(const Line& line, State& state) const {
        const Effects effects = rdna::effects(program_.target, program_.wave_size, line.instruction);
        const Format format = info(line.instruction.opcode).format;
        if (format == Format::SMEM || format == Format::MUBUF) {
            state.scalar_writes.reset();
            state.vector_writes.reset();
            return kWaitNothing;
        }
        const bool vector = is_valu(format), scalar = is_salu(format);
        if (!vector && !scalar) return kWaitNothing;
        uint16_t wait = kWaitNothing;
        for_each_scalar(effects.reads, [&](unsigned code) {
            if (state.scalar_writes[code]) wait &= kWaitScalarResults;
            if (vector && state.vector_writes[code]) wait &= is_vcc(code) ? kWaitVectorVcc : kWaitVectorScalars;
        });
        apply_wait(wait, state);
        for_each_scalar(effects.reads, [&](unsigned code) {
            // The scalar unit waits for vector writes by itself, all of one class together.
            if (scalar && state.tracked[code / 2]) clear_vector_writes(state, is_vcc(code));
            if (vector) state.tracked.set(code / 2);
        });
        for_each_scalar(effects.writes, [&](unsigned code) {
            if (state.tracked[code / 2]) (vector ? state.vector_writes : state.scalar_writes).set(code);
        });
        return wait;
    }

    static void clear_vector_writes(State& state, bool of_vcc) {
        for (unsigned code = 0; code < kScalars; ++code)
            if (is_vcc(code) == of_vcc) state.vector_writes.reset(code);
    }

    static void apply_wait(uint16_t wait, State& state) {
        if (wait == kWaitNothing) return;
        if (waits_for(wait, kWaitScalarResults)) state.scalar_writes.reset();
        if (waits_for(wait, kWaitVectorVcc)) clear_vector_writes(state, true);
        if (waits_for(wait, kWaitVectorScalars)) clear_vector_writes(state, false);
    }

    void find_states() {
        at_entry_.assign(blocks_.size(), {});
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t b = 0; b < blocks_.size(); ++b) {
                State state = at_entry_[b];
                for (size_t i = blocks_[b].begin; i < blocks_[b].end; ++i) step(program_.lines[i], state);
                for (const size_t next : blocks_[b].successors) {
                    State merged = at_entry_[next];
                    merged.merge(state);
                    if (merged == at_entry_[next]) continue;
                    at_entry_[next] = merged;
                    changed = true;
                }
            }
        }
    }

    Program& program_;
    const std::vector<Block> blocks_;
    std::vector<State> at_entry_;
};

}  // namespace

void insert_sgpr_read_waits(Program& program) { SgprReadWaits(program).run(); }

}  // namespace riftjit::rdna
