#include "sim/network/occurrences.h"

#include <algorithm>
#include <bit>

namespace riftjit::sim {

void OccurrenceCounter::number(std::span<Synapse> row) {
    if (!std::ranges::is_sorted(row, {}, &Synapse::target)) return number_unsorted(row);
    for (size_t i = 0; i < row.size(); ++i)
        row[i].occurrence = i > 0 && row[i].target == row[i - 1].target ? row[i - 1].occurrence + 1 : 0;
}

void OccurrenceCounter::number_unsorted(std::span<Synapse> row) {
    constexpr uint32_t kGoldenRatio = 0x9E3779B9;
    const size_t size = std::bit_ceil(2 * row.size());
    const int shift = 32 - std::countr_zero(size);
    table_.assign(size, {0, 0});
    for (Synapse& synapse : row) {
        size_t place = uint64_t(synapse.target * kGoldenRatio) >> shift;
        while (table_[place].count != 0 && table_[place].target != synapse.target) place = (place + 1) & (size - 1);
        synapse.occurrence = table_[place].count;
        table_[place] = {synapse.target, synapse.occurrence + 1};
    }
}

}  // namespace riftjit::sim
