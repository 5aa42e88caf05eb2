#include "jit/rdna/emulator/checks/undefined.h"

#include <bit>
#include <string_view>

#include "jit/rdna/emulator/checks/checks.h"
#include "jit/rdna/emulator/machine/program.h"

namespace riftjit::rdna::emulator {
namespace {

uint64_t width_mask(unsigned width) { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }

Bits operator~(Bits a) { return {~a.value, a.undefined}; }
// A bit that is 0 on one side decides a conjunction, whatever the other is.
Bits operator&(Bits a, Bits b) {
    const uint64_t decided = (~a.value & ~a.undefined) | (~b.value & ~b.undefined);
    return {a.value & b.value, (a.undefined | b.undefined) & ~decided};
}
Bits operator|(Bits a, Bits b) { return ~(~a & ~b); }
Bits operator^(Bits a, Bits b) { return {a.value ^ b.value, a.undefined | b.undefined}; }

uint64_t from_lowest(uint64_t undefined) { return undefined ? ~((undefined & -undefined) - 1) : 0; }

uint64_t shifted(Bits value, Bits amount, Spread direction, unsigned width) {
    const uint64_t amount_mask = width - 1;
    if (amount.undefined & amount_mask) return ~uint64_t{0};
    const unsigned by = static_cast<unsigned>(amount.value & amount_mask);
    value.undefined &= width_mask(width);
    if (direction == Spread::shift_left) return value.undefined << by;
    if (direction == Spread::shift_right) return value.undefined >> by;
    const unsigned unused = 64 - width;
    return static_cast<uint64_t>(static_cast<int64_t>(value.undefined << unused) >> (unused + by));
}

uint64_t extracted(const Bits* sources, bool is_signed) {
    if ((sources[1].undefined | sources[2].undefined) & 31) return ~uint64_t{0};
    const unsigned offset = sources[1].value & 31, size = sources[2].value & 31;
    if (size == 0) return 0;
    if (!is_signed) return sources[0].undefined >> offset & width_mask(size);
    const int64_t field = int64_t{static_cast<int32_t>(sources[0].undefined)} >> offset;
    return static_cast<uint64_t>(field << (64 - size) >> (64 - size));
}

uint64_t permuted(const Bits* sources) {
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const uint64_t selector_undefined = sources[2].undefined >> 8 * i & 0xFF;
        const unsigned selector = sources[2].value >> 8 * i & 0xFF;
        uint64_t byte = 0;
        if (selector_undefined)
            byte = 0xFF;
        else if (selector < 4)
            byte = sources[1].undefined >> 8 * selector & 0xFF;
        else if (selector < 8)
            byte = sources[0].undefined >> 8 * (selector - 4) & 0xFF;
        else if (selector < 12)  // a sign, repeated
            byte = sources[selector < 10 ? 1 : 0].undefined >> (selector & 1 ? 31 : 15) & 1 ? 0xFF : 0;
        result |= byte << 8 * i;
    }
    return result;
}

uint64_t aligned(const Bits* sources, unsigned unit) {
    const unsigned mask = unit == 1 ? 31 : 3;
    if (sources[2].undefined & mask) return ~uint64_t{0};
    const uint64_t both = sources[0].undefined << 32 | (sources[1].undefined & 0xFFFFFFFF);
    return both >> (sources[2].value & mask) * unit;
}

uint64_t inserted(const Bits* sources) {
    return ((sources[0] & sources[1]) | (~sources[0] & sources[2])).undefined &
           (sources[0].undefined | (sources[0].value & sources[1].undefined) |
            (~sources[0].value & sources[2].undefined));
}

uint64_t any_of(const Bits* sources, uint64_t mask = ~uint64_t{0}) {
    return (sources[0].undefined | sources[1].undefined | sources[2].undefined) & mask;
}

uint64_t packed(uint64_t low, uint64_t high) { return (low & 0xFFFF) | (high & 0xFFFF) << 16; }
uint64_t each_half(const Bits* sources) {
    const uint64_t any = any_of(sources);
    return (any & 0xFFFF ? 0xFFFF : 0) | (any & 0xFFFF0000 ? 0xFFFF0000 : 0);
}
uint64_t quieted(uint64_t halves) {
    constexpr uint64_t kQuiet = 0x200, kUpper = 16;
    if (halves & 0x7FFF) halves |= kQuiet;
    if (halves & 0x7FFF0000) halves |= kQuiet << kUpper;
    return halves;
}

uint64_t byte_inserted(const Bits* sources) {
    if (sources[1].undefined & 3) return ~uint64_t{0};
    const uint64_t byte = uint64_t{0xFF} << 8 * (sources[1].value & 3);
    return (sources[2].undefined & ~byte) | (sources[0].undefined ? byte : 0);
}

uint64_t reversed(uint64_t word) {
    uint64_t result = 0;
    for (unsigned bit = 0; bit < 32; ++bit) result |= (word >> bit & 1) << (31 - bit);
    return result;
}

uint64_t spread_logic(Spread spread, const Bits* s) {
    switch (spread) {
        case Spread::bit_and:
            return (s[0] & s[1]).undefined;
        case Spread::bit_or:
            return (s[0] | s[1]).undefined;
        case Spread::bit_xor:
        case Spread::bit_xnor:
            return (s[0] ^ s[1]).undefined;
        case Spread::bit_nand:
            return (~(s[0] & s[1])).undefined;
        case Spread::bit_nor:
            return (~(s[0] | s[1])).undefined;
        case Spread::and_not:
            return (s[0] & ~s[1]).undefined;
        case Spread::or_not:
            return (s[0] | ~s[1]).undefined;
        case Spread::not_and:
            return (~s[0] & s[1]).undefined;
        case Spread::not_or:
            return (~s[0] | s[1]).undefined;
        case Spread::and_or:
            return ((s[0] & s[1]) | s[2]).undefined;
        case Spread::or3:
            return (s[0] | s[1] | s[2]).undefined;
        case Spread::xor3:
            return any_of(s);
        default:
            return s[0].undefined;
    }
}

uint64_t spread_shift(Spread spread, const Bits* s, unsigned width) {
    switch (spread) {
        case Spread::reversed_shift_left:
            return shifted(s[1], s[0], Spread::shift_left, width);
        case Spread::reversed_shift_right:
            return shifted(s[1], s[0], Spread::shift_right, width);
        case Spread::reversed_shift_right_signed:
            return shifted(s[1], s[0], Spread::shift_right_signed, width);
        case Spread::shift_left_or: {
            const Bits shifted_left = {s[0].value << (s[1].value & 31), shifted(s[0], s[1], Spread::shift_left, 32)};
            return (shifted_left | s[2]).undefined;
        }
        case Spread::shift_left_add:
            return from_lowest(shifted(s[0], s[1], Spread::shift_left, 32) | s[2].undefined);
        case Spread::add_shift_left:
            return shifted({0, from_lowest(s[0].undefined | s[1].undefined)}, s[2], Spread::shift_left, 32);
        default:
            return shifted(s[0], s[1], spread, width);
    }
}

}  // namespace

uint64_t spread_bits(Spread spread, const Bits* s, unsigned width) {
    const auto result = [&]() -> uint64_t {
        switch (spread) {
            case Spread::upwards:
                return from_lowest(any_of(s, width_mask(width)));
            case Spread::upwards24:
                return from_lowest((s[0].undefined & 0xFFFFFF) | (s[1].undefined & 0xFFFFFF) | s[2].undefined);
            case Spread::insert:
                return inserted(s);
            case Spread::extract:
                return extracted(s, false);
            case Spread::extract_signed:
                return extracted(s, true);
            case Spread::permute:
                return permuted(s);
            case Spread::align_bit:
                return aligned(s, 1);
            case Spread::align_byte:
                return aligned(s, 8);
            case Spread::byte0:
            case Spread::byte1:
            case Spread::byte2:
            case Spread::byte3: {
                const unsigned byte = static_cast<unsigned>(spread) - static_cast<unsigned>(Spread::byte0);
                return s[0].undefined >> 8 * byte & 0xFF ? ~uint64_t{0} : 0;
            }
            case Spread::pack:
                return packed(s[0].undefined, s[1].undefined);
            case Spread::pack_low_high:
                return packed(s[0].undefined, s[1].undefined >> 16);
            case Spread::pack_high_high:
                return packed(s[0].undefined >> 16, s[1].undefined >> 16);
            case Spread::pack_high_low:
                return packed(s[0].undefined >> 16, s[1].undefined);
            case Spread::pack_quieted:
                return quieted(packed(s[0].undefined, s[1].undefined));
            case Spread::each_half:
                return each_half(s);
            case Spread::pack_each:
                return (s[0].undefined ? 0xFFFF : 0) | (s[1].undefined ? 0xFFFF0000 : 0);
            case Spread::insert_byte:
                return byte_inserted(s);
            case Spread::reverse:
                return reversed(s[0].undefined);
            default:
                if (spread >= Spread::shift_left && spread <= Spread::shift_left_or)
                    return spread_shift(spread, s, width);
                if (spread == Spread::shift_left_add || spread == Spread::add_shift_left)
                    return spread_shift(spread, s, width);
                if (spread >= Spread::copy && spread <= Spread::xor3) return spread_logic(spread, s);
                return any_of(s) ? ~uint64_t{0} : 0;
        }
    };
    return result() & width_mask(width);
}

void mark_defined(WaveState& wave, unsigned vgpr, uint64_t lanes, uint32_t bits) {
    uint64_t concerned = wave.undefined_lanes[vgpr] & lanes;
    if (!concerned) return;
    uint32_t* const words = wave.undefined(vgpr);
    for (; concerned; concerned &= concerned - 1) {
        const int lane = std::countr_zero(concerned);
        words[lane] &= ~bits;
        if (!words[lane]) wave.undefined_lanes[vgpr] &= ~(uint64_t{1} << lane);
    }
    if (!wave.undefined_lanes[vgpr]) wave.tracking->undefined.remove_vgpr(vgpr);
}

void mark_lanes(WaveState& wave, unsigned vgpr, uint64_t lanes, uint32_t bits, const uint32_t* undefined) {
    uint32_t any = 0;
    for (unsigned lane = 0; lane < wave.lanes; ++lane) any |= undefined[lane];
    if (any == 0) return mark_defined(wave, vgpr, lanes, bits);
    uint32_t* const words = wave.undefined(vgpr);
    for (uint64_t left = lanes; left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        words[lane] = (words[lane] & ~bits) | (undefined[lane] & bits);
        const uint64_t bit = uint64_t{1} << lane;
        wave.undefined_lanes[vgpr] = words[lane] ? wave.undefined_lanes[vgpr] | bit : wave.undefined_lanes[vgpr] & ~bit;
    }
    if (wave.undefined_lanes[vgpr])
        wave.tracking->undefined.add_vgprs(vgpr, 1);
    else
        wave.tracking->undefined.remove_vgpr(vgpr);
}

void mark_scalar(WaveState& wave, unsigned code, uint32_t undefined) {
    wave.scalar_undefined[code] = undefined;
    if (undefined)
        wave.tracking->undefined.add_scalars(code, 1);
    else
        wave.tracking->undefined.remove_scalar(code);
}

}  // namespace riftjit::rdna::emulator
