// At which level prompts are read, where several give the same bits and none is faster on every machine: tried once for
// a model's shapes, this processor and so many threads, and kept beside the cache.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/machine.h"
#include "graph/graph.h"
#include "runtime/cpu/level_trials.h"
#include "runtime/plan_set.h"

namespace riftjit::engine {

inline constexpr uint32_t kTrialRows = 256;

struct LevelChoice {
    Isa prompts;                              // the level
    std::vector<runtime::LevelTrial> trials;  // what it goes by; empty: nothing was to be compared
    bool is_new = false;                      // tried just now

    // "amx_int8 12.1 ms, amx_bf16 15.3 ms for 256 rows"; empty without trials.
    std::string figures() const;
};

// [{"level", "ms", "steps": [{"kernel", "launches", "ms"}]}]
nlohmann::ordered_json trials_as_json(const LevelChoice& choice);

// Those of `available` whose results for this graph are those of `level` to the bit and whose code is another, `level`
// first. Bf16 weights are multiplied in their own ways: then only levels that do so alike.
std::vector<Isa> levels_of_equal_bits(const graph::Graph& graph, Isa level, std::span<const Isa> available);

// The fastest; `level` unless another is faster by more than such trials differ from one to the next.
Isa fastest(std::span<const runtime::LevelTrial> trials, Isa level);

// What was kept, else in mode rw what trials say, which are then kept; else `level`. `options` are those of the plans.
Result<LevelChoice> choose_prompt_level(const graph::Graph& graph, const runtime::PlanSetOptions& options, Isa level,
                                        uint32_t threads, KernelCache& kernels, const std::string& cache_directory,
                                        CacheMode mode, const Warn& warn);

}  // namespace riftjit::engine
