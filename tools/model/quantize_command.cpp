#include "tools/model/quantize_command.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/quantize/encode_row.h"
#include "host/cpus.h"
#include "host/json_text.h"
#include "models/folder/model_file.h"
#include "models/gguf/gguf_text.h"
#include "models/quantize/quantizer.h"
#include "tools/cli/input_file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/options.h"
#include "tools/cli/output.h"
#include "tools/cli/output_file.h"
#include "tools/cli/reporter.h"
#include "tools/cli/step_progress.h"

namespace riftjit::tools {

namespace {

using nlohmann::ordered_json;

constexpr int64_t kMostThreads = 4096;

struct QuantizeArguments {
    std::string input, output, type, threads_word;  // as they stand: IN [OUT] TYPE [NTHREADS]
    std::string importance, output_type, embedding_type, rules_file;
    std::vector<std::string> rules, included, excluded;
    int64_t threads = 0;
    bool pure = false, leaves_output = false, allows_requantizing = false, keeps_split = false;
    bool dry_run = false, force = false, json = false;
};

std::string file_type_names() {
    std::string names;
    for (const models::FileType& type : models::file_types())
        names += (names.empty() ? "" : ", ") + std::string(type.name);
    return names;
}

Result<DType> tensor_type(const std::string& flag, std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    const auto type = dtype_from_name(text);
    if (type && traits(*type).is_weight) return *type;
    std::string names;
    for (const DTypeTraits& known : all_dtypes())
        if (known.is_weight) names += (names.empty() ? "" : ", ") + std::string(known.name);
    return fail(ErrorKind::Usage, "{}: \"{}\" is not known, expected one of {}", flag, models::printable(text), names);
}

Result<models::TensorRule> tensor_rule(const std::string& flag, const std::string& text) {
    const size_t sign = text.rfind('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
        return fail(ErrorKind::Usage, "{}: expected PATTERN=TYPE, got \"{}\"", flag, models::printable(text));
    RIFTJIT_TRY(type, tensor_type(flag, text.substr(sign + 1)));
    models::TensorRule rule{text.substr(0, sign), type};
    for (char& c : rule.pattern) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;  // as llama-quantize takes it
    return rule;
}

class Quantize {
public:
    explicit Quantize(QuantizeArguments arguments) : arguments_(std::move(arguments)) {}

    Result<int> run() {
        RIFTJIT_TRY_VOID(sort_words());
        RIFTJIT_TRY_VOID(read_type_options());
        RIFTJIT_TRY_VOID(read_importance());
        end_on_interrupts();
        RIFTJIT_TRY(file, models::open_model_file(arguments_.input));
        for (const std::string& warning : file.warnings()) reporter_.warn(warning);
        RIFTJIT_TRY(plan, models::plan_quantization(file, options_));
        for (const std::string& warning : plan.warnings) reporter_.warn(warning);
        RIFTJIT_TRY_VOID(check_importance(plan));
        const std::vector<std::string> paths = output_paths(plan.parts.size());
        if (!arguments_.dry_run) {
            RIFTJIT_TRY_VOID(check_outputs(file, paths));
            RIFTJIT_TRY_VOID(write(file, plan, paths));
        }
        print(plan, paths);
        return kExitDone;
    }

private:
    // IN TYPE [NTHREADS] leaves the name to us.
    Result<void> sort_words() {
        auto found = models::find_file_type(arguments_.output);
        if (found) {
            if (!arguments_.threads_word.empty())
                return fail(ErrorKind::Usage, "a word too many: \"{}\"; expected IN [OUT] TYPE [NTHREADS]",
                            models::printable(arguments_.threads_word));
            arguments_.threads_word = arguments_.type;
            const std::filesystem::path folder = std::filesystem::path(arguments_.input).parent_path();
            arguments_.output = (folder / fmt::format("ggml-model-{}.gguf", found->name)).string();
        } else {
            if (arguments_.type.empty())
                return fail(ErrorKind::Usage, "\"{}\" is no type, and none follows; expected one of {}",
                            models::printable(arguments_.output), file_type_names());
            found = models::find_file_type(arguments_.type);
            if (!found)
                return fail(ErrorKind::Usage, "\"{}\" is not known, expected one of {}",
                            models::printable(arguments_.type), file_type_names());
        }
        options_.types.file_type = *found;
        if (arguments_.threads_word.empty()) return {};
        if (arguments_.threads != 0)
            return fail(ErrorKind::Usage, "-t {} and NTHREADS {} are the same; give one", arguments_.threads,
                        models::printable(arguments_.threads_word));
        arguments_.threads = parse_integer("NTHREADS", arguments_.threads_word, 1, kMostThreads);
        return {};
    }

    Result<void> read_type_options() {
        models::TypeOptions& types = options_.types;
        types.pure = arguments_.pure;
        types.quantizes_output = !arguments_.leaves_output;
        options_.allows_requantizing = arguments_.allows_requantizing;
        options_.keeps_split = arguments_.keeps_split;
        if (!arguments_.output_type.empty()) {
            RIFTJIT_TRY(type, tensor_type("--output-tensor-type", arguments_.output_type));
            types.output_type = type;
        }
        if (!arguments_.embedding_type.empty()) {
            RIFTJIT_TRY(type, tensor_type("--token-embedding-type", arguments_.embedding_type));
            types.embedding_type = type;
        }
        for (const std::string& text : arguments_.rules) {
            RIFTJIT_TRY(rule, tensor_rule("--tensor-type", text));
            types.rules.push_back(rule);
        }
        if (!arguments_.rules_file.empty()) {
            RIFTJIT_TRY(text, read_text_bytes(arguments_.rules_file));
            std::istringstream words(text);
            for (std::string word; words >> word;) {
                RIFTJIT_TRY(rule, tensor_rule("--tensor-type-file " + arguments_.rules_file, word));
                types.rules.push_back(rule);
            }
        }
        if (!types.rules.empty() && !is_quantized(types.file_type.type))
            reporter_.warn(fmt::format("--tensor-type: changes nothing with {}, whose tensors all have one type",
                                       types.file_type.name));
        return {};
    }

    Result<void> read_importance() {
        if (arguments_.importance.empty()) {
            if (!arguments_.included.empty() || !arguments_.excluded.empty())
                return fail(ErrorKind::Usage, "--include-weights and --exclude-weights go with --imatrix");
            return {};
        }
        RIFTJIT_TRY(matrix, models::ImportanceMatrix::open(arguments_.importance));
        importance_ = std::move(matrix);
        const auto has_any = [](const std::string& name, const std::vector<std::string>& parts) {
            return std::ranges::any_of(parts, [&](const std::string& part) { return name.find(part) != name.npos; });
        };
        std::erase_if(importance_->entries, [&](const auto& entry) {
            return has_any(entry.first, arguments_.excluded) ||
                   (!arguments_.included.empty() && !has_any(entry.first, arguments_.included));
        });
        if (importance_->entries.empty())
            return fail(ErrorKind::Usage, "{}: --include-weights and --exclude-weights leave none of its entries",
                        models::printable_path(arguments_.importance));
        options_.importance = &*importance_;
        options_.importance_file = arguments_.importance;
        options_.types.has_importance = true;
        return {};
    }

    Result<void> check_importance(const models::Quantization& plan) {
        if (!plan.lacks_importance) return {};
        const std::string line = fmt::format("{} needs an importance matrix (--imatrix): {} would be of no use without",
                                             options_.types.file_type.name, *plan.lacks_importance);
        if (!arguments_.dry_run) return fail(ErrorKind::Usage, "{}", line);
        reporter_.warn(line);
        return {};
    }

    std::vector<std::string> output_paths(size_t parts) const {
        if (!arguments_.keeps_split) return {arguments_.output};
        std::string prefix = arguments_.output;
        if (constexpr std::string_view kEnding = ".gguf"; prefix.ends_with(kEnding))
            prefix.resize(prefix.size() - kEnding.size());
        std::vector<std::string> paths;
        for (size_t part = 1; part <= parts; ++part)
            paths.push_back(fmt::format("{}-{:05}-of-{:05}.gguf", prefix, part, parts));
        return paths;
    }

    Result<void> check_outputs(const models::Gguf& file, const std::vector<std::string>& paths) const {
        for (const std::string& path : paths) {
            for (const std::filesystem::path& part : file.paths())
                if (is_same_file(path, part.string()))
                    return fail(ErrorKind::Usage, "{}: is a file of the model; name another",
                                models::printable_path(path));
            RIFTJIT_TRY_VOID(check_output_file("OUT", path, arguments_.force));
        }
        return {};
    }

    Result<void> write(const models::Gguf& file, const models::Quantization& plan,
                       const std::vector<std::string>& paths) {
        RIFTJIT_TRY(pool,
                    ThreadPool::create(arguments_.threads != 0 ? uint32_t(arguments_.threads) : default_threads()));
        constexpr uint64_t kMegabyte = 1'000'000;
        StepProgress progress(std::max<uint64_t>(plan.bytes() / kMegabyte, 1), "MB");
        uint64_t written = 0;
        std::vector<ReplacedFile> files;  // of which none is renamed before all are whole
        for (size_t part = 0; part < paths.size(); ++part) {
            const auto cannot = [&](const Error& error) {
                return fail(error.kind, "cannot write {}: {}", models::printable_path(paths[part]), error.message);
            };
            auto output = ReplacedFile::create(paths[part]);
            if (!output) return cannot(output.error());
            RIFTJIT_TRY_VOID(models::write_quantized(
                file, plan.parts[part], pool,
                [&](std::span<const std::byte> bytes) -> Result<void> {
                    if (auto done = output->append(bytes); !done) return cannot(done.error());
                    written += bytes.size();
                    progress.show(std::min(written, plan.bytes()) / kMegabyte);
                    return {};
                },
                [&](const models::QuantizedTensor&, std::optional<models::TensorError> error) {
                    errors_.push_back(error);
                }));
            files.push_back(*std::move(output));
        }
        for (size_t part = 0; part < paths.size(); ++part)
            if (auto done = files[part].finish(); !done)
                return fail(done.error().kind, "cannot write {}: {}", models::printable_path(paths[part]),
                            done.error().message);
        return {};
    }

    void print(const models::Quantization& plan, const std::vector<std::string>& paths) const {
        const double bits = 8.0 * double(plan.bytes()) / double(std::max<uint64_t>(plan.elements(), 1));
        if (arguments_.json) {
            print_json(plan, paths, bits);
            return;
        }
        if (arguments_.dry_run)
            for (const models::QuantizedPart& part : plan.parts)
                for (const models::QuantizedTensor& tensor : part.tensors)
                    write_output(fmt::format("{:<40} {:>8} -> {:<8} {:>14} -> {:>14} bytes\n",
                                             models::printable(tensor.tensor->name), name(tensor.tensor->type),
                                             name(tensor.type), tensor.tensor->size_bytes, tensor.size_bytes));
        size_t tensors = 0;
        for (const models::QuantizedPart& part : plan.parts) tensors += part.tensors.size();
        write_output(fmt::format("{}: {}, {} tensors, {} bytes of {}, {:.2f} bits per weight{}\n",
                                 models::printable_path(paths.front()), options_.types.file_type.name, tensors,
                                 plan.bytes(), plan.bytes_before(), bits,
                                 arguments_.dry_run ? " (nothing written)" : ""));
    }

    void print_json(const models::Quantization& plan, const std::vector<std::string>& paths, double bits) const {
        ordered_json tensors = ordered_json::array();
        for (const models::QuantizedPart& part : plan.parts)
            for (const models::QuantizedTensor& tensor : part.tensors) {
                ordered_json each{{"name", tensor.tensor->name},
                                  {"from", name(tensor.tensor->type)},
                                  {"type", name(tensor.type)},
                                  {"bytes", tensor.size_bytes}};
                if (tensors.size() < errors_.size() && errors_[tensors.size()])
                    each["rmse"] = errors_[tensors.size()]->root_mean_square;
                tensors.push_back(std::move(each));
            }
        write_output(json_text(ordered_json{{"output", paths},
                                            {"type", options_.types.file_type.name},
                                            {"written", !arguments_.dry_run},
                                            {"bytes", plan.bytes()},
                                            {"bytes_before", plan.bytes_before()},
                                            {"bits_per_weight", bits},
                                            {"tensors", std::move(tensors)}}) +
                     "\n");
    }

    QuantizeArguments arguments_;
    Reporter reporter_;
    models::QuantizeOptions options_;
    std::optional<models::ImportanceMatrix> importance_;
    std::vector<std::optional<models::TensorError>> errors_;  // of the tensors, in order
};

constexpr const char* kQuantizeExamples =
    "Examples:\n"
    "  riftjit quantize qwen3-f16.gguf qwen3-q4_k_m.gguf Q4_K_M\n"
    "  riftjit quantize Qwen3-0.6B/ qwen3-q8_0.gguf Q8_0                 from a folder as transformers saves it\n"
    "  riftjit quantize m.gguf out.gguf Q4_K_M --imatrix m.imatrix.gguf  errors weighted by what columns are used for\n"
    "  riftjit quantize m.gguf Q5_K_M --dry-run                          which type each tensor gets, and the size\n"
    "TYPE is one of llama-quantize's, by name or number, and gives each tensor the type that it gives. IQ1_S to\n"
    "IQ3_XXS, and Q2_K_S, need --imatrix: without it their files would be of no use.";

}  // namespace

void add_quantize_command(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand("quantize", "Make a GGUF file whose weights have fewer bits");
    command->footer(kQuantizeExamples);
    const auto arguments = std::make_shared<QuantizeArguments>();
    QuantizeArguments& a = *arguments;
    command
        ->add_option("IN", a.input, "GGUF file (of a split set, the first part), or a folder as transformers saves it")
        ->required()
        ->check(file_name());
    command->add_option("OUT", a.output, "the file to write (default: ggml-model-TYPE.gguf beside IN)")
        ->required()
        ->check(file_name());
    command->add_option("TYPE", a.type, file_type_names());
    command->add_option("NTHREADS", a.threads_word, "as -t");
    command->add_option("--imatrix", a.importance, "importance of columns, a GGUF file as llama-imatrix writes it")
        ->type_name("FILE")
        ->check(file_name());
    command
        ->add_option("--include-weights", a.included, "take of the importance matrix only entries whose name has TEXT")
        ->type_name("TEXT")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_option("--exclude-weights", a.excluded, "and none whose name has TEXT")
        ->type_name("TEXT")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_flag("--pure", a.pure, "one type for all tensors, no mixture");
    command->add_flag("--leave-output-tensor", a.leaves_output, "keep output.weight as it is");
    command->add_option("--output-tensor-type", a.output_type, "type of output.weight, or of a table that serves as it")
        ->type_name("NAME");
    command->add_option("--token-embedding-type", a.embedding_type, "type of the table of tokens")->type_name("NAME");
    command
        ->add_option("--tensor-type", a.rules,
                     "type of tensors in whose name the expression is found; several times, the first counts")
        ->type_name("REGEX=NAME")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command->add_option("--tensor-type-file", a.rules_file, "the same from a file, divided by spaces or line ends")
        ->type_name("FILE")
        ->check(file_name());
    command->add_flag("--allow-requantize", a.allows_requantizing, "also of weights that are quantised already");
    command->add_flag("--keep-split", a.keeps_split, "as many files as IN has: OUT-00001-of-0000N.gguf");
    command->add_flag("--dry-run", a.dry_run, "print types and sizes, write nothing");
    command->add_flag("--force", a.force, "replace the file if it exists");
    command->add_flag("--json", a.json, "print one JSON object, with each tensor's error");
    add_integer(*command, "-t,--threads", a.threads, 1, kMostThreads, "threads (default: one a core)")->default_str("");
    on_chosen(*command, chosen, [arguments] {
        const auto done = Quantize(*arguments).run();
        return done ? *done : report(done.error());
    });
}

}  // namespace riftjit::tools
