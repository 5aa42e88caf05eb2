// Whether a model's weights are packed when it is opened, or as they are read.
#pragma once

#include <optional>

#include "engine/engine.h"

namespace riftjit::engine {

// Absent: at once, which is faster where they fit. By themselves weights come on demand only where the system says that
// it has less memory than they take, of which `warn` is told. kv_bytes: of the cache when it is full.
std::optional<runtime::WeightsOnDemand> weights_on_demand(const graph::Graph& graph, LoadMode mode, uint64_t kv_bytes,
                                                          const Warn& warn);

}  // namespace riftjit::engine
