// Texts replaced in a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/result.h"

namespace riftjit::server {

struct TextEdit {
    std::string old_text, new_text;
};

// All of them, or an error that names the first that is wrong: each old text must be found exactly once in `text`,
// where it is in no other's way, and something must change. Linear in the text for each edit.
Result<std::string> apply_edits(std::string_view text, const std::vector<TextEdit>& edits);

}  // namespace riftjit::server
