#include "sim/network/subset.h"

#include "host/result.h"

namespace riftjit::sim {

bool SubsetDrawer::take(uint32_t number) {
    const uint64_t bit = uint64_t(1) << (number % 64);
    const bool is_new = (taken_[number / 64] & bit) == 0;
    taken_[number / 64] |= bit;
    return is_new;
}

void SubsetDrawer::draw(uint64_t key, uint32_t id, uint32_t count, std::vector<uint32_t>& chosen) {
    check(count <= bound_, "a subset is no larger than its set");
    chosen.clear();
    if (count == 0) return;
    const bool is_complement = count > bound_ / 2;
    std::vector<uint32_t>& drawn = is_complement ? left_out_ : chosen;
    const uint32_t draws = is_complement ? bound_ - count : count;
    drawn.clear();
    BoundedNumbers numbers(key, id, bound_);
    while (drawn.size() < draws) {
        const uint32_t number = numbers.next();
        if (take(number)) drawn.push_back(number);
    }
    if (is_complement) {
        for (uint32_t number = 0; number < bound_; ++number)
            if (!is_taken(number)) chosen.push_back(number);
    }
    for (const uint32_t number : drawn) taken_[number / 64] = 0;
}

}  // namespace riftjit::sim
