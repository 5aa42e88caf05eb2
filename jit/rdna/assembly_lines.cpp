#include "jit/rdna/assembly_lines.h"

#include "jit/rdna/parse_line.h"

namespace riftjit::rdna {
namespace {

// Reads character by character; a comment's characters become blanks so that columns stay true.
class Splitter {
public:
    explicit Splitter(std::string_view source) : source_(source) {}

    std::vector<AssemblyStatement> run() {
        for (at_ = 0; at_ < source_.size(); ++at_) step(source_[at_]);
        end_line();
        return std::move(statements_);
    }
    bool ends_in_comment() const { return in_block_; }
    size_t comment_line() const { return block_line_; }

private:
    bool follows(std::string_view text) const { return source_.substr(at_).starts_with(text); }

    void step(char c) {
        if (c == '\n') return end_line();
        if (in_block_) {
            text_ += ' ';
            if (!follows("*/")) return;
            in_block_ = false;
            text_ += ' ';
            ++at_;
            return;
        }
        if (in_line_comment_ || c == '\r') return;
        if (in_quotes_) return quoted(c);
        if (c == '"') in_quotes_ = true;
        if (c == ';' || follows("//") || (c == '#' && trim(text_).empty())) {
            in_line_comment_ = true;
        } else if (follows("/*")) {
            in_block_ = true;
            block_line_ = line_;
            text_ += "  ";
            ++at_;
        } else {
            text_ += c;
        }
    }

    void quoted(char c) {
        text_ += c;
        if (c == '\\' && at_ + 1 < source_.size() && source_[at_ + 1] != '\n') text_ += source_[++at_];
        if (c == '"') in_quotes_ = false;
    }

    void end_line() {
        if (!trim(text_).empty()) statements_.push_back({text_, line_});
        text_.clear();
        in_line_comment_ = in_quotes_ = false;
        ++line_;
    }

    std::string_view source_;
    size_t at_ = 0, line_ = 1, block_line_ = 1;
    bool in_block_ = false, in_line_comment_ = false, in_quotes_ = false;
    std::string text_;
    std::vector<AssemblyStatement> statements_;
};

}  // namespace

Result<std::vector<AssemblyStatement>> split_statements(std::string_view source, std::string_view name) {
    Splitter splitter(source);
    std::vector<AssemblyStatement> statements = splitter.run();
    if (splitter.ends_in_comment())
        return fail(ErrorKind::Format, "{}:{}:1: a /* comment without its end", name, splitter.comment_line());
    return statements;
}

}  // namespace riftjit::rdna
