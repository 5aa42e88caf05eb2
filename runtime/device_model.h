// A model made ready for a device: packed weights, and the plans that run it. Nothing of it changes once it is loaded,
// and any number of Sequences may share it; what their texts leave behind is theirs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/plan.h"
#include "runtime/device.h"
#include "runtime/plan_set.h"
#include "runtime/rope_tables.h"
#include "runtime/weights.h"

namespace riftjit::runtime {

struct ModelOptions {
    uint32_t batch = 512;  // rows of a step
    uint32_t outputs = 1;  // of them, rows that may have logits
    DType key_type = DType::F16, value_type = DType::F16;
    std::string passes = "all";
    Activations activations = Activations::i13;
    const Backend* prompt_backend = nullptr;  // PlanSetOptions; null: the device's own
};

PlanSetOptions plan_set_options(const ModelOptions& options, const Backend& backend);

struct DeviceModel {
    ModelOptions options;
    std::unique_ptr<Device> device;  // runs one step at a time
    graph::Plan decode_plan;         // of one row
    graph::Plan prompt_plan;         // of up to options.batch rows
    std::vector<RopeTable> rope_tables;
    LoadedWeights weights;
    std::vector<graph::StateSlot> slots;
    uint32_t vocabulary = 0;   // floats of a row of logits: also of rows that pad the table beyond the tokenizer's
    uint32_t token_limit = 0;  // rows of the token table: ids are below
    bool reads_whole_texts = false;  // rows see what follows them: a text is one step's

    // release(range) is called after a weight was packed, so that file pages can be dropped. The graph and what it
    // points to are not needed afterwards.
    static Result<std::shared_ptr<const DeviceModel>> create(const graph::Graph& graph, const ModelOptions& options,
                                                             std::unique_ptr<Device> device,
                                                             const Device::Release& release);

    // With one row the decode plan reads the weights once; the prompt plan does so for any number of rows.
    const graph::Plan& plan_for(size_t rows) const { return rows == 1 ? decode_plan : prompt_plan; }
    bool finds_highest() const { return decode_plan.highest_offset_bytes && prompt_plan.highest_offset_bytes; }
};

}  // namespace riftjit::runtime
