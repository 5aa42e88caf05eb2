// Filters over lists and dictionaries. Where jinja2 returns a generator, these have computed it.
#include <algorithm>
#include <charconv>

#include "models/template/jinja/runtime.h"

namespace riftjit::models::jinja {

namespace {

// "a.b.0": attributes and indices to follow from an item; empty: the item itself.
Value follow(Runtime& runtime, const Value& start, const Value& path) {
    if (path.is<None>()) return start;
    if (path.integer()) return item(runtime, start, path);
    if (!path.is<Text>()) refuse("an attribute must be a string or an integer, not {}", type_name(path));
    Value value = start;
    for (const Text& part : split(runtime.budget, path.as<Text>(), ".", -1)) {
        const std::string_view view = part.view();
        int64_t index;
        const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), index);
        const bool is_index = error == std::errc() && end == view.data() + view.size() && view[0] != '-';
        value = is_index ? item(runtime, value, static_cast<Integer>(index)) : item(runtime, value, part);
    }
    return value;
}

Value without_case(Runtime& runtime, const Value& value) {
    return value.is<Text>() ? Value(change_case(runtime.budget, value.as<Text>(), Case::lower)) : value;
}

enum class Respect : uint8_t { nothing, case_of_letters };
Respect respect(const Value& case_sensitive) {
    return truthy(case_sensitive) ? Respect::case_of_letters : Respect::nothing;
}

Value sort_key(Runtime& runtime, const Value& value, const Value& path, Respect respect) {
    const Value key = follow(runtime, value, path);
    return respect == Respect::nothing ? without_case(runtime, key) : key;
}

Value length_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("length");
    return static_cast<Integer>(length(runtime.budget, input));
}

Value default_filter(Runtime&, const Value& input, Arguments& arguments) {
    Value otherwise = arguments.take("default_value", Value::literal(""));
    const bool replaces_false = truthy(arguments.take("boolean", false));
    arguments.finish("default");
    return input.is<Undefined>() || (replaces_false && !truthy(input)) ? otherwise : input;
}

Value join_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Text separator = to_text(runtime.budget, arguments.take("d", Value::literal("")));
    const Value path = arguments.take("attribute", None{});
    arguments.finish("join");
    TextBuilder builder(runtime.budget);
    bool first = true;
    for (const Value& value : iterate(runtime.budget, input)) {
        if (!std::exchange(first, false)) builder.append(separator);
        builder.append(to_text(runtime.budget, follow(runtime, value, path)));
    }
    return builder.build();
}

Value first_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("first");
    const auto items = iterate(runtime.budget, input);
    return items.empty() ? Value::undefined("no first item, the sequence is empty") : items.front();
}

Value last_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("last");
    const auto items = iterate(runtime.budget, input);
    return items.empty() ? Value::undefined("no last item, the sequence is empty") : items.back();
}

Value list_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("list");
    return runtime.list(iterate(runtime.budget, input));
}

Value reverse_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    arguments.finish("reverse");
    if (input.is<Text>()) return slice(runtime, input, {std::nullopt, std::nullopt, Integer(-1)});
    auto items = iterate(runtime.budget, input);
    std::ranges::reverse(items);
    return runtime.generator(std::move(items));
}

Value items_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    if (input.is<Undefined>()) return runtime.generator({});
    if (!input.is<Dict*>()) refuse("items: expected a dictionary, got {}", type_name(input));
    return runtime.generator(iterate(runtime.budget, find_container_method(input, "items")(runtime, input, arguments)));
}

Value dictsort_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Respect respected = respect(arguments.take("case_sensitive", false));
    const Value by = arguments.take("by", Value::literal("key"));
    const bool reverse = truthy(arguments.take("reverse", false));
    arguments.finish("dictsort");
    if (!input.is<Dict*>()) refuse("dictsort: expected a dictionary, got {}", type_name(input));
    const std::string_view name = by.is<Text>() ? by.as<Text>().view() : "";
    if (name != "key" && name != "value") refuse("dictsort: sorts by 'key' or 'value'");
    struct Item {
        Value key, pair;
    };
    std::vector<Item> items;
    for (const auto& [key, value] : input.as<Dict*>()->entries) {
        items.push_back(
            {sort_key(runtime, name == "key" ? key : value, None{}, respected), runtime.tuple({key, value})});
    }
    std::ranges::stable_sort(items, [&](const Item& a, const Item& b) {
        return reverse ? less(runtime.budget, b.key, a.key) : less(runtime.budget, a.key, b.key);
    });
    std::vector<Value> pairs;
    for (Item& item : items) pairs.push_back(std::move(item.pair));
    return runtime.list(std::move(pairs));
}

// "a,b": a tuple of the values at both paths.
Value sort_keys(Runtime& runtime, const Value& value, const Value& paths, Respect respected) {
    if (!paths.is<Text>() || !paths.as<Text>().view().contains(',')) return sort_key(runtime, value, paths, respected);
    std::vector<Value> keys;
    for (const Text& path : split(runtime.budget, paths.as<Text>(), ",", -1)) {
        keys.push_back(sort_key(runtime, value, path, respected));
    }
    return runtime.tuple(std::move(keys));
}

Value sort_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const bool reverse = truthy(arguments.take("reverse", false));
    const Respect respected = respect(arguments.take("case_sensitive", false));
    const Value path = arguments.take("attribute", None{});
    arguments.finish("sort");
    struct Item {
        Value key, value;
    };
    std::vector<Item> items;
    for (Value& value : iterate(runtime.budget, input)) {
        Value key = sort_keys(runtime, value, path, respected);
        items.push_back({std::move(key), std::move(value)});
    }
    std::ranges::stable_sort(items, [&](const Item& a, const Item& b) {
        return reverse ? less(runtime.budget, b.key, a.key) : less(runtime.budget, a.key, b.key);
    });
    std::vector<Value> values;
    for (Item& item : items) values.push_back(std::move(item.value));
    return runtime.list(std::move(values));
}

Value unique_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Respect respected = respect(arguments.take("case_sensitive", false));
    const Value path = arguments.take("attribute", None{});
    arguments.finish("unique");
    std::vector<Value> keys, values;
    for (const Value& value : iterate(runtime.budget, input)) {
        Value key = sort_key(runtime, value, path, respected);
        const bool seen =
            std::ranges::any_of(keys, [&](const Value& other) { return equal(runtime.budget, key, other); });
        if (seen) continue;
        keys.push_back(std::move(key));
        values.push_back(value);
    }
    return runtime.generator(std::move(values));
}

enum class Extreme : uint8_t { least, greatest };

template <Extreme wanted>
Value extreme_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Respect respected = respect(arguments.take("case_sensitive", false));
    const Value path = arguments.take("attribute", None{});
    arguments.finish("min or max");
    std::optional<std::pair<Value, Value>> best;  // key, value
    for (const Value& value : iterate(runtime.budget, input)) {
        Value key = sort_key(runtime, value, path, respected);
        const bool better = !best || (wanted == Extreme::least ? less(runtime.budget, key, best->first)
                                                               : less(runtime.budget, best->first, key));
        if (better) best.emplace(std::move(key), value);
    }
    return best ? best->second : Value::undefined("no aggregated item, the sequence is empty");
}

Value sum_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Value path = arguments.take("attribute", None{});
    Value sum = arguments.take("start", Integer(0));
    arguments.finish("sum");
    for (const Value& value : iterate(runtime.budget, input)) {
        sum = arithmetic(runtime, BinaryOperator::add, sum, follow(runtime, value, path));
    }
    return sum;
}

Value batch_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Integer size = arguments.take_integer("batch", "linecount", std::nullopt);
    const Value fill = arguments.take("fill_with", None{});
    arguments.finish("batch");
    if (size < 1 || size > kMaxRange) refuse("batch: a size of {} is outside 1 to {}", size, kMaxRange);
    std::vector<Value> batches, batch;
    for (const Value& value : iterate(runtime.budget, input)) {
        if (static_cast<Integer>(batch.size()) == size) batches.push_back(runtime.list(std::exchange(batch, {})));
        batch.push_back(value);
    }
    if (!batch.empty()) {
        if (!fill.is<None>()) batch.resize(static_cast<size_t>(size), fill);
        batches.push_back(runtime.list(std::move(batch)));
    }
    return runtime.generator(std::move(batches));
}

Value map_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    std::vector<Value> results;
    const auto items = truthy(input) ? iterate(runtime.budget, input) : std::vector<Value>();  // none is accepted
    if (arguments.positional.empty()) {
        const Value path = arguments.require("map", "attribute");
        const Value otherwise = arguments.take("default", None{});
        arguments.finish("map");
        for (const Value& value : items) {
            Value result = follow(runtime, value, path);
            results.push_back(result.is<Undefined>() && !otherwise.is<None>() ? otherwise : result);
        }
        return runtime.generator(std::move(results));
    }
    const Text name = arguments.require_text("map", "filter");
    const FilterFunction filter = find_filter(name.view());
    if (!filter) refuse("unknown filter '{}'", name.view());
    for (const Value& value : items) {
        runtime.budget.work(1);
        Arguments inner;
        inner.positional.assign(arguments.positional.begin() + 1, arguments.positional.end());
        inner.named = arguments.named;
        results.push_back(filter(runtime, value, inner));
    }
    return runtime.generator(std::move(results));
}

enum class Keep : uint8_t { passing, failing };
enum class Subject : uint8_t { item, attribute };

// select, reject, selectattr, rejectattr: [attribute,] [test, arguments of the test…]
template <Keep keep, Subject subject>
Value select_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    size_t skipped = 0;
    Value path = None{};
    if (subject == Subject::attribute) {
        path = arguments.require("a filter by attribute", "attribute");
        ++skipped;
    }
    TestFunction test = nullptr;
    if (skipped < arguments.positional.size()) {
        const Text name = arguments.require_text("a filter by test", "test");
        test = find_test(name.view());
        if (!test) refuse("unknown test '{}'", name.view());
        ++skipped;
    }
    std::vector<Value> kept;
    if (!truthy(input)) return runtime.generator(std::move(kept));  // none is accepted, as in jinja2
    for (const Value& value : iterate(runtime.budget, input)) {
        runtime.budget.work(1);
        Arguments inner;
        inner.positional.assign(arguments.positional.begin() + static_cast<ptrdiff_t>(skipped),
                                arguments.positional.end());
        inner.named = arguments.named;
        const Value tested = follow(runtime, value, path);
        const bool passes = test ? test(runtime, tested, inner) : truthy(tested);
        if (passes == (keep == Keep::passing)) kept.push_back(value);
    }
    return runtime.generator(std::move(kept));
}

Value attr_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
    const Text name = arguments.require_text("attr", "name");
    arguments.finish("attr");
    return attribute(runtime, input, name.view());
}

}  // namespace

FilterFunction find_sequence_filter(std::string_view name) {
    static constexpr std::pair<std::string_view, FilterFunction> kFilters[] = {
        {"attr", attr_filter},
        {"batch", batch_filter},
        {"count", length_filter},
        {"d", default_filter},
        {"default", default_filter},
        {"dictsort", dictsort_filter},
        {"first", first_filter},
        {"items", items_filter},
        {"join", join_filter},
        {"last", last_filter},
        {"length", length_filter},
        {"list", list_filter},
        {"map", map_filter},
        {"max", extreme_filter<Extreme::greatest>},
        {"min", extreme_filter<Extreme::least>},
        {"reject", select_filter<Keep::failing, Subject::item>},
        {"rejectattr", select_filter<Keep::failing, Subject::attribute>},
        {"reverse", reverse_filter},
        {"select", select_filter<Keep::passing, Subject::item>},
        {"selectattr", select_filter<Keep::passing, Subject::attribute>},
        {"sort", sort_filter},
        {"sum", sum_filter},
        {"unique", unique_filter},
    };
    const auto found = std::ranges::find(kFilters, name, &std::pair<std::string_view, FilterFunction>::first);
    return found == std::end(kFilters) ? nullptr : found->second;
}

}  // namespace riftjit::models::jinja
