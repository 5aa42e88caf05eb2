#include "models/folder/model_file.h"

#include "host/utf8.h"
#include "models/folder/encoders.h"
#include "models/folder/quantised.h"
#include "models/folder/rewriting.h"
#include "models/folder/tensors.h"
#include "models/folder/tokenizer.h"
#include "models/gguf/gguf_text.h"

namespace riftjit::models {

namespace folder {

namespace {

constexpr uint64_t kMostConfigFileBytes = 64ull << 20;

Result<const Family*> family_of(const Config& config) {
    const Config::Found found = config.find({"architectures"});
    const bool is_list = found && found.value->is_array() && !found.value->empty() && (*found.value)[0].is_string();
    if (!is_list)
        return fail(ErrorKind::Format, "{} is {}; expected is a list with the name of the model's class",
                    config.place("architectures"), found ? shown(*found.value) : "absent");
    const auto model_class = (*found.value)[0].get<std::string>();
    if (const Family* family = find_family(model_class)) return family;
    return fail(ErrorKind::Unsupported, "{} is '{}', of which no folder is read; known are {}",
                config.place("architectures"), printable(model_class), folder_classes());
}

Result<Gguf> open_folder(const std::filesystem::path& path) {
    const std::filesystem::path config_path = path / "config.json";
    std::error_code ignored;
    if (!std::filesystem::exists(config_path, ignored))
        return fail(ErrorKind::Io,
                    "{}: this is a folder without config.json; expected is a GGUF file, or a folder as "
                    "transformers saves it",
                    printable_path(path));
    RIFTJIT_TRY(json, read_object(config_path, kMostConfigFileBytes));
    const Config config(printable_path(config_path), std::move(json));
    RIFTJIT_TRY(family, family_of(config));
    RIFTJIT_TRY(weights, read_weights(path));

    GgufPresentation presentation;
    presentation.path = path;
    presentation.format = "safetensors";
    presentation.warnings = std::move(weights.warnings);
    RIFTJIT_TRY_VOID(dequantise(config, weights, presentation.owned));
    Rewriter rewriter(config, weights, presentation.owned);
    if (family->rewrite != nullptr) RIFTJIT_TRY_VOID(family->rewrite(rewriter));
    RIFTJIT_TRY(architecture, family->architecture_of == nullptr ? Result<std::string_view>(family->architecture)
                                                                 : family->architecture_of(config));
    GgufWriter writer;
    writer.set_string("general.architecture", architecture);
    writer.set_string("general.type", "model");
    const std::filesystem::path whole = std::filesystem::weakly_canonical(path, ignored);
    writer.set_string("general.name", replace_invalid(whole.filename().native()));
    Keys keys(config, architecture, writer, presentation.key_places);
    RIFTJIT_TRY_VOID(family->set_keys(keys));
    if (family->architecture == "bert") RIFTJIT_TRY_VOID(tell_pooling(path, keys));
    RIFTJIT_TRY(rows, tell_tensors(*family, keys, weights, writer, presentation));
    RIFTJIT_TRY_VOID(tell_tokenizer(path, config, *family, rows, writer, presentation));
    presentation.index = writer.finish();
    presentation.files = std::move(weights.files);
    return Gguf::present(std::move(presentation));
}

}  // namespace

}  // namespace folder

std::string folder_classes() {
    std::string list;
    for (const folder::Family& family : folder::families()) {
        std::string classes(family.classes);
        for (size_t at = classes.find(' '); at != std::string::npos; at = classes.find(' ', at + 2))
            classes.replace(at, 1, ", ");
        list += (list.empty() ? "" : ", ") + classes;
    }
    return list;
}

Result<Gguf> open_model_file(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored) ? folder::open_folder(path) : Gguf::open(path);
}

}  // namespace riftjit::models
