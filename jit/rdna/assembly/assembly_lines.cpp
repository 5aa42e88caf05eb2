#include "jit/rdna/assembly/assembly_lines.h"

#include <algorithm>

#include "jit/rdna/text/parse_line.h"

namespace riftjit::rdna {
namespace {

constexpr std::string_view kMetadataBegin = ".amdgpu_metadata", kMetadataEnd = ".end_amdgpu_metadata";

// Reads character by character; a comment's characters become blanks so that columns stay true.
class Splitter {
public:
    explicit Splitter(std::string_view source) : source_(source) {}

    std::vector<AssemblyStatement> run() {
        for (at_ = 0; at_ < source_.size(); ++at_) {
            if (in_metadata_ && text_.empty() && is_line_start()) take_metadata_line();
            if (at_ < source_.size()) step(source_[at_]);
        }
        end_line();
        return std::move(statements_);
    }
    bool ends_in_comment() const { return in_block_; }
    size_t comment_line() const { return block_line_; }

private:
    bool is_line_start() const { return at_ == 0 || source_[at_ - 1] == '\n'; }

    // As it stands, and blank ones too: it is YAML, which has comments and quotes of its own.
    void take_metadata_line() {
        const size_t end = std::min(source_.find('\n', at_), source_.size());
        std::string_view line = source_.substr(at_, end - at_);
        if (trim(line).starts_with(kMetadataEnd)) {
            in_metadata_ = false;
            return;
        }
        if (line.ends_with('\r')) line.remove_suffix(1);
        statements_.push_back({std::string(line), line_});
        at_ = end;
    }

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
        in_metadata_ |= trim(text_) == kMetadataBegin;
        text_.clear();
        in_line_comment_ = in_quotes_ = false;
        ++line_;
    }

    std::string_view source_;
    size_t at_ = 0, line_ = 1, block_line_ = 1;
    bool in_block_ = false, in_line_comment_ = false, in_quotes_ = false, in_metadata_ = false;
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
