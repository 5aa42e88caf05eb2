// Random subsets: distinct numbers below a bound, drawn one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/network/random.h"

namespace riftjit::sim {

// Every subset of `count` of the numbers below `bound` is equally likely. Draws until enough differ; where more than
// half are wanted, those left out are drawn instead, so at most two draws in the mean give one.
class SubsetDrawer {
public:
    explicit SubsetDrawer(uint32_t bound) : bound_(bound), taken_((uint64_t(bound) + 63) / 64) {}

    // Replaces `chosen`; count <= bound. In the order of drawing, or ascending where those left out are drawn.
    void draw(uint64_t key, uint32_t id, uint32_t count, std::vector<uint32_t>& chosen);

private:
    bool take(uint32_t number);  // false: taken before
    bool is_taken(uint32_t number) const { return taken_[number / 64] >> (number % 64) & 1; }

    uint32_t bound_;
    std::vector<uint64_t> taken_;  // clear between calls
    std::vector<uint32_t> left_out_;
};

}  // namespace riftjit::sim
