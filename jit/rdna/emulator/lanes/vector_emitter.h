// Host code over vectors of AVX-512 or AVX2: what the two levels spell differently, and constants in memory.
#pragma once

#include <xbyak/xbyak.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "jit/rdna/emulator/lanes/lanes_x86.h"

namespace riftjit::rdna::emulator {

// Rounding of VROUNDPS, VROUNDPD and their successors, with the exception for inexact results off.
inline constexpr uint8_t kNearest = 8, kDown = 9, kUp = 10, kToZero = 11;
// Predicates of VCMPPS and VCMPPD, quiet or signaling alike, since exceptions are masked; U means true for NaN.
inline constexpr uint8_t kEq = 0, kLt = 1, kLe = 2, kUnordered = 3, kNeqU = 4, kNltU = 5, kNleU = 6, kOrdered = 7;
inline constexpr uint8_t kEqU = 8, kNgeU = 9, kNgtU = 10, kNeq = 12, kGe = 13, kGt = 14;

enum class HalfRounding : uint8_t { nearest_even = 0, toward_zero = 3 };  // as VCVTPS2PH numbers them

// k4 is scratch. Vectors are whole: of 16 words in AVX-512, of 8 in AVX2.
class VectorEmitter : public Xbyak::CodeGenerator {
public:
    VectorEmitter(std::span<std::byte> buffer, LaneIsa isa) : CodeGenerator(buffer.size(), buffer.data()), isa_(isa) {}

    bool is_avx512() const { return isa_ == LaneIsa::avx512; }
    Xbyak::Xmm vector(int index) const;
    Xbyak::Xmm half_width(const Xbyak::Xmm& whole) const;

    // Constants, each emitted once, after the code.
    void load_word(const Xbyak::Xmm& to, uint32_t word);                          // to every lane
    void load_quad(const Xbyak::Xmm& to, uint64_t quad);                          // to every 64 bits
    void load_bytes(const Xbyak::Xmm& to, const std::array<uint8_t, 16>& bytes);  // to every 128 bits
    // The same as the last source of an instruction on lanes of that width.
    Xbyak::Address every_word(uint32_t word);
    Xbyak::Address every_quad(uint64_t quad);

    void move(const Xbyak::Xmm& to, const Xbyak::Xmm& from);
    void and_bits(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Operand& y);
    void and_not_bits(const Xbyak::Xmm& to, const Xbyak::Xmm& inverted, const Xbyak::Operand& y);
    void or_bits(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Operand& y);
    void xor_bits(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Operand& y);
    void and_word(const Xbyak::Xmm& to, const Xbyak::Xmm& x, uint32_t word);
    void and_quad(const Xbyak::Xmm& to, const Xbyak::Xmm& x, uint64_t quad);
    // Jumps where every word's top bit is set. r10d is used.
    void jump_where_all_negative(const Xbyak::Xmm& lanes, Xbyak::Label& to);
    // to: y in the lanes of `chosen`, which are all ones, x elsewhere.
    void blend(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Xmm& y, const Xbyak::Xmm& chosen);
    void round_f32(const Xbyak::Xmm& to, const Xbyak::Xmm& x, uint8_t mode);
    // By a predicate of VCMPPS: all ones in each lane for which it holds.
    void compare_f32(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Operand& y, uint8_t predicate);
    void compare_f64(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Operand& y, uint8_t predicate);
    // The same of signed integers: x > y, x == y.
    void greater_i32(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Operand& y);
    void greater_i64(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Operand& y);
    void equal_i32(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Operand& y);
    void equal_i64(const Xbyak::Xmm& to, const Xbyak::Xmm& x, const Xbyak::Operand& y);

    // f16 in the low or high halves of words to f32, and back with zeros above.
    void widen(const Xbyak::Xmm& to, const Xbyak::Xmm& from);
    void widen_high(const Xbyak::Xmm& to, const Xbyak::Xmm& from);
    void narrow(const Xbyak::Xmm& to, const Xbyak::Xmm& from, HalfRounding rounding);

    // Half of a register's lanes: 0 the lower ones.
    void convert_half_to_f64(const Xbyak::Xmm& to, const Xbyak::Xmm& from, int half);
    void low_words(const Xbyak::Xmm& to, const Xbyak::Xmm& from);  // of 64-bit lanes, to half a register
    void join_halves(const Xbyak::Xmm& to, const Xbyak::Xmm& lower, const Xbyak::Xmm& upper);

protected:
    Xbyak::Address pooled(std::vector<uint32_t> words);
    void emit_pool();

private:
    LaneIsa isa_;
    std::map<std::vector<uint32_t>, Xbyak::Label> pool_;
};

}  // namespace riftjit::rdna::emulator
