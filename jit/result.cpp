#include "jit/result.h"

#include <cstdio>
#include <cstdlib>

namespace riftjit {

void check_failed(std::string_view why, std::source_location where) {
    std::fflush(stdout);
    fmt::print(stderr, "internal error: {} ({}:{}), please report this line\n", why, where.file_name(), where.line());
    std::_Exit(2);
}

}  // namespace riftjit
