#include "tools/rdna/emulate_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>

#include "jit/rdna/emulator/machine/machine.h"
#include "tools/cli/input_file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/output_file.h"
#include "tools/cli/reporter.h"
#include "tools/cli/step_progress.h"
#include "tools/rdna/emulate_arguments.h"
#include "tools/rdna/emulate_report.h"
#include "tools/rdna/rdna_files.h"

namespace riftjit::tools {

namespace {

namespace emulator = rdna::emulator;

struct CheckName {
    std::string_view name;
    bool emulator::Checks::* check;
    std::array<std::string_view, 2> finds = {};  // how the names of findings begin, where not as the check's
};
constexpr CheckName kChecks[] = {
    {"waits", &emulator::Checks::waits, {"use-before-wait", "overwrite-before-wait"}},
    {"undefined", &emulator::Checks::undefined},
    {"registers", &emulator::Checks::registers, {"vgpr-beyond-count", "sgpr-beyond-count"}},
    {"overlap", &emulator::Checks::overlap, {"register-overlap"}},
    {"hazards", &emulator::Checks::hazards, {"hazard-"}},
    {"hazard-sgpr-read", &emulator::Checks::sgpr_read_hazard},
    {"hazard-valu-mask-rewrite", &emulator::Checks::mask_rewrite},
    {"hazard-valu-partial-forwarding", &emulator::Checks::partial_forwarding},
    {"hazard-vopd-interlock", &emulator::Checks::vopd_interlock},
    {"wmma", &emulator::Checks::wmma},
    {"races", &emulator::Checks::races, {"lds-race", "global-race"}},
    {"visibility", &emulator::Checks::visibility, {"stale-read"}},
};

// The check that reports findings of a name; empty for none, and for what is always looked for.
std::string_view check_that_finds(std::string_view finding) {
    for (const CheckName& check : kChecks) {
        if (finding.starts_with(std::string(check.name) + "-")) return check.name;
        for (const std::string_view start : check.finds)
            if (!start.empty() && finding.starts_with(start)) return check.name;
    }
    return "";
}

struct EmulateOptions {
    std::string object, kernel, schedule = "long-quanta", resident = "occupancy";
    std::string grid, group, checks = "all";
    std::vector<std::string> values;  // of --buffer and --scalar, in the order given
    std::vector<bool> are_buffers;
    std::vector<std::string> saved;
    RdnaChoice chip;
    int64_t seed = 1, threads = 1, dynamic_lds = 0;
    uint64_t limit = 200'000'000;  // some seconds
    bool trace = false, json = false, chooses_residency = false;

    // A buffer takes standard output for itself.
    bool reports_on_stderr() const {
        return std::ranges::any_of(saved, [](const std::string& out) { return out.ends_with(":-"); });
    }
    bool traces_on_stderr() const { return json || reports_on_stderr(); }
};

// "all", "none", or a list of names; "-NAME" leaves one out, and at the front out of all. A check of one kind of
// finding bears its name.
Result<emulator::Checks> parse_checks(const std::string& text) {
    if (text == "none") return emulator::Checks::none();
    if (text == "all") return emulator::Checks{};
    emulator::Checks checks = text.starts_with('-') ? emulator::Checks{} : emulator::Checks::none();
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        std::string_view name = std::string_view(text).substr(at, end - at);
        at = end + 1;
        if (name == "all") {
            checks = emulator::Checks{};
            continue;
        }
        const bool is_left_out = name.starts_with('-');
        if (is_left_out) name.remove_prefix(1);
        const auto* known = std::ranges::find(kChecks, name, &CheckName::name);
        if (const std::string_view check = check_that_finds(name); known == std::end(kChecks) && !check.empty())
            return fail(ErrorKind::Usage, "--check {}: \"{}\" is what check {} reports; name that", text, name, check);
        if (known == std::end(kChecks))
            return fail(ErrorKind::Usage, "--check {}: \"{}\" is not known, expected all, none or a list of {}", text,
                        name, check_names());
        checks.*known->check = !is_left_out;
    }
    return checks;
}

// "64", "64,2", "64,2,1".
Result<emulator::Dimensions> parse_dimensions(const std::string& flag, const std::string& text) {
    uint32_t sizes[3] = {1, 1, 1};
    size_t count = 0;
    for (size_t at = 0; at <= text.size(); ++count) {
        const size_t end = std::min(text.find(',', at), text.size());
        if (count == std::size(sizes)) return fail(ErrorKind::Usage, "{} {}: more than three sizes", flag, text);
        const char *first = text.data() + at, *last = text.data() + end;
        const auto [stop, error] = std::from_chars(first, last, sizes[count]);
        if (error != std::errc{} || stop != last || sizes[count] == 0)
            return fail(ErrorKind::Usage, "{} {}: expected X, X,Y or X,Y,Z, each from 1 to {}", flag, text, UINT32_MAX);
        at = end + 1;
    }
    return emulator::Dimensions{sizes[0], sizes[1], sizes[2]};
}

struct PlacedBuffer {
    uint64_t address, size;
};
struct Launch {
    std::vector<PassedValue> values;
    std::vector<PlacedBuffer> buffers;
};

Result<Launch> place_values(const EmulateOptions& options, emulator::Machine& machine) {
    Launch launch;
    for (size_t i = 0; i < options.values.size(); ++i) {
        if (!options.are_buffers[i]) {
            RIFTJIT_TRY(bytes, parse_scalar(options.values[i]));
            launch.values.push_back({.bytes = std::move(bytes), .is_buffer = false});
            continue;
        }
        RIFTJIT_TRY(buffer, parse_buffer(options.values[i]));
        const std::string name = fmt::format("buffer {}", launch.buffers.size());
        const uint64_t address =
            buffer.is_undefined ? machine.allocate(name, buffer.size) : machine.allocate(name, buffer.bytes);
        launch.buffers.push_back({address, buffer.size});
        PassedValue value{.bytes = std::vector<std::byte>(sizeof address), .is_buffer = true};
        std::memcpy(value.bytes.data(), &address, sizeof address);
        launch.values.push_back(std::move(value));
    }
    return launch;
}

Result<void> save_buffers(const EmulateOptions& options, const Launch& launch, const emulator::Machine& machine) {
    for (const std::string& text : options.saved) {
        RIFTJIT_TRY(saved, parse_saved_buffer(text, launch.buffers.size()));
        RIFTJIT_TRY(bytes, machine.read(launch.buffers[saved.buffer].address, launch.buffers[saved.buffer].size));
        RIFTJIT_TRY_VOID(write_file(saved.path, bytes));
    }
    return {};
}

Result<emulator::LaunchOptions> launch_options(const EmulateOptions& options, const emulator::Checks& checks) {
    emulator::LaunchOptions launch;
    launch.schedule = *emulator::schedule_from_name(options.schedule);
    launch.instruction_limit = options.limit;
    launch.residency = options.resident == "all"   ? emulator::Residency::all
                       : options.resident == "one" ? emulator::Residency::one
                                                   : emulator::Residency::occupancy;
    launch.dynamic_lds_bytes = static_cast<uint32_t>(options.dynamic_lds);
    if (options.trace) launch.trace = options.traces_on_stderr() ? &std::cerr : &std::cout;
    if (options.threads > 1) {
        if (checks.any() || options.trace)
            return fail(ErrorKind::Usage, "--threads {}: checks and traces need one thread; --check none lifts that",
                        options.threads);
        if (options.chooses_residency && options.resident != "one")
            return fail(ErrorKind::Usage,
                        "--threads {}: workgroups run apart from each other, --resident {} needs one "
                        "thread",
                        options.threads, options.resident);
        launch.residency = emulator::Residency::one;
    }
    return launch;
}

// "1:/dev/stdout" as "1:-".
std::string with_dash(const std::string& out) {
    const size_t colon = std::min(out.find(':'), out.size());
    return out.substr(0, colon) + (colon < out.size() ? ":" + dash_for_standard_output(out.substr(colon + 1)) : "");
}

// A file holds one buffer, and not in place of the code object.
Result<void> check_saved(const EmulateOptions& options) {
    const size_t buffers = static_cast<size_t>(std::ranges::count(options.are_buffers, true));
    std::vector<std::string> paths;
    for (const std::string& text : options.saved) {
        RIFTJIT_TRY(saved, parse_saved_buffer(text, buffers));
        RIFTJIT_TRY_VOID(check_output(saved.path));
        if (saved.path != "-" && options.object != "-" && is_same_file(saved.path, options.object))
            return fail(ErrorKind::Usage, "--out {}: the buffer would replace the code object", text);
        for (const std::string& other : paths)
            if (is_same_file(saved.path, other))
                return fail(ErrorKind::Usage, "--out {}: another buffer goes to this file", text);
        paths.push_back(saved.path);
    }
    return {};
}

// Standard input can be read once and standard output hold one buffer.
Result<void> check_streams(const EmulateOptions& options) {
    size_t inputs = options.object == "-", outputs = 0;
    for (size_t i = 0; i < options.values.size(); ++i) inputs += options.are_buffers[i] && options.values[i] == "-";
    for (const std::string& saved : options.saved) outputs += saved.ends_with(":-");
    if (inputs > 1)
        return fail(ErrorKind::Usage, "standard input (-) is asked for {} times, it can be read once", inputs);
    if (outputs > 1) return fail(ErrorKind::Usage, "--out: {} buffers go to standard output, one can", outputs);
    return {};
}

// The bar, on a terminal that the trace does not go to.
class Watch {
public:
    Watch(const EmulateOptions& options, uint64_t workgroups) : progress_(workgroups, "workgroups") {
        const int trace = options.traces_on_stderr() ? STDERR_FILENO : STDOUT_FILENO;
        shows_ = !options.trace || isatty(trace) == 0;
    }
    void group_ended() {
        const std::lock_guard lock(mutex_);
        ++ended_;
        show();
    }
    bool is_interrupted() {
        const std::lock_guard lock(mutex_);
        show();
        return pending_interrupt() != Interrupt::none;
    }
    void wipe() { progress_.wipe(); }

private:
    void show() {
        if (shows_) progress_.show(ended_);
    }

    std::mutex mutex_;  // several threads end workgroups
    StepProgress progress_;
    uint64_t ended_ = 0;
    bool shows_ = true;
};

// By name, or the only one there is.
Result<const rdna::LoadedKernel*> chosen_kernel(const EmulateOptions& options, const rdna::LoadedObject& object) {
    if (options.kernel.empty() && object.kernels.size() == 1) return &object.kernels.front();
    if (const rdna::LoadedKernel* kernel = object.find(options.kernel)) return kernel;
    std::string names;
    for (const rdna::LoadedKernel& each : object.kernels) names += (names.empty() ? "" : ", ") + each.name;
    if (names.empty()) names = "none";
    if (options.kernel.empty()) return fail(ErrorKind::Usage, "{}: name a KERNEL; there are {}", options.object, names);
    return fail(ErrorKind::Usage, "{}: no kernel {}; there are {}", options.object, options.kernel, names);
}

Result<int> run(const EmulateOptions& options) {
    RIFTJIT_TRY(checks, parse_checks(options.checks));
    RIFTJIT_TRY(how, launch_options(options, checks));
    RIFTJIT_TRY_VOID(check_streams(options));
    RIFTJIT_TRY(grid, parse_dimensions("--grid", options.grid));
    RIFTJIT_TRY(group, parse_dimensions("--group", options.group));
    RIFTJIT_TRY_VOID(check_saved(options));
    RIFTJIT_TRY(bytes, read_bytes(options.object));
    const auto object = rdna::load_code_object(bytes, options.chip.target);
    if (!object) return fail(object.error().kind, "{}: {}", options.object, object.error().message);
    RIFTJIT_TRY(kernel, chosen_kernel(options, *object));
    emulator::Machine machine(object->target, {.checks = checks,
                                               .seed = static_cast<uint64_t>(options.seed),
                                               .host_threads = static_cast<uint32_t>(options.threads)});
    RIFTJIT_TRY_VOID(machine.load(bytes));
    RIFTJIT_TRY(launch, place_values(options, machine));
    RIFTJIT_TRY(args, lay_out_arguments(*kernel, launch.values));
    Watch watch(options, std::max<uint64_t>(grid.count(), 1));
    how.group_ended = [&] { watch.group_ended(); };
    how.is_interrupted = [&] { return watch.is_interrupted(); };
    end_on_interrupts();
    watch_interrupts();
    RIFTJIT_TRY(report, machine.launch(kernel->name, grid, group, args, how));
    watch.wipe();
    const EmulatedLaunch launched{kernel->name,  rdna::name(object->target), options.grid,
                                  options.group, options.schedule,           options.checks};
    const std::string text = (options.json ? json_report : text_report)(launched, report);
    if (options.reports_on_stderr())
        write_diagnostic(text);
    else
        write_output(text);
    RIFTJIT_TRY_VOID(save_buffers(options, launch, machine));
    if (!report.interrupted_at.empty()) return exit_code_of_interrupt();
    return report.findings.empty() && report.completed ? kExitDone : kExitFindings;
}

constexpr const char* kEmulateExamples =
    "Examples:\n"
    "  riftjit disasm k.co --kernels                           the kernels of a file and their arguments\n"
    "  riftjit emulate k.co add --grid 64 --group 128 --buffer a.bin --buffer b.bin --buffer zero:32768 --scalar "
    "u32:8192\n"
    "      --out 2:sum.bin                                     three buffers and a count; saves the third buffer\n"
    "  riftjit emulate k.co add --grid 2,2 --group 8,8 --buffer undefined:1024 --schedule random --seed 7 --json\n"
    "  riftjit emulate k.co add --grid 4096 --group 256 --buffer zero:4194304 --check none -t 2\n"
    "  riftjit emulate k.co add ... --out 1:- | od -f          the report then goes to stderr\n"
    "--buffer and --scalar fill the kernel's arguments in the order given. --grid counts workgroups. Exit code 3: a "
    "check\n"
    "reported something, or a wave did not reach its end. On a terminal a bar counts the workgroups that have ended; "
    "Ctrl-C\n"
    "ends the run, whose report says where its waves stood.\n"
    "--limit counts the instructions of all waves. With -t or --resident one, where workgroups run apart from each "
    "other, a\n"
    "workgroup that comes to the limit by itself is stopped and named, and the sum is compared whenever one has ended, "
    "in the\n"
    "order of their numbers. So result and findings are the same at any number of threads; a run that stops early "
    "counts what\n"
    "its threads had done by then.\n"
    "Code for gfx12 of compilers before LLVM 20 lacks the waits that hazard-sgpr-read asks for: check it with\n"
    "--check all,-hazard-sgpr-read. So does code for gfx11 in waves of 64 lanes, of compilers as old as LLVM 19, those "
    "of\n"
    "hazard-valu-mask-rewrite; and code for gfx11 in waves of 32 lanes, of compilers before September 2026, pairs "
    "what\n"
    "hazard-vopd-interlock reports.\n"
    "undefined reports an address, a branch, exec or a lane's choice that unwritten bits decide, and dwords stored to "
    "global\n"
    "memory of which no bit was written; of those written in part, as padding and bit-fields leave them, it says "
    "nothing.\n"
    "--json: kernel, target, grid, group, schedule, seed, checks as given or chosen; completed: every wave ended; "
    "findings:\n"
    "kind, kernel, offset (bytes into it), instruction, group, wave, lane (where one is concerned), detail, times, "
    "advice (where\n"
    "there is some); instructions by class; memory: bytes by space and direction, lds_bank_conflicts, cache_lines; "
    "interrupted_at\n"
    "after Ctrl-C.";

void add_values(CLI::App& command, const std::shared_ptr<EmulateOptions>& options) {
    const auto add = [&](const std::string& flag, const std::string& type, const std::string& help) {
        command.add_option(flag, help)
            ->type_name(type)
            ->type_size(1)
            ->expected(1, CLI::detail::expected_max_vector_size)
            ->allow_extra_args(false)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    };
    add("--buffer", "FILE",
        "device memory: FILE (-: standard input), zero:BYTES, or undefined:BYTES that nothing may read before writing");
    add("--scalar", "TYPE:VALUE", "u8 to u64, i8 to i64, f16, f32, f64, or hex:BYTES as they lie in memory");
    command
        .add_option("--out", options->saved,
                    "N:FILE saves the N-th buffer afterwards, counted from 0 without scalars; N:- to standard output")
        ->type_name("N:FILE")
        ->allow_extra_args(false);
}

// CLI11 gathers values by option; their common order is that of its list of what it met.
void gather_values(const CLI::App& command, EmulateOptions& options) {
    const CLI::Option *buffer = command.get_option("--buffer"), *scalar = command.get_option("--scalar");
    size_t buffers = 0, scalars = 0;
    for (const CLI::Option* met : command.parse_order()) {
        if (met != buffer && met != scalar) continue;
        size_t& taken = met == buffer ? buffers : scalars;
        options.values.push_back(met->results().at(taken++));
        options.are_buffers.push_back(met == buffer);
    }
}

}  // namespace

std::string check_names() {
    std::string names;
    for (const CheckName& check : kChecks) names += (names.empty() ? "" : ", ") + std::string(check.name);
    return names;
}

void add_emulate_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("emulate", "Run an RDNA kernel in the software machine, checking it");
    command->footer(kEmulateExamples);
    const auto options = std::make_shared<EmulateOptions>();
    command->add_option("FILE", options->object, "code object or offload bundle; -: standard input")
        ->required()
        ->check(file_name());
    command->add_option("KERNEL", options->kernel, "its name (default: the only one of the file)");
    command->add_option("--grid", options->grid, "workgroups")->type_name("X[,Y[,Z]]")->required();
    command->add_option("--group", options->group, "work-items of a workgroup")->type_name("X[,Y[,Z]]")->required();
    add_values(*command, options);
    add_rdna_target(*command, options->chip, "the chip; picks the entry of a bundle");
    add_choice(*command, "--schedule", options->schedule, {"lock-step", "long-quanta", "random", "reversed"},
               "which wave runs next");
    add_choice(*command, "--resident", options->resident, {"occupancy", "all", "one"},
               "workgroups that take part at once: what one work-group processor holds, all of them (for kernels whose "
               "groups wait on each other; memory grows with the grid), or one after the other");
    command->add_option("--check", options->checks, "all, none, NAME,NAME or all,-NAME; the names are " + check_names())
        ->type_name("CHECKS")
        ->capture_default_str();
    add_integer(*command, "--seed", options->seed, 0, INT64_MAX,
                "of garbage, random schedules and the order of stores");
    add_integer(*command, "--dynamic-lds", options->dynamic_lds, 0, 65536, "bytes of LDS beyond the kernel's own");
    command
        ->add_option_function<std::string>(
            "--limit", [options](const std::string& text) { options->limit = parse_count("--limit", text, INT64_MAX); },
            "instructions of the whole launch after which it counts as endless")
        ->type_name("N")
        ->default_str("200M");
    add_integer(*command, "-t,--threads", options->threads, 1, 1024,
                "host threads, with --check none: workgroups then run apart from each other, as with --resident one");
    command->add_flag("--trace", options->trace, "a line per executed instruction; on stderr with --json or --out N:-");
    command->add_flag("--json", options->json, "print one JSON object");
    on_chosen(*command, chosen, [command, options] {
        gather_values(*command, *options);
        std::ranges::transform(options->saved, options->saved.begin(), with_dash);
        options->chooses_residency = command->get_option("--resident")->count() > 0;
        const auto done = run(*options);
        return done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
