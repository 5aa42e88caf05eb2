#include "engine/model_files.h"

namespace riftjit::engine {

Result<std::filesystem::path> shipped_model() {
    constexpr std::string_view kName = "storyteller-9m-q8_0.gguf";
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::filesystem::path prefix = program.parent_path().parent_path();
    const std::filesystem::path candidates[] = {
        prefix / "share/riftjit/models/storyteller" / kName,  // installed
        prefix / "share/models/storyteller" / kName,          // build/ in the source tree
        std::filesystem::path(RIFTJIT_SHARE_DIR) / "models/storyteller" / kName,
    };
    for (const auto& candidate : candidates)
        if (std::filesystem::exists(candidate, error)) return candidate;
    return fail(ErrorKind::Io, "no -m FILE, and the shipped model was not found at {}", candidates[0].string());
}

Result<std::filesystem::path> named_or_shipped(const std::filesystem::path& path) {
    return path.empty() ? shipped_model() : path;
}

Result<models::Model> open_model(const std::filesystem::path& path, const Warn& warn,
                                 std::span<const models::LoraRequest> adapters, const models::Purpose& purpose) {
    RIFTJIT_TRY(found, named_or_shipped(path));
    RIFTJIT_TRY(model, models::load_model(found, purpose));
    for (const std::string& warning : model.warnings) warn(warning);
    for (const models::LoraRequest& adapter : adapters) RIFTJIT_TRY_VOID(models::add_lora(model, adapter));
    return std::move(model);
}

}  // namespace riftjit::engine
