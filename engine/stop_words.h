// Ends text at the first of some words, and holds back what may be the beginning of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace riftjit::engine {

class StopWords {
public:
    explicit StopWords(std::vector<std::string> words) : words_(std::move(words)) {}

    // Adds text; returns what can no longer be part of a stop word. After is_found() nothing more comes out.
    std::string push(std::string_view text);
    std::string finish();  // what was held back, when generation ended otherwise
    bool is_found() const { return is_found_; }
    const std::string& found() const { return found_; }  // the word; empty: none

private:
    std::vector<std::string> words_;
    std::string held_;
    bool is_found_ = false;
    std::string found_;
};

}  // namespace riftjit::engine
