#include "engine/weight_loading.h"

#include <fmt/format.h>

#include <algorithm>

#include "host/available_memory.h"

namespace riftjit::engine {
namespace {

// As in the file; packed they take about the same.
uint64_t weight_bytes(const graph::Graph& graph) {
    uint64_t bytes = 0;
    for (const graph::Tensor& tensor : graph.tensors)
        if (tensor.data != nullptr)
            bytes += uint64_t{tensor.matrices} * tensor.rows * row_bytes(tensor.type, tensor.width);
    return bytes;
}

}  // namespace

std::optional<runtime::WeightsOnDemand> weights_on_demand(const graph::Graph& graph, LoadMode mode, uint64_t kv_bytes,
                                                          const Warn& warn) {
    if (mode == LoadMode::packed) return std::nullopt;
    const uint64_t bytes = weight_bytes(graph), available = available_memory();
    const bool is_too_large = available != 0 && bytes > available;
    if (mode == LoadMode::automatic && !is_too_large) return std::nullopt;
    if (available == 0) return runtime::WeightsOnDemand{bytes};
    // The rest is for the cache, activations and pages of the file that are being read.
    const uint64_t most = std::max(available / 4, available / 8 * 7 - std::min(kv_bytes, available / 2));
    if (is_too_large && warn)
        warn(fmt::format(
            "the weights take {} bytes and {} are available: {} at most are in memory at once, the others are "
            "read from the file again and again, which is slow",
            bytes, available, most));
    return runtime::WeightsOnDemand{most};
}

}  // namespace riftjit::engine
