// Attributes, items, slices and arithmetic.
#include <algorithm>
#include <cmath>

#include "models/template/jinja/runtime.h"

namespace riftjit::models::jinja {

void refuse_undefined(const Value& value) { refuse("{}", *value.as<Undefined>().why); }

namespace {

// Messages name the thing as jinja2 does.
Value missing(const Value& object, std::string_view name) {
    return Value::undefined(fmt::format("{} has no attribute '{}'", type_name(object), name));
}

bool is_sequence(const Value& value) {
    return value.is<Text>() || (value.is<List*>() && value.as<List*>()->kind != List::Kind::generator);
}

Value bound_method(Runtime& runtime, const Value& object, std::string_view name, Method method) {
    return runtime.heap.callable(std::string(name), [&runtime, object, method](Arguments& arguments) {
        return method(runtime, object, arguments);
    });
}

std::optional<Value> loop_attribute(const Loop& loop, std::string_view name) {
    const auto count = [](size_t value) { return Value(static_cast<Integer>(value)); };
    const size_t length = loop.items.size();
    if (name == "index") return count(loop.index + 1);
    if (name == "index0") return count(loop.index);
    if (name == "revindex") return count(length - loop.index);
    if (name == "revindex0") return count(length - loop.index - 1);
    if (name == "first") return Value(loop.index == 0);
    if (name == "last") return Value(loop.index + 1 == length);
    if (name == "length") return count(length);
    if (name == "depth") return count(loop.depth + 1);
    if (name == "depth0") return count(loop.depth);
    if (name == "previtem") {
        return loop.index > 0 ? loop.items[loop.index - 1] : Value::undefined("there is no previous item");
    }
    if (name == "nextitem") {
        return loop.index + 1 < length ? loop.items[loop.index + 1] : Value::undefined("there is no next item");
    }
    return std::nullopt;
}

}  // namespace

Method find_method(const Value& object, std::string_view name) {
    return object.is<Text>() ? find_string_method(name) : find_container_method(object, name);
}

Value attribute(Runtime& runtime, const Value& object, std::string_view name) {
    if (object.is<Undefined>()) refuse_undefined(object);
    if (const Method method = find_method(object, name)) return bound_method(runtime, object, name, method);
    if (const auto* dict = object.get_if<Dict*>()) {
        runtime.budget.work((*dict)->entries.size() / 8);
        if (const Value* value = (*dict)->find(name)) return *value;
    }
    if (name.starts_with('_'))
        refuse("attribute '{}' of {}: names with a leading underscore are out of reach", name, type_name(object));
    if (const auto* space = object.get_if<Namespace*>()) {
        if (const Value* value = (*space)->find(name)) return *value;
    }
    if (const auto* loop = object.get_if<Loop*>()) {
        if (auto value = loop_attribute(**loop, name)) return *value;
    }
    if (const auto* callable = object.get_if<Callable*>(); callable && name == "name") {
        return Value::literal((*callable)->name);
    }
    return missing(object, name);
}

Value item(Runtime& runtime, const Value& object, const Value& index) {
    if (object.is<Undefined>()) refuse_undefined(object);
    if (const auto* dict = object.get_if<Dict*>()) {
        const bool hashable = !index.is<Dict*>() && !(index.is<List*>() && index.as<List*>()->kind == List::Kind::list);
        if (const Value* value = hashable ? (*dict)->find(runtime.budget, index) : nullptr) return *value;
    }
    if (const auto position = index.integer()) {
        const bool indexable = is_sequence(object);
        const Integer size = indexable ? static_cast<Integer>(length(runtime.budget, object)) : 0;
        const Integer at = *position < 0 ? *position + size : *position;
        if (!indexable || at < 0 || at >= size) {
            return Value::undefined(fmt::format("{} has no element {}", type_name(object), *position));
        }
        if (const auto* list = object.get_if<List*>()) return (*list)->items[static_cast<size_t>(at)];
        const Text& text = object.as<Text>();
        runtime.budget.work(text.size() / 32);
        const size_t begin = byte_offset(text.view(), static_cast<size_t>(at));
        return slice(runtime.budget, text, begin, begin + code_point(text.view(), begin).size);
    }
    if (const auto* name = index.get_if<Text>()) {
        if (object.is<Dict*>() && !find_method(object, name->view())) return missing(object, name->view());
        return attribute(runtime, object, name->view());
    }
    return Value::undefined(fmt::format("{} has no element {}", type_name(object), type_name(index)));
}

namespace {

// The positions that begin:end:step visits in a sequence of `size` items, by Python's rules.
std::vector<size_t> slice_positions(size_t size, const SliceBounds& bounds) {
    const Integer count = static_cast<Integer>(size), step = bounds.step.value_or(1);
    if (step == 0) refuse("a slice's step cannot be zero");
    const Integer lowest = step > 0 ? 0 : -1, highest = step > 0 ? count : count - 1;
    const auto clamp = [&](std::optional<Integer> bound, Integer otherwise) {
        if (!bound) return otherwise;
        return std::clamp(*bound < 0 ? *bound + count : *bound, lowest, highest);
    };
    const Integer begin = clamp(bounds.begin, step > 0 ? lowest : highest);
    const Integer end = clamp(bounds.end, step > 0 ? highest : lowest);
    std::vector<size_t> positions;
    for (Integer i = begin; step > 0 ? i < end : i > end; i += step) positions.push_back(static_cast<size_t>(i));
    return positions;
}

Text slice_text(Runtime& runtime, const Text& text, const SliceBounds& bounds) {
    runtime.budget.memory(text.size() * 2 * sizeof(size_t));
    const auto offsets = character_offsets(text.view());
    const auto positions = slice_positions(offsets.size() - 1, bounds);
    if (positions.empty()) return {};
    if (bounds.step.value_or(1) == 1) {
        return slice(runtime.budget, text, offsets[positions.front()], offsets[positions.back() + 1]);
    }
    TextBuilder builder(runtime.budget);
    for (const size_t position : positions) builder.append(text, offsets[position], offsets[position + 1]);
    return builder.build();
}

}  // namespace

Value slice(Runtime& runtime, const Value& object, const SliceBounds& bounds) {
    if (object.is<Undefined>()) refuse_undefined(object);
    if (const auto* text = object.get_if<Text>()) return slice_text(runtime, *text, bounds);
    const auto* list = object.get_if<List*>();
    if (!list || !is_sequence(object)) return Value::undefined(fmt::format("{} cannot be sliced", type_name(object)));
    std::vector<Value> items;
    runtime.budget.memory((*list)->items.size() * sizeof(size_t));
    for (const size_t position : slice_positions((*list)->items.size(), bounds)) {
        items.push_back((*list)->items[position]);
    }
    return runtime.heap.list(std::move(items), (*list)->kind);
}

namespace {

std::string_view symbol(BinaryOperator op) {
    switch (op) {
        case BinaryOperator::add:
            return "+";
        case BinaryOperator::subtract:
            return "-";
        case BinaryOperator::multiply:
            return "*";
        case BinaryOperator::divide:
            return "/";
        case BinaryOperator::floor_divide:
            return "//";
        case BinaryOperator::modulo:
            return "%";
        case BinaryOperator::power:
            return "**";
    }
    return "?";
}

[[noreturn]] void refuse_overflow() { refuse("integer overflow"); }

// Far beyond JSON's integers, and small enough that no single operation on two such numbers can wrap.
Integer checked(Integer value) {
    constexpr Integer kLimit = Integer(1) << 100;
    if (value > kLimit || value < -kLimit) refuse_overflow();
    return value;
}

Integer floor_divide(Integer a, Integer b) {
    const Integer quotient = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

Integer integer_power(Integer base, Integer exponent) {
    Integer result = 1;
    if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    for (Integer i = 0; i < exponent; ++i) {
        if (__builtin_mul_overflow(result, base, &result)) refuse_overflow();
    }
    return checked(result);
}

Value integer_arithmetic(BinaryOperator op, Integer a, Integer b) {
    Integer result = 0;
    const bool divides =
        op == BinaryOperator::divide || op == BinaryOperator::floor_divide || op == BinaryOperator::modulo;
    if (divides && b == 0) refuse("division by zero");
    switch (op) {
        case BinaryOperator::add:
            return checked(a + b);
        case BinaryOperator::subtract:
            return checked(a - b);
        case BinaryOperator::multiply:
            if (__builtin_mul_overflow(a, b, &result)) refuse_overflow();
            return checked(result);
        case BinaryOperator::divide:
            return static_cast<double>(a) / static_cast<double>(b);
        case BinaryOperator::floor_divide:
            return floor_divide(a, b);
        case BinaryOperator::modulo:
            return a - floor_divide(a, b) * b;
        case BinaryOperator::power:
            if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
            return integer_power(a, b);
    }
    return result;
}

Value real_arithmetic(BinaryOperator op, double a, double b) {
    const bool divides =
        op == BinaryOperator::divide || op == BinaryOperator::floor_divide || op == BinaryOperator::modulo;
    if (divides && b == 0) refuse("division by zero");
    switch (op) {
        case BinaryOperator::add:
            return a + b;
        case BinaryOperator::subtract:
            return a - b;
        case BinaryOperator::multiply:
            return a * b;
        case BinaryOperator::divide:
            return a / b;
        case BinaryOperator::floor_divide:
            return std::floor(a / b);
        case BinaryOperator::modulo: {
            const double rest = std::fmod(a, b);
            return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
        }
        case BinaryOperator::power:
            return std::pow(a, b);
    }
    return 0.0;
}

Value repeat(Runtime& runtime, const Value& sequence, Integer count) {
    count = std::max<Integer>(count, 0);
    const Integer size =
        static_cast<Integer>(sequence.is<Text>() ? sequence.as<Text>().size() : sequence.as<List*>()->items.size());
    if (count > (1 << 30) || size * count > (1 << 30))
        refuse("{} repeated {} times is too long", type_name(sequence), count);
    if (const auto* text = sequence.get_if<Text>()) {
        TextBuilder builder(runtime.budget);
        builder.append_repeated(*text, static_cast<size_t>(count));
        return builder.build();
    }
    const List& list = *sequence.as<List*>();
    runtime.budget.memory(static_cast<uint64_t>(size * count) * sizeof(Value));
    std::vector<Value> items;
    for (Integer i = 0; i < count && size > 0; ++i) items.insert(items.end(), list.items.begin(), list.items.end());
    return runtime.heap.list(std::move(items), list.kind);
}

std::optional<Value> add_sequences(Runtime& runtime, const Value& left, const Value& right) {
    if (left.is<Text>() && right.is<Text>()) return join(runtime.budget, left.as<Text>(), right.as<Text>());
    if (!left.is<List*>() || !right.is<List*>() || left.as<List*>()->kind != right.as<List*>()->kind)
        return std::nullopt;
    std::vector<Value> items = iterate(runtime.budget, left);
    const auto& more = right.as<List*>()->items;
    runtime.budget.memory(more.size() * sizeof(Value));
    items.insert(items.end(), more.begin(), more.end());
    return runtime.heap.list(std::move(items), left.as<List*>()->kind);
}

}  // namespace

Value arithmetic(Runtime& runtime, BinaryOperator op, const Value& left, const Value& right) {
    if (left.is<Undefined>()) refuse_undefined(left);
    if (op == BinaryOperator::modulo && left.is<Text>()) return format_percent(runtime, left.as<Text>(), right);
    if (right.is<Undefined>()) refuse_undefined(right);
    if (left.integer() && right.integer()) return integer_arithmetic(op, *left.integer(), *right.integer());
    if (left.number() && right.number()) return real_arithmetic(op, *left.number(), *right.number());
    if (op == BinaryOperator::add) {
        if (auto sum = add_sequences(runtime, left, right)) return *std::move(sum);
    }
    if (op == BinaryOperator::multiply && is_sequence(left) && right.integer())
        return repeat(runtime, left, *right.integer());
    if (op == BinaryOperator::multiply && is_sequence(right) && left.integer())
        return repeat(runtime, right, *left.integer());
    refuse("cannot compute {} {} {}", type_name(left), symbol(op), type_name(right));
}

Value negate(const Value& value) {
    if (value.is<Undefined>()) refuse_undefined(value);
    if (const auto integer = value.integer()) return -*integer;
    if (const double* real = value.get_if<double>()) return -*real;
    refuse("cannot negate {}", type_name(value));
}

}  // namespace riftjit::models::jinja
