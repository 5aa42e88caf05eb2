#include "tools/cli/arguments.h"

#include <algorithm>
#include <array>

#include "tools/cli/refused_flags.h"

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
    {"-dio", "--direct-io"},
    {"-lv", "--verbosity"},
    {"-rea", "--reasoning"},
    {"-ngl", "--gpu-layers"},
    {"-sm", "--split-mode"},
    {"-ts", "--tensor-split"},
    {"-mg", "--main-gpu"},
    {"-dev", "--device"},
    {"-ot", "--override-tensor"},
    {"-cmoe", "--cpu-moe"},
    {"-ncmoe", "--n-cpu-moe"},
    {"-ncffn", "--n-cpu-ffn"},
    {"-kvo", "--kv-offload"},
    {"-nkvo", "--no-kv-offload"},
    {"-fit", "--fit"},
    {"-fitt", "--fit-target"},
    {"-fitc", "--fit-ctx"},
    {"-pg", "--prompt-generate"},
    {"-oe", "--output-err"},
    {"-md", "--model-draft"},
    {"-np", "--parallel"},
    {"-cb", "--cont-batching"},
    {"-to", "--timeout"},
    {"-cram", "--cache-ram"},
    {"-ctxcp", "--ctx-checkpoints"},
    {"-cms", "--checkpoint-min-step"},
    {"-sps", "--slot-prompt-similarity"},
    {"-kvu", "--kv-unified"},
    {"-ag", "--agent"},
    {"-no-ag", "--no-agent"},
    {"-no-kvu", "--no-kv-unified"},
    {"-jf", "--json-schema-file"},
    {"-ofreq", "--output-frequency"},
});

// What follows these is text, whatever it looks like.
constexpr auto kTextOptions = std::to_array<std::string_view>(
    {"-p", "--prompt", "--system-prompt", "-r", "--reverse-prompt", "--chat-template", "--dry-sequence-breaker",
     "--grammar", "-j", "--json-schema", "--embd-separator", "--cls-separator"});

std::string_view long_spelling(std::string_view flag) {
    const auto found = std::find_if(kSpellings.begin(), kSpellings.end(),
                                    [flag](const Spelling& spelling) { return spelling.dash == flag; });
    return found == kSpellings.end() ? flag : found->name;
}

}  // namespace

std::vector<std::string_view> dash_spellings(std::string_view long_name) {
    std::vector<std::string_view> spellings;
    for (const Spelling& spelling : kSpellings) {
        if (spelling.name == long_name) spellings.push_back(spelling.dash);
    }
    return spellings;
}

Result<std::vector<std::string>> normalize_arguments(int argc, char** argv) {
    std::vector<std::string> arguments;
    const std::string_view command = argc > 1 ? argv[1] : "";
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
        if (const auto why = refusal_of(flag, command)) return fail(ErrorKind::Usage, "{} {}", flag, *why);
        flag = long_spelling(flag);
        arguments.push_back(flag + argument.substr(end));
        const bool takes_next = std::find(kTextOptions.begin(), kTextOptions.end(), flag) != kTextOptions.end();
        if (takes_next && end == argument.size() && i + 1 < argc) arguments.emplace_back(argv[++i]);
    }
    return arguments;
}

}  // namespace riftjit::tools
