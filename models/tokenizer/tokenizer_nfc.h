// Unicode normalisation form C for text that may hold invalid bytes, which stay where they are.
#pragma once

#include <string>
#include <string_view>

namespace riftjit::models {

// `text` in form C: `text` itself where it already is, else a view of `storage`. Time is linear but for sorting runs
// of combining marks.
std::string_view to_nfc(std::string_view text, std::string& storage);

}  // namespace riftjit::models
