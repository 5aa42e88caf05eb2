// Expressions run in PCRE2's interpreter, not in its compiler: that maps pages writable and executable at once, and the
// families in common use have scanners. The interpreter keeps its frames on the heap, so long runs cost no stack.
#include "models/tokenizer/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <string>
#include <utility>

#include "host/utf8.h"
#include "models/tokenizer/pretokenizer_scanner.h"

namespace riftjit::models {

namespace {

struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatchData {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeMatchContext {
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

// PCRE2's \s has U+180E (Mongolian vowel separator) in it, which lost the property White_Space in Unicode 6.3.
std::string with_unicode_spaces(std::string_view expression) {
    constexpr std::string_view kWhiteSpace =
        R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
    std::string result;
    bool inside_class = false;
    for (size_t i = 0; i < expression.size(); ++i) {
        const std::string_view pair = expression.substr(i, 2);
        if (pair == R"(\s)" || pair == R"(\S)") {
            check(!inside_class || pair == R"(\s)", "no \\S inside a class");
            result += inside_class      ? std::string(kWhiteSpace)
                      : pair == R"(\s)" ? fmt::format("[{}]", kWhiteSpace)
                                        : fmt::format("[^{}]", kWhiteSpace);
            ++i;
        } else if (pair.front() == '\\') {
            result += pair;
            ++i;
        } else {
            if (pair.front() == '[') inside_class = true;
            if (pair.front() == ']') inside_class = false;
            result += pair.front();
        }
    }
    return result;
}

struct CompiledStage {
    std::unique_ptr<pcre2_code, FreeCode> code;
    MatchCut cut;
};

CompiledStage compile(const SplitStage& stage) {
    const std::string expression = with_unicode_spaces(stage.expression);
    int error = 0;
    PCRE2_SIZE error_offset = 0;
    pcre2_code* code =
        pcre2_compile(units(expression), expression.size(), PCRE2_UTF | PCRE2_UCP, &error, &error_offset, nullptr);
    check(code != nullptr, "every expression of the table compiles");
    return {std::unique_ptr<pcre2_code, FreeCode>(code), stage.cut};
}

// What one call of split() needs; the compiled code is shared by all.
class Splitter {
public:
    Splitter() : data_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
        check(data_ && context_, "memory for a match");
        pcre2_set_match_limit(context_.get(), UINT32_MAX);
        pcre2_set_depth_limit(context_.get(), UINT32_MAX);
    }

    // Replaces `ends` by what the stage makes of each piece.
    Result<void> run(const CompiledStage& stage, std::string_view text, std::vector<size_t>& ends) {
        pieces_.swap(ends);
        ends.clear();
        last_end_ = 0;
        for (const size_t piece_end : pieces_) {
            const size_t begin = last_end_;
            RIFTJIT_TRY_VOID(cut_piece(stage, text.substr(begin, piece_end - begin), begin, ends));
            cut_at(piece_end, ends);
        }
        return {};
    }

private:
    Result<void> cut_piece(const CompiledStage& stage, std::string_view piece, size_t piece_begin,
                           std::vector<size_t>& ends) {
        for (size_t offset = 0; offset < piece.size();) {
            const int found = pcre2_match(stage.code.get(), units(piece), piece.size(), offset, PCRE2_NO_UTF_CHECK,
                                          data_.get(), context_.get());
            if (found == PCRE2_ERROR_NOMATCH) break;
            if (found < 0) return gave_up(found, piece);
            const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(data_.get());
            check(bounds[1] > bounds[0], "no expression of the table matches nothing");
            cut_match(stage.cut, piece.substr(bounds[0], bounds[1] - bounds[0]), piece_begin + bounds[0], ends);
            offset = bounds[1];
        }
        return {};
    }

    void cut_match(MatchCut cut, std::string_view match, size_t match_begin, std::vector<size_t>& ends) {
        if (cut != MatchCut::before_threes) cut_at(match_begin, ends);
        if (cut != MatchCut::whole) {
            const auto is_lead = [](char c) { return (c & 0xC0) != 0x80; };
            size_t remaining = std::ranges::count_if(match, is_lead);
            for (size_t i = 0; i < match.size(); ++i) {
                if (!is_lead(match[i])) continue;
                if (remaining % 3 == 0) cut_at(match_begin + i, ends);
                --remaining;
            }
        }
        if (cut != MatchCut::before_threes) cut_at(match_begin + match.size(), ends);
    }

    void cut_at(size_t position, std::vector<size_t>& ends) {
        if (position <= last_end_) return;
        ends.push_back(position);
        last_end_ = position;
    }

    static std::unexpected<Error> gave_up(int code, std::string_view piece) {
        PCRE2_UCHAR message[128];
        pcre2_get_error_message(code, message, sizeof message);
        return fail(ErrorKind::Unsupported, "tokenizer: splitting {} bytes into words: {}", piece.size(),
                    reinterpret_cast<const char*>(message));
    }

    std::unique_ptr<pcre2_match_data, FreeMatchData> data_;
    std::unique_ptr<pcre2_match_context, FreeMatchContext> context_;
    std::vector<size_t> pieces_;
    size_t last_end_ = 0;
};

// A text whose invalid bytes are each replaced by a noncharacter, which no class of the expressions has.
struct RepairedText {
    std::string text;
    std::vector<size_t> replacements;  // where, in `text`
};

constexpr std::string_view kNoncharacter = "\xEF\xBF\xBF";  // U+FFFF

RepairedText repair(std::string_view text) {
    RepairedText repaired;
    while (!text.empty()) {
        const size_t valid = valid_utf8_prefix(text);
        repaired.text += text.substr(0, valid);
        text.remove_prefix(valid);
        if (text.empty()) break;
        repaired.replacements.push_back(repaired.text.size());
        repaired.text += kNoncharacter;
        text.remove_prefix(1);
    }
    return repaired;
}

void undo_repair(const RepairedText& repaired, std::vector<size_t>& ends) {
    size_t passed = 0;
    for (size_t& end : ends) {
        while (passed < repaired.replacements.size() && repaired.replacements[passed] < end) ++passed;
        end -= passed * (kNoncharacter.size() - 1);
    }
}

}  // namespace

struct Pretokenizer::Impl {
    WordScanner scanner;
    std::vector<CompiledStage> stages;

    Result<void> run_stages(std::string_view text, std::vector<size_t>& ends) const {
        Splitter splitter;
        ends.push_back(text.size());
        for (const CompiledStage& stage : stages) RIFTJIT_TRY_VOID(splitter.run(stage, text, ends));
        return {};
    }
};

Pretokenizer::Pretokenizer(SplitFamily family, SplitEngine engine) {
    Impl impl{engine == SplitEngine::fastest ? find_scanner(family) : nullptr, {}};
    if (impl.scanner == nullptr)
        for (const SplitStage& stage : split_stages(family)) impl.stages.push_back(compile(stage));
    impl_ = std::make_shared<const Impl>(std::move(impl));
}

Result<void> Pretokenizer::split(std::string_view text, std::vector<size_t>& ends) const {
    ends.clear();
    if (text.empty()) return {};
    if (impl_->scanner != nullptr) {
        impl_->scanner(text, ends);
        return {};
    }
    if (valid_utf8_prefix(text) == text.size()) return impl_->run_stages(text, ends);
    const RepairedText repaired = repair(text);
    RIFTJIT_TRY_VOID(impl_->run_stages(repaired.text, ends));
    undo_repair(repaired, ends);
    return {};
}

}  // namespace riftjit::models
