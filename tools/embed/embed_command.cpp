#include "tools/embed/embed_command.h"

#include <algorithm>
#include <memory>

#include "engine/embedder.h"
#include "tools/cli/device_options.h"
#include "tools/cli/escapes.h"
#include "tools/cli/input_file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"
#include "tools/embed/embedding_output.h"
#include "tools/run/prompt.h"
#include "tools/run/run_options.h"

namespace riftjit::tools {

using models::Pooling;

namespace {

struct EmbedOptions {
    RunOptions run;
    std::string pooling, format, separator = "\n", pair_separator = "\t";
    int64_t normalize = 2;
};

std::vector<std::string> divide(std::string_view text, std::string_view separator) {
    std::vector<std::string> parts;
    while (true) {
        const size_t at = text.find(separator);
        parts.emplace_back(text.substr(0, at));
        if (at == text.npos) return parts;
        text.remove_prefix(at + separator.size());
    }
}

Result<std::vector<std::string>> read_texts(const EmbedOptions& options) {
    const RunOptions& run = options.run;
    if (run.has_prompt == !run.prompt_file.empty())
        return fail(ErrorKind::Usage, "expected -p TEXT or -f FILE: the texts, one a line (--embd-separator)");
    for (const auto& [flag, text] :
         {std::pair("--embd-separator", &options.separator), std::pair("--cls-separator", &options.pair_separator)})
        if (text->empty()) return fail(ErrorKind::Usage, "{}: an empty text divides nothing", flag);
    if (run.has_prompt) return divide(run.prompt, options.separator);
    RIFTJIT_TRY(bytes, read_text_bytes(run.prompt_file));
    RIFTJIT_TRY(text, as_text(std::move(bytes), run.prompt_file));
    return divide(without_line_end(std::move(text)), options.separator);
}

// A query and a document where the text has a separator; else the text alone.
Result<std::vector<int32_t>> tokens_of(const engine::Embedder& embedder, const EmbedOptions& options,
                                       const std::string& text) {
    if (embedder.pooling() != Pooling::rank) return embedder.tokens_of(text);
    const std::vector<std::string> parts = divide(text, options.pair_separator);
    if (parts.size() > 2)
        return fail(ErrorKind::Usage, "{} parts (--cls-separator), where a query and a document are expected",
                    parts.size());
    return parts.size() == 1 ? embedder.tokens_of(text) : embedder.tokens_of_pair(parts[0], parts[1]);
}

Result<std::vector<std::vector<int32_t>>> tokens_of_all(const engine::Embedder& embedder, const EmbedOptions& options,
                                                        const std::vector<std::string>& texts) {
    std::vector<std::vector<int32_t>> ids;
    for (const std::string& text : texts) {
        auto tokens = tokens_of(embedder, options, text);
        if (!tokens) return fail(tokens.error().kind, "text {}: {}", ids.size() + 1, tokens.error().message);
        ids.push_back(std::move(*tokens));
    }
    return ids;
}

EmbeddingFormat format_of(const std::string& name) {
    constexpr std::pair<std::string_view, EmbeddingFormat> kFormats[] = {{"array", EmbeddingFormat::array},
                                                                         {"json", EmbeddingFormat::json},
                                                                         {"json+", EmbeddingFormat::json_plus},
                                                                         {"raw", EmbeddingFormat::raw}};
    for (const auto& [known, format] : kFormats)
        if (known == name) return format;
    return EmbeddingFormat::text;
}

Result<int> embed(const EmbedOptions& options, Reporter& reporter) {
    const RunOptions& run = options.run;
    RIFTJIT_TRY(texts, read_texts(options));
    RIFTJIT_TRY(engine_choice, engine_options(run));
    engine_choice.purpose = {.embeds = true, .pooling = models::pooling_from_name(options.pooling)};
    for (const std::string& warning : run.without_effect) reporter.warn(warning);
    for (const std::string& warning : without_effect_on_device(run)) reporter.warn(warning);
    RIFTJIT_TRY(engine, engine::open_engine(engine_choice, reporter.warner()));
    RIFTJIT_TRY(embedder, engine::Embedder::create(engine));
    if (embedder->pooling() == Pooling::last && !engine.tokenizer.adds_end())
        reporter.warn("the vocabulary puts no end token behind a text, whose row the last one is");
    RIFTJIT_TRY(labels, embedder->labels());
    RIFTJIT_TRY(ids, tokens_of_all(*embedder, options, texts));
    if (run.strict && reporter.warnings() != 0)
        return fail(ErrorKind::Usage, "--strict: {} warning(s), see above", reporter.warnings());
    RIFTJIT_TRY(embeddings, embedder->embed(ids));
    if (embedder->pooling() != Pooling::rank)
        for (engine::Embedding& embedding : embeddings)
            for (uint32_t i = 0; i < embedding.vectors; ++i)
                engine::normalize(std::span(embedding.values).subspan(size_t(i) * embedder->width(), embedder->width()),
                                  int(options.normalize));
    write_output(embedding_text({.format = format_of(options.format),
                                 .pooling = embedder->pooling(),
                                 .has_integers = options.normalize == 0 && embedder->pooling() != Pooling::rank,
                                 .texts = std::move(texts),
                                 .labels = std::move(labels),
                                 .embeddings = embeddings,
                                 .width = embedder->width()}));
    return kExitDone;
}

void add_text_options(CLI::App& command, EmbedOptions& o) {
    constexpr const char* kGroup = "Texts";
    command.add_option("-p,--prompt", o.run.prompt, "the texts, one a line")->type_name("TEXT")->group(kGroup);
    command
        .add_option("-f,--file", o.run.prompt_file, "the texts from a file, without byte-order mark and last line end")
        ->type_name("FILE")
        ->check(file_name())
        ->group(kGroup);
    command.add_option("--embd-separator", o.separator, "what stands between two texts, in place of a line end")
        ->type_name("TEXT")
        ->group(kGroup);
    command
        .add_option("--cls-separator", o.pair_separator,
                    "of rerankers: what stands between query and document, in place of a tab")
        ->type_name("TEXT")
        ->group(kGroup);
    command
        .add_flag_callback(
            "-e,--escape", [&o] { o.run.process_escapes = true; },
            "turn \\n, \\t, \\\", \\\\, \\x0a of -p and of separators into what they mean (how it starts)")
        ->group(kGroup);
    command.add_flag_callback(
               "--no-escape", [&o] { o.run.process_escapes = false; }, "take these texts as they are")
        ->group(kGroup);
}

void add_vector_options(CLI::App& command, EmbedOptions& o) {
    constexpr const char* kGroup = "Vectors";
    add_choice(command, "--pooling", o.pooling, {models::kPoolingNames.begin(), models::kPoolingNames.end()},
               "which of a text's rows its vector is: all of them, their mean, the first, the last, or a reranker's "
               "score (default: the model's)")
        ->default_str("")
        ->group(kGroup);
    add_integer(command, "--embd-normalize", o.normalize, -1, 1000,
                "-1: as they are, 0: the largest 32760, 1: the sum of sizes 1, 2: length 1, more: that norm 1; scores "
                "stay as they are")
        ->group(kGroup);
    add_choice(command, "--embd-output-format", o.format, {"array", "json", "json+", "raw"},
               "array: [[...],...]; json: as OpenAI's API has it; json+: and how alike the texts are; raw: a line of "
               "numbers each (default: for reading)")
        ->default_str("")
        ->group(kGroup);
}

constexpr const char* kEmbedExamples =
    "Examples:\n"
    "  riftjit embed -m bge-small.gguf -p \"first text\\nsecond text\"           vectors, and how alike the two are\n"
    "  riftjit embed -m bge-small.gguf -f texts.txt --embd-output-format raw    a line of numbers for each line\n"
    "  riftjit embed -m bge-reranker.gguf -p \"a query\\ta document\"            its score\n"
    "Flags and forms are those of llama-embedding. Causal models do, too: say --pooling.";

}  // namespace

void add_embed_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("embed", "Make vectors of texts, or rank them");
    command->footer(kEmbedExamples);
    const auto options = std::make_shared<EmbedOptions>();
    RunOptions& run = options->run;
    run.cache_type_k = run.cache_type_v = "f32";  // a text is in the cache for a moment
    add_model_options(*command, run);
    add_text_options(*command, *options);
    add_vector_options(*command, *options);
    constexpr const char* kKernels = "Kernels";
    add_device_option(*command, kKernels, run.device);
    add_check_option(*command, kKernels, run.device);
    add_kernel_choice(*command, kKernels, run.kernels);
    command->add_flag("--strict", run.strict, "a warning is an error")->group(kKernels);
    add_compatibility_options(*command, run);
    for (const char* other : {"--reasoning-budget", "--list-devices"})
        command->remove_option(command->get_option(other));
    let_last_count(*command);
    on_chosen(*command, chosen, [command, options] {
        RunOptions& run = options->run;
        for (std::string& warning : given_repeatedly(*command)) run.without_effect.push_back(std::move(warning));
        run.has_prompt = command->count("--prompt") != 0;
        apply_escapes(run);
        if (run.process_escapes)
            for (std::string* text : {&options->separator, &options->pair_separator}) *text = process_escapes(*text);
        Reporter reporter(run.log_disable || run.verbosity <= 1 ? Verbosity::errors
                          : run.verbosity == 2                  ? Verbosity::warnings
                                                                : Verbosity::info);
        end_on_interrupts();
        const auto agreed = check_device_flags(*command, run.device);
        const auto done = agreed ? embed(*options, reporter) : std::unexpected(agreed.error());
        return done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
