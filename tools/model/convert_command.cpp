#include "tools/model/convert_command.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "host/json_text.h"
#include "models/folder/conversion.h"
#include "models/folder/model_file.h"
#include "models/gguf/gguf_text.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/output_file.h"
#include "tools/cli/reporter.h"
#include "tools/cli/step_progress.h"

namespace riftjit::tools {

namespace {

constexpr uint64_t kMegabyte = 1'000'000;

struct FolderConversion {
    std::string folder, output, type = "auto";
    bool force = false, json = false;
};

Result<void> check_paths(const FolderConversion& options) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(options.folder, ignored))
        return fail(ErrorKind::Usage, "{}: {}; convert takes a folder as transformers saves it",
                    models::printable_path(options.folder),
                    std::filesystem::exists(options.folder, ignored) ? "is no folder" : "there is no such folder");
    return check_output_file("OUT", options.output, options.force);
}

Result<void> write_model(const FolderConversion& options, const models::Gguf& file,
                         const models::Conversion& conversion) {
    const auto cannot = [&](const Error& error) {
        return fail(error.kind, "cannot write {}: {}", models::printable_path(options.output), error.message);
    };
    auto output = ReplacedFile::create(options.output);
    if (!output) return cannot(output.error());
    StepProgress progress(std::max<uint64_t>(conversion.index.file_bytes / kMegabyte, 1), "MB");
    uint64_t written = 0;
    RIFTJIT_TRY_VOID(models::write_converted(file, conversion, [&](std::span<const std::byte> bytes) -> Result<void> {
        if (auto done = output->append(bytes); !done) return cannot(done.error());
        written += bytes.size();
        progress.show(written / kMegabyte);
        return {};
    }));
    if (auto done = output->finish(); !done) return cannot(done.error());
    return {};
}

Result<int> convert_folder(const FolderConversion& options) {
    RIFTJIT_TRY_VOID(check_paths(options));
    end_on_interrupts();
    Reporter reporter;
    RIFTJIT_TRY(file, models::open_model_file(options.folder));
    for (const std::filesystem::path& part : file.paths())
        if (is_same_file(options.output, part.string()))
            return fail(ErrorKind::Usage, "{}: is a file of the model; name another", options.output);
    for (const std::string& warning : file.warnings()) reporter.warn(warning);
    std::optional<DType> type;
    if (options.type != "auto") type = dtype_from_name(options.type);
    const models::Conversion conversion = models::plan_conversion(file, type);
    const std::string_view type_name = name(conversion.matrix_type);
    if (conversion.narrowed > 0 && !type)
        reporter.warn(fmt::format("{} matrices are rounded to {}; --outtype f32 keeps all digits", conversion.narrowed,
                                  type_name));
    RIFTJIT_TRY_VOID(write_model(options, file, conversion));
    const std::string_view architecture = file.string("general.architecture")->value_or("");
    if (options.json) {
        write_output(json_text(nlohmann::ordered_json{{"output", options.output},
                                                      {"architecture", architecture},
                                                      {"type", type_name},
                                                      {"tensors", file.tensors().size()},
                                                      {"bytes", conversion.index.file_bytes}}) +
                     "\n");
    } else {
        write_output(fmt::format("{}: {}, {}, {} tensors, {} bytes\n", models::printable_path(options.output),
                                 architecture, type_name, file.tensors().size(), conversion.index.file_bytes));
    }
    return kExitDone;
}

constexpr const char* kConvertExamples =
    "Examples:\n"
    "  riftjit convert Qwen3-0.6B qwen3.gguf                 weights as they are stored: bf16 or f16\n"
    "  riftjit convert Qwen3-0.6B qwen3-f32.gguf --outtype f32\n"
    "  riftjit run -m Qwen3-0.6B -p \"...\"                    runs the folder without a file\n"
    "Metadata, names and values are those of llama.cpp's converter, which opens the file. What the folder's README\n"
    "tells of authors and licences is not copied.";

}  // namespace

void add_convert_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("convert", "Make a GGUF file of a folder as transformers saves it");
    command->footer(kConvertExamples);
    const auto options = std::make_shared<FolderConversion>();
    command->add_option("FOLDER", options->folder, "config.json, safetensors and the tokenizer's files")
        ->required()
        ->check(file_name());
    command->add_option("OUT", options->output, "the GGUF file to write")->required()->check(file_name());
    add_choice(*command, "--outtype", options->type, {"auto", "f32", "f16", "bf16"},
               "type of the matrices; auto: bf16 or f16, as they are stored");
    command->add_flag("--force", options->force, "replace the file if it exists");
    command->add_flag("--json", options->json, "print one JSON object");
    on_chosen(*command, chosen, [options] {
        const auto done = convert_folder(*options);
        return done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
