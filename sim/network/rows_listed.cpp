// Pairs from a list, sorted by source; pairs of one source stay in the order of the list.
#include <vector>

#include "sim/network/connection_rows.h"

namespace riftjit::sim {

namespace {

class ListedRows final : public ConnectionRows {
public:
    ListedRows(const PairList& list, uint32_t sources) : row_starts_(uint64_t(sources) + 1) {
        const std::vector<PairList::Pair>& pairs = list.pairs;
        for (const auto& pair : pairs) ++row_starts_[pair.source + 1];
        for (uint32_t row = 0; row < sources; ++row) row_starts_[row + 1] += row_starts_[row];
        targets_.resize(pairs.size());
        places_.resize(pairs.size());
        std::vector<uint64_t> next(row_starts_.begin(), row_starts_.end() - 1);
        for (uint32_t i = 0; i < pairs.size(); ++i) {
            const uint64_t place = next[pairs[i].source]++;
            targets_[place] = pairs[i].target;
            places_[place] = i;
        }
    }
    double expected_synapses() const override { return double(targets_.size()); }
    void generate(Slice sources, Slice, const Receive& receive) const override {
        const std::span<const uint32_t> targets = targets_, places = places_;
        for (uint32_t source = sources.begin; source < sources.end; ++source) {
            const uint64_t start = row_starts_[source], count = row_starts_[source + 1] - start;
            if (count != 0) receive(source, targets.subspan(start, count), places.subspan(start, count));
        }
    }

private:
    std::vector<uint64_t> row_starts_;
    std::vector<uint32_t> targets_, places_;  // in the list
};

}  // namespace

Rows make_rows(const PairList& rule, const ConnectionSetup& setup) {
    return std::make_shared<ListedRows>(rule, setup.sources);
}

}  // namespace riftjit::sim
