// The bytes of tokens as text that may be shown: whole UTF-8 characters, up to a stop word. Bytes that are no
// character, in the middle or at the end, come out as U+FFFD.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/stop_words.h"
#include "host/utf8.h"

namespace riftjit::engine {

class TextStream {
public:
    explicit TextStream(std::vector<std::string> stop_words) : words_(std::move(stop_words)) {}

    // Adds a token's bytes; returns what is whole and can no longer be part of a stop word. After found_stop_word()
    // nothing more comes out.
    std::string push(std::string_view bytes) { return show(words_.push(utf8_.push(bytes))); }
    std::string finish();  // what was held back, once no more bytes come
    bool found_stop_word() const { return words_.is_found(); }
    const std::string& stop_word() const { return words_.found(); }  // empty: none was found

private:
    // A stop word may be any bytes, so that what stands before one may end inside a character.
    std::string show(std::string_view text) { return replace_invalid(shown_.push(text)); }

    Utf8Stream utf8_;
    StopWords words_;
    Utf8Stream shown_;
};

}  // namespace riftjit::engine
