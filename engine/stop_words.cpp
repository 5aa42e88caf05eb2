#include "engine/stop_words.h"

#include <algorithm>
#include <utility>

namespace riftjit::engine {

std::string StopWords::push(std::string_view text) {
    if (is_found_) return {};
    held_ += text;
    size_t first = std::string::npos;
    for (const std::string& word : words_) {
        const size_t at = word.empty() ? std::string::npos : held_.find(word);
        if (at < first) first = at, found_ = word;
    }
    if (first != std::string::npos) {
        is_found_ = true;
        std::string before = held_.substr(0, first);
        held_.clear();
        return before;
    }
    size_t keep = 0;  // the longest tail that begins a word
    for (const std::string& word : words_) {
        for (size_t length = std::min(word.size(), held_.size()); length > keep; --length) {
            if (held_.compare(held_.size() - length, length, word, 0, length) == 0) keep = length;
        }
    }
    std::string ready = held_.substr(0, held_.size() - keep);
    held_.erase(0, ready.size());
    return ready;
}

std::string StopWords::finish() { return std::exchange(held_, {}); }

}  // namespace riftjit::engine
