#include "tools/cli/reporter.h"

#include <csignal>
#include <cstdio>

#include "host/utf8.h"
#include "tools/cli/output.h"

namespace riftjit::tools {

void Reporter::warn(const std::string& message) {
    ++warnings_;
    if (shows(Verbosity::warnings)) write_diagnostic(fmt::format("warn: {}\n", escape_unprintable(message)));
}

void Reporter::info(const std::string& line) const {
    if (shows(Verbosity::info)) write_diagnostic(fmt::format("{}\n", line));
}

void Reporter::detail(const std::string& line) const {
    if (shows(Verbosity::details)) write_diagnostic(fmt::format("{}\n", line));
}

int report(const Error& error) {
    std::fflush(stdout);
    write_diagnostic(fmt::format("error: {}\n", escape_unprintable(error.message)));
    switch (error.kind) {
        case ErrorKind::Cache:
            return kExitCache;
        case ErrorKind::Interrupted:
            return kExitSignal + SIGINT;
        default:
            return kExitError;
    }
}

}  // namespace riftjit::tools
