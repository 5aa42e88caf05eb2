#include "tools/model/inspect_report.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>

#include "host/json_text.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::tools {

using models::Finding;
using models::FindingLevel;
using models::GgufArray;
using models::GgufTensor;
using models::GgufType;
using models::GgufValue;

namespace {

constexpr uint64_t kShownElements = 8;  // of an array

uint64_t parameters(const GgufTensor& tensor) {
    return std::accumulate(tensor.ne.begin(), tensor.ne.end(), uint64_t{1}, std::multiplies{});
}

struct TypeTotal {
    uint64_t tensors = 0, parameters = 0, bytes = 0;
    double bits_per_weight() const { return parameters == 0 ? 0.0 : 8.0 * bytes / parameters; }
};

// By name of the type, and the sum over all.
struct Totals {
    std::map<std::string, TypeTotal, std::less<>> types;
    TypeTotal all;
};

Totals count(const models::Gguf& file) {
    Totals totals;
    for (const GgufTensor& tensor : file.tensors())
        for (TypeTotal* total : {&totals.types[std::string(name(tensor.type))], &totals.all}) {
            ++total->tensors;
            total->parameters += parameters(tensor);
            total->bytes += tensor.size_bytes;
        }
    return totals;
}

// ---- values ----

// The shortest decimal number that reads back as this float: 1e-06, not 9.999999974752427e-07.
double shortest(float value) { return std::strtod(fmt::to_string(value).c_str(), nullptr); }

nlohmann::ordered_json scalar_json(GgufType type, const GgufValue& value) {
    if (const auto* number = std::get_if<uint64_t>(&value)) return *number;
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    if (const auto* text = std::get_if<std::string_view>(&value)) return *text;
    const double number = std::get<double>(value);
    return type == GgufType::f32 ? shortest(static_cast<float>(number)) : number;
}

nlohmann::ordered_json first_elements(const models::Gguf& file, const models::GgufEntry& entry,
                                      const GgufArray& array) {
    nlohmann::ordered_json first = nlohmann::ordered_json::array();
    if (array.element_type == GgufType::string) {
        const auto strings = file.strings(entry.key);
        if (!strings || !*strings) return first;  // the file has changed since it was opened
        for (const std::string_view text : std::span(**strings).first(std::min(array.count, kShownElements)))
            first.push_back(text);
        return first;
    }
    for (uint64_t i = 0; i < std::min(array.count, kShownElements); ++i)
        first.push_back(scalar_json(array.element_type, element(array, i)));
    return first;
}

nlohmann::ordered_json value_json(const models::Gguf& file, const models::GgufEntry& entry) {
    const auto* array = std::get_if<GgufArray>(&entry.value);
    if (array == nullptr) return scalar_json(entry.type, entry.value);
    return {{"element_type", type_name(array->element_type)},
            {"count", array->count},
            {"first", first_elements(file, entry, *array)}};
}

std::string unquoted(const nlohmann::ordered_json& value) {
    return value.is_string() ? models::printable(value.get<std::string>()) : json_text(value);
}

std::string value_text(const models::Gguf& file, const models::GgufEntry& entry) {
    const auto* array = std::get_if<GgufArray>(&entry.value);
    if (array == nullptr) return unquoted(scalar_json(entry.type, entry.value));
    std::string text = fmt::format("{} x {}:", array->count, type_name(array->element_type));
    for (const auto& value : first_elements(file, entry, *array))
        text += fmt::format(" {0}{1}{0}", value.is_string() ? "\"" : "", unquoted(value));
    return array->count > kShownElements ? text + " ..." : text;
}

nlohmann::ordered_json hyperparameters_json(const models::Hyperparameters& hyper) {
    nlohmann::ordered_json json = {{"architecture", hyper.architecture},
                                   {"name", hyper.name},
                                   {"layers", hyper.layers},
                                   {"width", hyper.width},
                                   {"ffn_width", hyper.ffn_width},
                                   {"heads", hyper.heads},
                                   {"kv_heads", hyper.kv_heads},
                                   {"head_dim", hyper.head_dim},
                                   {"rotary_dims", hyper.rope.rotary_dims},
                                   {"rotary_pairs", hyper.pairing == RopePairing::adjacent ? "adjacent" : "half"},
                                   {"rope_base", shortest(hyper.rope.base)},
                                   {"rope_scale", shortest(hyper.rope.scale)},
                                   {"norm_epsilon", shortest(hyper.norm_epsilon)},
                                   {"context_length", hyper.context_length},
                                   {"vocabulary", hyper.vocabulary},
                                   {"tied_output", hyper.tied_output}};
    if (const models::ExpertHyperparameters& experts = hyper.experts; experts.count != 0) {
        json["experts"] = experts.count;
        json["experts_used"] = experts.used;
        if (experts.groups > 1) json["expert_groups"] = experts.groups;
    }
    if (hyper.latent.kv_rank != 0) json["latent_width"] = hyper.head_dim;
    return json;
}

// Those that stand at the ends of a text.
std::array<std::pair<const char*, std::optional<int32_t>>, 2> end_tokens(const models::Tokenizer& tokenizer) {
    return {{{"bos", tokenizer.bos()}, {"eos", tokenizer.eos()}}};
}

nlohmann::ordered_json tokenizer_json(const models::Tokenizer& tokenizer) {
    nlohmann::ordered_json json = {{"kind", tokenizer.kind()}, {"algorithm", tokenizer.algorithm()}};
    if (!tokenizer.pre().empty()) json["pretokenizer"] = tokenizer.pre();
    json["tokens"] = tokenizer.size();
    json["adds_begin"] = tokenizer.adds_bos();
    json["adds_end"] = tokenizer.adds_end();
    json["end_of_generation"] = tokenizer.end_of_generation();
    return json;
}

std::string_view level_name(FindingLevel level) {
    switch (level) {
        case FindingLevel::note:
            return "note";
        case FindingLevel::warning:
            return "warning";
        case FindingLevel::error:
            return "error";
    }
    return "";
}

std::string findings_text(const std::vector<Finding>& findings) {
    std::string text = "\nTensor data\n";
    uint64_t notes = 0;
    for (const Finding& finding : findings) {
        if (finding.level != FindingLevel::note)
            text += fmt::format("  {}: {}\n", level_name(finding.level), finding.message);
        else
            ++notes;
    }
    if (notes > 0)
        text += fmt::format(
            "  note: {} tensors have subnormal or negative-zero scales, which are legal (--json names them)\n", notes);
    if (notes == findings.size()) text += "  every value and every scale is a number; no holes of zeros\n";
    return text;
}

}  // namespace

nlohmann::ordered_json to_json(const Inspection& inspection) {
    const models::Gguf& file = inspection.file;
    const Totals totals = count(file);
    nlohmann::ordered_json json = {{"file", file.path().string()},
                                   {"version", file.version()},
                                   {"bytes", file.file_bytes()},
                                   {"parameters", totals.all.parameters},
                                   {"bits_per_weight", totals.all.bits_per_weight()}};
    if (inspection.model) {
        json["hyperparameters"] = hyperparameters_json(inspection.model->hyperparameters);
        for (const auto& [key, id] : end_tokens(*inspection.tokenizer)) {
            json[key] = nullptr;
            if (id) json[key] = *id;
        }
        json["ignored_tensors"] = inspection.model->ignored_tensors;
        json["warnings"] = inspection.model->warnings;
    }
    if (inspection.tokenizer) json["tokenizer"] = tokenizer_json(*inspection.tokenizer);
    for (const char* list : {"metadata", "tensors", "types"}) json[list] = nlohmann::ordered_json::array();
    for (const models::GgufEntry& entry : file.entries()) {
        json["metadata"].push_back(
            {{"key", entry.key}, {"type", type_name(entry.type)}, {"value", value_json(file, entry)}});
    }
    for (const GgufTensor& tensor : file.tensors())
        json["tensors"].push_back({{"name", tensor.name},
                                   {"type", name(tensor.type)},
                                   {"shape", tensor.ne},
                                   {"bytes", tensor.size_bytes},
                                   {"offset", tensor.data_offset_bytes}});
    for (const auto& [type, total] : totals.types)
        json["types"].push_back(
            {{"type", type}, {"tensors", total.tensors}, {"parameters", total.parameters}, {"bytes", total.bytes}});
    if (inspection.findings) {
        json["findings"] = nlohmann::ordered_json::array();
        for (const Finding& finding : *inspection.findings)
            json["findings"].push_back(
                {{"level", level_name(finding.level)}, {"tensor", finding.tensor}, {"message", finding.message}});
    }
    return json;
}

std::string to_text(const Inspection& inspection) {
    const models::Gguf& file = inspection.file;
    const Totals totals = count(file);
    std::string text = fmt::format(
        "{}: {}, {} bytes, {} tensors, {} parameters, {:.3f} bits per weight\n", models::printable_path(file.path()),
        file.format() == "GGUF" ? fmt::format("GGUF version {}", file.version()) : std::string(file.format()),
        file.file_bytes(), totals.all.tensors, totals.all.parameters, totals.all.bits_per_weight());
    if (inspection.model) {
        text += "\nModel\n";
        const nlohmann::ordered_json hyperparameters = hyperparameters_json(inspection.model->hyperparameters);
        for (const auto& [key, value] : hyperparameters.items())
            text += fmt::format("  {:<16} {}\n", key, unquoted(value));
        for (const auto& [key, id] : end_tokens(*inspection.tokenizer))
            text += fmt::format(
                "  {}: {}\n", key,
                id ? fmt::format("{} '{}'", *id, models::escaped(inspection.tokenizer->piece(*id))) : "none");
    }
    if (inspection.tokenizer) {
        text += "\nTokenizer\n";
        const nlohmann::ordered_json tokenizer = tokenizer_json(*inspection.tokenizer);
        for (const auto& [key, value] : tokenizer.items()) text += fmt::format("  {:<17} {}\n", key, unquoted(value));
    }
    text += fmt::format("\nMetadata ({})\n", file.entries().size());
    for (const models::GgufEntry& entry : file.entries())
        text += fmt::format("  {:<42} {:<7} {}\n", models::printable(entry.key), type_name(entry.type),
                            value_text(file, entry));
    text += fmt::format("\nTensors ({})\n", file.tensors().size());
    for (const GgufTensor& tensor : file.tensors())
        text += fmt::format("  {:<36} {:<8} {:<20} {:>12} bytes\n", models::printable(tensor.name), name(tensor.type),
                            fmt::format("[{}]", fmt::join(tensor.ne, ", ")), tensor.size_bytes);
    if (inspection.model && !inspection.model->ignored_tensors.empty()) {
        text += fmt::format("\nIgnored tensors ({})\n", inspection.model->ignored_tensors.size());
        for (const std::string& tensor : inspection.model->ignored_tensors)
            text += fmt::format("  {}\n", models::printable(tensor));
    }
    text += "\nTypes\n";
    for (const auto& [type, total] : totals.types)
        text += fmt::format("  {:<8} {:>5} tensors {:>14} parameters {:>14} bytes {:>8.4f} bits per weight\n", type,
                            total.tensors, total.parameters, total.bytes, total.bits_per_weight());
    if (inspection.findings) text += findings_text(*inspection.findings);
    return text;
}

}  // namespace riftjit::tools
