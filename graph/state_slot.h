// What a model keeps of a sequence between steps, slot by slot: most layers have one, of a shape of its own.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace riftjit::graph {

using SlotId = uint32_t;

// Keys and values of every position, in pages (jit/kernel_spec.h).
struct KvSlot {
    uint32_t heads, head_dim;
};
// f32 numbers that every position replaces: the state of a recurrence or of linear attention.
struct RecurrentSlot {
    std::vector<uint32_t> shape;
};
// The last inputs of a causal convolution, f32 [taps - 1][channels].
struct ConvolutionSlot {
    uint32_t channels, taps;
};

struct StateSlot {
    std::string name;  // "blk.3.kv"
    std::variant<KvSlot, RecurrentSlot, ConvolutionSlot> shape;
};

// Bytes that a sequence of any length takes; 0 for what grows with it.
uint64_t running_bytes(const StateSlot& slot);

}  // namespace riftjit::graph
