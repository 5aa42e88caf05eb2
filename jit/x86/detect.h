// Which instructions this processor has and the operating system saves (CPUID and XGETBV).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/result.h"
#include "jit/isa.h"

namespace riftjit::x86 {

// What CPUID and XGETBV answered, leaf by leaf; zero where the processor has no such leaf.
struct CpuidLeaves {
    uint32_t leaf1_ecx = 0;
    uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;  // sub-leaf 0
    uint32_t leaf7_1_eax = 0;                              // sub-leaf 1
    uint64_t xcr0 = 0;                                     // register state that the operating system saves
    bool may_use_tiles = false;                            // it grants the process AMX's tiles, which take asking
    std::string vendor;                                    // "GenuineIntel", "AuthenticAMD"
    std::string brand;
};
CpuidLeaves read_cpuid();  // baseline instructions only; asks for the tiles, for all threads of the process

// One level, as the processor claims it and as the operating system allows it.
struct LevelSupport {
    Isa level;
    bool is_in_cpuid;     // every instruction set of the level
    bool is_saved_by_os;  // every register of the level
};

struct Processor {
    std::string name;                   // brand string
    std::vector<Isa> levels;            // every level that may run here, weakest first; empty below avx2
    std::vector<LevelSupport> support;  // of every level, weakest first
    std::vector<std::string> missing;   // what keeps avx2 from running, in words
    // Above it nothing is faster. Intel's VDPBF16PS does half the multiplications of its FMA (85 against 170 GFLOP/s a
    // core on a Xeon of 2024, `riftjit bench --peaks`), AMD's twice as many; tiles do many times as many as either.
    // Quantised weights by tiles (amx_int8) gain at two threads and lose at sixteen on that Xeon, so they are for those
    // who ask.
    Isa fastest = Isa::amx_bf16;
};

Processor interpret(const CpuidLeaves& leaves);
inline Processor detect() { return interpret(read_cpuid()); }  // cheap, call once

// The strongest level of `processor` that is not above `limit` (nullopt: not above the fastest). Fails below avx2 with
// one line that names what is missing. avx_vnni ranks below avx512.
Result<Isa> choose_isa(const Processor& processor, std::optional<Isa> limit);

// Three lines for people: detected by CPUID, enabled by the operating system, used.
std::string support_text(const Processor& processor, Isa used);

}  // namespace riftjit::x86
