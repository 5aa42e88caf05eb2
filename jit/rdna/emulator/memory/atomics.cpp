#include "jit/rdna/emulator/memory/atomics.h"

#include <bit>
#include <cmath>
#include <concepts>

#include "host/half.h"
#include "host/result.h"

namespace riftjit::rdna::emulator::memory {
namespace {

template <std::floating_point Float>
Float flushed(Float value, bool flush) {
    return flush && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(Float{0}, value) : value;
}

// minNum and maxNum of IEEE 754-2008: a number wins over a NaN, -0 is less than +0.
template <std::floating_point Float>
Float number_min(Float a, Float b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
}
template <std::floating_point Float>
Float number_max(Float a, Float b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
}

template <std::floating_point Float>
Float apply_float(AtomicOp op, Float memory, Float first, Float second, bool flush) {
    switch (op) {
        case AtomicOp::add_float:
            return flushed(flushed(memory, flush) + flushed(first, flush), flush);
        case AtomicOp::min_float:
            return number_min(memory, first);
        case AtomicOp::max_float:
            return number_max(memory, first);
        default:
            return memory == second ? first : memory;  // compare_swap_float
    }
}

float half_sum(float a, float b, bool flush) {
    constexpr float kLeastNormal = 0x1p-14f;
    const auto flushed_half = [&](float value) {
        return flush && std::fabs(value) < kLeastNormal ? std::copysign(0.0f, value) : value;
    };
    // The sum of two f16 is exact in f32 (both are multiples of 2^-24 below 2^16), so it is rounded once.
    return flushed_half(half_to_float(float_to_half(flushed_half(a) + flushed_half(b))));
}

// The sum of two bf16 in double is exact, or differs from the larger one by less than any rounding of it can see. On
// its way to bf16 it passes through f32, rounded to odd there, so that the second rounding errs no more than one would
// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
uint16_t bfloat_sum(uint16_t a, uint16_t b) {
    const double exact = static_cast<double>(bfloat_to_float(a)) + static_cast<double>(bfloat_to_float(b));
    const float sum = static_cast<float>(exact);
    uint32_t bits = std::bit_cast<uint32_t>(sum);
    if (std::isfinite(sum) && static_cast<double>(sum) != exact && bits % 2 == 0)
        bits = (std::fabs(exact) > std::fabs(static_cast<double>(sum))) ? bits + 1 : bits - 1;
    return float_to_bfloat(std::bit_cast<float>(bits));
}

uint32_t add_packed(AtomicOp op, uint32_t memory, uint32_t data, bool flush) {
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += 16) {
        const auto a = static_cast<uint16_t>(memory >> shift), b = static_cast<uint16_t>(data >> shift);
        const uint16_t sum = op == AtomicOp::add_f16x2
                                 ? float_to_half(half_sum(half_to_float(a), half_to_float(b), flush))
                                 : bfloat_sum(a, b);
        result |= static_cast<uint32_t>(sum) << shift;
    }
    return result;
}

// Bit 31 of each half says whether that half is written, with the 31 bits below.
uint64_t conditional_swap(uint64_t memory, uint64_t data) {
    uint64_t result = memory;
    for (unsigned shift = 0; shift < 64; shift += 32)
        if (data >> shift & 0x80000000u)
            result = (result & ~(uint64_t{0xFFFFFFFFu} << shift)) | (data >> shift & 0x7FFFFFFFu) << shift;
    return result;
}

template <std::unsigned_integral Word>
Word apply_integer(AtomicOp op, Word memory, Word first, Word second) {
    using Signed = std::make_signed_t<Word>;
    const auto less_signed = [](Word a, Word b) { return static_cast<Signed>(a) < static_cast<Signed>(b); };
    switch (op) {
        case AtomicOp::add:
            return memory + first;
        case AtomicOp::sub:
            return memory - first;
        case AtomicOp::rsub:
            return first - memory;
        case AtomicOp::sub_clamp:
            return memory < first ? 0 : memory - first;
        case AtomicOp::cond_sub:
            return memory < first ? memory : memory - first;
        case AtomicOp::inc:
            return memory >= first ? 0 : memory + 1;
        case AtomicOp::dec:
            return memory == 0 || memory > first ? first : memory - 1;
        case AtomicOp::min_signed:
            return less_signed(first, memory) ? first : memory;
        case AtomicOp::max_signed:
            return less_signed(memory, first) ? first : memory;
        case AtomicOp::min_unsigned:
            return first < memory ? first : memory;
        case AtomicOp::max_unsigned:
            return memory < first ? first : memory;
        case AtomicOp::bit_and:
            return memory & first;
        case AtomicOp::bit_or:
            return memory | first;
        case AtomicOp::bit_xor:
            return memory ^ first;
        case AtomicOp::mask_or:
            return (memory & ~first) | second;
        case AtomicOp::swap:
            return first;
        case AtomicOp::compare_swap:
            return memory == second ? first : memory;
        case AtomicOp::wrap:
            return memory >= first ? memory - first : memory + second;
        default:
            check(false, "an atomic operation that is none on integers");
            return 0;
    }
}

}  // namespace

uint64_t apply(AtomicOp op, AtomicWidth width, uint64_t memory, uint64_t first, uint64_t second,
               const AtomicDenormals& denormals) {
    const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
    const auto as_float = [&](uint64_t value) { return std::bit_cast<float>(low(value)); };
    const auto as_double = [](uint64_t value) { return std::bit_cast<double>(value); };
    switch (op) {
        case AtomicOp::add_float:
        case AtomicOp::min_float:
        case AtomicOp::max_float:
        case AtomicOp::compare_swap_float:
            if (width == AtomicWidth::b64)
                return std::bit_cast<uint64_t>(
                    apply_float(op, as_double(memory), as_double(first), as_double(second), denormals.flush_f64));
            return std::bit_cast<uint32_t>(
                apply_float(op, as_float(memory), as_float(first), as_float(second), denormals.flush_f32));
        case AtomicOp::add_f16x2:
        case AtomicOp::add_bf16x2:
            return add_packed(op, low(memory), low(first), denormals.flush_f16);
        case AtomicOp::conditional_swap_halves:
            return conditional_swap(memory, first);
        default:
            if (width == AtomicWidth::b64) return apply_integer<uint64_t>(op, memory, first, second);
            return apply_integer<uint32_t>(op, low(memory), low(first), low(second));
    }
}

}  // namespace riftjit::rdna::emulator::memory
