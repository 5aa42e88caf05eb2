#include "tools/serve/model_list.h"

#include <algorithm>
#include <filesystem>
#include <regex>

#include "tools/cli/arguments.h"
#include "tools/cli/input_file.h"
#include "tools/run/drafting.h"
#include "tools/serve/served_model.h"

namespace riftjit::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char *kEverySection = "*", *kLoadOnStartup = "load-on-startup";

struct PresetSection {
    std::string name;
    std::vector<std::pair<std::string, std::string>> keys;
};

std::string trimmed(std::string text) {
    constexpr std::string_view kSpace = " \t\r";
    const size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string::npos) return {};
    return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// Lines "[name]" and "key = value"; what begins with ; or # says nothing. Keys before the first section are the file's.
Result<std::vector<PresetSection>> read_preset(const std::string& path) {
    RIFTJIT_TRY(text, read_text_bytes(path));
    std::vector<PresetSection> sections;
    size_t number = 0;
    for (std::string& raw : split(text, '\n')) {
        ++number;
        const std::string line = trimmed(std::move(raw));
        if (line.empty() || line[0] == ';' || line[0] == '#') continue;
        if (line[0] == '[') {
            if (!line.ends_with(']') || line.size() < 3)
                return fail(ErrorKind::Format, "{}:{}: expected [name], got {}", path, number, line);
            const std::string name = line.substr(1, line.size() - 2);
            if (std::ranges::find(sections, name, &PresetSection::name) != sections.end())
                return fail(ErrorKind::Format, "{}:{}: a second section [{}]", path, number, name);
            sections.push_back({name, {}});
            continue;
        }
        const size_t equals = line.find('=');
        if (equals == std::string::npos || equals == 0)
            return fail(ErrorKind::Format, "{}:{}: expected key = value, got {}", path, number, line);
        if (sections.empty()) continue;
        sections.back().keys.emplace_back(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    }
    return sections;
}

std::optional<bool> truth(const std::string& value) {
    if (value == "1" || value == "true" || value == "on" || value == "yes") return true;
    if (value == "0" || value == "false" || value == "off" || value == "no") return false;
    return std::nullopt;
}

// As the command line has it; empty: a flag that is off.
Result<std::vector<std::string>> arguments_of(const std::string& key, const std::string& value, const CLI::App& app) {
    const std::string given = key.starts_with('-') ? key : (key.size() == 1 ? "-" : "--") + key;
    std::vector<std::string> words{"riftjit", "serve", given};
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    RIFTJIT_TRY(normal, normalize_arguments(int(pointers.size()), pointers.data()));
    const std::string flag = normal.back();
    const CLI::Option* option = app.get_option_no_throw(flag);
    if (option == nullptr) return fail(ErrorKind::Usage, "\"{}\" is no flag of `riftjit serve`", key);
    if (option->get_items_expected_max() != 0) return std::vector{flag, value};
    const auto is_on = truth(value);
    if (!is_on) return fail(ErrorKind::Usage, "{} = {}: expected true or false", key, value);
    return *is_on ? std::vector{flag} : std::vector<std::string>();
}

// The flags of a section on top of those of the command line.
Result<ServeOptions> with_section(const ServeOptions& base, const std::vector<const PresetSection*>& sections) {
    ServeOptions options = base;
    CLI::App app;
    add_serve_options(app, options);
    std::vector<std::string> arguments;
    for (const PresetSection* section : sections) {
        for (const auto& [key, value] : section->keys) {
            if (key == kLoadOnStartup) continue;
            RIFTJIT_TRY(words, arguments_of(key, value, app));
            arguments.insert(arguments.end(), words.begin(), words.end());
        }
    }
    try {
        std::ranges::reverse(arguments);
        app.parse(arguments);
    } catch (const CLI::ParseError& error) {
        return fail(ErrorKind::Usage, "{}", error.what());
    }
    RIFTJIT_TRY_VOID(check_serve_options(options));
    RIFTJIT_TRY_VOID(check_draft_flags(app, options.run));
    if (options.run.model.empty()) return fail(ErrorKind::Usage, "which model? model = FILE");
    return options;
}

uint64_t bytes_of(const std::string& model) {
    std::error_code ignored;
    if (!fs::is_directory(model, ignored))
        return uint64_t(std::max<intmax_t>(0, intmax_t(fs::file_size(model, ignored))));
    uint64_t sum = 0;
    for (const auto& entry : fs::directory_iterator(model, ignored))
        if (entry.path().extension() == ".safetensors") sum += entry.file_size(ignored);
    return sum;
}

server::PoolModel pool_model(std::string name, ServeOptions options, Reporter& reporter) {
    options.service.names = {name};
    server::PoolModel model{.name = std::move(name), .bytes = bytes_of(options.run.model)};
    model.identity = options.run.model;
    model.open = [options = std::move(options), &reporter] { return open_served_model(options, reporter); };
    return model;
}

// A name and the path to load.
std::vector<std::pair<std::string, std::string>> models_of_folder(const std::string& folder) {
    static const std::regex kPart("(.*)-([0-9]{5})-of-[0-9]{5}");
    std::vector<std::pair<std::string, std::string>> found;
    const auto add_file = [&](const fs::path& path, const std::string& name) {
        std::smatch part;
        const std::string stem = path.stem().string();
        if (path.extension() != ".gguf" || stem.starts_with("mmproj")) return;
        if (!std::regex_match(stem, part, kPart)) {
            found.emplace_back(name.empty() ? stem : name, path.string());
        } else if (part[2] == "00001") {
            found.emplace_back(name.empty() ? part[1].str() : name, path.string());
        }
    };
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        if (entry.is_regular_file(ignored)) add_file(entry.path(), "");
        if (!entry.is_directory(ignored)) continue;
        const std::string name = entry.path().filename().string();
        if (fs::exists(entry.path() / "config.json", ignored)) {
            found.emplace_back(name, entry.path().string());
            continue;
        }
        for (const auto& inner : fs::directory_iterator(entry.path(), ignored))
            if (inner.is_regular_file(ignored)) add_file(inner.path(), name);
    }
    std::ranges::sort(found);
    const auto doubled = std::ranges::unique(found, {}, &std::pair<std::string, std::string>::first);
    found.erase(doubled.begin(), doubled.end());
    return found;
}

}  // namespace

Result<std::vector<server::PoolModel>> list_models(const ServeOptions& options, Reporter& reporter) {
    std::vector<server::PoolModel> models;
    if (!options.models_preset.empty()) {
        RIFTJIT_TRY(sections, read_preset(options.models_preset));
        const auto of_all = std::ranges::find(sections, kEverySection, &PresetSection::name);
        for (const PresetSection& section : sections) {
            if (section.name == kEverySection) continue;
            std::vector<const PresetSection*> parts;
            if (of_all != sections.end()) parts.push_back(&*of_all);
            parts.push_back(&section);
            auto chosen = with_section(options, parts);
            if (!chosen)
                return fail(chosen.error().kind, "{}: [{}]: {}", options.models_preset, section.name,
                            chosen.error().message);
            server::PoolModel model = pool_model(section.name, std::move(*chosen), reporter);
            for (const auto& [key, value] : section.keys) {
                model.identity += fmt::format("\n{}={}", key, value);
                if (key == kLoadOnStartup) model.loads_at_start = truth(value).value_or(false);
            }
            models.push_back(std::move(model));
        }
    }
    if (!options.models_folder.empty()) {
        std::error_code ignored;
        if (!fs::is_directory(options.models_folder, ignored))
            return fail(ErrorKind::Io, "--models-dir: there is no folder {}", options.models_folder);
        for (const auto& [name, path] : models_of_folder(options.models_folder)) {
            if (std::ranges::find(models, name, &server::PoolModel::name) != models.end()) continue;
            ServeOptions one = options;
            one.run.model = path;
            models.push_back(pool_model(name, std::move(one), reporter));
        }
    }
    return models;
}

}  // namespace riftjit::tools
