#include "tools/arguments.h"

#include <algorithm>
#include <array>

namespace riftjit::tools {

namespace {

struct Spelling {
    std::string_view dash, name;
};

// Single-dash names of more than one letter: CLI11 would read them as clusters of letters.
constexpr auto kSpellings = std::to_array<Spelling>({
    {"-bf", "--binary-file"},
    {"-ub", "--ubatch-size"},
    {"-tb", "--threads-batch"},
    {"-cnv", "--conversation"},
    {"-no-cnv", "--no-conversation"},
    {"-st", "--single-turn"},
    {"-sys", "--system-prompt"},
    {"-sysf", "--system-prompt-file"},
    {"-sp", "--special"},
    {"-fa", "--flash-attn"},
    {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"},
    {"-lm", "--load-mode"},
    {"-pg", "--prompt-generate"},
    {"-oe", "--output-err"},
});

struct Refusal {
    std::string_view flag, why;
};

constexpr std::string_view kCpuOnly = "runs on a GPU or splits a model over devices; this build runs on the CPU";
constexpr std::string_view kNotYet = "is not implemented in this build";
constexpr auto kRefusals = std::to_array<Refusal>({
    {"-ngl", kCpuOnly},
    {"--gpu-layers", kCpuOnly},
    {"--n-gpu-layers", kCpuOnly},
    {"-sm", kCpuOnly},
    {"--split-mode", kCpuOnly},
    {"-ts", kCpuOnly},
    {"--tensor-split", kCpuOnly},
    {"-mg", kCpuOnly},
    {"--main-gpu", kCpuOnly},
    {"-dev", kCpuOnly},
    {"--device", kCpuOnly},
    {"-ot", kCpuOnly},
    {"--override-tensor", kCpuOnly},
    {"-cmoe", kCpuOnly},
    {"--cpu-moe", kCpuOnly},
    {"-ncmoe", kCpuOnly},
    {"--n-cpu-moe", kCpuOnly},
    {"-nkvo", kCpuOnly},
    {"--no-kv-offload", kCpuOnly},
    {"--require-gpu", "there is no GPU back end in this build; without this flag the CPU is used"},
    {"-md", kNotYet},
    {"--model-draft", kNotYet},
    {"--spec-type", kNotYet},
    {"--spec-draft-n-max", kNotYet},
    {"--draft-max",
     "the argument has been removed; llama.cpp's name is --spec-draft-n-max, which is not implemented in this build"},
    {"--grammar", kNotYet},
    {"--grammar-file", kNotYet},
    {"-j", kNotYet},
    {"--json-schema", kNotYet},
    {"-jf", kNotYet},
    {"--json-schema-file", kNotYet},
    {"--lora", kNotYet},
    {"--lora-scaled", kNotYet},
    {"--control-vector", kNotYet},
    {"--override-kv", kNotYet},
    {"--context-shift", kNotYet},
    {"--keep", kNotYet},
    {"--prompt-cache", kNotYet},
    {"--rope-scaling", kNotYet},
    {"--rope-scale", kNotYet},
    {"--rope-freq-base", kNotYet},
    {"--rope-freq-scale", kNotYet},
    {"--yarn-ext-factor", kNotYet},
    {"--numa", kNotYet},
    {"-C", kNotYet},
    {"--cpu-mask", kNotYet},
    {"-Cr", kNotYet},
    {"--cpu-range", kNotYet},
    {"--prio", kNotYet},
    {"--poll", kNotYet},
    {"--cpu-strict", kNotYet},
    {"-i", kNotYet},
    {"--interactive", kNotYet},
    {"-if", kNotYet},
    {"--interactive-first", kNotYet},
    {"--in-prefix", kNotYet},
    {"--in-suffix", kNotYet},
    {"-mli", kNotYet},
    {"--multiline-input", kNotYet},
    {"--image", kNotYet},
    {"--mmproj", kNotYet},
    {"-nr", "weights are always repacked at load"},
    {"--no-repack", "weights are always repacked at load"},
    {"--swa-full", kNotYet},
    {"-fit", kCpuOnly},
    {"--fit", kCpuOnly},
    {"--embedding", kNotYet},
    {"--mlock", kNotYet},
    {"--no-mmap",
     "weights are packed into memory of their own and the mapping is released; there is nothing to switch off"},
    {"-dio", kNotYet},
    {"--direct-io", kNotYet},
    {"-gan", kNotYet},
    {"-hf", "models are files; download first, then use -m"},
    {"--hf-repo", "models are files; download first, then use -m"},
});

}  // namespace

Result<std::vector<std::string>> normalize_arguments(int argc, char** argv) {
    std::vector<std::string> arguments;
    for (int i = 1; i < argc; ++i) {
        std::string argument = argv[i];
        const bool is_flag = argument.size() >= 2 && argument[0] == '-' && !(argument[1] >= '0' && argument[1] <= '9');
        if (!is_flag) {
            arguments.push_back(std::move(argument));
            continue;
        }
        const size_t end = std::min(argument.find('='), argument.size());
        std::string flag = argument.substr(0, end);
        if (flag.starts_with("--")) std::replace(flag.begin() + 2, flag.end(), '_', '-');
        for (const Refusal& refusal : kRefusals)
            if (refusal.flag == flag) return fail(ErrorKind::Usage, "{}: {}", flag, refusal.why);
        for (const Spelling& spelling : kSpellings)
            if (spelling.dash == flag) flag = spelling.name;
        arguments.push_back(flag + argument.substr(end));
    }
    return arguments;
}

}  // namespace riftjit::tools
