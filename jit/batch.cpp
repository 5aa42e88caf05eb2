#include "jit/batch.h"

#include <algorithm>

#include "host/result.h"

namespace riftjit {

Batch::Batch(uint32_t max_rows, uint32_t max_tile_rows) : max_rows_(max_rows), max_tile_rows_(max_tile_rows) {
    rows_.reserve(max_rows);
    outputs_.reserve(max_rows);
    tiles_.reserve(max_rows);
    singles_.reserve(max_rows);
}

void Batch::clear() {
    rows_.clear();
    outputs_.clear();
}

void Batch::add(BatchRow row) {
    check(rows_.size() < max_rows_, "a step has room for its rows");
    rows_.push_back(row);
}

void Batch::cut_into_tiles() {
    tiles_.clear();
    singles_.clear();
    for (uint32_t first = 0; first < rows();) {
        const auto [sequence, position] = rows_[first];
        uint32_t count = 1;
        while (count < max_tile_rows_ && first + count < rows() && rows_[first + count].sequence == sequence &&
               rows_[first + count].position == position + count)
            ++count;
        (count == 1 ? singles_ : tiles_).push_back({first, count, sequence, position});
        first += count;
    }
}

const BatchState& Batch::finish(const uint32_t* pages, uint32_t pages_per_sequence) {
    check(std::ranges::all_of(outputs_, [this](uint32_t row) { return row < rows(); }), "outputs are rows of the step");
    cut_into_tiles();
    state_ = {.rows = rows(),
              .outputs = uint32_t(outputs_.size()),
              .tiles = uint32_t(tiles_.size()),
              .singles = uint32_t(singles_.size()),
              .pages_per_sequence = pages_per_sequence,
              .row = rows_.data(),
              .output_row = outputs_.data(),
              .tile = tiles_.data(),
              .single = singles_.data(),
              .pages = pages};
    return state_;
}

}  // namespace riftjit
