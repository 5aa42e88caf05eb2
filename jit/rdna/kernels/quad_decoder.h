// Emits the decoding of packed weights (packed.h): the lane programs of jit/formats on four elements at once, the bytes
// of a dword, as dot products take them. A lane is a row (or, in a lookup, a step of one row).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "jit/formats/weight_bounds.h"
#include "jit/rdna/emit/rdna_kernel.h"
#include "jit/rdna/kernels/packed.h"

namespace riftjit::rdna::kernels {

// Where a lane's string of a step begins, in bytes from a scalar base: parts of it lie row beside row in their own
// width.
struct StringOffsets {
    Vgpr chunk, rest, half;
};

// The string of a step in registers, one row's in each lane.
class StepString {
public:
    StepString(KernelAssembler& kernel, const StepLayout& layout, Sgpr base, const StringOffsets& offsets);

    // Asks for all dwords; `base` is where the step begins, for all lanes. Without it each part is asked for where it
    // is first used, which suits code that uses few of them.
    void load();
    // Dword `index`; behind the last one, the half if there is one.
    Vgpr dword(uint32_t index);

private:
    Vgpr chunk(uint32_t index);
    Vgpr rest();
    Vgpr half();
    // A base within reach of the step's byte `offset`, and the rest of the offset.
    std::pair<Sgpr, int32_t> near(uint32_t offset);

    KernelAssembler& k_;
    const StepLayout& layout_;
    const Sgpr base_;
    const StringOffsets offsets_;
    std::vector<std::optional<Vgpr>> chunks_;
    std::optional<Vgpr> rest_, half_;
    std::map<uint32_t, Sgpr> bases_;
};

// Four elements: each is its signed byte of `bytes`, less `zero_point`.
struct Quad {
    Vgpr bytes;
    int32_t zero_point;
};

class QuadDecoder {
public:
    // `grid`: the address of the type's grid, where it has one.
    QuadDecoder(KernelAssembler& kernel, DType type, const StepLayout& layout, StepString& string, Sgpr grid);

    bool has_multiplier() const { return parts().multiplier != kNoStep; }
    bool has_offset() const { return parts().offset != kNoStep; }
    bool has_minimum() const { return parts().minimum != kNoStep; }
    // The same for all elements of the type.
    int32_t zero_point() const { return zero_point_; }

    // Of the four elements from `element` on, a multiple of 4. Registers are the caller's.
    Quad quad(uint32_t element);
    // Of the parts that elements around `element` share: integers, and f32.
    Vgpr multiplier(uint32_t element) { return shared(parts().multiplier, element); }
    Vgpr minimum(uint32_t element) { return shared(parts().minimum, element); }
    Vgpr scale(uint32_t element) { return number(parts().scale, element); }
    Vgpr offset(uint32_t element) { return number(parts().offset, element); }
    Vgpr minimum_scale(uint32_t element) { return number(parts().minimum_scale, element); }

private:
    using Known = std::array<int32_t, 4>;
    // What a step of the lane program is for four elements.
    struct Value {
        enum class Kind : uint8_t {
            known,    // constants
            shared,   // one integer in `reg`
            bytes,    // reg's bytes * factor + offset, signed where `least` < 0
            halves,   // unsigned halves of `reg` (elements 0, 2) and `high` (1, 3)
            entries,  // reg + known: numbers of a grid's entries
            bits,     // reg >> known
        } kind;
        Known known{};
        std::optional<Vgpr> reg = {}, high = {};
        int32_t factor = 1, offset = 0;
        int64_t least = 0, most = 0;  // of reg's bytes
    };
    const LaneResults& parts() const { return format_.results; }
    const LaneStep& step(uint8_t index) const { return format_.steps[index]; }

    Value evaluate(uint8_t index, uint32_t element);
    Value code_field(uint8_t field, uint32_t element);
    Value look_up(LaneTable table, const Value& index, uint32_t element);
    Value look_up_sixteen(LaneTable table, const Value& index);
    Value look_up_grid(LaneTable table, const Value& index, uint32_t element);
    Value add(const Value& a, const Value& b, int32_t sign);
    Value add_shared(const Value& bytes, const Value& shared);
    Value multiply(const Value& a, const Value& b);
    Value multiply_by(const Value& a, int32_t factor);
    Value negate_where(const Value& bytes, const Value& sign);
    Value shift_right(const Value& a, const Value& b);
    Value bit_and(const Value& a, const Value& b);
    Value widened(const Value& bytes);
    static std::optional<int32_t> constant(const Value& value);

    Vgpr shared(uint8_t index, uint32_t element);
    Vgpr number(uint8_t index, uint32_t element);
    Vgpr number_of(NumberFormat format, Vgpr bits);
    Vgpr extract(const PackedPiece& piece, bool is_signed, uint32_t value);

    KernelAssembler& k_;
    const WeightFormat& format_;
    const std::vector<StepFacts> facts_;
    const StepLayout& layout_;
    StepString& string_;
    const Sgpr grid_;
    int32_t zero_point_ = 0;
    // What was made of shared steps last: step -> (first element, register).
    struct Made {
        uint32_t first;
        Vgpr reg;
    };
    std::map<uint8_t, Made> made_;
    // The grid row that was loaded last, and the constants of a table of sixteen.
    std::optional<std::pair<uint32_t, Vgpr>> grid_row_;
    std::vector<Sgpr> sixteen_;
};

}  // namespace riftjit::rdna::kernels
