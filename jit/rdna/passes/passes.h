// The passes over an instruction list. Each is named and can be left out; none changes what a kernel computes.
#pragma once

#include <initializer_list>
#include <string_view>

#include "host/result.h"
#include "jit/rdna/passes/pass_context.h"
#include "jit/rdna/passes/program.h"

namespace riftjit::rdna {

enum class Pass : uint8_t {
    schedule,       // instructions in a better order (schedule.h); before registers are allocated
    waits,          // results of memory instructions are waited for (waits.cpp); needed
    vopd,           // adjacent independent operations become one (vopd_pairing.cpp); gfx11 and later, wave32
    hazards,        // what the hardware does not interlock (hazards.cpp); needed
    clauses,        // s_clause before runs of memory instructions (clauses.cpp)
    delay_alu,      // s_delay_alu (delay_alu.cpp); gfx11 and later
    release_vgprs,  // registers given back while the last stores are under way (release_vgprs.cpp); gfx11 and later
};
inline constexpr unsigned kPassCount = 7;
std::string_view name(Pass pass);

struct PassOptions {
    uint8_t disabled = 0;
    static constexpr PassOptions none() { return {0xFF}; }
    static PassOptions without(std::initializer_list<Pass> passes);
    bool runs(Pass pass) const { return (disabled >> static_cast<unsigned>(pass) & 1u) == 0; }
};

// Each goes through the lines a fixed number of times, whatever their number.
void insert_waits(PassContext& context);
void pair_dual_instructions(PassContext& context);
void insert_hazard_cures(PassContext& context);
void insert_clauses(PassContext& context);
void insert_delays(PassContext& context);
void insert_vgpr_release(Program& program);

// Those behind the allocation of registers.
void run_passes(Program& program, PassOptions options);

}  // namespace riftjit::rdna
