#include "host/result.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace riftjit {

namespace {

constinit std::atomic<InternalErrorHandler> handler_of_internal_errors = nullptr;

}  // namespace

void set_internal_error_handler(InternalErrorHandler handler) { handler_of_internal_errors = handler; }

InternalErrorHandler internal_error_handler() { return handler_of_internal_errors; }

void check_failed(std::string_view why, std::source_location where) {
    const std::string line =
        fmt::format("internal error: {} ({}:{}), please report this line\n", why, where.file_name(), where.line());
    if (const InternalErrorHandler handler = handler_of_internal_errors)
        handler(line);
    else
        std::fputs(line.c_str(), stderr);  // unlike fmt::print, which throws when stderr cannot be written
    std::abort();
}

}  // namespace riftjit
