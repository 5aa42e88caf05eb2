#include "jit/batch.h"

#include <gtest/gtest.h>

#include <array>
#include <span>

namespace riftjit {
namespace batch_test {

struct Tiles {
    std::vector<std::array<uint32_t, 4>> tiles, singles;  // {first_row, rows, sequence, position}
    bool operator==(const Tiles&) const = default;
};

Tiles tiles_of(const std::vector<BatchRow>& rows, uint32_t max_tile_rows = kMaxTileRows) {
    Batch batch(uint32_t(rows.size()), max_tile_rows);
    for (const BatchRow& row : rows) batch.add(row);
    const BatchState& state = batch.finish(nullptr, 0);
    Tiles out;
    const auto put = [](auto& list, const BatchTile* tiles, uint32_t count) {
        for (const BatchTile& tile : std::span(tiles, count))
            list.push_back({tile.first_row, tile.rows, tile.sequence, tile.position});
    };
    put(out.tiles, state.tile, state.tiles);
    put(out.singles, state.single, state.singles);
    return out;
}

std::vector<BatchRow> run_of(uint32_t sequence, uint32_t position, uint32_t rows) {
    std::vector<BatchRow> run;
    for (uint32_t row = 0; row < rows; ++row) run.push_back({sequence, position + row});
    return run;
}

std::vector<BatchRow> joined(std::initializer_list<std::vector<BatchRow>> runs) {
    std::vector<BatchRow> rows;
    for (const auto& run : runs) rows.insert(rows.end(), run.begin(), run.end());
    return rows;
}

TEST(Batch, TilesAreNeighboursOfOneSequenceUpToEightRows) {
    EXPECT_EQ(tiles_of(run_of(3, 70, 17)), (Tiles{{{0, 8, 3, 70}, {8, 8, 3, 78}}, {{16, 1, 3, 86}}}));
    EXPECT_EQ(tiles_of(run_of(0, 5, 1)), (Tiles{{}, {{0, 1, 0, 5}}}));
    // A sequence that begins where another ends, a gap, and positions that go back.
    EXPECT_EQ(tiles_of(joined({run_of(0, 0, 3), run_of(1, 3, 2), run_of(1, 9, 2), run_of(1, 9, 1)})),
              (Tiles{{{0, 3, 0, 0}, {3, 2, 1, 3}, {5, 2, 1, 9}}, {{7, 1, 1, 9}}}));
    EXPECT_EQ(tiles_of(run_of(0, 4, 2), 1), (Tiles{{}, {{0, 1, 0, 4}, {1, 1, 0, 5}}}));
}

TEST(Batch, EveryRowIsInOneTile) {
    for (uint32_t seed = 1; seed < 200; ++seed) {
        std::vector<BatchRow> rows;
        for (uint32_t run = 0; run < seed % 7 + 1; ++run)
            rows = joined({rows, run_of(seed * run % 3, seed * run % 100, (seed + run * 5) % 19 + 1)});
        const Tiles tiles = tiles_of(rows);
        std::vector<uint32_t> seen(rows.size());
        for (const auto* list : {&tiles.tiles, &tiles.singles})
            for (const auto& [first, count, sequence, position] : *list)
                for (uint32_t row = 0; row < count; ++row) {
                    ++seen[first + row];
                    EXPECT_EQ(rows[first + row].sequence, sequence);
                    EXPECT_EQ(rows[first + row].position, position + row);
                }
        EXPECT_EQ(seen, std::vector<uint32_t>(rows.size(), 1));
    }
}

TEST(Batch, RunsAreAllNeighboursOfOneSequence) {
    const auto rows = joined({run_of(2, 0, 20), run_of(0, 20, 1), run_of(0, 22, 2), run_of(2, 20, 3)});
    Batch batch(uint32_t(rows.size()));
    for (const BatchRow& row : rows) batch.add(row);
    const BatchState& state = batch.finish(nullptr, 0);
    std::vector<std::array<uint32_t, 4>> runs;
    for (const BatchTile& run : std::span(state.run, state.runs))
        runs.push_back({run.first_row, run.rows, run.sequence, run.position});
    EXPECT_EQ(runs,
              (std::vector<std::array<uint32_t, 4>>{{0, 20, 2, 0}, {20, 1, 0, 20}, {21, 2, 0, 22}, {23, 3, 2, 20}}));
}

TEST(Batch, IsFilledAgainAfterClear) {
    Batch batch(4);
    for (const uint32_t position : {0u, 9u}) {
        batch.clear();
        for (const BatchRow& row : run_of(2, position, 4)) batch.add(row);
        batch.add_output(3);
        const uint32_t page = 7;
        const BatchState& state = batch.finish(&page, 1);
        EXPECT_EQ(state.rows, 4u);
        EXPECT_EQ(state.row[3].position, position + 3);
        EXPECT_EQ(state.outputs, 1u);
        EXPECT_EQ(state.output_row[0], 3u);
        EXPECT_EQ(state.pages, &page);
        EXPECT_EQ(state.pages_per_sequence, 1u);
    }
}

}  // namespace batch_test
}  // namespace riftjit
