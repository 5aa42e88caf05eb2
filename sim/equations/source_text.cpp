#include "sim/equations/source_text.h"

#include <algorithm>
#include <numeric>

namespace riftjit::sim {

namespace {

// Levenshtein distance.
size_t edits_between(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t(0));
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

}  // namespace

std::string place(const SourceText& source, size_t offset_bytes) {
    const std::string_view before = std::string_view(source.text).substr(0, offset_bytes);
    const auto newlines = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
    const uint32_t line = std::max(source.line, 1u) + newlines;
    const size_t line_start = newlines == 0 ? 0 : before.rfind('\n') + 1;
    const size_t first_column = newlines == 0 ? std::max(source.column, 1u) : 1;
    return fmt::format("{}:{}:{}", source.file.empty() ? "text" : source.file, line,
                       first_column + before.size() - line_start);
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
    const size_t most_edits = std::max<size_t>(1, name.size() / 3);
    size_t fewest = most_edits + 1;
    std::string_view nearest;
    for (const std::string& candidate : known) {
        const size_t edits = edits_between(name, candidate);
        if (edits >= fewest || edits >= candidate.size()) continue;
        fewest = edits;
        nearest = candidate;
    }
    return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace riftjit::sim
