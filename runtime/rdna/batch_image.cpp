#include "runtime/rdna/batch_image.h"

#include <algorithm>
#include <cstring>

#include "host/result.h"
#include "host/round_up.h"

namespace riftjit::runtime {

BatchImage::BatchImage(uint32_t max_rows, uint32_t pages_per_sequence, uint64_t address, uint32_t rows_together)
    : max_rows_(max_rows), pages_per_sequence_(pages_per_sequence), rows_together_(rows_together), address_(address) {
    uint64_t next = (2 + (max_rows + rows_together - 1) / rows_together) * sizeof(BatchState);
    const auto reserve = [&](uint64_t bytes) {
        const uint64_t offset = round_up(next, 16);
        next = offset + bytes;
        return offset;
    };
    rows_ = reserve(max_rows * sizeof(BatchRow));
    output_rows_ = reserve(max_rows * sizeof(uint32_t));
    tiles_ = reserve(max_rows * sizeof(BatchTile));
    singles_ = reserve(max_rows * sizeof(BatchTile));
    pages_ = reserve(uint64_t(max_rows) * pages_per_sequence * sizeof(uint32_t));
    image_.resize(next);
    sequences_.reserve(max_rows);
}

uint32_t BatchImage::renumbered(uint32_t sequence, const BatchState& batch) {
    if (!sequences_.empty() && sequences_.back() == sequence) return uint32_t(sequences_.size() - 1);
    const auto known = std::ranges::find(sequences_, sequence);
    if (known != sequences_.end()) return uint32_t(known - sequences_.begin());
    const uint64_t bytes = pages_per_sequence_ * sizeof(uint32_t);
    std::memcpy(image_.data() + pages_ + sequences_.size() * bytes,
                batch.pages + uint64_t(sequence) * pages_per_sequence_, bytes);
    sequences_.push_back(sequence);
    return uint32_t(sequences_.size() - 1);
}

std::span<const std::byte> BatchImage::make(const BatchState& batch) {
    check(batch.rows <= max_rows_ && (batch.pages == nullptr || batch.pages_per_sequence == pages_per_sequence_),
          "a batch fits its image");
    sequences_.clear();
    const auto put = [&](uint64_t offset, const auto& value) {
        std::memcpy(image_.data() + offset, &value, sizeof value);
    };
    for (uint32_t i = 0; batch.row != nullptr && i < batch.rows; ++i)
        put(rows_ + i * sizeof(BatchRow), BatchRow{renumbered(batch.row[i].sequence, batch), batch.row[i].position});
    const auto put_tiles = [&](uint64_t offset, const BatchTile* from, uint32_t count) {
        for (uint32_t i = 0; i < count; ++i) {
            BatchTile tile = from[i];
            tile.sequence = renumbered(tile.sequence, batch);
            put(offset + i * sizeof tile, tile);
        }
    };
    put_tiles(tiles_, batch.tile, batch.tiles);
    put_tiles(singles_, batch.single, batch.singles);
    for (uint32_t i = 0; i < batch.outputs; ++i) put(output_rows_ + i * sizeof(uint32_t), batch.output_row[i]);

    const auto at = [&]<class T>(uint64_t offset, const T*) { return reinterpret_cast<const T*>(address_ + offset); };
    BatchState state = batch;
    state.row = at(rows_, state.row);
    state.output_row = at(output_rows_, state.output_row);
    state.tile = at(tiles_, state.tile);
    state.single = at(singles_, state.single);
    state.pages = at(pages_, state.pages);
    state.runs = 0;  // no kernel here walks them
    state.run = nullptr;
    put(0, state);
    put(sizeof state, BatchState{.rows = batch.outputs, .outputs = batch.outputs, .output_row = state.output_row});
    for (uint32_t first = 0; first < batch.singles; first += rows_together_) {
        state.single = at(singles_ + first * sizeof(BatchTile), state.single);
        state.singles = std::min(rows_together_, batch.singles - first);
        put(singles_address(first) - address_, state);
    }
    return std::span(image_).first(pages_ + sequences_.size() * pages_per_sequence_ * sizeof(uint32_t));
}

}  // namespace riftjit::runtime
