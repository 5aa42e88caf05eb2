// Which instructions this processor has and the operating system saves (CPUID and XGETBV).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/isa.h"
#include "jit/result.h"

namespace riftjit::x86 {

struct Processor {
    std::string name;          // brand string
    std::vector<Isa> levels;   // every level that may run here, weakest first; empty below avx2
};

Processor detect();            // baseline instructions only; cheap, call once

// The strongest level of `processor` that is not above `limit` (nullopt: no limit). Fails below avx2 with one line that
// names what is missing. avx_vnni ranks below avx512.
Result<Isa> choose_isa(const Processor& processor, std::optional<Isa> limit);

}  // namespace riftjit::x86
