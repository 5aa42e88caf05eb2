#include "jit/rdna/emulator/valu/wmma.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "host/half.h"
#include "jit/rdna/emulator/lanes/lanes_x86.h"
#include "jit/rdna/emulator/lanes/matrix_x86.h"
#include "jit/rdna/emulator/valu/valu_float8.h"
#include "jit/rdna/emulator/valu/valu_lane.h"
#include "jit/rdna/emulator/valu/wmma_layout.h"

namespace riftjit::rdna::emulator {
namespace {

using Element = MatrixElement;
using Output = MatrixResult;

struct MatrixRow {
    Opcode opcode;
    MatrixOperation operation;
};
constexpr MatrixRow kMatrixRows[] = {
    {Opcode::v_wmma_f32_16x16x16_f16_gfx11, {Output::f32, Element::f16, Element::f16, 16}},
    {Opcode::v_wmma_f32_16x16x16_bf16_gfx11, {Output::f32, Element::bf16, Element::bf16, 16}},
    {Opcode::v_wmma_f16_16x16x16_f16_gfx11, {Output::f16, Element::f16, Element::f16, 16}},
    {Opcode::v_wmma_bf16_16x16x16_bf16_gfx11, {Output::bf16, Element::bf16, Element::bf16, 16}},
    {Opcode::v_wmma_i32_16x16x16_iu8_gfx11, {Output::i32, Element::i8, Element::i8, 16}},
    {Opcode::v_wmma_i32_16x16x16_iu4_gfx11, {Output::i32, Element::i4, Element::i4, 16}},
    {Opcode::v_wmma_f32_16x16x16_f16, {Output::f32, Element::f16, Element::f16, 16}},
    {Opcode::v_wmma_f32_16x16x16_bf16, {Output::f32, Element::bf16, Element::bf16, 16}},
    {Opcode::v_wmma_f16_16x16x16_f16, {Output::f16, Element::f16, Element::f16, 16}},
    {Opcode::v_wmma_bf16_16x16x16_bf16, {Output::bf16, Element::bf16, Element::bf16, 16}},
    {Opcode::v_wmma_i32_16x16x16_iu8, {Output::i32, Element::i8, Element::i8, 16}},
    {Opcode::v_wmma_i32_16x16x16_iu4, {Output::i32, Element::i4, Element::i4, 16}},
    {Opcode::v_wmma_f32_16x16x16_fp8_fp8, {Output::f32, Element::fp8, Element::fp8, 16}},
    {Opcode::v_wmma_f32_16x16x16_fp8_bf8, {Output::f32, Element::fp8, Element::bf8, 16}},
    {Opcode::v_wmma_f32_16x16x16_bf8_fp8, {Output::f32, Element::bf8, Element::fp8, 16}},
    {Opcode::v_wmma_f32_16x16x16_bf8_bf8, {Output::f32, Element::bf8, Element::bf8, 16}},
    {Opcode::v_wmma_i32_16x16x32_iu4, {Output::i32, Element::i4, Element::i4, 32}},
    {Opcode::v_swmmac_f32_16x16x32_f16, {Output::f32, Element::f16, Element::f16, 32, Sparsity::sparse}},
    {Opcode::v_swmmac_f32_16x16x32_bf16, {Output::f32, Element::bf16, Element::bf16, 32, Sparsity::sparse}},
    {Opcode::v_swmmac_f16_16x16x32_f16, {Output::f16, Element::f16, Element::f16, 32, Sparsity::sparse}},
    {Opcode::v_swmmac_bf16_16x16x32_bf16, {Output::bf16, Element::bf16, Element::bf16, 32, Sparsity::sparse}},
    {Opcode::v_swmmac_i32_16x16x32_iu8, {Output::i32, Element::i8, Element::i8, 32, Sparsity::sparse}},
    {Opcode::v_swmmac_i32_16x16x32_iu4, {Output::i32, Element::i4, Element::i4, 32, Sparsity::sparse}},
    {Opcode::v_swmmac_i32_16x16x64_iu4, {Output::i32, Element::i4, Element::i4, 64, Sparsity::sparse}},
    {Opcode::v_swmmac_f32_16x16x32_fp8_fp8, {Output::f32, Element::fp8, Element::fp8, 32, Sparsity::sparse}},
    {Opcode::v_swmmac_f32_16x16x32_fp8_bf8, {Output::f32, Element::fp8, Element::bf8, 32, Sparsity::sparse}},
    {Opcode::v_swmmac_f32_16x16x32_bf8_fp8, {Output::f32, Element::bf8, Element::fp8, 32, Sparsity::sparse}},
    {Opcode::v_swmmac_f32_16x16x32_bf8_bf8, {Output::f32, Element::bf8, Element::bf8, 32, Sparsity::sparse}},
};

const FloatFormat& format_of(Output result) {
    return result == Output::f16 ? kF16 : result == Output::bf16 ? kBf16 : kF32;
}

uint64_t element_as_f32(Element element, uint32_t bits) {
    switch (element) {
        case Element::f16:
            if (kF16.is_nan(bits)) return float_convert(kF16, kF32, bits, {});
            return std::bit_cast<uint32_t>(half_to_float(static_cast<uint16_t>(bits)));
        case Element::bf16:
            return uint64_t{bits} << 16;
        case Element::fp8:
            return float8_to_f32(Float8::fp8, static_cast<uint8_t>(bits));
        case Element::bf8:
            return float8_to_f32(Float8::bf8, static_cast<uint8_t>(bits));
        default:
            break;
    }
    check(false, "an integer element has no float value");
    return 0;
}

using Tile = std::array<std::array<uint32_t, kTile>, kTile>;

Tile read_accumulator(const WaveState& wave, const MatrixCall& call) {
    Tile tile;
    for (unsigned row = 0; row < kTile; ++row) {
        const TilePlace place = call.result_rows[row];
        const uint32_t* const words = call.c ? wave.vgpr(*call.c + place.reg) + place.lane : nullptr;
        if (words == nullptr)
            tile[row].fill(call.c_constant);
        else
            for (unsigned column = 0; column < kTile; ++column) tile[row][column] = words[column] >> place.shift;
    }
    return tile;
}

void write_result(WaveState& wave, const MatrixCall& call, const Tile& tile) {
    const uint32_t mask = format_of(call.operation.result).width() == 16 ? 0xFFFF : 0xFFFFFFFF;
    const uint64_t exec = wave.exec();
    for (unsigned row = 0; row < kTile; ++row) {
        const TilePlace place = call.result_rows[row];
        uint32_t* const words = wave.vgpr(call.d + place.reg) + place.lane;
        if (exec == wave.all_lanes() && mask == ~0u) {
            std::copy_n(tile[row].begin(), kTile, words);
            continue;
        }
        for (unsigned column = 0; column < kTile; ++column) {
            if ((exec >> (place.lane + column) & 1) == 0) continue;
            uint32_t& word = words[column];
            word = (word & ~(mask << place.shift)) | (tile[row][column] & mask) << place.shift;
        }
    }
}

// A by row, B by position: positions are numbered group * positions + position. As f32 bits or as integers.
struct Factors {
    std::array<std::array<uint32_t, kMaxDepth>, kTile> a;
    std::array<std::array<uint32_t, kTile>, kMaxDepth> b;
    std::array<std::array<uint8_t, kMaxDepth>, kTile> met;  // by row of A: the row of B that a position meets
    unsigned count;                                         // positions of A
};

// neg_lo negates products of the low halves, neg_hi those of the high ones; both sources' bits end in the sign.
uint32_t decode_float(const MatrixCall& call, MatrixElement element, unsigned source, unsigned position,
                      uint32_t bits) {
    const uint8_t negations = position % 2 == 0 ? call.neg_lo : call.neg_hi;
    const bool negative = element_bits(element) == 16 && (negations >> source & 1) != 0;
    return static_cast<uint32_t>(element_as_f32(element, bits)) ^ (negative ? 0x80000000u : 0);
}
uint32_t decode_integer(const MatrixCall& call, MatrixElement element, unsigned source, uint32_t bits) {
    const bool is_signed = (call.neg_lo >> source & 1) != 0;
    return is_signed ? static_cast<uint32_t>(sign_extend(bits, element_bits(element))) : bits;
}

Factors read_factors(const WaveState& wave, const MatrixCall& call) {
    Factors factors;
    const unsigned groups = lane_groups(call), held = positions(call);
    const unsigned b_held = call.b_registers * 32 / element_bits(call.operation.b);
    const bool sparse = call.operation.sparsity == Sparsity::sparse;
    factors.count = groups * held;
    const auto decode = [&](MatrixElement element, unsigned source, unsigned position, uint32_t bits) {
        return is_integer(element) ? decode_integer(call, element, source, bits)
                                   : decode_float(call, element, source, position, bits);
    };
    for (unsigned line = 0; line < kTile; ++line)
        for (unsigned group = 0; group < groups; ++group) {
            for (unsigned i = 0; i < held; ++i) {
                factors.a[line][group * held + i] =
                    decode(call.operation.a, 0, i, a_element(wave, call, line, group, i));
                const unsigned met = sparse ? sparse_position(wave, call, line, group, i) : i;
                factors.met[line][group * held + i] = static_cast<uint8_t>(group * b_held + met);
            }
            for (unsigned i = 0; i < b_held; ++i)
                factors.b[group * b_held + i][line] =
                    decode(call.operation.b, 1, i, b_element(wave, call, line, group, i));
        }
    return factors;
}

// Two rows of D fill the 32 lanes of an emitted fused multiply-add.
using RowPair = std::array<uint32_t, 2 * kTile>;

void add_products(const Factors& factors, unsigned row, RowPair& sums) {
    static const auto fused = lane_kernel(host_lane_isa(), Opcode::v_fma_f32, 0, 2 * kTile);
    RowPair a, b;
    for (unsigned i = 0; i < factors.count; ++i) {
        for (unsigned half = 0; half < 2; ++half) {
            std::fill_n(a.begin() + half * kTile, kTile, factors.a[row + half][i]);
            std::copy_n(factors.b[factors.met[row + half][i]].begin(), kTile, b.begin() + half * kTile);
        }
        if (fused && fused->function(sums.data(), a.data(), b.data(), sums.data(), ~0u) != kLaneKernelDeclined)
            continue;
        for (unsigned lane = 0; lane < sums.size(); ++lane)
            sums[lane] = static_cast<uint32_t>(fma_f32_nearest(a[lane], b[lane], sums[lane]));
    }
}

// float_convert(), by shorter ways where no NaN has to be made quiet and nothing saturates.
uint64_t convert(const FloatFormat& from, const FloatFormat& to, uint64_t bits, const FloatControl& control) {
    if (from.is_nan(bits) || control.saturate) return float_convert(from, to, bits, control);
    if (from.mantissa_bits == to.mantissa_bits) return bits;
    const auto single = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (to.mantissa_bits == kF16.mantissa_bits) return float_to_half(single);
    if (to.mantissa_bits == kBf16.mantissa_bits) return float_to_bfloat(single);
    if (from.mantissa_bits == kBf16.mantissa_bits) return bits << 16;
    return std::bit_cast<uint32_t>(half_to_float(static_cast<uint16_t>(bits)));
}

// C's modifiers, which SWMMAC does not have, as what is kept of its bits and what is flipped.
struct AccumulatorBits {
    uint32_t keep, flip;
};
AccumulatorBits accumulator_bits(const MatrixCall& call) {
    const FloatFormat& format = format_of(call.operation.result);
    const bool dense = call.operation.sparsity == Sparsity::dense;
    const bool absolute = dense && (call.neg_hi & 4) != 0, negative = dense && (call.neg_lo & 4) != 0;
    return {static_cast<uint32_t>(absolute ? format.magnitude_mask() : format.magnitude_mask() | format.sign()),
            static_cast<uint32_t>(negative ? format.sign() : 0)};
}

void widen_accumulator(const MatrixCall& call, Tile& tile) {
    const FloatFormat& format = format_of(call.operation.result);
    const AccumulatorBits bits = accumulator_bits(call);
    const auto infinity = static_cast<int32_t>(kF32.infinity());
    const bool is_single = call.operation.result == Output::f32;
    int32_t nan = 0;  // negative: there is one
    for (auto& row : tile)
        for (uint32_t& word : row) {
            word = (word & bits.keep) ^ bits.flip;
            nan |= infinity - static_cast<int32_t>(word & 0x7FFFFFFF);
        }
    if (is_single && nan >= 0) return;
    for (auto& row : tile)
        for (uint32_t& word : row) word = static_cast<uint32_t>(convert(format, kF32, word, {}));
}

void float_sums(const MatrixCall& call, const Factors& factors, Tile& tile, const FloatControl& narrow) {
    const FloatFormat& format = format_of(call.operation.result);
    widen_accumulator(call, tile);
    for (unsigned row = 0; row < kTile; row += 2) {
        RowPair sums;
        for (unsigned i = 0; i < sums.size(); ++i) sums[i] = tile[row + i / kTile][i % kTile];
        add_products(factors, row, sums);
        for (unsigned i = 0; i < sums.size(); ++i) tile[row + i / kTile][i % kTile] = sums[i];
    }
    for (auto& row : tile)
        for (uint32_t& word : row) word = static_cast<uint32_t>(convert(kF32, format, word, narrow));
}

// The half of K that a group of lanes belongs to.
unsigned half_of_k(const MatrixCall& call, unsigned group) {
    const unsigned groups = lane_groups(call);
    if (groups == 4 && call.operation.sparsity == Sparsity::sparse && call.operation.a == Element::i8) return group % 2;
    return group / std::max(groups / 2, 1u);
}

uint32_t accumulate(const MatrixCall& call, uint32_t c, int32_t first_half, int32_t second_half) {
    const auto saturated = [](int64_t exact) { return std::clamp<int64_t>(exact, INT32_MIN, INT32_MAX); };
    int64_t sum = int64_t{static_cast<int32_t>(c)} + first_half;
    if (call.clamp && call.generation == Generation::gfx12) sum = saturated(sum);
    sum += second_half;
    return static_cast<uint32_t>(call.clamp ? saturated(sum) : sum);
}

// The sums of products are exact: 64 of 8 bits by 8 bits, more than there ever are, need 23 bits.
void integer_sums(const MatrixCall& call, const Factors& factors, Tile& tile) {
    const unsigned held = positions(call);
    for (unsigned row = 0; row < kTile; ++row) {
        std::array<std::array<int32_t, kTile>, 2> halves{};
        for (unsigned i = 0; i < factors.count; ++i) {
            auto& sums = halves[half_of_k(call, i / held)];
            const auto a = static_cast<int32_t>(factors.a[row][i]);
            const auto& b = factors.b[factors.met[row][i]];
            for (unsigned column = 0; column < kTile; ++column) sums[column] += a * static_cast<int32_t>(b[column]);
        }
        for (unsigned column = 0; column < kTile; ++column)
            tile[row][column] = accumulate(call, tile[row][column], halves[0][column], halves[1][column]);
    }
}

// C as an inline constant: 0 means zero in every type; others only where every result has a register of its own.
Result<void> prepare_accumulator(const Instruction& instruction, const Operand& c, MatrixCall& call) {
    if (c.is_vgpr()) {
        call.c = c.vgpr();
        return {};
    }
    if (!c.is_inline_constant() && !c.is_literal())
        return fail(ErrorKind::Unsupported, "{}: the accumulator is neither a VGPR nor a constant",
                    info(instruction.opcode).name);
    constexpr uint32_t kFloats[] = {0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000,
                                    0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983};
    if (c.is_literal())
        call.c_constant = instruction.literal;
    else if (c.code >= 240)
        call.c_constant = kFloats[c.code - 240];
    else
        call.c_constant = c.code <= 192 ? c.code - 128u : 192u - c.code;
    const bool narrow = format_of(call.operation.result).width() == 16;
    if (narrow && call.c_constant != 0)
        return fail(ErrorKind::Unsupported, "{}: no document says how the constant {:#x} spreads over 16-bit results",
                    info(instruction.opcode).name, call.c_constant);
    return {};
}

}  // namespace

std::optional<MatrixOperation> matrix_operation(Opcode opcode) {
    for (const MatrixRow& row : kMatrixRows)
        if (row.opcode == opcode) return row.operation;
    return std::nullopt;
}

Result<MatrixCall> prepare_matrix(const Instruction& instruction, Generation generation, WaveSize wave_size) {
    const InstructionInfo& row = info(instruction.opcode);
    const auto operation = matrix_operation(instruction.opcode);
    check(operation.has_value(), "prepare_matrix is given a matrix instruction");
    MatrixCall call{*operation, generation, lanes(wave_size)};
    const auto sources = row.source_operands();
    if (wave_size == WaveSize::wave64 && instruction.opcode == Opcode::v_swmmac_i32_16x16x32_iu4)
        return fail(ErrorKind::Unsupported, "{}: its layout in wave64 is not implemented", row.name);
    call.d = instruction.destination().vgpr();
    call.a = instruction.source(0).vgpr();
    call.b = instruction.source(1).vgpr();
    call.a_registers = sources[0].size(wave_size);
    call.b_registers = sources[1].size(wave_size);
    call.neg_lo = instruction.neg;
    call.neg_hi = instruction.abs;
    call.op_sel = instruction.op_sel;
    call.clamp = instruction.clamp;
    RIFTJIT_TRY_VOID(prepare_accumulator(instruction, instruction.source(2), call));
    for (unsigned line = 0; line < kTile; ++line) call.result_rows[line] = result_place(call, line);
    if (operation->sparsity == Sparsity::sparse) call.index = instruction.source(3).vgpr();
    call.function = matrix_function(host_lane_isa(), call);
    return call;
}

namespace {

bool saturates_f16(const WaveState& wave, const MatrixCall& call) {
    return call.operation.result == Output::f16 && float_mode(wave.mode, wave.generation).saturate_f16;
}

}  // namespace

void multiply_matrices(WaveState& wave, const MatrixCall& call) {
    const bool is_ordinary = wave.exec() == wave.all_lanes() && !saturates_f16(wave, call);
    if (call.function == nullptr || !is_ordinary) return multiply_matrices_in_cpp(wave, call);
    MatrixScratch scratch;
    if (!call.function(wave.vgpr(call.d), wave.vgpr(call.a), wave.vgpr(call.b), call.c ? wave.vgpr(*call.c) : nullptr,
                       wave.vgpr(call.index), &scratch))
        multiply_matrices_in_cpp(wave, call);
}

void multiply_matrices_in_cpp(WaveState& wave, const MatrixCall& call) {
    Tile tile = read_accumulator(wave, call);
    const Factors factors = read_factors(wave, call);
    if (call.operation.result == Output::i32)
        integer_sums(call, factors, tile);
    else
        float_sums(call, factors, tile, {.saturate = saturates_f16(wave, call)});
    write_result(wave, call, tile);
}

std::optional<unsigned> unreplicated_register(const WaveState& wave, const MatrixCall& call) {
    const auto differs = [&](unsigned reg) {
        const uint32_t* words = wave.vgpr(reg);
        for (unsigned first = kTile; first < call.lanes; first += kTile)
            if (std::memcmp(words, words + first, kTile * sizeof(uint32_t)) != 0) return true;
        return false;
    };
    for (unsigned i = 0; i < call.a_registers; ++i)
        if (differs(call.a + i)) return call.a + i;
    for (unsigned i = 0; i < call.b_registers; ++i)
        if (differs(call.b + i)) return call.b + i;
    return std::nullopt;
}

}  // namespace riftjit::rdna::emulator
