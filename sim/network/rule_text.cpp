// Rules in words.
#include "host/result.h"
#include "sim/network/description.h"

namespace riftjit::sim {

namespace {

struct RuleText {
    std::string operator()(const OneToOne&) const { return "one to one"; }
    std::string operator()(const AllToAll&) const { return "all to all"; }
    std::string operator()(const PairwiseBernoulli& rule) const {
        return fmt::format("pairwise, probability {}", rule.probability);
    }
    std::string operator()(const FixedInDegree& rule) const { return fmt::format("fixed in-degree {}", rule.degree); }
    std::string operator()(const FixedOutDegree& rule) const { return fmt::format("fixed out-degree {}", rule.degree); }
    std::string operator()(const FixedTotal& rule) const { return fmt::format("fixed total {}", rule.synapses); }
    std::string operator()(const PairList& rule) const { return fmt::format("list of {} pairs", rule.pairs.size()); }
    std::string operator()(const DistanceDependent& rule) const {
        using Profile = DistanceDependent::Profile;
        if (rule.profile == Profile::disc)
            return fmt::format("probability {} within {} um", rule.probability, rule.most_distance);
        return fmt::format("probability {} times {} of length {} um", rule.probability,
                           rule.profile == Profile::gaussian ? "gaussian" : "exponential", rule.length);
    }
};

}  // namespace

std::string rule_text(const ConnectionRule& rule) { return std::visit(RuleText{}, rule); }

}  // namespace riftjit::sim
