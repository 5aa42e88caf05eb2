// Arrivals on their way to the next step: every thread sorts what its neurons send by range of targets, so that a range
// later drains its arrivals into counters that fit the cache. Counting is order-free: the same result at any thread
// count.
#pragma once

#include <cstdint>
#include <vector>

#include "host/pages.h"
#include "host/result.h"

namespace riftjit::sim {

// One thread's buckets of one step. Memory comes from a reservation that no step can exceed; nothing is allocated.
class SpikeBuckets {
public:
    // At most `capacity` arrivals in all.
    static Result<SpikeBuckets> create(uint32_t ranges, uint64_t capacity);

    // `local` is the target's place in its range, below 2^16; the top bit says that the source is inhibitory.
    static constexpr uint32_t kInhibitory = 1u << 31;
    void push(uint32_t range, uint32_t entry) {
        Bucket& bucket = buckets_[range];
        if (is_full(bucket)) append_chunk(bucket);
        *bucket.next++ = entry;
    }
    // Calls receive(entries, count) for each chunk of the range, in the order of pushing.
    template <class Receive>
    void drain(uint32_t range, const Receive& receive) const {
        const Bucket& bucket = buckets_[range];
        if (bucket.next == nullptr) return;
        for (uint32_t chunk = bucket.first;;) {
            const uint32_t* words = chunks_ + uint64_t(chunk) * kChunkWords;
            const bool is_last = words + kHeader <= bucket.next && bucket.next <= words + kChunkWords;
            receive(words + kHeader, is_last ? static_cast<uint32_t>(bucket.next - words) - kHeader : kEntries);
            if (is_last) return;
            chunk = words[0];
        }
    }
    void clear();
    uint64_t pushed() const;  // since clear()

private:
    // Chunks are aligned to their size, so the address of the next entry says when one is full.
    static constexpr uint32_t kChunkWords = 256, kHeader = 1, kEntries = kChunkWords - kHeader;
    struct Bucket {
        uint32_t* next = nullptr;  // where the next entry goes; null: no chunk yet
        uint32_t first = 0;        // chunk
    };

    static bool is_full(const Bucket& bucket) {
        return reinterpret_cast<uintptr_t>(bucket.next) % (kChunkWords * sizeof(uint32_t)) == 0;
    }
    void append_chunk(Bucket& bucket);

    Pages memory_;
    uint32_t* chunks_ = nullptr;
    uint32_t chunks_used_ = 0;
    std::vector<Bucket> buckets_;
};

}  // namespace riftjit::sim
