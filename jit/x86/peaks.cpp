#include "jit/x86/peaks.h"

#include "jit/x86/emit/x86_kernel.h"

namespace riftjit::x86 {
namespace {

// Enough independent sums to hide the latency of two units of 4 or 5 cycles each.
constexpr int kSums = 12;
constexpr int kRoundsPerUnit = 64;

class PeakKernel final : public X86Emitter {
public:
    PeakKernel(Peak peak, Isa isa) : X86Emitter(isa), peak_(peak) {}

private:
    // Register map. sums are vectors 0 to 11; left and right hold zero, so that no sum ever becomes special.
    const Reg64 args = rdi, data = rcx, end_of_block = rax;
    const Reg32 unit = esi, end = edx, round = r8d;
    const Xmm left = vector(12), right = vector(13), product = vector(14);

    void generate() override {
        prologue({});
        for (int i = 0; i < 15; ++i) vpxor(Xmm(i), Xmm(i), Xmm(i));
        if (peak_ == Peak::read)
            read_blocks();
        else
            for_units(unit, end, [&] { multiply_rounds(); });
        epilogue();
    }

    void read_blocks() {
        mov(data, ptr[args + offsetof(PeakArgs, data)]);
        mov(eax, unit);
        shl(rax, 12);
        add(data, rax);
        for_units(unit, end, [&] {
            lea(end_of_block, ptr[data + kPeakReadBytes]);
            Label loop;
            L(loop);
            for (int i = 0; i < 8; ++i) add_dwords(vector(i), ptr[data + i * vector_bytes()]);
            add(data, 8 * vector_bytes());
            cmp(data, end_of_block);
            jb(loop);
        });
    }

    void add_dwords(const Xmm& sum, const Address& source) { vpaddd(sum, sum, source); }

    void multiply_rounds() {
        Label loop;
        mov(round, kRoundsPerUnit);
        L(loop);
        for (int i = 0; i < kSums; ++i) multiply_add(vector(i));
        dec(round);
        jnz(loop);
    }

    void multiply_add(const Xmm& sum) {
        const auto encoding = has_avx512(isa_) ? Xbyak::EvexEncoding : Xbyak::VexEncoding;
        switch (peak_) {
            case Peak::read:
                return;
            case Peak::f32_fma:
                return vfmadd231ps(sum, left, right);
            case Peak::bf16_dot:
                return vdpbf16ps(sum, left, right);
            case Peak::i16_dot:
                if (has_vnni(isa_)) return vpdpwssd(sum, left, right, encoding);
                vpmaddwd(product, left, right);
                return vpaddd(sum, sum, product);
            case Peak::i8_dot:
                if (has_vnni(isa_)) return vpdpbusd(sum, left, right, encoding);
                vpmaddubsw(product, left, right);
                vpmaddwd(product, product, right);
                return vpaddd(sum, sum, product);
        }
    }

    const Peak peak_;
};

uint64_t products_per_lane(Peak peak) {
    switch (peak) {
        case Peak::read:
            return 0;
        case Peak::f32_fma:
            return 1;
        case Peak::bf16_dot:
        case Peak::i16_dot:
            return 2;
        case Peak::i8_dot:
            return 4;
    }
    return 0;
}

}  // namespace

std::optional<MachineCode> generate_peak(Peak peak, Isa isa) {
    if (peak == Peak::bf16_dot && !has_bf16(isa)) return std::nullopt;
    return PeakKernel(peak, isa).finish();
}

uint64_t peak_work_per_unit(Peak peak, Isa isa) {
    if (peak == Peak::read) return kPeakReadBytes;
    const uint64_t lanes = has_avx512(isa) ? 16 : 8;
    return 2 * products_per_lane(peak) * lanes * kSums * kRoundsPerUnit;
}

}  // namespace riftjit::x86
