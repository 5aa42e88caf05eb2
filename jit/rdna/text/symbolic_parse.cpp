#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <vector>

#include "jit/rdna/text/parse_line.h"
#include "jit/rdna/text/symbolic.h"
#include "jit/rdna/text/symbolic_fields.h"
#include "jit/rdna/text/symbolic_names.h"

namespace riftjit::rdna {
namespace {

// "name(argument, ...)" with its arguments; nothing if `text` is not such a call.
std::optional<std::vector<std::string_view>> call_arguments(std::string_view text, std::string_view name) {
    text = trim(text);
    if (!text.starts_with(name)) return std::nullopt;
    text = trim(text.substr(name.size()));
    if (text.size() < 2 || text.front() != '(' || text.back() != ')') return std::nullopt;
    std::vector<std::string_view> arguments;
    for (const LinePiece& piece : split_outside_brackets(text.substr(1, text.size() - 2), 1, ','))
        arguments.push_back(piece.text);
    return arguments;
}

Result<unsigned> number_up_to(std::string_view text, unsigned limit, std::string_view what) {
    const std::optional<int64_t> value = parse_integer(text);
    if (!value) return fail(ErrorKind::Usage, "'{}' is no {}", text, what);
    if (*value < 0 || *value > limit) return fail(ErrorKind::Usage, "{} {} is not between 0 and {}", what, text, limit);
    return static_cast<unsigned>(*value);
}

Result<unsigned> message_id(Generation generation, std::string_view text) {
    if (const auto number = number_of(message_names(), text, generation)) return *number;
    return number_up_to(text, generation == Generation::gfx10 ? 15 : 255, "message");
}

Result<unsigned> message_operation(unsigned id, std::string_view text) {
    for (unsigned operation = 0; operation < 8; ++operation)
        if (const std::string_view name = message_operation_name(id, operation); !name.empty() && name == text)
            return operation;
    return number_up_to(text, 7, "operation of this message");
}

// "a(1) & b(2)", "a(1), b(2)", "a(1) b(2)": the calls one after the other.
struct CounterCall {
    std::string_view name, argument;
};
Result<std::vector<CounterCall>> counter_calls(std::string_view text) {
    std::vector<CounterCall> calls;
    while (!(text = trim(text)).empty()) {
        if (!calls.empty() && (text.front() == '&' || text.front() == ',')) text = trim(text.substr(1));
        const size_t open = text.find('('), close = text.find(')');
        if (open == std::string_view::npos || close == std::string_view::npos || close < open)
            return fail(ErrorKind::Usage, "'{}' is no counter(value)", text);
        calls.push_back({trim(text.substr(0, open)), text.substr(open + 1, close - open - 1)});
        text = text.substr(close + 1);
    }
    return calls;
}

Result<uint16_t> parse_quad_permutation(const std::vector<std::string_view>& arguments) {
    if (arguments.size() != 5) return fail(ErrorKind::Usage, "swizzle(QUAD_PERM, ...) takes four lanes");
    unsigned pattern = 0x8000;
    for (unsigned i = 0; i < 4; ++i) {
        RIFTJIT_TRY(lane, number_up_to(arguments[i + 1], 3, "lane of a quad"));
        pattern |= lane << 2 * i;
    }
    return static_cast<uint16_t>(pattern);
}

uint16_t bitmask(unsigned and_mask, unsigned or_mask, unsigned xor_mask) {
    return static_cast<uint16_t>(and_mask | or_mask << 5 | xor_mask << 10);
}

Result<uint16_t> parse_bitmask_permutation(std::string_view pattern) {
    if (pattern.size() != 7 || pattern.front() != '"' || pattern.back() != '"')
        return fail(ErrorKind::Usage, "swizzle(BITMASK_PERM, ...) takes five characters of 01pi in quotes, not {}",
                    pattern);
    unsigned and_mask = 0, or_mask = 0, xor_mask = 0;
    for (unsigned i = 0; i < 5; ++i) {
        const char c = pattern[i + 1];
        const unsigned bit = 16u >> i;
        if (c == 'p' || c == 'i') and_mask |= bit;
        if (c == '1') or_mask |= bit;
        if (c == 'i') xor_mask |= bit;
        if (c != 'p' && c != 'i' && c != '0' && c != '1')
            return fail(ErrorKind::Usage, "swizzle(BITMASK_PERM, ...): '{}' is none of 0, 1, p, i", c);
    }
    return bitmask(and_mask, or_mask, xor_mask);
}

bool is_power_of_two(unsigned value) { return value != 0 && (value & (value - 1)) == 0; }

Result<uint16_t> parse_named_swizzle(const std::vector<std::string_view>& arguments) {
    const std::string_view mode = arguments[0];
    if (mode == "QUAD_PERM") return parse_quad_permutation(arguments);
    if (mode == "BITMASK_PERM" && arguments.size() == 2) return parse_bitmask_permutation(arguments[1]);
    if (arguments.size() < 2) return fail(ErrorKind::Usage, "swizzle({}) lacks an argument", mode);
    RIFTJIT_TRY(group, number_up_to(arguments[1], 32, "group size"));
    if (!is_power_of_two(group)) return fail(ErrorKind::Usage, "swizzle group size {} is no power of two", group);
    if (mode == "SWAP" && arguments.size() == 2 && group <= 16) return bitmask(31, 0, group);
    if (mode == "REVERSE" && arguments.size() == 2 && group >= 2) return bitmask(31, 0, group - 1);
    if (mode == "BROADCAST" && arguments.size() == 3 && group >= 2) {
        RIFTJIT_TRY(lane, number_up_to(arguments[2], group - 1, "lane of the group"));
        return bitmask(32 - group, lane, 0);
    }
    return fail(ErrorKind::Usage,
                "swizzle({}, ...) is none of QUAD_PERM, BITMASK_PERM, SWAP, REVERSE, BROADCAST with "
                "their arguments",
                mode);
}

template <class Names>
Result<unsigned> index_of(const Names& names, std::string_view name, std::string_view what) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return fail(ErrorKind::Usage, "'{}' is no {}", name, what);
    return static_cast<unsigned>(found - names.begin());
}

}  // namespace

std::optional<int64_t> parse_integer(std::string_view text) {
    text = trim(text);
    const bool is_negative = text.starts_with('-');
    if (is_negative || text.starts_with('+')) text = trim(text.substr(1));
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = 16, text.remove_prefix(2);
    } else if (text.starts_with("0b") || text.starts_with("0B")) {
        base = 2, text.remove_prefix(2);
    } else if (text.size() > 1 && text.front() == '0') {
        base = 8, text.remove_prefix(1);
    }
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return static_cast<int64_t>(is_negative ? 0 - value : value);
}

Result<uint16_t> parse_message(Generation generation, std::string_view text) {
    const auto arguments = call_arguments(text, "sendmsg");
    if (!arguments) return fail(ErrorKind::Usage, "'{}' is no sendmsg(...) and no number", text);
    RIFTJIT_TRY(id, message_id(generation, arguments->at(0)));
    if (generation != Generation::gfx10) {
        for (size_t i = 1; i < arguments->size(); ++i)
            if (arguments->at(i) != "0")
                return fail(ErrorKind::Usage, "sendmsg({}) takes no operation on this target", arguments->at(0));
        return static_cast<uint16_t>(id);
    }
    unsigned operation = 0, stream = 0;
    if (arguments->size() > 1) {
        RIFTJIT_TRY(parsed, message_operation(id, arguments->at(1)));
        operation = parsed;
    }
    if (arguments->size() > 2) {
        RIFTJIT_TRY(parsed, number_up_to(arguments->at(2), 3, "stream"));
        stream = parsed;
    }
    return static_cast<uint16_t>(id | operation << 4 | stream << 8);
}

Result<uint16_t> parse_hardware_register(Generation generation, std::string_view text) {
    const auto arguments = call_arguments(text, "hwreg");
    if (!arguments) return fail(ErrorKind::Usage, "'{}' is no hwreg(...) and no number", text);
    if (arguments->size() != 1 && arguments->size() != 3)
        return fail(ErrorKind::Usage, "hwreg(...) takes a register, or a register, an offset and a width");
    unsigned id = 0, offset = 0, width = 32;
    if (const auto number = number_of(hardware_register_names(), arguments->at(0), generation)) {
        id = *number;
    } else {
        RIFTJIT_TRY(parsed, number_up_to(arguments->at(0), 63, "hardware register"));
        id = parsed;
    }
    if (arguments->size() == 3) {
        RIFTJIT_TRY(first, number_up_to(arguments->at(1), 31, "bit offset"));
        RIFTJIT_TRY(bits, number_up_to(arguments->at(2), 32, "bit width"));
        if (bits == 0) return fail(ErrorKind::Usage, "hwreg(...): a width of 0 bits");
        offset = first, width = bits;
    }
    return static_cast<uint16_t>(id | offset << 6 | (width - 1) << 11);
}

Result<uint16_t> parse_wait_counts(Generation generation, std::string_view text) {
    RIFTJIT_TRY(calls, counter_calls(text));
    unsigned counts = 0;
    for (const WaitCounter& counter : wait_counters(generation)) counts |= counter.put(counter.limit());
    for (const CounterCall& call : calls) {
        std::string_view name = call.name;
        const bool saturates = name.ends_with("_sat");
        if (saturates) name.remove_suffix(4);
        const auto known = wait_counters(generation);
        const auto counter = std::ranges::find(known, name, &WaitCounter::name);
        if (counter == known.end()) return fail(ErrorKind::Usage, "'{}' is no counter of s_waitcnt", call.name);
        RIFTJIT_TRY(value, number_up_to(call.argument, saturates ? 0xFFFF : counter->limit(), counter->name));
        counts = (counts & ~unsigned{counter->put(counter->limit())}) | counter->put(std::min(value, counter->limit()));
    }
    return static_cast<uint16_t>(counts);
}

Result<uint16_t> parse_dependency_counters(std::string_view text) {
    RIFTJIT_TRY(calls, counter_calls(text));
    unsigned counters = 0;
    for (const DependencyCounter& counter : dependency_counters()) counters |= counter.mask();
    for (const CounterCall& call : calls) {
        const auto known = dependency_counters();
        const auto counter = std::ranges::find(known, call.name, &DependencyCounter::name);
        if (counter == known.end()) return fail(ErrorKind::Usage, "'{}' is no dependency counter", call.name);
        RIFTJIT_TRY(value, number_up_to(call.argument, (1u << counter->width) - 1, counter->name));
        counters = (counters & ~unsigned{counter->mask()}) | value << counter->shift;
    }
    return static_cast<uint16_t>(counters);
}

Result<uint16_t> parse_delay(std::string_view text) {
    unsigned delay = 0;
    for (const LinePiece& piece : split_outside_brackets(text, 1, '|')) {
        const size_t open = piece.text.find('(');
        const std::string_view field = trim(piece.text.substr(0, open));
        const auto arguments = call_arguments(piece.text, field);
        if (!arguments || arguments->size() != 1)
            return fail(ErrorKind::Usage, "'{}' is no instid0(...), instskip(...) or instid1(...)", piece.text);
        if (field == "instskip") {
            RIFTJIT_TRY(skip, index_of(delay_skip_names(), arguments->at(0), "skip of s_delay_alu"));
            delay |= skip << 4;
            continue;
        }
        if (field != "instid0" && field != "instid1")
            return fail(ErrorKind::Usage, "'{}' is no field of s_delay_alu", field);
        RIFTJIT_TRY(dependency, index_of(delay_names(), arguments->at(0), "dependency of s_delay_alu"));
        delay |= dependency << (field == "instid0" ? 0 : 7);
    }
    return static_cast<uint16_t>(delay);
}

Result<uint16_t> parse_version(std::string_view text) {
    unsigned version = 0;
    std::string flat;
    for (const char c : text)
        if (c != '(' && c != ')') flat += c;
    for (const LinePiece& piece : split_outside_brackets(flat, 1, '|')) {
        unsigned bits = 0x10000;
        for (const VersionFlag& flag : version_flags())
            if (flag.name == piece.text) bits = flag.bit;
        for (unsigned number = 0; number < 256; ++number)
            if (const std::string_view name = version_name(number); !name.empty() && name == piece.text) bits = number;
        if (bits == 0x10000) {
            RIFTJIT_TRY(number, number_up_to(piece.text, 0xFFFF, "version"));
            bits = number;
        }
        version |= bits;
    }
    return static_cast<uint16_t>(version);
}

Result<uint16_t> parse_swizzle(std::string_view text) {
    const auto arguments = call_arguments(text, "swizzle");
    if (arguments) return parse_named_swizzle(*arguments);
    RIFTJIT_TRY(pattern, number_up_to(text, 0xFFFF, "swizzle pattern"));
    return static_cast<uint16_t>(pattern);
}

}  // namespace riftjit::rdna
