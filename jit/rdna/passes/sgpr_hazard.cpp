#include "jit/rdna/passes/sgpr_hazard.h"

#include <bitset>
#include <vector>

#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/wait_alu.h"

namespace riftjit::rdna {
namespace {

constexpr unsigned kReadScalars = 124;  // ttmp15 is the last that can be meant: m0, exec and null never are

using Registers = std::bitset<kReadScalars>;

// Union over the paths that lead to a point.
struct ReadState {
    std::bitset<kReadScalars / 2> tracked;   // pairs that a vector instruction has read
    Registers scalar_writes, vector_writes;  // of tracked pairs, perhaps under way
    bool operator==(const ReadState&) const = default;
    bool merge(const ReadState& other) {
        const ReadState before = *this;
        tracked |= other.tracked;
        scalar_writes |= other.scalar_writes;
        vector_writes |= other.vector_writes;
        return *this != before;
    }
};

bool is_vcc(unsigned code) { return code == Operand::kVcc || code == Operand::kVcc + 1; }

template <class Function>
void for_each_scalar(const RegisterRanges& ranges, const Function& function) {
    for (const RegisterRange range : ranges)
        for (unsigned code = range.first; code < range.first + range.count && code < kReadScalars; ++code)
            function(code);
}

class SgprReadWaits {
public:
    explicit SgprReadWaits(PassContext& context) : context_(context) {}

    void run() {
        const std::vector<PassContext::Block>& blocks = context_.blocks();
        const std::vector<ReadState> at_entry = states_at_entry(blocks, ReadState{}, [&](size_t b, ReadState& state) {
            for (LineId i = blocks[b].first; i != kNoLine; i = context_.next_in_block(i))
                step(context_.facts(i), state);
        });
        for (size_t b = 0; b < blocks.size(); ++b) {
            ReadState state = at_entry[b];
            for (LineId i = blocks[b].first; i != kNoLine; i = context_.next_in_block(i))
                if (const uint16_t wait = step(context_.facts(i), state); wait != kWaitNothing)
                    context_.insert_before(i, wait_alu(wait), Origin::hazards);
        }
    }

private:
    // What the line must wait for; the state becomes that after it.
    static uint16_t step(const LineFacts& facts, ReadState& state) {
        const Effects& effects = facts.effects;
        const Format format = facts.row->format;
        if (format == Format::SMEM || format == Format::MUBUF) {
            state.scalar_writes.reset();
            state.vector_writes.reset();
            return kWaitNothing;
        }
        const bool vector = facts.is_valu, scalar = facts.is_salu;
        if (!vector && !scalar) return kWaitNothing;
        uint16_t wait = kWaitNothing;
        for_each_scalar(effects.reads, [&](unsigned code) {
            if (state.scalar_writes[code]) wait &= kWaitScalarResults;
            if (vector && state.vector_writes[code]) wait &= is_vcc(code) ? kWaitVectorVcc : kWaitVectorScalars;
        });
        apply_wait(wait, state);
        for_each_scalar(effects.reads, [&](unsigned code) {
            // The scalar unit waits by itself for every vector write of the kind that it reads, vcc's or others', as
            // LLVM has it (AMDGPUWaitSGPRHazards.cpp).
            if (scalar) clear_vector_writes(state, is_vcc(code));
            if (vector) state.tracked.set(code / 2);
        });
        for_each_scalar(effects.writes, [&](unsigned code) {
            if (state.tracked[code / 2]) (vector ? state.vector_writes : state.scalar_writes).set(code);
            if (is_vcc(code)) (vector ? state.scalar_writes : state.vector_writes).reset(code);  // the last one counts
        });
        return wait;
    }

    static void clear_vector_writes(ReadState& state, bool of_vcc) {
        for (unsigned code = 0; code < kReadScalars; ++code)
            if (is_vcc(code) == of_vcc) state.vector_writes.reset(code);
    }

    static void apply_wait(uint16_t wait, ReadState& state) {
        if (wait == kWaitNothing) return;
        if (waits_for(wait, kWaitScalarResults)) state.scalar_writes.reset();
        if (waits_for(wait, kWaitVectorVcc)) clear_vector_writes(state, true);
        if (waits_for(wait, kWaitVectorScalars)) clear_vector_writes(state, false);
    }

    PassContext& context_;
};

}  // namespace

void insert_sgpr_read_waits(PassContext& context) { SgprReadWaits(context).run(); }

}  // namespace riftjit::rdna
