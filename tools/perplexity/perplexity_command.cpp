#include "tools/perplexity/perplexity_command.h"

#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "engine/divergence.h"
#include "engine/engine.h"
#include "engine/log_probability_file.h"
#include "engine/perplexity.h"
#include "graph/plan.h"
#include "host/json_text.h"
#include "models/gguf/gguf_text.h"
#include "tools/cli/device_options.h"
#include "tools/cli/input_file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/output_file.h"
#include "tools/cli/reporter.h"
#include "tools/cli/step_progress.h"
#include "tools/run/prompt.h"

namespace riftjit::tools {

namespace {

using engine::Estimate;
using nlohmann::ordered_json;

constexpr int64_t kMostTokens = 1 << 24;
// Rows of a step that have logits: 78 MB of them with a vocabulary of 151,936.
constexpr uint32_t kOutputs = 128;

struct PerplexityOptions {
    std::string model, pre, text, base;
    int64_t context = 512, ubatch = 512, threads = 0, chunks = -1, stride = 0, output_type = 0;
    std::string cache_type_k = "f16", cache_type_v = "f16";
    engine::DeviceChoice device;
    KernelChoice kernels;
    bool compares = false, force = false, json = false;
};

// The running results go to standard output, which shows how far it is where that is a terminal.
class WindowProgress {
public:
    WindowProgress(uint64_t windows, bool json)
        : progress_(windows, "chunks"), is_shown_(json || isatty(STDOUT_FILENO) == 0) {}
    void show(uint64_t done) {
        if (is_shown_) progress_.show(done);
    }
    void wipe() { progress_.wipe(); }

private:
    StepProgress progress_;
    bool is_shown_;
};

class Perplexity {
public:
    explicit Perplexity(const PerplexityOptions& options, const CLI::App& command)
        : options_(options), command_(command) {}

    Result<int> run() {
        RIFTJIT_TRY_VOID(check_options());
        RIFTJIT_TRY_VOID(options_.compares ? compare() : measure());
        return kExitDone;
    }

private:
    Result<void> check_options() {
        RIFTJIT_TRY_VOID(graph::parse_passes(options_.kernels.passes));
        if (options_.compares) {
            if (options_.base.empty())
                return fail(ErrorKind::Usage, "--kl-divergence: --kl-divergence-base FILE says what to compare with");
            if (options_.stride != 0)
                return fail(ErrorKind::Usage, "--ppl-stride {}: --kl-divergence takes the base file's chunks",
                            options_.stride);
            if (command_.count("--ppl-output-type") != 0)
                return fail(ErrorKind::Usage, "--ppl-output-type: --kl-divergence has a table of its own");
            if (!options_.text.empty())
                reporter_.warn(fmt::format("-f {}: is not read, the text's tokens are in the base file",
                                           models::printable_path(options_.text)));
            return {};
        }
        if (options_.text.empty()) return fail(ErrorKind::Usage, "no text: give -f FILE");
        if (options_.base.empty()) return {};
        if (options_.stride != 0)
            return fail(ErrorKind::Usage, "--ppl-stride {}: a base file has chunks that do not overlap",
                        options_.stride);
        return check_output_file("--kl-divergence-base", options_.base, options_.force);
    }

    Result<void> open(uint32_t context) {
        const uint32_t rows = uint32_t(options_.ubatch);
        engine::EngineOptions options{.model = options_.model,
                                      .max_isa = options_.kernels.max_isa,
                                      .tries_levels = !options_.kernels.leaves_levels_untried,
                                      .device = options_.device,
                                      .context = context,
                                      .batch = rows,
                                      .key_type = *dtype_from_name(options_.cache_type_k),
                                      .value_type = *dtype_from_name(options_.cache_type_v),
                                      .cache_directory = options_.kernels.cache_directory,
                                      .cache_mode = *cache_mode_from_name(options_.kernels.cache_mode),
                                      .passes = options_.kernels.passes,
                                      .activations = *activations_from_name(options_.kernels.activations),
                                      .outputs = std::min({rows, kOutputs, context})};
        if (options_.threads != 0) options.threads = uint32_t(options_.threads);
        if (!options_.pre.empty()) options.pre = options_.pre;
        options.note = [this](const std::string& line) { reporter_.info(line); };
        RIFTJIT_TRY(engine, engine::open_engine(options, reporter_.warner()));
        engine_.emplace(std::move(engine));
        return {};
    }

    // A stride's windows begin in the middle of the text, and llama-perplexity reads them as they are.
    Result<engine::WindowReader> reader() {
        std::optional<int32_t> bos;
        if (engine_->tokenizer.adds_bos() && options_.stride == 0) bos = engine_->tokenizer.bos();
        return engine::WindowReader::create(*engine_->session, engine_->threads, bos);
    }

    Result<std::string> read_text() const {
        RIFTJIT_TRY(bytes, read_text_bytes(options_.text));
        RIFTJIT_TRY(text, as_text(std::move(bytes), models::printable_path(options_.text)));
        return without_line_end(std::move(text));
    }

    Result<std::vector<int32_t>> tokens_of(const std::string& text) {
        models::ByteSet left_out;
        RIFTJIT_TRY(tokens, engine_->tokenizer.encode(text, models::ParseSpecial::no, models::AddBos::yes, &left_out));
        if (left_out.any()) reporter_.warn(models::describe_left_out(left_out));
        return tokens;
    }

    std::optional<uint32_t> most_windows() const {
        return options_.chunks < 0 ? std::nullopt : std::optional(uint32_t(options_.chunks));
    }

    static Error of_base_file(const Error& error, const std::string& path) {
        return {error.kind, fmt::format("cannot write {}: {}", models::printable_path(path), error.message)};
    }

    Result<void> measure() {
        const auto context = uint32_t(options_.context), stride = uint32_t(options_.stride);
        RIFTJIT_TRY_VOID(engine::divide_text(SIZE_MAX / 2, context, stride, most_windows()));  // before the model
        RIFTJIT_TRY(text, read_text());
        RIFTJIT_TRY_VOID(open(engine::window_length(context, stride)));
        RIFTJIT_TRY(tokens, tokens_of(text));
        RIFTJIT_TRY(windows, engine::divide_text(tokens.size(), context, stride, most_windows()));
        RIFTJIT_TRY(reader, this->reader());
        std::optional<ReplacedFile> base;
        engine::LogProbabilityHeader header{windows.length, engine_->session->vocabulary(), windows.count};
        if (!options_.base.empty()) {
            auto created = ReplacedFile::create(options_.base);
            if (!created) return std::unexpected(of_base_file(created.error(), options_.base));
            base.emplace(*std::move(created));
            header.tokens.assign(tokens.begin(), tokens.begin() + int64_t(windows.count) * windows.length);
            if (auto done = base->append(header.bytes()); !done)
                return std::unexpected(of_base_file(done.error(), options_.base));
        }
        reporter_.info(fmt::format("perplexity: {} tokens, {} chunks of {}, of which {} tokens are scored each",
                                   tokens.size(), windows.count, windows.length, windows.scored()));
        WindowProgress progress(windows.count, options_.json);
        std::vector<double> negative_logs(windows.scored());
        std::vector<uint16_t> records(base ? header.record_size() * windows.scored() : 0);
        for (uint32_t window = 0; window < windows.count; ++window) {
            const auto ids = windows.of(tokens, window);
            RIFTJIT_TRY_VOID(reader.read(ids, windows.first, [&](uint32_t row, const engine::LogitRow& logits) {
                const size_t at = row - windows.first;
                negative_logs[at] = -logits.log_probability(ids[row + 1]);
                if (base)
                    engine::encode_record(logits,
                                          std::span(records).subspan(at * header.record_size(), header.record_size()));
            }));
            for (const double each : negative_logs) likelihood_.add(each);
            if (base)
                if (auto done = base->append(std::as_bytes(std::span(records))); !done)
                    return std::unexpected(of_base_file(done.error(), options_.base));
            show_window(windows, window);
            progress.show(window + 1);
        }
        if (base)
            if (auto done = base->finish(); !done) return std::unexpected(of_base_file(done.error(), options_.base));
        progress.wipe();
        show_estimate(tokens.size(), windows);
        return {};
    }

    void show_window(const engine::TextWindows& windows, uint32_t window) {
        if (options_.json) {
            running_.push_back(likelihood_.perplexity());
        } else if (options_.output_type == 0) {
            write_output(fmt::format("[{}]{:.4f},", window + 1, likelihood_.perplexity()));
        } else {
            write_output(fmt::format("{:8}  {:.4f}  {:4f}  {:4f}\n", window * windows.step, likelihood_.perplexity(),
                                     likelihood_.mean(), likelihood_.mean_error()));
        }
    }

    void show_estimate(size_t tokens, const engine::TextWindows& windows) {
        const double perplexity = likelihood_.perplexity(), error = likelihood_.perplexity_error();
        if (!options_.json) {
            write_output(fmt::format("\nFinal estimate: PPL = {:.4f} +/- {:.5f}\n", perplexity, error));
            return;
        }
        write_output(json_text(ordered_json{{"model", models::printable_path(engine_->model.file.path())},
                                            {"tokens", tokens},
                                            {"chunks", windows.count},
                                            {"n_ctx", windows.length},
                                            {"scored", likelihood_.count()},
                                            {"ppl", perplexity},
                                            {"ppl_error", error},
                                            {"nll", likelihood_.mean()},
                                            {"nll_error", likelihood_.mean_error()},
                                            {"running_ppl", running_}}) +
                     "\n");
    }

    Result<void> compare() {
        if (options_.chunks == 0) return fail(ErrorKind::Usage, "--chunks 0: nothing would be read");
        RIFTJIT_TRY(base, engine::LogProbabilityFile::open(options_.base));
        const engine::LogProbabilityHeader& header = base.header();
        if (command_.count("--ctx-size") != 0 && uint32_t(options_.context) != header.context)
            reporter_.warn(fmt::format("-c {}: is not taken, the base file has chunks of {} tokens", options_.context,
                                       header.context));
        RIFTJIT_TRY_VOID(open(header.context));
        if (header.vocabulary != engine_->session->vocabulary())
            return fail(ErrorKind::Usage, "{}: was made with a vocabulary of {}, the model has one of {}",
                        models::printable_path(options_.base), header.vocabulary, engine_->session->vocabulary());
        for (const int32_t token : header.tokens)
            if (token < 0 || uint32_t(token) >= header.vocabulary)
                return fail(ErrorKind::Format, "{}: token {} is not in its vocabulary of {}",
                            models::printable_path(options_.base), token, header.vocabulary);
        engine::TextWindows windows = header.windows();
        if (const auto most = most_windows()) windows.count = std::min(windows.count, *most);
        RIFTJIT_TRY(reader, this->reader());
        reporter_.info(fmt::format("perplexity: {} chunks of {}, of which {} tokens are compared each", windows.count,
                                   windows.length, windows.scored()));
        if (!options_.json)
            write_output(
                "chunk             PPL               ln(PPL(Q)/PPL(base))          KL Divergence              Δp RMS   "
                "         Same top p\n");
        WindowProgress progress(windows.count, options_.json);
        std::vector<engine::TokenDivergence> found(windows.scored());
        for (uint32_t window = 0; window < windows.count; ++window) {
            const auto ids = windows.of(header.tokens, window);
            RIFTJIT_TRY(records, base.next_chunk());
            RIFTJIT_TRY_VOID(reader.read(ids, windows.first, [&](uint32_t row, const engine::LogitRow& logits) {
                const size_t at = row - windows.first;
                const engine::LogRecord record(records.subspan(at * header.record_size(), header.record_size()));
                found[at] = engine::compare(logits, record, ids[row + 1]);
            }));
            for (const engine::TokenDivergence& each : found) divergence_.add(each);
            if (!options_.json) show_comparison(window);
            progress.show(window + 1);
        }
        progress.wipe();
        options_.json ? print_divergence_json(windows) : print_divergence();
        return {};
    }

    void show_comparison(uint32_t window) {
        const Estimate perplexity = divergence_.perplexity(), ratio = divergence_.log_ratio(),
                       divergence = divergence_.divergence(), rms = divergence_.difference_rms(),
                       same = divergence_.same_best();
        write_output(fmt::format(
            "{:4}    {:9.4f} ± {:9.4f}    {:10.5f} ± {:10.5f}    {:10.5f} ± {:10.5f}    {:6.3f} ± {:6.3f} %    {:6.3f} "
            "± {:6.3f} %\n",
            window + 1, perplexity.value, perplexity.error, ratio.value, ratio.error, divergence.value,
            divergence.error, 100 * rms.value, 100 * rms.error, 100 * same.value, 100 * same.error));
    }

    // Shares of few values say nothing.
    static constexpr size_t kFewest = 100;
    struct Place {
        const char* name;
        double share;
    };
    static constexpr Place kPlaces[] = {{"Maximum", 1},  {"99.9%  ", .999}, {"99.0%  ", .99}, {"95.0%  ", .95},
                                        {"90.0%  ", .9}, {"75.0%  ", .75},  {"Median ", .5},  {"25.0%  ", .25},
                                        {"10.0%  ", .1}, {" 5.0%  ", .05},  {" 1.0%  ", .01}, {" 0.1%  ", .001},
                                        {"Minimum", 0}};
    static bool is_quartile(double share) { return share == .75 || share == .25; }

    void print_divergence() {
        if (divergence_.count() < kFewest) return;
        std::string text = "\n====== Perplexity statistics ======\n";
        const auto line = [&](const char* name, Estimate estimate) {
            text += fmt::format("{:<30}: {:10.6f} ± {:10.6f}\n", name, estimate.value, estimate.error);
        };
        line("Mean PPL(Q)", divergence_.perplexity());
        line("Mean PPL(base)", divergence_.base_perplexity());
        text += fmt::format("Cor(ln(PPL(Q)), ln(PPL(base))): {:6.2f}%\n", 100 * divergence_.correlation());
        line("Mean ln(PPL(Q)/PPL(base))", divergence_.log_ratio());
        line("Mean PPL(Q)/PPL(base)", divergence_.ratio());
        line("Mean PPL(Q)-PPL(base)", divergence_.excess());
        const Estimate mean = divergence_.divergence();
        text += fmt::format("\n====== KL divergence statistics ======\nMean    KLD: {:10.6f} ± {:10.6f}\n", mean.value,
                            mean.error);
        for (const auto& [name, share] : kPlaces)
            if (!is_quartile(share)) text += fmt::format("{} KLD: {:10.6f}\n", name, divergence_.divergence_at(share));
        const Estimate difference = divergence_.difference(), rms = divergence_.difference_rms(),
                       same = divergence_.same_best();
        text += fmt::format("\n====== Token probability statistics ======\nMean    Δp: {:6.3f} ± {:5.3f} %\n",
                            100 * difference.value, 100 * difference.error);
        for (const auto& [name, share] : kPlaces)
            text += fmt::format("{} Δp: {:6.3f}%\n", name, 100 * divergence_.difference_at(share));
        text += fmt::format("RMS Δp    : {:6.3f} ± {:5.3f} %\nSame top p: {:6.3f} ± {:5.3f} %\n", 100 * rms.value,
                            100 * rms.error, 100 * same.value, 100 * same.error);
        write_output(text);
    }

    void print_divergence_json(const engine::TextWindows& windows) {
        ordered_json json{{"model", models::printable_path(engine_->model.file.path())},
                          {"base", models::printable_path(options_.base)},
                          {"chunks", windows.count},
                          {"n_ctx", windows.length},
                          {"scored", divergence_.count()}};
        const auto add = [&](const std::string& name, Estimate estimate) {
            json[name] = estimate.value;
            json[name + "_error"] = estimate.error;
        };
        add("ppl", divergence_.perplexity());
        add("base_ppl", divergence_.base_perplexity());
        add("ln_ppl_ratio", divergence_.log_ratio());
        add("ppl_ratio", divergence_.ratio());
        add("ppl_difference", divergence_.excess());
        json["correlation"] = divergence_.correlation();
        add("kld", divergence_.divergence());
        add("delta_p", divergence_.difference());
        add("delta_p_rms", divergence_.difference_rms());
        add("same_top_p", divergence_.same_best());
        for (const auto& [name, at] : {std::pair("kld_percentiles", &engine::Divergence::divergence_at),
                                       std::pair("delta_p_percentiles", &engine::Divergence::difference_at)}) {
            ordered_json places = ordered_json::object();
            for (const Place& place : kPlaces)
                places[fmt::format("{:g}", 100 * place.share)] = (divergence_.*at)(place.share);
            json[name] = std::move(places);
        }
        write_output(json_text(json) + "\n");
    }

    const PerplexityOptions& options_;
    const CLI::App& command_;
    Reporter reporter_;
    std::optional<engine::Engine> engine_;
    engine::Likelihood likelihood_;
    engine::Divergence divergence_;
    std::vector<double> running_;
};

constexpr const char* kPerplexityExamples =
    "Examples:\n"
    "  riftjit perplexity -m qwen3.gguf -f wiki.test.raw                  chunks of 512 tokens\n"
    "  riftjit perplexity -m f16.gguf -f wiki.test.raw --kl-divergence-base f16.kld\n"
    "  riftjit perplexity -m q4.gguf --kl-divergence-base f16.kld --kl-divergence   how far q4 is from f16\n"
    "Protocol, numbers and base files are llama-perplexity's. Each chunk is a text of its own, whose second half is "
    "scored.";

}  // namespace

void add_perplexity_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("perplexity", "Measure how well a model predicts a text");
    command->footer(kPerplexityExamples);
    const auto options = std::make_shared<PerplexityOptions>();
    PerplexityOptions& o = *options;
    command
        ->add_option("-m,--model", o.model,
                     "GGUF file, or a folder as transformers saves it (default: the shipped storyteller)")
        ->type_name("FILE")
        ->check(file_name());
    command->add_option("--pre", o.pre, "pre-tokenizer, for files that do not name one")->type_name("NAME");
    command->add_option("-f,--file", o.text, "the text, without byte-order mark and last line end; 32 MiB at most")
        ->type_name("FILE")
        ->check(file_name());
    add_integer(*command, "-c,--ctx-size", o.context, 4, kMostTokens, "tokens of a chunk");
    add_integer(*command, "--chunks", o.chunks, -1, INT32_MAX, "read only so many chunks, -1: all");
    add_integer(*command, "--ppl-stride", o.stride, 0, kMostTokens,
                "score the last N tokens of windows that begin N tokens apart, and are longer than -c by N / 2, in "
                "whole 256");
    add_integer(*command, "--ppl-output-type", o.output_type, 0, 1,
                "1: a line for each chunk: its first token, perplexity so far, mean negative logarithm and its error");
    command
        ->add_option("--kl-divergence-base,--save-all-logits", o.base,
                     "write what the model says of each scored token; with --kl-divergence: read it")
        ->type_name("FILE")
        ->check(file_name());
    command->add_flag("--kl-divergence", o.compares,
                      "compare with the base file's model, on the base file's tokens: perplexities, Kullback-Leibler "
                      "divergence, and how the probabilities of the tokens differ");
    command->add_flag("--force", o.force, "replace the base file if it exists");
    command->add_flag("--json", o.json, "print one JSON object");
    add_integer(*command, "--ubatch-size", o.ubatch, 1, 65536, "-ub: rows of one step");
    add_integer(*command, "-t,--threads", o.threads, 1, 4096,
                "threads (default: one a core, of performance cores where there are others, within the CPU quota)")
        ->default_str("");
    add_choice(*command, "--cache-type-k", o.cache_type_k, cache_type_list(), "-ctk: type of cached keys");
    add_choice(*command, "--cache-type-v", o.cache_type_v, cache_type_list(), "-ctv: type of cached values");
    constexpr const char* kGroup = "Kernels";
    add_device_option(*command, kGroup, o.device);
    add_check_option(*command, kGroup, o.device);
    add_kernel_choice(*command, kGroup, o.kernels);
    on_chosen(*command, chosen, [command, options] {
        const auto agreed = check_device_flags(*command, options->device);
        end_on_interrupts();
        const auto done = agreed ? Perplexity(*options, *command).run() : std::unexpected(agreed.error());
        return done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
