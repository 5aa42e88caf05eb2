// s_delay_alu tells the scheduler how long the next instruction would stall, so that another wave may issue instead. A
// hint: the hardware interlocks (RDNA3 ISA 16.5, "S_DELAY_ALU").
#include <optional>
#include <set>
#include <utility>

#include "jit/rdna/passes/effects.h"
#include "jit/rdna/passes/passes.h"
#include "jit/rdna/passes/wait_alu.h"

namespace riftjit::rdna {
namespace {

constexpr unsigned kNothing = 0, kFirstVector = 1, kFirstTranscendental = 5, kFirstScalar = 9;
constexpr unsigned kFurthestVector = 4, kFurthestTranscendental = 3;

struct Delay {
    unsigned first = kNothing, second = kNothing;
    void add(unsigned id) {
        if (first == kNothing)
            first = id;
        else if (second == kNothing && first != id)
            second = id;
    }
};

class DelayInserter {
public:
    explicit DelayInserter(Program& program) : program_(program) {}

    void run() {
        std::vector<Delay> delays;
        delays.reserve(program_.lines.size());
        for (size_t i = 0; i < program_.lines.size(); ++i) delays.push_back(delay_of(i));
        std::vector<Line> result;
        std::optional<size_t> open;  // a delay with room for one more, whose instruction was the last
        for (size_t i = 0; i < program_.lines.size(); ++i) {
            const Delay delay = delays[i];
            Line& line = program_.lines[i];
            if (delay.first == kNothing) {
                open.reset();
            } else if (open && delay.second == kNothing && line.labels.empty()) {
                constexpr unsigned kNextInstruction = 1;
                result[*open].instruction.simm16 |= static_cast<uint16_t>(kNextInstruction << 4 | delay.first << 7);
                open.reset();
            } else {
                Line hint;
                hint.instruction.opcode = Opcode::s_delay_alu;
                hint.instruction.simm16 = static_cast<uint16_t>(delay.first | delay.second << 7);
                hint.origin = Origin::hints;
                hint.labels = std::exchange(line.labels, {});
                result.push_back(std::move(hint));
                open = delay.second == kNothing ? std::optional(result.size() - 1) : std::nullopt;
            }
            result.push_back(std::move(line));
        }
        program_.lines = std::move(result);
    }

private:
    Effects effects_of(size_t i) const {
        return effects(program_.target, program_.wave_size, program_.lines[i].instruction);
    }

    // The nearest producers of the line's sources, as far back as straight code goes.
    Delay delay_of(size_t at) const {
        Delay delay;
        if (!is_valu(info(program_.lines[at].instruction.opcode).format)) return delay;
        std::set<uint16_t> wanted;
        for (const RegisterRange read : effects_of(at).reads)
            if (read.first != Operand::kExec)
                for (uint16_t i = 0; i < read.count; ++i) wanted.insert(static_cast<uint16_t>(read.first + i));
        unsigned vectors = 0, transcendentals = 0;
        for (size_t after = at; after > 0 && vectors < kFurthestVector; --after) {
            if (!program_.lines[after].labels.empty()) break;
            const size_t i = after - 1;
            const InstructionInfo& row = info(program_.lines[i].instruction.opcode);
            if (is_branch(row.opcode) || waits_for_vector_results(program_.lines[i].instruction)) break;
            const bool produces = take_produced(wanted, i);
            if (is_salu(row.format) && produces && i + 1 == at) delay.add(kFirstScalar);
            if (!is_valu(row.format)) continue;
            const unsigned distance = row.transcendental ? ++transcendentals : ++vectors;
            const unsigned furthest = row.transcendental ? kFurthestTranscendental : kFurthestVector;
            if (produces && distance <= furthest)
                delay.add((row.transcendental ? kFirstTranscendental : kFirstVector) + distance - 1);
        }
        return delay;
    }

    // Memory instructions wait by themselves.
    static bool waits_for_vector_results(const Instruction& instruction) {
        if (info(instruction.opcode).format >= Format::DS) return true;
        return instruction.opcode == Opcode::s_wait_alu && waits_for(instruction.simm16, kWaitVectorResults);
    }

    // Whether line `i` writes one of the registers; they are wanted no longer.
    bool take_produced(std::set<uint16_t>& wanted, size_t i) const {
        size_t taken = 0;
        for (const RegisterRange written : effects_of(i).writes)
            for (uint16_t r = 0; r < written.count; ++r)
                taken += wanted.erase(static_cast<uint16_t>(written.first + r));
        return taken != 0;
    }

    Program& program_;
};

}  // namespace

void insert_delays(Program& program) {
    if (generation(program.target) != Generation::gfx10) DelayInserter(program).run();
}

}  // namespace riftjit::rdna
