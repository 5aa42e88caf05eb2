// Kernels written in groups of 16 lanes, which give the same bits whether a group is one zmm or two ymm.
#pragma once

#include "jit/x86/emit/math.h"
#include "jit/x86/emit/x86_kernel.h"

namespace riftjit::x86 {

// 16 lanes of 32 bits: one zmm at the AVX-512 levels, else two ymm, low lanes first.
struct Wide {
    Xbyak::Xmm low, high;  // high is unused at the AVX-512 levels
    int index() const { return low.getIdx(); }
};

// 64 consecutive bytes of memory.
struct WideMemory {
    Xbyak::RegExp start;
};

// 64 bytes of the constant pool.
struct WideConstant {
    Xbyak::Address low, high;
};

inline constexpr uint32_t kWideLanes = 16;

// One bit (opmask) or one dword (vectors) per lane.
struct LaneMask {
    Xbyak::Opmask bits;  // AVX-512 levels
    Wide words;          // levels below
};

class WideEmitter : public X86Emitter {
public:
    using X86Emitter::X86Emitter;

    // The first 4 or 8 lanes.
    static Xmm xmm_of(const Wide& wide) { return Xmm(wide.index()); }
    static Ymm ymm_of(const Wide& wide) { return Ymm(wide.index()); }

    // The parts of an operand that one instruction takes.
    Xmm part(const Wide& wide, int half) const { return half == 0 ? wide.low : wide.high; }
    Address part(const WideMemory& memory, int half) const { return ptr[memory.start + half * 32]; }
    Address part(const WideConstant& constant, int half) const { return half == 0 ? constant.low : constant.high; }
    Address part(const Address& splat, int) const { return splat; }

#define WIDE_OUT_SOURCE_SOURCE(name)                                                                            \
    using Xbyak::CodeGenerator::name;                                                                           \
    template <class Source>                                                                                     \
    void name(const Wide& out, const Wide& left, const Source& right) {                                         \
        for (int half = 0; half < halves(); ++half) name(part(out, half), part(left, half), part(right, half)); \
    }
#define WIDE_OUT_SOURCE(name)                                                                  \
    using Xbyak::CodeGenerator::name;                                                          \
    template <class Source>                                                                    \
    void name(const Wide& out, const Source& source) {                                         \
        for (int half = 0; half < halves(); ++half) name(part(out, half), part(source, half)); \
    }
#define WIDE_OUT_SOURCE_IMMEDIATE(name)                                                                   \
    using Xbyak::CodeGenerator::name;                                                                     \
    void name(const Wide& out, const Wide& source, uint8_t immediate) {                                   \
        for (int half = 0; half < halves(); ++half) name(part(out, half), part(source, half), immediate); \
    }
#include "jit/x86/emit/wide_instructions.def"
#undef WIDE_OUT_SOURCE_SOURCE
#undef WIDE_OUT_SOURCE
#undef WIDE_OUT_SOURCE_IMMEDIATE

    using Xbyak::CodeGenerator::vbroadcastss;
    using Xbyak::CodeGenerator::vmovaps;
    using Xbyak::CodeGenerator::vmovups;
    void vmovaps(const Wide& out, const Wide& source);
    void vmovups(const Wide& out, const WideMemory& source);
    void vmovups(const WideMemory& out, const Wide& source);
    void vbroadcastss(const Wide& out, const Xbyak::Operand& source);  // a dword in memory, or lane 0 of an xmm

    // Lane by lane: mask = left (predicate) right; out = mask ? yes : no; out = mask ? value : 0.
    template <class Source>
    void compare(const LaneMask& mask, const Wide& left, const Source& right, Compare predicate) {
        const auto immediate = static_cast<uint8_t>(predicate);
        if (has_avx512(isa_)) return vcmpps(mask.bits, left.low, part(right, 0), immediate);
        for (int half = 0; half < halves(); ++half)
            vcmpps(part(mask.words, half), part(left, half), part(right, half), immediate);
    }
    void select(const Wide& out, const LaneMask& mask, const Wide& yes, const Wide& no);
    void keep(const Wide& out, const LaneMask& mask, const Wide& value);
    // The integer form of compare: mask = left > right, signed.
    template <class Source>
    void compare_greater_i32(const LaneMask& mask, const Wide& left, const Source& right) {
        if (has_avx512(isa_)) return vpcmpgtd(mask.bits, left.low, part(right, 0));
        for (int half = 0; half < halves(); ++half)
            vpcmpgtd(part(mask.words, half), part(left, half), part(right, half));
    }

    // Lane 0 of `out` = all 16 lanes of value combined in the order 8, 4, 2, 1. Clobbers scratch. Groups below 16.
    void fold(const Xmm& out, const Wide& value, const Xmm& scratch, const Combine& op);
    void fold_sum(const Xmm& out, const Wide& value, const Xmm& scratch);

protected:
    // Group number `index` of 16 lanes: 0..31 at the AVX-512 levels, 0..7 below (registers 2*index and 2*index + 1).
    Wide wide(int index) const;
    int wide_registers() const { return vector_registers() / halves(); }
    // The mask number `index`: opmask 1 + index, or the lanes of `words` below AVX-512.
    LaneMask lane_mask(int index, const Wide& words) const { return {Opmask(1 + index), words}; }

    WideConstant wide_constant(const void* bytes) {
        const auto* begin = static_cast<const std::byte*>(bytes);
        if (has_avx512(isa_)) return {constant_bytes(begin, 64), Address(ptr[rip])};
        return {constant_bytes(begin, 32, 32), constant_bytes(begin + 32, 32, 32)};
    }
    static WideMemory lanes_at(const Xbyak::RegExp& start) { return {start}; }

    // The first `count` (1..16) lanes from or to memory; no byte beyond is touched, and loaded lanes beyond are zero.
    // Clobber k7; below AVX-512 a partial store clobbers `scratch`.
    void load_lanes(const Wide& out, const Xbyak::RegExp& start, uint32_t count);
    void store_lanes(const Xbyak::RegExp& start, const Wide& value, uint32_t count, const Wide& scratch);
    // Zeroes lanes count..15.
    void clear_lanes_from(const Wide& value, uint32_t count);

    // out = the upper halves of value, rounded to nearest even; NaN keeps its sign and upper payload and becomes quiet.
    // Clobbers value, spare and lane_mask(0, unordered).
    void round_to_bf16(const Ymm& out, const Wide& value, const Wide& spare, const Wide& unordered);

    // Visits a row of `width` floats in groups of 16. `body(group, count)` emits group `group` (0..unroll-1) of one
    // round, at byte offset + 64 * group, where `count` lanes are valid: 16, or fewer in the row's last group.
    using GroupBody = std::function<void(int group, uint32_t count)>;
    void for_each_group(const Reg64& offset, uint32_t width, int unroll, const GroupBody& body);
};

}  // namespace riftjit::x86
