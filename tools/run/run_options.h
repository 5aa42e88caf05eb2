// The options of `riftjit run`, with llama.cpp's names and defaults.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "runtime/sampling/sampler_parameters.h"
#include "tools/cli/options.h"

namespace riftjit::tools {

enum class Toggle { automatic, on, off };

// Rows of one step when the logits of all rows are kept (--dump-logits): a row has as many floats as the vocabulary
// tokens, and how a prompt is cut into steps does not change them.
inline constexpr size_t kLogitsBatch = 32;

// See drafting.h.
struct DraftChoice {
    std::string type = "none", model;
    int64_t most = 3, least = 0;                  // of a draft model
    double least_probable = 0;                    // of a draft model
    int64_t longest_ngram = 3, most_copied = 16;  // of the text
    // For measuring a server's speed alone, one of them at most: see tools/run/synthetic_guesses.cpp.
    std::string synthetic_rates;
    double synthetic_length = 0;
    bool is_synthetic() const { return !synthetic_rates.empty() || synthetic_length != 0; }
};

struct RunOptions {
    std::string model, pre;
    std::vector<std::string> loras, scaled_loras;  // each may name several, divided by commas; the latter FILE:SCALE
    std::string prompt, prompt_file, binary_file, system_prompt, system_prompt_file;
    std::optional<std::string> prompt_ids;
    bool has_prompt = false;  // -p, -f, -bf or --prompt-ids was given
    bool process_escapes = true;
    int64_t predict = -1, context = 0, batch = 2048, ubatch = 512, threads = 0, threads_batch = 0;
    std::string cache_type_k = "f16", cache_type_v = "f16";
    Toggle conversation = Toggle::automatic;
    bool single_turn = false;
    struct PromptCache {
        std::string file;  // empty: none
        bool keeps_all = false, is_read_only = false;
    } prompt_cache;
    std::string chat_template, chat_template_file, chat_template_kwargs, reasoning = "auto", reasoning_effort;
    std::string reasoning_flag = "--reasoning";  // or the one that stood for it
    std::string reasoning_format = "auto";
    std::vector<std::string> reverse_prompts;
    bool show_special = false, display_prompt = true, show_perf = true, verbose_prompt = false, verbose = false;

    runtime::SamplerParameters sampling;
    std::set<std::string> given_sampling;  // flags of it on the command line, by their last names
    std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};
    bool ignore_eos = false;
    // One of them at most; text.
    std::string grammar, grammar_file, json_schema, json_schema_file;
    bool has_schema() const { return !json_schema.empty() || !json_schema_file.empty(); }

    DraftChoice draft;

    KernelChoice kernels;
    engine::DeviceChoice device;
    std::vector<Target> targets;
    bool predict_token = false, print_plan = false, dump_isa = false, logits_hash = false, json = false, strict = false;
    bool perf_map = false, gdb = false, check_tensors = false;
    std::string dump_isa_kernel, dump_logits;

    // Flags of llama.cpp whose answer is the same whatever was asked, see compatibility_options.cpp.
    engine::LoadMode load_mode = engine::LoadMode::automatic;
    bool list_devices = false, lock_memory = false, log_disable = false;
    int64_t verbosity = 3;
    std::vector<std::string> without_effect;  // one warning each
    // Of models spread over devices, which is warned about where the model runs as a whole.
    struct DeviceFlag {
        std::string flag, on_cpu;  // what to add on the processor
        enum class Where : uint8_t { cpu, device, both } where = Where::both;
    };
    std::vector<DeviceFlag> device_flags;
};

void add_run_options(CLI::App& app, RunOptions& options);
// Parts of these, which other commands that run a model share.
void add_model_options(CLI::App& app, RunOptions& options);
void add_template_options(CLI::App& app, RunOptions& options);  // the chat template and its variables
void add_sampling_options(CLI::App& app, RunOptions& options);
void add_compatibility_options(CLI::App& app, RunOptions& options);

// Refuses --perf with --no-perf, and their like.
Result<void> check_opposites(const CLI::App& app);

// What was asked for and changes nothing on the device that was chosen.
std::vector<std::string> without_effect_on_device(const RunOptions& options);

// With -e, how it starts: the texts given as values of flags. Files, ids, JSON and templates have rules of their own.
void apply_escapes(RunOptions& options);

// What the command line alone can tell wrong; also turns names into values. Called before the model is opened.
Result<engine::EngineOptions> engine_options(const RunOptions& options);

}  // namespace riftjit::tools
