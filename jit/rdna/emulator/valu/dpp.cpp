#include "jit/rdna/emulator/valu/dpp.h"

#include <algorithm>
#include <optional>

#include "jit/rdna/emulator/machine/wave.h"

namespace riftjit::rdna::emulator {
namespace {

constexpr unsigned kBank = 4;

// The source within a row of 16, or kInvalid; nullopt for an unknown control (AMD's ISA documents, DPP_CTRL).
std::optional<int> source_in_row(unsigned control, int lane) {
    const int count = static_cast<int>(control & 15);
    const auto inside = [](int source) { return source >= 0 && source < 16 ? source : LaneRouting::kInvalid; };
    if (control <= 0xFF) return (lane & ~3) | static_cast<int>(control >> 2 * (lane & 3) & 3);
    switch (control >> 4) {
        case 0x10:
            return count != 0 ? std::optional(inside(lane + count)) : std::nullopt;  // row_shl
        case 0x11:
            return count != 0 ? std::optional(inside(lane - count)) : std::nullopt;  // row_shr
        case 0x12:
            return count != 0 ? std::optional((lane - count) & 15) : std::nullopt;  // row_ror
        case 0x14:
            break;
        case 0x15:
            return count;  // row_share
        case 0x16:
            return lane ^ count;  // row_xmask
        default:
            return std::nullopt;
    }
    if (control == 0x140) return 15 - lane;                       // row_mirror
    if (control == 0x141) return (lane & ~7) | (7 - (lane & 7));  // row_half_mirror
    return std::nullopt;
}

template <class Word>
uint64_t route_words(const LaneRouting& routing, unsigned lanes, uint64_t exec, const Word* from, Word* to) {
    uint64_t written = exec & routing.enabled;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        const int source = routing.from[lane];
        const bool valid = source != LaneRouting::kInvalid && (routing.fetch_inactive || (exec >> source & 1) != 0);
        to[lane] = valid ? from[source] : 0;
        if (!valid && !routing.zero_invalid) written &= ~(uint64_t{1} << lane);
    }
    return written;
}

}  // namespace

Result<LaneRouting> dpp16_routing(const Dpp& dpp) {
    LaneRouting routing;
    routing.fetch_inactive = dpp.fetch_inactive;
    routing.zero_invalid = dpp.bound_control;
    for (unsigned lane = 0; lane < 64; ++lane) {
        const unsigned row = lane / kRowLanes, in_row = lane % kRowLanes, bank = in_row / kBank;
        const std::optional<int> source = source_in_row(dpp.control, static_cast<int>(in_row));
        if (!source) return fail(ErrorKind::Unsupported, "DPP control {:#x} is not known", dpp.control);
        routing.from[lane] = static_cast<int8_t>(*source < 0 ? *source : *source + static_cast<int>(row * kRowLanes));
        if ((dpp.row_mask >> row & 1) != 0 && (dpp.bank_mask >> bank & 1) != 0) routing.enabled |= uint64_t{1} << lane;
    }
    return routing;
}

// A lane switched off reads as 0.
LaneRouting dpp8_routing(const Dpp& dpp) {
    LaneRouting routing;
    routing.fetch_inactive = dpp.fetch_inactive;
    routing.zero_invalid = true;
    routing.enabled = ~uint64_t{0};
    for (unsigned lane = 0; lane < 64; ++lane)
        routing.from[lane] = static_cast<int8_t>((lane & ~7u) | (dpp.selectors >> 3 * (lane & 7) & 7));
    return routing;
}

uint64_t route(const LaneRouting& routing, unsigned lanes, uint64_t exec, uint64_t* values) {
    std::array<uint64_t, 64> before;
    std::copy_n(values, lanes, before.begin());
    return route_words(routing, lanes, exec, before.data(), values);
}

uint64_t route(const LaneRouting& routing, unsigned lanes, uint64_t exec, const uint32_t* from, uint32_t* to) {
    return route_words(routing, lanes, exec, from, to);
}

}  // namespace riftjit::rdna::emulator
