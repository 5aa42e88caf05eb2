#include "tools/prompt.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

namespace riftjit::tools {

Result<std::string> read_file(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return fail(ErrorKind::Io, "{}: {}", path, std::strerror(EISDIR));
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(ErrorKind::Io, "{}: {}", path, std::strerror(errno));
    std::ostringstream text;
    text << file.rdbuf();
    if (file.bad()) return fail(ErrorKind::Io, "{}: {}", path, std::strerror(errno));
    return std::move(text).str();
}

std::string process_escapes(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            result += text[i];
            continue;
        }
        const char code = text[++i];
        unsigned byte = 0;
        if (code == 'x' && i + 2 < text.size() &&
            std::from_chars(&text[i + 1], &text[i + 1] + 2, byte, 16).ptr == &text[i + 1] + 2) {
            result += static_cast<char>(byte);
            i += 2;
            continue;
        }
        switch (code) {
            case 'n':
                result += '\n';
                break;
            case 'r':
                result += '\r';
                break;
            case 't':
                result += '\t';
                break;
            case '\'':
                result += '\'';
                break;
            case '"':
                result += '"';
                break;
            case '\\':
                result += '\\';
                break;
            default:
                (result += '\\') += code;
        }
    }
    return result;
}

Result<std::optional<std::string>> prompt_text(const RunOptions& options) {
    if (!options.prompt_file.empty()) {
        RIFTJIT_TRY(text, read_file(options.prompt_file));
        if (text.ends_with('\n')) text.pop_back();
        return std::optional(std::move(text));
    }
    if (!options.binary_file.empty()) {
        RIFTJIT_TRY(text, read_file(options.binary_file));
        return std::optional(std::move(text));
    }
    if (!options.has_prompt) return std::nullopt;
    return std::optional(options.process_escapes ? process_escapes(options.prompt) : options.prompt);
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

Result<std::optional<Conversation>> Conversation::open(const RunOptions& options, const models::Gguf& file,
                                                       const models::Tokenizer& tokenizer) {
    if (options.conversation == Toggle::off) return std::nullopt;
    std::string source = options.chat_template, name = "--chat-template";
    if (!options.chat_template_file.empty()) {
        RIFTJIT_TRY(text, read_file(options.chat_template_file));
        source = std::move(text);
        name = options.chat_template_file;
    } else if (source.empty()) {
        RIFTJIT_TRY(from_model, file.string("tokenizer.chat_template"));
        if (!from_model) {
            if (options.conversation == Toggle::on)
                return fail(ErrorKind::Usage, "-cnv: {} has no tokenizer.chat_template; give one with --chat-template",
                            file.path().string());
            return std::nullopt;
        }
        source = *from_model;
        name = "tokenizer.chat_template";
    }
    RIFTJIT_TRY(chat_template, models::ChatTemplate::parse(std::move(source), std::move(name)));
    models::ChatTemplate::Inputs inputs;
    if (!options.chat_template_kwargs.empty()) {
        inputs.extra = nlohmann::ordered_json::parse(options.chat_template_kwargs, nullptr, /*allow_exceptions=*/false);
        if (!inputs.extra.is_object())
            return fail(ErrorKind::Usage,
                        "error while handling argument \"--chat-template-kwargs\": expected a JSON object, got \"{}\"",
                        options.chat_template_kwargs);
    }
    if (!options.reasoning_effort.empty()) inputs.extra["reasoning_effort"] = options.reasoning_effort;
    if (options.reasoning != "auto") inputs.extra["enable_thinking"] = options.reasoning == "on";
    if (const auto bos = tokenizer.bos()) inputs.bos_token = tokenizer.piece(*bos);
    if (const auto eos = tokenizer.eos()) inputs.eos_token = tokenizer.piece(*eos);
    Conversation conversation(std::move(chat_template), std::move(inputs), tokenizer);
    std::string system = options.system_prompt;
    if (!options.system_prompt_file.empty()) {
        RIFTJIT_TRY(text, read_file(options.system_prompt_file));
        system = std::move(text);
    }
    if (!system.empty()) conversation.add("system", options.process_escapes ? process_escapes(system) : system);
    return std::optional(std::move(conversation));
}

void Conversation::add(std::string role, std::string content) {
    inputs_.messages.push_back({{"role", std::move(role)}, {"content", std::move(content)}});
}

Result<std::vector<int32_t>> Conversation::render() const {
    RIFTJIT_TRY(segments, template_.render(inputs_));
    RIFTJIT_TRY(ids, tokenizer_->encode(segments, models::AddBos::yes));
    // A template that writes the BOS text itself, and a tokenizer that adds one: exactly one remains.
    const auto bos = tokenizer_->bos();
    if (bos && ids.size() >= 2 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
    return ids;
}

}  // namespace riftjit::tools
