// What a connection rule cannot do, found before anything is allocated.
#include <algorithm>

#include "host/result.h"
#include "sim/network/connection_rows.h"

namespace riftjit::sim {

namespace {

constexpr uint32_t kMostMeanDegree = 1u << 31;  // a source's own number stays below 2^32

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

class FaultFinder {
public:
    explicit FaultFinder(const ConnectionSetup& setup) : setup_(setup) {}

    std::string operator()(const OneToOne&) const {
        if (setup_.sources != setup_.targets)
            return fmt::format("one_to_one needs populations of equal size, not {} and {}", setup_.sources,
                               setup_.targets);
        if (setup_.skips_self()) return "one_to_one within a population makes autapses only: set autapses = true";
        return "";
    }
    std::string operator()(const AllToAll&) const { return ""; }
    std::string operator()(const PairwiseBernoulli& rule) const { return probability_fault(rule.probability); }
    std::string operator()(const FixedInDegree& rule) const {
        return degree_fault("an in-degree", "sources", rule.degree, setup_.candidate_sources());
    }
    std::string operator()(const FixedOutDegree& rule) const {
        return degree_fault("an out-degree", "targets", rule.degree, setup_.candidate_targets());
    }
    std::string operator()(const FixedTotal& rule) const {
        const uint64_t pairs = uint64_t(setup_.candidate_targets()) * setup_.sources;
        if (rule.synapses > pairs && (!setup_.multapses || pairs == 0))
            return fmt::format("{} synapses need as many pairs, there are {}{}", rule.synapses, pairs, excluded());
        if (rule.synapses / setup_.sources > kMostMeanDegree)
            return fmt::format("{} synapses of {} sources are more than {} each", rule.synapses, setup_.sources,
                               kMostMeanDegree);
        return "";
    }
    std::string operator()(const PairList& rule) const {
        if (rule.pairs.size() > UINT32_MAX)
            return fmt::format("a list of {} pairs is longer than {}", rule.pairs.size(), UINT32_MAX);
        for (const auto& pair : rule.pairs) {
            if (pair.source >= setup_.sources)
                return fmt::format("source {} of the list is not below {}", pair.source, setup_.sources);
            if (pair.target >= setup_.targets)
                return fmt::format("target {} of the list is not below {}", pair.target, setup_.targets);
            if (setup_.skips_self() && pair.source == pair.target)
                return fmt::format("the list connects neuron {} to itself: set autapses = true", pair.source);
        }
        if (const PairList::Pair* pair = setup_.multapses ? nullptr : repeated(rule.pairs))
            return fmt::format("the list has {} -> {} twice: set multapses = true", pair->source, pair->target);
        return "";
    }
    std::string operator()(const DistanceDependent& rule) const {
        if (!setup_.source_end.layout || !setup_.target_end.layout)
            return "a distance needs positions in both populations";
        if (!(rule.length > 0)) return fmt::format("a length of {}", rule.length);
        if (!(rule.most_distance >= 0)) return fmt::format("a largest distance of {}", rule.most_distance);
        return probability_fault(rule.probability);
    }

private:
    static std::string probability_fault(double probability) {
        if (probability >= 0 && probability <= 1) return "";
        return fmt::format("a probability of {} is not between 0 and 1", probability);
    }
    std::string degree_fault(std::string_view what, std::string_view ends, uint32_t degree, uint32_t candidates) const {
        if (degree <= candidates || (setup_.multapses && candidates > 0)) return "";
        return fmt::format("{} of {} needs as many {}, there are {}{}", what, degree, ends, candidates, excluded());
    }
    std::string_view excluded() const {
        if (setup_.skips_self()) return setup_.multapses ? " (no autapses)" : " (no multapses, no autapses)";
        return setup_.multapses ? "" : " (no multapses)";
    }

    const ConnectionSetup& setup_;
};

}  // namespace

std::string connection_fault(const ConnectionRule& rule, const ConnectionSetup& setup) {
    return std::visit(FaultFinder(setup), rule);
}

}  // namespace riftjit::sim
