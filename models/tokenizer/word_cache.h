// The ids of words seen before in this text: they are copied from where they were first written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::models {

class WordCache {
public:
    explicit WordCache(size_t text_bytes);  // about how much text will come

    // Appends the ids of `word`, which encode() does where it is new here. The word's bytes must outlive the cache.
    template <class Encode>
    void add_word(std::string_view word, std::vector<int32_t>& ids, const Encode& encode) {
        if (word.size() > kMostWordBytes) return note_refused(word.size());
        if (word.size() > kMaxWordBytes) return encode();
        Entry& entry = entry_of(word);
        if (std::string_view(entry.word, entry.word_bytes) == word) {
            for (uint32_t i = 0; i < entry.id_count; ++i) ids.push_back(ids[entry.first_id + i]);
            return;
        }
        const size_t first_id = ids.size();
        encode();
        entry = {word.data(), static_cast<uint32_t>(word.size()), static_cast<uint32_t>(ids.size() - first_id),
                 first_id};
    }

    // Fails if there was a word too long to be encoded.
    Result<void> result() const;

private:
    static constexpr size_t kMaxWordBytes = 64;                // longer ones do not come back
    static constexpr size_t kMostWordBytes = size_t(4) << 20;  // merging takes some forty times as much memory
    struct Entry {
        const char* word;
        uint32_t word_bytes, id_count;
        size_t first_id;  // index into the ids
    };
    Entry& entry_of(std::string_view word);  // where it is, or may be put
    void note_refused(size_t word_bytes) { refused_bytes_ = word_bytes; }

    std::vector<Entry> entries_;
    size_t refused_bytes_ = 0;
};

}  // namespace riftjit::models
