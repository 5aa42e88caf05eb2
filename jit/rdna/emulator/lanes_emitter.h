// Emits one function of lanes_x86.h: loads, the operation, the check, masked stores.
#pragma once

#include <xbyak/xbyak.h>

#include <array>
#include <cstdint>

#include "jit/rdna/emulator/lanes_x86.h"

namespace riftjit::rdna::emulator {

// When the function must decline.
enum class LaneCheck : uint8_t {
    none,
    nan_result,
    nan_source,     // of a or b
    lowest_result,  // 0x80000000: what the host gives for conversions out of range
    nan_result_f64,
};

class LaneEmitter;
struct LaneOperation {
    Opcode opcode;
    uint8_t sources;
    LaneKernelResult result;
    LaneCheck check;
    std::array<uint32_t, 3> constants;
    void (*emit)(LaneEmitter& e);  // from e.a, e.b, e.c to e.d; masks to e.found
    LaneIsa least = LaneIsa::avx2;
};

class LaneEmitter : public Xbyak::CodeGenerator {
public:
    LaneEmitter(LaneIsa isa, const LaneOperation& operation, uint8_t variant, unsigned stride_words);

    bool is_avx512() const { return isa_ == LaneIsa::avx512; }
    uint8_t variant() const { return variant_; }

    // Of the block being emitted: registers of 16 or 8 lanes.
    Xbyak::Xmm a, b, c, d, t, u;
    std::array<Xbyak::Xmm, 3> constant;
    // The result of a compare: an opmask, or a vector of all-ones lanes in AVX2.
    const Xbyak::Opmask found = Xbyak::Opmask(5), condition = Xbyak::Opmask(6);
    Xbyak::Xmm found_lanes, condition_lanes;

    // What the two levels spell differently.
    void and_bits(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Xmm& y);
    void and_not_bits(const Xbyak::Xmm& to, const Xbyak::Xmm& inverted, const Xbyak::Xmm& y);
    void or_bits(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Xmm& y);
    void xor_bits(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Xmm& y);
    void invert(const Xbyak::Xmm& to, const Xbyak::Xmm& x);
    void round_f32(const Xbyak::Xmm& to, const Xbyak::Xmm& x, uint8_t mode);
    void compare_f32(uint8_t predicate);                  // a, b -> found
    void compare_i32(bool is_signed, uint8_t predicate);  // as VPCMPD numbers them: 0 eq 1 lt 2 le 4 ne 5 ge 6 gt
    void select();                                        // d = condition ? b : a
    // d = a + b (or a - b) with the condition as carry in where asked; found = carry out
    enum class CarryIn : uint8_t { none, condition };
    void add_with_carry(CarryIn carry_in);
    void subtract_with_borrow(const Xbyak::Xmm& from, const Xbyak::Xmm& what, CarryIn carry_in);

private:
    Xbyak::Xmm vector(int index) const;
    void load_constants();
    void prepare_masks();
    void emit_blocks(bool masked);
    void block_masks(unsigned block, bool masked);
    void load_sources(unsigned block);
    void note_declined(unsigned block, bool masked);
    void collect_mask(unsigned block);
    void store(bool masked);
    void emit_f64_block(unsigned block);
    void carry_lanes(const Xbyak::Xmm& smaller, const Xbyak::Xmm& larger);
    void expand_lanes(const Xbyak::Xmm& to, const Xbyak::Reg32& bits, unsigned block);

    unsigned blocks() const { return is_avx512() ? 2 : 4; }
    unsigned block_bytes() const { return is_avx512() ? 64 : 32; }
    bool is_64_bits() const { return operation_.check == LaneCheck::nan_result_f64; }
    int result_register(unsigned block) const {
        return is_avx512() ? 16 + static_cast<int>(block) : 8 + static_cast<int>(block);
    }
    int upper_register(unsigned block) const { return result_register(block) + static_cast<int>(blocks()); }

    LaneIsa isa_;
    const LaneOperation& operation_;
    uint8_t variant_;
    unsigned stride_bytes_;
    Xbyak::Label bits_, declined_;
};

}  // namespace riftjit::rdna::emulator
