// Runs what a test emits between a prologue and an epilogue.
#pragma once

#include <functional>
#include <numeric>

#include "jit/x86/emit/wide.h"
#include "tests/jit/x86/ops/kernel_runner.h"

namespace riftjit::x86 {

struct ProbeArgs {
    const float* in;
    float* out;
};

// The body finds `in` in r8 and `out` in r9, and may use every other register.
class Probe final : public WideEmitter {
public:
    using Body = std::function<void(Probe&)>;
    Probe(Isa isa, Body body, uint32_t stack_bytes = 0)
        : WideEmitter(isa), body_(std::move(body)), stack_bytes_(stack_bytes) {}

    const Reg64 in = r8, out = r9, offset = rax;

    using WideEmitter::clear_lanes_from;
    using WideEmitter::epilogue;
    using WideEmitter::fold_sum;
    using WideEmitter::for_count;
    using WideEmitter::for_each_group;
    using WideEmitter::for_units;
    using WideEmitter::lane_mask;
    using WideEmitter::lanes_at;
    using WideEmitter::load_lanes;
    using WideEmitter::store_lanes;
    using WideEmitter::wide;
    using WideEmitter::wide_registers;

private:
    void generate() override {
        prologue({rbx, r12, r13, r14, r15}, stack_bytes_);
        mov(in, ptr[rdi + offsetof(ProbeArgs, in)]);
        mov(out, ptr[rdi + offsetof(ProbeArgs, out)]);
        body_(*this);
        epilogue();
    }

    Body body_;
    uint32_t stack_bytes_;
};

inline void run(Isa isa, const ProbeArgs& args, const Probe::Body& body, uint32_t begin = 0, uint32_t end = 0,
                uint32_t stack_bytes = 0) {
    RunnableKernel(Probe(isa, body, stack_bytes).finish())(&args, begin, end);
}

// 1, 2, 3 ...
inline GuardedBuffer<float> counted(uint32_t count) {
    GuardedBuffer<float> values(count);
    std::iota(values.data(), values.data() + count, 1.0f);
    return values;
}

}  // namespace riftjit::x86
