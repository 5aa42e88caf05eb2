#include "tools/cli/suggestion.h"

#include <algorithm>
#include <vector>

namespace riftjit::tools {

namespace {

// Letters to insert, remove, replace or swap with the next one.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<size_t>> changes(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) {
        for (size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                changes[i][j] = i + j;
                continue;
            }
            const size_t replaced = changes[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            changes[i][j] = std::min({changes[i - 1][j] + 1, changes[i][j - 1] + 1, replaced});
            const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swapped) changes[i][j] = std::min(changes[i][j], changes[i - 2][j - 2] + 1);
        }
    }
    return changes.back().back();
}

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> known) {
    std::string best;
    if (word.size() > 64) return best;
    size_t best_distance = word.size() / 3 + 1;
    for (const std::string& candidate : known) {
        const size_t changes = distance(word, candidate);
        if (changes >= best_distance) continue;
        best_distance = changes;
        best = candidate;
    }
    return best;
}

}  // namespace riftjit::tools
