// Batches for kernel tests: neighbouring positions of one sequence, whose pages lie in the cache in a wild order.
#pragma once

#include <numeric>

#include "jit/batch.h"

namespace riftjit::x86 {

// A row of page tables for `positions` positions; the identity but for the order.
inline std::vector<uint32_t> reversed_pages(uint32_t positions) {
    std::vector<uint32_t> pages((positions + kKvPage - 1) / kKvPage);
    std::iota(pages.rbegin(), pages.rend(), 0u);
    return pages;
}

// Rows at [position, position + rows) of sequence 1; the page table of sequence 0 leads out of every cache.
class PagedBatch {
public:
    PagedBatch(uint32_t rows, uint32_t position, const std::vector<uint32_t>& pages, uint32_t max_tile_rows)
        : tables_(pages.size(), ~0u), batch_(rows, max_tile_rows) {
        tables_.insert(tables_.end(), pages.begin(), pages.end());
        for (uint32_t row = 0; row < rows; ++row) batch_.add({1, position + row});
        state_ = &batch_.finish(tables_.data(), uint32_t(pages.size()));
    }
    const BatchState* state() const { return state_; }

private:
    std::vector<uint32_t> tables_;
    Batch batch_;
    const BatchState* state_;
};

}  // namespace riftjit::x86
