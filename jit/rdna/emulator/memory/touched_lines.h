// Which lines of an allocation a launch has loaded and stored: a line comes from memory once, however many instructions
// ask for it, as far as caches hold it meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "jit/rdna/emulator/machine/report.h"

namespace riftjit::rdna::emulator::memory {

inline constexpr uint64_t kCacheLineBytes = kCountedLineBytes;

enum class Touch : uint8_t { load, store, update };

// Several host threads may touch the same lines at once.
class TouchedLines {
public:
    TouchedLines(uint64_t base, uint64_t size);

    void clear();
    // Adds to `counts` the lines of the `bytes` from `address` on that are touched for the first time.
    void touch(Touch how, uint64_t address, uint64_t bytes, Counts& counts);

private:
    using Words = std::unique_ptr<std::atomic<uint64_t>[]>;
    static bool has(const Words& words, uint64_t line);
    static bool is_new(Words& words, uint64_t line);

    uint64_t first_line_, words_;
    Words loaded_, stored_;  // a bit for each line
};

}  // namespace riftjit::rdna::emulator::memory
