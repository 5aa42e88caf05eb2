// The rows of one step, as the kernels of every back end read them: any rows of any sequences.
//
// A step computes rows side by side. What one means is its position in its sequence; what came before it in the
// sequence lies in the KV cache, in pages of kKvPage positions that the sequence's page table names. One page number
// stands for keys and values in every layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace riftjit {

inline constexpr uint32_t kKvPage = 256;  // positions

struct BatchRow {
    uint32_t sequence;  // row of the page tables
    uint32_t position;  // in the sequence, from 0 on
};

// Neighbouring rows that are neighbouring positions of one sequence: attention reads its keys and values once for all.
struct BatchTile {
    uint32_t first_row, rows;
    uint32_t sequence, position;  // of the first row
};
inline constexpr uint32_t kMaxTileRows = 8;

// Shared by all launches of one step; their args point to it, so that nothing is patched between steps. Launches that
// follow a gathering of rows get one of their own, with as many rows and without anything that is said of each.
struct BatchState {
    uint32_t rows = 0;
    uint32_t outputs = 0;  // rows that GatherRows picks
    uint32_t tiles = 0;    // of two rows and more
    uint32_t singles = 0;  // tiles of one row
    uint32_t pages_per_sequence = 0;
    const BatchRow* row = nullptr;
    const uint32_t* output_row = nullptr;
    const BatchTile* tile = nullptr;
    const BatchTile* single = nullptr;
    const uint32_t* pages = nullptr;  // [sequence][position / kKvPage]

    // Where attention cuts single rows into segments of a page: room for what it leaves of each unit, and how many
    // segments are finished, [single][kv_head], zeros between launches. Null where it takes rows whole, which a GPU
    // never does.
    std::byte* parts = nullptr;
    uint32_t* finished = nullptr;

    // All neighbouring rows that are neighbouring positions of one sequence: what keeps a running state walks them.
    uint32_t runs = 0;
    const BatchTile* run = nullptr;

    // [row]: the position behind the last of the row's run. A text that is one run ends there.
    const uint32_t* text_end = nullptr;
};

// Segments of a row at this position.
constexpr uint32_t segment_count(uint32_t position) { return position / kKvPage + 1; }

// Collects the rows of a step. Allocates when made and never after.
class Batch {
public:
    // max_tile_rows 1: every row is a tile of its own.
    explicit Batch(uint32_t max_rows, uint32_t max_tile_rows = kMaxTileRows);

    void clear();
    void add(BatchRow row);
    void add_output(uint32_t row) { outputs_.push_back(row); }
    // What is returned points into this object and to `pages`, which has pages_per_sequence numbers for each sequence.
    const BatchState& finish(const uint32_t* pages, uint32_t pages_per_sequence);

    uint32_t rows() const { return uint32_t(rows_.size()); }

private:
    void cut_into_runs();
    void note_ends();
    void cut_into_tiles();

    uint32_t max_rows_, max_tile_rows_;
    std::vector<BatchRow> rows_;
    std::vector<uint32_t> outputs_, text_ends_;
    std::vector<BatchTile> runs_, tiles_, singles_;
    BatchState state_;
};

}  // namespace riftjit
