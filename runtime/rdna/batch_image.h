// The batch of a step as kernels on a GPU read it: BatchState and all that it points to, in one piece of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "jit/batch.h"

namespace riftjit::runtime {

class BatchImage {
public:
    // Allocates; make() never does. `address` is where the image will lie. Single rows are also said in batches of
    // their own, `rows_together` of them each.
    BatchImage(uint32_t max_rows, uint32_t pages_per_sequence, uint64_t address = 0, uint32_t rows_together = 16);

    uint64_t bytes() const { return image_.size(); }
    void move_to(uint64_t address) { address_ = address; }

    // Of steps on all rows, and of steps on outputs, which see as many rows as have logits and, for the gathering,
    // which they are.
    uint64_t batch_address() const { return address_; }
    uint64_t outputs_address() const { return address_ + sizeof(BatchState); }

    // Of steps on the single rows from number `first` on, a multiple of rows_together.
    uint64_t singles_address(uint32_t first) const {
        return address_ + (2 + first / rows_together_) * sizeof(BatchState);
    }

    // The bytes to be written to the image's address. Sequences are numbered anew, in the order of their rows.
    std::span<const std::byte> make(const BatchState& batch);

private:
    uint32_t renumbered(uint32_t sequence, const BatchState& batch);

    uint32_t max_rows_, pages_per_sequence_, rows_together_;
    uint64_t address_;
    uint64_t rows_, output_rows_, tiles_, singles_, pages_;  // where each part begins
    std::vector<uint32_t> sequences_;                        // by their new numbers
    std::vector<std::byte> image_;
};

}  // namespace riftjit::runtime
