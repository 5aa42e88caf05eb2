// The riftjit command: subcommands, global help, exit codes.
#pragma once

namespace riftjit::tools {

int program(int argc, char** argv);  // the exit status

}  // namespace riftjit::tools
