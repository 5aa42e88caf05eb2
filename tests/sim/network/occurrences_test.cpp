#include "sim/network/occurrences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace riftjit::sim {
namespace occurrences_test {

TEST(OccurrenceCounter, CountsTheSynapsesOfEachPairInTheirOrder) {
    std::mt19937 random(1);
    OccurrenceCounter counter;
    for (const uint32_t targets : {1u, 2u, 50u, 1'000'000u}) {
        for (const size_t size : {0u, 1u, 2u, 3u, 100u, 1'000u}) {
            std::vector<Synapse> row;
            for (size_t i = 0; i < size; ++i) row.push_back({uint32_t(random() % targets) * 4099, 1, 1});
            for (const bool is_sorted : {false, true}) {
                if (is_sorted) std::ranges::sort(row, {}, &Synapse::target);
                counter.number(row);
                std::map<uint32_t, uint32_t> counts;
                for (const Synapse& synapse : row) ASSERT_EQ(synapse.occurrence, counts[synapse.target]++) << size;
            }
        }
    }
}

}  // namespace occurrences_test
}  // namespace riftjit::sim
