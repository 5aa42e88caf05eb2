// Pairwise probabilities that fall with distance: candidates at the largest probability, each kept with the ratio of
// its own to it, which is exact and costs what the candidates cost.
#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/network/connection_rows.h"
#include "sim/network/layout.h"
#include "sim/network/pairwise.h"

namespace riftjit::sim {

namespace {

double profile_at(const DistanceDependent& rule, double distance) {
    if (distance > rule.most_distance) return 0;
    switch (rule.profile) {
        case DistanceDependent::Profile::gaussian: {
            const double ratio = distance / rule.length;
            return ratio > 36 ? 0 : portable_exp(-0.5 * ratio * ratio);  // below 1e-281
        }
        case DistanceDependent::Profile::exponential:
            return distance / rule.length > 690 ? 0 : portable_exp(-distance / rule.length);
        case DistanceDependent::Profile::disc:
            return 1;
    }
    return 0;
}

class DistanceRows final : public ConnectionRows {
public:
    DistanceRows(const DistanceDependent& rule, const ConnectionSetup& setup)
        : rule_(rule),
          setup_(setup),
          sources_(places_of(*setup.source_end.layout, setup.sources, setup.seed, setup.source_end.population)),
          targets_(places_of(*setup.target_end.layout, setup.targets, setup.seed, setup.target_end.population)),
          key_(random_key(setup.seed, Purpose::connection, setup.index)) {
        // The mean over a sample of sources: only an estimate of memory rests on it.
        const uint32_t stride = std::max(1u, setup.sources / kSampledSources);
        uint32_t sampled = 0;
        for (uint32_t source = 0; source < setup.sources; source += stride, ++sampled) {
            for (uint32_t target = 0; target < setup.targets; ++target)
                expected_ += rule.probability * profile_at(rule, distance_between(source, target));
        }
        expected_ *= double(setup.sources) / sampled;
    }
    double expected_synapses() const override { return expected_; }
    bool is_exact() const override { return false; }
    void generate(Slice sources, Slice, const Receive& receive) const override {
        std::vector<uint32_t> targets;
        for (uint32_t source = sources.begin; source < sources.end; ++source) {
            targets.clear();
            for_each_success(key_, source, setup_.targets, rule_.probability, [&](uint32_t target, uint64_t draw) {
                if (setup_.skips_self() && target == source) return;
                const double kept = profile_at(rule_, distance_between(source, target));
                // The gaps use the first halves of the same words.
                if (uniform_f64(philox_second(random_words(key_, source, draw))) < kept) targets.push_back(target);
            });
            if (!targets.empty()) receive(source, targets, {});
        }
    }

private:
    static constexpr uint32_t kSampledSources = 64;

    double distance_between(uint32_t source, uint32_t target) const {
        return distance(sources_[source], targets_[target], *setup_.target_end.layout, rule_.boundary);
    }

    DistanceDependent rule_;
    ConnectionSetup setup_;
    std::vector<Place> sources_, targets_;
    uint64_t key_;
    double expected_ = 0;
};

}  // namespace

Rows make_rows(const DistanceDependent& rule, const ConnectionSetup& setup) {
    return std::make_shared<DistanceRows>(rule, setup);
}

}  // namespace riftjit::sim
