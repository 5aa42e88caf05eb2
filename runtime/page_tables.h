// Which pages of the KV cache hold which positions of which sequences: tables that kernels read, and who shares a page.
//
// Sequences grow and are cut at their end, so only positions at or behind it are written. A fork shares all pages of
// its origin; whoever is the first to write in the last, half full page takes a copy of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "jit/batch.h"

namespace riftjit::runtime {

// Pages that `positions` take.
constexpr uint32_t page_count(uint64_t positions) { return uint32_t((positions + kKvPage - 1) / kKvPage); }

using SequenceId = uint32_t;  // row of the tables; given again after the sequence was closed

struct PageLimits {
    uint32_t sequences;           // open at a time
    uint32_t pages_per_sequence;  // of kKvPage positions
    uint32_t pages;               // of all
};

struct PageCopy {
    uint32_t from, to;
    bool operator==(const PageCopy&) const = default;
};

// Allocates when made and never after.
class PageTables {
public:
    explicit PageTables(const PageLimits& limits);

    std::optional<SequenceId> open();  // empty; nullopt: as many as may be are open
    std::optional<SequenceId> fork(SequenceId origin);
    void close(SequenceId id);
    void truncate(SequenceId id, uint32_t length);

    bool is_open(SequenceId id) const { return id < sequences_.size() && sequences_[id].is_open; }
    uint32_t length(SequenceId id) const { return sequences_[id].length; }

    // Pages that extend() takes. When sequences that share a page grow in turn, the last one may take one less.
    uint32_t pages_to_extend(SequenceId id, uint32_t positions) const;
    // Makes room for more positions, which must be there. What is returned is to be copied before they are written.
    std::optional<PageCopy> extend(SequenceId id, uint32_t positions);

    uint32_t free_pages() const { return limits_.pages - used_pages_; }
    uint32_t used_pages() const { return used_pages_; }
    uint32_t open_sequences() const { return open_sequences_; }
    const uint32_t* tables() const { return tables_.get(); }  // [sequence][pages_per_sequence]
    std::span<const uint32_t> pages_of(SequenceId id) const { return {table(id), page_count(length(id))}; }
    uint32_t pages_per_sequence() const { return limits_.pages_per_sequence; }

private:
    struct Sequence {
        bool is_open = false;
        uint32_t length = 0;
    };

    uint32_t* table(SequenceId id) const { return tables_.get() + size_t(id) * limits_.pages_per_sequence; }
    bool must_copy(SequenceId id) const;
    std::optional<SequenceId> find_closed() const;
    uint32_t take_page();
    void drop_page(uint32_t page);

    PageLimits limits_;
    std::vector<Sequence> sequences_;
    std::unique_ptr<uint32_t[]> tables_;  // not touched beyond what is in use
    std::vector<uint32_t> users_;         // by page, of those that were ever used: sequences that have it
    std::vector<uint32_t> returned_;      // used before and free
    uint32_t used_pages_ = 0, open_sequences_ = 0;
};

}  // namespace riftjit::runtime
