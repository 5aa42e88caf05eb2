#include "engine/loose_value.h"

#include <array>
#include <string>

#include "host/utf8.h"

namespace riftjit::engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostDepth = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class LooseReader {
public:
    explicit LooseReader(std::string_view text) : text_(text) {}

    Scan read(Json& value, int depth = 0) {
        skip_space();
        if (is_at_end()) return Scan::incomplete;
        if (depth > kMostDepth) return Scan::bad;
        switch (text_[at_]) {
            case '{':
                return read_object(value, '}', depth);
            case '(':
                return read_object(value, ')', depth);
            case '[':
                return read_array(value, depth);
            default:
                break;
        }
        std::string string;
        switch (const Scan scan = read_string(string)) {
            case Scan::complete:
                value = std::move(string);
                return scan;
            case Scan::incomplete:
                return scan;
            case Scan::bad:
                return read_word(value);
        }
        return Scan::bad;
    }

    size_t position() const { return at_; }

private:
    bool is_at_end() const { return at_ == text_.size(); }
    void skip_space() {
        while (!is_at_end() && is_space(text_[at_])) ++at_;
    }

    // Behind an element: bad unless a comma or the closing bracket follows.
    Scan separate(char close, bool& is_closed) {
        skip_space();
        if (is_at_end()) return Scan::incomplete;
        is_closed = text_[at_] == close;
        if (!is_closed && text_[at_] != ',') return Scan::bad;
        ++at_;
        return Scan::complete;
    }

    bool closes(char close) {
        skip_space();
        if (is_at_end() || text_[at_] != close) return false;
        ++at_;
        return true;
    }

    Scan read_array(Json& value, int depth) {
        ++at_;
        value = Json::array();
        for (bool is_closed = false; !is_closed;) {
            if (closes(']')) break;
            Json element;
            if (const Scan scan = read(element, depth + 1); scan != Scan::complete) return scan;
            value.push_back(std::move(element));
            if (const Scan scan = separate(']', is_closed); scan != Scan::complete) return scan;
        }
        return Scan::complete;
    }

    Scan read_object(Json& value, char close, int depth) {
        ++at_;
        value = Json::object();
        for (bool is_closed = false; !is_closed;) {
            if (closes(close)) break;
            std::string key;
            Scan scan = read_string(key);
            if (scan == Scan::bad) scan = read_name(key);
            if (scan != Scan::complete) return scan;
            skip_space();
            if (is_at_end()) return Scan::incomplete;
            if (text_[at_] != (close == ')' ? '=' : ':')) return Scan::bad;
            ++at_;
            Json element;
            if (scan = read(element, depth + 1); scan != Scan::complete) return scan;
            value[key] = std::move(element);
            if (scan = separate(close, is_closed); scan != Scan::complete) return scan;
        }
        return Scan::complete;
    }

    Scan read_name(std::string& name) {
        skip_space();
        const size_t begin = at_;
        while (!is_at_end() && is_loose_name(text_[at_])) ++at_;
        name = text_.substr(begin, at_ - begin);
        if (is_at_end()) return Scan::incomplete;
        return name.empty() ? Scan::bad : Scan::complete;
    }

    Scan read_word(Json& value) {
        std::string word;
        const size_t begin = at_;
        while (!is_at_end() && (is_loose_name(text_[at_]) || text_[at_] == '+')) ++at_;
        if (is_at_end()) return Scan::incomplete;
        word = text_.substr(begin, at_ - begin);
        if (word == "true" || word == "True") return value = true, Scan::complete;
        if (word == "false" || word == "False") return value = false, Scan::complete;
        if (word == "null" || word == "None") return value = nullptr, Scan::complete;
        value = Json::parse(word, nullptr, /*allow_exceptions=*/false);
        return value.is_number() ? Scan::complete : Scan::bad;
    }

    // bad, with nothing read: no string begins here.
    Scan read_string(std::string& string) {
        skip_space();
        static constexpr std::array<std::string_view, 3> kQuotes{"<|\"|>", "\"", "'"};
        const std::string_view rest = text_.substr(at_);
        for (const std::string_view quote : kQuotes) {
            if (rest.starts_with(quote)) {
                at_ += quote.size();
                return read_until(quote, string);
            }
            if (quote.starts_with(rest)) return Scan::incomplete;
        }
        return Scan::bad;
    }

    Scan read_until(std::string_view quote, std::string& string) {
        const bool has_escapes = quote.size() == 1;
        while (true) {
            const std::string_view rest = text_.substr(at_);
            if (rest.starts_with(quote)) {
                at_ += quote.size();
                return Scan::complete;
            }
            if (rest.empty()) return Scan::incomplete;
            if (has_escapes && rest[0] == '\\') {
                if (const Scan scan = read_escape(string); scan != Scan::complete) return scan;
            } else {
                string += rest[0];
                ++at_;
            }
        }
    }

    Scan read_escape(std::string& string) {
        if (text_.size() - at_ < 2) return Scan::incomplete;
        const char escaped = text_[at_ + 1];
        at_ += 2;
        switch (escaped) {
            case 'b':
                string += '\b';
                return Scan::complete;
            case 'f':
                string += '\f';
                return Scan::complete;
            case 'n':
                string += '\n';
                return Scan::complete;
            case 'r':
                string += '\r';
                return Scan::complete;
            case 't':
                string += '\t';
                return Scan::complete;
            case 'u':
                return read_code_point(string);
            default:
                string += escaped;
                return Scan::complete;
        }
    }

    // The four digits behind \u, and a second such escape where the first is half a character.
    Scan read_code_point(std::string& string) {
        uint32_t code = 0;
        if (const Scan scan = read_hex(code); scan != Scan::complete) return scan;
        if (code >= 0xd800 && code < 0xdc00) {
            if (text_.size() - at_ < 6) return Scan::incomplete;
            uint32_t low = 0;
            if (text_.substr(at_, 2) != "\\u") return append_utf8(string, 0xfffd), Scan::complete;
            at_ += 2;
            if (const Scan scan = read_hex(low); scan != Scan::complete) return scan;
            code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
        } else if (code >= 0xdc00 && code < 0xe000) {
            code = 0xfffd;
        }
        append_utf8(string, code);
        return Scan::complete;
    }

    Scan read_hex(uint32_t& code) {
        if (text_.size() - at_ < 4) return Scan::incomplete;
        for (int digit = 0; digit < 4; ++digit) {
            const char c = text_[at_++];
            const int value = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
            if (value < 0) return Scan::bad;
            code = code * 16 + uint32_t(value);
        }
        return Scan::complete;
    }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace

bool is_loose_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
}

LooseValue read_loose_value(std::string_view text) {
    LooseReader reader(text);
    LooseValue result;
    result.scan = reader.read(result.value);
    result.length = reader.position();
    return result;
}

}  // namespace riftjit::engine
