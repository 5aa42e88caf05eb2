// Rows multiplied by a Walsh-Hadamard matrix, part by part.
#include <bit>
#include <cmath>

#include "jit/x86/backend.h"
#include "jit/x86/emit/wide.h"

namespace riftjit::x86 {

namespace {

class HadamardKernel final : public X86Kernel<HadamardSpec, WideEmitter> {
    using X86Kernel::X86Kernel;

    // Register map. x and out point to the rows; offset counts bytes into them, to the part at hand.
    const Reg64 args = rdi, x = rcx, out = r8, offset = rax;
    const Reg32 token = esi, end = edx;
    const Wide sum = wide(0), factor = wide(1), other = wide(2);

    static constexpr uint32_t kGroupBytes = kWideLanes * sizeof(float);
    uint32_t groups() const { return spec_.size / kWideLanes; }  // of 16 elements, of a part

    void generate() override {
        prologue({});
        for_units(token, end, [&] {
            locate_rows();
            for_count(offset, spec_.width / spec_.size, spec_.size * sizeof(float), [&] {
                for (uint32_t group = 0; group < groups(); ++group) multiply_group(int(group * kGroupBytes));
                for (uint32_t apart = 1; apart < groups(); apart *= 2) add_and_subtract(apart);
                scale_part();
            });
        });
        epilogue();
    }
    void locate_rows() {
        mov(x.cvt32(), token);
        imul(x, x, int(f32_row_bytes(spec_.width)));
        mov(out, x);
        add(x, ptr[args + offsetof(HadamardArgs, x)]);
        add(out, ptr[args + offsetof(HadamardArgs, out)]);
    }
    // 16 elements by a matrix of 16 rows.
    void multiply_group(int at) {
        vbroadcastss(sum, ptr[x + offset + at]);
        for (uint32_t i = 1; i < kWideLanes; ++i) {
            std::array<float, kWideLanes> signs;
            for (uint32_t j = 0; j < kWideLanes; ++j) signs[j] = std::popcount(i & j) % 2 == 0 ? 1.0f : -1.0f;
            vbroadcastss(factor, ptr[x + offset + (at + int(i * sizeof(float)))]);
            vfmadd231ps(sum, factor, wide_constant(signs.data()));
        }
        vmovups(lanes_at(out + offset + at), sum);
    }
    void add_and_subtract(uint32_t apart) {
        for (uint32_t group = 0; group < groups(); ++group) {
            if ((group & apart) != 0) continue;
            const int left = int(group * kGroupBytes), right = int((group + apart) * kGroupBytes);
            vmovups(factor, lanes_at(out + offset + left));
            vmovups(other, lanes_at(out + offset + right));
            vaddps(sum, factor, other);
            vsubps(factor, factor, other);
            vmovups(lanes_at(out + offset + left), sum);
            vmovups(lanes_at(out + offset + right), factor);
        }
    }
    void scale_part() {
        vbroadcastss(factor, constant(1 / std::sqrt(float(spec_.size))));
        for (uint32_t group = 0; group < groups(); ++group) {
            const auto elements = lanes_at(out + offset + int(group * kGroupBytes));
            vmulps(sum, factor, elements);
            vmovups(elements, sum);
        }
    }
};

}  // namespace

MachineCode generate(OpOf<HadamardSpec>, const HadamardSpec& spec, Isa isa) {
    return HadamardKernel(spec, isa).finish();
}

}  // namespace riftjit::x86
