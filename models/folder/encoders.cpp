#include "models/folder/encoders.h"

#include "models/gguf/gguf_text.h"

namespace riftjit::models::folder {

namespace {

constexpr uint64_t kMostModuleBytes = 1ull << 20;

bool is_set(const Json& object, std::string_view key) {
    const Json* const value = find(object, key);
    return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::string module_text(const Json& object, std::string_view key) {
    const Json* const value = find(object, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

// The folder of the module of pooling; empty: none.
Result<std::string> pooling_folder(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder / "modules.json";
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::string();
    RIFTJIT_TRY(text, read_text(path, kMostModuleBytes));
    // A list, which is read as a member of an object: what is checked of those is checked of it.
    RIFTJIT_TRY(object, parse_object(printable_path(path), "{\"modules\": " + text + "}"));
    const Json& modules = object["modules"];
    if (!modules.is_array())
        return fail(ErrorKind::Format, "{}: {}; expected is a list of modules", printable_path(path), shown(modules));
    for (const Json& each : modules)
        if (module_text(each, "type").ends_with("Pooling")) return module_text(each, "path");
    return std::string();
}

// llama.cpp's numbers.
constexpr uint32_t kMean = 1, kFirst = 2, kLast = 3;

std::optional<uint32_t> pooling_of(const Json& settings) {
    const std::string mode = module_text(settings, "pooling_mode");
    if (is_set(settings, "pooling_mode_mean_tokens") || mode == "mean") return kMean;
    if (is_set(settings, "pooling_mode_cls_token") || mode == "cls") return kFirst;
    if (is_set(settings, "pooling_mode_lasttoken") || mode == "lasttoken") return kLast;
    return std::nullopt;
}

}  // namespace

Result<void> set_bert(Keys& keys) {
    RIFTJIT_TRY_VOID(keys.allow_only({"hidden_act"}, {"gelu"}));
    RIFTJIT_TRY_VOID(keys.allow_only({"position_embedding_type"}, {"absolute"}));
    RIFTJIT_TRY_VOID(keys.allow_only({"is_decoder"}, {false}));
    RIFTJIT_TRY_VOID(set_decoder_keys(keys));
    keys.set("attention.causal", false);
    return {};
}

Result<void> tell_pooling(const std::filesystem::path& folder, Keys& keys) {
    RIFTJIT_TRY(inner, pooling_folder(folder));
    if (inner.empty()) return {};
    const std::filesystem::path path = folder / inner / "config.json";
    RIFTJIT_TRY(settings, read_object(path, kMostModuleBytes));
    const auto pooling = pooling_of(settings);
    if (!pooling)
        return fail(ErrorKind::Unsupported, "{}: pooling that is neither of mean, nor of the first or last token",
                    printable_path(path));
    keys.set("pooling_type", *pooling);
    return {};
}

std::string wordpiece_text(std::string_view token, bool is_special) {
    if (is_special) return std::string(token);
    if (token.starts_with("##")) return std::string(token.substr(2));
    return "\xE2\x96\x81" + std::string(token);
}

}  // namespace riftjit::models::folder
