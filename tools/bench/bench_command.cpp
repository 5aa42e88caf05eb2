#include "tools/bench/bench_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "host/cpus.h"
#include "sim/plots/picture.h"
#include "tools/bench/bench_peaks.h"
#include "tools/bench/bench_plot.h"
#include "tools/bench/bench_printer.h"
#include "tools/bench/bench_roofline.h"
#include "tools/bench/bench_run.h"
#include "tools/cli/device_options.h"
#include "tools/cli/output.h"
#include "tools/cli/output_file.h"

namespace riftjit::tools {

namespace {

// Above it other work took enough of the processor to spoil a comparison.
constexpr double kMostQueued = 0.02;

Result<void> check_plot(const BenchOptions& options) {
    if (std::set(options.threads.begin(), options.threads.end()).size() < 2)
        return fail(ErrorKind::Usage, "--plot draws speed over threads: -t with two numbers or more, as in -t 1,2,4");
    if (combinations(options).empty()) return fail(ErrorKind::Usage, "--plot: -p and -n of 0 leave no test to draw");
    return {};
}

Result<void> check_roofline(const BenchOptions& options) {
    const std::vector<BenchTest> tests = combinations(options);
    if (tests.empty()) return fail(ErrorKind::Usage, "--roofline: -p and -n of 0 leave no test to draw");
    if (std::ranges::any_of(tests, [&](const BenchTest& test) { return test.setup != tests.front().setup; }))
        return fail(ErrorKind::Usage,
                    "--roofline draws one setup: give one model, and one value of each of its options");
    return {};
}

Result<void> check_picture(const BenchOptions& options) {
    if (!options.plot.empty() && !options.roofline.empty())
        return fail(ErrorKind::Usage, "--plot draws several numbers of threads and --roofline one; give one");
    const bool is_plot = options.roofline.empty();
    const std::string flag = is_plot ? "--plot" : "--roofline", path = is_plot ? options.plot : options.roofline;
    if (options.force && path.empty())
        return fail(ErrorKind::Usage, "--force: neither --plot nor --roofline names a file to draw");
    if (path.empty()) return {};
    if (options.peaks) return fail(ErrorKind::Usage, "{} draws tests, and --peaks runs none; give one", flag);
    RIFTJIT_TRY_VOID(sim::image_format_of_path(path));
    RIFTJIT_TRY_VOID(is_plot ? check_plot(options) : check_roofline(options));
    for (const std::string& model : options.models)
        if (is_same_file(path, model))
            return fail(ErrorKind::Usage, "{} {}: the picture would replace the model", flag, path);
    RIFTJIT_TRY_VOID(check_output_file(flag, path, options.force));
    return try_to_create(flag, path + ".new");
}

// Flags that do nothing together.
Result<void> check_options(const BenchOptions& options) {
    const auto shows_profile = [](BenchFormat format) {
        return format == BenchFormat::md || format == BenchFormat::json || format == BenchFormat::jsonl;
    };
    const std::string device = engine::name(options.device);
    if (!options.device.is_cpu() && (options.peaks || !options.roofline.empty() || !options.plot.empty()))
        return fail(ErrorKind::Usage, "{} measures the processor, and --device {} is none",
                    options.peaks          ? "--peaks"
                    : options.plot.empty() ? "--roofline"
                                           : "--plot",
                    device);
    if (!options.device.is_cpu() && !options.threads.empty())
        return fail(ErrorKind::Usage, "-t: the processor's threads compute nothing with --device {}", device);
    if (options.peaks_json && !options.peaks)
        return fail(ErrorKind::Usage, "--json goes with --peaks; tests are printed as JSON by -o json");
    if (options.peaks && options.profile)
        return fail(ErrorKind::Usage, "--peaks measures the processor and --profile a model; give one");
    if (options.peaks && !options.models.empty())
        return fail(ErrorKind::Usage, "--peaks measures the processor: it reads no model, and -m does not go with it");
    if (options.profile && !shows_profile(options.output) && !shows_profile(options.error_output))
        return fail(ErrorKind::Usage,
                    "--profile is printed by -o md, json and jsonl; csv and sql have no place for it");
    return check_picture(options);
}

class Bench {
public:
    Bench(const BenchOptions& options, Reporter& reporter)
        : options_(options), reporter_(reporter), tests_(combinations(options)) {
        for (FILE* file : {stdout, stderr}) {
            const BenchFormat format = file == stdout ? options.output : options.error_output;
            if (auto printer = make_printer(format, options, file)) printers_.push_back(std::move(printer));
        }
    }

    int run() {
        int exit_code = kExitDone;
        if (const auto found = find_roofs(); !found) return report(found.error());
        for (size_t i = 0; i < tests_.size(); ++i) {
            const auto result = run_test(i);
            if (result) {
                show(*result);
                continue;
            }
            // The others may still work; a session that failed may not.
            say([&exit_code, name = test_name(tests_[i]), error = result.error()] {
                exit_code = report({error.kind, fmt::format("{}: {}", name, error.message)});
            });
            session_.reset();
            if (result.error().kind == ErrorKind::Interrupted) break;
        }
        for (const auto& printer : printers_) printer->finish();
        for (const auto& message : after_results_) message();
        if (results_.empty()) return exit_code;
        const auto drawn =
            roofs_ ? write_roofline(options_.roofline, *roofs_, results_) : write_thread_plot(options_.plot, results_);
        return drawn ? exit_code : report(drawn.error());
    }

private:
    // Before a model is in memory, which the measurement needs half a GiB of.
    Result<void> find_roofs() {
        if (options_.roofline.empty()) return {};
        RIFTJIT_TRY(peaks, kept_or_measured_peaks(options_.kernels, tests_.front().setup.threads, reporter_));
        roofs_ = roofs_of(peaks);
        return {};
    }

    Result<BenchResult> run_test(size_t index) {
        const BenchTest& test = tests_[index];
        const auto progress = [&](const std::string& what) {
            if (options_.progress)
                write_diagnostic(fmt::format("riftjit bench: benchmark {}/{}: {}: {}\n", index + 1, tests_.size(),
                                             test_name(test), what));
        };
        if (!session_ || test.setup != open_setup_) {
            progress("loading");
            session_.reset();  // two models never are in memory at once
            RIFTJIT_TRY(session, BenchSession::open(test.setup, context_of(test.setup), options_, reporter_));
            session_ = std::move(session);
            open_setup_ = test.setup;
        }
        return session_->measure(test, options_, progress);
    }

    uint32_t context_of(const BenchSetup& setup) const {
        uint32_t context = 1;
        for (const BenchTest& test : tests_)
            if (test.setup == setup) context = std::max(context, test.depth + test.prompt + test.generate + 1);
        return context;
    }

    void show(const BenchResult& result) {
        if (!options_.plot.empty() || roofs_) results_.push_back(result);
        for (const auto& printer : printers_) printer->print(result);
        std::fflush(stdout);
        if (result.queued > kMostQueued)
            say([this,
                 message = fmt::format("{}: the threads waited {:.0f} % of the time for a CPU, because other work ran",
                                       test_name(result.test), 100 * result.queued)] { reporter_.warn(message); });
    }

    // Results on stderr are one document: a message within it would cut JSON in two, and so waits for its end.
    void say(std::function<void()> message) {
        if (options_.error_output == BenchFormat::none)
            message();
        else
            after_results_.push_back(std::move(message));
    }

    const BenchOptions& options_;
    Reporter& reporter_;
    const std::vector<BenchTest> tests_;
    std::vector<std::unique_ptr<BenchPrinter>> printers_;
    std::vector<std::function<void()>> after_results_;
    std::optional<Roofs> roofs_;        // of --roofline
    std::vector<BenchResult> results_;  // for a picture
    std::optional<BenchSession> session_;
    BenchSetup open_setup_{};
};

}  // namespace

void add_bench_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("bench", "Measure speed: prompts (pp) and generation (tg)");
    command->footer(
        "Examples:\n"
        "  riftjit bench -m a.gguf,b.gguf -p 512 -n 64 -r 5     both models\n"
        "  riftjit bench -m a.gguf -n 0 -p 128-2048*2 -t 1,2    prompts of 128 to 2048 tokens, one and two threads\n"
        "  riftjit bench -m a.gguf -pg 512,128 -d 0,4096        both in one timing, also with 4096 tokens in the "
        "cache\n"
        "  riftjit bench -m a.gguf -p 512 -n 0 --profile        where the time of a prompt goes\n"
        "  riftjit bench -m a.gguf -t 1,2,4,8 --plot speed.svg  and a picture of speed over threads\n"
        "  riftjit bench -m a.gguf --roofline roof.svg          each kernel, below what this machine reaches at best\n"
        "  riftjit bench --peaks                                what this processor reaches at best");
    auto options = std::make_shared<BenchOptions>();
    add_bench_options(*command, *options);
    on_chosen(*command, chosen, [command, options] {
        Reporter reporter;
        const auto agreed = check_device_flags(*command, options->device);
        if (!agreed) return report(agreed.error());
        if (const auto fits = check_options(*options); !fits) return report(fits.error());
        if (options->device.kind == engine::DeviceChoice::Kind::emulate)
            reporter.warn(fmt::format("--device {}: times are the software machine's and say nothing of a GPU's",
                                      engine::name(options->device)));
        if (options->threads.empty()) keep_to_performance_cores();
        if (!options->peaks) return Bench(*options, reporter).run();
        const auto result = run_peaks(*options, reporter);
        return result ? *result : report(result.error());
    });
}

}  // namespace riftjit::tools
