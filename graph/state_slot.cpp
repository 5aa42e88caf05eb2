#include "graph/state_slot.h"

namespace riftjit::graph {

uint64_t running_bytes(const StateSlot& slot) {
    if (const auto* recurrent = std::get_if<RecurrentSlot>(&slot.shape)) {
        uint64_t bytes = sizeof(float);
        for (const uint32_t extent : recurrent->shape) bytes *= extent;
        return bytes;
    }
    if (const auto* convolution = std::get_if<ConvolutionSlot>(&slot.shape))
        return uint64_t(convolution->taps - 1) * convolution->channels * sizeof(float);
    return 0;
}

}  // namespace riftjit::graph
