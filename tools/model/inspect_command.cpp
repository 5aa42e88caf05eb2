#include "tools/model/inspect_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "engine/model_files.h"
#include "host/json_text.h"
#include "models/folder/model_file.h"
#include "models/tokenizer/tokenizer.h"
#include "tools/cli/options.h"
#include "tools/cli/reporter.h"
#include "tools/model/inspect_report.h"
#include "tools/model/supported_report.h"

namespace riftjit::tools {

namespace {

constexpr const char* kInspectExamples =
    "Examples:\n"
    "  riftjit inspect model.gguf                    hyperparameters, metadata, tensors, totals per type\n"
    "  riftjit inspect model.gguf --json | jq .types\n"
    "  riftjit inspect model.gguf --check-tensors    also read every weight: NaN, infinity, holes of zeros\n"
    "  riftjit inspect other.gguf --file-only        what is stored, for architectures that riftjit does not run\n"
    "  riftjit inspect --supported                   architectures, tokenizers and types that riftjit knows";

// Everything that `riftjit run` checks before it packs weights.
Result<Inspection> look_at(const std::filesystem::path& path, InspectDepth depth) {
    if (depth == InspectDepth::file) {
        RIFTJIT_TRY(file, models::open_model_file(path));
        return Inspection{file, std::nullopt, std::nullopt, std::nullopt};
    }
    RIFTJIT_TRY(model, models::load_model(path));
    RIFTJIT_TRY(tokenizer, models::Tokenizer::from_gguf(model.file));
    return Inspection{model.file, model, tokenizer, std::nullopt};
}

// The worst of what --check-tensors found becomes the command's error.
Result<void> judge(const std::vector<models::Finding>& findings) {
    const auto is_error = [](const models::Finding& finding) { return finding.level == models::FindingLevel::error; };
    const auto first = std::ranges::find_if(findings, is_error);
    if (first == findings.end()) return {};
    const auto others = std::ranges::count_if(findings, is_error) - 1;
    return fail(ErrorKind::Format, "{}{}", first->message,
                others == 0 ? "" : fmt::format(" (and {} tensors more: --json names them)", others));
}

void print_json(const Inspection& inspection) { fmt::print("{}\n", json_text(to_json(inspection), 2)); }

}  // namespace

int inspect(const InspectOptions& options) {
    if (options.subject == InspectSubject::program) {
        fmt::print("{}",
                   options.output == InspectOutput::json ? json_text(supported_json(), 2) + "\n" : supported_text());
        return kExitDone;
    }
    Reporter reporter;
    const auto path = engine::named_or_shipped(options.model);
    if (!path) return report(path.error());
    auto inspection = look_at(*path, options.depth);
    if (!inspection) return report(inspection.error());
    if (options.tensor_data == TensorData::checked) inspection->findings = models::check_tensors(inspection->file);

    const auto verdict = judge(inspection->findings.value_or(std::vector<models::Finding>()));
    if (options.output == InspectOutput::json) print_json(*inspection);
    if (!verdict) return report(verdict.error());
    for (const std::string& warning : inspection->model ? inspection->model->warnings : std::vector<std::string>())
        reporter.warn(warning);
    if (options.output == InspectOutput::text) fmt::print("{}", to_text(*inspection));
    return kExitDone;
}

void add_inspect_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("inspect", "Show what a model file holds, after checking all of it");
    const auto options = std::make_shared<InspectOptions>();
    command->footer(kInspectExamples);
    CLI::Option* file = command
                            ->add_option("FILE,-m,--model", options->model,
                                         "GGUF file or folder (default: the model that ships with riftjit)")
                            ->check(file_name());
    command->add_flag_callback("--json", [options] { options->output = InspectOutput::json; }, "Print one JSON object");
    CLI::Option* check_tensors = command->add_flag_callback(
        "--check-tensors", [options] { options->tensor_data = TensorData::checked; },
        "Read every tensor and report NaN, infinity and holes of zeros; exit 1 when a value is no number");
    CLI::Option* file_only = command->add_flag_callback(
        "--file-only", [options] { options->depth = InspectDepth::file; },
        "Check the file's structure only, not its architecture and vocabulary");
    command
        ->add_flag_callback(
            "--supported", [options] { options->subject = InspectSubject::program; },
            "List what riftjit can open instead: architectures, tokenizers, tensor types, cache types")
        ->excludes(file)
        ->excludes(check_tensors)
        ->excludes(file_only);
    on_chosen(*command, chosen, [options] { return inspect(*options); });
}

}  // namespace riftjit::tools
