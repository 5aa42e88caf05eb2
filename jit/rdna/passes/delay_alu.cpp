// s_delay_alu tells the scheduler how long the next instruction would stall, so that another wave may issue instead. A
// hint: the hardware interlocks (RDNA3 ISA 16.5, "S_DELAY_ALU").
#include <array>
#include <utility>

#include "jit/rdna/passes/passes.h"
#include "jit/rdna/passes/wait_alu.h"

namespace riftjit::rdna {
namespace {

constexpr unsigned kNothing = 0, kFirstVector = 1, kFirstTranscendental = 5, kFirstScalar = 9;
constexpr unsigned kFurthestVector = 4, kFurthestTranscendental = 3;

// The last writer of a register.
struct Producer {
    enum class Kind : uint8_t { other, scalar, vector, transcendental };
    unsigned line = 0;                          // counted from 1
    unsigned vectors = 0, transcendentals = 0;  // issued up to it, itself included
    Kind kind = Kind::other;
};

// The dependences on the two nearest producers; `id` as the instruction spells it.
struct Delay {
    struct Dependence {
        unsigned line = 0, id = kNothing;
    };
    Dependence first, second;
    void add(unsigned line, unsigned id) {
        if (line == first.line || line == second.line) return;
        if (line > first.line)
            second = std::exchange(first, {line, id});
        else if (line > second.line)
            second = {line, id};
    }
};

class DelayInserter {
public:
    explicit DelayInserter(PassContext& context) : context_(context) {}

    void run() {
        LineId open = kNoLine;  // a delay with room for one more, whose instruction was the last
        for (LineId i = context_.first(); i != kNoLine; i = context_.next(i)) {
            const bool is_target = !context_.line(i).labels.empty();
            if (is_target) forget();
            const Delay delay = delay_of(context_.facts(i));
            issue(context_.facts(i), context_.line(i).instruction);
            const unsigned first = delay.first.id, second = delay.second.id;
            if (first == kNothing) {
                open = kNoLine;
            } else if (open != kNoLine && second == kNothing && !is_target) {
                constexpr unsigned kNextInstruction = 1;
                Instruction hint = context_.line(open).instruction;
                hint.simm16 |= static_cast<uint16_t>(kNextInstruction << 4 | first << 7);
                context_.replace(open, hint);
                open = kNoLine;
            } else {
                Instruction hint;
                hint.opcode = Opcode::s_delay_alu;
                hint.simm16 = static_cast<uint16_t>(first | second << 7);
                const LineId inserted = context_.insert_before(i, hint, Origin::hints);
                open = second == kNothing ? inserted : kNoLine;
            }
        }
    }

private:
    // What was issued so far is not behind the next line in straight code, or has been waited for.
    void forget() { forgotten_ = issued_.line; }

    Delay delay_of(const LineFacts& facts) const {
        Delay delay;
        if (!facts.is_valu) return delay;
        for (const RegisterRange read : facts.effects.reads) {
            if (read.first == Operand::kExec) continue;
            for (unsigned code = read.first; code < read.first + read.count; ++code)
                if (producers_[code].line > forgotten_) add_dependence(delay, producers_[code]);
        }
        return delay;
    }

    void add_dependence(Delay& delay, const Producer& producer) const {
        using Kind = Producer::Kind;
        const unsigned vectors = issued_.vectors - producer.vectors;  // issued behind the producer
        const unsigned transcendentals = issued_.transcendentals - producer.transcendentals;
        if (vectors >= kFurthestVector) return;
        if (producer.kind == Kind::scalar && producer.line == issued_.line) delay.add(producer.line, kFirstScalar);
        if (producer.kind == Kind::vector) delay.add(producer.line, kFirstVector + vectors);
        if (producer.kind == Kind::transcendental && transcendentals < kFurthestTranscendental)
            delay.add(producer.line, kFirstTranscendental + transcendentals);
    }

    void issue(const LineFacts& facts, const Instruction& instruction) {
        ++issued_.line;
        if (is_branch(instruction.opcode) || waits_for_vector_results(*facts.row, instruction)) return forget();
        using Kind = Producer::Kind;
        issued_.kind = Kind::other;
        if (facts.is_salu) issued_.kind = Kind::scalar;
        if (facts.is_valu) issued_.kind = facts.row->transcendental ? Kind::transcendental : Kind::vector;
        issued_.vectors += issued_.kind == Kind::vector;
        issued_.transcendentals += issued_.kind == Kind::transcendental;
        for (const RegisterRange written : facts.effects.writes)
            for (unsigned code = written.first; code < written.first + written.count; ++code)
                producers_[code] = issued_;
    }

    // Memory instructions wait by themselves.
    static bool waits_for_vector_results(const InstructionInfo& row, const Instruction& instruction) {
        if (row.format >= Format::DS) return true;
        return instruction.opcode == Opcode::s_wait_alu && waits_for(instruction.simm16, kWaitVectorResults);
    }

    PassContext& context_;
    std::array<Producer, kRegisterCodes> producers_{};
    Producer issued_;  // the line issued last
    unsigned forgotten_ = 0;
};

}  // namespace

void insert_delays(PassContext& context) {
    if (context.generation() != Generation::gfx10) DelayInserter(context).run();
}

}  // namespace riftjit::rdna
