#include "server/tools/glob.h"

#include <algorithm>

namespace riftjit::server {

namespace {

constexpr size_t kMostAlternatives = 64, kMostPattern = 4096;

std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const size_t slash = std::min(text.find('/'), text.size());
        if (slash > 0) parts.emplace_back(text.substr(0, slash));
        text.remove_prefix(std::min(text.size(), slash + 1));
    }
    return parts;
}

// The first {...} whose braces match, replaced by each of its alternatives; a brace without its other is a character.
bool expand_braces(const std::string& pattern, std::vector<std::string>& into) {
    for (size_t open = pattern.find('{'); open != pattern.npos; open = pattern.find('{', open + 1)) {
        std::vector<size_t> marks{open};
        size_t depth = 1, at = open + 1;
        for (; at < pattern.size() && depth > 0; ++at) {
            depth += pattern[at] == '{';
            depth -= pattern[at] == '}';
            if (depth == 0 || (depth == 1 && pattern[at] == ',')) marks.push_back(at);
        }
        if (depth > 0 || marks.size() < 3) continue;
        for (size_t i = 0; i + 1 < marks.size(); ++i) {
            const std::string choice = pattern.substr(marks[i] + 1, marks[i + 1] - marks[i] - 1);
            if (!expand_braces(pattern.substr(0, open) + choice + pattern.substr(marks.back() + 1), into)) return false;
        }
        return true;
    }
    into.push_back(pattern);
    return into.size() <= kMostAlternatives;
}

// One character of a part against the pattern at `at`, which moves behind what it took.
bool takes(std::string_view pattern, size_t& at, char c) {
    if (pattern[at] == '?') return ++at, true;
    if (pattern[at] == '[') {
        const bool is_negated = at + 1 < pattern.size() && (pattern[at + 1] == '!' || pattern[at + 1] == '^');
        const size_t begin = at + 1 + is_negated, end = pattern.find(']', begin + 1);
        if (end != pattern.npos) {
            bool is_in = false;
            for (size_t i = begin; i < end; ++i) {
                const bool is_range = i + 2 < end && pattern[i + 1] == '-';
                is_in |= is_range ? pattern[i] <= c && c <= pattern[i + 2] : pattern[i] == c;
                if (is_range) i += 2;
            }
            at = end + 1;
            return is_in != is_negated;
        }
    }
    if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
    return pattern[at++] == c;
}

// A star takes as little as it can, and more when the rest does not fit: only the last star is ever gone back to.
bool matches_part(std::string_view pattern, std::string_view text) {
    size_t at = 0, done = 0, star = pattern.npos, star_done = 0;
    while (done < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            star_done = done;
            continue;
        }
        if (at < pattern.size() && takes(pattern, at, text[done])) {
            ++done;
            continue;
        }
        if (star == pattern.npos) return false;
        at = star + 1;
        done = ++star_done;
    }
    return pattern.find_first_not_of('*', at) == pattern.npos;
}

// fits[j]: the parts of the pattern so far match the first j parts of the path.
bool matches_parts(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
    std::vector<char> fits(path.size() + 1, 0);
    fits[0] = 1;
    for (const std::string& part : pattern) {
        if (part == "**") {
            for (size_t j = 1; j < fits.size(); ++j) fits[j] |= fits[j - 1];
            continue;
        }
        for (size_t j = path.size(); j > 0; --j) fits[j] = fits[j - 1] && matches_part(part, path[j - 1]);
        fits[0] = 0;
    }
    return fits.back() != 0;
}

}  // namespace

Result<Glob> Glob::parse(std::string_view pattern) {
    std::vector<std::string> expanded;
    if (pattern.size() > kMostPattern) return fail(ErrorKind::Usage, "a pattern has at most {} bytes", kMostPattern);
    if (!expand_braces(std::string(pattern), expanded))
        return fail(ErrorKind::Usage, "a pattern has at most {} alternatives", kMostAlternatives);
    Glob glob;
    for (const std::string& each : expanded) {
        auto parts = parts_of(each);
        if (!each.starts_with('/')) parts.insert(parts.begin(), "**");
        glob.alternatives_.push_back(std::move(parts));
    }
    return glob;
}

bool Glob::matches(std::string_view path) const {
    const auto parts = parts_of(path);
    return std::ranges::any_of(alternatives_, [&](const auto& each) { return matches_parts(each, parts); });
}

}  // namespace riftjit::server
