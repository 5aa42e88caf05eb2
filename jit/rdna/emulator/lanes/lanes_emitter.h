// Emits one function of lanes_x86.h: loads, the operation, the check, masked stores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "jit/rdna/emulator/lanes/vector_emitter.h"

namespace riftjit::rdna::emulator {

// When the function must decline.
enum class LaneCheck : uint8_t {
    none,
    nan_result,
    nan_source,     // of a or b
    lowest_result,  // 0x80000000: what the host gives for conversions out of range
    nan_result_f64,
    by_operation,  // where it calls decline()
};

// How an operation sees operands of two registers.
enum class PairLayout : uint8_t {
    split,   // low words in e.a, high words in e.a_high, and so on; to e.d and e.d_high
    joined,  // as 64-bit numbers, half of the block's lanes at a time; sources of one register are zero-extended
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
    LaneWidths widths{};
    PairLayout layout = PairLayout::split;
    LaneCondition condition = LaneCondition::mask_read;
    LaneHalves halves{};
    void (*prepare)() = nullptr;  // called before the function is, any number of times
};

enum class HalfPlaces : uint8_t { low, both };

class LaneEmitter : public VectorEmitter {
public:
    static constexpr size_t kMaxCodeBytes = 16384;
    // Code goes to the buffer, for the caller to copy: pages of its own for each function would cost more than
    // emitting.
    LaneEmitter(std::span<std::byte> buffer, LaneIsa isa, const LaneOperation& operation, uint8_t variant,
                unsigned stride_words);

    uint8_t variant() const { return variant_; }

    // Of the block being emitted: registers of 16 or 8 lanes. t, u: free to use; v, w too where there is no check and
    // no operand of two registers is split.
    Xbyak::Xmm a, b, c, d, t, u, v, w;
    Xbyak::Xmm a_high, b_high, c_high, d_high;
    std::array<Xbyak::Xmm, 3> constant;
    // The result of a compare: an opmask, or a vector of all-ones lanes in AVX2.
    const Xbyak::Opmask found = Xbyak::Opmask(5), condition = Xbyak::Opmask(6);
    Xbyak::Xmm found_lanes, condition_lanes;

    void load_lanes(const Xbyak::Xmm& to, const std::array<uint32_t, 32>& words);  // a word for each lane
    // The 16 bits at each index, with others above; found_lanes is used.
    void gather_halves(const Xbyak::Xmm& to, const uint16_t* table, const Xbyak::Xmm& indices);
    void load_condition();  // before condition_lanes is used; nothing in AVX-512
    void condition_from_found();
    // The condition as all-ones lanes, for split operands and for joined ones, and the same of what was found there.
    void condition_to_lanes(const Xbyak::Xmm& to);
    void condition_to_quads(const Xbyak::Xmm& to);
    void found_from_lanes();
    void found_from_quads();
    // Registers of operands of four: the third source's are loaded one at a time, the result's last two take the place
    // of masks.
    void load_c(const Xbyak::Xmm& to, unsigned part);
    Xbyak::Xmm d_part(unsigned part) const { return std::array{d, d_high, found_lanes, condition_lanes}[part]; }

    void invert(const Xbyak::Xmm& to, const Xbyak::Xmm& x);
    void select();  // d = condition ? b : a
    // d = a + b (or a - b) with the condition as carry in where asked; found = carry out
    enum class CarryIn : uint8_t { none, condition };
    void add_with_carry(CarryIn carry_in);
    void subtract_with_borrow(const Xbyak::Xmm& from, const Xbyak::Xmm& what, CarryIn carry_in);

    // With LaneCheck::by_operation: lanes whose word is all ones, which is changed; with a NaN of f32; with one of f16.
    // t, u and found_lanes are used.
    void decline(const Xbyak::Xmm& lanes);
    void decline_unordered(const Xbyak::Xmm& x, const Xbyak::Xmm& y);
    void decline_quads(const Xbyak::Xmm& quads);                   // all ones, whatever lanes are active
    void decline_clear_quads(const Xbyak::Xmm& x, uint64_t mask);  // no bit of the mask; x and u are changed
    void decline_half_nans(std::initializer_list<Xbyak::Xmm> values, HalfPlaces places);

private:
    void load_constants();
    void prepare_masks();
    void emit_blocks(bool masked);
    void block_masks(bool masked);
    void name_registers();
    void load_sources();
    void load(const Xbyak::Xmm& to, const Xbyak::Reg64& from, unsigned part);
    void emit_joined();
    void load_joined(const Xbyak::Xmm& to, const Xbyak::Reg64& from, unsigned registers, unsigned half);
    void join_masks(unsigned half);
    void note_declined(bool masked);
    void note_nan_f64(const Xbyak::Xmm& doubles);
    void collect_mask();
    void store(unsigned block, std::optional<Xbyak::Ymm> exec);
    void store_all(bool masked);
    void keep_other_halves();
    void widen_sources();
    void place_half();
    void emit_half_pairs();
    void note_lanes();
    void carry_lanes(const Xbyak::Xmm& smaller, const Xbyak::Xmm& larger);
    void expand_lanes(const Xbyak::Xmm& to, const Xbyak::Reg32& bits, unsigned block);
    bool has_half_pairs() const { return operation_.halves.result == HalfResult::f16_pairs; }
    bool writes_high_half() const { return operation_.halves.is_merged() && (variant_ & kHighHalfVariant) != 0; }
    bool is_joined() const { return operation_.layout == PairLayout::joined; }
    // Stored only once every block is known not to decline.
    bool is_deferred() const { return operation_.check != LaneCheck::none; }
    // AVX2 then has no registers left for constants and exec.
    bool keeps_pairs() const { return is_deferred() && operation_.widths.result == 2; }

    unsigned blocks() const { return is_avx512() ? 2 : 4; }
    unsigned block_bytes() const { return is_avx512() ? 64 : 32; }
    int offset() const { return static_cast<int>(block_ * block_bytes()); }
    int result_register(unsigned block) const {
        return (is_avx512() ? 16 : 8) + (is_deferred() ? static_cast<int>(block) : 0);
    }
    int upper_register(unsigned block) const {
        constexpr int kAtOnce = 7, kUnstored = 6;
        if (!is_deferred()) return kAtOnce;
        return operation_.widths.result == 2 ? result_register(block) + static_cast<int>(blocks()) : kUnstored;
    }

    const LaneOperation& operation_;
    uint8_t variant_;
    unsigned stride_bytes_, block_ = 0, half_ = 0;
    bool masked_ = false;
    Xbyak::Label bits_, declined_;
};

}  // namespace riftjit::rdna::emulator
