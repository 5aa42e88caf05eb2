// One line per executed instruction: where, what, and which registers changed.
#pragma once

#include <ostream>

#include "jit/rdna/emulator/machine/interpreter.h"

namespace riftjit::rdna::emulator {

class Tracer {
public:
    explicit Tracer(std::ostream* out) : out_(out) {}
    // Not once writing has failed: a reader that left costs the rest of the run nothing.
    bool enabled() const { return out_ != nullptr && out_->good(); }
    // As Interpreter::run, instruction by instruction.
    Stop run(Interpreter& interpreter, Wave& wave, uint64_t budget, uint64_t& executed);

private:
    void print(const WaveState& before, const WaveState& after);

    std::ostream* out_;
};

}  // namespace riftjit::rdna::emulator
