#include "sim/equations/model_file.h"

#include <algorithm>
#include <array>

#include "sim/builtin_files.h"

namespace riftjit::sim {

namespace {

constexpr std::array<std::pair<std::string_view, Method>, 5> kMethods = {
    {{"automatic", Method::automatic},
     {"exact", Method::exact},
     {"exponential_euler", Method::exponential_euler},
     {"rk4", Method::rk4},
     {"euler", Method::euler}}};

SourceText place_of(const toml::source_region& region, const std::string& file) {
    return {"", file, region.begin.line, region.begin.column};
}

// Fills a model's source from the keys of its table.
class ModelReader {
public:
    ModelReader(const toml::table& table, const std::string& file) : table_(table), file_(file) {}

    Result<ModelSource> read() {
        RIFTJIT_TRY(kind, required_text("kind"));
        if (kind.text == "neuron") return neuron();
        if (kind.text == "synapse") return synapse();
        return fail_at(kind, 0, "expected kind \"neuron\" or \"synapse\", found \"{}\"", kind.text);
    }

private:
    Result<ModelSource> neuron() {
        RIFTJIT_TRY_VOID(known_keys({"name", "kind", "description", "equations", "parameters", "initial", "receptors",
                                     "threshold", "reset", "refractory", "update", "method"}));
        NeuronModelSource source;
        SourceText method;
        RIFTJIT_TRY_VOID(common(source));
        RIFTJIT_TRY_VOID(named_texts("receptors", source.receptors));
        RIFTJIT_TRY_VOID(text("threshold", source.threshold));
        RIFTJIT_TRY_VOID(text("reset", source.reset));
        RIFTJIT_TRY_VOID(text("refractory", source.refractory));
        RIFTJIT_TRY_VOID(text("update", source.update));
        RIFTJIT_TRY_VOID(text("method", method));
        if (!method.empty()) {
            RIFTJIT_TRY(parsed, parse_method(method));
            source.method = parsed;
        }
        return source;
    }
    Result<ModelSource> synapse() {
        RIFTJIT_TRY_VOID(
            known_keys({"name", "kind", "description", "equations", "parameters", "initial", "on_pre", "on_post"}));
        SynapseModelSource source;
        RIFTJIT_TRY_VOID(common(source));
        RIFTJIT_TRY(on_pre, required_text("on_pre"));
        source.on_pre = on_pre;
        RIFTJIT_TRY_VOID(text("on_post", source.on_post));
        return source;
    }
    template <class Source>
    Result<void> common(Source& source) {
        RIFTJIT_TRY(name, required_text("name"));
        source.name = name.text;
        SourceText description;
        RIFTJIT_TRY_VOID(text("description", description));
        source.description = description.text;
        RIFTJIT_TRY_VOID(text("equations", source.equations));
        RIFTJIT_TRY_VOID(named_texts("parameters", source.parameters));
        return named_texts("initial", source.initial);
    }

    Result<void> known_keys(const std::vector<std::string>& known) const {
        for (const auto& [key, value] : table_)
            if (std::ranges::find(known, key.str()) == known.end())
                return fail_at(place_of(key.source(), file_), 0, "unknown key '{}' of a model{}", key.str(),
                               suggestion(key.str(), known));
        return {};
    }
    Result<SourceText> required_text(std::string_view key) const {
        SourceText found;
        RIFTJIT_TRY_VOID(text(key, found));
        if (!found.empty()) return found;
        for (const auto& [other, value] : table_) {
            const std::string near = suggestion(other.str(), {std::string(key)});
            if (near.empty() || other.str() == key) continue;
            return fail_at(place_of(other.source(), file_), 0, "unknown key '{}' of a model{}", other.str(), near);
        }
        return fail_at(place_of(table_.source(), file_), 0, "the model has no '{}'", key);
    }
    Result<void> text(std::string_view key, SourceText& found) const {
        const toml::node* value = table_.get(key);
        if (value == nullptr) return {};
        if (!value->is_string())
            return fail_at(place_of(value->source(), file_), 0, "'{}' must be a text in quotes", key);
        found = source_text(*value, file_);
        return {};
    }
    Result<void> named_texts(std::string_view key, std::vector<NamedText>& found) const {
        const toml::node* value = table_.get(key);
        if (value == nullptr) return {};
        const toml::table* entries = value->as_table();
        if (entries == nullptr) return fail_at(place_of(value->source(), file_), 0, "'{}' must be a table", key);
        for (const auto& [name, entry] : *entries) {
            if (!entry.is_string() && !entry.is_number())
                return fail_at(place_of(entry.source(), file_), 0, "'{}.{}' must be a text or a number", key,
                               name.str());
            found.push_back({std::string(name.str()), source_text(entry, file_)});
        }
        // The file's order, which toml++ does not keep.
        std::ranges::sort(found, {}, [](const NamedText& one) { return std::pair(one.text.line, one.text.column); });
        return {};
    }

    const toml::table& table_;
    const std::string& file_;
};

Result<ModelSource> read_builtin(const BuiltinFile& file) {
    const std::string path = "share/sim/" + std::string(file.path);
    try {
        return read_model_table(toml::parse(file.text, path), path);
    } catch (const toml::parse_error& error) {
        return fail(ErrorKind::Format, "{}:{}: {}", path, error.source().begin.line, error.description());
    }
}

std::string file_stem(std::string_view path) {
    const size_t start = path.find('/') + 1;
    return std::string(path.substr(start, path.rfind('.') - start));
}

template <class Source>
std::vector<std::string> builtin_names() {
    std::vector<std::string> names;
    for (const BuiltinFile& file : builtin_files()) {
        if (!file.path.starts_with("models/")) continue;
        const Result<ModelSource> model = read_builtin(file);
        if (model && std::holds_alternative<Source>(*model)) names.push_back(file_stem(file.path));
    }
    return names;
}

template <class Source>
Result<Source> builtin_model(const std::string& name, std::string_view kind) {
    for (const BuiltinFile& file : builtin_files()) {
        if (file.path != "models/" + name + ".toml") continue;
        RIFTJIT_TRY(model, read_builtin(file));
        if (Source* source = std::get_if<Source>(&model)) return std::move(*source);
    }
    return fail(ErrorKind::Usage, "no {} model '{}' is built in{}", kind, name,
                suggestion(name, builtin_names<Source>()));
}

}  // namespace

Result<ModelSource> read_model_table(const toml::table& table, const std::string& file) {
    return ModelReader(table, file).read();
}

Result<NeuronModelSource> builtin_neuron_model(const std::string& name) {
    return builtin_model<NeuronModelSource>(name, "neuron");
}
Result<SynapseModelSource> builtin_synapse_model(const std::string& name) {
    return builtin_model<SynapseModelSource>(name, "synapse");
}
std::vector<std::string> builtin_neuron_model_names() { return builtin_names<NeuronModelSource>(); }
std::vector<std::string> builtin_synapse_model_names() { return builtin_names<SynapseModelSource>(); }

Result<Method> parse_method(const SourceText& text) {
    std::vector<std::string> known;
    for (const auto& [name, method] : kMethods) {
        if (text.text == name) return method;
        known.emplace_back(name);
    }
    return fail_at(text, 0, "unknown method '{}': expected {}{}", text.text, fmt::join(known, ", "),
                   suggestion(text.text, known));
}

SourceText source_text(const toml::node& value, const std::string& file) {
    const toml::source_region& region = value.source();
    SourceText text{"", file, region.begin.line, region.begin.column};
    if (const auto* number = value.as_integer()) text.text = fmt::format("{}", number->get());
    if (const auto* number = value.as_floating_point()) text.text = fmt::format("{}", number->get());
    const auto* string = value.as_string();
    if (string == nullptr) return text;
    text.text = string->get();
    // After the quotes: one, or three where the region is wider or spans lines. A newline just after three of them is
    // not part of the text, which then starts on the next line.
    const auto newlines = static_cast<uint32_t>(std::ranges::count(text.text, '\n'));
    const uint32_t lines = region.end.line - region.begin.line;
    if (lines > newlines) {
        text.line += lines - newlines;
        text.column = 1;
    } else {
        const bool is_long = lines > 0 || region.end.column - region.begin.column >= text.text.size() + 6;
        text.column += is_long ? 3 : 1;
    }
    return text;
}

}  // namespace riftjit::sim
