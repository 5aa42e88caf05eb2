#include "models/tokenizer/word_cache.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace riftjit::models {

namespace {

constexpr size_t kLeastEntries = 16, kMostEntries = 16384;
constexpr size_t kBytesPerEntry = 16;  // of text: more entries than words would only cost clearing

}  // namespace

WordCache::WordCache(size_t text_bytes)
    : entries_(std::bit_ceil(std::clamp(text_bytes / kBytesPerEntry, kLeastEntries, kMostEntries))) {}

WordCache::Entry& WordCache::entry_of(std::string_view word) {
    return entries_[XXH3_64bits(word.data(), word.size()) & (entries_.size() - 1)];
}

Result<void> WordCache::result() const {
    if (refused_bytes_ == 0) return {};
    return fail(ErrorKind::Unsupported, "the text has a word of {} bytes, more than the {} that are merged",
                refused_bytes_, kMostWordBytes);
}

}  // namespace riftjit::models
