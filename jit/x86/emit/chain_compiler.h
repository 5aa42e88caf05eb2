// asmjit's compiler with X86Emitter's constants: for kernels whose number of live values depends on the spec.
#pragma once

#include <asmjit/x86.h>

#include "jit/code_object.h"
#include "jit/isa.h"
#include "jit/x86/emit/constant_pool.h"
#include "jit/x86/emit/math.h"

namespace riftjit::x86 {

class ChainCompiler : public asmjit::x86::Compiler {
public:
    using Vec = asmjit::x86::Vec;
    using Gp = asmjit::x86::Gp;
    using Mem = asmjit::x86::Mem;

    // One bit (opmask, AVX-512 levels) or one dword per lane.
    struct Mask {
        asmjit::x86::KReg bits;
        Vec words;
    };

    explicit ChainCompiler(Isa isa);
    // Adds the function's end, assembles and appends the constants. Call once.
    MachineCode finish_kernel();

    int lanes() const { return has_avx512(isa_) ? 16 : 8; }
    int vector_bytes() const { return lanes() * 4; }
    Vec new_vector() { return has_avx512(isa_) ? static_cast<Vec>(newZmm()) : static_cast<Vec>(newYmm()); }
    Mask new_mask() { return has_avx512(isa_) ? Mask{newKd(), {}} : Mask{{}, new_vector()}; }

    // As X86Emitter has them.
    Mem constant(float value) { return constant_u32(std::bit_cast<uint32_t>(value)); }
    Mem constant_u32(uint32_t value);
    Mem splat(float value) { return splat_u32(std::bit_cast<uint32_t>(value)); }
    Mem splat_u32(uint32_t value);

    // The mask of the first `count` lanes; loads through it touch nothing beyond and give zeros there.
    void set_first_lanes(const Mask& mask, int count);
    void load_masked(const Vec& out, const Mem& start, const Mask& mask);

    // As WideEmitter has them.
    void compare(const Mask& mask, const Vec& left, const Mem& right, Compare predicate);
    void select(const Vec& out, const Mask& mask, const Vec& yes, const Vec& no);
    void keep(const Vec& out, const Mask& mask, const Vec& value);

protected:
    Mem pooled(const void* bytes, size_t size, size_t alignment);

    const Isa isa_;

private:
    struct ThrowErrors final : asmjit::ErrorHandler {
        void handleError(asmjit::Error, const char* message, asmjit::BaseEmitter*) override;
    };

    ThrowErrors errors_;
    asmjit::CodeHolder holder_;
    ConstantPool pool_;
    asmjit::Label pool_label_;
};

}  // namespace riftjit::x86
