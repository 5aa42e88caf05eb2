#include "engine/draft.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace riftjit::engine {

namespace {

constexpr size_t kFirstBuckets = 1024;
constexpr uint32_t kLongestLook = 16;  // tokens that a grade looks back

}  // namespace

NgramDraft::NgramDraft(uint32_t longest) : buckets_(kFirstBuckets) {
    for (uint32_t n = longest; n > 0; --n) places_.push_back({n, std::vector<uint32_t>(buckets_, kNowhere), {}});
}

bool NgramDraft::are_same(uint32_t one, uint32_t other, uint32_t n) const {
    const auto begin = [&](uint32_t end) { return text_.begin() + end + 1 - n; };
    return std::equal(begin(one), begin(one) + n, begin(other));
}

size_t NgramDraft::bucket(const Places& places, uint32_t end) const {
    uint64_t hash = 0;
    for (uint32_t at = end + 1 - places.n; at <= end; ++at) {
        hash = (hash ^ static_cast<uint32_t>(text_[at])) * 0x9E37'79B9'7F4A'7C15;
        hash ^= hash >> 32;
    }
    return hash & (buckets_ - 1);
}

void NgramDraft::add(Places& places, uint32_t end) const {
    uint32_t previous = kNowhere;
    if (end + 1 >= places.n) previous = std::exchange(places.latest[bucket(places, end)], end);
    places.previous.push_back(previous);
}

void NgramDraft::remove_last(Places& places) const {
    const auto end = static_cast<uint32_t>(places.previous.size() - 1);
    if (end + 1 >= places.n) places.latest[bucket(places, end)] = places.previous[end];
    places.previous.pop_back();
}

void NgramDraft::grow() {
    buckets_ *= 2;
    for (Places& places : places_) {
        places.latest.assign(buckets_, kNowhere);
        places.previous.clear();
        for (uint32_t end = 0; end < text_.size(); ++end) add(places, end);
    }
}

void NgramDraft::restart(std::span<const int32_t> text) {
    const auto same = std::ranges::mismatch(text_, text).in1 - text_.begin();
    for (Places& places : places_)
        while (places.previous.size() > static_cast<size_t>(same)) remove_last(places);
    text_.resize(same);
    for (const int32_t id : text.subspan(same)) accept(id);
}

void NgramDraft::accept(int32_t id) {
    text_.push_back(id);
    if (text_.size() > buckets_) return grow();
    for (Places& places : places_) add(places, static_cast<uint32_t>(text_.size() - 1));
}

uint32_t NgramDraft::find() const {
    if (text_.empty()) return kNowhere;
    const auto end = static_cast<uint32_t>(text_.size() - 1);
    for (const Places& places : places_) {
        uint32_t place = places.previous[end];
        while (place != kNowhere && !are_same(place, end, places.n)) place = places.previous[place];
        if (place != kNowhere) return place;
    }
    return kNowhere;
}

std::optional<uint32_t> NgramDraft::grade() const {
    const uint32_t place = find();
    if (place == kNowhere) return std::nullopt;
    const uint32_t longest = std::min(place + 1, kLongestLook);
    uint32_t same = 1;
    while (same < longest && text_[place - same] == text_[text_.size() - 1 - same]) ++same;
    if (same <= 3) return same - 1;
    return static_cast<uint32_t>(std::bit_width(same));  // 4 to 7: 3, 8 to 15: 4, 16: 5
}

Result<std::span<const int32_t>> NgramDraft::propose(uint32_t most) {
    proposal_.clear();
    const uint32_t place = find();
    for (size_t at = place + size_t(1); place != kNowhere && proposal_.size() < most; ++at)
        proposal_.push_back(at < text_.size() ? text_[at] : proposal_[at - text_.size()]);
    return proposal_;
}

}  // namespace riftjit::engine
