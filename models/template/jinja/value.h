// The values that templates compute with: Python's, as far as jinja2 shows them.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/template/jinja/text.h"

namespace riftjit::models::jinja {

class Value;
class Arguments;
struct Loop;

struct Undefined {
    std::shared_ptr<const std::string> why;  // "'x' is undefined"
};
struct None {};
using Integer = __int128;  // JSON's 64-bit integers of both signs, with room to detect overflow

struct List {
    // generator: what filters such as select return. It is true even when empty, has no elements to index, and
    // otherwise serves as a list where jinja2 would raise an error.
    enum class Kind : uint8_t { list, tuple, generator };
    std::vector<Value> items;
    Kind kind = Kind::list;
};

// Keeps insertion order. Searched from the front: dictionaries of requests are small.
struct Dict {
    std::vector<std::pair<Value, Value>> entries;

    Value* find(std::string_view key);
    Value* find(Budget& budget, const Value& key);
    void set(Budget& budget, const Value& key, Value value);
};

struct Namespace {
    std::vector<std::pair<std::string, Value>> attributes;

    Value* find(std::string_view name);
    void set(std::string_view name, Value value);  // refuses names that begin with an underscore
};

struct Callable {
    std::string name;
    std::function<Value(Arguments&)> call;
};

// Lists, dictionaries and the like are shared as in Python, may refer to themselves, and live as long as the rendering.
class Value {
public:
    using Variant =
        std::variant<Undefined, None, bool, Integer, double, Text, List*, Dict*, Namespace*, Callable*, Loop*>;

    Value() : variant_(None{}) {}
    template <class T>
        requires(!std::same_as<T, Value>) && std::constructible_from<Variant, std::in_place_type_t<T>, T>
    Value(T value) : variant_(std::in_place_type<T>, std::move(value)) {}

    static Value undefined(std::string why) { return Undefined{std::make_shared<const std::string>(std::move(why))}; }
    static Value literal(std::string_view text) { return Text(std::string(text), Origin::literal); }

    template <class T>
    bool is() const {
        return std::holds_alternative<T>(variant_);
    }
    template <class T>
    const T& as() const {
        return *std::get_if<T>(&variant_);
    }
    template <class T>
    const T* get_if() const {
        return std::get_if<T>(&variant_);
    }
    const Variant& variant() const { return variant_; }

    // As Python's isinstance(x, int): booleans are integers.
    std::optional<Integer> integer() const;
    std::optional<double> number() const;  // bool, integer or real

private:
    Variant variant_;
};

// The state of a for loop, which its body reads as `loop`.
struct Loop {
    std::vector<Value> items;
    size_t index = 0;
    size_t depth = 0;             // of recursive loops
    Callable* recurse = nullptr;  // loop(items), of loops marked recursive
    std::optional<std::vector<Value>> last_changed;
};

// Owns what values share.
class Heap {
public:
    explicit Heap(Budget& budget) : budget_(budget) {}
    List* list(std::vector<Value> items, List::Kind kind = List::Kind::list);
    List* tuple(std::vector<Value> items) { return list(std::move(items), List::Kind::tuple); }
    Dict* dict();
    Namespace* make_namespace();
    Loop* loop(std::vector<Value> items, size_t depth);
    Callable* callable(std::string name, std::function<Value(Arguments&)> call);

private:
    Budget& budget_;
    std::deque<List> lists_;
    std::deque<Dict> dicts_;
    std::deque<Namespace> namespaces_;
    std::deque<Loop> loops_;
    std::deque<Callable> callables_;
};

std::string_view type_name(const Value& value);  // "string", "integer", …, for messages
bool truthy(const Value& value);
bool equal(Budget& budget, const Value& a, const Value& b);
bool less(Budget& budget, const Value& a, const Value& b);  // refuses what Python does not order
bool contains(Budget& budget, const Value& container, const Value& item);

// Python's str() and repr(). Undefined is an empty string, and an error inside repr's containers too.
Text to_text(Budget& budget, const Value& value);
std::string to_repr(Budget& budget, const Value& value);
std::string format_real(double value);  // repr(float)

Origin origin(Budget& budget, const Value& value);  // data as soon as any string inside is

// The items that a for loop visits: of lists, characters of strings, keys of dictionaries; none of undefined.
std::vector<Value> iterate(Budget& budget, const Value& value);
size_t length(Budget& budget, const Value& value);

// What a function was called with; each function takes its parameters in order, by position or by name.
class Arguments {
public:
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;

    std::optional<Value> take(std::string_view name);
    Value take(std::string_view name, Value otherwise);
    Value require(std::string_view function, std::string_view name);
    void finish(std::string_view function);  // refuses what nobody took

    // The same with the type that is expected.
    Integer take_integer(std::string_view function, std::string_view name, std::optional<Integer> otherwise);
    Text require_text(std::string_view function, std::string_view name);

private:
    size_t next_ = 0;
};

}  // namespace riftjit::models::jinja
