// What a model runs by: the rewritten graph and its plans. DeviceModel has them and Sequences run them;
// whoever warms a cache or lists code asks for the same.
#pragma once

#include <cstdint>
#include <string>

#include "graph/plan.h"
#include "host/result.h"

namespace riftjit::runtime {

struct PlanSetOptions {
    const Backend* backend;
    // Of the prompt plan, where it is another level of the same processor, with the same weights and cache.
    const Backend* prompt_backend = nullptr;
    uint32_t batch = 512;  // rows per step while a prompt is read; no kernel depends on it
    uint32_t outputs = 1;  // of them, rows that may have logits; more than one take one kernel more
    DType key_type = DType::F16, value_type = DType::F16;
    std::string passes = "all";
    Activations activations = Activations::i13;
};

struct PlanSet {
    graph::Graph graph;          // after the passes
    graph::Plan decode, prompt;  // of one row, which decodes weights in registers; of up to `batch` rows
};

Result<PlanSet> make_plans(const graph::Graph& graph, const PlanSetOptions& options);

}  // namespace riftjit::runtime
