#include "jit/rdna/emulator/machine/trace.h"

#include <fmt/format.h>

#include <bit>
#include <ostream>

namespace riftjit::rdna::emulator {
namespace {

// What is marked undefined, if anything is.
std::string doubt(uint64_t undefined) { return undefined ? fmt::format(" (undefined {:#x})", undefined) : ""; }

// Scalars that differ, and the written VGPRs' value in the first active lane with the lanes that are undefined.
std::string changes(const WaveState& before, const WaveState& after) {
    std::string text;
    for (unsigned code = 0; code < kScalarRegisters; ++code)
        if (before.scalars[code] != after.scalars[code])
            text +=
                fmt::format(" {}={:#x}{}", scalar_name(code), after.scalars[code], doubt(after.scalar_undefined[code]));
    if (before.scc != after.scc) text += fmt::format(" scc={}{}", after.scc, doubt(after.scc_undefined));
    if (!after.op->checks) return text;
    const RegisterSet& written = after.op->checks->footprint.writes;
    const unsigned lane = before.exec() ? static_cast<unsigned>(std::countr_zero(before.exec())) : 0;
    for (unsigned v = 0; v < written.vgpr_end(); ++v)
        if (written.has_vgpr(v))
            text += fmt::format(" v{}[{}]={:#x}{}", v, lane, after.vgpr(v)[lane],
                                doubt(after.vgpr_undefined ? after.undefined_lanes[v] : 0));
    return text;
}

}  // namespace

Stop Tracer::run(Interpreter& interpreter, Wave& wave, uint64_t budget, uint64_t& executed) {
    Stop stop = Stop::quantum;
    const uint64_t end = executed + budget;
    while (executed < end && stop == Stop::quantum) {
        const WaveState before = wave.state;
        stop = interpreter.run(wave, 1, executed);
        print(before, wave.state);
    }
    return stop;
}

void Tracer::print(const WaveState& before, const WaveState& after) {
    const CodeLocation at = after.op->program->locate(after.op->address);
    *out_ << fmt::format("{}.{} {}+{:#06x} {}", after.group_number, after.index, at.function, at.offset,
                         after.op->text());
    const std::string changed = changes(before, after);
    if (!changed.empty()) *out_ << "  //" << changed;
    *out_ << '\n';
}

}  // namespace riftjit::rdna::emulator
