// LLVM AMDGPU backend, GCNHazardRecognizer, "VALUMaskWriteHazard"; forwards over the control flow, so that a program
// without vector reads of scalars, which end the hazard, costs no search back to its start.
#include "jit/rdna/passes/mask_hazard.h"

#include <bitset>
#include <optional>
#include <vector>

#include "host/result.h"
#include "jit/rdna/passes/control_flow.h"
#include "jit/rdna/passes/wait_alu.h"

namespace riftjit::rdna {
namespace {

constexpr unsigned kMaskScalars = Operand::kVcc + 2;

// Sets of what one instruction may write: one or two SGPRs, vcc included, by the first.
constexpr unsigned kMaxWritten = 2;
using WrittenRanges = std::bitset<kMaxWritten * kMaskScalars>;

size_t index_of(unsigned first, unsigned count) { return first * kMaxWritten + count - 1; }

WrittenRanges overlapping(RegisterRange range) {
    WrittenRanges result;
    for (unsigned count = 1; count <= kMaxWritten; ++count)
        for (unsigned first = range.first < count ? 0 : range.first - count + 1;
             first < range.first + range.count && first < kMaskScalars; ++first)
            result.set(index_of(first, count));
    return result;
}

// Which writes would need a wait, over all paths that lead to a point.
struct MaskState {
    // A mask there has been read, and no vector instruction has written it since.
    WrittenRanges read;
    // A vector instruction has written it since; a wait for that ends the hazard.
    WrittenRanges rewritten;
    bool operator==(const MaskState&) const = default;
    bool merge(const MaskState& other) {
        const MaskState before = *this;
        read |= other.read;
        rewritten |= other.rewritten;
        return *this != before;
    }
    bool holds(RegisterRange range) const {
        check(range.count <= kMaxWritten, "an instruction writes one or two scalars");
        const size_t index = index_of(range.first, range.count);
        return read[index] || rewritten[index];
    }
};

class MaskWriteWaits {
public:
    explicit MaskWriteWaits(PassContext& context) : context_(context) {}

    void run() {
        const std::vector<PassContext::Block>& blocks = context_.blocks();
        const std::vector<MaskState> at_entry = states_at_entry(blocks, MaskState{}, [&](size_t b, MaskState& state) {
            for (LineId i = blocks[b].first; i != kNoLine; i = context_.next_in_block(i)) step(i, state);
        });
        for (size_t b = 0; b < blocks.size(); ++b) {
            MaskState state = at_entry[b];
            for (LineId i = blocks[b].first; i != kNoLine; i = context_.next_in_block(i)) {
                const std::optional<uint16_t> wait = step(i, state);
                // Behind the write: what follows must not issue before it is done.
                if (wait) i = context_.insert_after(i, wait_alu(*wait), Origin::hazards);
            }
        }
    }

private:
    // What to wait for behind the line; the state becomes that after the wait.
    std::optional<uint16_t> step(LineId id, MaskState& state) const {
        const Instruction& instruction = context_.line(id).instruction;
        const LineFacts& facts = context_.facts(id);
        if (instruction.opcode == Opcode::s_wait_alu) apply_wait(instruction.simm16, state);
        if (!facts.is_valu && !facts.is_salu) return std::nullopt;
        const std::optional<uint16_t> wait = wait_behind(facts, state);
        if (facts.is_valu) apply_vector(instruction, facts, state);
        if (wait) apply_wait(*wait, state);
        return wait;
    }

    static std::optional<uint16_t> wait_behind(const LineFacts& facts, const MaskState& state) {
        for (const RegisterRange written : facts.effects.writes)
            if (written.first < kMaskScalars && state.holds(written))
                return facts.is_salu ? kWaitScalarResults : wait_for_vector_write(written);
        return std::nullopt;
    }

    static uint16_t wait_for_vector_write(RegisterRange range) {
        return range.overlaps(kVccRange) ? kWaitVectorVcc : kWaitVectorScalars;
    }

    static void apply_wait(uint16_t wait, MaskState& state) {
        if (waits_for(wait, kWaitScalarResults)) state = {};
        if (waits_for(wait, kWaitVectorVcc)) state.rewritten &= ~overlapping(kVccRange);
        if (waits_for(wait, kWaitVectorScalars)) state.rewritten &= overlapping(kVccRange);
    }

    static void apply_vector(const Instruction& instruction, const LineFacts& facts, MaskState& state) {
        end_by_other_reads(instruction, facts, state);
        for (const RegisterRange written : facts.effects.writes) {
            if (written.first >= kMaskScalars) continue;
            const WrittenRanges anew = overlapping(written);
            state.rewritten |= state.read & anew;
            state.read &= ~anew;
        }
        state.read |= masks_read(instruction, *facts.row);
    }

    // A vector instruction that reads another scalar, or a literal, has waited for the write.
    static void end_by_other_reads(const Instruction& instruction, const LineFacts& facts, MaskState& state) {
        WrittenRanges kept;
        if (!instruction.has_literal) {
            kept.set();
            for (const RegisterRange read : facts.effects.reads)
                if (read.first < Operand::kExec) kept &= overlapping(read);
        }
        state.read &= kept;
        state.rewritten &= kept;
    }

    static WrittenRanges masks_read(const Instruction& instruction, const InstructionInfo& row) {
        WrittenRanges masks;
        if (row.reads_vcc && row.format == Format::VOP3) masks |= overlapping(kVccRange);
        for (unsigned i = 0; i < row.sources; ++i) {
            const Operand operand = instruction.source(i);
            if (row.operands[row.destinations + i].type == OperandType::mask && operand.is_scalar_register())
                masks |= overlapping({operand.code, 2});
        }
        return masks;
    }

    static constexpr RegisterRange kVccRange{Operand::kVcc, 2};
    PassContext& context_;
};

}  // namespace

void insert_mask_write_waits(PassContext& context) { MaskWriteWaits(context).run(); }

}  // namespace riftjit::rdna
