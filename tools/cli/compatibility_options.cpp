// Flags that scripts written for llama.cpp pass and that have one possible answer here: accepted when the answer is
// what was asked for, warned about when it is not, refused when the value makes no sense.
#include <algorithm>

#include "tools/cli/options.h"
#include "tools/run/run_options.h"

namespace riftjit::tools {

namespace {

constexpr const char* kGroup = "Compatibility";

// A flag that would change something where a model is spread over devices.
void ask_for_device(CLI::App& app, RunOptions& o, const std::string& names) {
    const std::string flag = names.substr(0, names.find(','));
    app.add_flag_callback(
           names, [&o, flag] { o.device_flags.push_back({flag, ", where this changes nothing"}); }, "")
        ->group("");
}

void ask_for_device_with(CLI::App& app, RunOptions& o, const std::string& names, std::vector<std::string> satisfied) {
    const std::string flag = names.substr(0, names.find(','));
    app.add_option_function<std::string>(
           names,
           [&o, flag, satisfied](const std::string& value) {
               if (std::find(satisfied.begin(), satisfied.end(), value) != satisfied.end()) return;
               o.device_flags.push_back({fmt::format("{} {}", flag, value), ""});
           },
           "")
        ->group("");
}

void add_device_options(CLI::App& app, RunOptions& o) {
    app.add_option_function<std::string>(
           "--gpu-layers,--n-gpu-layers",
           [&o](const std::string& value) {
               const bool is_word = value == "auto" || value == "all";
               const int64_t layers = is_word ? -1 : parse_integer("--gpu-layers", value, -1, INT32_MAX);
               if (value == "auto") return;
               using Where = RunOptions::DeviceFlag::Where;
               o.device_flags.push_back({"-ngl " + value, "", layers == 0 ? Where::device : Where::cpu});
           },
           "-ngl: layers on a device; all are where --device says, so another number is warned about")
        ->type_name("N|auto|all")
        ->group(kGroup);
    app.add_flag("--list-devices", o.list_devices, "what models can run on, and leave")->group(kGroup);
    ask_for_device_with(app, o, "--split-mode", {"none"});
    ask_for_device_with(app, o, "--fit", {"off"});
    for (const char* names : {"--tensor-split", "--main-gpu", "--override-tensor", "--n-cpu-moe", "--n-cpu-ffn",
                              "--fit-target", "--fit-ctx"}) {
        ask_for_device_with(app, o, names, {});
    }
    for (const char* names :
         {"--cpu-moe", "--kv-offload", "--no-kv-offload", "--op-offload", "--no-op-offload", "--no-host"}) {
        ask_for_device(app, o, names);
    }
}

void refuse_value(const std::string& flag, const std::string& why) {
    throw CLI::ValidationError(fmt::format("error while handling argument \"{}\": {}", flag, why),
                               CLI::ExitCodes::ValidationError);
}

void add_memory_options(CLI::App& app, RunOptions& o) {
    const auto packed = [&o](const std::string& flag) {
        o.without_effect.push_back(flag +
                                   ": weights are packed into memory of their own, and the file's pages are released");
    };
    app.add_option_function<std::string>(
           "--load-mode",
           [&o, packed](const std::string& mode) {
               if (mode == "mlock" || mode == "mmap+mlock") o.lock_memory = true;
               const bool is_known =
                   mode == "auto" || mode == "mmap" || mode == "none" || mode == "dio" || o.lock_memory;
               if (!is_known) {
                   refuse_value(
                       "--load-mode",
                       "\"" + mode + "\" is not known, expected one of auto, none, mmap, mlock, mmap+mlock, dio");
               }
               o.load_mode = mode == "auto"   ? engine::LoadMode::automatic
                             : mode == "mmap" ? engine::LoadMode::on_demand
                                              : engine::LoadMode::packed;
               if (mode == "none" || mode == "dio") packed("-lm " + mode);
           },
           "-lm: mmap packs weights as they are read, and holds what fits into memory (as auto does with those that do "
           "not); mlock keeps all of them there")
        ->type_name("auto|none|mmap|mlock|mmap+mlock|dio")
        ->group(kGroup);
    app.add_flag("--mlock", o.lock_memory, "keep the weights in memory")->group(kGroup);
    app.add_flag_callback(
           "--no-mmap",
           [&o, packed] {
               o.load_mode = engine::LoadMode::packed;
               packed("--no-mmap");
           },
           "")
        ->group("");
    app.add_flag_callback("--direct-io", [packed] { packed("-dio"); }, "")->group("");
    app.add_flag_callback(
           "--repack,--no-warmup,--no-context-shift,--deterministic", [] {}, "how it always is")
        ->group(kGroup);
}

void add_model_form_options(CLI::App& app) {
    app.add_option_function<std::string>(
           "--flash-attn",
           [](const std::string& value) {
               if (value == "off")
                   refuse_value("--flash-attn", "attention has one form in this build, without a score matrix");
               if (value != "on" && value != "auto" && !value.empty()) {
                   refuse_value("--flash-attn", "\"" + value + "\" is not known, expected one of on, off, auto");
               }
           },
           "-fa: on is how it always is")
        ->type_name("on|off|auto")
        ->expected(0, 1)
        ->group(kGroup);
    app.add_flag_callback("--jinja,--skip-chat-parsing", [] {}, "how it always is")->group(kGroup);
}

void add_log_options(CLI::App& app, RunOptions& o) {
    app.add_flag_callback("--no-log-jsonl,--no-log-prefix,--no-log-timestamps", [] {}, "")->group("");
    app.add_flag("--log-disable", o.log_disable, "nothing on stderr but errors")->group(kGroup);
    add_integer(app, "--verbosity,--log-verbosity", o.verbosity, 0, 5,
                "-lv: 0, 1 errors, 2 warnings, 3 timings, 4 and 5 as -v")
        ->group(kGroup);
}

}  // namespace

void add_compatibility_options(CLI::App& app, RunOptions& options) {
    add_device_options(app, options);
    add_memory_options(app, options);
    add_model_form_options(app);
    add_log_options(app, options);
    app.add_option_function<std::string>(
           "--reasoning-budget",
           [&options](const std::string& text) {
               const int64_t budget = parse_integer("--reasoning-budget", text, -1, INT32_MAX);
               if (budget > 0)
                   refuse_value("--reasoning-budget", "only -1 (no limit) and 0 (no thinking) in this build");
               if (budget != 0) return;
               options.reasoning = "off";
               options.reasoning_flag = "--reasoning-budget";
           },
           "-1: no limit, 0: as --reasoning off")
        ->type_name("N")
        ->group(kGroup);
}

}  // namespace riftjit::tools
