#include "jit/x86/peaks.h"

#include "jit/x86/emit/tiles.h"
#include "jit/x86/emit/x86_kernel.h"

namespace riftjit::x86 {
namespace {

// Enough independent sums to hide the latency of two units of 4 or 5 cycles each.
constexpr int kSums = 12;
constexpr int kRoundsPerUnit = 64;

bool is_tile(Peak peak) { return peak == Peak::bf16_tile || peak == Peak::i8_tile; }

class PeakKernel final : public X86Emitter {
public:
    PeakKernel(Peak peak, Isa isa) : X86Emitter(isa), peak_(peak) {}

private:
    // Register map. sums are vectors 0 to 11, or tiles 0 to 3 in turn; left and right hold zero, so that no sum ever
    // becomes special.
    const Reg64 args = rdi, data = rcx, end_of_block = rax;
    const Reg32 unit = esi, end = edx, round = r8d;
    const Xmm left = vector(12), right = vector(13), product = vector(14);

    void generate() override {
        prologue({});
        for (int i = 0; i < 15; ++i) vpxor(Xmm(i), Xmm(i), Xmm(i));
        if (is_tile(peak_)) {
            const TileConfiguration configuration;
            ldtilecfg(constant_bytes(&configuration, sizeof configuration));  // and zeroes them
        }
        if (peak_ == Peak::read)
            read_blocks();
        else
            for_units(unit, end, [&] { multiply_rounds(); });
        if (is_tile(peak_)) tilerelease();
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
        for (int i = 0; i < kSums; ++i) is_tile(peak_) ? multiply_tile(Tmm(i % 4)) : multiply_add(vector(i));
        dec(round);
        jnz(loop);
    }

    void multiply_tile(const Tmm& sum) {
        if (peak_ == Peak::bf16_tile) return tdpbf16ps(sum, tmm4, tmm6);
        tdpbssd(sum, tmm4, tmm6);
    }

    void multiply_add(const Xmm& sum) {
        const auto encoding = has_avx512(isa_) ? Xbyak::EvexEncoding : Xbyak::VexEncoding;
        switch (peak_) {
            case Peak::read:
            case Peak::bf16_tile:
            case Peak::i8_tile:
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
        case Peak::bf16_tile:
            return 2;
        case Peak::i8_dot:
        case Peak::i8_tile:
            return 4;
    }
    return 0;
}

}  // namespace

std::optional<MachineCode> generate_peak(Peak peak, Isa isa) {
    if (peak == Peak::bf16_dot && !has_bf16(isa)) return std::nullopt;
    if (peak == Peak::bf16_tile && !has_amx(isa)) return std::nullopt;
    if (peak == Peak::i8_tile && isa < Isa::amx_int8) return std::nullopt;
    return PeakKernel(peak, isa).finish();
}

uint64_t peak_work_per_unit(Peak peak, Isa isa) {
    if (peak == Peak::read) return kPeakReadBytes;
    // A tile has 256 sums, each of 16 dwords of products.
    const uint64_t lanes = is_tile(peak) ? kTileRows * kTileRows * 16 : has_avx512(isa) ? 16 : 8;
    return 2 * products_per_lane(peak) * lanes * kSums * kRoundsPerUnit;
}

}  // namespace riftjit::x86
