// Pages for generated code: written first, then executable, never both.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "host/result.h"

namespace riftjit {

class CodeMemory {
public:
    CodeMemory();
    ~CodeMemory();
    CodeMemory(const CodeMemory&) = delete;
    CodeMemory& operator=(const CodeMemory&) = delete;

    // Copies code (64-byte aligned) to pages that are writable and not yet executable; the address is final.
    Result<const std::byte*> add(std::span<const std::byte> code);
    // Makes everything added so far executable and read-only. Later additions go to fresh pages. Where the system
    // forbids that, a sealed file in memory takes the place of the pages; fails where that is forbidden too.
    Result<void> seal();

private:
    struct Region {
        std::byte* base;
        size_t size, used;
        bool sealed;
    };
    std::vector<Region> regions_;
};

}  // namespace riftjit
