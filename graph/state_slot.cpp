#include "graph/state_slot.h"

#include "jit/kernel_spec.h"

namespace riftjit::graph {

uint64_t running_bytes(const StateSlot& slot) {
    const auto* running = std::get_if<RunningSlot>(&slot.shape);
    if (running == nullptr) return 0;
    return uint64_t(channel_blocks(running->channels)) * kChannelBlock * running->numbers * sizeof(float);
}

}  // namespace riftjit::graph
