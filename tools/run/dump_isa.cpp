#include "tools/run/dump_isa.h"

#include <algorithm>

#include "engine/kernel_uses.h"
#include "engine/model_files.h"
#include "host/json_text.h"
#include "jit/rdna/assembly/object_listing.h"
#include "jit/x86/backend.h"
#include "jit/x86/listing.h"
#include "jit/x86/rows.h"
#include "runtime/rdna/hip_accelerator.h"
#include "runtime/rdna/kernel_needs.h"
#include "runtime/rdna/rdna_backend.h"
#include "tools/bench/bench_peaks.h"
#include "tools/cli/output.h"
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
    const ArithmeticBound words = !is_tile && x86::vector_takes_digits(matmul->weight, isa)
                                      ? ArithmeticBound{x86::Peak::i8_dot, 2}
                                      : ArithmeticBound{x86::Peak::i16_dot};
    switch (x86::backend(isa).activation_format(matmul->weight, matmul->activations)) {
        case RowFormat::f32:
            return {x86::Peak::f32_fma};
        case RowFormat::i16:
            return words;
        case RowFormat::i16_bf16:
            return is_tile ? ArithmeticBound{x86::Peak::bf16_tile, 2} : words;
        case RowFormat::i16_bytes:
            return is_tile ? ArithmeticBound{x86::Peak::i8_tile, 3} : words;
        case RowFormat::i8:
            return {x86::Peak::i8_dot};
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

std::vector<KernelNote> notes_of(const engine::KernelUse& use) {
    const KernelCost per_row = cost(use.spec);
    return {{"launches",
             fmt::format("{} for one token, {} for a prompt's batch", use.launches_one_row, use.launches_many_rows)},
            {"work", fmt::format("{} operations per token{}, {} bytes of weights per launch", per_row.flops,
                                 std::holds_alternative<AttentionSpec>(use.spec) ? " and position" : "",
                                 per_row.weight_bytes)}};
}

// An assembly file for each: riftjit asm and llvm-mc take one alone.
Result<void> print_gpu_kernel(const engine::KernelUse& use, std::span<const KernelNote> notes) {
    const auto& backend = dynamic_cast<const runtime::RdnaBackend&>(engine::backend(use.target));
    RIFTJIT_TRY(code, backend.compile(use.spec));
    RIFTJIT_TRY(shape, backend.launch_shape(use.spec));
    RIFTJIT_TRY(object, rdna::load_code_object(code.elf, backend.chip()));
    const rdna::LoadedKernel& kernel = object.kernels.at(0);
    RIFTJIT_TRY(needs, runtime::kernel_needs(object, shape.lanes));
    const std::vector<rdna::ListedFunction> functions = rdna::list_functions(object);
    size_t instructions = 0;
    for (const rdna::ListedFunction& function : functions)
        if (function.kernel != nullptr) instructions += function.instructions.size();
    fmt::print("; kernel       {}\n", code.name);
    fmt::print("; spec         {}\n", describe(use.spec));
    fmt::print("; target       {}\n", name(use.target));
    fmt::print("; code         {} bytes, {} instructions\n", kernel.code.size, instructions);
    fmt::print("; registers    {} VGPRs, {} SGPRs, {} bytes of LDS, {} of scratch: {} waves per SIMD\n", needs.vgprs,
               needs.sgprs, needs.lds_bytes, needs.scratch_bytes, needs.waves_per_simd);
    fmt::print("; grid         {} workgroups of {} lanes for {}\n", shape.groups, shape.lanes,
               shape.rows_per_group == 1 ? "each row" : fmt::format("every {} rows", shape.rows_per_group));
    for (const auto& [label, text] : notes) fmt::print("; {:<12} {}\n", label, text);
    fmt::print("{}\n", rdna::format_object(object, functions));
    return {};
}

// What the options' device would run. A card is asked what it is, and nothing else.
Result<Target> device_target(const engine::EngineOptions& options) {
    using Kind = engine::DeviceChoice::Kind;
    if (options.device.kind == Kind::cpu) {
        RIFTJIT_TRY(isa, listing_isa(options.max_isa));
        return Target(isa);
    }
    rdna::Target chip = options.device.chip;
    if (options.device.kind == Kind::hip) {
        RIFTJIT_TRY(hip, engine::open_hip());
        RIFTJIT_TRY(devices, runtime::list_hip_devices(*hip));
        RIFTJIT_TRY(device, runtime::choose_hip_device(devices, options.device.index));
        chip = device.chip.value();
    }
    return runtime::RdnaBackend(chip).target();
}

// A line for each kernel, a column for each level, which have their own kernels of one op.
void print_trials(const engine::LevelChoice& levels) {
    fmt::print("prompts are read at level {}: {}\n", name(levels.prompts), levels.figures());
    for (const runtime::LevelTrial& trial : levels.trials)
        for (const runtime::StepTrial& step : trial.steps)
            fmt::print("  {:<12} {:9.3f} ms x {:<4} {}\n", name(trial.level), step.ms, step.launches, step.kernel);
}

nlohmann::ordered_json to_json(const graph::Plan& plan) {
    auto launches = nlohmann::ordered_json::array();
    for (const graph::Step& step : plan.steps) {
        auto arguments = nlohmann::ordered_json::array();
        for (const graph::Place& place : step.places) arguments.push_back(graph::to_text(place));
        launches.push_back({{"name", step.name},
                            {"kernel", describe(step.spec)},
                            {"arguments", std::move(arguments)},
                            {"barrier", !step.parallel_with_next}});
    }
    return {{"target", name(plan.target.value())},
            {"arena_bytes", plan.arena_bytes},
            {"tokens", plan.max_tokens},
            {"launches", std::move(launches)}};
}

// For a target that was asked for, or as this machine would run them, by what is kept of its levels.
Result<runtime::PlanSet> plans_for(const engine::EngineOptions& options, Target target, bool is_asked_for,
                                   Reporter& reporter) {
    RIFTJIT_TRY(model, engine::open_model(options.model, reporter.warner(), options.adapters));
    RIFTJIT_TRY(graph, model.build());
    runtime::PlanSetOptions plan_options = engine::plan_options(options, engine::backend(target));
    if (!is_asked_for && options.device.is_cpu()) {
        const auto no_kernels = engine::open_kernel_cache({}, CacheMode::off, reporter.warner());
        engine::EngineOptions kept_alone = options;
        if (kept_alone.cache_mode == CacheMode::rw) kept_alone.cache_mode = CacheMode::ro;
        RIFTJIT_TRY(levels, engine::find_levels(graph, plan_options, kept_alone, *no_kernels, reporter.warner()));
        plan_options.prompt_backend = &engine::backend(levels.prompts);
    }
    return runtime::make_plans(graph, plan_options);
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

Result<int> dump_isa(const engine::EngineOptions& options, std::optional<Target> wanted, std::string_view part,
                     Reporter& reporter) {
    RIFTJIT_TRY(target, wanted ? Result<Target>(*wanted) : device_target(options));
    RIFTJIT_TRY(plans, plans_for(options, target, wanted.has_value(), reporter));
    const bool is_gpu = target.architecture == Architecture::rdna;
    std::vector<engine::KernelUse> uses = engine::kernel_uses(plans, is_gpu ? Isa::avx2 : isa_of(target));
    if (is_gpu) std::erase_if(uses, [&](const engine::KernelUse& use) { return use.target != target; });
    std::string names;
    for (const engine::KernelUse& use : uses) names += (names.empty() ? "" : ", ") + kernel_name(use.spec);
    std::erase_if(uses, [part](const engine::KernelUse& use) { return !kernel_name(use.spec).contains(part); });
    if (uses.empty()) {
        return fail(ErrorKind::Usage, "--dump-isa: no kernel's name contains \"{}\"; there are {}", part, names);
    }
    const auto peaks = is_gpu ? std::nullopt : load_peaks(options.cache_directory);
    if (!is_gpu) print_listing_head();
    for (size_t i = 0; i < uses.size(); ++i) {
        std::vector<KernelNote> notes = notes_of(uses[i]);
        if (is_gpu) {
            RIFTJIT_TRY_VOID(print_gpu_kernel(uses[i], notes));
        } else {
            const Isa isa = isa_of(uses[i].target);
            notes.push_back({"roofline", roofline(uses[i].spec, isa, peaks)});
            RIFTJIT_TRY_VOID(print_kernel(uses[i].spec, i, isa, notes));
        }
    }
    return kExitDone;
}

Result<int> print_plan(const engine::EngineOptions& options, Target target, bool as_json, Reporter& reporter) {
    RIFTJIT_TRY(plans, plans_for(options, target, true, reporter));
    print_plans(plans.decode, plans.prompt, nullptr, as_json);
    return kExitDone;
}

void print_plans(const graph::Plan& decode, const graph::Plan& prompt, const engine::LevelChoice* levels,
                 bool as_json) {
    if (as_json) {
        nlohmann::ordered_json object = {{"decode", to_json(decode)}, {"prompt", to_json(prompt)}};
        if (levels != nullptr) object["level_trials"] = engine::trials_as_json(*levels);
        write_output(json_text(object) + "\n");
        return;
    }
    if (levels != nullptr && !levels->trials.empty()) print_trials(*levels);
    fmt::print("decode plan: {}\nprompt plan: {}", graph::to_text(decode), graph::to_text(prompt));
}

}  // namespace riftjit::tools
