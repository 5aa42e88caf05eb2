// asmjit's compiler with the vocabulary of column programs: f64 lanes, one vector at a time, each operation giving a
// new vector. What is written with it is one sequence of operations for every level, so the results agree bit for bit.
#pragma once

#include <span>
#include <vector>

#include "jit/x86/emit/chain_compiler.h"

namespace riftjit::x86 {

namespace Inst = asmjit::x86::Inst;  // ids of instructions

class ColumnCompiler : public ChainCompiler {
public:
    using Source = asmjit::Operand_;  // a vector or memory, which a broadcast constant is too

    using ChainCompiler::ChainCompiler;

    bool is_avx512() const { return has_avx512(isa_); }
    int doubles() const { return vector_bytes() / 8; }
    // Vectors and masks serve again after release(), or after release_scratch() unless they are held: asmjit takes time
    // for every pair of a register and a block of code, so a program of many draws, each with registers of its own,
    // would take time by the square of their number. They are to be written whole first: of what is written in part
    // asmjit keeps the rest, from one round of a loop to the next.
    Vec new_vector() {
        return vectors_.take([&] { return ChainCompiler::new_vector(); });
    }
    Mask new_mask() {
        return is_avx512() ? Mask{masks_.take([&] { return newKd(); }), {}} : Mask{{}, new_vector()};
    }
    Gp new_pointer() {
        return pointers_.take([&] { return newUIntPtr(); });
    }
    // What lasts over several blocks asmjit holds in one place better if it lives only there: where draws are few, that
    // saves a tenth of their time, and where they are many it would take seconds to compile.
    Vec new_lasting_vector() { return ++lasting_ > kMostLasting ? new_vector() : ChainCompiler::new_vector(); }
    Gp new_lasting_pointer() { return ++lasting_ > kMostLasting ? new_pointer() : newUIntPtr(); }
    void hold(const Vec& vector) { vectors_.hold(vector); }
    void hold(const Mask& mask) { is_avx512() ? masks_.hold(mask.bits) : vectors_.hold(mask.words); }
    void release(const Vec& vector) { vectors_.free.push_back(vector); }
    void release(const Mask& mask) { is_avx512() ? masks_.free.push_back(mask.bits) : release(mask.words); }
    void release_scratch() {
        for (Registers<Vec>* registers : {&vectors_, &halves_, &xmms_}) registers->release_scratch();
        masks_.release_scratch();
        pointers_.release_scratch();
    }

    // A register of half a vector's bytes.
    Vec new_half() {
        return halves_.take([&] { return is_avx512() ? static_cast<Vec>(newYmm()) : Vec(newXmm()); });
    }
    Vec new_xmm() {
        return is_avx512() ? xmms_.take([&] { return newXmm(); }) : new_half();
    }
    static Vec half_of(const Vec& vector) {
        return vector.isZmm() ? static_cast<Vec>(vector.ymm()) : static_cast<Vec>(vector.xmm());
    }

    // The same number in every lane: as the last operand of an operation, and in a new vector.
    Mem splat_u64(uint64_t value);
    Mem splat_f64(double value) { return splat_u64(std::bit_cast<uint64_t>(value)); }
    Vec broadcast_u64(uint64_t value);
    Vec broadcast_f64(double value) { return broadcast_u64(std::bit_cast<uint64_t>(value)); }
    Vec broadcast(const Gp& value);  // of 64 bits
    // 64-byte aligned bytes of the pool.
    Mem table(const void* bytes, size_t size) { return pooled(bytes, size, 64); }

    using ChainCompiler::add;  // of general registers
    Vec emit_new(asmjit::InstId inst, const Vec& left, const Source& right);
    Vec add(const Vec& left, const Source& right) { return emit_new(Inst::kIdVaddpd, left, right); }
    Vec subtract(const Vec& left, const Source& right) { return emit_new(Inst::kIdVsubpd, left, right); }
    Vec multiply(const Vec& left, const Source& right) { return emit_new(Inst::kIdVmulpd, left, right); }
    Vec divide(const Vec& left, const Source& right) { return emit_new(Inst::kIdVdivpd, left, right); }
    // Of the right operand where either is NaN.
    Vec minimum(const Vec& left, const Source& right) { return emit_new(Inst::kIdVminpd, left, right); }
    Vec maximum(const Vec& left, const Source& right) { return emit_new(Inst::kIdVmaxpd, left, right); }
    Vec bit_and(const Vec& left, const Source& right) { return emit_new(Inst::kIdVandpd, left, right); }
    Vec bit_or(const Vec& left, const Source& right) { return emit_new(Inst::kIdVorpd, left, right); }
    Vec bit_xor(const Vec& left, const Source& right) { return emit_new(Inst::kIdVxorpd, left, right); }
    Vec add_u64(const Vec& left, const Source& right) { return emit_new(Inst::kIdVpaddq, left, right); }
    Vec subtract_u64(const Vec& left, const Source& right) { return emit_new(Inst::kIdVpsubq, left, right); }
    Vec multiply_u32(const Vec& left, const Source& right) { return emit_new(Inst::kIdVpmuludq, left, right); }
    Vec shift_left_u64(const Vec& value, int bits);
    Vec shift_right_u64(const Vec& value, int bits);
    Vec square_root(const Vec& value);

    // sum += left * right; sum -= left * right; left * right + addend; left * right - subtrahend.
    void add_product(const Vec& sum, const Vec& left, const Source& right);
    void subtract_product(const Vec& sum, const Vec& left, const Source& right);
    Vec multiply_add(const Vec& left, const Source& right, const Vec& addend);
    Vec multiply_subtract(const Vec& left, const Source& right, const Vec& subtrahend);
    // c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule, each step rounded once.
    Vec polynomial(std::span<const double> coefficients, const Vec& x);

    // Masks over f64 lanes. Below AVX-512 the sign bit of a lane counts.
    Mask compare_f64(const Vec& left, const Source& right, Compare predicate);
    Vec select_f64(const Mask& mask, const Source& yes, const Vec& no);
    // out = yes where the mask is set, in place.
    enum class Lanes { f64, f32 };
    void assign_where(const Vec& out, const Mask& mask, const Source& yes, Lanes lanes = Lanes::f64);
    Mask mask_of_signs(const Vec& value);  // of f64 lanes
    Mask mask_and(const Mask& left, const Mask& right);
    Mask mask_or(const Mask& left, const Mask& right);
    Mask mask_not(const Mask& mask);
    // One bit per f64 lane.
    Gp bits_of(const Mask& mask);

    // f64 lanes of one half (0: low) of a vector of f32, and the way back, rounded.
    Vec widen(const Vec& floats, int half);
    Vec join(const Vec& low, const Vec& high);

private:
    template <class Register>
    struct Registers {
        std::vector<Register> scratch, free;

        template <class Make>
        Register take(const Make& make) {
            if (free.empty()) free.push_back(make());
            scratch.push_back(free.back());
            free.pop_back();
            return scratch.back();
        }
        void hold(const Register& held) {
            std::erase_if(scratch, [&](const Register& candidate) { return candidate.id() == held.id(); });
        }
        void release_scratch() {
            free.insert(free.end(), scratch.begin(), scratch.end());
            scratch.clear();
        }
    };
    static constexpr int kMostLasting = 1000;
    int lasting_ = 0;
    Registers<Vec> vectors_, halves_, xmms_;
    Registers<asmjit::x86::KReg> masks_;
    Registers<Gp> pointers_;
};

}  // namespace riftjit::x86
