// The methods of Python's list and dict, and of jinja2's loop. Unlike in jinja2's immutable sandbox, lists and
// dictionaries can be changed: they are copies that belong to the rendering, and published templates append to them.
#include <algorithm>

#include "models/template/jinja/runtime.h"

namespace riftjit::models::jinja {

namespace {

List& list_of(const Value& self) { return *self.as<List*>(); }
Dict& dict_of(const Value& self) { return *self.as<Dict*>(); }

Value append_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    Value value = arguments.require("append", "object");
    arguments.finish("append");
    runtime.budget.memory(sizeof(Value));
    list_of(self).items.push_back(std::move(value));
    return None{};
}

Value extend_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value values = arguments.require("extend", "iterable");
    arguments.finish("extend");
    const auto items = iterate(runtime.budget, values);
    list_of(self).items.insert(list_of(self).items.end(), items.begin(), items.end());
    return None{};
}

// A position in a list of `size` items; negative ones count from the end.
size_t position_in(std::string_view method, size_t size, Integer index) {
    const Integer count = static_cast<Integer>(size), at = index < 0 ? index + count : index;
    if (at < 0 || at >= count) refuse("{}: index {} is outside a list of {}", method, index, size);
    return static_cast<size_t>(at);
}

Value insert_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Integer index = arguments.take_integer("insert", "index", std::nullopt);
    Value value = arguments.require("insert", "object");
    arguments.finish("insert");
    auto& items = list_of(self).items;
    const Integer count = static_cast<Integer>(items.size());
    runtime.budget.memory(sizeof(Value));
    runtime.budget.work(items.size());
    const Integer at = std::clamp<Integer>(index < 0 ? index + count : index, 0, count);
    items.insert(items.begin() + static_cast<ptrdiff_t>(at), std::move(value));
    return None{};
}

Value pop_item_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Integer index = arguments.take_integer("pop", "index", Integer(-1));
    arguments.finish("pop");
    auto& items = list_of(self).items;
    const size_t at = position_in("pop", items.size(), index);
    runtime.budget.work(items.size() - at);
    Value value = std::move(items[at]);
    items.erase(items.begin() + static_cast<ptrdiff_t>(at));
    return value;
}

Value reverse_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("reverse");
    runtime.budget.work(list_of(self).items.size());
    std::ranges::reverse(list_of(self).items);
    return None{};
}

Value index_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value wanted = arguments.require("index", "value");
    arguments.finish("index");
    const auto& items = list_of(self).items;
    for (size_t i = 0; i < items.size(); ++i) {
        if (equal(runtime.budget, items[i], wanted)) return static_cast<Integer>(i);
    }
    refuse("index: the value is not in the list");
}

Value count_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value wanted = arguments.require("count", "value");
    arguments.finish("count");
    return static_cast<Integer>(std::ranges::count_if(
        list_of(self).items, [&](const Value& value) { return equal(runtime.budget, value, wanted); }));
}

Value copy_list_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("copy");
    return runtime.list(iterate(runtime.budget, self));
}

Value get_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value key = arguments.require("get", "key");
    Value otherwise = arguments.take("default", None{});
    arguments.finish("get");
    const Value* found = dict_of(self).find(runtime.budget, key);
    return found ? *found : otherwise;
}

Value items_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("items");
    std::vector<Value> items;
    for (const auto& [key, value] : dict_of(self).entries) items.push_back(runtime.tuple({key, value}));
    return runtime.list(std::move(items));
}

Value keys_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("keys");
    return runtime.list(iterate(runtime.budget, self));
}

Value values_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("values");
    std::vector<Value> items;
    for (const auto& entry : dict_of(self).entries) items.push_back(entry.second);
    return runtime.list(std::move(items));
}

Value pop_key_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value key = arguments.require("pop", "key");
    const auto otherwise = arguments.take("default");
    arguments.finish("pop");
    auto& entries = dict_of(self).entries;
    const auto found =
        std::ranges::find_if(entries, [&](const auto& entry) { return equal(runtime.budget, entry.first, key); });
    if (found == entries.end()) {
        if (!otherwise) refuse("pop: no such key");
        return *otherwise;
    }
    Value value = std::move(found->second);
    runtime.budget.work(entries.size());
    entries.erase(found);
    return value;
}

Value update_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const auto other = arguments.take("other");
    if (other && !other->is<Dict*>()) refuse("update: expected a dictionary, got {}", type_name(*other));
    const auto entries = other ? dict_of(*other).entries : decltype(Dict::entries)();
    for (const auto& [key, value] : entries) dict_of(self).set(runtime.budget, key, value);
    for (auto& [name, value] : std::exchange(arguments.named, {})) {
        dict_of(self).set(runtime.budget, Value::literal(name), std::move(value));
    }
    arguments.finish("update");
    return None{};
}

Value setdefault_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Value key = arguments.require("setdefault", "key");
    Value otherwise = arguments.take("default", None{});
    arguments.finish("setdefault");
    if (const Value* found = dict_of(self).find(runtime.budget, key)) return *found;
    dict_of(self).set(runtime.budget, key, otherwise);
    return otherwise;
}

Value copy_dict_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    arguments.finish("copy");
    Dict* copy = runtime.heap.dict();
    runtime.budget.memory(dict_of(self).entries.size() * 2 * sizeof(Value));
    copy->entries = dict_of(self).entries;
    return copy;
}

Value cycle_method(Runtime&, const Value& self, Arguments& arguments) {
    if (arguments.positional.empty()) refuse("cycle: nothing to cycle through");
    return arguments.positional[self.as<Loop*>()->index % arguments.positional.size()];
}

Value changed_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    Loop& loop = *self.as<Loop*>();
    const auto same = [&](const Value& a, const Value& b) { return equal(runtime.budget, a, b); };
    if (loop.last_changed && std::ranges::equal(*loop.last_changed, arguments.positional, same)) return false;
    loop.last_changed = arguments.positional;
    return true;
}

using Entry = std::pair<std::string_view, Method>;

template <size_t n>
Method look_up(const Entry (&table)[n], std::string_view name) {
    const auto found = std::ranges::find(table, name, &Entry::first);
    return found == std::end(table) ? nullptr : found->second;
}

}  // namespace

Method find_container_method(const Value& object, std::string_view name) {
    static constexpr Entry kTuple[] = {{"count", count_method}, {"index", index_method}};
    static constexpr Entry kList[] = {{"append", append_method}, {"copy", copy_list_method}, {"count", count_method},
                                      {"extend", extend_method}, {"index", index_method},    {"insert", insert_method},
                                      {"pop", pop_item_method},  {"reverse", reverse_method}};
    static constexpr Entry kDict[] = {{"copy", copy_dict_method}, {"get", get_method},
                                      {"items", items_method},    {"keys", keys_method},
                                      {"pop", pop_key_method},    {"setdefault", setdefault_method},
                                      {"update", update_method},  {"values", values_method}};
    static constexpr Entry kLoop[] = {{"changed", changed_method}, {"cycle", cycle_method}};
    if (object.is<Dict*>()) return look_up(kDict, name);
    if (object.is<Loop*>()) return look_up(kLoop, name);
    if (!object.is<List*>()) return nullptr;
    switch (object.as<List*>()->kind) {
        case List::Kind::list:
            return look_up(kList, name);
        case List::Kind::tuple:
            return look_up(kTuple, name);
        case List::Kind::generator:
            return nullptr;
    }
    return nullptr;
}

}  // namespace riftjit::models::jinja
