// `riftjit run --dump-isa`: what was generated for a model, kernel by kernel, with its listing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

// Prints the kernels whose names contain `part`. Runs nothing: it works for levels that this machine lacks.
Result<int> dump_isa(const engine::EngineOptions& options, std::string_view part, Reporter& reporter);

// The pieces, for what is no model: assembly that an assembler reads back, with notes as comments.
struct KernelNote {
    std::string label, text;
};
void print_listing_head();
Result<void> print_kernel(const KernelSpec& spec, size_t number, Isa isa, std::span<const KernelNote> notes);
// The level asked for, also one that this machine lacks, since nothing is run; else this machine's.
Result<Isa> listing_isa(std::optional<Isa> wanted);

}  // namespace riftjit::tools
