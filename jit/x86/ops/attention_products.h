// The two register-blocked products of attention: queries by keys, probabilities by values.
#pragma once

#include <array>
#include <optional>

#include "jit/formats/cache_format.h"
#include "jit/kernel_spec.h"
#include "jit/x86/emit/wide.h"
#include "jit/x86/kv_layout.h"

namespace riftjit::x86 {

// A row is one query head of one token. Both products keep a block of rows by vectors of accumulators in registers and
// visit the shared dimension in ascending order, one fused multiply-add each: an accumulator's value depends on neither
// the blocking nor the level.
class AttentionProducts : public X86Kernel<AttentionSpec, WideEmitter> {
protected:
    using X86Kernel::X86Kernel;

    static constexpr uint32_t kBlock = 64;  // positions between two rescalings; blocks start at multiples of it
    static constexpr int kLineBytes = 64;
    static constexpr uint32_t kPanel = 16;  // positions of one key panel

    // Accumulators: `rows` times `vectors` native vectors.
    struct Blocking {
        int rows, vectors;
    };
    Blocking score_blocking(int rows) const;
    Blocking output_blocking(int rows) const;

    // Steps of the loops of a whole block of positions, for Ahead.
    int score_steps(int rows) const;
    int output_steps(int rows) const;

    // Memory to touch meanwhile: `lines` cache lines from `next` on at each step, to the second-level cache (the first
    // level has too few misses in flight for what DRAM can deliver).
    struct Ahead {
        Reg64 next;
        int lines;
    };

    // Score rows are kBlock floats apart, output rows output_row_bytes(), query rows query_row_bytes().
    uint32_t query_row_bytes() const { return spec_.head_dim * uint32_t(sizeof(float)); }
    uint32_t output_row_bytes() const { return uint32_t(round_up(spec_.head_dim, kPanel) * sizeof(float)); }
    static constexpr uint32_t score_row_bytes() { return kBlock * sizeof(float); }
    int panel_bytes() const { return int(key_panel_bytes(spec_.key_type, spec_.head_dim)); }
    int value_bytes() const { return int(value_row_bytes(spec_.value_type, spec_.head_dim)); }

    // Packed types are decoded to f32 before a block of positions takes part: then the products have that for operands.
    const std::optional<PackedCache> packed_keys = packed_cache(spec_.key_type),
                                     packed_values = packed_cache(spec_.value_type);
    const DType key_operand = packed_keys ? DType::F32 : spec_.key_type;
    const DType value_operand = packed_values ? DType::F32 : spec_.value_type;
    int operand_panel_bytes() const { return int(key_panel_bytes(key_operand, spec_.head_dim)); }
    int operand_value_bytes() const { return int(value_row_bytes(value_operand, spec_.head_dim)); }

    // `count` blocks (more than 0) at `source`, of panels that follow each other or of one head's rows, to `target`.
    // Clobbers all vectors below 16.
    struct DecodeRegisters {
        Reg64 source, target, count;
    };
    void decode_keys(const DecodeRegisters& r);
    void decode_values(const DecodeRegisters& r);

    // scores[row][position] = sum over d of query[row][d] * key[d][position], for the positions of blocking.vectors
    // vectors: whole panels, one after the other from `panels` on. Leaves the pointers as they were. Clobbers counter,
    // scales and all vectors.
    struct KeyRegisters {
        Reg64 query, scores, panels, counter, scales;
    };
    void multiply_keys(const Blocking& blocking, const KeyRegisters& r, const Ahead& ahead);

    // output[row][d] = output[row][d] (* correction[row]) + sum over positions of score[row][position] *
    // value[position][d], for the d of `vectors` vectors from number `first`. `positions` may be 0. Advances scores and
    // values, clobbers positions and all vectors.
    enum class Rescale : uint8_t { no, yes };
    struct ValueRegisters {
        Reg64 scores, output, corrections, values, positions;
    };
    void multiply_values(const Blocking& blocking, int first, Rescale rescale, const ValueRegisters& r,
                         const Ahead& ahead);
    void set_partial_mask();  // k6, before the first multiply_values
    int output_vectors() const { return int(spec_.head_dim + lanes() - 1) / lanes(); }

private:
    // While blocks are decoded: the scale and minimum of each lane, values; codes of 16 elements, fifth bits and the
    // constants, as bytes.
    const Wide lane_scales = wide(0), lane_minima = wide(1), decoded = wide(2);
    const Xmm low_codes = Xmm(6), high_codes = Xmm(7), shifted = Xmm(8), entries = Xmm(9), low_bits = Xmm(14),
              fifth_bit = Xmm(15);
    Xmm fifth_bits(int byte) const { return Xmm(10 + byte); }
    void load_decoder(const PackedCache& format);
    void load_codes(const Xbyak::RegExp& codes);
    void finish_codes(const PackedCache& format, const Xmm& codes, const Xbyak::RegExp& target);

    int operand_registers(int rows, int vectors) const { return std::min(rows, vectors) + 1; }
    Xmm accumulator(const Blocking& blocking, int row, int vector_index) const {
        return vector(row * blocking.vectors + vector_index);
    }
    int d_step() const { return spec_.head_dim % 4 == 0 ? 4 : 2; }  // of one iteration over the keys
    Blocking largest_blocking(int rows, int max_vectors, int registers_per_vector, int registers_beside) const;
    void accumulate(const Blocking& blocking, const std::function<void(const Xmm&, int)>& load_vector,
                    const std::function<Address(int)>& row_factor);
    void load_key(const Blocking& blocking, const KeyRegisters& r, const Xmm& out, int vector_index, int d);
    void load_value(const ValueRegisters& r, const Xmm& out, const Xmm& scale, int vector_index, bool is_new_block);
    void prefetch(const Ahead& ahead);
    void load_partial_floats(const Xmm& out, const Xbyak::RegExp& start, int count);
    void load_partial_halves(const Xmm& out, const Xbyak::RegExp& start, int count);
    void widen_halves(DType type, const Xmm& out, const Xbyak::Operand& halves);
};

}  // namespace riftjit::x86
