#include "host/result.h"

#include <cstdio>
#include <cstdlib>

namespace riftjit {

void check_failed(std::string_view why, std::source_location where) {
    std::fflush(stdout);
    const std::string line =
        fmt::format("internal error: {} ({}:{}), please report this line\n", why, where.file_name(), where.line());
    std::fputs(line.c_str(), stderr);  // unlike fmt::print, which throws when stderr cannot be written
    std::_Exit(2);
}

}  // namespace riftjit
