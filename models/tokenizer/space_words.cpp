#include "models/tokenizer/space_words.h"

namespace riftjit::models {

namespace {

// The next space mark from `from` on that follows something else than one.
size_t find_inner_mark(std::string_view text, size_t from) {
    size_t at = text.find(kSpaceMark, from);
    while (at != std::string_view::npos && (at == 0 || text.substr(0, at).ends_with(kSpaceMark)))
        at = text.find(kSpaceMark, at + kSpaceMark.size());
    return at;
}

}  // namespace

SpaceWords::SpaceWords(const Vocabulary& vocabulary) {
    for (int32_t id = 0; id < static_cast<int32_t>(vocabulary.size()); ++id) {
        const std::string_view text = vocabulary.text(id);
        for (size_t at = find_inner_mark(text, 0); at != std::string_view::npos; at = find_inner_mark(text, at + 1))
            joining_.set(static_cast<uint8_t>(text[at - 1]));
    }
}

size_t SpaceWords::end_of_word(std::string_view text, size_t begin) const {
    const std::string_view rest = text.substr(begin);
    for (size_t at = find_inner_mark(rest, 0); at != std::string_view::npos; at = find_inner_mark(rest, at + 1))
        if (!joining_[static_cast<uint8_t>(rest[at - 1])]) return begin + at;
    return text.size();
}

}  // namespace riftjit::models
