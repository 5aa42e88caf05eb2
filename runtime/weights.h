// Brings a graph's weights to a device: matrices packed for its kernels, vectors as padded f32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/plan.h"
#include "runtime/device.h"

namespace riftjit::runtime {

struct LoadedWeights {
    std::vector<Address> addresses;  // by tensor id; null for what no step of the plans reads
    Address memory = nullptr;        // all of them lie in it
    uint64_t bytes = 0;
};

// Of the weights that the plans' steps read, as a device of this back end keeps them.
uint64_t weight_bytes(const graph::Graph& graph, std::span<const graph::Plan* const> plans, const Backend& backend);

// A matrix that several steps read (a tied token table) is packed once. release is called as packing proceeds, so that
// file and packed copy are hardly ever in memory together.
Result<LoadedWeights> load_weights(const graph::Graph& graph, std::span<const graph::Plan* const> plans, Device& device,
                                   const Device::Release& release);

// A weight of one row as f32, whatever its type in the file.
std::vector<float> vector_weight(const graph::Tensor& tensor);

}  // namespace riftjit::runtime
