// Kernels that walk the rows of a sequence in order, a block of 16 channels at a time (jit/kernel_spec.h, running
// states).
#pragma once

#include "jit/kernel_spec.h"
#include "jit/x86/emit/wide.h"

namespace riftjit::x86 {

class RunWalk : public WideEmitter {
public:
    using WideEmitter::WideEmitter;

protected:
    // Of a unit: its run's first row, sequence and number of rows, and its block of channels.
    struct RunPlace {
        Reg64 first_row, sequence, rows, block;
    };
    // batch points to the BatchState. Clobbers rax and rdx, which none of the registers may be.
    void locate_run(const RunPlace& place, const Reg32& unit, const Reg64& batch, uint32_t blocks);

    // out = value / divisor, and value mod divisor to `rest` if it is there. Registers and what is clobbered as above.
    void divide(const Reg64& out, const Reg64& value, uint32_t divisor, const Reg64* rest = nullptr);

    static constexpr uint32_t kBlockBytes = kChannelBlock * sizeof(float);
};

}  // namespace riftjit::x86
