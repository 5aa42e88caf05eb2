#include "tools/sim/sim_network.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/machine.h"
#include "host/available_memory.h"
#include "host/cpus.h"
#include "sim/engine/checkpoint.h"
#include "sim/engine/simulation.h"
#include "sim/plots/plots.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/step_progress.h"
#include "tools/run/dump_isa.h"
#include "tools/sim/sim_bandwidth.h"
#include "tools/sim/sim_report.h"
#include "tools/sim/sim_run_output.h"
#include "tools/sim/sim_text.h"

namespace riftjit::tools {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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

// Without recorders in the file, a recording or a plot is of all spikes.
void record_all_spikes_if_none(sim::Network& network) {
    for (const sim::Recorder& recorder : network.recorders)
        if (std::holds_alternative<sim::SpikeRecorder>(recorder.kind)) return;
    for (uint32_t population = 0; population < network.populations.size(); ++population)
        network.recorders.push_back({network.populations[population].name, population, sim::SpikeRecorder{}});
}

// Runs to `end_step`, writing as it goes; an interrupt ends it early.
Result<void> run_to(sim::Simulation& simulation, uint32_t end_step, RunOutput& output) {
    const uint32_t first = simulation.steps();
    StepProgress progress(end_step - first);
    Result<void> written;
    RIFTJIT_TRY_VOID(simulation.run(end_step - first, [&](uint32_t done) {
        progress.show(done);
        written = output.take(simulation);
        if (written) written = output.save_if_due(simulation);
        return written.has_value() && pending_interrupt() == Interrupt::none;
    }));
    return written;
}

uint32_t terminal_columns() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

// The file that a name stands for, whether it exists or not: "a.h5" and "./a.h5" are one.
std::filesystem::path file_of(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
}

bool saves_where_it_resumes(const NetworkRunOptions& options) {
    return !options.save.empty() && !options.resume.empty() && file_of(options.save) == file_of(options.resume);
}

Result<void> check_output(const std::string& flag, const std::string& path, const NetworkRunOptions& options) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
        return fail(ErrorKind::Io, "{}: there is no folder {}", flag, folder.string());
    if (!std::filesystem::exists(path, ignored)) return {};
    if (std::filesystem::is_directory(path, ignored)) return fail(ErrorKind::Io, "{}: {} is a folder", flag, path);
    if (options.force || (flag == "--save" && saves_where_it_resumes(options))) return {};
    return fail(ErrorKind::Usage, "{}: {} exists; --force overwrites it", flag, path);
}

// What is written when the run is over must not fail then: whether the file beside `path` can be created shows now.
Result<void> try_to_create(const std::string& flag, const std::string& path) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST)
        return fail(ErrorKind::Io, "{}: {}: cannot be created: {}", flag, path, std::strerror(errno));
    if (file >= 0) {
        close(file);
        unlink(path.c_str());
    }
    return {};
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
        if (!file.is_input) RIFTJIT_TRY_VOID(check_output(file.flag, file.path, options));
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
                         grows ? std::vector<std::string>() : std::vector<std::string>{".part", ".new"}});
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

Result<void> draw(const NetworkRunOptions& options, const RunOutput& output) {
    if (options.plots.empty()) return {};
    if (!output.spikes()) return fail(ErrorKind::Usage, "--plot: too many spikes to draw");
    for (const std::string& plot : options.plots) {
        const sim::PlotKind kind =
            options.plot_kind.empty() ? sim::plot_kind_of_path(plot) : *sim::plot_kind_from_name(options.plot_kind);
        if (plot == "-") {
            fmt::print("\n{}", sim::terminal_plot(
                                   kind, *output.spikes(), terminal_columns(),
                                   isatty(STDOUT_FILENO) ? sim::TerminalColours::ansi : sim::TerminalColours::none));
        } else {
            RIFTJIT_TRY_VOID(sim::write_plot(plot, kind, *output.spikes(), existing(options)));
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

// Of each population over the window in which its spikes are recorded; none where recorders differ in theirs.
std::vector<sim::PopulationStatistics> rates_of(const sim::Recording& recording, const sim::Network& network,
                                                double from_ms) {
    std::vector<sim::PopulationStatistics> found;
    for (uint32_t population = 0; population < network.populations.size(); ++population) {
        std::set<std::pair<double, double>> windows;
        for (const sim::Recorder& recorder : network.recorders) {
            if (recorder.population == population && std::holds_alternative<sim::SpikeRecorder>(recorder.kind))
                windows.emplace(recorder.start_ms, recorder.stop_ms);
        }
        if (windows.size() != 1) continue;
        const auto [start, stop] = *windows.begin();
        const double first = std::max(from_ms, start);
        if (first >= std::min(stop, recording.summary.steps * network.step_ms)) continue;
        found.push_back(sim::statistics_of(recording, recording.header.populations[population],
                                           {.start_ms = first, .stop_ms = stop}));
    }
    return found;
}

Result<uint32_t> choose_threads(const NetworkRunOptions& options, const sim::Network& network, KernelCache& kernels,
                                Isa isa, Precision precision) {
    if (options.threads != 0) return static_cast<uint32_t>(options.threads);
    const uint32_t cores = physical_cores();
    if (cores == 1) return cores;
    const sim::SimulationPlan without_synapses{.neurons = network.neurons()};
    if (without_synapses.useful_threads(network.step_ms, cores) == cores) return cores;  // spares making a plan of much
    RIFTJIT_TRY(plan, sim::Simulation::plan(network, kernels, isa, cores, precision));
    return plan.useful_threads(network.step_ms, cores);
}

// Every run is held to the first, and its states to be finite; --check to the second too.
Result<void> check_result(const NetworkRunOptions& options, const sim::Simulation& simulation) {
    RIFTJIT_TRY_VOID(simulation.check_conservation());
    return options.check ? simulation.check_totals() : Result<void>();
}

Result<void> print_result(SimPrints prints, const sim::Network& network, const sim::Simulation& simulation,
                          NetworkResult& result) {
    if (prints == SimPrints::hashes) {
        print_network_hashes(simulation);
        return {};
    }
    RIFTJIT_TRY(rate, measured_read_rate(simulation.traffic().memory_bytes, result.isa, result.threads));
    result.read_rate = rate;
    if (prints == SimPrints::json)
        fmt::print("{}\n", network_json(network, simulation, result).dump());
    else
        print_network_table(network, simulation, result);
    return {};
}

Result<int> simulate(const NetworkRunOptions& options, sim::Network network, Reporter& reporter) {
    const auto start = Clock::now();
    if (!options.record.empty() || !options.plots.empty()) record_all_spikes_if_none(network);
    for (const std::string& note : network.notes) reporter.info(shortened("note: " + note));
    NetworkResult result{};
    RIFTJIT_TRY(isa, engine::select_isa(options.machine.max_isa));
    result.isa = isa;
    const auto kernels =
        engine::open_kernel_cache(options.machine.cache_directory, *cache_mode_from_name(options.machine.cache_mode),
                                  KernelCache::Use::execute, reporter.warner());
    const Precision precision = options.precision == "f32" ? Precision::f32 : Precision::f64;
    result.precision = precision;
    RIFTJIT_TRY(threads, choose_threads(options, network, *kernels, isa, precision));
    result.threads = threads;
    if (options.threads == 0 && threads < physical_cores())
        result.threads_note = " (a step is too short to share among more)";
    RIFTJIT_TRY(pool, ThreadPool::create(result.threads));
    if (options.print_plan || options.dump_isa) {
        RIFTJIT_TRY(plan, sim::Simulation::plan(network, *kernels, isa, result.threads, precision));
        if (options.dump_isa) {
            RIFTJIT_TRY(wanted, listing_isa(options.machine.max_isa));
            return dump_kernels(plan, wanted);
        }
        RIFTJIT_TRY(rate, measured_read_rate(plan.traffic.memory_bytes, isa, result.threads));
        result.read_rate = rate;
        if (options.prints == SimPrints::json)
            fmt::print("{}\n", network_plan_json(network, plan, result).dump());
        else
            print_network_plan(network, plan, result);
        return kExitDone;
    }
    RIFTJIT_TRY(simulation, sim::Simulation::create(network, *kernels, isa, pool, precision));
    if (!options.resume.empty()) RIFTJIT_TRY_VOID(simulation.restore(options.resume));
    const uint64_t end_step = options.steps ? simulation.steps() + *options.steps : network.steps();
    if (end_step > UINT32_MAX || end_step <= simulation.steps()) {
        return fail(ErrorKind::Usage, "sim: nothing is left to do: {} is at step {} of {}", options.resume,
                    simulation.steps(), end_step);
    }
    RIFTJIT_TRY(discard, time_of("--discard", options.discard));
    if (discard >= double(end_step) * network.step_ms) {
        return fail(ErrorKind::Usage, "--discard: {} leaves nothing of {} ms", options.discard,
                    double(end_step) * network.step_ms);
    }
    if (!options.record_network.empty()) {
        RIFTJIT_TRY(hash, write_drawn_network(options, network));
        check(hash == simulation.graph_hash(), "a file of the network holds the synapses that are simulated");
    }
    RIFTJIT_TRY(output, RunOutput::create(options, network, simulation, reporter));
    result.build_seconds = seconds_since(start);
    result.kernels_ms = kernels->statistics().compile_ms + kernels->statistics().load_ms;
    result.first_step = simulation.steps();
    result.first_spikes = simulation.spikes();
    result.first_events = simulation.delivered();
    watch_interrupts();
    const auto run_start = Clock::now();
    const Result<void> ran = run_to(simulation, static_cast<uint32_t>(end_step), output);
    result.run_seconds = seconds_since(run_start);
    if (!ran) {
        output.keep_what_was_recorded(simulation);
        return std::unexpected(ran.error());
    }
    if (const auto checked = check_result(options, simulation); !checked) {
        output.keep_what_was_recorded(simulation);
        return std::unexpected(checked.error());
    }
    RIFTJIT_TRY_VOID(output.finish(simulation));
    result.peak_rss = peak_rss_bytes();
    if (output.spikes()) {
        const double from = std::max(discard, result.first_step * network.step_ms);
        result.populations = rates_of(*output.spikes(), network, from);
    }
    result.is_checked = options.check;
    RIFTJIT_TRY_VOID(print_result(options.prints, network, simulation, result));
    RIFTJIT_TRY_VOID(draw(options, output));
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
