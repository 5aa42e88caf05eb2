// Vector instructions over 32 lanes at once, as host code emitted when first asked for: AVX-512 or AVX2, by what the
// host has. A function stands for an instruction without modifiers in the default modes (round to nearest, denormals
// kept). Results equal those of the functions in valu_lane.h bit for bit. NaN results, whose payloads the host picks
// by other rules, and a few rare saturations are not computed: the function then writes nothing and says so.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/rdna/table/opcode.h"

namespace riftjit::rdna::emulator {

inline constexpr unsigned kLanesPerCall = 32;  // wave64 makes two

enum class LaneIsa : uint8_t { none, avx2, avx512 };
LaneIsa host_lane_isa();

// d, a, b, c: 32 words each, any alignment; of 64-bit operands the upper words follow a register later. Low half of
// `lanes`: exec; upper half: see LaneCondition. d may equal a source.
using LaneKernelFunction = uint64_t (*)(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                                        uint64_t lanes);
inline constexpr uint64_t kLaneKernelDeclined = ~uint64_t{0};

enum class LaneKernelResult : uint8_t {
    words,           // returns 0, or kLaneKernelDeclined
    mask,            // returns the mask, inactive lanes 0
    words_and_mask,  // both
};

struct LaneWidths {  // registers that an operand takes
    std::array<uint8_t, 3> sources{1, 1, 1};
    uint8_t result = 1;
    bool has_pairs() const { return sources != std::array<uint8_t, 3>{1, 1, 1} || result != 1; }
};

enum class LaneCondition : uint8_t {
    mask_read,   // what the instruction reads, 0 where it reads none
    upper_lane,  // whether the lane is one of a wave64's upper 32
};

// What is there of 16 bits. Of a source's words only the low halves then count, whatever lies above.
enum class HalfSources : uint8_t {
    none,       // words
    bits,       // as they are
    f16,        // widened to f32
    f16_pairs,  // both halves of words, each widened to f32
    mixed,      // f16 where the variant has the source's bit, words elsewhere
};
enum class HalfResult : uint8_t {
    none,       // words
    bits,       // the other half of the destination stays, as of the next
    f16,        // rounded from f32
    f16_pairs,  // both halves
};
struct LaneHalves {
    HalfSources sources = HalfSources::none;
    HalfResult result = HalfResult::none;
    bool is_merged() const { return result == HalfResult::bits || result == HalfResult::f16; }
    bool reads_low_half(unsigned source, uint8_t variant) const {
        return sources == HalfSources::bits || sources == HalfSources::f16 ||
               (sources == HalfSources::mixed && (variant >> source & 1) != 0);
    }
};
inline constexpr uint8_t kHighHalfVariant = 8;  // the result goes to the upper half of the destination

struct LaneKernel {
    LaneKernelFunction function;
    LaneKernelResult result = LaneKernelResult::words;
    uint8_t sources = 1;
    LaneWidths widths{};
    LaneCondition condition = LaneCondition::mask_read;
    LaneHalves halves{};
};

// `variant`: of the mixed-sign dot products, which sources are signed; of fma_mix, which are f16; of those that write
// one half, kHighHalfVariant besides; of conversions from or to a byte or two, op_sel's bits from variant_shift() on.
// `stride_words` of 64-bit operands: from a
// register to the next. Nothing where the opcode has no emitted form.
std::optional<LaneKernel> lane_kernel(LaneIsa isa, Opcode opcode, uint8_t variant, unsigned stride_words);
std::span<const Opcode> lane_kernel_opcodes();
std::vector<uint8_t> lane_kernel_variants(Opcode opcode);
unsigned variant_shift(Opcode opcode);

}  // namespace riftjit::rdna::emulator
