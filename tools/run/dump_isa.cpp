#include "tools/run/dump_isa.h"

#include <algorithm>

#include "engine/kernel_uses.h"
#include "engine/model_files.h"
#include "jit/x86/backend.h"
#include "jit/x86/listing.h"
#include "tools/bench/bench_peaks.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

// The peak that bounds a kernel's arithmetic, that of the dot product its weights take, and how many products there are
// for one of the model's: those of digits are two, or three of bytes.
struct ArithmeticBound {
    x86::Peak peak;
    int products = 1;
};
ArithmeticBound arithmetic_bound(const KernelSpec& spec, Isa isa) {
    const auto* matmul = std::get_if<MatmulSpec>(&spec);
    if (!matmul) return {x86::Peak::f32_fma};
    const bool is_tile = matmul->form == MatmulForm::tile;
    switch (x86::backend(isa).activation_format(matmul->weight)) {
        case RowFormat::f32:
            return {x86::Peak::f32_fma};
        case RowFormat::i16:
            return {x86::Peak::i16_dot};
        case RowFormat::i16_bf16:
            return is_tile ? ArithmeticBound{x86::Peak::bf16_tile, 2} : ArithmeticBound{x86::Peak::i16_dot};
        case RowFormat::i16_bytes:
            return is_tile ? ArithmeticBound{x86::Peak::i8_tile, 3} : ArithmeticBound{x86::Peak::i16_dot};
        case RowFormat::bf16:
            return {has_amx(isa) ? x86::Peak::bf16_tile : x86::Peak::bf16_dot};
    }
    return {x86::Peak::f32_fma};
}

// The shortest time that one row takes on this machine, by the peaks that `bench --peaks` measured here.
std::string roofline(const KernelSpec& spec, Isa isa, const std::optional<nlohmann::ordered_json>& peaks) {
    const KernelCost per_row = cost(spec);
    if (!peaks) return "not measured here, see riftjit bench --peaks";
    const ArithmeticBound bound = arithmetic_bound(spec, isa);
    const auto read = rate_of_all_threads(*peaks, x86::Peak::read),
               arithmetic = rate_of_all_threads(*peaks, bound.peak);
    if (!read || !arithmetic) return "not measured at this level, see riftjit bench --peaks";
    const double read_us = 1e-3 * static_cast<double>(per_row.weight_bytes) / *read;
    const double arithmetic_us = 1e-3 * bound.products * static_cast<double>(per_row.flops) / *arithmetic;
    return fmt::format("{:.2f} us reading weights, {:.2f} us computing: bound by {}, which uses {:.1f} % of the other",
                       read_us, arithmetic_us, read_us >= arithmetic_us ? "memory" : "arithmetic",
                       100 * std::min(read_us, arithmetic_us) / std::max({read_us, arithmetic_us, 1e-9}));
}

std::vector<KernelNote> notes_of(const engine::KernelUse& use, Isa isa,
                                 const std::optional<nlohmann::ordered_json>& peaks) {
    const KernelCost per_row = cost(use.spec);
    return {{"launches",
             fmt::format("{} for one token, {} for a prompt's batch", use.launches_one_row, use.launches_many_rows)},
            {"work",
             fmt::format("{} operations per token{}, {} bytes of weights per launch", per_row.flops,
                         std::holds_alternative<AttentionSpec>(use.spec) ? " and position" : "", per_row.weight_bytes)},
            {"roofline", roofline(use.spec, isa, peaks)}};
}

}  // namespace

Result<void> print_kernel(const KernelSpec& spec, size_t number, Isa isa, std::span<const KernelNote> notes) {
    RIFTJIT_TRY(object, x86::compile(spec, isa));
    RIFTJIT_TRY(read, read_x86_object(object.elf));
    RIFTJIT_TRY(listing, x86::disassemble(read.code, fmt::format(".L{}_", number)));
    fmt::print("# kernel       {}\n", object.name);
    fmt::print("# spec         {}\n", describe(spec));
    fmt::print("# isa          {}\n", name(isa));
    fmt::print("# code         {} bytes, {} instructions, and {} bytes of constants\n", read.code.instruction_bytes,
               listing.instructions, read.code.bytes.size() - read.code.instruction_bytes);
    fmt::print("# registers    {}\n", listing.registers);
    for (const auto& [label, text] : notes) fmt::print("# {:<12} {}\n", label, text);
    fmt::print("    .globl {0}\n{0}:\n{1}\n", object.name, listing.text);
    return {};
}

void print_listing_head() { fmt::print("    .intel_syntax noprefix\n    .text\n"); }

Result<Isa> listing_isa(std::optional<Isa> wanted) {
    return wanted ? Result<Isa>(*wanted) : engine::select_isa(std::nullopt);
}

Result<int> dump_isa(const engine::EngineOptions& options, std::string_view part, Reporter& reporter) {
    RIFTJIT_TRY(isa, listing_isa(options.max_isa));
    RIFTJIT_TRY(model, engine::open_model(options.model, reporter.warner()));
    RIFTJIT_TRY(graph, model.build());
    RIFTJIT_TRY(plans, runtime::make_plans(graph, engine::plan_options(options, isa)));
    std::vector<engine::KernelUse> uses = engine::kernel_uses(plans);
    std::string names;
    for (const engine::KernelUse& use : uses) names += (names.empty() ? "" : ", ") + kernel_name(use.spec);
    std::erase_if(uses, [part](const engine::KernelUse& use) { return !kernel_name(use.spec).contains(part); });
    if (uses.empty()) {
        return fail(ErrorKind::Usage, "--dump-isa: no kernel's name contains \"{}\"; there are {}", part, names);
    }
    const auto peaks = load_peaks(options.cache_directory);
    print_listing_head();
    for (size_t i = 0; i < uses.size(); ++i)
        RIFTJIT_TRY_VOID(print_kernel(uses[i].spec, i, isa, notes_of(uses[i], isa, peaks)));
    return kExitDone;
}

}  // namespace riftjit::tools
