// Patterns of paths: * and ? within a part, [a-z] and [!a-z], {a,b}, and ** for any parts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::server {

class Glob {
public:
    // A pattern without / is of the last part of a path, at any depth; one with / of the whole path, behind any parts
    // unless it begins with /. Fails on more than 64 alternatives or 4096 bytes.
    static Result<Glob> parse(std::string_view pattern);

    // `path`: relative, parts divided by /. Takes no more than the product of both lengths.
    bool matches(std::string_view path) const;

private:
    std::vector<std::vector<std::string>> alternatives_;  // parts of each
};

}  // namespace riftjit::server
