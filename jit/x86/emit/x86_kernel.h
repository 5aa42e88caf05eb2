// What every xbyak kernel shares: vector(i) by level, loops, lane folds, constants, prologue and epilogue.
//
// A kernel is one class: a register map (one meaning per register), then generate() as a table of contents. The
// function is void(const Args* args, uint32_t begin, uint32_t end): rdi, esi, edx. It relies on the default MXCSR:
// round to nearest even, subnormals kept, exceptions masked.
#pragma once

#include <xbyak/xbyak.h>

#include <bit>
#include <functional>
#include <vector>

#include "jit/code_object.h"
#include "jit/isa.h"
#include "jit/x86/emit/constant_pool.h"

namespace riftjit::x86 {

class X86Emitter : public Xbyak::CodeGenerator {
public:
    explicit X86Emitter(Isa isa) : Xbyak::CodeGenerator(kInitialBytes, Xbyak::AutoGrow), isa_(isa) {
        setDefaultJmpNEAR(true);  // a jump forward does not know yet how far it goes
    }
    virtual ~X86Emitter() = default;

    using Reg32 = Xbyak::Reg32;
    using Reg64 = Xbyak::Reg64;
    using Xmm = Xbyak::Xmm;
    using Ymm = Xbyak::Ymm;
    using Zmm = Xbyak::Zmm;
    using Tmm = Xbyak::Tmm;
    using Opmask = Xbyak::Opmask;
    using Label = Xbyak::Label;
    using Address = Xbyak::Address;

    Isa isa() const { return isa_; }
    // The widest vector of the level: ymm (8 lanes) or zmm (16 lanes).
    Xmm vector(int index) const {
        return has_avx512(isa_) ? static_cast<Xmm>(Zmm(index)) : static_cast<Xmm>(Ymm(index));
    }
    int lanes() const { return has_avx512(isa_) ? 16 : 8; }  // f32 lanes of vector()
    int vector_bytes() const { return lanes() * 4; }
    int vector_registers() const { return has_avx512(isa_) ? 32 : 16; }
    // Vectors that make 16 lanes: 1 at the AVX-512 levels, 2 below (low half first).
    int halves() const { return 16 / lanes(); }

    // Emits, resolves labels and appends the constants. Call once.
    MachineCode finish();

    // Address of a constant, shared by equal bytes. f32/u32: 4 bytes (for broadcast); bytes: any size, 64-byte aligned.
    Address constant(float value) { return constant_u32(std::bit_cast<uint32_t>(value)); }
    Address constant_u32(uint32_t value) { return constant_bytes(&value, 4, 4); }
    Address constant_bytes(const void* bytes, size_t size, size_t alignment = 64);
    // The same 4 bytes in every lane, as the memory operand of arithmetic (not of a load): an embedded broadcast at the
    // AVX-512 levels, 32 equal bytes in the pool below.
    Address splat_u32(uint32_t value);
    Address splat(float value) { return splat_u32(std::bit_cast<uint32_t>(value)); }

protected:
    static constexpr size_t kInitialBytes = 64 * 1024;

    virtual void generate() = 0;

    // Saves and restores the callee-saved registers named; stack_bytes of 64-byte aligned scratch at [rsp].
    void prologue(std::initializer_list<Reg64> saved, uint32_t stack_bytes = 0);
    void epilogue();  // also vzeroupper

    // Loop of `count` iterations (known now) with `counter` running 0, step, 2*step ...; unrolled when count is 1.
    void for_count(const Reg64& counter, uint64_t count, uint64_t step, const std::function<void()>& body);
    // Runs `body` while unit < end (32-bit unsigned), adding one to `unit` each time; `unit` holds the first on entry.
    void for_units(const Reg32& unit, const Xbyak::Operand& end, const std::function<void()>& body);

    // Folds 16 lanes held in halves() vectors starting at `value` into lane 0 of `out` with tree 8, 4, 2, 1, the same
    // at every level. Clobbers scratch. `op` emits op(dst, a, b) on same-sized vectors. Registers below 16 only.
    using Combine = std::function<void(const Xmm&, const Xmm&, const Xmm&)>;
    void fold_lanes(const Xmm& out, const Xmm& value_low, const Xmm& value_high, const Xmm& scratch, const Combine& op);

    const Isa isa_;

private:
    ConstantPool pool_;
    Label pool_label_;
    std::vector<Reg64> saved_;
    uint32_t stack_bytes_ = 0;
    bool has_frame_ = false;
};

// Emitter: X86Emitter, or WideEmitter for kernels written in groups of 16 lanes.
template <class Spec, class Emitter = X86Emitter>
class X86Kernel : public Emitter {
public:
    X86Kernel(const Spec& spec, Isa isa) : Emitter(isa), spec_(spec) {}

protected:
    const Spec spec_;
};

}  // namespace riftjit::x86
