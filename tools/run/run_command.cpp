#include "tools/run/run_command.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/generation.h"
#include "engine/prompt_cache.h"
#include "engine/sampling.h"
#include "host/available_memory.h"
#include "host/json_text.h"
#include "models/gguf/gguf_text.h"
#include "tools/cli/device_options.h"
#include "tools/cli/input_file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output.h"
#include "tools/cli/output_file.h"
#include "tools/cli/progress.h"
#include "tools/cli/reporter.h"
#include "tools/run/answer_printer.h"
#include "tools/run/chat_commands.h"
#include "tools/run/devices_command.h"
#include "tools/run/drafting.h"
#include "tools/run/dump_isa.h"
#include "tools/run/grammar_options.h"
#include "tools/run/message_input.h"
#include "tools/run/npy.h"
#include "tools/run/predictions.h"
#include "tools/run/prompt.h"
#include "tools/run/run_checks.h"
#include "tools/run/run_options.h"
#include "tools/run/template_settings.h"
#include "tools/run/timings.h"

namespace riftjit::tools {

namespace {

// Of a conversation that no longer fits.
constexpr const char* kWayOut = "; /clear starts the conversation anew";

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

class Run {
public:
    Run(const RunOptions& options, PromptInputs inputs, std::shared_ptr<const engine::Grammar> grammar,
        engine::Engine& engine, OpenDrafting* drafting, const engine::EngineOptions& engine_options, Reporter& reporter,
        Clock::time_point start)
        : options_(options),
          inputs_(std::move(inputs)),
          grammar_(std::move(grammar)),
          engine_(engine),
          context_(*engine.session),
          drafting_(drafting),
          reporter_(reporter),
          start_(start),
          engine_options_(engine_options),
          input_(chat_command_names(), [this](const std::string& message) { return warn(message); }) {}
    Run(const Run&) = delete;

    Result<int> execute();

private:
    // How an answer ended, of which the text was printed.
    struct Answer {
        std::vector<int32_t> ids;
        engine::Reply reply;
        engine::FinishReason reason = engine::FinishReason::length;
    };

    Result<void> prepare();
    Result<runtime::Sampler> make_sampler() const;
    Result<std::optional<std::vector<int32_t>>> next_prompt();
    enum class Asked : uint8_t { no, yes };
    Result<Asked> obey(const ChatLine& line);
    Result<void> save_conversation(const std::string& path);
    Result<Asked> load_conversation(const std::string& path);
    std::string take_back_last_turn();
    Result<std::vector<int32_t>> user_turn(std::string message);
    Result<std::vector<int32_t>> render();
    Result<void> warn_of(const models::ByteSet& left_out);
    Result<void> warn(const std::string& message);
    Result<std::vector<int32_t>> raw_prompt();
    Result<void> begin_conversation();
    void find_format();
    std::optional<engine::ReplyParser> reply_parser() const;
    Result<Answer> answer(std::span<const int32_t> prompt);
    Result<Answer> answer_to(std::span<const int32_t> prompt);
    bool goes_on(const Answer& answer);
    Result<int> dump_logits();
    Result<void> load_prompt_cache();
    Result<void> save_prompt_cache(size_t prompt_tokens);
    void announce_sampler() const;
    void show(std::span<const int32_t> prompt) const;
    Result<void> say_why_it_ended(const Answer& answer);
    int finish(const Answer& answer, std::span<const int32_t> prompt);

    const RunOptions& options_;
    PromptInputs inputs_;
    std::shared_ptr<const engine::Grammar> grammar_;  // null: none
    engine::Engine& engine_;
    engine::Context context_;
    OpenDrafting* drafting_;  // null: none
    Reporter& reporter_;
    Clock::time_point start_;
    const engine::EngineOptions& engine_options_;
    engine::TextIdentity identity_{};  // of what --prompt-cache holds
    std::optional<runtime::Sampler> sampler_;
    std::optional<runtime::LogitsHash> hash_;
    std::optional<engine::Conversation> conversation_;  // none: raw text or ids
    engine::ReplyFormat format_;                        // of its answers
    bool begins_thinking_ = false;                      // the template opens an answer's thinking itself
    std::string prompt_text_;                           // of the conversation, as it was rendered last
    std::optional<std::string> text_;                   // said on the command line; gone once it was asked for
    std::string echo_;                                  // goes to stdout once it is sure that the prompt can be read
    bool ends_after_one_ = true;
    models::ByteSet left_out_;  // bytes whose lack of a token was told
    bool has_warned_of_message_ = false;
    MessageInput input_;
    std::string initial_;            // what the next message begins as
    std::string in_front_;           // of the next message: what /read brought
    std::string conversation_file_;  // of /save or /load: that may be written again
    RunTimings timings_;
};

Result<runtime::Sampler> Run::make_sampler() const {
    engine::SamplerChoice choice{options_.sampling, {}, options_.ignore_eos};
    const std::string recommended =
        engine::recommend_sampling(engine_.model.file, options_.given_sampling, choice.parameters, reporter_.warner());
    if (!recommended.empty()) reporter_.detail("sampling as the model's file recommends: " + recommended);
    const auto& breakers = options_.dry_breakers;
    if (std::find(breakers.begin(), breakers.end(), "none") == breakers.end()) choice.dry_breakers = breakers;
    choice.grammar = grammar_;
    // What is held to a schema is the answer, not the thinking before it.
    if (options_.has_schema() && begins_thinking_) choice.grammar_triggers.words = {format_.reasoning_end};
    return engine::make_sampler(engine_, std::move(choice), reporter_.warner());
}

Result<void> Run::prepare() {
    if (!options_.prompt_ids) RIFTJIT_TRY_VOID(begin_conversation());
    RIFTJIT_TRY(sampler, make_sampler());
    sampler_ = std::move(sampler);
    if (options_.logits_hash || options_.json) hash_.emplace();
    return {};
}

Result<void> Run::begin_conversation() {
    text_ = std::move(inputs_.text);
    RIFTJIT_TRY(conversation, open_conversation(inputs_, options_.conversation, engine_));
    conversation_ = std::move(conversation);
    if (!conversation_) return {};
    if (options_.reasoning_format != "none") find_format();
    if (text_ && text_->empty())
        return fail(ErrorKind::Usage, "the prompt is empty; -no-cnv starts a raw text from nothing");
    ends_after_one_ = options_.single_turn || options_.json || isatty(STDIN_FILENO) == 0 ||
                      (text_ && options_.conversation != Toggle::on);
    return {};
}

void Run::find_format() {
    format_ = conversation_->reply_format();
    if (!format_.has_reasoning()) return;
    engine::Conversation probe = *conversation_;
    probe.add("user", "?");
    if (const auto rendering = probe.render()) begins_thinking_ = format_.is_thinking_after(rendering->text);
}

// Null where an answer has one part.
std::optional<engine::ReplyParser> Run::reply_parser() const {
    if (!conversation_ || !format_.has_reasoning()) return std::nullopt;
    return engine::ReplyParser(format_, {.is_thinking = format_.is_thinking_after(prompt_text_), .tools = nullptr});
}

void Run::show(std::span<const int32_t> prompt) const {
    if (options_.verbose_prompt) {
        for (int32_t id : prompt)
            write_diagnostic(fmt::format("{:6} -> '{}'\n", id, models::escaped(engine_.tokenizer.piece(id))));
    }
    write_output(echo_);
}

void Run::announce_sampler() const {
    if (!sampler_->is_greedy() && !options_.json) reporter_.info(fmt::format("sampler seed: {}", sampler_->seed()));
    reporter_.detail("sampler chain: " + sampler_->describe());
}

// Prints the text as it comes, unless it goes into JSON. A reader that left is as good as Ctrl-C.
Result<Run::Answer> Run::answer(std::span<const int32_t> prompt) {
    if (timings_.generation.prompt_tokens == 0) announce_sampler();
    std::optional<engine::ReplyParser> parser = reply_parser();
    const bool shows_control = options_.show_special || parser;  // the marks of thinking may be control tokens
    AnswerPrinter printer(std::move(parser), /*is_silent=*/options_.json);
    engine::Generation generation(
        context_, engine_.tokenizer, *sampler_, prompt,
        {.max_tokens = options_.predict,
         .stop_words = options_.reverse_prompts,
         .show_control = shows_control ? models::Tokenizer::ShowControl::yes : models::Tokenizer::ShowControl::no,
         .batch = static_cast<uint32_t>(options_.batch),
         .hash = hash_ ? &*hash_ : nullptr,
         .drafting = drafting_ == nullptr ? nullptr : &drafting_->drafting});
    engine::Generation::Step step;
    for (bool is_read = true; !step.finish;) {
        if (is_read && pending_interrupt() == Interrupt::none) {
            RIFTJIT_TRY(next, generation.next());
            step = std::move(next);
        } else {
            step = generation.stop();
        }
        is_read = printer.add(step.text);
    }
    printer.finish();
    timings_.generation += generation.timings();
    return Answer{generation.ids(), printer.reply(), *step.finish};
}

// Of an end that neither the model nor the user chose.
Result<void> Run::say_why_it_ended(const Answer& answer) {
    const bool is_enough = options_.predict >= 0 && answer.ids.size() >= static_cast<size_t>(options_.predict);
    if (answer.reason != engine::FinishReason::length || is_enough) return {};
    if (!options_.json && !answer.reply.content.ends_with('\n')) write_output("\n");
    return warn(fmt::format("the context of {} tokens is full (-c), so the answer ends here{}", engine_.context,
                            conversation_ && !ends_after_one_ ? kWayOut : ""));
}

int Run::finish(const Answer& answer, std::span<const int32_t> prompt) {
    timings_.drafts = drafting_ != nullptr;
    CacheStatistics cache;
    for (const engine::Engine* engine : {&engine_, drafting_ == nullptr ? nullptr : drafting_->model.get()}) {
        if (engine == nullptr) continue;
        timings_.load_ms += engine->load_ms;
        timings_.kernels_ms += engine->kernels_ms;
        cache.hits += engine->kernels->statistics().hits;
        cache.misses += engine->kernels->statistics().misses;
    }
    timings_.total_ms = std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
    if (options_.json) {
        ordered_json object = {
            {"prompt_ids", prompt},
            {"ids", answer.ids},
            {"text", answer.reply.content},
            {"stop_reason", name(answer.reason)},
            {"logits_hash", hash_->hex()},
            {"device", engine_.device},
            {"isa", name(engine_.isa)},
            {"threads", engine_.threads},
            {"seed", sampler_->seed()},
            {"timings", to_json(timings_)},
            {"cache", {{"hits", cache.hits}, {"misses", cache.misses}}},
            {"jit_ms", timings_.kernels_ms},
            {"kv_bytes", engine_.session->kv_bytes()},
            {"peak_rss_bytes", peak_rss_bytes()},
        };
        if (format_.has_reasoning()) object["reasoning"] = answer.reply.reasoning;
        write_output(json_text(object) + "\n");
    } else {
        if (!answer.reply.content.empty() && !answer.reply.content.ends_with('\n')) write_output("\n");
        if (options_.show_perf && reporter_.shows(Verbosity::info)) {
            write_diagnostic(fmt::format("\n{}", timing_block(timings_, cache)));
        }
        if (hash_) write_diagnostic(fmt::format("logits hash: {}\n", hash_->hex()));
    }
    return exit_code_of_interrupt();
}

// The history with one message more; without it when it cannot be rendered.
Result<std::vector<int32_t>> Run::user_turn(std::string message) {
    conversation_->add("user", std::move(message));
    auto ids = render();
    if (!ids) conversation_->take_back();
    return ids;
}

// The history, with a warning about what of it is not in the ids.
Result<std::vector<int32_t>> Run::render() {
    RIFTJIT_TRY(rendering, conversation_->render());
    RIFTJIT_TRY_VOID(warn_of(rendering.left_out));
    prompt_text_ = std::move(rendering.text);
    if (!rendering.shows_last_message && !std::exchange(has_warned_of_message_, true)) {
        RIFTJIT_TRY_VOID(warn("the chat template drops or changes the message: its text is not in the prompt"));
    }
    return std::move(rendering.ids);
}

// Once for each byte.
Result<void> Run::warn_of(const models::ByteSet& left_out) {
    const models::ByteSet news = left_out & ~left_out_;
    left_out_ |= left_out;
    if (news.none()) return {};
    return warn(models::describe_left_out(news));
}

Result<void> Run::warn(const std::string& message) {
    reporter_.warn(message);
    if (options_.strict) return fail(ErrorKind::Usage, "--strict: {} warning(s), see above", reporter_.warnings());
    return {};
}

Result<std::vector<int32_t>> Run::raw_prompt() {
    if (options_.prompt_ids) return parse_ids(*options_.prompt_ids, engine_.session->vocabulary());
    if (text_ && options_.display_prompt && !options_.json) echo_ = *text_;
    if (!text_) {
        RIFTJIT_TRY(message, input_.read());
        text_ = std::move(message).value_or("");
    }
    const std::string& text = *text_;
    RIFTJIT_TRY_VOID(engine::check_text_bytes(text.size(), engine_.tokenizer, engine_.context));
    models::ByteSet left_out;
    RIFTJIT_TRY(ids, engine_.tokenizer.encode(text, models::ParseSpecial::yes, models::AddBos::yes, &left_out));
    RIFTJIT_TRY_VOID(warn_of(left_out));
    if (ids.empty() && engine_.tokenizer.bos()) ids.push_back(*engine_.tokenizer.bos());
    return ids;
}

// Whether something waits behind standard input: a script's pipe, or a file.
bool input_waits() {
    struct stat input{};
    int waiting = 0;
    if (fstat(STDIN_FILENO, &input) != 0) return false;
    if (S_ISREG(input.st_mode)) return lseek(STDIN_FILENO, 0, SEEK_CUR) < input.st_size;
    return !S_ISCHR(input.st_mode) && ioctl(STDIN_FILENO, FIONREAD, &waiting) == 0 && waiting > 0;
}

// What is said next, as ids; nullopt when there is nothing more.
Result<std::optional<std::vector<int32_t>>> Run::next_prompt() {
    if (!conversation_) return raw_prompt();
    std::optional<std::string> message = std::exchange(text_, std::nullopt);
    while (!message || message->empty()) {
        RIFTJIT_TRY(said, input_.read(std::exchange(initial_, {})));
        // Who waits for an object or a file must not take one of no tokens for an answer.
        const bool is_wanted = options_.json || !options_.dump_logits.empty() || isatty(STDIN_FILENO) == 0;
        if (!said && is_wanted && pending_interrupt() == Interrupt::none)
            return fail(ErrorKind::Usage, "the prompt is empty: nothing came from standard input; -p gives one");
        if (!said) return std::nullopt;
        if (!ends_after_one_) {
            const auto line = parse_chat_line(*said);
            if (line && *line && (*line)->command == ChatCommand::exit) return std::nullopt;
            const Result<Asked> asked = line && *line ? obey(**line) : Asked::no;
            if (!line || !asked) report(line ? asked.error() : line.error());
            if (asked && *asked == Asked::yes) return render();
            if (!line || *line) continue;
        }
        if (!said->empty()) message = std::exchange(in_front_, {}) + *said;
    }
    return user_turn(*std::move(message));
}

// The last message of the user and what follows it; empty: there is none.
std::string Run::take_back_last_turn() {
    const auto& messages = conversation_->messages();
    const auto is_asked = [](const ordered_json& message) { return message.at("role") == "user"; };
    if (std::none_of(messages.begin(), messages.end(), is_asked)) return {};
    std::string text;
    for (bool is_found = false; !is_found; conversation_->take_back()) {
        is_found = is_asked(messages.back());
        if (is_found) text = messages.back().at("content");
    }
    return text;
}

// Whether the conversation now waits for an answer.
Result<Run::Asked> Run::obey(const ChatLine& line) {
    switch (line.command) {
        case ChatCommand::help:
            write_diagnostic(chat_help());
            break;
        case ChatCommand::clear:
            conversation_->clear();
            in_front_.clear();
            reporter_.info("the conversation starts anew");
            break;
        case ChatCommand::edit:
            initial_ = take_back_last_turn();
            if (initial_.empty()) return fail(ErrorKind::Usage, "/edit: nothing was said yet");
            if (!input_.can_edit())
                return fail(ErrorKind::Usage, "/edit: this terminal has no line editing; the last turn is taken back");
            break;
        case ChatCommand::regen: {
            const std::string text = take_back_last_turn();
            if (text.empty()) return fail(ErrorKind::Usage, "/regen: nothing was said yet");
            if (sampler_->is_greedy()) reporter_.info("at temperature 0 the answer stays the same");
            conversation_->add("user", text);
            return Asked::yes;
        }
        case ChatCommand::read: {
            RIFTJIT_TRY(bytes, read_text_bytes(line.argument));
            RIFTJIT_TRY(text, as_text(std::move(bytes), line.argument));
            reporter_.info(fmt::format("{} bytes of {} go in front of the next message", text.size(), line.argument));
            in_front_ += text + (text.ends_with('\n') ? "\n" : "\n\n");
            break;
        }
        case ChatCommand::save:
            RIFTJIT_TRY_VOID(save_conversation(line.argument));
            break;
        case ChatCommand::load:
            return load_conversation(line.argument);
        case ChatCommand::exit:
            break;
    }
    return Asked::no;
}

Result<void> Run::save_conversation(const std::string& path) {
    RIFTJIT_TRY_VOID(check_output_file("/save", path, /*is_forced=*/path == conversation_file_));
    const ordered_json saved = {{"model", engine_.model.file.path().filename().string()},
                                {"messages", conversation_->messages()}};
    const std::string text = json_text(saved) + "\n";
    RIFTJIT_TRY_VOID(write_file(path, std::as_bytes(std::span(text))));
    conversation_file_ = path;
    reporter_.info(fmt::format("{} messages in {}", conversation_->messages().size(), path));
    return {};
}

Result<Run::Asked> Run::load_conversation(const std::string& path) {
    RIFTJIT_TRY(text, read_text_bytes(path));
    const ordered_json saved = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (saved.is_discarded() || !saved.is_object() || !saved.contains("messages"))
        return fail(ErrorKind::Format, "{}: no conversation: a JSON object with \"messages\" was expected", path);
    if (const auto set = conversation_->set_messages(saved.at("messages")); !set)
        return fail(ErrorKind::Format, "{}: {}", path, set.error().message);
    conversation_file_ = path;
    const auto& messages = conversation_->messages();
    reporter_.info(fmt::format("{} messages of {}", messages.size(), path));
    return !messages.empty() && messages.back().at("role") == "user" ? Asked::yes : Asked::no;
}

bool Run::goes_on(const Answer& answer) {
    if (!conversation_) return false;
    conversation_->add("assistant", answer.reply.content, answer.reply.reasoning);
    if (ends_after_one_ || pending_interrupt() == Interrupt::quit) return false;
    clear_interrupt();
    return true;
}

Result<int> Run::dump_logits() {
    RIFTJIT_TRY(given, next_prompt());
    if (!given) return finish({}, {});
    const std::vector<int32_t>& prompt = *given;
    RIFTJIT_TRY(rest, context_.reuse(prompt));
    RIFTJIT_TRY(file, NpyWriter::create(options_.dump_logits, rest.size(), engine_.session->vocabulary()));
    for (size_t at = 0; at < rest.size(); at += kLogitsBatch) {
        if (pending_interrupt() != Interrupt::none)
            return fail(ErrorKind::Interrupted, "interrupted after {} of {} positions; {} is not written", at,
                        rest.size(), options_.dump_logits);
        RIFTJIT_TRY(logits, context_.evaluate(rest.subspan(at, std::min(kLogitsBatch, rest.size() - at)),
                                              runtime::LogitRows::all));
        RIFTJIT_TRY_VOID(file.add(logits));
        if (hash_) hash_->add(logits);
    }
    RIFTJIT_TRY_VOID(file.finish());
    return finish({}, prompt);
}

// A file that cannot serve is said and written anew; the answer is the same.
Result<void> Run::load_prompt_cache() {
    const std::string& path = options_.prompt_cache.file;
    if (path.empty()) return {};
    identity_ = engine::text_identity(engine_, engine_options_);
    std::error_code error;
    if (!std::filesystem::exists(path, error) && !options_.prompt_cache.is_read_only) return {};
    const auto loaded = engine::load_text(context_, path, identity_);
    if (!loaded)
        return warn(fmt::format("--prompt-cache {}: {}; the prompt is read anew", path, loaded.error().message));
    reporter_.info(fmt::format("{} tokens of {}", context_.ids().size(), path));
    return {};
}

Result<void> Run::save_prompt_cache(size_t prompt_tokens) {
    const auto& [path, keeps_all, is_read_only] = options_.prompt_cache;
    if (path.empty() || is_read_only || context_.ids().empty()) return {};
    // A running state is that of the whole text.
    const bool is_whole = keeps_all || !engine_.session->check_truncatable();
    const size_t length = is_whole ? context_.ids().size() : std::min(prompt_tokens, context_.ids().size());
    RIFTJIT_TRY_VOID(context_.truncate(context_.ids().size()));  // guesses are no text
    const auto cannot = [&](const Error& error) {
        return fail(error.kind, "--prompt-cache {}: cannot write: {}", path, error.message);
    };
    auto file = ReplacedFile::create(path);
    if (!file) return cannot(file.error());
    const auto saved = engine::save_text(context_, static_cast<uint32_t>(length), identity_,
                                         [&](std::span<const std::byte> bytes) { return file->append(bytes); });
    if (!saved) return cannot(saved.error());
    const auto finished = file->finish();
    return finished ? finished : cannot(finished.error());
}

// What was said is taken back when there is no answer to it.
Result<Run::Answer> Run::answer_to(std::span<const int32_t> prompt) {
    auto answered = [&]() -> Result<Answer> {
        RIFTJIT_TRY(rest, context_.reuse(prompt));
        show(prompt);
        return answer(rest);
    }();
    if (answered)
        if (const auto said = say_why_it_ended(*answered); !said) answered = std::unexpected(said.error());
    if (!answered && conversation_) conversation_->take_back();
    return answered;
}

// Turn by turn, of which raw text and ids have one. On a terminal a conversation outlives a turn that fails.
Result<int> Run::execute() {
    RIFTJIT_TRY_VOID(prepare());
    if (!options_.dump_logits.empty()) return dump_logits();
    RIFTJIT_TRY_VOID(load_prompt_cache());
    Answer last;
    std::vector<int32_t> prompt;
    for (bool more = true; more;) {
        const auto asked = next_prompt();
        if (asked && !*asked) break;
        if (asked) prompt = **asked;
        const auto answered = asked ? answer_to(prompt) : std::unexpected(asked.error());
        if (answered) {
            last = *answered;
            more = goes_on(last);
        } else {
            if (!conversation_ || ends_after_one_) return std::unexpected(answered.error());
            Error error = answered.error();
            if (!conversation_->is_new()) error.message += kWayOut;
            report(error);
        }
    }
    const auto saved = save_prompt_cache(prompt.size());
    const int code = finish(last, prompt);
    if (!saved) return std::unexpected(saved.error());
    return code;
}

Result<int> run(const RunOptions& options, Reporter& reporter) {
    const auto start = Clock::now();
    if (options.list_devices) {
        write_output(options.json ? device_json() : device_lines());
        return kExitDone;
    }
    RIFTJIT_TRY(engine_choice, engine_options(options));
    RIFTJIT_TRY_VOID(check_dump(options));
    RIFTJIT_TRY_VOID(check_prompt_cache(options));
    RIFTJIT_TRY(inputs, read_prompt_inputs(options));
    RIFTJIT_TRY(grammar, read_grammar(options, reporter));
    for (const std::string& warning : options.without_effect) reporter.warn(warning);
    for (const std::string& text : options.reverse_prompts)
        if (text.empty()) reporter.warn("-r \"\": an empty text stops nothing");
    for (const std::string& warning : without_effect_on_device(options)) reporter.warn(warning);
    if (options.predict_token) return print_predictions(engine_choice, options.targets, options.json, reporter);
    RIFTJIT_TRY(target, listed_target(options));
    if (options.dump_isa && options.json) return fail(ErrorKind::Usage, "--json: --dump-isa prints text");
    if (options.dump_isa) return dump_isa(engine_choice, target, options.dump_isa_kernel, reporter);
    if (options.print_plan && target) return print_plan(engine_choice, *target, options.json, reporter);
    engine_choice.note = [&reporter](const std::string& line) { reporter.info(line); };
    auto opened = [&] {
        const Progress progress("loading the model");
        return engine::open_engine(engine_choice, reporter.warner());
    }();
    if (!opened) return std::unexpected(opened.error());
    engine::Engine& engine = *opened;
    RIFTJIT_TRY_VOID(check_dump(options, engine.model.file));
    if (!uses_template(options, engine.model.file)) {
        for (const std::string& flag : template_flags(options))
            reporter.warn(flag + ": changes nothing without a chat template");
    } else if (!template_flags(options).empty()) {
        RIFTJIT_TRY(chat_template, engine::find_chat_template(inputs.chat_template, engine.model.file));
        check(chat_template.has_value(), "a template was found before");
        for (const std::string& warning : unread_settings(*chat_template, engine.tokenizer, inputs))
            reporter.warn(warning);
    }
    if (options.check_tensors) RIFTJIT_TRY_VOID(check_weights(engine.model.file, reporter));
    if (options.lock_memory) lock_weights(*engine.session, reporter);
    reporter.detail(fmt::format("{}: on {}, {} threads, level {}, context {}, {} bytes of KV cache when full",
                                engine.model.file.path().string(), engine.device, engine.threads, name(engine.isa),
                                engine.context, engine.session->kv_bytes()));
    if (options.print_plan) {
        print_plans(engine.session->decode_plan(), engine.session->prompt_plan(), &engine.levels, options.json);
        return kExitDone;
    }
    RIFTJIT_TRY(drafting, open_drafting(options, engine_choice, engine, reporter));
    if (options.lock_memory && drafting && drafting->model) lock_weights(*drafting->model->session, reporter);
    if (options.strict && reporter.warnings() != 0)
        return fail(ErrorKind::Usage, "--strict: {} warning(s), see above", reporter.warnings());
    if ((inputs.text || options.prompt_ids) && input_waits())
        reporter.info("the prompt is that of the command line; standard input is not read");
    watch_interrupts();
    return Run(options, std::move(inputs), std::move(grammar), engine, drafting ? &*drafting : nullptr, engine_choice,
               reporter, start)
        .execute();
}

constexpr const char* kRunExamples =
    "Examples:\n"
    "  riftjit run -p \"Tell me a short story about a fox and a lamp.\"    a turn with the shipped model\n"
    "  riftjit run                                                       a conversation, until Ctrl-D; /help says\n"
    "                                                                    what else can be said in one\n"
    "  riftjit run -m m.gguf -no-cnv -p \"Once upon a time\" -n 64         continue raw text\n"
    "  riftjit run -m m.gguf -f question.txt --temp 0 --json             greedy, one JSON object\n"
    "  riftjit run -m m.gguf -f question.txt -jf answer.schema.json       answers that the schema finds valid\n"
    "  riftjit run -m m.gguf --spec-type ngram-simple -f code.txt        the same text sooner, where it repeats "
    "itself\n"
    "  riftjit run -m m.gguf --dump-isa matmul --target gfx1100          generated code, also for other processors\n"
    "  riftjit run -m m.gguf --target gfx1030,gfx1100 --predict          what a token costs such GPUs at least\n"
    "  riftjit run --device emulate:gfx1201 --check none -p \"Hi\" -n 16   a GPU's code in the software machine\n"
    "Text goes to stdout, everything else to stderr. Flags have llama.cpp's names and defaults; those that this\n"
    "build cannot honour are refused with the reason.";

Verbosity verbosity_of(const RunOptions& options) {
    if (options.log_disable || options.verbosity <= 1) return Verbosity::errors;
    if (options.verbose || options.verbosity >= 4) return Verbosity::details;
    return options.verbosity == 2 ? Verbosity::warnings : Verbosity::info;
}

}  // namespace

void add_run_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("run", "Generate text");
    command->footer(kRunExamples);
    command->set_help_flag("-h,--help,--usage", "Print this help and leave");
    auto options = std::make_shared<RunOptions>();
    add_run_options(*command, *options);
    on_chosen(*command, chosen, [command, options] {
        options->has_prompt = command->count("--prompt") != 0;
        for (std::string& warning : given_repeatedly(*command)) options->without_effect.push_back(std::move(warning));
        Reporter reporter(verbosity_of(*options));
        auto agreed = check_opposites(*command);
        if (agreed) agreed = check_draft_flags(*command, *options);
        if (agreed) agreed = check_device_flags(*command, options->device);
        apply_escapes(*options);
        const auto result = agreed ? run(*options, reporter) : std::unexpected(agreed.error());
        return result ? *result : report(result.error());
    });
}

}  // namespace riftjit::tools
