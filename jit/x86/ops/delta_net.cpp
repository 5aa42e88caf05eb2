// Gated delta nets, along the rows of a sequence.
#include <cmath>

#include "jit/x86/backend.h"
#include "jit/x86/ops/norm.h"
#include "jit/x86/ops/run_walk.h"

namespace riftjit::x86 {

namespace {

class DeltaNetKernel final : public X86Kernel<DeltaNetSpec, RunWalk> {
    using X86Kernel::X86Kernel;

    // Register map. q, k, v, alpha, beta and out point to what the unit's columns have of a row, state to their
    // numbers, along which it goes and back. The stack has the row's q and k, divided, and what the head has of
    // weights.
    const Reg64 args = rdi, rows = r13, block = r14, number = rax, row = rdx;
    const Reg64 q = r8, k = r9, v = r10, alpha = r11, beta = r12, state = rcx, out = rbx;
    const Reg32 unit = esi, end = r15d;
    const Wide kept = wide(4), difference = wide(5), s = wide(6), spread = wide(7);
    const ExpScratch<Wide, LaneMask> exp_scratch = {wide(5), wide(6), lane_mask(0, wide(7))};

    const bool is_grouped = spec_.order == HeadOrder::grouped;
    const uint32_t channels = spec_.value_heads * spec_.value_dim, blocks = channel_blocks(channels);
    const uint32_t shared = spec_.value_heads / spec_.key_heads;
    const uint32_t state_bytes = spec_.key_dim * kBlockBytes, key_bytes = spec_.key_dim * uint32_t(sizeof(float));
    const uint32_t key_row_bytes = f32_row_bytes(spec_.key_heads * spec_.key_dim);
    const uint32_t gate_row_bytes = f32_row_bytes(spec_.value_heads * (is_grouped ? 2 : 1));
    const Xbyak::RegExp query = rsp + 0, key = rsp + int(key_bytes), of_head = rsp + int(2 * key_bytes);

    void generate() override {
        prologue({rbx, r12, r13, r14, r15}, 2 * key_bytes + 2 * sizeof(float));
        mov(end, edx);
        for_units(unit, end, [&] {
            locate();
            Label again;
            L(again);
            divide_by_length(query, q, 1.0f / std::sqrt(float(spec_.key_dim)));
            divide_by_length(key, k, 1.0f);
            produce_row();
            for (const Reg64& keys : {q, k}) add(keys, key_row_bytes);
            for (const Reg64& gates : {alpha, beta}) add(gates, gate_row_bytes);
            for (const Reg64& values : {v, out}) add(values, f32_row_bytes(channels));
            dec(rows.cvt32());
            jnz(again);
        });
        epilogue();
    }
    void locate() {
        const Reg64 first_row = q, head = k, key_head = v, within = alpha, batch = beta;
        mov(batch, ptr[args + offsetof(DeltaNetArgs, batch)]);
        locate_run({first_row, state, rows, block}, unit, batch, blocks);
        imul(state, state, int(blocks * state_bytes));
        imul(rax, block, int(state_bytes));
        add(state, rax);
        add(state, ptr[args + offsetof(DeltaNetArgs, state)]);
        divide(head, block, spec_.value_dim / kChannelBlock);
        keep_of_head(head);
        if (is_grouped) {  // key_head = head / shared
            divide(key_head, head, shared, &within);
            imul(beta, key_head, int(2 * shared));
            add(beta, within);
            lea(alpha, ptr[beta + shared]);
        } else {  // key_head = head mod key_heads
            divide(beta, head, spec_.key_heads, &key_head);
            mov(alpha, head);
            mov(beta, head);
        }
        mov(row, first_row);
        const auto locate_row = [&](const Reg64& pointer, const Reg64& bytes, size_t argument, uint32_t row_bytes) {
            imul(rax, row, int(row_bytes));
            add(rax, bytes);
            mov(pointer, ptr[args + argument]);
            add(pointer, rax);
        };
        shl(alpha, 2);
        shl(beta, 2);
        locate_row(alpha, alpha, offsetof(DeltaNetArgs, alpha), gate_row_bytes);
        locate_row(beta, beta, offsetof(DeltaNetArgs, beta), gate_row_bytes);
        imul(key_head, key_head, int(key_bytes));
        locate_row(q, key_head, offsetof(DeltaNetArgs, q), key_row_bytes);
        locate_row(k, key_head, offsetof(DeltaNetArgs, k), key_row_bytes);
        shl(block, 6);
        locate_row(v, block, offsetof(DeltaNetArgs, v), f32_row_bytes(channels));
        locate_row(out, block, offsetof(DeltaNetArgs, out), f32_row_bytes(channels));
    }
    void keep_of_head(const Reg64& head) {
        const auto keep = [&](size_t argument, int place) {
            mov(rax, ptr[args + argument]);
            mov(eax, ptr[rax + head * sizeof(float)]);
            mov(ptr[of_head + place * int(sizeof(float))], eax);
        };
        keep(offsetof(DeltaNetArgs, time_bias), 0);
        keep(offsetof(DeltaNetArgs, decay), 1);
    }

    // to = x * factor / sqrt(sum of x * x + epsilon)
    void divide_by_length(const Xbyak::RegExp& to, const Reg64& x, float factor) {
        const SquareSums sums = {wide(0), wide(1), wide(2), wide(3)};
        const Wide element = wide(4), scale = wide(5);
        const Xmm length = xmm_of(wide(4)), inverse = xmm_of(wide(5));
        for (const Wide& partial : sums) vxorps(partial, partial, partial);
        for_each_group(number, spec_.key_dim, 4, [&](int group, uint32_t) {
            vmovups(element, lanes_at(x + number + 64 * group));
            vfmadd231ps(sums[group], element, element);
        });
        emit_row_sum(*this, length, sums, inverse);
        vaddss(length, length, constant(spec_.epsilon));
        vsqrtss(length, length, length);
        vmovss(inverse, constant(factor));
        vdivss(inverse, inverse, length);
        vbroadcastss(scale, inverse);
        for_each_group(number, spec_.key_dim, 1, [&](int, uint32_t) {
            vmulps(element, scale, lanes_at(x + number));
            vmovups(lanes_at(to + number), element);
        });
    }

    void produce_row() {
        find_kept();
        // What the matrix knows of the key.
        clear_sums();
        walk([&](int sum, int offset) {
            vmulps(s, kept, lanes_at(state + sum * int(kBlockBytes)));
            vbroadcastss(spread, ptr[key + number + offset]);
            vfmadd231ps(wide(sum), s, spread);
        });
        add_sums();
        find_difference();
        clear_sums();
        walk([&](int sum, int offset) {
            const WideMemory numbers = lanes_at(state + sum * int(kBlockBytes));
            vmulps(s, kept, numbers);
            vbroadcastss(spread, ptr[key + number + offset]);
            vfmadd231ps(s, difference, spread);
            vmovups(numbers, s);
            vbroadcastss(spread, ptr[query + number + offset]);
            vfmadd231ps(wide(sum), s, spread);
        });
        add_sums();
        vmovups(lanes_at(out), wide(0));
    }
    void find_kept() {
        vbroadcastss(wide(1), ptr[alpha]);
        vbroadcastss(wide(2), ptr[of_head]);
        vaddps(wide(1), wide(1), wide(2));
        emit_softplus(*this, wide(0), wide(1), wide(2), exp_scratch);
        vbroadcastss(wide(1), ptr[of_head + int(sizeof(float))]);
        vmulps(wide(1), wide(1), wide(0));
        emit_exp(*this, kept, wide(1), exp_scratch, ExpDomain::any);
    }
    // difference = (v - wide(0)) / (1 + exp(-beta))
    void find_difference() {
        const Wide negated = wide(1), gate = wide(2), rest = wide(3);
        vmovups(rest, lanes_at(v));
        vsubps(rest, rest, wide(0));
        vbroadcastss(negated, ptr[beta]);
        vxorps(negated, negated, splat_u32(0x8000'0000));
        emit_gated_by_exp(*this, gate, rest, negated, exp_scratch);
        vmovaps(difference, gate);
    }
    void clear_sums() {
        for (int sum = 0; sum < kSums; ++sum) vxorps(wide(sum), wide(sum), wide(sum));
    }
    void add_sums() {  // to wide(0)
        vaddps(wide(0), wide(0), wide(1));
        vaddps(wide(2), wide(2), wide(3));
        vaddps(wide(0), wide(0), wide(2));
    }
    // body(sum, offset) for four numbers of each channel at a time.
    void walk(const std::function<void(int, int)>& body) {
        for_count(number, spec_.key_dim / kSums, kSums * sizeof(float), [&] {
            for (int sum = 0; sum < kSums; ++sum) body(sum, sum * int(sizeof(float)));
            add(state, kSums * kBlockBytes);
        });
        sub(state, state_bytes);
    }

    static constexpr int kSums = 4;
};

}  // namespace

MachineCode generate(OpOf<DeltaNetSpec>, const DeltaNetSpec& spec, Isa isa) {
    return DeltaNetKernel(spec, isa).finish();
}

}  // namespace riftjit::x86
