#include "server/tools/text_edits.h"

#include <algorithm>

namespace riftjit::server {

namespace {

struct PlacedEdit {
    size_t begin;
    size_t index;  // among the edits
};

Result<PlacedEdit> place_of(std::string_view text, const std::vector<TextEdit>& edits, size_t index) {
    const std::string& wanted = edits[index].old_text;
    if (wanted.empty()) return fail(ErrorKind::Usage, "edits[{}].old_text is empty", index);
    const size_t begin = text.find(wanted);
    if (begin == text.npos)
        return fail(ErrorKind::Usage, "edits[{}].old_text is not there; it must be the file's text, to the byte",
                    index);
    if (text.find(wanted, begin + 1) != text.npos)
        return fail(ErrorKind::Usage, "edits[{}].old_text must be unique, and is there more than once", index);
    return PlacedEdit{begin, index};
}

}  // namespace

Result<std::string> apply_edits(std::string_view text, const std::vector<TextEdit>& edits) {
    std::vector<PlacedEdit> placed;
    for (size_t i = 0; i < edits.size(); ++i) {
        RIFTJIT_TRY(place, place_of(text, edits, i));
        placed.push_back(place);
    }
    std::ranges::sort(placed, {}, &PlacedEdit::begin);
    std::string edited;
    size_t done = 0;
    for (size_t i = 0; i < placed.size(); ++i) {
        if (placed[i].begin < done)
            return fail(ErrorKind::Usage, "edits[{}] and edits[{}] overlap", placed[i - 1].index, placed[i].index);
        const TextEdit& edit = edits[placed[i].index];
        edited += text.substr(done, placed[i].begin - done);
        edited += edit.new_text;
        done = placed[i].begin + edit.old_text.size();
    }
    edited += text.substr(done);
    if (edited == text) return fail(ErrorKind::Usage, "the edits change nothing");
    return edited;
}

}  // namespace riftjit::server
