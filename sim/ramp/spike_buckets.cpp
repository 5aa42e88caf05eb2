#include "sim/ramp/spike_buckets.h"

namespace riftjit::sim {

Result<SpikeBuckets> SpikeBuckets::create(uint32_t ranges, uint64_t capacity) {
    SpikeBuckets buckets;
    const uint64_t chunks = capacity / kEntries + 1 + ranges;  // every range may leave its last chunk unfilled
    RIFTJIT_TRY(memory, Pages::allocate(chunks * kChunkWords * sizeof(uint32_t), Pages::Size::huge,
                                        "spikes on their way", Pages::Backing::sparse));
    buckets.memory_ = std::move(memory);
    buckets.chunks_ = buckets.memory_.as<uint32_t>();
    buckets.buckets_.resize(ranges);
    return buckets;
}

void SpikeBuckets::append_chunk(Bucket& bucket) {
    const uint32_t chunk = chunks_used_++;
    if (bucket.next == nullptr) {
        bucket.first = chunk;
    } else {
        *(bucket.next - kChunkWords) = chunk;
    }
    bucket.next = chunks_ + uint64_t(chunk) * kChunkWords + kHeader;
}

void SpikeBuckets::clear() {
    for (Bucket& bucket : buckets_) bucket = Bucket();
    chunks_used_ = 0;
}

uint64_t SpikeBuckets::pushed() const {
    uint64_t count = uint64_t(chunks_used_) * kEntries;
    for (const Bucket& bucket : buckets_)
        if (bucket.next != nullptr) count -= static_cast<uint64_t>(-(bucket.next - chunks_) & (kChunkWords - 1));
    return count;
}

}  // namespace riftjit::sim
