#include "tools/model/tokenize_command.h"

#include <fmt/ranges.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/model_files.h"
#include "host/json_text.h"
#include "models/folder/model_file.h"
#include "models/gguf/gguf_text.h"
#include "models/tokenizer/tokenizer.h"
#include "tools/cli/escapes.h"
#include "tools/cli/input_file.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/reporter.h"
#include "tools/run/prompt.h"

namespace riftjit::tools {

namespace {

using models::AddBos;
using models::ParseSpecial;
using models::Tokenizer;
using nlohmann::ordered_json;

struct TokenizeOptions {
    std::string model, pre;
    std::optional<std::string> prompt;
    bool reads_stdin = false;
    bool ids = false, json = false, jsonl = false;
    bool no_bos = false, no_parse_special = false, show_count = false;
    bool escape = false, no_escape = false;

    AddBos add_bos() const { return no_bos ? AddBos::no : AddBos::and_end; }
    ParseSpecial parse_special() const { return no_parse_special ? ParseSpecial::no : ParseSpecial::yes; }
};

Result<Tokenizer> open_tokenizer(const TokenizeOptions& options, Reporter& reporter) {
    RIFTJIT_TRY(path, engine::named_or_shipped(options.model));
    RIFTJIT_TRY(file, models::open_model_file(path));
    for (const std::string& warning : file.warnings()) reporter.warn(warning);
    std::optional<std::string_view> pre;
    if (!options.pre.empty()) pre = options.pre;
    RIFTJIT_TRY(tokenizer, Tokenizer::from_gguf(file, pre));
    for (const std::string& warning : tokenizer.warnings()) reporter.warn(warning);
    return tokenizer;
}

// A piece as text, or as a list of bytes where it is no text of its own.
ordered_json piece_json(std::string_view piece) {
    if (valid_utf8_prefix(piece) == piece.size()) return piece;
    ordered_json bytes = ordered_json::array();
    for (const char c : piece) bytes.push_back(static_cast<uint8_t>(c));
    return bytes;
}

ordered_json describe(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    ordered_json pieces = ordered_json::array();
    for (const int32_t id : ids) pieces.push_back(piece_json(tokenizer.piece(id)));
    return {{"count", ids.size()}, {"ids", ids}, {"pieces", std::move(pieces)}};
}

Result<std::string> read_text(const TokenizeOptions& options) {
    if (options.prompt) return options.no_escape ? *options.prompt : process_escapes(*options.prompt);
    return read_standard_input();
}

Result<void> print_one(const TokenizeOptions& options, const Tokenizer& tokenizer, Reporter& reporter) {
    RIFTJIT_TRY(text, read_text(options));
    models::ByteSet left_out;
    RIFTJIT_TRY(ids, tokenizer.encode(text, options.parse_special(), options.add_bos(), &left_out));
    if (left_out.any()) reporter.warn(models::describe_left_out(left_out));
    std::string output;
    if (options.json) {
        output = json_text(describe(tokenizer, ids)) + "\n";
    } else if (options.ids) {
        output = fmt::format("[{}]\n", fmt::join(ids, ", "));
    } else {
        for (const int32_t id : ids) output += fmt::format("{:6} -> '{}'\n", id, models::escaped(tokenizer.piece(id)));
    }
    if (options.show_count && !options.json) output += fmt::format("Total number of tokens: {}\n", ids.size());
    write_output(output);
    return {};
}

// The ids of one line {"text": ...}.
Result<std::vector<int32_t>> encode_line(const TokenizeOptions& options, const Tokenizer& tokenizer,
                                         std::string_view line, size_t number, models::ByteSet& left_out) {
    const ordered_json request = parse_json<ordered_json>(line);
    if (request.is_discarded())
        return fail(ErrorKind::Format, "line {}: not JSON: {}", number, models::printable(line));
    if (!request.is_object() || !request.contains("text") || !request["text"].is_string())
        return fail(ErrorKind::Format, "line {}: expected an object with a string \"text\", found: {}", number,
                    models::printable(line));
    auto ids = tokenizer.encode(request["text"].get_ref<const std::string&>(), options.parse_special(),
                                options.add_bos(), &left_out);
    if (!ids) return std::unexpected(Error{ids.error().kind, fmt::format("line {}: {}", number, ids.error().message)});
    return ids;
}

std::string answer_of(const TokenizeOptions& options, const Result<std::vector<int32_t>>& ids) {
    if (!ids) {
        return json_text(ordered_json{{"error", ids.error().message}}) + "\n";
    }
    std::string answer = fmt::format("{{\"ids\":[{}]", fmt::join(*ids, ","));
    if (options.show_count) answer += fmt::format(",\"count\":{}", ids->size());
    return answer + "}\n";
}

// Every line has its answer, be it an error.
Result<void> answer_lines(const TokenizeOptions& options, const Tokenizer& tokenizer, Reporter& reporter) {
    std::string line;
    bool is_said = false;
    size_t number = 0, failed = 0;
    std::optional<Error> first;
    while (read_stdin_line(line, kMostOfText)) {
        if (line.size() > kMostOfText)
            return fail(ErrorKind::Usage, "line {}: more than {} bytes", number + 1, kMostOfText);
        models::ByteSet left_out;
        const auto ids = encode_line(options, tokenizer, line, ++number, left_out);
        if (!ids && ++failed == 1) first = ids.error();
        if (left_out.any() && !std::exchange(is_said, true))
            reporter.warn(
                fmt::format("line {}: {}, as in any later line", number, models::describe_left_out(left_out)));
        if (!write_output(answer_of(options, ids))) return {};  // the reader left; the program's end says so
    }
    RIFTJIT_TRY_VOID(check_standard_input());
    if (first) return fail(first->kind, "{} of {} lines have no ids: {}", failed, number, first->message);
    return {};
}

Result<void> check_input(const TokenizeOptions& options) {
    if (options.jsonl && (options.prompt || options.reads_stdin))
        return fail(ErrorKind::Usage, "--jsonl reads lines from standard input; -p and --stdin do not go with it");
    if (options.prompt && options.reads_stdin) return fail(ErrorKind::Usage, "-p and --stdin are two texts; give one");
    if (!options.jsonl && !options.prompt && !options.reads_stdin)
        return fail(ErrorKind::Usage, "no text: give -p TEXT, --stdin or --jsonl");
    return {};
}

Result<void> tokenize(const TokenizeOptions& options) {
    RIFTJIT_TRY_VOID(check_input(options));
    Reporter reporter;
    RIFTJIT_TRY(tokenizer, open_tokenizer(options, reporter));
    return options.jsonl ? answer_lines(options, tokenizer, reporter) : print_one(options, tokenizer, reporter);
}

constexpr const char* kTokenizeExamples =
    "Examples:\n"
    "  riftjit tokenize -p \"Hello, world\"                       id -> 'piece', one token a line\n"
    "  riftjit tokenize -m m.gguf --stdin --ids < text          [1, 2, 3]\n"
    "  echo '{\"text\": \"Hello\"}' | riftjit tokenize --jsonl      {\"ids\":[2696]}, line by line";

}  // namespace

void add_tokenize_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("tokenize", "Turn text into token ids");
    command->footer(kTokenizeExamples);
    const auto options = std::make_shared<TokenizeOptions>();
    command
        ->add_option("-m,--model", options->model,
                     "GGUF file or folder with the vocabulary (default: the shipped model)")
        ->check(file_name());
    command->add_option("-p,--prompt", options->prompt, "Text to tokenize");
    CLI::Option* escape = command->add_flag(
        "-e,--escape", options->escape, "Turn \\n, \\t, \\\", \\\\, \\x0a of -p into what they mean (how it starts)");
    command->add_flag("--no-escape", options->no_escape, "Take -p as it is")->excludes(escape);
    command->add_flag("--stdin", options->reads_stdin,
                      "Read the text from standard input, without a byte-order mark and the end of its last line");
    CLI::Option* ids = command->add_flag("--ids", options->ids, "Print ids only: [1, 2, 3]");
    CLI::Option* json = command->add_flag("--json", options->json, "Print one object: count, ids, pieces");
    CLI::Option* jsonl = command->add_flag("--jsonl", options->jsonl,
                                           "Read a line {\"text\": ...} at a time, answer {\"ids\": [...]} for each, "
                                           "{\"error\": ...} where there are none (then exit 1 at the end)");
    ids->excludes(json)->excludes(jsonl);
    json->excludes(jsonl);
    command->add_flag("--no-bos", options->no_bos, "Add no begin and no end token, even if the model wants them");
    command->add_flag("--no-parse-special", options->no_parse_special,
                      "Treat control tokens in the text as plain text");
    command->add_flag("--show-count", options->show_count, "Print the number of tokens too");
    command->add_option("--pre", options->pre, "Pre-tokenizer to use instead of the file's tokenizer.ggml.pre");
    on_chosen(*command, chosen, [options] {
        const auto done = tokenize(*options);
        return done ? kExitDone : report(done.error());
    });
}

}  // namespace riftjit::tools
