// Selective state spaces, along the rows of a sequence.
#include "jit/x86/backend.h"
#include "jit/x86/ops/run_walk.h"

namespace riftjit::x86 {

namespace {

class ScanKernel final : public X86Kernel<ScanSpec, RunWalk> {
    using X86Kernel::X86Kernel;

    // Register map. x, time, b, c and out point to what the unit's channels have of a row; time_bias, skip, decay and
    // state to what they have. State, and decay of Mamba 1, go along the numbers and back.
    const Reg64 args = rdi, rows = r13, block = r14, row = rbp, number = rax;
    const Reg64 x = r8, out = r9, time = r10, b = r11, c = r12, state = rbx, decay = rcx, time_bias = rdx, skip = rbp;
    const Reg32 unit = esi, end = r15d;
    const Wide dt = wide(0);
    const ExpScratch<Wide, LaneMask> exp_scratch = {wide(5), wide(6), lane_mask(0, wide(7))};

    const bool has_heads = spec_.head_dim != 1;
    const uint32_t channels = spec_.heads * spec_.head_dim, blocks = channel_blocks(channels);
    const uint32_t state_bytes = spec_.states * kBlockBytes;

    void generate() override {
        prologue({rbx, rbp, r12, r13, r14, r15});
        mov(end, edx);
        for_units(unit, end, [&] {
            locate();
            Label again;
            L(again);
            has_heads ? produce_by_head() : produce_by_channel();
            add(x, f32_row_bytes(channels));
            add(out, f32_row_bytes(channels));
            add(time, f32_row_bytes(spec_.heads));
            for (const Reg64& rows_of_numbers : {b, c})
                add(rows_of_numbers, f32_row_bytes(spec_.groups * spec_.states));
            dec(rows.cvt32());
            jnz(again);
        });
        epilogue();
    }
    void locate() {
        const Reg64 batch = c, head = x, group = out;
        mov(batch, ptr[args + offsetof(ScanArgs, batch)]);
        locate_run({row, state, rows, block}, unit, batch, blocks);
        imul(state, state, int(blocks * state_bytes));
        imul(rax, block, int(state_bytes));
        add(state, rax);
        if (has_heads) {
            divide(head, block, spec_.head_dim / kChannelBlock);
            divide(group, head, spec_.heads / spec_.groups);
        }
        const auto locate_rows = [&](const Reg64& pointer, size_t argument, uint32_t row_bytes) {
            imul(pointer, row, int(row_bytes));
            add(pointer, ptr[args + argument]);
        };
        locate_rows(time, offsetof(ScanArgs, time), f32_row_bytes(spec_.heads));
        locate_rows(b, offsetof(ScanArgs, b), f32_row_bytes(spec_.groups * spec_.states));
        locate_rows(c, offsetof(ScanArgs, c), f32_row_bytes(spec_.groups * spec_.states));
        if (has_heads) {
            imul(group, group, int(spec_.states * sizeof(float)));
            add(b, group);
            add(c, group);
            shl(head, 2);  // bytes into what heads have
        } else {
            mov(head, block);
            shl(head, 6);
        }
        add(time, head);
        mov(time_bias, head);
        add(time_bias, ptr[args + offsetof(ScanArgs, time_bias)]);
        if (has_heads)
            mov(decay, head);
        else
            mov(decay, rax);
        add(decay, ptr[args + offsetof(ScanArgs, decay)]);
        mov(rax, row);
        imul(rax, rax, int(f32_row_bytes(channels)));
        mov(skip, head);  // which is where `row` was
        add(skip, ptr[args + offsetof(ScanArgs, skip)]);
        shl(block, 6);
        add(rax, block);
        mov(x, rax);
        mov(out, rax);
        add(x, ptr[args + offsetof(ScanArgs, x)]);
        add(out, ptr[args + offsetof(ScanArgs, out)]);
        add(state, ptr[args + offsetof(ScanArgs, state)]);
    }

    // Of 16 channels of a head, with one factor for all that is kept.
    void produce_by_head() {
        const Wide time_value = wide(1), kept = wide(6), input = wide(7), h = wide(4), spread = wide(5);
        vbroadcastss(time_value, ptr[time]);
        vbroadcastss(wide(2), ptr[time_bias]);
        vaddps(time_value, time_value, wide(2));
        emit_softplus(*this, dt, time_value, wide(2), exp_scratch);
        vbroadcastss(wide(1), ptr[decay]);
        vmulps(wide(1), wide(1), dt);
        emit_exp(*this, wide(2), wide(1), exp_scratch, ExpDomain::any);
        vmulps(input, dt, lanes_at(x));
        vmovaps(kept, wide(2));
        for (int sum = 0; sum < kSums; ++sum) vxorps(wide(sum), wide(sum), wide(sum));
        for_count(number, spec_.states / kSums, kSums * sizeof(float), [&] {
            for (int sum = 0; sum < kSums; ++sum) {
                const int offset = sum * int(sizeof(float));
                const WideMemory numbers = lanes_at(state + sum * int(kBlockBytes));
                vbroadcastss(spread, ptr[b + number + offset]);
                vmulps(spread, spread, input);
                vmovups(h, numbers);
                vfmadd213ps(h, kept, spread);
                vmovups(numbers, h);
                vbroadcastss(spread, ptr[c + number + offset]);
                vfmadd231ps(wide(sum), h, spread);
            }
            add(state, kSums * kBlockBytes);
        });
        sub(state, state_bytes);
        vaddps(wide(0), wide(0), wide(1));
        vaddps(wide(2), wide(2), wide(3));
        vaddps(wide(0), wide(0), wide(2));
        vbroadcastss(spread, ptr[skip]);
        store(wide(0), spread);
    }
    // Of 16 channels, each a head by itself.
    void produce_by_channel() {
        const Wide input = wide(1), sum = wide(2), exponent = wide(3), kept = wide(4), h = wide(5), spread = wide(6);
        vmovups(input, lanes_at(time));
        vaddps(input, input, lanes_at(time_bias));
        emit_softplus(*this, dt, input, wide(2), exp_scratch);
        vmulps(input, dt, lanes_at(x));
        vxorps(sum, sum, sum);
        for_count(number, spec_.states, sizeof(float), [&] {
            vmulps(exponent, dt, lanes_at(decay));
            emit_exp(*this, kept, exponent, exp_scratch, ExpDomain::any);
            vbroadcastss(spread, ptr[b + number]);
            vmulps(spread, spread, input);
            vmovups(h, lanes_at(state));
            vfmadd213ps(h, kept, spread);
            vmovups(lanes_at(state), h);
            vbroadcastss(spread, ptr[c + number]);
            vfmadd231ps(sum, h, spread);
            add(state, kBlockBytes);
            add(decay, kBlockBytes);
        });
        sub(state, state_bytes);
        sub(decay, state_bytes);
        vmovups(spread, lanes_at(skip));
        store(sum, spread);
    }
    void store(const Wide& sum, const Wide& skipped) {
        vfmadd231ps(sum, skipped, lanes_at(x));
        vmovups(lanes_at(out), sum);
    }

    static constexpr int kSums = 4;
};

}  // namespace

MachineCode generate(OpOf<ScanSpec>, const ScanSpec& spec, Isa isa) { return ScanKernel(spec, isa).finish(); }

}  // namespace riftjit::x86
