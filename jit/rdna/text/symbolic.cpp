// The printing half; symbolic_parse.cpp reads.
#include "jit/rdna/text/symbolic.h"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "jit/rdna/text/symbolic_fields.h"
#include "jit/rdna/text/symbolic_names.h"

namespace riftjit::rdna {
namespace {

// gfx10's messages 2, 3 and 15 carry an operation, the first two of them a stream as well.
std::string print_gfx10_message(uint16_t message) {
    const unsigned id = message & 15u, operation = message >> 4 & 7u, stream = message >> 8 & 3u;
    const std::string_view name = name_of(message_names(), id, Generation::gfx10);
    const std::string_view operation_name = message_operation_name(id, operation);
    if (!name.empty()) {
        if (message_takes_stream(id, operation) && !operation_name.empty())
            return fmt::format("sendmsg({}, {}, {})", name, operation_name, stream);
        if (stream == 0 && !operation_name.empty()) return fmt::format("sendmsg({}, {})", name, operation_name);
        if (stream == 0 && operation == 0 && !message_takes_operation(Generation::gfx10, id))
            return fmt::format("sendmsg({})", name);
    }
    if ((id | operation << 4 | stream << 8) == message)
        return fmt::format("sendmsg({}, {}, {})", id, operation, stream);
    return fmt::to_string(message);
}

std::string bitmask_permutation(unsigned and_mask, unsigned or_mask, unsigned xor_mask) {
    std::string pattern;
    const unsigned of_zeros = (0 | or_mask) ^ xor_mask, of_ones = (and_mask | or_mask) ^ xor_mask;
    for (unsigned bit = 16; bit != 0; bit >>= 1) {
        const bool zero = (of_zeros & bit) != 0, one = (of_ones & bit) != 0;
        pattern += zero == one ? (zero ? '1' : '0') : (zero ? 'i' : 'p');
    }
    return pattern;
}

std::string print_bitmask_swizzle(uint16_t pattern) {
    const unsigned and_mask = pattern & 31u, or_mask = pattern >> 5 & 31u, xor_mask = pattern >> 10 & 31u;
    if (and_mask == 31 && or_mask == 0 && std::has_single_bit(xor_mask)) return fmt::format("SWAP,{}", xor_mask);
    if (and_mask == 31 && or_mask == 0 && xor_mask != 0 && std::has_single_bit(xor_mask + 1))
        return fmt::format("REVERSE,{}", xor_mask + 1);
    const unsigned group = 32 - and_mask;
    if (group > 1 && std::has_single_bit(group) && or_mask < group && xor_mask == 0)
        return fmt::format("BROADCAST,{},{}", group, or_mask);
    return fmt::format("BITMASK_PERM,\"{}\"", bitmask_permutation(and_mask, or_mask, xor_mask));
}

void append(std::string& text, std::string_view separator, const std::string& part) {
    if (!text.empty()) text += separator;
    text += part;
}

}  // namespace

std::string print_message(Generation generation, uint16_t message) {
    if (generation == Generation::gfx10) return print_gfx10_message(message);
    const unsigned id = message & 255u;
    const std::string_view name = name_of(message_names(), id, generation);
    if (!name.empty()) return fmt::format("sendmsg({})", name);
    return id == message ? fmt::format("sendmsg({}, 0, 0)", id) : fmt::to_string(message);
}

std::string print_hardware_register(Generation generation, uint16_t field) {
    const unsigned id = field & 63u, offset = field >> 6 & 31u, size = (field >> 11) + 1u;
    const std::string_view known = name_of(hardware_register_names(), id, generation);
    const std::string name = known.empty() ? fmt::to_string(id) : std::string(known);
    if (offset == 0 && size == 32) return fmt::format("hwreg({})", name);
    return fmt::format("hwreg({}, {}, {})", name, offset, size);
}

std::string print_wait_counts(Generation generation, uint16_t counts) {
    bool all_idle = true;
    for (const WaitCounter& counter : wait_counters(generation)) all_idle &= counter.get(counts) == counter.limit();
    std::string text;
    for (const WaitCounter& counter : wait_counters(generation)) {
        const unsigned value = counter.get(counts);
        if (all_idle || value != counter.limit()) append(text, " ", fmt::format("{}({})", counter.name, value));
    }
    return text;
}

std::string print_dependency_counters(uint16_t counters) {
    uint16_t known = 0;
    for (const DependencyCounter& counter : dependency_counters()) known |= counter.mask();
    if ((counters & ~known) != 0) return fmt::format("{:#x}", counters);
    std::string text;
    for (const DependencyCounter& counter : dependency_counters())
        if (counters == known || (counters & counter.mask()) != counter.mask())
            append(text, " ", fmt::format("{}({})", counter.name, (counters & counter.mask()) >> counter.shift));
    return text;
}

std::string print_delay(uint16_t delay) {
    const unsigned first = delay & 15u, skip = delay >> 4 & 7u, second = delay >> 7 & 15u;
    const auto name = [](std::span<const std::string_view> names, unsigned value, std::string_view invalid) {
        return value < names.size() ? names[value] : invalid;
    };
    constexpr std::string_view kBadInstruction = "/* invalid instid value */";
    std::string text;
    if (first != 0) append(text, " | ", fmt::format("instid0({})", name(delay_names(), first, kBadInstruction)));
    if (skip != 0)
        append(text, " | ",
               fmt::format("instskip({})", name(delay_skip_names(), skip, "/* invalid instskip value */")));
    if (second != 0) append(text, " | ", fmt::format("instid1({})", name(delay_names(), second, kBadInstruction)));
    return text.empty() ? "0" : text;
}

std::string print_version(uint16_t version) {
    const unsigned number = version & 255u;
    const std::string_view name = version_name(number);
    if ((version & 0x1F00) != 0) return fmt::format("{:#x}", version);
    std::string text = name.empty() ? fmt::to_string(number) : std::string(name);
    bool is_compound = false;
    for (const VersionFlag& flag : version_flags()) {
        if ((version & flag.bit) == 0) continue;
        text = fmt::format("{}|{}", is_compound ? "(" + text + ")" : text, flag.name);
        is_compound = true;
    }
    return text;
}

std::string print_swizzle(uint16_t pattern) {
    if ((pattern & 0xFF00) == 0x8000)
        return fmt::format("swizzle(QUAD_PERM,{},{},{},{})", pattern & 3, pattern >> 2 & 3, pattern >> 4 & 3,
                           pattern >> 6 & 3);
    if ((pattern & 0x8000) == 0) return fmt::format("swizzle({})", print_bitmask_swizzle(pattern));
    return fmt::to_string(pattern);
}

}  // namespace riftjit::rdna
