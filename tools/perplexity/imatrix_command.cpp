#include "tools/perplexity/imatrix_command.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "engine/importance_collector.h"
#include "engine/perplexity.h"
#include "host/json_text.h"
#include "models/gguf/gguf_text.h"
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

using nlohmann::ordered_json;

// Rows of a step that have logits.
constexpr uint32_t kMostOutputs = 128;

struct ImatrixOptions {
    std::string model, pre, text, output = "imatrix.gguf";
    std::vector<std::string> earlier;
    int64_t context = 512, ubatch = 512, threads = 0, chunks = -1, first_chunk = 0, output_frequency = 10;
    bool processes_output = false, leaves_perplexity = false, parses_special = false, force = false, json = false;
    MachineChoice machine;
};

class Imatrix {
public:
    explicit Imatrix(const ImatrixOptions& options) : options_(options) {}

    Result<int> run() {
        RIFTJIT_TRY_VOID(check_options());
        for (const std::string& path : options_.earlier) {
            RIFTJIT_TRY(matrix, models::ImportanceMatrix::open(path));
            RIFTJIT_TRY_VOID(earlier_.add(matrix, models::printable_path(path)));
        }
        RIFTJIT_TRY_VOID(options_.text.empty() ? write(earlier_) : measure());
        return kExitDone;
    }

private:
    Result<void> check_options() const {
        if (options_.text.empty() && options_.earlier.empty())
            return fail(ErrorKind::Usage, "no text: give -f FILE, or --in-file to combine what was measured before");
        for (const std::string& path : options_.earlier)
            if (is_same_file(path, options_.output))
                return fail(ErrorKind::Usage, "-o {}: is read by --in-file; name another",
                            models::printable_path(options_.output));
        return check_output_file("-o", options_.output, options_.force);
    }

    Result<void> write(const models::ImportanceMatrix& matrix) {
        const auto cannot = [&](const Error& error) {
            return fail(error.kind, "cannot write {}: {}", models::printable_path(options_.output), error.message);
        };
        auto file = ReplacedFile::create(options_.output);
        if (!file) return cannot(file.error());
        auto done = matrix.write([&](std::span<const std::byte> bytes) { return file->append(bytes); });
        if (done) done = file->finish();
        if (!done) return cannot(done.error());
        size_t partial = 0;
        for (const auto& [name, entry] : matrix.entries)
            partial += std::ranges::find(entry.counts, 0.0f) != entry.counts.end();
        matrices_ = matrix.entries.size();
        partial_ = partial;
        chunks_ = matrix.chunk_count;
        if (options_.text.empty()) print(std::nullopt);
        return {};
    }

    Result<void> open(uint32_t context) {
        engine::EngineOptions options{.model = options_.model,
                                      .max_isa = options_.machine.max_isa,
                                      .context = context,
                                      .batch = uint32_t(options_.ubatch),
                                      .cache_directory = options_.machine.cache_directory,
                                      .cache_mode = *cache_mode_from_name(options_.machine.cache_mode),
                                      .passes = "none",  // that every matrix is itself
                                      .outputs = std::min({uint32_t(options_.ubatch), kMostOutputs, context})};
        if (options_.threads != 0) options.threads = uint32_t(options_.threads);
        if (!options_.pre.empty()) options.pre = options_.pre;
        options.note = [this](const std::string& line) { reporter_.info(line); };
        RIFTJIT_TRY(engine, engine::open_engine(options, reporter_.warner()));
        engine_.emplace(std::move(engine));
        return {};
    }

    Result<std::vector<int32_t>> tokens_of(const std::string& text) {
        const auto special = options_.parses_special ? models::ParseSpecial::yes : models::ParseSpecial::no;
        models::ByteSet left_out;
        RIFTJIT_TRY(tokens, engine_->tokenizer.encode(text, special, models::AddBos::yes, &left_out));
        if (left_out.any()) reporter_.warn(models::describe_left_out(left_out));
        const size_t dropped = size_t(options_.first_chunk) * size_t(options_.context);
        if (dropped >= tokens.size() && dropped != 0)
            return fail(ErrorKind::Usage, "--from-chunk {}: the text has {} tokens, {} chunks", options_.first_chunk,
                        tokens.size(), tokens.size() / size_t(options_.context));
        tokens.erase(tokens.begin(), tokens.begin() + int64_t(dropped));
        return tokens;
    }

    // Everything so far, and what was there before.
    Result<void> write_so_far(const engine::ImportanceCollector& collector, uint32_t chunks) {
        models::ImportanceMatrix matrix = earlier_;
        models::ImportanceMatrix found = collector.matrix();
        found.chunk_count = chunks;
        found.chunk_size = uint32_t(options_.context);
        found.datasets = {options_.text};
        RIFTJIT_TRY_VOID(matrix.add(found, options_.text));
        matrix.chunk_size = found.chunk_size;
        return write(matrix);
    }

    Result<void> measure() {
        const auto context = uint32_t(options_.context);
        RIFTJIT_TRY_VOID(engine::divide_text(SIZE_MAX / 2, context, 0, std::nullopt));  // before the model
        RIFTJIT_TRY(bytes, read_text_bytes(options_.text));
        RIFTJIT_TRY(text, as_text(std::move(bytes), models::printable_path(options_.text)));
        RIFTJIT_TRY_VOID(open(context));
        RIFTJIT_TRY(tokens, tokens_of(without_line_end(std::move(text))));
        RIFTJIT_TRY(windows,
                    engine::divide_text(tokens.size(), context, 0,
                                        options_.chunks < 0 ? std::nullopt : std::optional(uint32_t(options_.chunks))));
        RIFTJIT_TRY(graph, engine_->model.build());
        engine::ImportanceCollector collector(
            graph, options_.processes_output ? engine::OutputMatrix::counted : engine::OutputMatrix::left_out);
        RIFTJIT_TRY_VOID(engine_->session->observe(collector.observer()));
        std::optional<int32_t> bos;
        if (engine_->tokenizer.adds_bos()) bos = engine_->tokenizer.bos();
        RIFTJIT_TRY(reader, engine::WindowReader::create(*engine_->session, engine_->threads, bos));
        reporter_.info(fmt::format("imatrix: {} tokens, {} chunks of {}", tokens.size(), windows.count, context));
        // The output's rows are those whose logits are wanted.
        const uint32_t first = options_.processes_output ? 0 : options_.leaves_perplexity ? context - 1 : windows.first;
        StepProgress progress(windows.count, "chunks");
        std::vector<double> negative_logs(windows.scored());
        engine::Likelihood likelihood;
        for (uint32_t window = 0; window < windows.count; ++window) {
            const auto ids = windows.of(tokens, window);
            std::vector<int32_t> whole(ids.begin(), ids.end());
            whole.push_back(ids.back());  // of the last token nothing is asked, but its rows count
            RIFTJIT_TRY_VOID(reader.read(whole, first, [&](uint32_t row, const engine::LogitRow& logits) {
                if (row >= windows.first && row + 1 < context)
                    negative_logs[row - windows.first] = -logits.log_probability(ids[row + 1]);
            }));
            for (const double each : negative_logs) likelihood.add(each);
            if (!options_.leaves_perplexity && !options_.json)
                write_output(fmt::format("[{}]{:.4f},", window + 1, likelihood.perplexity()));
            if ((window + 1) % uint32_t(options_.output_frequency) == 0 && window + 1 != windows.count)
                RIFTJIT_TRY_VOID(write_so_far(collector, window + 1));
            progress.show(window + 1);
        }
        progress.wipe();
        RIFTJIT_TRY_VOID(write_so_far(collector, windows.count));
        print(options_.leaves_perplexity ? std::nullopt : std::optional(likelihood));
        return {};
    }

    void print(const std::optional<engine::Likelihood>& likelihood) {
        const std::string path = models::printable_path(options_.output);
        if (partial_ > 0)
            reporter_.warn(fmt::format("{} of {} matrices have experts that no token reached", partial_, matrices_));
        if (options_.json) {
            ordered_json json{{"output", path}, {"matrices", matrices_}, {"partial", partial_}, {"chunks", chunks_}};
            if (likelihood) {
                json["ppl"] = likelihood->perplexity();
                json["ppl_error"] = likelihood->perplexity_error();
            }
            write_output(json_text(json) + "\n");
            return;
        }
        if (likelihood)
            write_output(fmt::format("\nFinal estimate: PPL = {:.4f} +/- {:.5f}\n", likelihood->perplexity(),
                                     likelihood->perplexity_error()));
        write_output(fmt::format("{}: {} matrices, {} chunks\n", path, matrices_, chunks_));
    }

    const ImatrixOptions& options_;
    Reporter reporter_;
    models::ImportanceMatrix earlier_;
    std::optional<engine::Engine> engine_;
    size_t matrices_ = 0, partial_ = 0;  // of what was written last
    uint32_t chunks_ = 0;
};

constexpr const char* kImatrixExamples =
    "Examples:\n"
    "  riftjit imatrix -m qwen3-f16.gguf -f calibration.txt -o qwen3.imatrix.gguf\n"
    "  riftjit quantize qwen3-f16.gguf qwen3-q4.gguf Q4_K_M --imatrix qwen3.imatrix.gguf\n"
    "  riftjit imatrix --in-file a.gguf --in-file b.gguf -o both.gguf           two texts' sums together\n"
    "Files are llama-imatrix's, in GGUF: the sums of squares of what each matrix of a layer is multiplied by.";

}  // namespace

void add_imatrix_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("imatrix", "Measure which columns of the weights matter, for quantize");
    command->footer(kImatrixExamples);
    const auto options = std::make_shared<ImatrixOptions>();
    ImatrixOptions& o = *options;
    command
        ->add_option("-m,--model", o.model,
                     "GGUF file, or a folder as transformers saves it (default: the shipped storyteller)")
        ->type_name("FILE")
        ->check(file_name());
    command->add_option("--pre", o.pre, "pre-tokenizer, for files that do not name one")->type_name("NAME");
    command->add_option("-f,--file", o.text, "the text, without byte-order mark and last line end; 32 MiB at most")
        ->type_name("FILE")
        ->check(file_name());
    command->add_option("-o,--output,--output-file", o.output, "the file to write")
        ->type_name("FILE")
        ->capture_default_str()
        ->check(file_name());
    command->add_option("--in-file", o.earlier, "add what this file holds; several times, and without -f only that")
        ->type_name("FILE")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->check(file_name());
    add_integer(*command, "-c,--ctx-size", o.context, 4, 1 << 24, "tokens of a chunk");
    add_integer(*command, "--chunks", o.chunks, -1, INT32_MAX, "read only so many chunks, -1: all");
    add_integer(*command, "--chunk,--from-chunk", o.first_chunk, 0, 1 << 20, "leave out so many chunks first");
    add_integer(*command, "--output-frequency", o.output_frequency, 1, INT32_MAX,
                "-ofreq: write the file after every so many chunks, too");
    command->add_flag("--process-output", o.processes_output, "count output.weight, too");
    command->add_flag("--no-ppl", o.leaves_perplexity, "no perplexity, which takes logits of half the tokens");
    command->add_flag("--parse-special", o.parses_special, "control tokens in the text become their ids");
    command->add_flag("--force", o.force, "replace the file if it exists");
    command->add_flag("--json", o.json, "print one JSON object");
    add_integer(*command, "--ubatch-size", o.ubatch, 2, 65536, "-ub: rows of one step");
    add_integer(*command, "-t,--threads", o.threads, 1, 4096,
                "threads (default: one a core, of performance cores where there are others, within the CPU quota)")
        ->default_str("");
    add_machine_choice(*command, "Kernels", o.machine);
    on_chosen(*command, chosen, [options] {
        end_on_interrupts();
        const auto done = Imatrix(*options).run();
        return done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
