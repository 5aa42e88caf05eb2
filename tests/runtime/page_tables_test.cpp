#include "runtime/page_tables.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace riftjit::runtime {
namespace page_tables_test {

std::vector<uint32_t> pages_of(const PageTables& tables, SequenceId id) {
    const uint32_t* const table = tables.tables() + size_t(id) * tables.pages_per_sequence();
    return {table, table + page_count(tables.length(id))};
}

TEST(PageTables, OfOneTextAreInOrder) {
    PageTables tables({1, 4, 4});
    const SequenceId id = *tables.open();
    for (const uint32_t positions : {1u, 254u, 1u, 1u, 700u, 67u}) {
        EXPECT_EQ(tables.extend(id, positions), std::nullopt);
        std::vector<uint32_t> expected(page_count(tables.length(id)));
        for (uint32_t page = 0; page < expected.size(); ++page) expected[page] = page;
        EXPECT_EQ(pages_of(tables, id), expected);
    }
    EXPECT_EQ(tables.length(id), 1024u);
    EXPECT_EQ(tables.free_pages(), 0u);
    tables.truncate(id, 300);
    EXPECT_EQ(tables.free_pages(), 2u);
    EXPECT_EQ(tables.extend(id, 724), std::nullopt);
    EXPECT_EQ(pages_of(tables, id), (std::vector<uint32_t>{0, 1, 2, 3}));
}

TEST(PageTables, AForkCopiesThePageThatItWritesFirst) {
    PageTables tables({3, 4, 12});
    const SequenceId origin = *tables.open();
    tables.extend(origin, 300);
    const SequenceId fork = *tables.fork(origin);
    EXPECT_EQ(tables.length(fork), 300u);
    EXPECT_EQ(pages_of(tables, fork), pages_of(tables, origin));
    EXPECT_EQ(tables.used_pages(), 2u);
    EXPECT_EQ(tables.pages_to_extend(fork, 1), 1u);
    const auto copy = tables.extend(fork, 1);
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->from, 1u);
    EXPECT_EQ(pages_of(tables, fork), (std::vector<uint32_t>{0, copy->to}));
    EXPECT_EQ(tables.pages_to_extend(origin, 1), 0u) << "the page is its own again";
    EXPECT_EQ(tables.extend(origin, 1), std::nullopt);
}

TEST(PageTables, AForkAtTheEndOfAPageCopiesNothing) {
    PageTables tables({2, 4, 8});
    const SequenceId origin = *tables.open();
    tables.extend(origin, 512);
    const SequenceId fork = *tables.fork(origin);
    EXPECT_EQ(tables.extend(fork, 1), std::nullopt);
    EXPECT_EQ(tables.extend(origin, 1), std::nullopt);
    EXPECT_EQ(tables.used_pages(), 4u);
    tables.truncate(fork, 500);  // back into a shared page
    EXPECT_TRUE(tables.extend(fork, 1));
}

TEST(PageTables, HasABoundOfSequences) {
    PageTables tables({2, 1, 2});
    const SequenceId first = *tables.open();
    ASSERT_TRUE(tables.fork(first));
    EXPECT_EQ(tables.open(), std::nullopt);
    EXPECT_EQ(tables.fork(first), std::nullopt);
    tables.close(first);
    EXPECT_EQ(*tables.open(), first);
    EXPECT_EQ(tables.open_sequences(), 2u);
}

// Every operation at random against a model in which each sequence is a list of values and each page too.
TEST(PageTables, LoseNoPageAndMixNoSequencesInAnyOrderOfOperations) {
    constexpr uint32_t kSequences = 64, kPagesEach = 5, kPages = 120;
    std::mt19937 random(17);
    PageTables tables({kSequences, kPagesEach, kPages});
    std::map<SequenceId, std::vector<uint32_t>> texts;  // a number for each position
    std::vector<std::vector<uint32_t>> memory(kPages, std::vector<uint32_t>(kKvPage));
    uint32_t next_value = 1;
    const auto any = [&] { return std::next(texts.begin(), random() % texts.size())->first; };
    const auto extend = [&](SequenceId id) {
        std::vector<uint32_t>& text = texts[id];
        const uint32_t room = kPagesEach * kKvPage - uint32_t(text.size());
        const uint32_t positions = std::min<uint32_t>(room, random() % 400);
        if (tables.pages_to_extend(id, positions) > tables.free_pages()) return;
        const uint32_t before = tables.used_pages(), wanted = tables.pages_to_extend(id, positions);
        if (const auto copy = tables.extend(id, positions)) memory[copy->to] = memory[copy->from];
        EXPECT_EQ(tables.used_pages(), before + wanted);
        const std::vector<uint32_t> pages = pages_of(tables, id);
        for (uint32_t i = 0; i < positions; ++i) {
            const uint32_t at = uint32_t(text.size());
            memory[pages[at / kKvPage]][at % kKvPage] = next_value;
            text.push_back(next_value++);
        }
    };
    for (int operation = 0; operation < 4000; ++operation) {
        const uint32_t kind = random() % 10;
        if (texts.empty() || kind == 0) {
            if (const auto id = tables.open()) texts[*id] = {};
        } else if (kind == 1) {
            const SequenceId origin = any();
            if (const auto id = tables.fork(origin)) texts[*id] = texts[origin];
        } else if (kind == 2) {
            const SequenceId id = any();
            tables.close(id);
            texts.erase(id);
        } else if (kind == 3) {
            const SequenceId id = any();
            const uint32_t length = random() % (texts[id].size() + 20);
            tables.truncate(id, length);
            texts[id].resize(std::min<size_t>(length, texts[id].size()));
        } else {
            extend(any());
        }
        std::set<uint32_t> used;
        for (const auto& [id, text] : texts) {
            ASSERT_EQ(tables.length(id), text.size());
            const auto pages = pages_of(tables, id);
            used.insert(pages.begin(), pages.end());
        }
        ASSERT_EQ(tables.used_pages(), used.size());
        ASSERT_EQ(tables.free_pages(), kPages - used.size());
        ASSERT_EQ(tables.open_sequences(), texts.size());
        if (operation % 50 != 0) continue;
        for (const auto& [id, text] : texts) {
            const std::vector<uint32_t> pages = pages_of(tables, id);
            for (uint32_t at = 0; at < text.size(); ++at)
                ASSERT_EQ(memory[pages[at / kKvPage]][at % kKvPage], text[at]) << "sequence " << id;
        }
    }
    while (!texts.empty()) {
        tables.close(texts.begin()->first);
        texts.erase(texts.begin());
    }
    EXPECT_EQ(tables.free_pages(), kPages);
}

}  // namespace page_tables_test
}  // namespace riftjit::runtime
