// A graph lowered to kernel launches over one arena: fused, with row formats chosen and buffers shared by lifetime.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "jit/backend.h"

namespace riftjit::graph {

// ---- passes ---------------------------------------------------------------------------------------------------------

using PassSet = std::set<std::string_view>;

struct Pass {
    std::string_view name, what;
    void (*run)(Graph&);  // rewrites the graph; null for the passes that make_plan applies while lowering
};
std::span<const Pass> passes();  // in order of application
// "all", "none", "-name,..." (all but) or "name,name"; fails naming unknown passes and the known ones.
Result<PassSet> parse_passes(std::string_view text);
Graph apply_passes(Graph graph, const PassSet& enabled);

// ---- plan -----------------------------------------------------------------------------------------------------------

// Where an argument of a launch lives.
struct Place {
    enum class Kind : uint8_t {
        none,
        arena,
        weight,
        keys,
        values,
        token_ids,
        positions,
        rope_table,
        state,
    } kind = Kind::none;
    uint64_t offset_bytes = 0;  // arena: from the arena's start; values of `index` below for the others
    uint32_t index = 0;         // weight: tensor id; keys, values, state: slot; rope_table: which table

    bool operator==(const Place&) const = default;
};

// Which rows a step runs on; it is left out where that is none.
enum class StepRows : uint8_t {
    batch,         // all of the batch
    outputs,       // those whose logits are wanted, once they were gathered
    one_output,    // the same if it is a single one: in vector form
    many_outputs,  // the same if they are more: in tile form
};

struct Step {
    std::string name;  // node name(s): "blk.0.attn_norm"
    KernelSpec spec;
    std::vector<Place> places;  // of signature(spec).arguments, in that order (batch excluded)
    StepRows rows = StepRows::batch;
    bool parallel_with_next = false;  // no barrier needed before the next step
    uint32_t rows_each = 1;           // of those: the pairs of a token and its experts are rows of their own
};

// A rope table the runtime fills for every batch: {cos, sin} f32 pairs [tokens][rotary_dims/2].
struct RopeTable {
    RopeAngles angles;
    RopeFactors factors;
};

struct Plan {
    std::optional<Target> target;  // whose rows it has; none: those of whatever device it is bound to
    std::vector<Step> steps;
    std::vector<RopeTable> rope_tables;
    uint64_t arena_bytes = 0;  // for max_tokens rows
    uint64_t logits_offset_bytes = 0;
    uint32_t logits_stride = 0;  // floats
    // IndexedLogit[max_outputs][kHighest], where the plan finds them.
    std::optional<uint64_t> highest_offset_bytes;
    uint32_t max_tokens = 0, max_outputs = 0;
    uint32_t most_positions = UINT32_MAX;  // of a text: a table of positions has no more
    MatmulForm form;
};

struct PlanOptions {
    const Backend* backend;    // what row formats and layouts are asked of
    uint32_t max_tokens;       // rows per batch that the arena holds; 1 makes a decode plan
    uint32_t max_outputs = 1;  // of them, rows with logits
    DType key_type = DType::F16, value_type = DType::F16;
    PassSet passes;  // those of passes() that lower differently
    Activations activations = Activations::i13;
};
Result<Plan> make_plan(const Graph& graph, const PlanOptions& options);
std::string to_text(const Plan& plan);
std::string to_text(const Place& place);  // "@1024", "w3", "ids"

}  // namespace riftjit::graph
