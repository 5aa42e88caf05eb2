// Batches for kernel tests: positions of one sequence, whose pages lie in the cache in a wild order.
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

inline std::vector<uint32_t> neighbours(uint32_t position, uint32_t rows) {
    std::vector<uint32_t> positions(rows);
    std::iota(positions.begin(), positions.end(), position);
    return positions;
}

// Rows of sequence 1; the page table of sequence 0 leads out of every cache.
class PagedBatch {
public:
    PagedBatch(const std::vector<uint32_t>& positions, const std::vector<uint32_t>& pages, uint32_t max_tile_rows)
        : tables_(pages.size(), ~0u), batch_(uint32_t(positions.size()), max_tile_rows) {
        tables_.insert(tables_.end(), pages.begin(), pages.end());
        for (const uint32_t position : positions) batch_.add({1, position});
        state_ = &batch_.finish(tables_.data(), uint32_t(pages.size()));
    }
    PagedBatch(uint32_t rows, uint32_t position, const std::vector<uint32_t>& pages, uint32_t max_tile_rows)
        : PagedBatch(neighbours(position, rows), pages, max_tile_rows) {}
    const BatchState* state() const { return state_; }

private:
    std::vector<uint32_t> tables_;
    Batch batch_;
    const BatchState* state_;
};

}  // namespace riftjit::x86
