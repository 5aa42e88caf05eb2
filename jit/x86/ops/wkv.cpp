// RWKV's time mixing, along the rows of a sequence.
#include <cmath>

#include "jit/x86/backend.h"
#include "jit/x86/ops/norm.h"
#include "jit/x86/ops/run_walk.h"

namespace riftjit::x86 {

namespace {

class WkvKernel final : public X86Kernel<WkvSpec, RunWalk> {
    using X86Kernel::X86Kernel;

    // Register map. r, w, k, a and v point to what the head has of a row, out to what the unit's channels
    // have, state to their numbers, along which it goes and back. The stack has what the row makes for the head, rows
    // of its width, and where its weights and the bonus lie.
    const Reg64 args = rdi, rows = r13, number = rax, weight = rdx, within = r14;
    const Reg64 r = r8, w = r9, k = r10, a = r11, v = r12, state = rcx, out = rbx;
    const Reg32 unit = esi, end = r15d;
    const RowSums sums = {wide(0), wide(1), wide(2), wide(3)};
    const Wide difference = wide(4), spread = wide(5), s = wide(6), value = wide(7);
    const ExpScratch<Wide, LaneMask> exp_scratch = {wide(5), wide(6), lane_mask(0, wide(7))};

    const bool is_v7 = spec_.rule == WkvRule::v7;
    const uint32_t channels = spec_.heads * spec_.head_dim, blocks = channel_blocks(channels);
    const uint32_t state_bytes = spec_.head_dim * kBlockBytes, head_bytes = spec_.head_dim * uint32_t(sizeof(float));
    const Xbyak::RegExp decay = rsp + 0, key = rsp + int(head_bytes), known = rsp + int(2 * head_bytes),
                        rate = rsp + int(3 * head_bytes), mix = rsp + int(4 * head_bytes), key_scale = mix + 8,
                        key_rate = mix + 16, bonus = mix + 24;

    void generate() override {
        prologue({rbx, r12, r13, r14, r15}, 4 * head_bytes + 4 * 8);
        mov(end, edx);
        for_units(unit, end, [&] {
            locate();
            Label again;
            L(again);
            is_v7 ? produce_row_v7() : produce_row_v6();
            for (const Reg64& pointer : {r, w, k, v, out}) add(pointer, f32_row_bytes(channels));
            if (is_v7) {
                add(a, f32_row_bytes(channels));
                add(qword[bonus], f32_row_bytes(channels));
            }
            dec(rows.cvt32());
            jnz(again);
        });
        epilogue();
    }
    void locate() {
        const Reg64 first_row = r, block = within, batch = k, head = w;
        mov(batch, ptr[args + offsetof(WkvArgs, batch)]);
        locate_run({first_row, state, rows, block}, unit, batch, blocks);
        imul(state, state, int(blocks * state_bytes));
        imul(rax, block, int(state_bytes));
        add(state, rax);
        add(state, ptr[args + offsetof(WkvArgs, state)]);
        divide(head, block, spec_.head_dim / kChannelBlock);
        imul(head, head, int(head_bytes));
        shl(block, 6);
        const auto keep_weight = [&](size_t argument, const Xbyak::RegExp& place) {
            mov(rax, ptr[args + argument]);
            add(rax, head);
            mov(ptr[place], rax);
        };
        keep_weight(offsetof(WkvArgs, mix), mix);
        if (is_v7) {
            keep_weight(offsetof(WkvArgs, key_scale), key_scale);
            keep_weight(offsetof(WkvArgs, key_rate), key_rate);
        }
        imul(rdx, first_row, int(f32_row_bytes(channels)));
        mov(out, ptr[args + offsetof(WkvArgs, out)]);
        add(out, rdx);
        add(out, block);
        if (is_v7) {
            mov(rax, ptr[args + offsetof(WkvArgs, bonus)]);
            add(rax, rdx);
            add(rax, block);
            mov(ptr[bonus], rax);
        }
        sub(block, head);  // of the block in its head
        add(rdx, head);
        const auto locate_rows = [&](const Reg64& pointer, size_t argument) {
            mov(pointer, ptr[args + argument]);
            add(pointer, rdx);
        };
        locate_rows(r, offsetof(WkvArgs, r));
        locate_rows(w, offsetof(WkvArgs, w));
        locate_rows(k, offsetof(WkvArgs, k));
        locate_rows(v, offsetof(WkvArgs, v));
        if (is_v7) locate_rows(a, offsetof(WkvArgs, a));
    }

    // ---- what a row makes for the head

    void produce_row_v6() {
        for_each_group(number, spec_.head_dim, 1, [&](int, uint32_t) {
            vmovups(wide(1), lanes_at(w + number));
            emit_exp(*this, wide(0), wide(1), exp_scratch, ExpDomain::any);
            vxorps(wide(0), wide(0), splat_u32(0x8000'0000));
            emit_exp(*this, wide(1), wide(0), exp_scratch, ExpDomain::not_positive);
            vmovups(lanes_at(decay + number), wide(1));
        });
        find_mixed(Xbyak::RegExp(k));
        find_value();
        clear_sums();
        walk([&](int sum, int offset) {
            const WideMemory numbers = lanes_at(state + sum * int(kBlockBytes));
            vmovups(s, numbers);
            vbroadcastss(spread, ptr[r + number + offset]);
            vfmadd231ps(wide(sum), s, spread);
            vbroadcastss(spread, ptr[decay + number + offset]);
            vmulps(s, s, spread);
            vbroadcastss(spread, ptr[k + number + offset]);
            vfmadd231ps(s, spread, value);
            vmovups(numbers, s);
        });
        add_sums();
        vfmadd231ps(wide(0), difference, value);
        vmovups(lanes_at(out), wide(0));
    }
    void produce_row_v7() {
        find_length();
        for_each_group(number, spec_.head_dim, 1, [&](int, uint32_t) { prepare_v7(); });
        find_mixed(key);
        vmulps(difference, difference, lanes_at(v + within));
        mov(weight, ptr[bonus]);
        vmovups(lanes_at(weight), difference);
        find_value();
        clear_sums();
        walk([&](int sum, int offset) {
            vbroadcastss(spread, ptr[known + number + offset]);
            vfnmadd231ps(wide(sum), spread, lanes_at(state + sum * int(kBlockBytes)));
        });
        add_sums();
        vmovaps(difference, wide(0));
        clear_sums();
        walk([&](int sum, int offset) {
            const WideMemory numbers = lanes_at(state + sum * int(kBlockBytes));
            vbroadcastss(spread, ptr[decay + number + offset]);
            vmulps(s, spread, numbers);
            vbroadcastss(spread, ptr[key + number + offset]);
            vfmadd231ps(s, spread, value);
            vbroadcastss(spread, ptr[rate + number + offset]);
            vfmadd231ps(s, spread, difference);
            vmovups(numbers, s);
            vbroadcastss(spread, ptr[r + number + offset]);
            vfmadd231ps(wide(sum), s, spread);
        });
        add_sums();
        vmovups(lanes_at(out), wide(0));
    }
    // difference = 1 / the length of k * key_scale
    void find_length() {
        const Wide element = wide(4);
        const Xmm length = xmm_of(wide(4)), inverse = xmm_of(wide(5));
        clear_sums();
        mov(weight, ptr[key_scale]);
        for_each_group(number, spec_.head_dim, 4, [&](int group, uint32_t) {
            vmovups(element, lanes_at(k + number + 64 * group));
            vmulps(element, element, lanes_at(weight + number + 64 * group));
            vfmadd231ps(sums[size_t(group)], element, element);
        });
        emit_row_sum(*this, length, sums, inverse);
        vsqrtss(length, length, length);
        vmaxss(length, length, constant(1e-12f));
        vmovss(inverse, constant(1.0f));
        vdivss(inverse, inverse, length);
        vbroadcastss(difference, inverse);
    }
    // Of 16 elements; `difference` stays.
    void prepare_v7() {
        const Wide direction = wide(3), gate = wide(0), one = wide(1), exponent = wide(2);
        mov(weight, ptr[key_scale]);
        vmovups(direction, lanes_at(k + number));
        vmulps(direction, direction, lanes_at(weight + number));
        vmulps(direction, direction, difference);
        vmovups(lanes_at(known + number), direction);
        const auto find_gate = [&](const Reg64& x) {
            vmovups(exponent, lanes_at(x + number));
            vxorps(exponent, exponent, splat_u32(0x8000'0000));
            vbroadcastss(one, constant(1.0f));
            emit_gated_by_exp(*this, gate, one, exponent, exp_scratch);
        };
        find_gate(a);
        vmulps(direction, direction, gate);
        vmovups(lanes_at(rate + number), direction);
        mov(weight, ptr[key_rate]);
        vsubps(gate, gate, one);
        vmovups(direction, lanes_at(weight + number));
        vfmadd213ps(gate, direction, one);
        vmulps(gate, gate, lanes_at(k + number));
        vmovups(lanes_at(key + number), gate);
        find_gate(w);
        vmulps(exponent, gate, splat(-0.60653065971f));  // exp(-1/2)
        emit_exp(*this, gate, exponent, exp_scratch, ExpDomain::not_positive);
        vmovups(lanes_at(decay + number), gate);
    }
    // difference = the sum of r * keys * mix.
    void find_mixed(const Xbyak::RegExp& keys) {
        const Wide element = wide(4);
        const Xmm total = xmm_of(wide(4));
        clear_sums();
        mov(weight, ptr[mix]);
        for_each_group(number, spec_.head_dim, 4, [&](int group, uint32_t) {
            vmovups(element, lanes_at(keys + number + 64 * group));
            vmulps(element, element, lanes_at(r + number + 64 * group));
            vfmadd231ps(sums[size_t(group)], element, lanes_at(weight + number + 64 * group));
        });
        emit_row_sum(*this, total, sums, xmm_of(wide(5)));
        vbroadcastss(difference, total);
    }
    // value = v, less its mean where the rule wants it so; `difference` stays.
    void find_value() {
        const Xmm total = xmm_of(wide(5));
        if (spec_.centered == Presence::present) {
            clear_sums();
            for_each_group(number, spec_.head_dim, 4, [&](int group, uint32_t) {
                vaddps(sums[size_t(group)], sums[size_t(group)], lanes_at(v + number + 64 * group));
            });
            emit_row_sum(*this, total, sums, xmm_of(wide(6)));
            vdivss(total, total, constant(float(spec_.head_dim)));
            vbroadcastss(spread, total);
        }
        vmovups(value, lanes_at(v + within));
        if (spec_.centered == Presence::present) vsubps(value, value, spread);
    }

    void clear_sums() {
        for (const Wide& sum : sums) vxorps(sum, sum, sum);
    }
    void add_sums() {  // to wide(0)
        vaddps(wide(0), wide(0), wide(1));
        vaddps(wide(2), wide(2), wide(3));
        vaddps(wide(0), wide(0), wide(2));
    }
    // body(sum, offset) for four numbers of each channel at a time.
    void walk(const std::function<void(int, int)>& body) {
        for_count(number, spec_.head_dim / kSums, kSums * sizeof(float), [&] {
            for (int sum = 0; sum < kSums; ++sum) body(sum, sum * int(sizeof(float)));
            add(state, kSums * kBlockBytes);
        });
        sub(state, state_bytes);
    }

    static constexpr int kSums = 4;
};

}  // namespace

MachineCode generate(OpOf<WkvSpec>, const WkvSpec& spec, Isa isa) { return WkvKernel(spec, isa).finish(); }

}  // namespace riftjit::x86
