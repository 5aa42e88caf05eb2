// Who connects to whom: the targets of each source under a connection rule, for any slice of the sources.
//
// Rules whose draws belong to a source (pairwise, out-degree, and fixed totals once it is known how many synapses each
// source has) make a row alone. In-degree rules draw for each target; a slice of sources then goes through the draws of
// the targets asked for, keeps what falls inside and sorts it by source, in blocks that bound the memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sim/network/description.h"
#include "sim/network/slice.h"

namespace riftjit::sim {

class ConnectionRows {
public:
    // `listed`: for lists of pairs the place of each synapse in the list, else empty. Rows are never empty.
    using Receive =
        std::function<void(uint32_t source, std::span<const uint32_t> targets, std::span<const uint32_t> listed)>;

    virtual ~ConnectionRows() = default;
    virtual double expected_synapses() const = 0;
    virtual bool is_exact() const { return true; }
    // Rows hold at least those of a source's targets that lie in `targets`.
    virtual void generate(Slice sources, Slice targets, const Receive& receive) const = 0;
};

// What the rules share. Neuron i of the source population is neuron i of the target population where they are the same.
struct ConnectionSetup {
    uint32_t sources, targets;
    bool same_population, autapses, multapses;
    uint64_t seed;
    uint32_t index;  // of the projection
    struct End {
        uint32_t population;
        std::optional<Layout> layout;
    };
    End source_end, target_end;

    bool skips_self() const { return same_population && !autapses; }
    uint32_t candidate_sources() const { return sources - (skips_self() ? 1 : 0); }
    uint32_t candidate_targets() const { return targets - (skips_self() ? 1 : 0); }
};
ConnectionSetup connection_setup(const Network& network, const Projection& projection, uint32_t index);

// What the rule cannot do here ("an in-degree of 4 needs as many sources, there are 3 (no multapses)"), or empty. Rows
// are made of sound rules only.
std::string connection_fault(const ConnectionRule& rule, const ConnectionSetup& setup);

using Rows = std::shared_ptr<const ConnectionRows>;
Rows make_connection_rows(const ConnectionRule& rule, const ConnectionSetup& setup);

// The groups of rules, each in a file of its own.
Rows make_rows(const OneToOne& rule, const ConnectionSetup& setup);
Rows make_rows(const AllToAll& rule, const ConnectionSetup& setup);
Rows make_rows(const PairwiseBernoulli& rule, const ConnectionSetup& setup);
Rows make_rows(const FixedInDegree& rule, const ConnectionSetup& setup);
Rows make_rows(const FixedOutDegree& rule, const ConnectionSetup& setup);
Rows make_rows(const FixedTotal& rule, const ConnectionSetup& setup);
Rows make_rows(const PairList& rule, const ConnectionSetup& setup);
Rows make_rows(const DistanceDependent& rule, const ConnectionSetup& setup);

}  // namespace riftjit::sim
