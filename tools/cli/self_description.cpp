#include "tools/cli/self_description.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>

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
    CLI::App* manual = app.add_subcommand("man-page", "Print riftjit(1), or write all pages")->group("");
    auto folder = std::make_shared<std::string>();
    manual->add_option("--folder", *folder, "write riftjit.1, riftjit-run.1 ... to it")->type_name("DIR");
    manual->callback([&app, folder] {
        const std::vector<ManPage> pages = man_pages(command_table(app));
        if (folder->empty()) fmt::print("{}", pages.front().text);
        for (const ManPage& page : folder->empty() ? std::span<const ManPage>() : std::span(pages))
            if (std::ofstream file(std::filesystem::path(*folder) / (page.name + ".1")); !(file << page.text).flush())
                throw CLI::ValidationError(fmt::format("{}: cannot write {}.1", *folder, page.name),
                                           CLI::ExitCodes::ValidationError);
    });
}

}  // namespace riftjit::tools
