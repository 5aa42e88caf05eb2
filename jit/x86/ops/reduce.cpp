// Reductions over one row of logits, for the sampler.
#include <array>
#include <limits>

#include "jit/x86/backend.h"
#include "jit/x86/emit/wide.h"

namespace riftjit::x86 {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class ReduceKernel final : public X86Kernel<ReduceSpec, WideEmitter> {
    using X86Kernel::X86Kernel;

    // Register map. offset counts bytes into the row; bits has one for each lane of a group that matched.
    const Reg64 args = rdi, x = r8, offset = rax, indices = r9;
    const Reg32 first_unit = esi, end = edx, bits = ecx, high_bits = r10d, found = r11d, index = edx;
    const std::array<Wide, 4> partial = {wide(0), wide(1), wide(2), wide(3)};
    const Wide value = wide(4), spare = wide(5);
    const LaneMask matches = lane_mask(0, wide(5));

    void generate() override {
        Label done;
        prologue({});
        cmp(first_unit, end);
        jae(done);
        mov(x, ptr[args + offsetof(ReduceArgs, x)]);
        switch (spec_.kind) {
            case ReduceKind::argmax:
                find_argmax();
                break;
            case ReduceKind::collect_above:
                collect();
                break;
        }
        L(done);
        epilogue();
    }

    // bits = one for each matching lane among the first `count`.
    void take_matches(uint32_t count) {
        if (has_avx512(isa_)) {
            kmovw(bits, matches.bits);
        } else {
            vmovmskps(bits, Ymm(matches.words.low.getIdx()));
            vmovmskps(high_bits, Ymm(matches.words.high.getIdx()));
            shl(high_bits, 8);
            or_(bits, high_bits);
        }
        if (count < 16) and_(bits, (1u << count) - 1);
    }

    // ---- argmax: the largest value, which does not depend on the order, then the first index that has it
    void find_argmax() {
        const Wide nan_count = wide(6), largest = wide(0);
        vxorps(nan_count, nan_count, nan_count);
        for (const Wide& lanes : partial) vbroadcastss(lanes, constant(-kInfinity));
        for_each_group(offset, spec_.width, 4, [&](int group, uint32_t count) {
            load_or_lowest(count, 64 * group);
            compare(matches, value, value, Compare::unordered);
            count_matches(nan_count);
            vmaxps(partial[group], value, partial[group]);  // the second operand, if the first is NaN
        });
        vmaxps(partial[0], partial[0], partial[1]);
        vmaxps(partial[2], partial[2], partial[3]);
        vmaxps(largest, partial[0], partial[2]);
        const Xmm total = xmm_of(wide(4));
        fold(total, nan_count, xmm_of(spare),
             [this](const Xmm& to, const Xmm& left, const Xmm& right) { vpaddd(to, left, right); });
        vmovd(ptr[args + offsetof(ReduceArgs, count)], total);
        fold(total, largest, xmm_of(spare),
             [this](const Xmm& to, const Xmm& left, const Xmm& right) { vmaxps(to, left, right); });
        vmovss(ptr[args + offsetof(ReduceArgs, value)], total);
        vbroadcastss(largest, total);
        find_first(largest);
    }
    // A group of the row; lanes beyond its end are -infinity.
    void load_or_lowest(uint32_t count, int ahead) {
        load_lanes(value, x + offset + ahead, count);
        if (count == 16) return;
        std::array<float, 16> lowest{};
        std::fill(lowest.begin() + count, lowest.end(), -kInfinity);
        vorps(value, value, wide_constant(lowest.data()));
    }
    void count_matches(const Wide& counter) {
        if (has_avx512(isa_)) return vpaddd(counter.low | matches.bits, counter.low, splat_u32(1));
        for (int half = 0; half < halves(); ++half)  // a match is -1
            vpsubd(part(counter, half), part(counter, half), part(matches.words, half));
    }
    void find_first(const Wide& wanted) {  // index 0 when every value is NaN
        Label is_found, done;
        for_each_group(offset, spec_.width, 1, [&](int, uint32_t count) {
            load_or_lowest(count, 0);
            compare(matches, value, wanted, Compare::equal);
            take_matches(count);
            test(bits, bits);
            jnz(is_found);
        });
        mov(dword[args + offsetof(ReduceArgs, index)], 0);
        jmp(done);
        L(is_found);
        bsf(bits, bits);
        shr(offset, 2);
        add(bits, offset.cvt32());
        mov(ptr[args + offsetof(ReduceArgs, index)], bits);
        L(done);
    }

    // ---- indices of all x >= threshold; those beyond the capacity are counted and not stored
    void collect() {
        const Wide threshold = wide(0);
        mov(indices, ptr[args + offsetof(ReduceArgs, indices)]);
        vbroadcastss(threshold, ptr[args + offsetof(ReduceArgs, threshold)]);
        xor_(found, found);
        for_each_group(offset, spec_.width, 1, [&](int, uint32_t count) {
            Label next_match, is_full, done;
            load_lanes(value, x + offset, count);
            compare(matches, value, threshold, Compare::greater_equal);
            take_matches(count);
            test(bits, bits);
            jz(done);
            L(next_match);
            bsf(index, bits);
            cmp(found, ptr[args + offsetof(ReduceArgs, count)]);
            jae(is_full);
            mov(high_bits, offset.cvt32());
            shr(high_bits, 2);
            add(index, high_bits);
            mov(ptr[indices + Reg64(found.getIdx()) * 4], index);
            L(is_full);
            inc(found);
            lea(index, ptr[Reg64(bits.getIdx()) - 1]);
            and_(bits, index);
            jnz(next_match);
            L(done);
        });
        mov(ptr[args + offsetof(ReduceArgs, count)], found);
    }
};

}  // namespace

MachineCode generate(OpOf<ReduceSpec>, const ReduceSpec& spec, Isa isa) { return ReduceKernel(spec, isa).finish(); }

}  // namespace riftjit::x86
