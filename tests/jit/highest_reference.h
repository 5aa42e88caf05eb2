// What HighestSpec means, by sorting.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "jit/kernel_spec.h"

namespace riftjit {

// From the highest on.
inline std::vector<IndexedLogit> highest_of(std::span<const float> row) {
    std::vector<IndexedLogit> all;
    for (uint32_t i = 0; i < row.size(); ++i) all.push_back({row[i] + 0.0f, i});
    std::ranges::stable_sort(all, [](const IndexedLogit& a, const IndexedLogit& b) {
        return std::isnan(a.logit) ? !std::isnan(b.logit) : a.logit > b.logit;
    });
    all.resize(std::min<size_t>(all.size(), kHighest));
    return all;
}

// Empty, or what is wrong with a row's list.
inline std::string compare_highest(std::span<const float> row, std::span<const IndexedLogit> found) {
    const std::vector<IndexedLogit> expected = highest_of(row);
    std::vector<IndexedLogit> got;
    for (const IndexedLogit& each : found)
        if (each.index < row.size()) got.push_back(each);
    std::ranges::stable_sort(got, [](const IndexedLogit& a, const IndexedLogit& b) {
        if (std::isnan(a.logit) || std::isnan(b.logit)) return std::isnan(a.logit) && !std::isnan(b.logit);
        return a.logit > b.logit || (a.logit == b.logit && a.index < b.index);
    });
    if (got.size() != expected.size()) return std::to_string(got.size()) + " of a row of " + std::to_string(row.size());
    for (size_t i = 0; i < got.size(); ++i) {
        const bool is_nan = std::isnan(expected[i].logit) && std::isnan(got[i].logit);
        const bool has_bits = std::bit_cast<uint32_t>(expected[i].logit) == std::bit_cast<uint32_t>(got[i].logit);
        if (expected[i].index != got[i].index || (!is_nan && !has_bits))
            return "place " + std::to_string(i) + ": " + std::to_string(got[i].index) + " with " +
                   std::to_string(got[i].logit) + ", not " + std::to_string(expected[i].index) + " with " +
                   std::to_string(expected[i].logit);
    }
    return "";
}

}  // namespace riftjit
