// `riftjit run --dump-isa`: what was generated for a model, kernel by kernel, with its listing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

// Prints the kernels whose names contain `part`, for the target or else for what the options' device is. Runs nothing:
// it works for levels and GPUs that this machine lacks.
Result<int> dump_isa(const engine::EngineOptions& options, std::optional<Target> target, std::string_view part,
                     Reporter& reporter);
// The same for the launches of both plans.
Result<int> print_plan(const engine::EngineOptions& options, Target target, bool as_json, Reporter& reporter);
// levels: of the two plans, where this machine runs them; null: of another.
void print_plans(const graph::Plan& decode, const graph::Plan& prompt, const engine::LevelChoice* levels, bool as_json);

// The pieces, of the processor's code, for what is no model: assembly that an assembler reads back, with notes as
// comments.
struct KernelNote {
    std::string label, text;
};
void print_listing_head();
Result<void> print_kernel(const KernelSpec& spec, size_t number, Isa isa, std::span<const KernelNote> notes);
// The level asked for, also one that this machine lacks, since nothing is run; else this machine's.
Result<Isa> listing_isa(std::optional<Isa> wanted);

}  // namespace riftjit::tools
