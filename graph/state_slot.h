// What a model keeps of a sequence between steps, slot by slot: most layers have one, of a shape of its own.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace riftjit::graph {

using SlotId = uint32_t;

// Keys and values of every position, in pages (jit/kernel_spec.h).
struct KvSlot {
    uint32_t heads, head_dim;
};
// So many f32 numbers for each channel, which every position replaces (jit/kernel_spec.h, running states).
struct RunningSlot {
    uint32_t channels, numbers;
};

struct StateSlot {
    std::string name;  // "blk.3.kv"
    std::variant<KvSlot, RunningSlot> shape;
};

// Bytes that a sequence of any length takes; 0 for what grows with it.
uint64_t running_bytes(const StateSlot& slot);

}  // namespace riftjit::graph
