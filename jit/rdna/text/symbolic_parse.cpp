#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <vector>

#include "jit/rdna/text/expression.h"
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
    const std::optional<int64_t> value = parse_number(text);
    if (!value) return fail(ErrorKind::Usage, "'{}' is no {}", text, what);
    if (*value < 0 || *value > limit) return fail(ErrorKind::Usage, "{} {} is not between 0 and {}", what, text, limit);
    return static_cast<unsigned>(*value);
}

// A number in place of a message is any message, which may carry any operation and stream; a name is held to what that
// message takes.
struct MessageParts {
    unsigned id, operation = 0, stream = 0;
};

// Names of operations are known whatever the message, but to MSG_SYSMSG its own alone.
Result<unsigned> message_operation(unsigned id, std::string_view text) {
    constexpr unsigned kGeometryDone = 3, kSystem = 15;
    for (unsigned operation = 0; operation < 8; ++operation)
        if (!text.empty() && text == message_operation_name(id == kSystem ? kSystem : kGeometryDone, operation))
            return operation;
    return number_up_to(text, 7, "operation of this message");
}

Result<void> check_named_message(Generation generation, const std::vector<std::string_view>& arguments,
                                 const MessageParts& message) {
    const std::string_view name = arguments[0];
    const bool takes_operation = message_takes_operation(generation, message.id);
    if (takes_operation && arguments.size() == 1) return fail(ErrorKind::Usage, "{} lacks its operation", name);
    if (!takes_operation && arguments.size() > 1) return fail(ErrorKind::Usage, "{} takes no operation", name);
    if (takes_operation && message_operation_name(message.id, message.operation).empty())
        return fail(ErrorKind::Usage, "'{}' is no operation of {}", arguments[1], name);
    if (arguments.size() > 2 && !message_takes_stream(message.id, message.operation))
        return fail(ErrorKind::Usage, "{} takes no stream with this operation", name);
    return {};
}

Result<uint16_t> hardware_register_field(unsigned id, std::string_view offset, std::string_view width) {
    RIFTJIT_TRY(first, number_up_to(offset, 31, "bit offset"));
    RIFTJIT_TRY(bits, number_up_to(width, 32, "bit width"));
    if (bits == 0) return fail(ErrorKind::Usage, "a width of 0 bits");
    return static_cast<uint16_t>(id | first << 6 | (bits - 1) << 11);
}

// "{id: 1, offset: 0, size: 4}", each field at most once and in any order, and all of them numbers.
Result<uint16_t> parse_register_fields(std::string_view text) {
    struct {
        std::string_view name, value;
        bool is_given = false;
    } fields[] = {{"id", "0"}, {"offset", "0"}, {"size", "32"}};
    const std::string_view inside = trim(text.substr(1, text.size() - 2));
    if (!inside.empty())
        for (const LinePiece& piece : split_outside_brackets(inside, 1, ',')) {
            const size_t colon = piece.text.find(':');
            const auto field = std::ranges::find(fields, trim(piece.text.substr(0, colon)),
                                                 [](const auto& each) { return each.name; });
            if (colon == std::string_view::npos || field == std::end(fields))
                return fail(ErrorKind::Usage, "'{}' is none of id:, offset: and size: with a number", piece.text);
            if (field->is_given) return fail(ErrorKind::Usage, "{}: is given twice", field->name);
            field->value = trim(piece.text.substr(colon + 1)), field->is_given = true;
        }
    RIFTJIT_TRY(id, number_up_to(fields[0].value, 63, "number of a hardware register"));
    return hardware_register_field(id, fields[1].value, fields[2].value);
}

// "a(1) & b(2)", "a(1), b(2)", "a(1) b(2)": the calls one after the other.
struct CounterCall {
    std::string_view name, argument;
};
Result<std::vector<CounterCall>> counter_calls(std::string_view text) {
    std::vector<CounterCall> calls;
    while (!(text = trim(text)).empty()) {
        if (!calls.empty() && (text.front() == '&' || text.front() == ',')) text = trim(text.substr(1));
        const size_t open = text.find('(');
        size_t close = open;
        for (size_t depth = 0; close < text.size(); ++close) {
            if (text[close] == '(') ++depth;
            if (text[close] == ')' && --depth == 0) break;
        }
        if (close >= text.size()) return fail(ErrorKind::Usage, "'{}' is no counter(value)", text);
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
    if (arguments->size() > 3)
        return fail(ErrorKind::Usage, "sendmsg(...) takes a message, an operation and a stream, and no more");
    const std::optional<uint8_t> named = number_of(message_names(), arguments->at(0), generation);
    MessageParts message{named.value_or(0)};
    if (!named) {
        RIFTJIT_TRY(id, number_up_to(arguments->at(0), generation == Generation::gfx10 ? 15 : 255, "message"));
        message.id = id;
    }
    if (arguments->size() > 1) {
        RIFTJIT_TRY(operation, message_operation(message.id, arguments->at(1)));
        message.operation = operation;
    }
    if (arguments->size() > 2) {
        RIFTJIT_TRY(stream, number_up_to(arguments->at(2), 3, "stream"));
        message.stream = stream;
    }
    if (named) RIFTJIT_TRY_VOID(check_named_message(generation, *arguments, message));
    return static_cast<uint16_t>(message.id | message.operation << 4 | message.stream << 8);
}

Result<uint16_t> parse_hardware_register(Generation generation, std::string_view text) {
    if (text.starts_with('{') && text.ends_with('}')) return parse_register_fields(text);
    const auto arguments = call_arguments(text, "hwreg");
    if (!arguments) return fail(ErrorKind::Usage, "'{}' is no hwreg(...), no {{id: ...}} and no number", text);
    if (arguments->size() != 1 && arguments->size() != 3)
        return fail(ErrorKind::Usage, "hwreg(...) takes a register, or a register, an offset and a width");
    const std::optional<uint8_t> named = number_of(hardware_register_names(), arguments->at(0), generation);
    unsigned id = named.value_or(0);
    if (!named) {
        RIFTJIT_TRY(number, number_up_to(arguments->at(0), 63, "hardware register"));
        id = number;
    }
    if (arguments->size() == 1) return hardware_register_field(id, "0", "32");
    return hardware_register_field(id, arguments->at(1), arguments->at(2));
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
