#include "models/template/jinja/value.h"

#include <utf8proc.h>

#include <algorithm>
#include <cmath>

namespace riftjit::models::jinja {

Value* Dict::find(std::string_view key) {
    for (auto& [name, value] : entries) {
        if (const Text* text = name.get_if<Text>(); text && text->view() == key) return &value;
    }
    return nullptr;
}

Value* Dict::find(Budget& budget, const Value& key) {
    if (key.is<List*>() && key.as<List*>()->kind == List::Kind::list) refuse("a list cannot be a dictionary's key");
    if (key.is<Dict*>()) refuse("a dictionary cannot be a dictionary's key");
    budget.work(entries.size() / 8);
    for (auto& [name, value] : entries) {
        if (equal(budget, name, key)) return &value;
    }
    return nullptr;
}

void Dict::set(Budget& budget, const Value& key, Value value) {
    if (Value* present = find(budget, key)) {
        *present = std::move(value);
        return;
    }
    budget.memory(2 * sizeof(Value));
    entries.emplace_back(key, std::move(value));
}

Value* Namespace::find(std::string_view name) {
    const auto found = std::ranges::find(attributes, name, &std::pair<std::string, Value>::first);
    return found == attributes.end() ? nullptr : &found->second;
}

void Namespace::set(std::string_view name, Value value) {
    if (name.starts_with('_')) refuse("namespace attribute '{}' begins with an underscore", name);
    if (Value* present = find(name)) {
        *present = std::move(value);
    } else {
        attributes.emplace_back(name, std::move(value));
    }
}

std::optional<Integer> Value::integer() const {
    if (const bool* boolean = get_if<bool>()) return Integer(*boolean);
    if (const Integer* integer = get_if<Integer>()) return *integer;
    return std::nullopt;
}

std::optional<double> Value::number() const {
    if (const double* real = get_if<double>()) return *real;
    if (const auto whole = integer()) return static_cast<double>(*whole);
    return std::nullopt;
}

List* Heap::list(std::vector<Value> items, List::Kind kind) {
    budget_.memory(sizeof(List) + items.size() * sizeof(Value));
    return &lists_.emplace_back(List{std::move(items), kind});
}
Dict* Heap::dict() {
    budget_.memory(sizeof(Dict));
    return &dicts_.emplace_back();
}
Namespace* Heap::make_namespace() {
    budget_.memory(sizeof(Namespace));
    return &namespaces_.emplace_back();
}
Loop* Heap::loop(std::vector<Value> items, size_t depth) {
    budget_.memory(sizeof(Loop));
    Loop& loop = loops_.emplace_back();
    loop.items = std::move(items);
    loop.depth = depth;
    return &loop;
}
Callable* Heap::callable(std::string name, std::function<Value(Arguments&)> call) {
    budget_.memory(sizeof(Callable) + 64);
    return &callables_.emplace_back(Callable{std::move(name), std::move(call)});
}

std::string_view type_name(const Value& value) {
    static constexpr std::string_view kNames[] = {"list", "tuple", "generator"};
    struct Names {
        std::string_view operator()(const Undefined&) { return "undefined"; }
        std::string_view operator()(const None&) { return "none"; }
        std::string_view operator()(bool) { return "boolean"; }
        std::string_view operator()(const Integer&) { return "integer"; }
        std::string_view operator()(double) { return "number"; }
        std::string_view operator()(const Text&) { return "string"; }
        std::string_view operator()(List* list) { return kNames[static_cast<size_t>(list->kind)]; }
        std::string_view operator()(Dict*) { return "dictionary"; }
        std::string_view operator()(Namespace*) { return "namespace"; }
        std::string_view operator()(Callable*) { return "function"; }
        std::string_view operator()(Loop*) { return "loop"; }
    };
    return std::visit(Names{}, value.variant());
}

bool truthy(const Value& value) {
    struct Truth {
        bool operator()(const Undefined&) { return false; }
        bool operator()(const None&) { return false; }
        bool operator()(bool boolean) { return boolean; }
        bool operator()(const Integer& integer) { return integer != 0; }
        bool operator()(double real) { return real != 0; }
        bool operator()(const Text& text) { return !text.empty(); }
        bool operator()(List* list) { return list->kind == List::Kind::generator || !list->items.empty(); }
        bool operator()(Dict* dict) { return !dict->entries.empty(); }
        bool operator()(const void*) { return true; }
    };
    return std::visit(Truth{}, value.variant());
}

namespace {

// Values may contain themselves: every walk over them is bounded.
class Nesting {
public:
    explicit Nesting(uint32_t depth) : depth_(depth) {
        if (depth > kMaxDataNesting) refuse("lists or dictionaries nest deeper than {} levels", kMaxDataNesting);
    }
    uint32_t inner() const { return depth_ + 1; }

private:
    uint32_t depth_;
};

bool equal_at(Budget& budget, const Value& a, const Value& b, Nesting nesting);

bool equal_lists(Budget& budget, const List& a, const List& b, Nesting nesting) {
    if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
    for (size_t i = 0; i < a.items.size(); ++i) {
        if (!equal_at(budget, a.items[i], b.items[i], Nesting(nesting.inner()))) return false;
    }
    return true;
}

bool equal_dicts(Budget& budget, const Dict& a, Dict& b, Nesting nesting) {
    if (a.entries.size() != b.entries.size()) return false;
    for (const auto& [key, value] : a.entries) {
        const Value* other = b.find(budget, key);
        if (!other || !equal_at(budget, value, *other, Nesting(nesting.inner()))) return false;
    }
    return true;
}

bool equal_at(Budget& budget, const Value& a, const Value& b, Nesting nesting) {
    budget.work(1);
    if (a.is<Text>() && b.is<Text>()) {
        budget.work(std::min(a.as<Text>().size(), b.as<Text>().size()) / 64);
        return a.as<Text>().view() == b.as<Text>().view();
    }
    if (a.integer() && b.integer()) return *a.integer() == *b.integer();
    if (a.number() && b.number()) return *a.number() == *b.number();
    if (a.is<List*>() && b.is<List*>()) return equal_lists(budget, *a.as<List*>(), *b.as<List*>(), nesting);
    if (a.is<Dict*>() && b.is<Dict*>()) return equal_dicts(budget, *a.as<Dict*>(), *b.as<Dict*>(), nesting);
    if (a.variant().index() != b.variant().index()) return false;
    if (a.is<Undefined>() || a.is<None>()) return true;
    if (a.is<Callable*>()) return a.as<Callable*>() == b.as<Callable*>();
    if (a.is<Namespace*>()) return a.as<Namespace*>() == b.as<Namespace*>();
    return a.as<Loop*>() == b.as<Loop*>();
}

bool less_lists(Budget& budget, const List& a, const List& b, Nesting nesting) {
    for (size_t i = 0; i < std::min(a.items.size(), b.items.size()); ++i) {
        if (equal_at(budget, a.items[i], b.items[i], Nesting(nesting.inner()))) continue;
        return less(budget, a.items[i], b.items[i]);
    }
    return a.items.size() < b.items.size();
}

}  // namespace

bool equal(Budget& budget, const Value& a, const Value& b) { return equal_at(budget, a, b, Nesting(0)); }

bool less(Budget& budget, const Value& a, const Value& b) {
    budget.work(1);
    const Budget::Level level(budget);
    if (a.is<Undefined>()) refuse("{}", *a.as<Undefined>().why);
    if (b.is<Undefined>()) refuse("{}", *b.as<Undefined>().why);
    if (a.is<Text>() && b.is<Text>()) {
        budget.work(std::min(a.as<Text>().size(), b.as<Text>().size()) / 64);
        return a.as<Text>().view() < b.as<Text>().view();  // UTF-8 sorts as its code points do
    }
    if (a.integer() && b.integer()) return *a.integer() < *b.integer();
    if (a.number() && b.number()) return *a.number() < *b.number();
    if (a.is<List*>() && b.is<List*>()) return less_lists(budget, *a.as<List*>(), *b.as<List*>(), Nesting(0));
    refuse("cannot order {} and {}", type_name(a), type_name(b));
}

bool contains(Budget& budget, const Value& container, const Value& item) {
    if (const Text* text = container.get_if<Text>()) {
        if (!item.is<Text>()) refuse("'in <string>' requires a string on the left, not {}", type_name(item));
        budget.work(text->size() / 64);
        return find_text(text->view(), item.as<Text>().view(), 0) != std::string_view::npos;
    }
    if (container.is<Dict*>()) return container.as<Dict*>()->find(budget, item) != nullptr;
    if (const auto* list = container.get_if<List*>()) {
        return std::ranges::any_of((*list)->items, [&](const Value& other) { return equal(budget, other, item); });
    }
    if (container.is<Undefined>()) return false;
    refuse("cannot look for something in {}", type_name(container));
}

namespace {

bool is_printable(uint32_t c) {
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return false;
        case UTF8PROC_CATEGORY_ZS:
            return c == ' ';
        default:
            return true;
    }
}

void append_escaped(std::string& out, uint32_t c) {
    if (c < 0x100) {
        out += fmt::format("\\x{:02x}", c);
    } else if (c < 0x10000) {
        out += fmt::format("\\u{:04x}", c);
    } else {
        out += fmt::format("\\U{:08x}", c);
    }
}

void append_repr(std::string& out, std::string_view text) {
    const char quote = text.contains('\'') && !text.contains('"') ? '"' : '\'';
    out += quote;
    CodePoint c;
    for (size_t offset = 0; offset < text.size(); offset += c.size) {
        c = code_point(text, offset);
        if (c.value == static_cast<uint32_t>(quote) || c.value == '\\') {
            out += '\\';
            out += static_cast<char>(c.value);
        } else if (c.value == '\n') {
            out += "\\n";
        } else if (c.value == '\r') {
            out += "\\r";
        } else if (c.value == '\t') {
            out += "\\t";
        } else if (is_printable(c.value)) {
            out += text.substr(offset, c.size);
        } else {
            append_escaped(out, c.value);
        }
    }
    out += quote;
}

class Repr {
public:
    explicit Repr(Budget& budget) : budget_(budget) {}

    void append(const Value& value, Nesting nesting) {
        budget_.work(1);
        const size_t before = out_.size();
        if (const auto* list = value.get_if<List*>()) return append_list(**list, nesting);
        if (const auto* dict = value.get_if<Dict*>()) return append_dict(**dict, nesting);
        if (const auto* text = value.get_if<Text>()) {
            append_repr(out_, text->view());
        } else if (const auto* callable = value.get_if<Callable*>()) {
            out_ += "<function " + (*callable)->name + ">";
        } else if (value.is<Namespace*>() || value.is<Loop*>()) {
            out_ += fmt::format("<{}>", type_name(value));
        } else if (value.is<Undefined>()) {
            out_ += "Undefined";
        } else {
            out_ += to_text(budget_, value).view();
        }
        budget_.memory(out_.size() - before);
    }
    std::string take() { return std::move(out_); }

private:
    void append_list(const List& list, Nesting nesting) {
        const bool is_tuple = list.kind == List::Kind::tuple;
        out_ += is_tuple ? '(' : '[';
        for (size_t i = 0; i < list.items.size(); ++i) {
            if (i > 0) out_ += ", ";
            append(list.items[i], Nesting(nesting.inner()));
        }
        if (is_tuple && list.items.size() == 1) out_ += ',';
        out_ += is_tuple ? ')' : ']';
    }
    void append_dict(const Dict& dict, Nesting nesting) {
        out_ += '{';
        for (size_t i = 0; i < dict.entries.size(); ++i) {
            if (i > 0) out_ += ", ";
            append(dict.entries[i].first, Nesting(nesting.inner()));
            out_ += ": ";
            append(dict.entries[i].second, Nesting(nesting.inner()));
        }
        out_ += '}';
    }

    Budget& budget_;
    std::string out_;
};

Origin origin_at(Budget& budget, const Value& value, Nesting nesting) {
    budget.work(1);
    if (const auto* text = value.get_if<Text>()) return text->origin();
    const auto is_data = [&](const Value& inner) {
        return origin_at(budget, inner, Nesting(nesting.inner())) == Origin::data;
    };
    bool any = false;
    if (const auto* list = value.get_if<List*>()) any = std::ranges::any_of((*list)->items, is_data);
    if (const auto* dict = value.get_if<Dict*>()) {
        any = std::ranges::any_of((*dict)->entries,
                                  [&](const auto& entry) { return is_data(entry.first) || is_data(entry.second); });
    }
    return any ? Origin::data : Origin::literal;
}

}  // namespace

Origin origin(Budget& budget, const Value& value) { return origin_at(budget, value, Nesting(0)); }

std::string to_repr(Budget& budget, const Value& value) {
    Repr repr(budget);
    repr.append(value, Nesting(0));
    return repr.take();
}

std::string format_real(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

Text to_text(Budget& budget, const Value& value) {
    if (const auto* text = value.get_if<Text>()) return *text;
    if (value.is<Undefined>()) return {};
    if (value.is<None>()) return Text("None", Origin::literal);
    if (const auto* boolean = value.get_if<bool>()) return Text(*boolean ? "True" : "False", Origin::literal);
    if (const auto* integer = value.get_if<Integer>()) return Text(fmt::format("{}", *integer), Origin::literal);
    if (const auto* real = value.get_if<double>()) return Text(format_real(*real), Origin::literal);
    return Text(to_repr(budget, value), origin(budget, value));
}

std::vector<Value> iterate(Budget& budget, const Value& value) {
    if (const auto* list = value.get_if<List*>()) {
        budget.memory((*list)->items.size() * sizeof(Value));
        return (*list)->items;
    }
    std::vector<Value> items;
    if (const auto* dict = value.get_if<Dict*>()) {
        budget.memory((*dict)->entries.size() * sizeof(Value));
        for (const auto& entry : (*dict)->entries) items.push_back(entry.first);
        return items;
    }
    if (const auto* text = value.get_if<Text>()) {
        budget.memory(text->size() * (sizeof(Value) + sizeof(size_t)));
        const auto offsets = character_offsets(text->view());
        for (size_t i = 0; i + 1 < offsets.size(); ++i) {
            items.push_back(slice(budget, *text, offsets[i], offsets[i + 1]));
        }
        return items;
    }
    if (value.is<Undefined>()) return items;
    refuse("cannot iterate over {}", type_name(value));
}

size_t length(Budget& budget, const Value& value) {
    if (const auto* list = value.get_if<List*>()) return (*list)->items.size();
    if (const auto* dict = value.get_if<Dict*>()) return (*dict)->entries.size();
    if (value.is<Undefined>()) return 0;
    const auto* text = value.get_if<Text>();
    if (!text) refuse("{} has no length", type_name(value));
    budget.work(text->size() / 32);
    return length(text->view());
}

std::optional<Value> Arguments::take(std::string_view name) {
    if (next_ < positional.size()) return positional[next_++];
    const auto found = std::ranges::find(named, name, &std::pair<std::string, Value>::first);
    if (found == named.end()) return std::nullopt;
    Value value = std::move(found->second);
    named.erase(found);
    return value;
}

Value Arguments::take(std::string_view name, Value otherwise) { return take(name).value_or(std::move(otherwise)); }

Value Arguments::require(std::string_view function, std::string_view name) {
    auto value = take(name);
    if (!value) refuse("{} needs an argument '{}'", function, name);
    return *std::move(value);
}

void Arguments::finish(std::string_view function) {
    if (next_ < positional.size()) refuse("{} takes {} arguments, got {}", function, next_, positional.size());
    if (!named.empty()) refuse("{} has no argument '{}'", function, named.front().first);
}

Integer Arguments::take_integer(std::string_view function, std::string_view name, std::optional<Integer> otherwise) {
    const auto value = otherwise ? take(name) : std::optional(require(function, name));
    if (!value || (otherwise && value->is<None>())) return *otherwise;
    if (const auto integer = value->integer()) return *integer;
    refuse("{}: '{}' must be an integer, not {}", function, name, type_name(*value));
}

Text Arguments::require_text(std::string_view function, std::string_view name) {
    const Value value = require(function, name);
    if (const auto* text = value.get_if<Text>()) return *text;
    if (value.is<Undefined>()) refuse("{}", *value.as<Undefined>().why);
    refuse("{}: '{}' must be a string, not {}", function, name, type_name(value));
}

}  // namespace riftjit::models::jinja
