#include "tools/model/warm_command.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "engine/kernel_uses.h"
#include "engine/model_files.h"
#include "host/json_text.h"
#include "jit/cache/kernel_batch.h"
#include "tools/cli/device_options.h"
#include "tools/cli/options.h"
#include "tools/cli/reporter.h"

namespace riftjit::tools {

namespace {

struct WarmOptions {
    std::string model, levels, cache_directory, passes = "all", activations = "i13";
    std::vector<Target> targets;
    std::string cache_type_k = "f16", cache_type_v = "f16";
    bool json = false;
};

// "avx2,avx512_vnni", and what --target adds; neither: the level that a run would choose here.
Result<std::vector<Target>> parse_levels(std::string_view text, std::vector<Target> targets) {
    if (text.empty()) {
        if (!targets.empty()) return targets;
        RIFTJIT_TRY(isa, engine::select_isa(std::nullopt));
        return std::vector<Target>{isa};
    }
    std::vector<Target> levels;
    if (text == "all") {
        levels.assign(all_isas().begin(), all_isas().end());
        text = "";
    }
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view name = text.substr(begin, end - begin);
        const auto isa = isa_from_name(name);
        if (!isa) {
            return fail(ErrorKind::Usage,
                        "error while handling argument \"--isa\": \"{}\" is not known, expected all or a list of {}",
                        name, isa_names());
        }
        levels.push_back(*isa);
        begin = end + 1;
    }
    levels.insert(levels.end(), targets.begin(), targets.end());
    return levels;
}

// `run` wants the logits of one row; --dump-logits those of many, which takes one kernel more. Beside a GPU the sampler
// runs on whatever processor is there. Yields what it took this process of the processor, from plans to code objects.
Result<double> warm_target(const graph::Graph& graph, const WarmOptions& options, Target target, KernelCache& kernels) {
    constexpr uint32_t kManyRows = 512;
    RIFTJIT_TRY(plans, runtime::make_plans(graph, {.backend = &engine::backend(target),
                                                   .batch = kManyRows,
                                                   .outputs = kManyRows,
                                                   .key_type = *dtype_from_name(options.cache_type_k),
                                                   .value_type = *dtype_from_name(options.cache_type_v),
                                                   .passes = options.passes,
                                                   .activations = *activations_from_name(options.activations)}));
    const bool is_gpu = target.architecture == Architecture::rdna;
    std::vector<Isa> samplers(all_isas().begin(), all_isas().end());
    if (!is_gpu) samplers = {isa_of(target)};
    std::vector<KernelRequest> requests;
    for (const Isa sampler : samplers)
        for (const engine::KernelUse& use : engine::kernel_uses(plans, sampler))
            requests.push_back({use.spec, use.target});
    const std::clock_t start = std::clock();  // of all threads
    RIFTJIT_TRY_VOID(make_kernels(kernels, requests));
    return double(std::clock() - start) * 1000 / CLOCKS_PER_SEC;
}

Result<int> warm(const WarmOptions& options) {
    RIFTJIT_TRY(targets, parse_levels(options.levels, options.targets));
    RIFTJIT_TRY_VOID(graph::parse_passes(options.passes));
    RIFTJIT_TRY(mode, cache_mode_of_environment());
    if (mode != "rw") return fail(ErrorKind::Usage, "RIFTJIT_CACHE={}: warm fills the cache, which takes rw", mode);
    Reporter reporter;
    RIFTJIT_TRY(model, engine::open_model(options.model, reporter.warner()));
    RIFTJIT_TRY(graph, model.build());
    DiskCache disk = DiskCache::open(options.cache_directory, CacheMode::rw, reporter.warner());
    if (disk.mode() != CacheMode::rw) return fail(ErrorKind::Io, "there is no cache to warm, see the warning above");
    std::optional<KernelCache> kernels(std::in_place, engine::compile, disk);
    auto summary = nlohmann::ordered_json::array();
    CacheStatistics before;
    for (size_t i = 0; i < targets.size(); ++i) {
        const Target target = targets[i];
        if (std::find(targets.begin(), targets.begin() + ptrdiff_t(i), target) != targets.begin() + ptrdiff_t(i))
            continue;
        const bool is_gpu = target.architecture == Architecture::rdna;
        const std::string label(is_gpu ? name(target) : name(isa_of(target)));
        RIFTJIT_TRY(cpu_ms, warm_target(graph, options, target, *kernels));
        const CacheStatistics after = kernels->statistics();
        const uint32_t generated = after.misses - before.misses, present = after.hits - before.hits;
        const double generate_ms = after.compile_ms - before.compile_ms;
        before = after;
        if (!options.json) {
            fmt::print("{}: {} kernels generated in {:.1f} ms, {:.1f} ms of CPU time; {} were there\n", label,
                       generated, generate_ms, cpu_ms, present);
        }
        summary.push_back({{is_gpu ? "target" : "isa", label},
                           {"generated", generated},
                           {"present", present},
                           {"jit_ms", generate_ms},
                           {"cpu_ms", cpu_ms}});
    }
    kernels.reset();  // publishes
    if (const uint32_t lost = disk.failed_stores(); lost != 0)
        return fail(ErrorKind::Io, "{} kernels could not be kept, see the warning above", lost);
    if (options.json) fmt::print("{}\n", json_text(summary));
    return kExitDone;
}

constexpr const char* kWarmExamples =
    "Examples:\n"
    "  riftjit warm                                  the shipped model, for this processor\n"
    "  riftjit warm m.gguf --isa avx2,avx512_vnni    for other machines: copy ~/.cache/riftjit there\n"
    "  riftjit warm m.gguf --target gfx1100,gfx1201  for GPUs, of which none need be here\n"
    "  riftjit run -m m.gguf --cache-mode require    fails with exit 4 rather than generate anything";

}  // namespace

void add_warm_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("warm", "Generate a model's kernels into the cache, for any processor");
    command->footer(kWarmExamples);
    const auto options = std::make_shared<WarmOptions>();
    command->add_option("FILE,-m,--model", options->model, "GGUF file or folder (default: the shipped storyteller)")
        ->check(file_name());
    command
        ->add_option("--isa", options->levels,
                     "levels: all, or a list of " + isa_names() + " (default: this machine's)")
        ->type_name("ISAS");
    add_choice(*command, "--activations", options->activations, {"i13", "i8"},
               "what quantised weights will be multiplied by");
    command
        ->add_option_function<std::string>(
            "--target",
            [options](const std::string& text) {
                for (const std::string& each : split(text, ','))
                    options->targets.push_back(parse_target("--target", each));
            },
            "a list of GPUs, and of levels too; the kernels that sample come for every level")
        ->type_name("TARGETS");
    add_choice(*command, "--cache-type-k", options->cache_type_k, cache_type_list(), "-ctk: type of cached keys");
    add_choice(*command, "--cache-type-v", options->cache_type_v, cache_type_list(), "-ctv: type of cached values");
    command->add_option("--passes", options->passes, "graph passes, as in run")
        ->type_name("LIST")
        ->capture_default_str();
    command->add_option("--cache-dir", options->cache_directory, "where kernels are kept (RIFTJIT_CACHE_DIR)")
        ->type_name("DIR")
        ->check(file_name());
    command->add_flag("--json", options->json, "one JSON object per level, in a list");
    on_chosen(*command, chosen, [options] {
        const auto result = warm(*options);
        return result ? *result : report(result.error());
    });
}

}  // namespace riftjit::tools
