#include "tools/run/run_command.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "host/cpus.h"
#include "models/gguf/gguf_data_check.h"
#include "runtime/sampling/repetition.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/run/dump_isa.h"
#include "tools/run/generation.h"
#include "tools/run/npy.h"
#include "tools/run/prompt.h"
#include "tools/run/run_options.h"

namespace riftjit::tools {

namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

class Run {
public:
    Run(const RunOptions& options, PromptInputs inputs, Engine& engine, Reporter& reporter, Clock::time_point start)
        : options_(options), inputs_(std::move(inputs)), engine_(engine), reporter_(reporter), start_(start) {}

    Result<int> execute();

private:
    std::vector<std::vector<int32_t>> dry_breakers() const;
    Result<void> prepare_sampler();
    Result<int> one_shot(std::vector<int32_t> prompt, std::string_view echo = {});
    Result<int> converse(Conversation& conversation, std::optional<std::string> first_message);
    Result<int> dump_logits(const std::vector<int32_t>& prompt);
    Result<Generation> answer(std::span<const int32_t> prompt, bool is_quiet);
    void announce_sampler() const;
    void show_prompt(std::span<const int32_t> prompt) const;
    Result<std::span<const int32_t>> reuse_prefix(const std::vector<int32_t>& ids);
    int finish(const Generation& generation, std::span<const int32_t> prompt);

    const RunOptions& options_;
    PromptInputs inputs_;
    Engine& engine_;
    Reporter& reporter_;
    Clock::time_point start_;
    std::optional<runtime::Sampler> sampler_;
    std::optional<runtime::LogitsHash> hash_;
    std::vector<int32_t> context_;  // what the session holds
    Timings timings_;
};

// "none" anywhere in the list: no breakers at all.
std::vector<std::vector<int32_t>> Run::dry_breakers() const {
    if (options_.sampling.dry_multiplier <= 0) return {};
    std::vector<std::string> texts;
    for (const std::string& text : options_.dry_breakers) {
        if (text == "none") return {};
        texts.push_back(options_.process_escapes ? process_escapes(text) : text);
    }
    const models::Tokenizer& tokenizer = engine_.tokenizer;
    return runtime::dry_breaker_sequences(
        texts, tokenizer.size(), [&tokenizer](int32_t id) { return std::string(tokenizer.piece(id)); },
        [&tokenizer](std::string_view text) {
            return tokenizer.encode(text, models::ParseSpecial::no, models::AddBos::no)
                .value_or(std::vector<int32_t>{});
        });
}

Result<void> Run::prepare_sampler() {
    runtime::SamplerParameters parameters = options_.sampling;
    const models::Tokenizer& tokenizer = engine_.tokenizer;
    if (options_.ignore_eos) {
        const auto end = tokenizer.end_of_generation();
        parameters.suppressed.assign(end.begin(), end.end());
    }
    // Rows that pad the table beyond the vocabulary are no tokens.
    const uint32_t rows = engine_.session->vocabulary();
    for (uint32_t id = tokenizer.size(); id < rows; ++id) parameters.suppressed.push_back(static_cast<int32_t>(id));
    RIFTJIT_TRY_VOID(runtime::validate(parameters, tokenizer.size()));
    for (const std::string& unused : runtime::unused_settings(parameters)) reporter_.warn(unused);
    RIFTJIT_TRY(sampler, runtime::Sampler::create(parameters, rows, dry_breakers(), engine_.logit_kernels));
    sampler_ = std::move(sampler);
    return {};
}

void Run::show_prompt(std::span<const int32_t> prompt) const {
    for (int32_t id : prompt) write_diagnostic(fmt::format("{:6} -> '{}'\n", id, engine_.tokenizer.piece(id)));
}

// Truncates the session to the longest common prefix with `ids` and returns the rest, at least one token.
Result<std::span<const int32_t>> Run::reuse_prefix(const std::vector<int32_t>& ids) {
    if (ids.empty()) return fail(ErrorKind::Usage, "the prompt is empty and the model has no BOS token to start from");
    if (ids.size() > engine_.context)
        return fail(ErrorKind::Usage, "the prompt has {} tokens, the context {} (-c); context_length_exceeded",
                    ids.size(), engine_.context);
    size_t same = 0;
    while (same < context_.size() && same + 1 < ids.size() && context_[same] == ids[same]) ++same;
    engine_.session->truncate(static_cast<uint32_t>(same));
    context_.resize(same);
    return std::span(ids).subspan(same);
}

void Run::announce_sampler() const {
    if (!sampler_->is_greedy() && !options_.json) reporter_.info(fmt::format("sampler seed: {}", sampler_->seed()));
    reporter_.detail("sampler chain: " + sampler_->describe());
}

Result<Generation> Run::answer(std::span<const int32_t> prompt, bool is_quiet) {
    if (timings_.prompt_tokens == 0) announce_sampler();
    const GenerationOptions generation{
        .max_tokens = options_.predict,
        .stop_words = options_.reverse_prompts,
        .show_control =
            options_.show_special ? models::Tokenizer::ShowControl::yes : models::Tokenizer::ShowControl::no,
        .batch = static_cast<uint32_t>(options_.batch),
    };
    const Print print = is_quiet ? Print([](std::string_view) { return true; }) : Print(write_output);
    RIFTJIT_TRY(generated,
                generate(engine_, *sampler_, hash_ ? &*hash_ : nullptr, prompt, generation, print, timings_));
    context_.insert(context_.end(), prompt.begin(), prompt.end());
    context_.insert(context_.end(), generated.ids.begin(), generated.ids.end());
    context_.resize(std::min<size_t>(context_.size(), engine_.session->position()));  // the last token is not evaluated
    return generated;
}

ordered_json timings_json(const Timings& t) {
    const auto rate = [](uint32_t count, double ms) { return ms > 0 ? 1000.0 * count / ms : 0.0; };
    return {{"load_ms", t.load_ms},
            {"prompt_n", t.prompt_tokens},
            {"prompt_ms", t.prompt_ms},
            {"prompt_per_second", rate(t.prompt_tokens, t.prompt_ms)},
            {"predicted_n", t.generation_runs},
            {"predicted_ms", t.generation_ms},
            {"predicted_per_second", rate(t.generation_runs, t.generation_ms)},
            {"sample_ms", t.sample_ms},
            {"total_ms", t.total_ms}};
}

int Run::finish(const Generation& generation, std::span<const int32_t> prompt) {
    timings_.load_ms = engine_.load_ms;
    timings_.kernels_ms = engine_.kernels_ms;
    timings_.total_ms = std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
    const CacheStatistics& cache = engine_.kernels->statistics();
    if (options_.json) {
        const ordered_json object = {
            {"prompt_ids", prompt},
            {"ids", generation.ids},
            {"text", generation.text},
            {"stop_reason", name(generation.reason)},
            {"logits_hash", hash_->hex()},
            {"isa", name(engine_.isa)},
            {"threads", engine_.threads},
            {"seed", sampler_->seed()},
            {"timings", timings_json(timings_)},
            {"cache", {{"hits", cache.hits}, {"misses", cache.misses}}},
            {"jit_ms", engine_.kernels_ms},
            {"kv_bytes", engine_.session->kv_bytes()},
            {"peak_rss_bytes", peak_rss_bytes()},
        };
        write_output(object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
    } else {
        if (!generation.text.empty() && !generation.text.ends_with('\n')) write_output("\n");
        if (options_.show_perf && reporter_.shows(Verbosity::info)) {
            write_diagnostic(fmt::format("\n{}", timing_block(timings_, cache)));
        }
        if (hash_) write_diagnostic(fmt::format("logits hash: {}\n", hash_->hex()));
    }
    return pending_interrupt() == Interrupt::none ? kExitDone : kExitInterrupted;
}

// `echo` is repeated on stdout, once it is sure that the prompt can be read.
Result<int> Run::one_shot(std::vector<int32_t> prompt, std::string_view echo) {
    RIFTJIT_TRY(rest, reuse_prefix(prompt));
    if (options_.verbose_prompt) show_prompt(prompt);
    write_output(echo);
    RIFTJIT_TRY(generated, answer(rest, options_.json));
    return finish(generated, prompt);
}

Result<int> Run::dump_logits(const std::vector<int32_t>& prompt) {
    RIFTJIT_TRY(rest, reuse_prefix(prompt));
    RIFTJIT_TRY(file, NpyWriter::create(options_.dump_logits, rest.size(), engine_.session->vocabulary()));
    for (size_t at = 0; at < rest.size(); at += kLogitsBatch) {
        if (pending_interrupt() != Interrupt::none)
            return fail(ErrorKind::Interrupted, "interrupted after {} of {} positions; {} is not complete", at,
                        rest.size(), options_.dump_logits);
        RIFTJIT_TRY(logits, engine_.session->evaluate(rest.subspan(at, std::min(kLogitsBatch, rest.size() - at))));
        RIFTJIT_TRY_VOID(file.add(logits));
        if (hash_) hash_->add(logits);
    }
    RIFTJIT_TRY_VOID(file.finish());
    Generation nothing;
    return finish(nothing, prompt);
}

// False when Ctrl-C came first. Short waits, as it may come in the moment before one and on any thread.
bool wait_for_line() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (pending_interrupt() == Interrupt::none) {
        if (poll(&input, 1, /*timeout in ms=*/100) > 0) return true;
    }
    return false;
}

// One line from a terminal, or everything from a pipe; nullopt at the end of input or of the conversation.
std::optional<std::string> read_message(bool is_terminal) {
    if (!is_terminal) {
        std::string text(std::istreambuf_iterator<char>(std::cin), {});
        while (text.ends_with('\n')) text.pop_back();
        return text.empty() ? std::nullopt : std::optional(text);
    }
    write_diagnostic("\n> ");
    std::string line;
    if (!wait_for_line() || !std::getline(std::cin, line) || line == "/exit") return std::nullopt;
    return line;
}

Result<int> Run::converse(Conversation& conversation, std::optional<std::string> first_message) {
    const bool is_terminal = isatty(STDIN_FILENO) != 0;
    const bool ends_after_one =
        options_.single_turn || !is_terminal || (first_message && options_.conversation != Toggle::on) || options_.json;
    std::optional<std::string> message = std::move(first_message);
    Generation generated;
    std::vector<int32_t> ids;
    while (message || (message = read_message(is_terminal))) {
        if (message->empty()) {
            message.reset();
            continue;
        }
        conversation.add("user", *message);
        RIFTJIT_TRY(rendered, conversation.render());
        ids = std::move(rendered);
        RIFTJIT_TRY(rest, reuse_prefix(ids));
        if (options_.verbose_prompt) show_prompt(ids);
        RIFTJIT_TRY(answered, answer(rest, options_.json));
        generated = std::move(answered);
        conversation.add("assistant", generated.text);
        if (ends_after_one || pending_interrupt() == Interrupt::quit) break;
        clear_interrupt();
        message.reset();
    }
    return finish(generated, ids);
}

Result<int> Run::execute() {
    RIFTJIT_TRY_VOID(prepare_sampler());
    if (options_.logits_hash || options_.json) hash_.emplace();
    if (options_.prompt_ids) {
        RIFTJIT_TRY(ids, parse_ids(*options_.prompt_ids, engine_.session->vocabulary()));
        return options_.dump_logits.empty() ? one_shot(std::move(ids)) : dump_logits(ids);
    }
    std::optional<std::string> text = std::move(inputs_.text);
    RIFTJIT_TRY(conversation,
                Conversation::open(inputs_, options_.conversation, engine_.model.file, engine_.tokenizer));
    if (conversation && text && text->empty())
        return fail(ErrorKind::Usage, "the prompt is empty; -no-cnv starts a raw text from nothing");
    if (!options_.dump_logits.empty() && conversation) {
        if (!text) text = read_message(isatty(STDIN_FILENO) != 0);
        conversation->add("user", text.value_or(""));
        RIFTJIT_TRY(ids, conversation->render());
        return dump_logits(ids);
    }
    if (conversation) return converse(*conversation, std::move(text));
    if (!text) text = read_message(isatty(STDIN_FILENO) != 0);
    RIFTJIT_TRY(ids, engine_.tokenizer.encode(text.value_or(""), models::ParseSpecial::yes, models::AddBos::yes));
    if (ids.empty() && engine_.tokenizer.bos()) ids.push_back(*engine_.tokenizer.bos());
    if (!options_.dump_logits.empty()) return dump_logits(ids);
    const bool is_repeated = text && options_.display_prompt && !options_.json;
    return one_shot(std::move(ids), is_repeated ? std::string_view(*text) : std::string_view());
}

// The weights stay in memory, or one warning says why not.
void lock_weights(const runtime::Session& session, Reporter& reporter) {
    const auto weights = session.packed_weights();
    if (mlock(weights.data(), weights.size()) == 0) return;
    rlimit limit{};
    const int why = errno;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    reporter.warn(fmt::format("mlock: {}; {} bytes of weights, limit {} (ulimit -l)", std::strerror(why),
                              weights.size(),
                              limit.rlim_cur == RLIM_INFINITY ? "none" : std::to_string(limit.rlim_cur)));
}

Result<void> check_weights(const models::Gguf& file, Reporter& reporter) {
    const Progress progress("checking the weights");
    std::string first_error;
    for (const models::Finding& finding : models::check_tensors(file)) {
        if (finding.level == models::FindingLevel::note) continue;
        if (finding.level == models::FindingLevel::error && first_error.empty()) first_error = finding.message;
        if (finding.level == models::FindingLevel::warning) reporter.warn(finding.message);
    }
    if (!first_error.empty()) return fail(ErrorKind::Format, "{}", first_error);
    return {};
}

void list_devices() {
    const auto isa = select_isa(std::nullopt);
    fmt::print("Available devices:\n  CPU: {}, {} cores, {} hardware threads\n",
               isa ? std::string(name(*isa)) : isa.error().message, physical_cores(), usable_cpus());
}

bool uses_template(const RunOptions& options, const models::Gguf& file) {
    if (options.conversation == Toggle::off || options.prompt_ids) return false;
    const bool is_given = !options.chat_template.empty() || !options.chat_template_file.empty();
    return is_given || file.find("tokenizer.chat_template") != nullptr;
}

Result<int> run(const RunOptions& options, Reporter& reporter) {
    const auto start = Clock::now();
    if (options.list_devices) {
        list_devices();
        return kExitDone;
    }
    RIFTJIT_TRY(engine_choice, engine_options(options));
    RIFTJIT_TRY(inputs, read_prompt_inputs(options));
    for (const std::string& warning : options.without_effect) reporter.warn(warning);
    if (options.dump_isa) return dump_isa(engine_choice, options.dump_isa_kernel, reporter);
    auto opened = [&] {
        const Progress progress("loading the model");
        return open_engine(engine_choice, reporter);
    }();
    if (!opened) return std::unexpected(opened.error());
    Engine& engine = *opened;
    if (!uses_template(options, engine.model.file)) {
        for (const std::string& flag : template_flags(options))
            reporter.warn(flag + ": changes nothing without a chat template");
    }
    if (options.check_tensors) RIFTJIT_TRY_VOID(check_weights(engine.model.file, reporter));
    if (options.lock_memory) lock_weights(*engine.session, reporter);
    reporter.detail(fmt::format("{}: {} threads, level {}, context {}, {} bytes of KV cache when full",
                                engine.model.file.path().string(), engine.threads, name(engine.isa), engine.context,
                                engine.session->kv_bytes()));
    if (options.print_plan) {
        fmt::print("decode plan: {}\nprompt plan: {}", graph::to_text(engine.session->decode_plan()),
                   graph::to_text(engine.session->prompt_plan()));
        return kExitDone;
    }
    if (options.strict && reporter.warnings() != 0)
        return fail(ErrorKind::Usage, "--strict: {} warning(s), see above", reporter.warnings());
    watch_interrupts();
    return Run(options, std::move(inputs), engine, reporter, start).execute();
}

constexpr const char* kExamples =
    "Examples:\n"
    "  riftjit run -p \"Tell me a short story about a fox and a lamp.\"    a turn with the shipped model\n"
    "  riftjit run                                                       a conversation, until /exit or Ctrl-D\n"
    "  riftjit run -m m.gguf -no-cnv -p \"Once upon a time\" -n 64         continue raw text\n"
    "  riftjit run -m m.gguf -f question.txt --temp 0 --json             greedy, one JSON object\n"
    "  riftjit run -m m.gguf --dump-isa matmul --max-isa avx2            generated code, also for other processors\n"
    "Text goes to stdout, everything else to stderr. Flags have llama.cpp's names and defaults; those that this\n"
    "build cannot honour are refused with the reason.";

Verbosity verbosity_of(const RunOptions& options) {
    if (options.log_disable || options.verbosity <= 1) return Verbosity::errors;
    if (options.verbose || options.verbosity >= 4) return Verbosity::details;
    return options.verbosity == 2 ? Verbosity::warnings : Verbosity::info;
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
    CLI::App* command = app.add_subcommand("run", "Generate text");
    command->footer(kExamples);
    command->set_help_flag("-h,--help,--usage", "Print this help and leave");
    auto options = std::make_shared<RunOptions>();
    add_run_options(*command, *options);
    command->callback([command, options, &exit_code] {
        options->has_prompt = command->count("--prompt") != 0;
        for (std::string& warning : given_repeatedly(*command)) options->without_effect.push_back(std::move(warning));
        Reporter reporter(verbosity_of(*options));
        const auto result = [&]() -> Result<int> {
            RIFTJIT_TRY_VOID(check_opposites(*command));
            return run(*options, reporter);
        }();
        exit_code = result ? *result : report(result.error());
    });
}

}  // namespace riftjit::tools
