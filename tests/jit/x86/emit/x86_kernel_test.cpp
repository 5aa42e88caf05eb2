#include "jit/x86/emit/x86_kernel.h"

#include "tests/jit/x86/emit/probe.h"

namespace riftjit::x86 {
namespace x86_kernel_test {

TEST(X86Kernel, EqualConstantsShareOneAddress) {
    for (Isa isa : machine_isas()) {
        const auto pool_bytes = [&](const Probe::Body& body) {
            const MachineCode code = Probe(isa, body).finish();
            return code.bytes.size() % 64;  // the pool starts on 64 and is the last thing
        };
        const auto once = [](Probe& p) { p.vbroadcastss(p.wide(0), p.constant(1.5f)); };
        const auto twice = [&](Probe& p) { once(p), once(p); };
        const auto another = [&](Probe& p) { once(p), p.vbroadcastss(p.wide(0), p.constant(2.5f)); };
        EXPECT_EQ(pool_bytes(once), 4u);
        EXPECT_EQ(pool_bytes(twice), 4u);
        EXPECT_EQ(pool_bytes(another), 8u);
    }
}

TEST(X86Kernel, ConstantsAreAlignedAndReadable) {
    const auto pattern = counted(16);
    for (Isa isa : machine_isas()) {
        GuardedBuffer<float> out(16);
        run(isa, {nullptr, out.data()}, [&](Probe& p) {
            p.vbroadcastss(p.wide(1), p.constant(7.0f));  // puts the pool off a multiple of 64
            p.vmovaps(p.ymm0, p.constant_bytes(pattern.data(), 64));
            p.vmovups(p.ptr[p.out], p.ymm0);
            p.vmovaps(p.ymm0, p.constant_bytes(pattern.data() + 8, 32));
            p.vmovups(p.ptr[p.out + 32], p.ymm0);
        });
        EXPECT_EQ(out, pattern);
    }
}

TEST(X86Kernel, LoopsCountExactly) {
    for (Isa isa : machine_isas())
        for (uint64_t count : {0, 1, 2, 5}) {
            GuardedBuffer<float> out(6);
            for (uint32_t i = 0; i < 6; ++i) out[i] = 0.0f;
            run(isa, {nullptr, out.data()}, [&](Probe& p) {
                p.for_count(p.offset, count, 4, [&] { p.mov(p.dword[p.out + p.offset], 0x3f800000); });
            });
            for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(out[i], i < count ? 1.0f : 0.0f) << count;
        }
}

TEST(X86Kernel, VisitsTheUnitsOfTheRangeOnly) {
    for (Isa isa : machine_isas())
        for (uint32_t begin = 0; begin <= 4; ++begin)
            for (uint32_t end = begin; end <= 4; ++end) {
                GuardedBuffer<float> out(4);
                for (uint32_t i = 0; i < 4; ++i) out[i] = 0.0f;
                const auto mark_unit = [](Probe& p) {
                    p.for_units(p.esi, p.edx, [&] { p.mov(p.dword[p.out + p.rsi * 4], 0x3f800000); });
                };
                run(isa, {nullptr, out.data()}, mark_unit, begin, end);
                for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], i >= begin && i < end ? 1.0f : 0.0f);
            }
}

TEST(X86Kernel, StackScratchIsAligned) {
    for (Isa isa : machine_isas()) {
        GuardedBuffer<uint64_t> out(1);
        const Probe::Body body = [](Probe& p) {
            p.mov(p.ptr[p.out], p.rsp);
            p.vmovups(p.ptr[p.rsp + 150 - 32], p.ymm0);  // the last of the bytes asked for
        };
        run(isa, {nullptr, reinterpret_cast<float*>(out.data())}, body, 0, 0, 150);
        EXPECT_EQ(out[0] % 64, 0u);
    }
}

// One kernel puts known values in the callee-saved registers and calls another, which overwrites them.
TEST(X86Kernel, CalleeSavedRegistersComeBack) {
    for (Isa isa : machine_isas())
        for (uint32_t stack_bytes : {0u, 64u}) {
            const Probe::Body overwrite = [](Probe& p) {
                for (const auto& reg : {p.rbx, p.r12, p.r13, p.r14, p.r15}) p.mov(reg, -1);
            };
            const RunnableKernel callee(Probe(isa, overwrite, stack_bytes).finish());
            GuardedBuffer<uint64_t> out(6);
            const Probe::Body body = [&](Probe& p) {
                const Xbyak::Reg64 saved[] = {p.rbx, p.r12, p.r13, p.r14, p.r15, p.rbp};
                for (int i = 0; i < 5; ++i) p.mov(saved[i], 100 + i);
                p.push(p.out);
                p.push(p.rbp);
                p.mov(p.rbp, 105);
                p.mov(p.rax, reinterpret_cast<uint64_t>(callee.function()));
                p.call(p.rax);
                p.mov(p.rax, p.rbp);
                p.pop(p.rbp);
                p.pop(p.out);
                for (int i = 0; i < 5; ++i) p.mov(p.ptr[p.out + 8 * i], saved[i]);
                p.mov(p.ptr[p.out + 40], p.rax);
            };
            run(isa, {nullptr, reinterpret_cast<float*>(out.data())}, body);
            for (uint64_t i = 0; i < 6; ++i) EXPECT_EQ(out[i], 100 + i) << name(isa) << " " << stack_bytes;
        }
}

}  // namespace x86_kernel_test
}  // namespace riftjit::x86
