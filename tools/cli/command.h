// What the command line asks for. main() begins it once the parser is done, so that nothing of the parser stands
// between main() and the work.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>

namespace riftjit::tools {

using Command = std::function<int()>;  // returns the exit code

// `work` becomes the chosen command where the line ends at `app`, and not at a subcommand of it.
inline void on_chosen(CLI::App& app, Command& chosen, Command work) {
    app.callback([&app, &chosen, work = std::move(work)] {
        if (app.get_subcommands().empty()) chosen = work;
    });
}

}  // namespace riftjit::tools
