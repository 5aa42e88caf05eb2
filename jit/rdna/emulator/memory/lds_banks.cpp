// Bank conflicts of LDS. It answers whole dwords in one pass over 32 banks of 4 bytes: 32 lanes of up to 4 bytes, 16 of
// 8, 8 of more. A pass takes as many cycles as some bank has different dwords to give.
#include <algorithm>

#include "jit/rdna/emulator/memory/vmem.h"

namespace riftjit::rdna::emulator::memory {
namespace {

constexpr unsigned kBanks = 32, kBankBytes = 4;

// The most of the different units that one bank has, of units that lie in as many banks one after another.
unsigned fullest_bank(std::span<const uint32_t> units, unsigned banks) {
    std::array<uint32_t, kBanks> unit_of{};
    uint32_t used = 0, conflicts = 0;
    for (const uint32_t unit : units) {
        const unsigned bank = unit & (banks - 1);
        conflicts |= (used >> bank & 1) & static_cast<uint32_t>(unit_of[bank] != unit);
        unit_of[bank] = unit;
        used |= 1u << bank;
    }
    if (conflicts == 0) return 1;
    std::array<std::array<uint32_t, kBanks>, kBanks> different;
    std::array<uint8_t, kBanks> count{};
    for (const uint32_t unit : units) {
        const unsigned bank = unit & (banks - 1);
        const auto begin = different[bank].begin(), end = begin + count[bank];
        if (std::find(begin, end, unit) == end && count[bank] < kBanks) different[bank][count[bank]++] = unit;
    }
    return *std::ranges::max_element(count);
}

// The same of a pass, whose lanes have a unit each and are as many as the banks. Lanes at one distance from each other,
// 2^n times an odd number of units, meet 2^n in a bank.
unsigned fullest_bank_of_pass(std::span<const uint32_t> units) {
    const auto banks = static_cast<uint32_t>(units.size());
    const uint32_t distance = units[1] - units[0];
    uint32_t different = 0;
    for (uint32_t i = 0; i < banks; ++i) different |= units[i] ^ (units[0] + i * distance);
    if (different != 0) return fullest_bank(units, banks);
    return distance == 0 ? 1 : std::min(distance & -distance, banks);
}

// Lanes of more dwords than one, which lie in banks of their own each.
unsigned fullest_bank_by_dwords(const LdsLanes& lanes, unsigned first, unsigned end) {
    std::array<uint32_t, 2 * kMaxLanes> dwords;
    size_t count = 0;
    for (unsigned lane = first; lane < end; ++lane) {
        if ((lanes.active >> lane & 1) == 0) continue;
        const uint64_t begin = lanes.address[lane];
        for (uint64_t dword = begin / 4; dword <= (begin + lanes.bytes - 1) / 4; ++dword)
            dwords[count++] = static_cast<uint32_t>(dword);
    }
    return fullest_bank(std::span(dwords).first(count), kBanks);
}

}  // namespace

uint64_t bank_conflicts(const LdsLanes& lanes, unsigned wave_lanes) {
    const unsigned unit = lanes.bytes <= 4 ? 4 : lanes.bytes == 8 ? 8 : 16;
    const unsigned pass = kBanks * kBankBytes / unit;
    uint64_t further = 0;
    for (unsigned start = 0; start < wave_lanes; start += pass) {
        const uint64_t all = ((uint64_t{1} << pass) - 1) << start, here = lanes.active & all;
        if (here == 0) continue;
        std::array<uint32_t, kBanks> units;
        uint32_t last_byte = 0;  // of a unit
        for (unsigned i = 0; here == all && i < pass; ++i) {
            units[i] = lanes.address[start + i] / unit;
            last_byte = std::max(last_byte, lanes.address[start + i] % unit + lanes.bytes - 1);
        }
        const bool has_a_unit_each = here == all && lanes.bytes != 12 && last_byte < unit;
        further += (has_a_unit_each ? fullest_bank_of_pass(std::span(units).first(pass))
                                    : fullest_bank_by_dwords(lanes, start, start + pass)) -
                   1;
    }
    return further;
}

}  // namespace riftjit::rdna::emulator::memory
