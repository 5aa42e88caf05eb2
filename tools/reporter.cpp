#include "tools/reporter.h"

#include <cstdio>

namespace riftjit::tools {

void Reporter::warn(const std::string& message) {
    ++warnings_;
    fmt::print(stderr, "warn: {}\n", message);
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
