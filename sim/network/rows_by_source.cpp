// Rules that make a row from its source alone.
#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>

#include "sim/network/connection_rows.h"
#include "sim/network/pairwise.h"
#include "sim/network/subset.h"

namespace riftjit::sim {

namespace {

class OneToOneRows final : public ConnectionRows {
public:
    explicit OneToOneRows(uint32_t neurons) : neurons_(neurons) {}
    double expected_synapses() const override { return neurons_; }
    void generate(Slice sources, Slice, const Receive& receive) const override {
        for (uint32_t source = sources.begin; source < sources.end; ++source) receive(source, {&source, 1}, {});
    }

private:
    uint32_t neurons_;
};

class AllToAllRows final : public ConnectionRows {
public:
    explicit AllToAllRows(const ConnectionSetup& setup) : setup_(setup) {}
    double expected_synapses() const override { return double(setup_.sources) * setup_.candidate_targets(); }
    void generate(Slice sources, Slice, const Receive& receive) const override {
        std::vector<uint32_t> targets;
        for (uint32_t source = sources.begin; source < sources.end; ++source) {
            targets.resize(setup_.targets);
            std::iota(targets.begin(), targets.end(), 0);
            if (setup_.skips_self()) targets.erase(targets.begin() + source);
            if (!targets.empty()) receive(source, targets, {});
        }
    }

private:
    ConnectionSetup setup_;
};

class BernoulliRows final : public ConnectionRows {
public:
    BernoulliRows(double probability, const ConnectionSetup& setup)
        : probability_(probability), setup_(setup), key_(random_key(setup.seed, Purpose::connection, setup.index)) {}
    double expected_synapses() const override {
        return probability_ * setup_.sources * (double(setup_.candidate_targets()));
    }
    bool is_exact() const override { return probability_ == 0 || probability_ == 1; }
    void generate(Slice sources, Slice, const Receive& receive) const override {
        std::vector<uint32_t> targets;
        for (uint32_t source = sources.begin; source < sources.end; ++source) {
            targets.clear();
            for_each_success(key_, source, setup_.targets, probability_, [&](uint32_t target, uint64_t) {
                if (!setup_.skips_self() || target != source) targets.push_back(target);
            });
            if (!targets.empty()) receive(source, targets, {});
        }
    }

private:
    double probability_;
    ConnectionSetup setup_;
    uint64_t key_;
};

// Each source has its number of synapses; their targets are drawn with or without replacement.
class OutDegreeRows final : public ConnectionRows {
public:
    // `degrees`: of each source, or one for all.
    OutDegreeRows(std::vector<uint32_t> degrees, const ConnectionSetup& setup)
        : degrees_(std::move(degrees)), setup_(setup), key_(random_key(setup.seed, Purpose::connection, setup.index)) {}
    double expected_synapses() const override {
        if (degrees_.size() == 1) return double(degrees_[0]) * setup_.sources;
        return std::accumulate(degrees_.begin(), degrees_.end(), 0.0);
    }
    void generate(Slice sources, Slice, const Receive& receive) const override {
        std::vector<uint32_t> targets;
        const uint32_t candidates = setup_.candidate_targets();
        SubsetDrawer subsets(setup_.multapses ? 0 : candidates);
        for (uint32_t source = sources.begin; source < sources.end; ++source) {
            const uint32_t degree = degrees_.size() == 1 ? degrees_[0] : degrees_[source];
            if (degree == 0) continue;
            if (setup_.multapses) {
                targets.resize(degree);
                BoundedNumbers numbers(key_, source, candidates);
                for (uint32_t& target : targets) target = numbers.next();
            } else {
                subsets.draw(key_, source, degree, targets);
            }
            if (setup_.skips_self()) {
                for (uint32_t& target : targets) target += target >= source ? 1 : 0;
            }
            receive(source, targets, {});
        }
    }

private:
    std::vector<uint32_t> degrees_;
    ConnectionSetup setup_;
    uint64_t key_;
};

// How many synapses each source has when `total` pairs are drawn. With replacement: sources are drawn uniformly.
// Without: a source that has r pairs left is taken with a probability of r in proportion; where more than half of all
// pairs are wanted, those left out are counted instead. Exact, since both use integers alone.
std::vector<uint32_t> source_degrees(uint64_t total, const ConnectionSetup& setup) {
    std::vector<uint32_t> degrees(setup.sources);
    if (total == 0) return degrees;
    const uint64_t key = random_key(setup.seed, Purpose::connection_total, setup.index);
    BoundedNumbers sources(key, 0, setup.sources);
    if (setup.multapses) {
        for (uint64_t i = 0; i < total; ++i) ++degrees[sources.next()];
        return degrees;
    }
    const uint32_t row = setup.candidate_targets();
    const uint64_t pairs = uint64_t(row) * setup.sources;
    const bool is_complement = total > pairs / 2;
    BoundedNumbers places(key, 1, row);
    for (uint64_t left = is_complement ? pairs - total : total; left > 0;) {
        uint32_t& degree = degrees[sources.next()];
        if (places.next() < degree) continue;
        ++degree;
        --left;
    }
    if (is_complement) {
        for (uint32_t& degree : degrees) degree = row - degree;
    }
    return degrees;
}

// Draws the sources of all synapses when the first rows are wanted: it takes long, and plans need only the total.
class FixedTotalRows final : public ConnectionRows {
public:
    FixedTotalRows(uint64_t total, const ConnectionSetup& setup) : total_(total), setup_(setup) {}
    double expected_synapses() const override { return double(total_); }
    void generate(Slice sources, Slice targets, const Receive& receive) const override {
        std::call_once(drawn_, [&] { rows_.emplace(source_degrees(total_, setup_), setup_); });
        rows_->generate(sources, targets, receive);
    }

private:
    uint64_t total_;
    ConnectionSetup setup_;
    mutable std::once_flag drawn_;
    mutable std::optional<OutDegreeRows> rows_;
};

}  // namespace

Rows make_rows(const OneToOne&, const ConnectionSetup& setup) { return std::make_shared<OneToOneRows>(setup.sources); }

Rows make_rows(const AllToAll&, const ConnectionSetup& setup) { return std::make_shared<AllToAllRows>(setup); }

Rows make_rows(const PairwiseBernoulli& rule, const ConnectionSetup& setup) {
    return std::make_shared<BernoulliRows>(rule.probability, setup);
}

Rows make_rows(const FixedOutDegree& rule, const ConnectionSetup& setup) {
    return std::make_shared<OutDegreeRows>(std::vector<uint32_t>{rule.degree}, setup);
}

Rows make_rows(const FixedTotal& rule, const ConnectionSetup& setup) {
    return std::make_shared<FixedTotalRows>(rule.synapses, setup);
}

}  // namespace riftjit::sim
