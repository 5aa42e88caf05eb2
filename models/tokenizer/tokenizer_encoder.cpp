#include "models/tokenizer/tokenizer_encoder.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "models/tokenizer/tokenizer_nfc.h"

namespace riftjit::models {

namespace {

constexpr size_t kLeastEntries = 16, kMostEntries = 16384;
constexpr size_t kMostWordBytes = size_t(4) << 20;  // merging takes some forty times as much memory
constexpr size_t kBytesPerEntry = 16;               // of text: more entries than words would only cost clearing

bool stands_for_number(char c) {
    const auto byte = static_cast<uint8_t>(c);
    return (byte >= '0' && byte <= '9') || byte == 0xB2 || byte == 0xB3 || byte == 0xB9 ||
           (byte >= 0xBC && byte <= 0xBE);
}

}  // namespace

WordCache::WordCache(size_t text_bytes)
    : entries_(std::bit_ceil(std::clamp(text_bytes / kBytesPerEntry, kLeastEntries, kMostEntries))) {}

WordCache::Entry& WordCache::entry(std::string_view word) {
    return entries_[XXH3_64bits(word.data(), word.size()) & (entries_.size() - 1)];
}

Encoder::Encoder(const EncodingTables& tables, size_t text_bytes)
    : tables_(tables), cache_(text_bytes), merger_(tables.merges) {
    ids_.reserve(text_bytes / 3);
}

Result<void> Encoder::add_text(std::string_view text) {
    if (tables_.rule.normalization == Normalization::nfc) text = to_nfc(text, normalized_.emplace_back());
    RIFTJIT_TRY_VOID(tables_.pretokenizer.split(text, word_ends_));
    if (tables_.rule.byte_cut == ByteCut::at_numbers) cut_at_numbers(text);
    size_t begin = 0;
    for (const size_t end : word_ends_) {
        RIFTJIT_TRY_VOID(add_word(text.substr(begin, end - begin)));
        begin = end;
    }
    return {};
}

void Encoder::cut_at_numbers(std::string_view text) {
    std::vector<size_t> ends;
    size_t begin = 0;
    for (const size_t end : word_ends_) {
        for (size_t i = begin + 1; i < end; ++i)
            if (stands_for_number(text[i - 1]) != stands_for_number(text[i])) ends.push_back(i);
        ends.push_back(end);
        begin = end;
    }
    word_ends_.swap(ends);
}

Result<void> Encoder::add_word(std::string_view word) {
    if (word.size() > kMostWordBytes)
        return fail(ErrorKind::Unsupported, "the text has a word of {} bytes, more than the {} that are merged",
                    word.size(), kMostWordBytes);
    if (word.size() > WordCache::kMaxWordBytes) return merge_word(word), Result<void>();
    WordCache::Entry& entry = cache_.entry(word);
    if (WordCache::holds(entry, word)) {
        for (uint32_t i = 0; i < entry.id_count; ++i) ids_.push_back(ids_[entry.first_id + i]);
        return {};
    }
    const size_t first_id = ids_.size();
    merge_word(word);
    entry = {word.data(), static_cast<uint32_t>(word.size()), static_cast<uint32_t>(ids_.size() - first_id), first_id};
    return {};
}

void Encoder::merge_word(std::string_view word) {
    if (tables_.rule.whole_words == WholeWords::take) {
        stand_ins_.clear();
        for (const char c : word) append_stand_in(stand_ins_, static_cast<uint8_t>(c));
        if (const auto id = tables_.vocabulary.find_plain(stand_ins_)) {
            ids_.push_back(*id);
            return;
        }
    }
    symbols_.clear();
    for (const char c : word) {
        const auto byte = static_cast<uint8_t>(c);
        const int32_t id = tables_.vocabulary.byte_token(byte);
        if (id == Vocabulary::kNone) {
            left_out_.set(byte);  // before the merges: its neighbours may become one token
        } else {
            symbols_.push_back(id);
        }
    }
    merger_.merge(symbols_);
    ids_.insert(ids_.end(), symbols_.begin(), symbols_.end());
}

}  // namespace riftjit::models
