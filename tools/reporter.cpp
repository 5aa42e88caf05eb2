#include "tools/reporter.h"

#include <cstdio>

namespace riftjit::tools {

void Reporter::warn(const std::string& message) {
    ++warnings_;
    if (shows(Verbosity::warnings)) fmt::print(stderr, "warn: {}\n", message);
}

void Reporter::info(const std::string& line) const {
    if (shows(Verbosity::info)) fmt::print(stderr, "{}\n", line);
}

void Reporter::detail(const std::string& line) const {
    if (shows(Verbosity::details)) fmt::print(stderr, "{}\n", line);
}

int report(const Error& error) {
    std::fflush(stdout);
    fmt::print(stderr, "error: {}\n", error.message);
    switch (error.kind) {
        case ErrorKind::Cache:
            return kExitCache;
        case ErrorKind::Interrupted:
            return kExitInterrupted;
        default:
            return kExitError;
    }
}

}  // namespace riftjit::tools
