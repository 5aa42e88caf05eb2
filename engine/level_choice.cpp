#include "engine/level_choice.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "host/json_text.h"
#include "jit/cache/build_id.h"
#include "jit/cache/cache_directory.h"
#include "jit/cache/cache_entry.h"
#include "jit/cache/kept_file.h"
#include "jit/x86/backend.h"
#include "jit/x86/detect.h"

namespace riftjit::engine {
namespace {

using nlohmann::ordered_json;

constexpr const char* kFileName = "levels.json";
constexpr size_t kMostKept = 64;
// Trials of one level differ by as much on a quiet machine.
constexpr double kMargin = 1.05;
constexpr uint32_t kFewestRows = 32;  // of batches that it pays for

// Levels with one number generate the same code where no weight is bf16.
int code_of(Isa isa) {
    if (isa <= Isa::avx512) return int(isa);
    return isa < Isa::amx_int8 ? int(Isa::avx512_vnni) : int(Isa::amx_int8);
}

bool has_bf16_weights(const graph::Graph& graph) {
    return std::ranges::any_of(graph.tensors, [](const graph::Tensor& tensor) { return tensor.type == DType::BF16; });
}

// Of a choice among these levels: by the kernels of the usual one, from whose graph and options those of the others
// follow.
std::string key_of_choice(const runtime::PlanSet& usual, std::span<const Isa> levels, uint32_t threads) {
    std::string text = fmt::format("{} {} threads {} rows", x86::detect().name, threads, kTrialRows);
    for (const std::byte byte : running_build_id()) text += fmt::format(" {:02x}", std::to_integer<int>(byte));
    for (const Isa level : levels) text += fmt::format(" {}", name(level));
    std::set<std::string> kernels;
    for (const graph::Step& step : usual.prompt.steps) kernels.insert(kernel_name(step.spec));
    for (const std::string& kernel : kernels) text += ' ' + kernel;
    return key_of(checksum_of(std::as_bytes(std::span(text)))).hex;
}

ordered_json kept_answers(const std::string& cache_directory) {
    const auto text = load_kept(cache_directory, kFileName);
    ordered_json answers = text ? parse_json<ordered_json>(*text) : ordered_json::object();
    return answers.is_object() ? answers : ordered_json::object();
}

ordered_json to_json(const LevelChoice& choice, uint32_t threads) {
    return {{"processor", x86::detect().name},
            {"threads", threads},
            {"rows", kTrialRows},
            {"prompts", name(choice.prompts)},
            {"trials", trials_as_json(choice)}};
}

const ordered_json* member(const ordered_json& object, const char* key, ordered_json::value_t type) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (found == object.end()) return nullptr;
    const bool is_number = type == ordered_json::value_t::number_float && found->is_number();
    return is_number || found->type() == type ? &*found : nullptr;
}

// nullopt: not one that to_json() wrote for these levels.
std::optional<LevelChoice> from_json(const ordered_json& answer, std::span<const Isa> levels) {
    using Type = ordered_json::value_t;
    const auto level_of = [&](const ordered_json& object, const char* key) -> std::optional<Isa> {
        const ordered_json* const text = member(object, key, Type::string);
        const auto level = text != nullptr ? isa_from_name(text->get<std::string>()) : std::nullopt;
        return level && std::ranges::find(levels, *level) != levels.end() ? level : std::nullopt;
    };
    const auto prompts = level_of(answer, "prompts");
    const ordered_json* const trials = member(answer, "trials", Type::array);
    if (!prompts || trials == nullptr) return std::nullopt;
    LevelChoice choice{*prompts, {}};
    for (const ordered_json& trial : *trials) {
        const auto level = level_of(trial, "level");
        const ordered_json *const ms = member(trial, "ms", Type::number_float), *const steps =
                                                                                    member(trial, "steps", Type::array);
        if (!level || ms == nullptr || steps == nullptr) return std::nullopt;
        runtime::LevelTrial& read = choice.trials.emplace_back(*level, ms->get<double>());
        for (const ordered_json& step : *steps) {
            const ordered_json *const kernel = member(step, "kernel", Type::string),
                                      *const launches = member(step, "launches", Type::number_unsigned),
                                      *const step_ms = member(step, "ms", Type::number_float);
            if (kernel == nullptr || launches == nullptr || step_ms == nullptr) return std::nullopt;
            read.steps.push_back(
                {one_line(kernel->get<std::string>()), launches->get<uint32_t>(), step_ms->get<double>()});
        }
    }
    return choice;
}

}  // namespace

ordered_json trials_as_json(const LevelChoice& choice) {
    ordered_json trials = ordered_json::array();
    for (const runtime::LevelTrial& trial : choice.trials) {
        ordered_json steps = ordered_json::array();
        for (const runtime::StepTrial& step : trial.steps)
            steps.push_back({{"kernel", step.kernel}, {"launches", step.launches}, {"ms", step.ms}});
        trials.push_back({{"level", name(trial.level)}, {"ms", trial.ms}, {"steps", std::move(steps)}});
    }
    return trials;
}

std::string LevelChoice::figures() const {
    std::string text;
    for (const runtime::LevelTrial& trial : trials)
        text += fmt::format("{}{} {:.1f} ms", text.empty() ? "" : ", ", name(trial.level), trial.ms);
    return text.empty() ? text : fmt::format("{} for {} rows", text, kTrialRows);
}

std::vector<Isa> levels_of_equal_bits(const graph::Graph& graph, Isa level, std::span<const Isa> available) {
    std::vector<Isa> levels = {level};
    const bool has_bf16 = has_bf16_weights(graph);
    const auto is_there = [&](Isa isa) { return std::ranges::find(available, isa) != available.end(); };
    for (const Isa other : available) {
        if (has_bf16 && (riftjit::has_bf16(other) != riftjit::has_bf16(level) || has_amx(other) != has_amx(level)))
            continue;
        const bool is_known = std::ranges::any_of(levels, [&](Isa isa) { return code_of(isa) == code_of(other); });
        // What lacks a dot product beside what has it, at the same width, is not faster anywhere.
        const bool is_slower =
            (other == Isa::avx2 && is_there(Isa::avx_vnni)) || (other == Isa::avx512 && is_there(Isa::avx512_vnni));
        if (!is_known && !is_slower) levels.push_back(other);
    }
    return levels;
}

Isa fastest(std::span<const runtime::LevelTrial> trials, Isa level) {
    if (trials.empty()) return level;
    const auto usual = std::ranges::find(trials, level, &runtime::LevelTrial::level);
    const auto best = std::ranges::min_element(trials, {}, &runtime::LevelTrial::ms);
    return usual == trials.end() || best->ms * kMargin < usual->ms ? best->level : level;
}

Result<LevelChoice> choose_prompt_level(const graph::Graph& graph, const runtime::PlanSetOptions& options, Isa level,
                                        uint32_t threads, KernelCache& kernels, const std::string& cache_directory,
                                        CacheMode mode, const Warn& warn) {
    const LevelChoice usual{level, {}};
    const std::vector<Isa> levels = levels_of_equal_bits(graph, level, x86::detect().levels);
    // Experts get a few rows each, which made-up rows say nothing of.
    const bool has_experts = std::ranges::any_of(
        graph.nodes, [](const graph::Node& node) { return std::holds_alternative<graph::ExpertsOp>(node.op); });
    if (levels.size() == 1 || has_experts || options.batch < kFewestRows || mode == CacheMode::off ||
        mode == CacheMode::require)
        return usual;
    std::vector<runtime::PlanSet> plans;  // by level
    const auto add_plans_of = [&](Isa of) -> Result<void> {
        runtime::PlanSetOptions at_level = options;
        at_level.backend = &x86::backend(of);
        RIFTJIT_TRY(made, runtime::make_plans(graph, at_level));
        plans.push_back(std::move(made));
        return {};
    };
    RIFTJIT_TRY_VOID(add_plans_of(level));
    const std::string key = key_of_choice(plans.front(), levels, threads);
    ordered_json answers = kept_answers(cache_directory);
    if (const auto found = answers.find(key); found != answers.end())
        if (auto choice = from_json(*found, levels)) return *std::move(choice);
    if (mode != CacheMode::rw) return usual;
    for (const Isa other : std::span(levels).subspan(1)) RIFTJIT_TRY_VOID(add_plans_of(other));
    std::vector<const graph::Plan*> prompts;
    for (const runtime::PlanSet& set : plans) prompts.push_back(&set.prompt);
    RIFTJIT_TRY(pool, ThreadPool::create(threads));
    x86::HostKernels host_kernels(kernels);
    RIFTJIT_TRY(trials, runtime::try_levels(prompts, std::min(kTrialRows, options.batch), pool, host_kernels));
    LevelChoice choice{fastest(trials, level), std::move(trials), true};
    while (answers.size() >= kMostKept) answers.erase(answers.begin());
    answers[key] = to_json(choice, threads);
    if (const auto kept = keep(cache_directory, kFileName, json_text(answers, 1) + "\n"); !kept)
        warn("the trial of levels is not kept: " + kept.error().message);
    return choice;
}

}  // namespace riftjit::engine
