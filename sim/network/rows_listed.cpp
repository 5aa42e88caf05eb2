// Pairs from a list, sorted by source; pairs of one source stay in the order of the list.
#include <algorithm>
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
    void generate(uint32_t begin, uint32_t end, const Receive& receive) const override {
        const std::span<const uint32_t> targets = targets_, places = places_;
        for (uint32_t source = begin; source < end; ++source) {
            const uint64_t start = row_starts_[source], count = row_starts_[source + 1] - start;
            if (count != 0) receive(source, targets.subspan(start, count), places.subspan(start, count));
        }
    }

private:
    std::vector<uint64_t> row_starts_;
    std::vector<uint32_t> targets_, places_;  // in the list
};

// The first pair that another one repeats, or null.
const PairList::Pair* repeated(const std::vector<PairList::Pair>& pairs) {
    std::vector<uint32_t> order(pairs.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto key = [&](uint32_t i) { return uint64_t(pairs[i].source) << 32 | pairs[i].target; };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    const auto found =
        std::adjacent_find(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) == key(b); });
    return found == order.end() ? nullptr : &pairs[*found];
}

}  // namespace

RowsResult make_rows(const PairList& rule, const ConnectionSetup& setup) {
    if (rule.pairs.size() > UINT32_MAX)
        return fail(ErrorKind::Usage, "projection {}: a list of {} pairs is longer than {}", setup.projection,
                    rule.pairs.size(), UINT32_MAX);
    for (const auto& pair : rule.pairs) {
        if (pair.source >= setup.sources)
            return fail(ErrorKind::Usage, "projection {}: source {} of the list is not below {}", setup.projection,
                        pair.source, setup.sources);
        if (pair.target >= setup.targets)
            return fail(ErrorKind::Usage, "projection {}: target {} of the list is not below {}", setup.projection,
                        pair.target, setup.targets);
        if (setup.skips_self() && pair.source == pair.target)
            return fail(ErrorKind::Usage, "projection {}: the list connects neuron {} to itself: set autapses = true",
                        setup.projection, pair.source);
    }
    if (!setup.multapses) {
        if (const PairList::Pair* pair = repeated(rule.pairs))
            return fail(ErrorKind::Usage, "projection {}: the list has {} -> {} twice: set multapses = true",
                        setup.projection, pair->source, pair->target);
    }
    return std::make_shared<ListedRows>(rule, setup.sources);
}

}  // namespace riftjit::sim
