// Plans over a kernel made for the test: out[u] = x[(u + 1) mod rows] + the first row's position. Every unit reads what
// another thread may have written one step earlier, so that a wrong share, a missing barrier or a wrong batch shows in
// the result.
#include "runtime/cpu/cpu_plan.h"

#include <gtest/gtest.h>
#include <xbyak/xbyak.h>

#include <cstring>
#include <vector>

namespace riftjit::runtime {
namespace cpu_plan_test {

class ShiftKernel : public Xbyak::CodeGenerator {
public:
    ShiftKernel() {
        const Xbyak::Reg64 args = rdi, unit = rsi, end = rdx, x = r8, out = r9, batch = r10, source = rax;
        Xbyak::Label loop, done, inside;
        mov(x, ptr[args + offsetof(QuantizeArgs, x)]);
        mov(out, ptr[args + offsetof(QuantizeArgs, out)]);
        mov(batch, ptr[args + offsetof(QuantizeArgs, batch)]);
        mov(esi, esi);
        mov(edx, edx);
        L(loop);
        cmp(unit, end);
        jae(done);
        lea(source, ptr[unit + 1]);
        cmp(eax, ptr[batch + offsetof(BatchState, rows)]);
        jb(inside);
        xor_(eax, eax);
        L(inside);
        mov(ecx, ptr[x + source * 4]);
        mov(r11, ptr[batch + offsetof(BatchState, row)]);
        add(ecx, ptr[r11 + offsetof(BatchRow, position)]);
        mov(ptr[out + unit * 4], ecx);
        inc(unit);
        jmp(loop);
        L(done);
        ret();
    }
};

Result<CodeObject> compile_shift(const KernelSpec& spec, Target target) {
    ShiftKernel kernel;
    const auto* code = reinterpret_cast<const std::byte*>(kernel.getCode());
    return write_x86_object(kernel_name(spec), isa_of(target),
                            {{code, code + kernel.getSize()}, uint32_t(kernel.getSize())});
}

constexpr uint32_t kMaxTokens = 300;

// `steps` shifts back and forth between two buffers of four; further ones as a test adds them.
struct ShiftPlan {
    graph::Plan plan;
    std::vector<uint32_t> arena = std::vector<uint32_t>(4 * kMaxTokens, 0);

    explicit ShiftPlan(uint32_t steps) {
        plan.max_tokens = plan.max_outputs = kMaxTokens;
        for (uint32_t i = 0; i < steps; ++i) add_step(i % 2, 1 - i % 2);
    }
    void add_step(uint32_t from, uint32_t to) {
        const auto place = [](uint32_t buffer) {
            return graph::Place{graph::Place::Kind::arena, buffer * kMaxTokens * sizeof(uint32_t), 0};
        };
        plan.steps.push_back(
            {"shift", QuantizeSpec{16, RowFormat::i16}, {place(from), place(to)}, graph::StepRows::batch, false});
    }
    Addresses addresses() {
        Addresses addresses;
        addresses.arena = reinterpret_cast<std::byte*>(arena.data());
        return addresses;
    }
    uint32_t& at(uint32_t buffer, uint32_t unit) { return arena[buffer * kMaxTokens + unit]; }
};

struct Bound {
    ThreadPool pool;
    KernelCache cache{compile_shift, DiskCache::disabled()};
    x86::HostKernels kernels{cache};
    std::unique_ptr<CpuPlan> plan;

    Bound(ShiftPlan& shift, uint32_t threads) : pool(std::move(*ThreadPool::create(threads))) {
        auto created = CpuPlan::create(shift.plan, shift.addresses(), {Isa::avx2, pool, Helpers::always, kernels});
        EXPECT_TRUE(created) << created.error().message;
        plan = std::move(*created);
        EXPECT_TRUE(kernels.seal());
    }
    void run(uint32_t rows, uint32_t position, uint32_t outputs = 0) {
        Batch batch(rows);
        for (uint32_t row = 0; row < rows; ++row) batch.add({0, position + row});
        for (uint32_t row = 0; row < outputs; ++row) batch.add_output(row);
        plan->run(batch.finish(nullptr, 0));
    }
};

TEST(CpuPlan, EveryUnitOfEveryStepRunsOnceAfterTheStepBefore) {
    for (uint32_t threads : {1u, 2u, 3u, 7u}) {
        ShiftPlan shift(60);
        Bound bound(shift, threads);
        for (uint32_t tokens : {1u, 2u, 7u, kMaxTokens, 5u}) {  // shares follow the batch
            for (uint32_t unit = 0; unit < tokens; ++unit) shift.at(0, unit) = unit * 1000;
            bound.run(tokens, 3);
            for (uint32_t unit = 0; unit < tokens; ++unit)
                ASSERT_EQ(shift.at(0, unit), (unit + 60) % tokens * 1000 + 60 * 3)
                    << threads << " threads, unit " << unit << " of " << tokens;
        }
    }
}

TEST(CpuPlan, StepsRunOnTheOutputsThatTheyAreFor) {
    using graph::StepRows;
    ShiftPlan shift(0);
    for (const StepRows rows : {StepRows::outputs, StepRows::one_output, StepRows::many_outputs}) {
        shift.add_step(0, 1);
        shift.plan.steps.back().rows = rows;
        shift.plan.steps.back().places[1].offset_bytes = uint64_t(rows) * 100 * sizeof(uint32_t);
    }
    Bound bound(shift, 2);
    // Units that ran of each step, by the number of outputs.
    const std::vector<std::array<uint32_t, 3>> expected = {{0, 0, 0}, {1, 1, 0}, {2, 0, 2}, {9, 0, 9}};
    for (const auto& [all, one, many] : expected) {
        std::ranges::fill(shift.arena, 500);
        bound.run(9, 40, all);
        for (const auto& [rows, units] : {std::pair{1, all}, {2, one}, {3, many}})
            for (uint32_t unit = 0; unit < 9; ++unit)
                EXPECT_EQ(shift.arena[rows * 100 + unit], unit < units ? 540u : 500u)
                    << all << " outputs, rows " << rows << ", unit " << unit;
    }
}

TEST(CpuPlan, StepsThatRunInParallelBothRunBeforeTheNext) {
    for (const uint32_t last_reads : {1u, 2u}) {  // what either of the two wrote
        ShiftPlan shift(0);
        shift.add_step(0, 1);
        shift.add_step(0, 2);
        shift.plan.steps.front().parallel_with_next = true;
        shift.add_step(last_reads, 3);
        Bound bound(shift, 3);
        for (uint32_t unit = 0; unit < 50; ++unit) shift.at(0, unit) = unit;
        bound.run(50, 1);
        for (uint32_t unit = 0; unit < 50; ++unit) {
            EXPECT_EQ(shift.at(1, unit), (unit + 1) % 50 + 1);
            EXPECT_EQ(shift.at(2, unit), (unit + 1) % 50 + 1);
            EXPECT_EQ(shift.at(3, unit), (unit + 2) % 50 + 2);
        }
    }
}

TEST(CpuPlan, PassesOnWhyAKernelCannotBeMade) {
    ShiftPlan shift(1);
    ThreadPool pool = std::move(*ThreadPool::create(1));
    KernelCache cache([](const KernelSpec&, Target) -> Result<CodeObject> { return fail(ErrorKind::Encoding, "no"); },
                      DiskCache::disabled());
    x86::HostKernels kernels(cache);
    const auto created = CpuPlan::create(shift.plan, shift.addresses(), {Isa::avx2, pool, Helpers::always, kernels});
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().message, "no");
}

}  // namespace cpu_plan_test
}  // namespace riftjit::runtime
