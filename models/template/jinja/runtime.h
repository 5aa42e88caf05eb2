// What every operation, filter, test and method works with, and the tables of the last three.
#pragma once

#include <chrono>
#include <string_view>

#include "models/template/jinja/ast.h"
#include "models/template/jinja/value.h"

namespace riftjit::models::jinja {

struct Runtime {
    Budget budget;
    std::chrono::system_clock::time_point now;  // for strftime_now
    Heap heap{budget};

    Runtime(size_t input_bytes, uint64_t most_output_bytes, std::chrono::system_clock::time_point clock)
        : budget(input_bytes, most_output_bytes), now(clock) {}
    Runtime(const Runtime&) = delete;

    Value list(std::vector<Value> items) { return heap.list(std::move(items)); }
    Value list(const std::vector<Text>& texts) { return heap.list(std::vector<Value>(texts.begin(), texts.end())); }
    Value generator(std::vector<Value> items) { return heap.list(std::move(items), List::Kind::generator); }
    Value tuple(std::vector<Value> items) { return heap.tuple(std::move(items)); }
};

// a.b, a[b], a[b:c:d], a + b
Value attribute(Runtime& runtime, const Value& object, std::string_view name);
Value item(Runtime& runtime, const Value& object, const Value& index);
struct SliceBounds {
    std::optional<Integer> begin, end, step;
};
Value slice(Runtime& runtime, const Value& object, const SliceBounds& bounds);
Value arithmetic(Runtime& runtime, BinaryOperator op, const Value& left, const Value& right);
Value negate(const Value& value);
[[noreturn]] void refuse_undefined(const Value& value);

// Methods of strings, lists, dictionaries and loops. Null: no such method.
using Method = Value (*)(Runtime& runtime, const Value& self, Arguments& arguments);
Method find_method(const Value& object, std::string_view name);
Method find_string_method(std::string_view name);
Method find_container_method(const Value& object, std::string_view name);

using FilterFunction = Value (*)(Runtime& runtime, const Value& input, Arguments& arguments);
FilterFunction find_filter(std::string_view name);
FilterFunction find_text_filter(std::string_view name);
FilterFunction find_sequence_filter(std::string_view name);

using TestFunction = bool (*)(Runtime& runtime, const Value& value, Arguments& arguments);
TestFunction find_test(std::string_view name);

// "{:>5}".format(x) and "%5s" % x
Text format_braces(Runtime& runtime, const Text& format, Arguments& arguments);
Text format_percent(Runtime& runtime, const Text& format, const Value& arguments);

}  // namespace riftjit::models::jinja
