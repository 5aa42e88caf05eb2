// What the builders of ops check of their inputs.
#pragma once

#include "graph/graph.h"

namespace riftjit::graph {

inline Result<void> expect_vector(const Graph& graph, const std::string& node, const char* what, TensorId id,
                                  uint32_t width) {
    if (id == kNoTensor) return {};
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::weight || tensor.width != width || tensor.rows != 1)
        return fail(ErrorKind::Format, "{}: {} '{}' has shape [{}, {}], expected [1, {}]", node, what, tensor.name,
                    tensor.rows, tensor.width, width);
    return {};
}

inline Result<void> expect_width(const Graph& graph, const std::string& node, const char* what, TensorId id,
                                 uint32_t width) {
    if (graph.tensor(id).width == width) return {};
    return fail(ErrorKind::Format, "{}: {} '{}' has width {}, expected {}", node, what, graph.tensor(id).name,
                graph.tensor(id).width, width);
}

// The running slot of this number, if it keeps something of so many channels.
inline Result<RunningSlot> expect_running(const Graph& graph, const std::string& node, SlotId slot, uint32_t channels) {
    const auto* running = slot < graph.slots.size() ? std::get_if<RunningSlot>(&graph.slots[slot].shape) : nullptr;
    if (running == nullptr) return fail(ErrorKind::Format, "{}: slot {} is none of a running state", node, slot);
    if (running->channels != channels)
        return fail(ErrorKind::Format, "{}: slot '{}' keeps {} channels, expected {}", node, graph.slots[slot].name,
                    running->channels, channels);
    return *running;
}

}  // namespace riftjit::graph
