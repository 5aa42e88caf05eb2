#include "jit/rdna/passes/passes.h"

#include <array>

namespace riftjit::rdna {
namespace {

struct PassEntry {
    Pass pass;
    std::string_view name;
    void (*run)(PassContext&);  // none: it shares no context with the others
};

// In the order they run: a new order comes before registers; waits keep loads and their users apart before operations
// are paired; cures see the pairs; hints come last because a wait inside a clause, or a moved instruction behind a
// delay, would spoil them.
constexpr std::array kPasses = {
    PassEntry{Pass::schedule, "schedule", nullptr},           PassEntry{Pass::waits, "waits", insert_waits},
    PassEntry{Pass::vopd, "vopd", pair_dual_instructions},    PassEntry{Pass::hazards, "hazards", insert_hazard_cures},
    PassEntry{Pass::clauses, "clauses", insert_clauses},      PassEntry{Pass::delay_alu, "delay_alu", insert_delays},
    PassEntry{Pass::release_vgprs, "release_vgprs", nullptr},
};
static_assert(kPasses.size() == kPassCount);

}  // namespace

std::string_view name(Pass pass) { return kPasses[static_cast<size_t>(pass)].name; }

PassOptions PassOptions::without(std::initializer_list<Pass> passes) {
    PassOptions options;
    for (const Pass pass : passes) options.disabled |= static_cast<uint8_t>(1u << static_cast<unsigned>(pass));
    return options;
}

void run_passes(Program& program, PassOptions options) {
    PassContext context(program);
    for (const PassEntry& entry : kPasses)
        if (options.runs(entry.pass) && entry.run != nullptr) entry.run(context);
    context.write_back();
    if (options.runs(Pass::release_vgprs)) insert_vgpr_release(program);
}

}  // namespace riftjit::rdna
