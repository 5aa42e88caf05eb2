#include "tools/model/supported_report.h"

#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "jit/kernel_spec.h"
#include "models/model.h"
#include "models/tokenizer/tokenizer_kinds.h"

namespace riftjit::tools {

namespace {

using Names = std::vector<std::string_view>;

Names architecture_names() {
    Names names;
    for (const models::Architecture* architecture : models::architectures()) names.push_back(architecture->name);
    return names;
}

Names pretokenizer_names(const models::VocabularyKind& kind) {
    Names names;
    if (!kind.fixed_pretokenizer.empty()) {
        names.push_back(kind.fixed_pretokenizer);
    } else if (kind.has_pretokenizer) {
        for (const models::PretokenizerRule& rule : models::pretokenizer_rules()) names.push_back(rule.name);
    }
    return names;
}

Names tensor_types() {
    Names names;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) names.push_back(type.name);
    return names;
}

// The types for which a cache can be asked of the kernels.
Names cache_types() {
    Names names;
    for (const DTypeTraits& type : all_dtypes())
        if (validate(ValueStoreSpec{.kv_heads = 1, .head_dim = 128, .row_stride = 128, .cache_type = type.type}))
            names.push_back(type.name);
    return names;
}

// Names in lines of at most 100 characters, each line indented.
std::string wrapped(const Names& names, size_t indent) {
    constexpr size_t kWidth = 100;
    std::string text, line(indent, ' ');
    for (const std::string_view name : names) {
        if (line.size() > indent && line.size() + 1 + name.size() > kWidth) {
            text += line + "\n";
            line.assign(indent, ' ');
        }
        if (line.size() > indent) line += ' ';
        line += name;
    }
    return text + line + "\n";
}

}  // namespace

std::string supported_text() {
    std::string text = "Architectures\n" + wrapped(architecture_names(), 2) + "\nTokenizers\n";
    for (const models::VocabularyKind& kind : models::vocabulary_kinds()) {
        text += fmt::format("  {:<10} {}: {}\n", kind.model, kind.name, kind.text);
        if (kind.fixed_pretokenizer.empty() && kind.has_pretokenizer) text += wrapped(pretokenizer_names(kind), 4);
    }
    text += "\nTensor types\n" + wrapped(tensor_types(), 2);
    text += "\nCache types\n" + wrapped(cache_types(), 2);
    return text;
}

nlohmann::ordered_json supported_json() {
    nlohmann::ordered_json tokenizers = nlohmann::ordered_json::array();
    for (const models::VocabularyKind& kind : models::vocabulary_kinds())
        tokenizers.push_back({{"model", kind.model},
                              {"kind", kind.name},
                              {"algorithm", kind.text},
                              {"pretokenizers", pretokenizer_names(kind)}});
    return {{"architectures", architecture_names()},
            {"tokenizers", std::move(tokenizers)},
            {"tensor_types", tensor_types()},
            {"cache_types", cache_types()}};
}

}  // namespace riftjit::tools
