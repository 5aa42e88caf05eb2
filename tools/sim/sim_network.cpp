#include "tools/sim/sim_network.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/machine.h"
#include "host/available_memory.h"
#include "host/json_text.h"
#include "sim/equations/units.h"
#include "sim/plots/plots.h"
#include "sim/run/network_run.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output.h"
#include "tools/cli/output_file.h"
#include "tools/cli/step_progress.h"
#include "tools/run/dump_isa.h"
#include "tools/sim/sim_bandwidth.h"
#include "tools/sim/sim_report.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {

namespace {

std::string command_line() {
    std::string text;
    std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
    for (std::string part; std::getline(arguments, part, '\0');) text += (text.empty() ? "" : " ") + part;
    return text;
}

// "500 ms" of a flag: not below zero.
Result<double> time_of(const char* flag, const std::string& text) {
    if (text.empty()) return fail(ErrorKind::Usage, "{}: expected a time with its unit, got \"\"", flag);
    const auto time = sim::parse_quantity_of(sim::SourceText{text, flag, 1, 1}, sim::kMillisecond);
    if (!time) return std::unexpected(time.error());
    if (!(*time >= 0) || !std::isfinite(*time))
        return fail(ErrorKind::Usage, "{}: {} is no length of time", flag, text);
    return *time;
}

sim::Existing existing(const NetworkRunOptions& options) {
    return options.force ? sim::Existing::replace : sim::Existing::refuse;
}

// By --record-format, else by the name of the file.
Result<sim::RecordingFormat> record_format(const NetworkRunOptions& options) {
    if (options.record_format.empty()) return sim::format_of_path(options.record);
    return *sim::recording_format_from_name(options.record_format);
}

Result<sim::NetworkOverrides> overrides_of(const NetworkRunOptions& options) {
    sim::NetworkOverrides overrides;
    overrides.scale = options.scale;
    overrides.seed = options.seed;
    if (!options.compat.empty()) overrides.compat = options.compat == "nest" ? sim::Compat::nest : sim::Compat::brian2;
    if (options.step) {
        RIFTJIT_TRY(step, time_of("--step", *options.step));
        overrides.step_ms = step;
    }
    if (options.duration) {
        RIFTJIT_TRY(duration, time_of("--duration", *options.duration));
        overrides.duration_ms = duration;
    }
    for (const std::string& setting : options.settings) {
        const size_t equals = setting.find('=');
        if (equals == std::string::npos || equals == 0)
            return fail(ErrorKind::Usage, "--set: expected PATH=VALUE, got \"{}\"", setting);
        overrides.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    }
    return overrides;
}

// A file of that name comes before the network that comes with the program.
bool is_builtin(const std::string& network) {
    const auto& names = sim::builtin_network_names();
    return !std::filesystem::exists(network) && std::ranges::find(names, network) != names.end();
}

Result<sim::Network> load_network(const NetworkRunOptions& options) {
    RIFTJIT_TRY(overrides, overrides_of(options));
    if (is_builtin(options.network)) {
        RIFTJIT_TRY(text, sim::builtin_network_text(options.network));
        return sim::parse_network(text, options.network + ".toml", overrides);
    }
    if (!std::filesystem::exists(options.network)) {
        return fail(ErrorKind::Io, "sim: there is no file \"{}\"; the networks that come with the program are {}",
                    options.network, fmt::join(sim::builtin_network_names(), ", "));
    }
    return sim::read_network(options.network, overrides);
}

Result<int> print_network(const NetworkRunOptions& options) {
    if (is_builtin(options.network)) {
        RIFTJIT_TRY(text, sim::builtin_network_text(options.network));
        fmt::print("{}", text);
        return kExitDone;
    }
    RIFTJIT_TRY(network, load_network(options));
    fmt::print("{}", network.text);
    return kExitDone;
}

// The file that a name stands for, whether it exists or not: "a.h5" and "./a.h5" are one.
std::filesystem::path file_of(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
}

bool saves_where_it_resumes(const NetworkRunOptions& options) {
    return !options.save.empty() && !options.resume.empty() && file_of(options.save) == file_of(options.resume);
}

struct NamedFile {
    std::string flag, path;
    bool is_input = false;
    std::vector<std::string> endings = {};  // of files beside it in which it is written until it is whole
};

Result<void> check_files(const std::vector<NamedFile>& files, const NetworkRunOptions& options) {
    std::map<std::filesystem::path, const NamedFile*> users;
    for (const NamedFile& file : files) {
        const auto [other, is_new] = users.emplace(file_of(file.path), &file);
        if (!is_new)
            return fail(ErrorKind::Usage, "{}: {} is the file of {} too", file.flag, file.path, other->second->flag);
        const bool is_resumed = file.flag == "--save" && saves_where_it_resumes(options);
        if (!file.is_input) RIFTJIT_TRY_VOID(check_output_file(file.flag, file.path, options.force || is_resumed));
    }
    for (const NamedFile& file : files) {
        for (const std::string& ending : file.endings) {
            const auto other = users.find(file_of(file.path + ending));
            if (other == users.end()) continue;
            return fail(ErrorKind::Usage, "{}: {} is where {} {} is written until it is whole", other->second->flag,
                        other->second->path, file.flag, file.path);
        }
    }
    for (const NamedFile& file : files)
        for (const std::string& ending : file.endings)  // those that end in .part are begun before the run
            if (ending == ".new") RIFTJIT_TRY_VOID(try_to_create(file.flag, file.path + ending));
    return {};
}

// Everything that a long run would otherwise find out at its end.
Result<void> check_options(const NetworkRunOptions& options) {
    RIFTJIT_TRY_VOID(time_of("--discard", options.discard));
    if (!options.record_format.empty() && options.record.empty())
        return fail(ErrorKind::Usage, "--record-format: --record names no file to write");
    if (options.steps && options.duration) return fail(ErrorKind::Usage, "--steps: --duration says how long already");
    std::vector<NamedFile> files;
    if (!is_builtin(options.network)) files.push_back({"the network", options.network, true});
    if (!options.resume.empty() && !saves_where_it_resumes(options))
        files.push_back({"--resume", options.resume, true});
    if (!options.record.empty()) {
        RIFTJIT_TRY(format, record_format(options));
        const bool grows = format != sim::RecordingFormat::npz && format != sim::RecordingFormat::nwb;
        files.push_back({"--record", options.record, false,
                         grows ? std::vector<std::string>{".part"} : std::vector<std::string>{".part", ".new"}});
    }
    if (!options.record_network.empty()) {
        if (std::filesystem::path(options.record_network).extension() != ".h5")
            return fail(ErrorKind::Usage, "--record-network: {} does not end in .h5", options.record_network);
        files.push_back({"--record-network", options.record_network, false, {".new"}});
    }
    for (const std::string& plot : options.plots) {
        if (plot == "-" && options.prints == SimPrints::json)
            return fail(ErrorKind::Usage, "--plot -: --json has the standard output");
        if (plot == "-" && options.prints == SimPrints::hashes)
            return fail(ErrorKind::Usage, "--plot -: --hash has the standard output");
        if (plot == "-") continue;
        RIFTJIT_TRY_VOID(sim::image_format_of_path(plot));
        files.push_back({"--plot", plot, false, {".new"}});
    }
    if (options.save_interval && options.save.empty())
        return fail(ErrorKind::Usage, "--save-interval: --save names no file to write");
    if (!options.plot_kind.empty() && options.plots.empty())
        return fail(ErrorKind::Usage, "--plot-kind: --plot names no file to draw");
    if (!options.save.empty()) files.push_back({"--save", options.save, false, {".part"}});
    return check_files(files, options);
}

Result<void> draw(const NetworkRunOptions& options, const sim::Recording* spikes) {
    if (options.plots.empty()) return {};
    if (spikes == nullptr) return fail(ErrorKind::Usage, "--plot: too many spikes to draw");
    for (const std::string& plot : options.plots) {
        const sim::PlotKind kind =
            options.plot_kind.empty() ? sim::plot_kind_of_path(plot) : *sim::plot_kind_from_name(options.plot_kind);
        if (plot == "-") {
            fmt::print("\n{}", sim::terminal_plot(
                                   kind, *spikes, terminal_columns(STDOUT_FILENO),
                                   isatty(STDOUT_FILENO) ? sim::TerminalColours::ansi : sim::TerminalColours::none));
        } else {
            RIFTJIT_TRY_VOID(sim::write_plot(plot, kind, *spikes, existing(options)));
        }
    }
    return {};
}

// Each kernel once, with all that run it.
Result<int> dump_kernels(const sim::SimulationPlan& plan, Isa isa) {
    print_listing_head();
    std::map<std::string, std::string> users;
    for (const sim::SimulationPlan::Program& program : plan.programs) {
        std::string& names = users[program.kernel];
        names += (names.empty() ? "" : "; ") + program.name;
    }
    size_t number = 0;
    for (const sim::SimulationPlan::Program& program : plan.programs) {
        const auto user = users.find(program.kernel);
        if (program.kernel.empty() || user == users.end()) continue;
        const std::vector<KernelNote> notes = {
            {"runs for", user->second}, {"method", program.note}, {"work", work_text(program) + " moved"}};
        RIFTJIT_TRY_VOID(print_kernel(program.spec, number++, isa, notes));
        users.erase(user);
    }
    return kExitDone;
}

Result<sim::RunRequest> request_of(const NetworkRunOptions& options) {
    sim::RunRequest request;
    request.precision = options.precision == "f32" ? Precision::f32 : Precision::f64;
    request.threads = static_cast<uint32_t>(options.threads);
    if (options.steps) request.steps = static_cast<uint64_t>(*options.steps);
    request.resume = options.resume;
    if (options.check) request.check = sim::RunRequest::Check::totals_too;
    RIFTJIT_TRY(discard, time_of("--discard", options.discard));
    request.discard_ms = discard;
    sim::RunFiles& files = request.files;
    files.record = options.record;
    if (!options.record.empty()) {
        RIFTJIT_TRY(format, record_format(options));
        files.format = format;
    }
    files.save = options.save;
    if (options.save_interval) {
        RIFTJIT_TRY(interval, time_of("--save-interval", *options.save_interval));
        files.save_interval_ms = interval;
    }
    files.network = options.record_network;
    files.command_line = command_line();
    files.program_version = RIFTJIT_VERSION;
    files.existing = existing(options);
    return request;
}

// --explain, --dump-isa.
Result<int> show_plan(const NetworkRunOptions& options, const sim::NetworkRun& run) {
    const sim::SimulationPlan plan = run.plan();
    if (options.dump_isa) {
        RIFTJIT_TRY(wanted, listing_isa(options.machine.max_isa));
        return dump_kernels(plan, wanted);
    }
    RIFTJIT_TRY(rate, measured_read_rate(plan.traffic.memory_bytes, run.isa(), run.threads()));
    if (options.prints == SimPrints::json)
        fmt::print("{}\n", json_text(network_plan_json(run, plan, rate)));
    else
        print_network_plan(run, plan, rate);
    return kExitDone;
}

Result<void> print_result(SimPrints prints, const sim::NetworkRun& run) {
    if (prints == SimPrints::hashes) {
        print_network_hashes(run.simulation());
        return {};
    }
    Measured measured{peak_rss_bytes(), {}};
    RIFTJIT_TRY(rate, measured_read_rate(run.simulation().traffic().memory_bytes, run.isa(), run.threads()));
    measured.read_rate = rate;
    if (prints == SimPrints::json)
        fmt::print("{}\n", json_text(network_json(run, measured)));
    else
        print_network_table(run, measured);
    return {};
}

// Until its end or an interrupt.
Result<void> run_to_end(sim::NetworkRun& run) {
    const uint32_t first = run.simulation().steps();
    StepProgress progress(run.end_step() - first);
    return run.run([&](uint32_t steps) {
        progress.show(steps);
        return pending_interrupt() == Interrupt::none;
    });
}

// Of lists, spike times and profiles that the network's file names.
Result<void> keep_inputs(const NetworkRunOptions& options, const sim::Network& network) {
    std::vector<NamedFile> outputs = {
        {"--record", options.record}, {"--record-network", options.record_network}, {"--save", options.save}};
    for (const std::string& plot : options.plots) outputs.push_back({"--plot", plot == "-" ? "" : plot});
    for (const NamedFile& output : outputs)
        for (const std::string& file : network.files)
            if (!output.path.empty() && file_of(output.path) == file_of(file))
                return fail(ErrorKind::Usage, "{}: {} is a file that the network reads", output.flag, output.path);
    return {};
}

Result<int> simulate(const NetworkRunOptions& options, sim::Network network, Reporter& reporter) {
    RIFTJIT_TRY_VOID(keep_inputs(options, network));
    if (!options.record.empty() || !options.plots.empty()) sim::record_all_spikes_if_none(network);
    RIFTJIT_TRY(isa, engine::select_isa(options.machine.max_isa));
    const auto cache = engine::open_kernel_cache(options.machine.cache_directory,
                                                 *cache_mode_from_name(options.machine.cache_mode), reporter.warner());
    x86::HostKernels kernels(*cache);
    RIFTJIT_TRY(request, request_of(options));
    RIFTJIT_TRY(run, sim::NetworkRun::create(std::move(network), std::move(request), kernels, isa));
    // Of a network that is refused the error says all.
    for (const std::string& note : run->network().notes) reporter.info(shortened("note: " + note));
    if (options.print_plan || options.dump_isa) return show_plan(options, *run);
    RIFTJIT_TRY_VOID(run->build());
    const double end_ms = double(run->end_step()) * run->network().step_ms;
    if (run->request().discard_ms >= end_ms)
        return fail(ErrorKind::Usage, "--discard: {} leaves nothing of {} ms", options.discard, end_ms);
    RIFTJIT_TRY_VOID(run->open(reporter.warner()));
    watch_interrupts();
    RIFTJIT_TRY_VOID(run_to_end(*run));
    RIFTJIT_TRY_VOID(print_result(options.prints, *run));
    RIFTJIT_TRY_VOID(draw(options, run->spikes()));
    return exit_code_of_interrupt();
}

}  // namespace

Result<int> run_network(const NetworkRunOptions& options, Reporter& reporter) {
    if (options.print_network) return print_network(options);
    RIFTJIT_TRY_VOID(check_options(options));
    end_on_interrupts();
    RIFTJIT_TRY(network, load_network(options));
    return simulate(options, std::move(network), reporter);
}

}  // namespace riftjit::tools
