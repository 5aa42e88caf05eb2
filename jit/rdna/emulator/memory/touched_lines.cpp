#include "jit/rdna/emulator/memory/touched_lines.h"

namespace riftjit::rdna::emulator::memory {
namespace {

constexpr uint64_t kBits = 64;

uint64_t bit_of(uint64_t line) { return uint64_t{1} << line % kBits; }

}  // namespace

TouchedLines::TouchedLines(uint64_t base, uint64_t size)
    : first_line_(base / kCacheLineBytes),
      words_(((base + size) / kCacheLineBytes - first_line_) / kBits + 1),
      loaded_(std::make_unique<std::atomic<uint64_t>[]>(words_)),
      stored_(std::make_unique<std::atomic<uint64_t>[]>(words_)) {}

void TouchedLines::clear() {
    for (uint64_t i = 0; i < words_; ++i) loaded_[i].store(0, std::memory_order_relaxed);
    for (uint64_t i = 0; i < words_; ++i) stored_[i].store(0, std::memory_order_relaxed);
}

bool TouchedLines::has(const Words& words, uint64_t line) {
    return (words[line / kBits].load(std::memory_order_relaxed) & bit_of(line)) != 0;
}

bool TouchedLines::is_new(Words& words, uint64_t line) {
    return !has(words, line) &&
           (words[line / kBits].fetch_or(bit_of(line), std::memory_order_relaxed) & bit_of(line)) == 0;
}

void TouchedLines::touch(Touch how, uint64_t address, uint64_t bytes, Counts& counts) {
    const uint64_t last = (address + bytes - 1) / kCacheLineBytes - first_line_;
    for (uint64_t line = address / kCacheLineBytes - first_line_; line <= last; ++line) {
        if (how != Touch::store && is_new(loaded_, line)) {
            ++counts.lines_loaded;
            counts.lines_loaded_of_own += has(stored_, line) ? 1 : 0;
        }
        if (how != Touch::load && is_new(stored_, line)) ++counts.lines_stored;
    }
}

}  // namespace riftjit::rdna::emulator::memory
