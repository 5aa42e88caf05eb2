#include "tools/cli/self_description.h"

#include <fmt/format.h>

#include "tools/cli/completion.h"
#include "tools/cli/man_page.h"

namespace riftjit::tools {

void add_self_description_commands(CLI::App& app) {
    CLI::App* completion = app.add_subcommand("completion", "Print a completion script")->group("");
    completion->require_subcommand(1);
    using Script = std::string (*)(std::span<const CommandEntry>);
    constexpr std::pair<const char*, Script> kShells[] = {
        {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};
    for (const auto& [shell, script] : kShells) {
        completion->add_subcommand(shell, "Print it")->callback([&app, script = script] {
            fmt::print("{}", script(command_table(app)));
        });
    }
    app.add_subcommand("man-page", "Print riftjit(1)")->group("")->callback([&app] {
        fmt::print("{}", man_page(command_table(app)));
    });
}

}  // namespace riftjit::tools
