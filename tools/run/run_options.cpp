#include "tools/run/run_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "graph/plan.h"
#include "tools/cli/device_options.h"
#include "tools/cli/escapes.h"
#include "tools/cli/options.h"
#include "tools/run/drafting.h"

namespace riftjit::tools {

void add_model_options(CLI::App& app, RunOptions& o) {
    constexpr const char* kGroup = "Model";
    app.add_option(
           "-m,--model", o.model,
           "GGUF file (of a split set, the first part), or a folder as transformers saves it (default: the shipped "
           "storyteller)")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    app.add_option("--lora", o.loras, "LoRA adapter, a GGUF file; several divided by commas, or the flag again")
        ->type_name("FILE,...")
        ->allow_extra_args(false)
        ->group(kGroup);
    app.add_option("--lora-scaled", o.scaled_loras, "the same, each with a factor of its own")
        ->type_name("FILE:SCALE,...")
        ->allow_extra_args(false)
        ->group(kGroup);
    app.add_option("--pre", o.pre, "pre-tokenizer, for files that do not name one")->type_name("NAME")->group(kGroup);
    add_integer(app, "-c,--ctx-size", o.context, 0, INT32_MAX,
                "positions of the KV cache, 0: what the model was trained for")
        ->group(kGroup);
    add_integer(app, "-b,--batch-size", o.batch, 1, INT32_MAX, "prompt tokens between looks at Ctrl-C")->group(kGroup);
    add_integer(app, "--ubatch-size", o.ubatch, 1, 65536, "-ub: rows of one step while a prompt is read")
        ->group(kGroup);
    add_integer(app, "-t,--threads", o.threads, 1, 4096,
                "threads (default: one a core, of performance cores where there are others, within the CPU quota)")
        ->default_str("")
        ->group(kGroup);
    add_integer(app, "--threads-batch", o.threads_batch, 1, 4096, "-tb: threads for the prompt; must equal -t here")
        ->default_str("")
        ->group(kGroup);
    add_choice(app, "--cache-type-k", o.cache_type_k, cache_type_list(), "-ctk: type of cached keys")->group(kGroup);
    add_choice(app, "--cache-type-v", o.cache_type_v, cache_type_list(), "-ctv: type of cached values")->group(kGroup);
}

void add_template_options(CLI::App& app, RunOptions& o) {
    constexpr const char* kGroup = "Prompt";
    app.add_option("--chat-template", o.chat_template,
                   "Jinja text, or llama.cpp's name of a template, in place of the model's")
        ->type_name("TEXT")
        ->group(kGroup);
    app.add_option("--chat-template-file", o.chat_template_file, "the same from a file")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    app.add_option("--chat-template-kwargs", o.chat_template_kwargs, "variables for the template, a JSON object")
        ->type_name("JSON")
        ->group(kGroup);
    add_choice(app, "--reasoning", o.reasoning, {"auto", "on", "off"},
               "thinking, where the template knows enable_thinking")
        ->group(kGroup);
    app.add_option("--reasoning-effort", o.reasoning_effort, "passed to the template as reasoning_effort")
        ->type_name("LEVEL")
        ->group(kGroup);
}

namespace {

void add_prompt_options(CLI::App& app, RunOptions& o) {
    constexpr const char* kGroup = "Prompt";
    app.add_option("-p,--prompt", o.prompt, "what to say; a turn of a conversation if the model has a template")
        ->type_name("TEXT")
        ->group(kGroup);
    app.add_option("-f,--file", o.prompt_file,
                   "the prompt from a file, without byte-order mark and last line end; 32 MiB at most, as all texts")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    app.add_option("--binary-file", o.binary_file, "-bf: the prompt from a file, every byte")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    app.add_option("--prompt-ids", o.prompt_ids, "the prompt as token ids: 1,2,3")->type_name("IDS")->group(kGroup);
    app.add_flag_callback(
           "-e,--escape", [&o] { o.process_escapes = true; },
           "turn \\n, \\t, \\\", \\\\, \\x0a of -p, -sys, -r, --dry-sequence-breaker into what they mean (how it "
           "starts)")
        ->group(kGroup);
    app.add_flag_callback(
           "--no-escape", [&o] { o.process_escapes = false; }, "take these texts as they are")
        ->group(kGroup);
    app.add_option("--system-prompt", o.system_prompt, "-sys: the system message")->type_name("TEXT")->group(kGroup);
    app.add_option("--system-prompt-file", o.system_prompt_file, "-sysf: the system message from a file")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    app.add_flag_callback(
           "--conversation", [&o] { o.conversation = Toggle::on; },
           "-cnv: use the chat template (default: if the model has one)")
        ->group(kGroup);
    app.add_flag_callback(
           "--no-conversation", [&o] { o.conversation = Toggle::off; }, "-no-cnv: continue the raw text")
        ->group(kGroup);
    app.add_flag("--single-turn", o.single_turn, "-st: leave after one answer")->group(kGroup);
    CLI::Option* cache = app.add_option("--prompt-cache", o.prompt_cache.file,
                                        "go on from the text that this file holds, as far as the prompt begins with "
                                        "it, and write the prompt to it")
                             ->type_name("FILE")
                             ->group(kGroup);
    app.add_flag("--prompt-cache-all", o.prompt_cache.keeps_all, "write the answers, too")->needs(cache)->group(kGroup);
    app.add_flag("--prompt-cache-ro", o.prompt_cache.is_read_only, "do not write it")->needs(cache)->group(kGroup);
    add_template_options(app, o);
    add_choice(
        app, "--reasoning-format", o.reasoning_format, {"auto", "none", "deepseek", "deepseek-legacy"},
        "auto: thinking stands between two lines, with --json apart as \"reasoning\"; none: as the model writes it")
        ->group(kGroup);
}

void add_output_options(CLI::App& app, RunOptions& o) {
    constexpr const char* kGroup = "Output";
    app.add_option_function<std::string>(
           "-n,--predict,--n-predict",
           [&o](const std::string& text) {
               o.predict_token = text.empty();
               if (!text.empty()) o.predict = parse_integer("--n-predict", text, -2, INT32_MAX);
           },
           "tokens to generate; -1, -2: until the end or a full context (how it starts); 0: read the prompt only. "
           "Without a number, with --target: print what a token costs such GPUs at least (of counts, not measured) and "
           "leave")
        ->type_name("N")
        ->expected(0, 1)
        ->group(kGroup);
    app.add_option("-r,--reverse-prompt", o.reverse_prompts, "stop where this text appears")
        ->type_name("TEXT")
        ->group(kGroup);
    app.add_flag("--special", o.show_special, "-sp: show control tokens")->group(kGroup);
    app.add_flag_callback(
           "--display-prompt", [&o] { o.display_prompt = true; }, "repeat a raw prompt before the text (how it starts)")
        ->group(kGroup);
    app.add_flag_callback("--no-display-prompt", [&o] { o.display_prompt = false; }, "do not repeat it")->group(kGroup);
    app.add_flag("--verbose-prompt", o.verbose_prompt, "token ids and pieces of the prompt, on stderr")->group(kGroup);
    app.add_flag_callback(
           "--perf", [&o] { o.show_perf = true; }, "timings at the end, on stderr (how it starts)")
        ->group(kGroup);
    app.add_flag_callback("--no-perf", [&o] { o.show_perf = false; }, "no timings")->group(kGroup);
    app.add_flag("--json", o.json, "one JSON object on stdout in place of text")->group(kGroup);
    app.add_flag("--logits-hash", o.logits_hash, "a hash of all logits, on stderr: equal bits, equal hash")
        ->group(kGroup);
    app.add_option("--dump-logits", o.dump_logits, "write the prompt's logits, f32 [positions, vocabulary]")
        ->type_name("FILE.npy")
        ->check(file_name())
        ->group(kGroup);
    app.add_flag("-v,--verbose,--log-verbose", o.verbose, "say more on stderr")->group(kGroup);
}

void add_kernel_options(CLI::App& app, RunOptions& o) {
    constexpr const char* kGroup = "Kernels";
    add_device_option(app, kGroup, o.device);
    add_check_option(app, kGroup, o.device);
    add_kernel_choice(app, kGroup, o.kernels);
    app.add_option_function<std::string>(
           "--target",
           [&o](const std::string& text) {
               o.targets.clear();
               for (const std::string& each : split(text, ',')) o.targets.push_back(parse_target("--target", each));
           },
           "of --dump-isa and --print-plan: for this GPU or level, which need not be here (default: what --device "
           "has); of --predict: for these GPUs, a list")
        ->type_name("TARGET")
        ->group(kGroup);
    app.add_flag("--print-plan", o.print_plan, "print every launch and leave")->group(kGroup);
    app.add_option_function<std::string>(
           "--dump-isa",
           [&o](const std::string& kernel) {
               o.dump_isa = true;
               o.dump_isa_kernel = kernel;
           },
           "print generated code (of kernels whose name contains KERNEL) and leave")
        ->type_name("KERNEL")
        ->expected(0, 1)
        ->group(kGroup);
    app.add_flag("--perf-map", o.perf_map, "name generated code for perf")->group(kGroup);
    app.add_flag("--gdb", o.gdb, "register generated code with gdb")->group(kGroup);
    app.add_flag("--check-tensors", o.check_tensors, "read every weight first; NaN and infinity are errors")
        ->group(kGroup);
    app.add_flag("--strict", o.strict, "a warning is an error")->group(kGroup);
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions& options) {
    add_model_options(app, options);
    add_prompt_options(app, options);
    add_output_options(app, options);
    add_sampling_options(app, options);
    add_draft_options(app, options);
    add_kernel_options(app, options);
    add_compatibility_options(app, options);
    let_last_count(app);
}

// CLI11 calls back in the order of definition: the last of two opposites on the command line would not win.
Result<void> check_opposites(const CLI::App& app) {
    constexpr std::pair<const char*, const char*> kOpposites[] = {{"--escape", "--no-escape"},
                                                                  {"--conversation", "--no-conversation"},
                                                                  {"--display-prompt", "--no-display-prompt"},
                                                                  {"--perf", "--no-perf"},
                                                                  {"--samplers", "--sampler-seq"}};
    for (const auto& [one, other] : kOpposites) {
        if (app.count(one) != 0 && app.count(other) != 0)
            return fail(ErrorKind::Usage, "{} and {} contradict each other; give one", one, other);
    }
    return {};
}

std::vector<std::string> without_effect_on_device(const RunOptions& o) {
    std::vector<std::string> lines;
    using Where = RunOptions::DeviceFlag::Where;
    using Kind = engine::DeviceChoice::Kind;
    const std::string device = engine::name(o.device);
    for (const auto& [flag, on_cpu, where] : o.device_flags) {
        if (o.device.is_cpu() && where != Where::device)
            lines.push_back(fmt::format("{}: no device; running on CPU{}", flag, on_cpu));
        if (!o.device.is_cpu() && where != Where::cpu)
            lines.push_back(fmt::format("{}: all of the model runs on {}", flag, device));
    }
    if (o.device.is_cpu()) return lines;
    if (o.threads > 1 && o.device.kind == Kind::hip)
        lines.push_back(
            fmt::format("-t {}: the processor's threads compute nothing with --device {}", o.threads, device));
    if (o.threads > 1 && o.device.kind == Kind::emulate && o.device.checks == runtime::MachineChecks::all)
        lines.push_back(fmt::format("-t {}: checks need one thread; --check none lifts that", o.threads));
    for (const auto& [is_given, flag] : {std::pair(o.perf_map, "--perf-map"), std::pair(o.gdb, "--gdb")})
        if (is_given)
            lines.push_back(fmt::format("{}: names the processor's code alone, not that of {}", flag, device));
    return lines;
}

void apply_escapes(RunOptions& o) {
    if (!o.process_escapes) return;
    const auto apply = [](std::string& text) { text = process_escapes(text); };
    apply(o.prompt);
    apply(o.system_prompt);
    std::ranges::for_each(o.reverse_prompts, apply);
    std::ranges::for_each(o.dry_breakers, apply);
}

namespace {

// FILE, or with a scale FILE:SCALE, divided by commas.
Result<void> append_loras(std::string_view flag, std::string_view list, bool has_scales,
                          std::vector<models::LoraRequest>& requests) {
    while (true) {
        const size_t comma = std::min(list.find(','), list.size());
        std::string_view item = list.substr(0, comma);
        float scale = 1;
        if (has_scales) {
            const size_t colon = item.rfind(':');
            const std::string_view number = colon == item.npos ? "" : item.substr(colon + 1);
            const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), scale);
            if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(scale))
                return fail(ErrorKind::Usage, "{}: '{}' is not FILE:SCALE", flag, escape_unprintable(item));
            item = item.substr(0, colon);
        }
        if (item.empty()) return fail(ErrorKind::Usage, "{}: an empty file name", flag);
        requests.push_back({std::string(item), scale});
        if (comma == list.size()) return {};
        list.remove_prefix(comma + 1);
    }
}

}  // namespace

Result<engine::EngineOptions> engine_options(const RunOptions& o) {
    engine::EngineOptions engine;
    engine.model = o.model;
    for (const std::string& list : o.loras) RIFTJIT_TRY_VOID(append_loras("--lora", list, false, engine.adapters));
    for (const std::string& list : o.scaled_loras)
        RIFTJIT_TRY_VOID(append_loras("--lora-scaled", list, true, engine.adapters));
    if (!o.pre.empty()) engine.pre = o.pre;
    engine.max_isa = o.kernels.max_isa;
    engine.tries_levels = !o.kernels.leaves_levels_untried;
    engine.device = o.device;
    if (o.threads != 0) engine.threads = static_cast<uint32_t>(o.threads);
    if (o.threads_batch != 0 && o.threads_batch != o.threads) {
        return fail(ErrorKind::Unsupported, "-tb {}: prompts are read with the threads of -t in this build",
                    o.threads_batch);
    }
    engine.context = static_cast<uint32_t>(o.context);
    engine.batch = static_cast<uint32_t>(o.ubatch);
    engine.key_type = *dtype_from_name(o.cache_type_k);
    engine.value_type = *dtype_from_name(o.cache_type_v);
    engine.cache_directory = o.kernels.cache_directory;
    engine.cache_mode = *cache_mode_from_name(o.kernels.cache_mode);
    RIFTJIT_TRY_VOID(graph::parse_passes(o.kernels.passes));
    engine.passes = o.kernels.passes;
    engine.activations = *activations_from_name(o.kernels.activations);
    engine.profile = (o.perf_map ? Profile::perf_map : Profile::none) | (o.gdb ? Profile::gdb : Profile::none);
    engine.outputs = 1 + most_guesses(o.draft);
    engine.load_mode = o.lock_memory ? engine::LoadMode::packed : o.load_mode;
    if (!o.dump_logits.empty()) {
        engine.batch = std::min(engine.batch, static_cast<uint32_t>(kLogitsBatch));
        engine.outputs = engine.batch;
    }
    return engine;
}

}  // namespace riftjit::tools
