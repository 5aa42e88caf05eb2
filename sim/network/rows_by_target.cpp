// In-degree rules: each target draws its sources; a block of sources keeps what falls inside it.
#include <algorithm>
#include <vector>

#include "sim/network/connection_rows.h"
#include "sim/network/subset.h"

namespace riftjit::sim {

namespace {

// Going through the draws once per block costs less than drawing weights as long as there are few blocks; memory for a
// sixteenth of the pairs is less than a tenth of what the engine stores for them.
constexpr uint64_t kMostBlocks = 16, kLeastBlockBytes = 16u << 20;

struct Pair {
    uint32_t source, target;
};
constexpr uint64_t kPairBytes = sizeof(Pair) + sizeof(uint32_t);  // and once more in the order of rows

class InDegreeRows final : public ConnectionRows {
public:
    InDegreeRows(uint32_t degree, const ConnectionSetup& setup)
        : degree_(degree), setup_(setup), key_(random_key(setup.seed, Purpose::connection, setup.index)) {}
    double expected_synapses() const override { return double(degree_) * setup_.targets; }
    void generate(Slice sources, Slice targets, const Receive& receive) const override {
        const uint64_t bytes = uint64_t(degree_) * targets.size() * kPairBytes;
        const uint64_t blocks = std::clamp<uint64_t>(bytes / kLeastBlockBytes, 1, kMostBlocks);
        const auto width = static_cast<uint32_t>((setup_.sources + blocks - 1) / blocks);
        for (uint32_t block = sources.begin; block < sources.end; block += std::min(width, sources.end - block))
            generate_block(block, std::min(width, sources.end - block), targets, receive);
    }

private:
    void generate_block(uint32_t begin, uint32_t width, Slice targets_asked, const Receive& receive) const {
        const std::vector<Pair> pairs = pairs_within(begin, width, targets_asked);
        std::vector<uint64_t> row_starts(width + 2);
        for (const Pair& pair : pairs) ++row_starts[pair.source - begin + 2];
        for (uint32_t row = 2; row < width + 2; ++row) row_starts[row] += row_starts[row - 1];
        std::vector<uint32_t> targets(pairs.size());
        for (const Pair& pair : pairs) targets[row_starts[pair.source - begin + 1]++] = pair.target;
        for (uint32_t row = 0; row < width; ++row) {
            const std::span<const uint32_t> all = targets;
            const auto mine = all.subspan(row_starts[row], row_starts[row + 1] - row_starts[row]);
            if (!mine.empty()) receive(begin + row, mine, {});
        }
    }

    // Of the targets, in order: the draws with a source in [begin, begin + width).
    std::vector<Pair> pairs_within(uint32_t begin, uint32_t width, Slice targets) const {
        std::vector<Pair> pairs;
        uint64_t count = 0;
        const uint32_t candidates = setup_.candidate_sources();
        SubsetDrawer subsets(setup_.multapses ? 0 : candidates);
        std::vector<uint32_t> sources;
        for (uint32_t target = targets.begin; target < targets.end; ++target) {
            if (pairs.size() < count + degree_)
                pairs.resize(std::max(pairs.size() + pairs.size() / 2, count + degree_));
            const uint32_t self = setup_.skips_self() ? target : UINT32_MAX;
            const auto keep = [&](uint32_t source) {  // without a branch: which draws fall inside cannot be predicted
                source += source >= self ? 1 : 0;
                pairs[count] = {source, target};
                count += source - begin < width ? 1 : 0;
            };
            if (setup_.multapses) {
                BoundedNumbers numbers(key_, target, candidates);
                for (uint32_t i = 0; i < degree_; ++i) keep(numbers.next());
            } else {
                subsets.draw(key_, target, degree_, sources);
                std::for_each(sources.begin(), sources.end(), keep);
            }
        }
        pairs.resize(count);
        return pairs;
    }

    uint32_t degree_;
    ConnectionSetup setup_;
    uint64_t key_;
};

}  // namespace

Rows make_rows(const FixedInDegree& rule, const ConnectionSetup& setup) {
    return std::make_shared<InDegreeRows>(rule.degree, setup);
}

}  // namespace riftjit::sim
