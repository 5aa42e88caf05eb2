#include "server/tools/line_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace riftjit::server {

namespace {

constexpr uint32_t kMostTries = 1'000'000, kMostHeap = 20 << 10;  // KiB

std::string pcre_message(int error) {
    char text[256] = {};
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text);
    return text;
}

PCRE2_SPTR pcre_units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct LinePattern::State {
    pcre2_code* code = nullptr;
    pcre2_match_data* data = nullptr;
    pcre2_match_context* limits = pcre2_match_context_create(nullptr);

    State() {
        pcre2_set_match_limit(limits, kMostTries);
        pcre2_set_heap_limit(limits, kMostHeap);
    }
    ~State() {
        pcre2_match_data_free(data);
        pcre2_match_context_free(limits);
        pcre2_code_free(code);
    }
    State(const State&) = delete;
};

Result<LinePattern> LinePattern::compile(const std::string& pattern, Syntax syntax, Case letter_case) {
    auto state = std::make_shared<State>();
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    if (syntax == Syntax::text) options |= PCRE2_LITERAL;
    if (syntax == Syntax::text) options &= ~uint32_t(PCRE2_NEVER_BACKSLASH_C);
    if (letter_case == Case::does_not) options |= PCRE2_CASELESS;
    int error = 0;
    PCRE2_SIZE at = 0;
    state->code = pcre2_compile(pcre_units(pattern), pattern.size(), options, &error, &at, nullptr);
    if (state->code == nullptr)
        return fail(ErrorKind::Usage, "invalid regex: {} (at byte {})", pcre_message(error), at);
    state->data = pcre2_match_data_create(1, nullptr);
    return LinePattern(std::move(state));
}

Result<bool> LinePattern::is_in(std::string_view line) const {
    const int found = pcre2_match(state_->code, pcre_units(line), line.size(), 0, 0, state_->data, state_->limits);
    if (found >= 0) return true;  // 0: more groups than are kept
    if (found == PCRE2_ERROR_NOMATCH) return false;
    return fail(ErrorKind::Unsupported, "the regex was given up: {}", pcre_message(found));
}

}  // namespace riftjit::server
