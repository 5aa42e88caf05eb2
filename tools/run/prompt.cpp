#include "tools/run/prompt.h"

#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>

#include "host/json_text.h"
#include "models/gguf/gguf_text.h"
#include "models/template/named_templates.h"
#include "tools/cli/input_file.h"
#include "tools/cli/suggestion.h"

namespace riftjit::tools {

Result<std::string> as_text(std::string bytes, std::string_view name) {
    constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";
    if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF"))
        return fail(ErrorKind::Format, "{}: starts with the byte-order mark of UTF-16; expected UTF-8", name);
    if (bytes.starts_with(kUtf8Mark)) bytes.erase(0, kUtf8Mark.size());
    return bytes;
}

std::string without_line_end(std::string text) {
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return text;
}

Result<std::string> read_standard_input() {
    RIFTJIT_TRY(bytes, read_stdin_bytes());
    RIFTJIT_TRY(text, as_text(std::move(bytes), "standard input"));
    return without_line_end(std::move(text));
}

namespace {

Result<std::string> read_text_file(const std::string& path) {
    RIFTJIT_TRY(bytes, read_text_bytes(path));
    return as_text(std::move(bytes), path);
}

Result<std::optional<std::string>> prompt_text(const RunOptions& options) {
    const int sources = (options.has_prompt ? 1 : 0) + (options.prompt_file.empty() ? 0 : 1) +
                        (options.binary_file.empty() ? 0 : 1) + (options.prompt_ids ? 1 : 0);
    if (sources > 1) return fail(ErrorKind::Usage, "-p, -f, -bf and --prompt-ids are different prompts; give one");
    if (!options.prompt_file.empty()) {
        RIFTJIT_TRY(text, read_text_file(options.prompt_file));
        return std::optional(without_line_end(std::move(text)));
    }
    if (!options.binary_file.empty()) {
        RIFTJIT_TRY(text, read_text_bytes(options.binary_file));
        return std::optional(std::move(text));
    }
    if (!options.has_prompt) return std::nullopt;
    return std::optional(options.prompt);
}

Result<std::string> system_text(const RunOptions& options) {
    if (options.system_prompt_file.empty()) return options.system_prompt;
    if (!options.system_prompt.empty()) return fail(ErrorKind::Usage, "-sys and -sysf are different texts; give one");
    RIFTJIT_TRY(text, read_text_file(options.system_prompt_file));
    text = without_line_end(std::move(text));
    if (text.empty()) return fail(ErrorKind::Usage, "{}: the system message is empty", options.system_prompt_file);
    return text;
}

// A text without Jinja would be the whole prompt, whatever is said.
std::string no_template(const std::string& flag, const std::string& source) {
    constexpr size_t kShown = 60;
    std::string message =
        fmt::format("{}: \"{}\" is neither a template, which has {{{{ }}}} or {{% %}}, nor the name of one", flag,
                    models::printable(std::string_view(source).substr(0, kShown)));
    std::error_code error;
    const std::string near = closest(source, models::template_names());
    if (std::filesystem::exists(source, error)) {
        message += "; a file goes with --chat-template-file";
    } else if (!near.empty()) {
        message += fmt::format("; did you mean {}?", near);
    } else {
        message += fmt::format("; names: {}", fmt::join(models::template_names(), ", "));
    }
    return message;
}

Result<std::optional<models::ChatTemplate>> template_of(const RunOptions& options) {
    std::string source = options.chat_template, name = "--chat-template";
    if (!options.chat_template_file.empty()) {
        if (!source.empty()) {
            return fail(ErrorKind::Usage, "--chat-template and --chat-template-file are different templates; give one");
        }
        RIFTJIT_TRY(text, read_text_file(options.chat_template_file));
        if (text.empty()) return fail(ErrorKind::Usage, "{}: the chat template is empty", options.chat_template_file);
        source = std::move(text);
        name = options.chat_template_file;
    }
    if (source.empty()) return std::nullopt;
    if (auto named = models::named_template(source)) {
        name += " " + source;
        source = *std::move(named);
    } else if (!models::ChatTemplate::has_jinja(source)) {
        return fail(ErrorKind::Usage, "{}", no_template(name, source));
    }
    RIFTJIT_TRY(parsed, models::ChatTemplate::parse(std::move(source), std::move(name)));
    return std::optional(std::move(parsed));
}

Result<void> set_variable(PromptInputs& inputs, const std::string& name, nlohmann::ordered_json value,
                          const std::string& flag) {
    if (inputs.variables.contains(name) && inputs.variables[name] != value) {
        return fail(ErrorKind::Usage, "{} and {} of --chat-template-kwargs contradict each other: {} and {}", flag,
                    name, json_text(value), json_text(inputs.variables[name]));
    }
    inputs.variables[name] = std::move(value);
    inputs.flags_of_variables[name] = flag;
    return {};
}

Result<void> read_template_variables(const RunOptions& options, PromptInputs& inputs) {
    if (!options.chat_template_kwargs.empty()) {
        auto given = parse_json<nlohmann::ordered_json>(options.chat_template_kwargs);
        if (!given.is_object())
            return fail(ErrorKind::Usage,
                        "error while handling argument \"--chat-template-kwargs\": expected a JSON object, got \"{}\"",
                        options.chat_template_kwargs);
        for (const auto& [name, value] : given.items()) inputs.flags_of_variables[name] = "--chat-template-kwargs";
        inputs.variables = std::move(given);
    }
    if (!options.reasoning_effort.empty()) {
        RIFTJIT_TRY_VOID(set_variable(inputs, "reasoning_effort", options.reasoning_effort, "--reasoning-effort"));
    }
    if (options.reasoning == "auto") return {};
    return set_variable(inputs, "enable_thinking", options.reasoning == "on", options.reasoning_flag);
}

}  // namespace

std::vector<std::string> template_flags(const RunOptions& options) {
    std::vector<std::string> flags;
    if (!options.system_prompt.empty()) flags.push_back("-sys");
    if (!options.system_prompt_file.empty()) flags.push_back("-sysf");
    if (!options.chat_template.empty()) flags.push_back("--chat-template");
    if (!options.chat_template_file.empty()) flags.push_back("--chat-template-file");
    if (!options.chat_template_kwargs.empty()) flags.push_back("--chat-template-kwargs");
    if (options.reasoning != "auto") flags.push_back(options.reasoning_flag);
    if (!options.reasoning_effort.empty()) flags.push_back("--reasoning-effort");
    return flags;
}

Result<PromptInputs> read_prompt_inputs(const RunOptions& options) {
    PromptInputs inputs;
    RIFTJIT_TRY(text, prompt_text(options));
    RIFTJIT_TRY(system, system_text(options));
    RIFTJIT_TRY(chat_template, template_of(options));
    RIFTJIT_TRY_VOID(read_template_variables(options, inputs));
    inputs.text = std::move(text);
    inputs.system = std::move(system);
    inputs.system_flag = options.system_prompt_file.empty() ? "-sys" : "-sysf";
    inputs.chat_template = std::move(chat_template);
    return inputs;
}

Result<std::vector<int32_t>> parse_ids(std::string_view text, uint32_t vocabulary) {
    std::vector<int32_t> ids;
    while (true) {
        const size_t end = std::min(text.find(','), text.size());
        uint32_t id = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + end, id);
        if (parsed.ec != std::errc{} || parsed.ptr != text.data() + end)
            return fail(ErrorKind::Usage,
                        "error while handling argument \"--prompt-ids\": expected an integer, got \"{}\"",
                        text.substr(0, end));
        if (id >= vocabulary)
            return fail(ErrorKind::Usage,
                        "error while handling argument \"--prompt-ids\": {} is not in the vocabulary of {} tokens", id,
                        vocabulary);
        ids.push_back(static_cast<int32_t>(id));
        if (end == text.size()) return ids;
        text.remove_prefix(end + 1);
    }
}

Result<std::optional<engine::Conversation>> open_conversation(const PromptInputs& inputs, Toggle wanted,
                                                              const engine::Engine& engine) {
    if (wanted == Toggle::off) return std::nullopt;
    RIFTJIT_TRY(chat_template, engine::find_chat_template(inputs.chat_template, engine.model.file));
    if (!chat_template) {
        if (wanted == Toggle::on)
            return fail(ErrorKind::Usage, "-cnv: {} has no tokenizer.chat_template; give one with --chat-template",
                        engine.model.file.path().string());
        return std::nullopt;
    }
    engine::Conversation conversation(*std::move(chat_template), inputs.variables, engine.tokenizer, engine.context);
    if (!inputs.system.empty()) conversation.add("system", inputs.system);
    return std::optional(std::move(conversation));
}

}  // namespace riftjit::tools
