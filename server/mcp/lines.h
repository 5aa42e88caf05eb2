// A stream of bytes cut into lines, of which none is longer than is bearable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace riftjit::server {

class LineCutter {
public:
    explicit LineCutter(size_t most_bytes) : most_(most_bytes) {}

    // Hands each whole line to `take(std::string)`, without its end ("\n", "\r\n"); empty ones are left out, and longer
    // ones dropped up to their ends.
    template <class Take>
    void push(std::string_view bytes, const Take& take) {
        while (!bytes.empty()) {
            const size_t end = bytes.find('\n');
            append(bytes.substr(0, end));
            if (end == bytes.npos) return;
            bytes.remove_prefix(end + 1);
            if (line_.ends_with('\r')) line_.pop_back();
            if (is_too_long_) ++dropped_;
            if (!is_too_long_ && !line_.empty()) take(std::move(line_));
            line_.clear();
            is_too_long_ = false;
        }
    }
    uint64_t dropped() const { return dropped_; }  // lines that were too long

private:
    void append(std::string_view part) {
        is_too_long_ |= line_.size() + part.size() > most_;
        if (is_too_long_) std::string().swap(line_);
        if (!is_too_long_) line_ += part;
    }

    size_t most_;
    std::string line_;
    bool is_too_long_ = false;
    uint64_t dropped_ = 0;
};

}  // namespace riftjit::server
