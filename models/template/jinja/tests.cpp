// What stands after `is`, and in select and its kin.
#include <algorithm>

#include "models/template/jinja/runtime.h"

namespace riftjit::models::jinja {

namespace {

bool is_defined(Runtime&, const Value& value, Arguments&) { return !value.is<Undefined>(); }
bool is_undefined(Runtime&, const Value& value, Arguments&) { return value.is<Undefined>(); }
bool is_none(Runtime&, const Value& value, Arguments&) { return value.is<None>(); }
bool is_boolean(Runtime&, const Value& value, Arguments&) { return value.is<bool>(); }
bool is_false(Runtime&, const Value& value, Arguments&) { return value.is<bool>() && !value.as<bool>(); }
bool is_true(Runtime&, const Value& value, Arguments&) { return value.is<bool>() && value.as<bool>(); }
bool is_integer(Runtime&, const Value& value, Arguments&) { return value.is<Integer>(); }
bool is_float(Runtime&, const Value& value, Arguments&) { return value.is<double>(); }
bool is_number(Runtime&, const Value& value, Arguments&) { return value.number().has_value(); }
bool is_string(Runtime&, const Value& value, Arguments&) { return value.is<Text>(); }
bool is_mapping(Runtime&, const Value& value, Arguments&) { return value.is<Dict*>(); }
bool is_callable(Runtime&, const Value& value, Arguments&) { return value.is<Callable*>(); }
bool is_escaped(Runtime&, const Value&, Arguments&) { return false; }

bool is_sequence(Runtime&, const Value& value, Arguments&) {
    if (value.is<List*>()) return value.as<List*>()->kind != List::Kind::generator;
    return value.is<Text>() || value.is<Dict*>() || value.is<Undefined>();
}
bool is_iterable(Runtime& runtime, const Value& value, Arguments& arguments) {
    return is_sequence(runtime, value, arguments) || value.is<List*>() || value.is<Loop*>();
}

bool is_lower(Runtime& runtime, const Value& value, Arguments& arguments) {
    return truthy(find_string_method("islower")(runtime, to_text(runtime.budget, value), arguments));
}
bool is_upper(Runtime& runtime, const Value& value, Arguments& arguments) {
    return truthy(find_string_method("isupper")(runtime, to_text(runtime.budget, value), arguments));
}

Integer remainder(Runtime& runtime, const Value& value, const Value& divisor) {
    const Value rest = arithmetic(runtime, BinaryOperator::modulo, value, divisor);
    if (!rest.integer()) refuse("expected an integer, got {}", type_name(value));
    return *rest.integer();
}
bool is_odd(Runtime& runtime, const Value& value, Arguments&) { return remainder(runtime, value, Integer(2)) == 1; }
bool is_even(Runtime& runtime, const Value& value, Arguments&) { return remainder(runtime, value, Integer(2)) == 0; }
bool is_divisible_by(Runtime& runtime, const Value& value, Arguments& arguments) {
    return remainder(runtime, value, arguments.require("divisibleby", "num")) == 0;
}

bool is_equal(Runtime& runtime, const Value& value, Arguments& arguments) {
    return equal(runtime.budget, value, arguments.require("eq", "other"));
}
bool is_not_equal(Runtime& runtime, const Value& value, Arguments& arguments) {
    return !equal(runtime.budget, value, arguments.require("ne", "other"));
}
bool is_less(Runtime& runtime, const Value& value, Arguments& arguments) {
    return less(runtime.budget, value, arguments.require("lt", "other"));
}
bool is_greater(Runtime& runtime, const Value& value, Arguments& arguments) {
    return less(runtime.budget, arguments.require("gt", "other"), value);
}
bool is_at_most(Runtime& runtime, const Value& value, Arguments& arguments) {
    const Value other = arguments.require("le", "other");
    return less(runtime.budget, value, other) || equal(runtime.budget, value, other);
}
bool is_at_least(Runtime& runtime, const Value& value, Arguments& arguments) {
    const Value other = arguments.require("ge", "other");
    return less(runtime.budget, other, value) || equal(runtime.budget, value, other);
}
bool is_in(Runtime& runtime, const Value& value, Arguments& arguments) {
    return contains(runtime.budget, arguments.require("in", "seq"), value);
}

// Python's `is`, for the constants that templates compare with.
bool is_same_as(Runtime& runtime, const Value& value, Arguments& arguments) {
    const Value other = arguments.require("sameas", "other");
    return value.variant().index() == other.variant().index() && equal(runtime.budget, value, other);
}

bool is_filter(Runtime&, const Value& value, Arguments&) {
    return value.is<Text>() && find_filter(value.as<Text>().view());
}
bool is_test(Runtime&, const Value& value, Arguments&) {
    return value.is<Text>() && find_test(value.as<Text>().view());
}

}  // namespace

TestFunction find_test(std::string_view name) {
    static constexpr std::pair<std::string_view, TestFunction> kTests[] = {
        {"!=", is_not_equal},
        {"<", is_less},
        {"<=", is_at_most},
        {"==", is_equal},
        {">", is_greater},
        {">=", is_at_least},
        {"boolean", is_boolean},
        {"callable", is_callable},
        {"defined", is_defined},
        {"divisibleby", is_divisible_by},
        {"eq", is_equal},
        {"equalto", is_equal},
        {"escaped", is_escaped},
        {"even", is_even},
        {"false", is_false},
        {"filter", is_filter},
        {"float", is_float},
        {"ge", is_at_least},
        {"greaterthan", is_greater},
        {"gt", is_greater},
        {"in", is_in},
        {"integer", is_integer},
        {"iterable", is_iterable},
        {"le", is_at_most},
        {"lessthan", is_less},
        {"lower", is_lower},
        {"lt", is_less},
        {"mapping", is_mapping},
        {"ne", is_not_equal},
        {"none", is_none},
        {"number", is_number},
        {"odd", is_odd},
        {"sameas", is_same_as},
        {"sequence", is_sequence},
        {"string", is_string},
        {"test", is_test},
        {"true", is_true},
        {"undefined", is_undefined},
        {"upper", is_upper},
    };
    const auto found = std::ranges::find(kTests, name, &std::pair<std::string_view, TestFunction>::first);
    return found == std::end(kTests) ? nullptr : found->second;
}

}  // namespace riftjit::models::jinja
