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

// In place of attention: out[u] += 1, and out[1000] += 1 where the batch has room for parts.
class CountKernel : public Xbyak::CodeGenerator {
public:
    CountKernel() {
        const Xbyak::Reg64 args = rdi, unit = rsi, end = rdx, out = r9, batch = r10;
        Xbyak::Label loop, done;
        mov(out, ptr[args + offsetof(AttentionArgs, out)]);
        mov(batch, ptr[args + offsetof(AttentionArgs, batch)]);
        mov(esi, esi);
        mov(edx, edx);
        L(loop);
        cmp(unit, end);
        jae(done);
        lock();
        inc(dword[out + unit * 4]);
        inc(unit);
        cmp(qword[batch + offsetof(BatchState, parts)], 0);
        je(loop);
        lock();
        inc(dword[out + 4000]);
        jmp(loop);
        L(done);
        ret();
    }
};

Result<CodeObject> compile_shift(const KernelSpec& spec, Target target) {
    const bool is_attention = std::holds_alternative<AttentionSpec>(spec);
    const std::unique_ptr<Xbyak::CodeGenerator> generator =
        is_attention ? std::unique_ptr<Xbyak::CodeGenerator>(new CountKernel) : std::make_unique<ShiftKernel>();
    Xbyak::CodeGenerator& kernel = *generator;
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
    void add_attention(uint32_t kv_heads, uint32_t to) {
        using Kind = graph::Place::Kind;
        const AttentionSpec spec{2 * kv_heads, kv_heads,   16,   32 * kv_heads,     32 * kv_heads,
                                 DType::F16,   DType::F16, 1.0f, MatmulForm::vector};
        const graph::Place out{Kind::arena, to * sizeof(uint32_t), 0};
        plan.steps.push_back(
            {"attention", spec, {out, {Kind::keys}, {Kind::values}, out}, graph::StepRows::batch, false});
    }
    Addresses addresses() {
        Addresses addresses;
        addresses.arena = reinterpret_cast<std::byte*>(arena.data());
        addresses.keys = addresses.values = {addresses.arena};
        addresses.pages_per_sequence = 16;
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

// Units of a batch of rows at these positions: how often each ran, and how many saw room for parts.
struct Counted {
    std::vector<uint32_t> runs;
    uint32_t cut;
};
Counted count_attention(uint32_t threads, uint32_t kv_heads, const std::vector<uint32_t>& positions) {
    ShiftPlan shift(0);
    shift.add_attention(kv_heads, 0);
    Bound bound(shift, threads);
    Batch batch(uint32_t(positions.size()));
    for (const uint32_t position : positions) batch.add({0, position});
    bound.plan->run(batch.finish(nullptr, 16));
    Counted counted{shift.arena, shift.arena[1000]};
    counted.runs.resize(std::ranges::find(counted.runs, 0u) - counted.runs.begin());
    return counted;
}

TEST(CpuPlan, CutsLongRowsWhereThreadsWouldWait) {
    const auto expect = [](uint32_t threads, uint32_t kv_heads, const std::vector<uint32_t>& positions, bool is_cut,
                           uint32_t units) {
        const Counted counted = count_attention(threads, kv_heads, positions);
        EXPECT_EQ(counted.runs, std::vector<uint32_t>(units, 1)) << threads << " threads, " << positions.size();
        EXPECT_EQ(counted.cut, is_cut ? units : 0) << threads << " threads, " << positions.size();
    };
    expect(3, 2, {1000}, true, 4 * 2);
    expect(3, 2, {1023}, true, 4 * 2);
    expect(3, 2, {1024}, true, 5 * 2);
    expect(1, 2, {1000}, false, 2);  // nobody waits
    expect(3, 2, {255}, false, 2);   // single segments
    expect(3, 2, {255, 0, 13}, false, 3 * 2);
    expect(3, 2, {1000, 10}, true, (4 + 1) * 2);  // one row is long
    expect(2, 8, {1000, 300}, true, (4 + 2) * 8);
    expect(2, 8, {1000, 900}, false, 2 * 8);  // as much as eight rows a thread
    expect(2, 8, {3000, 1000, 900}, true, (12 + 4 + 4) * 8);
    std::vector<uint32_t> many(100);
    for (uint32_t row = 0; row < 100; ++row) many[row] = 2 * row;
    expect(3, 2, many, false, 100 * 2);
    many.back() = 4095;  // longer than all others together
    expect(3, 2, many, true, (99 + 16) * 2);
}

// Long launches are taken in pieces, of which nothing may be left from the run before, whatever its counts were.
TEST(CpuPlan, TakesEveryPieceOnceFromBatchToBatch) {
    std::vector<uint32_t> many(100);
    for (uint32_t row = 0; row < 100; ++row) many[row] = 3800 + 2 * row;
    const std::vector<std::pair<std::vector<uint32_t>, uint32_t>> batches = {
        // positions, units of a KV head
        {{4000}, 16}, {{4000, 10}, 17}, {many, 100}, {{10}, 1}, {{4000}, 16}, {{4000}, 16}, {many, 100}};
    for (const uint32_t threads : {2u, 3u, 7u}) {
        ShiftPlan shift(0);
        shift.add_attention(8, 0);
        Bound bound(shift, threads);
        for (const auto& [positions, units] : batches) {
            std::ranges::fill(shift.arena, 0);
            Batch batch(uint32_t(positions.size()));
            for (const uint32_t position : positions) batch.add({0, position});
            bound.plan->run(batch.finish(nullptr, 16));
            for (uint32_t unit = 0; unit < 1000; ++unit)
                ASSERT_EQ(shift.arena[unit], unit < units * 8 ? 1u : 0u)
                    << threads << " threads, " << positions.size() << " rows, unit " << unit;
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
