#include "models/tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <random>

namespace riftjit::models {
namespace bpe_test {

using Ids = std::vector<int32_t>;
using PairMap = std::map<std::pair<int32_t, int32_t>, BpeMerges::Merge>;

// The definition, word for word: find the pair of lowest rank, the leftmost of equals; join it; again.
Ids merge_by_definition(const PairMap& merges, Ids symbols) {
    for (;;) {
        size_t best = symbols.size();
        BpeMerges::Merge found{BpeMerges::kNoRank, 0};
        for (size_t i = 0; i + 1 < symbols.size(); ++i) {
            const auto merge = merges.find({symbols[i], symbols[i + 1]});
            if (merge == merges.end() || merge->second.rank >= found.rank) continue;
            best = i;
            found = merge->second;
        }
        if (best == symbols.size()) return symbols;
        symbols[best] = found.result;
        symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    }
}

BpeMerges table_of(const PairMap& merges) {
    BpeMerges table(merges.size());
    for (const auto& [pair, merge] : merges) table.add(pair.first, pair.second, merge);
    return table;
}

Ids merged(const BpeMerges& table, Ids symbols) {
    BpeMerger(table).merge(symbols);
    return symbols;
}

// A table as training would make it, over few symbols so that merges are many and overlap.
PairMap random_merges(std::mt19937& random, int32_t symbols, uint32_t count) {
    PairMap merges;
    int32_t next = symbols;
    for (uint32_t rank = 0; rank < count; ++rank) {
        const auto left = static_cast<int32_t>(random() % next), right = static_cast<int32_t>(random() % next);
        if (merges.try_emplace({left, right}, BpeMerges::Merge{rank, next}).second) ++next;
    }
    return merges;
}

TEST(BpeMerger, FollowsTheDefinitionInShortAndLongWords) {
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
        const PairMap merges = random_merges(random, 3, 1 + random() % 40);
        const BpeMerges table = table_of(merges);
        for (const size_t length : {1, 2, 3, 7, 30, 48, 49, 50, 200}) {
            Ids symbols(length);
            for (int32_t& symbol : symbols) symbol = static_cast<int32_t>(random() % 3);
            ASSERT_EQ(merged(table, symbols), merge_by_definition(merges, symbols)) << length;
        }
    }
}

// Ranks of later pairs may be lower than those of the pairs they come from; several pairs may share a rank.
TEST(BpeMerger, FollowsTheDefinitionWhateverTheRanks) {
    std::mt19937 random(2);
    for (int i = 0; i < 300; ++i) {
        PairMap merges = random_merges(random, 3, 1 + random() % 40);
        for (auto& [pair, merge] : merges) merge.rank = random() % 10;
        const BpeMerges table = table_of(merges);
        for (const size_t length : {5, 30, 100}) {
            Ids symbols(length);
            for (int32_t& symbol : symbols) symbol = static_cast<int32_t>(random() % 3);
            ASSERT_EQ(merged(table, symbols), merge_by_definition(merges, symbols)) << length;
        }
    }
}

TEST(BpeMerger, JoinsTheLeftmostOfEquals) {
    BpeMerges table;
    table.add(0, 0, {0, 1});
    EXPECT_EQ(merged(table, {0, 0, 0}), (Ids{1, 0}));
    EXPECT_EQ(merged(table, Ids(101, 0)), [] {
        Ids ids(50, 1);
        ids.push_back(0);
        return ids;
    }());
}

TEST(BpeMerges, KeepsTheFirstOfTwoEntriesForAPair) {
    BpeMerges table;
    table.add(1, 2, {5, 10});
    table.add(1, 2, {3, 11});
    EXPECT_EQ(table.find(1, 2).rank, 5u);
    EXPECT_EQ(table.find(2, 1).rank, BpeMerges::kNoRank);
}

TEST(BpeMerges, GrowsBeyondWhatWasExpected) {
    BpeMerges table(0);
    for (int32_t i = 0; i < 5000; ++i) table.add(i, i % 7, {static_cast<uint32_t>(i), i + 1});
    for (int32_t i = 0; i < 5000; ++i) {
        ASSERT_EQ(table.find(i, i % 7).result, i + 1);
        ASSERT_EQ(table.find(i, 7).rank, BpeMerges::kNoRank);
    }
}

// 2^20 equal symbols that all join, level by level: the loop of the definition would take 10^12 steps.
TEST(BpeMerger, TakesLittleMoreThanLinearTime) {
    BpeMerges table;
    for (int32_t level = 0; level < 20; ++level) table.add(level, level, {static_cast<uint32_t>(level), level + 1});
    const std::clock_t start = std::clock();
    EXPECT_EQ(merged(table, Ids(1 << 20, 0)), (Ids{20}));
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10.0);
}

}  // namespace bpe_test
}  // namespace riftjit::models
