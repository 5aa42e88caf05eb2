#include "jit/batch.h"

#include <algorithm>

#include "host/result.h"

namespace riftjit {

Batch::Batch(uint32_t max_rows, uint32_t max_tile_rows) : max_rows_(max_rows), max_tile_rows_(max_tile_rows) {
    rows_.reserve(max_rows);
    outputs_.reserve(max_rows);
    text_ends_.reserve(max_rows);
    runs_.reserve(max_rows);
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

void Batch::cut_into_runs() {
    runs_.clear();
    for (uint32_t row = 0; row < rows(); ++row) {
        const auto [sequence, position] = rows_[row];
        const bool goes_on = !runs_.empty() && runs_.back().sequence == sequence &&
                             runs_.back().position + runs_.back().rows == position;
        if (goes_on)
            ++runs_.back().rows;
        else
            runs_.push_back({row, 1, sequence, position});
    }
}

void Batch::note_ends() {
    text_ends_.clear();
    for (const BatchTile& run : runs_) text_ends_.insert(text_ends_.end(), run.rows, run.position + run.rows);
}

void Batch::cut_into_tiles() {
    tiles_.clear();
    singles_.clear();
    for (const BatchTile& run : runs_)
        for (uint32_t done = 0; done < run.rows; done += max_tile_rows_) {
            const uint32_t count = std::min(max_tile_rows_, run.rows - done);
            (count == 1 ? singles_ : tiles_)
                .push_back({run.first_row + done, count, run.sequence, run.position + done});
        }
}

const BatchState& Batch::finish(const uint32_t* pages, uint32_t pages_per_sequence) {
    check(std::ranges::all_of(outputs_, [this](uint32_t row) { return row < rows(); }), "outputs are rows of the step");
    cut_into_runs();
    note_ends();
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
              .pages = pages,
              .runs = uint32_t(runs_.size()),
              .run = runs_.data(),
              .text_end = text_ends_.data()};
    return state_;
}

}  // namespace riftjit
