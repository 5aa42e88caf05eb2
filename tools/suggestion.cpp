#include "tools/suggestion.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace riftjit::tools {

namespace {

// Levenshtein distance: letters to insert, remove or replace.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = std::exchange(row[0], i);
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> known) {
    std::string best;
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
