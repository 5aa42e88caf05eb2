#include "runtime/rdna/batch_image.h"

#include <gtest/gtest.h>

#include <cstring>

namespace riftjit::runtime {
namespace batch_image_test {

template <class T>
T load(std::span<const std::byte> image, uint64_t base, const T* at, uint32_t index) {
    T value;
    std::memcpy(&value, image.data() + (reinterpret_cast<uintptr_t>(at) - base) + index * sizeof(T), sizeof value);
    return value;
}

TEST(BatchImage, HoldsWhatTheBatchPointsTo) {
    constexpr uint64_t kBase = 0x7000;
    const std::vector<uint32_t> pages = {9, 8, 7, 6, 5, 4};  // of three sequences
    Batch batch(5);
    for (const BatchRow row : {BatchRow{2, 300}, BatchRow{2, 301}, BatchRow{0, 7}, BatchRow{2, 302}}) batch.add(row);
    batch.add_output(3);
    BatchImage image(5, 2, kBase);
    const BatchState& host = batch.finish(pages.data(), 2);
    const auto bytes = image.make(host);
    ASSERT_LE(bytes.size(), image.bytes());

    BatchState state, outputs;
    std::memcpy(&state, bytes.data(), sizeof state);
    std::memcpy(&outputs, bytes.data() + image.outputs_address() - kBase, sizeof outputs);
    EXPECT_EQ(image.batch_address(), kBase);
    EXPECT_EQ(state.rows, 4u);
    EXPECT_EQ(state.tiles, 1u);
    EXPECT_EQ(state.singles, 2u);
    EXPECT_EQ(outputs.rows, 1u);
    EXPECT_EQ(outputs.row, nullptr);
    EXPECT_EQ(outputs.output_row, state.output_row);
    EXPECT_EQ(load(bytes, kBase, state.output_row, 0), 3u);
    for (uint32_t row = 0; row < 4; ++row) {
        const BatchRow there = load(bytes, kBase, state.row, row);
        EXPECT_EQ(there.position, host.row[row].position);
        for (uint32_t page = 0; page < 2; ++page)
            EXPECT_EQ(load(bytes, kBase, state.pages, there.sequence * 2 + page),
                      pages[host.row[row].sequence * 2 + page]);
    }
    const BatchTile tile = load(bytes, kBase, state.tile, 0), single = load(bytes, kBase, state.single, 0);
    EXPECT_EQ(tile.rows, 2u);
    EXPECT_EQ(tile.position, 300u);
    EXPECT_EQ(tile.sequence, load(bytes, kBase, state.row, 0).sequence);
    EXPECT_EQ(single.sequence, load(bytes, kBase, state.row, 2).sequence);
}

TEST(BatchImage, MayLackRowsThatNobodyAsksFor) {
    BatchImage image(3, 1);
    const auto bytes = image.make(BatchState{.rows = 3});
    BatchState state;
    std::memcpy(&state, bytes.data(), sizeof state);
    EXPECT_EQ(state.rows, 3u);
}

// Three launches of attention, of two single rows each.
TEST(BatchImage, SaysSingleRowsInBatchesOfTheirOwn) {
    constexpr uint64_t kBase = 0x7000;
    const std::vector<uint32_t> pages = {0, 1, 2, 3, 4};
    Batch batch(5);
    for (uint32_t sequence = 0; sequence < 5; ++sequence) batch.add({sequence, 10 * sequence});
    BatchImage image(5, 1, kBase, 2);
    const auto bytes = image.make(batch.finish(pages.data(), 1));
    for (uint32_t first = 0; first < 5; first += 2) {
        BatchState state;
        std::memcpy(&state, bytes.data() + image.singles_address(first) - kBase, sizeof state);
        EXPECT_EQ(state.singles, std::min(2u, 5 - first));
        for (uint32_t i = 0; i < state.singles; ++i)
            EXPECT_EQ(load(bytes, kBase, state.single, i).position, 10 * (first + i));
    }
}

}  // namespace batch_image_test
}  // namespace riftjit::runtime
