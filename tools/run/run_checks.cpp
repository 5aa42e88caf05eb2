#include "tools/run/run_checks.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>

#include "host/file_kind.h"
#include "models/gguf/gguf_data_check.h"
#include "tools/cli/input_file.h"
#include "tools/cli/output_file.h"
#include "tools/cli/progress.h"

namespace riftjit::tools {

void lock_weights(const runtime::Session& session, Reporter& reporter) {
    const auto locked = session.lock_weights();
    if (locked) return;
    rlimit limit{};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    reporter.warn(fmt::format("mlock: {}; {} bytes of weights, limit {} (ulimit -l)", locked.error().message,
                              session.packed_bytes(),
                              limit.rlim_cur == RLIM_INFINITY ? "none" : std::to_string(limit.rlim_cur)));
}

Result<void> check_weights(const models::Gguf& file, Reporter& reporter) {
    const Progress progress("checking the weights");
    std::string first_error;
    for (const models::Finding& finding : models::check_tensors(file)) {
        if (finding.level == models::FindingLevel::note) continue;
        if (finding.level == models::FindingLevel::error && first_error.empty()) first_error = finding.message;
        if (finding.level == models::FindingLevel::warning) reporter.warn(finding.message);
    }
    if (!first_error.empty()) return fail(ErrorKind::Format, "{}", first_error);
    return {};
}

bool uses_template(const RunOptions& options, const models::Gguf& file) {
    if (options.conversation == Toggle::off || options.prompt_ids) return false;
    const bool is_given = !options.chat_template.empty() || !options.chat_template_file.empty();
    return is_given || file.find("tokenizer.chat_template") != nullptr;
}

Result<std::optional<Target>> listed_target(const RunOptions& options) {
    if (options.targets.empty()) return std::nullopt;
    if (!options.dump_isa && !options.print_plan)
        return fail(
            ErrorKind::Usage,
            "--target {}: goes with --dump-isa, --print-plan or --predict; --device says what the model runs on",
            name(options.targets.front()));
    if (options.targets.size() > 1)
        return fail(ErrorKind::Usage, "--target {},{}: --dump-isa and --print-plan are for one target",
                    name(options.targets[0]), name(options.targets[1]));
    return options.targets.front();
}

Result<void> check_dump(const RunOptions& options) {
    if (options.dump_logits.empty()) return {};
    RIFTJIT_TRY_VOID(check_output(options.dump_logits));
    const std::pair<const char*, const std::string&> inputs[] = {{"-f", options.prompt_file},
                                                                 {"-bf", options.binary_file},
                                                                 {"-sysf", options.system_prompt_file},
                                                                 {"--chat-template-file", options.chat_template_file},
                                                                 {"--grammar-file", options.grammar_file},
                                                                 {"-jf", options.json_schema_file},
                                                                 {"-md", options.draft.model}};
    for (const auto& [flag, path] : inputs)
        if (!path.empty() && is_same_file(options.dump_logits, path))
            return fail(ErrorKind::Usage, "--dump-logits {}: the logits would replace the file of {}",
                        options.dump_logits, flag);
    return {};
}

Result<void> check_prompt_cache(const RunOptions& options) {
    const auto& [path, keeps_all, is_read_only] = options.prompt_cache;
    if (path.empty()) return {};
    if (!options.loras.empty() || !options.scaled_loras.empty())
        return fail(ErrorKind::Usage, "--prompt-cache: with --lora texts are not kept in this build");
    if (is_same_file(path, options.model) || is_same_file(path, options.prompt_file) ||
        is_same_file(path, options.binary_file) || is_same_file(path, options.system_prompt_file))
        return fail(ErrorKind::Usage, "--prompt-cache {}: it would replace a file that is read", path);
    struct stat status{};
    if (stat(path.c_str(), &status) == 0)
        if (const auto regular = require_regular_file(status, path); !regular)
            return fail(ErrorKind::Usage, "--prompt-cache {}", regular.error().message);
    return is_read_only ? Result<void>{} : check_output(path);
}

Result<void> check_dump(const RunOptions& options, const models::Gguf& model) {
    if (options.dump_logits.empty()) return {};
    for (const std::filesystem::path& part : model.paths())
        if (is_same_file(options.dump_logits, part.string()))
            return fail(ErrorKind::Usage, "--dump-logits {}: the logits would replace the model", options.dump_logits);
    return {};
}

}  // namespace riftjit::tools
