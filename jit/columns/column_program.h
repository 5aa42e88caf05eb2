// Straight-line programs over columns (one value per neuron or synapse): what the equations of sim/ become before they
// become machine code. A program computes on every element alone, so any split over threads gives the same bits, and
// every operation rounds the same at each ISA level (where a result is NaN, its sign and payload may differ).
//
// Values are numbers (f64; f32 in Precision::f32) or truths. Step i defines value i; operands are numbers of earlier
// steps. Columns of another type are converted: integers become numbers when loaded (rounded once where f32 cannot hold
// them) and what is stored to them is an integer in their range (else undefined); f64 and f32 round once. No two
// columns share memory. NaN passes through all arithmetic but minimum and maximum; comparisons with it are false.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace riftjit {

enum class Precision : uint8_t { f64, f32 };
enum class ColumnType : uint8_t { f64, f32, u8, u16, u32 };

enum class ColumnOp : uint8_t {
    // Numbers from outside.
    constant,  // `number`
    scalar,    // args.scalars[`index`]: what may change between steps without a new kernel
    load,      // column `index`
    id,        // args.first_id + element
    // Arithmetic, each rounded once.
    add,
    subtract,
    multiply,
    divide,
    negate,
    absolute,
    minimum,  // a < b ? a : b: b where either is NaN
    maximum,  // a > b ? a : b
    floor,
    square_root,
    fused_multiply_add,  // a * b + c
    // Functions, within the bounds that jit/x86/columns/column_functions.h argues; power is a to the b.
    exp,
    expm1,
    log,
    sin,
    cos,
    tanh,
    power,
    // Truths.
    less,
    less_equal,
    equal,
    both,
    either,
    negation,
    select,  // a ? b : c, of numbers
    // Random numbers: Philox 4x32-10 (Salmon et al. 2011) with key args.key and counter {id low, `index`, step low,
    // step high}; id as above, step args.step. Its words w0..w3 give the 64-bit numbers first = w0 | w1 << 32 and
    // second = w2 | w3 << 32. Draws of one id, index and step share them, whatever the op.
    uniform,  // (first >> 11) * 2^-53, in [0, 1); in f32 (first >> 40) * 2^-24
    normal,   // sqrt(-2 log(1 - u1)) * cos(2 pi u2), of both numbers made uniform in f64, then rounded
    poisson,  // by inversion in f64 of the first made uniform, with mean a; NaN unless 0 <= a <= kMostPoissonMean
    // Effects, in order: a load sees the stores before it. They define no value.
    store,  // column `index` = a
    fire,   // where a holds: appends the element (not the id) to args.fired, ascending. At most one per program
};
inline constexpr size_t kColumnOps = size_t(ColumnOp::fire) + 1;
inline constexpr double kMostPoissonMean = 256;
// The inversion takes the smallest k with u < p_0 + ... + p_k, p_0 = exp(-a), p_k = p_(k-1) * (a * (1 / k)), or the
// k >= a at which p_k falls below this: what then remains of the sum is rounding. k stays below kMostPoissonCount.
inline constexpr double kLeastPoissonProbability = 0x1p-60;
inline constexpr size_t kMostPoissonCount = 512;

struct ColumnStep {
    ColumnOp op;
    uint16_t a = 0, b = 0, c = 0;  // operands; 0 where unused
    uint32_t index = 0;            // column, scalar or draw
    double number = 0;             // not NaN
    auto operator<=>(const ColumnStep&) const = default;
};

// Unit: element of the columns, which are padded to a multiple of kColumnPadding elements and 64-byte aligned; begin
// and end of a launch are multiples of it too, or the end of the columns (args.elements). Padding may be overwritten.
struct ColumnProgramSpec {
    Precision precision;
    uint32_t scalars;
    std::vector<ColumnType> columns;
    std::vector<ColumnStep> steps;
    auto operator<=>(const ColumnProgramSpec&) const = default;
};
inline constexpr uint32_t kColumnPadding = 16;
inline constexpr size_t kMaxColumns = 64, kMaxColumnSteps = 4096;

struct ColumnProgramArgs {
    void* const* columns;   // in the order of the spec
    const double* scalars;  // likewise
    uint32_t* fired;        // out; room for end - begin + kColumnPadding
    uint32_t fired_count;   // out: of this launch (begin..end), no padding element fires
    uint32_t elements;      // of the columns, without padding
    uint64_t first_id;      // id of element 0; ids stay below 2^53
    uint64_t key, step;     // of random numbers
};

// ---- what validation, generators and the reference ask of an op --------------------------------------------------

enum class ColumnKind : uint8_t { none, number, truth };
struct ColumnOpTraits {
    std::string_view name;
    ColumnKind result;
    std::array<ColumnKind, 3> operands;  // none from the first unused one on
    uint32_t flops;                      // a function counts as four, a division or square root as one
};
const ColumnOpTraits& traits(ColumnOp op);

uint32_t column_bytes(ColumnType type);
std::string_view name(ColumnType type);
std::string_view name(Precision precision);

// Memory traffic per element: every column that is loaded, and every one that is stored, once.
uint64_t column_bytes(const ColumnProgramSpec& spec);
// One step a line: "v3 = multiply v0, v2", "column 1 (u8) = v7".
std::string column_program_text(const ColumnProgramSpec& spec);

}  // namespace riftjit
