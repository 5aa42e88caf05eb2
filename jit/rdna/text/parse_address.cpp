#include "jit/rdna/text/parse_address.h"

#include <optional>

#include "jit/rdna/table/syntax.h"
#include "jit/rdna/text/expression.h"
#include "jit/rdna/text/symbolic.h"

namespace riftjit::rdna {
namespace {

struct HintName {
    std::string_view name;
    uint8_t hint;
};
constexpr HintName kLoadHints[] = {{"RT", 0},     {"NT", 1},    {"HT", 2},    {"LU", 3},
                                   {"BYPASS", 3}, {"NT_RT", 4}, {"RT_NT", 5}, {"NT_HT", 6}};
constexpr HintName kStoreHints[] = {{"RT", 0},    {"NT", 1},    {"HT", 2},    {"RT_WB", 3}, {"BYPASS", 3},
                                    {"NT_RT", 4}, {"RT_NT", 5}, {"NT_HT", 6}, {"NT_WB", 7}};
constexpr HintName kAtomicHints[] = {{"RT", 0},        {"RETURN", 1},     {"RT_RETURN", 1}, {"NT", 2},
                                     {"NT_RETURN", 3}, {"CASCADE_RT", 4}, {"CASCADE_NT", 6}};

template <size_t N>
std::optional<uint8_t> find_hint(const HintName (&names)[N], std::string_view name) {
    for (const HintName& hint : names)
        if (hint.name == name) return hint.hint;
    return std::nullopt;
}

std::optional<uint8_t> temporal_hint(MemoryKind memory, std::string_view value) {
    std::string_view prefix = "TH_LOAD_";
    if (memory == MemoryKind::store) prefix = "TH_STORE_";
    if (memory == MemoryKind::atomic) prefix = "TH_ATOMIC_";
    if (value == "TH_DEFAULT") return 0;
    const bool has_prefix = value.starts_with(prefix);
    const std::string_view name = has_prefix ? value.substr(prefix.size()) : value;
    if (const std::optional<int64_t> number = parse_number(name); number && *number >= 0 && *number <= 7)
        return static_cast<uint8_t>(*number);
    if (!has_prefix) return std::nullopt;
    if (memory == MemoryKind::store) return find_hint(kStoreHints, name);
    if (memory == MemoryKind::atomic) return find_hint(kAtomicHints, name);
    return find_hint(kLoadHints, name);
}

std::optional<uint8_t> scope(std::string_view value) {
    constexpr std::string_view kScopes[] = {"SCOPE_CU", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS"};
    for (unsigned i = 0; i < 4; ++i)
        if (kScopes[i] == value) return static_cast<uint8_t>(i);
    const std::optional<int64_t> number = parse_number(value);
    return number && *number >= 0 && *number <= 3 ? std::optional(static_cast<uint8_t>(*number)) : std::nullopt;
}

std::unexpected<Error> refuse(const LineModifier& modifier) {
    return fail(ErrorKind::Usage, "takes no {}", modifier.name);
}

Result<void> apply_offset(const LineModifier& modifier, const InstructionInfo& row, Address& address) {
    if (row.two_offsets != (modifier.name != "offset")) return refuse(modifier);
    if (row.opcode == Opcode::ds_swizzle_b32) {
        RIFTJIT_TRY(pattern, parse_swizzle(modifier.value));
        address.offset = pattern;
        return {};
    }
    const std::optional<int64_t> value = parse_number(modifier.value);
    if (!value || *value < INT32_MIN || *value > INT32_MAX)
        return fail(ErrorKind::Usage, "{}: '{}' is no offset", modifier.name, modifier.value);
    if (modifier.name == "offset") return address.offset = static_cast<int32_t>(*value), Result<void>();
    if (*value < 0 || *value > 255)
        return fail(ErrorKind::Usage, "{}:{} is not between 0 and 255", modifier.name, modifier.value);
    if (modifier.name == "offset0") address.offset = static_cast<int32_t>(*value);
    if (modifier.name == "offset1") address.offset1 = static_cast<uint8_t>(*value);
    return {};
}

Result<void> apply_cache_policy(Generation generation, const LineModifier& modifier, MemoryKind memory,
                                CachePolicy& cache) {
    const bool is_new = generation == Generation::gfx12;
    if (modifier.name == "th" && is_new) {
        const std::optional<uint8_t> hint = temporal_hint(memory, modifier.value);
        if (!hint) return fail(ErrorKind::Usage, "th:{} is no temporal hint of this instruction", modifier.value);
        cache.temporal_hint = *hint;
        return {};
    }
    if (modifier.name == "scope" && is_new) {
        const std::optional<uint8_t> value = scope(modifier.value);
        if (!value)
            return fail(ErrorKind::Usage, "scope:{} is none of SCOPE_CU, SCOPE_SE, SCOPE_DEV, SCOPE_SYS",
                        modifier.value);
        cache.scope = *value;
        return {};
    }
    if (is_new && (modifier.name == "glc" || modifier.name == "slc" || modifier.name == "dlc"))
        return fail(ErrorKind::Usage, "{} is th: and scope: on this target", modifier.name);
    if (modifier.name == "glc") return cache.glc = true, Result<void>();
    if (modifier.name == "slc") return cache.slc = true, Result<void>();
    if (modifier.name == "dlc") return cache.dlc = true, Result<void>();
    return refuse(modifier);
}

}  // namespace

Result<void> apply_address_modifier(Generation generation, const LineModifier& modifier, Instruction& instruction) {
    const InstructionInfo& row = info(instruction.opcode);
    Address& address = instruction.address;
    const std::string_view name = modifier.name;
    if (name == "offset" || name == "offset0" || name == "offset1") return apply_offset(modifier, row, address);
    if (name == "gds" && row.format == Format::DS) return address.gds = true, Result<void>();
    if (name == "lds" && row.format != Format::DS) return address.lds = true, Result<void>();
    if (row.format == Format::MUBUF) {
        if (name == "tfe") return address.tfe = true, Result<void>();
        if (name == "offen") return address.offset_enable = true, Result<void>();
        if (name == "idxen") return address.index_enable = true, Result<void>();
    }
    if (row.format == Format::DS) return refuse(modifier);
    return apply_cache_policy(generation, modifier, row.memory, address.cache);
}

}  // namespace riftjit::rdna
