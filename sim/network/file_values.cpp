#include "sim/network/file_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sim/network/distribution.h"

namespace riftjit::sim {

Result<double> number_in(const toml::node& node, Unit unit, std::string_view what, Scope& scope) {
    RIFTJIT_TRY(quantity, scope.quantity(node));
    if (quantity.unit == unit || (quantity.unit == kNoUnit && quantity.value == 0)) return quantity.value;
    return fail_in(node, "'{}' takes {}, not {}", what,
                   unit == kNoUnit ? "a number without a unit" : "a value in " + unit_text(unit),
                   quantity.unit == kNoUnit ? fmt::format("{} without a unit", quantity.value)
                                            : "one in " + unit_text(quantity.unit));
}

Result<uint64_t> whole_in(const toml::node& node, uint64_t least, uint64_t most, std::string_view what, Scope& scope) {
    RIFTJIT_TRY(value, number_in(node, kNoUnit, what, scope));
    if (value != std::floor(value))
        return fail_in(node, "'{}' is {}, which is not whole: round(...) makes it so", what, value);
    if (value < static_cast<double>(least)) return fail_in(node, "'{}' is {}, below {}", what, value, least);
    if (value > static_cast<double>(most)) return fail_in(node, "'{}' is {}, above {}", what, value, most);
    return static_cast<uint64_t>(value);
}

Result<std::vector<double>> numbers_in(const toml::node& node, Unit unit, std::string_view what, Scope& scope) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return fail_in(node, "'{}' is a list, not {}", what, kind_text(node));
    std::vector<double> numbers;
    for (const toml::node& element : *array) {
        RIFTJIT_TRY(number, number_in(element, unit, what, scope));
        numbers.push_back(number);
    }
    return numbers;
}

namespace {

Result<std::pair<double, double>> two_in(const toml::node& node, Unit first, Unit second, std::string_view what,
                                         Scope& scope) {
    const toml::array* array = node.as_array();
    if (array == nullptr || array->size() != 2) return fail_in(node, "'{}' takes a list of two values", what);
    RIFTJIT_TRY(a, number_in(*array->get(0), first, what, scope));
    RIFTJIT_TRY(b, number_in(*array->get(1), second, what, scope));
    return std::pair(a, b);
}

constexpr std::array<std::string_view, 3> kRandomKinds = {"normal", "uniform", "lognormal"};

Result<void> read_kind(std::string_view kind, const toml::node& node, Unit unit, Scope& scope,
                       Distribution& distribution) {
    RIFTJIT_TRY(values, two_in(node, unit, kind == "lognormal" ? kNoUnit : unit, kind, scope));
    const auto [first, second] = values;
    if (kind == "normal") {
        distribution.kind = Normal{first, second};
    } else if (kind == "uniform") {
        distribution.kind = Uniform{first, second};
    } else {
        if (first <= 0)
            return fail_in(node, "the median of a lognormal distribution is positive, not {}", with_unit(first, unit));
        distribution.kind = Lognormal{portable_log(first), second};
    }
    return {};
}

Result<void> keep_sign(const toml::node& node, Distribution& distribution) {
    const auto* normal = std::get_if<Normal>(&distribution.kind);
    if (normal == nullptr) return fail_in(node, "'keep_sign' belongs to a normal distribution");
    // Of a mean of 0 there is no sign to keep: its deviation is 0 in the same breath, or all draws stand.
    if (normal->mean > 0) distribution.least = 0;
    if (normal->mean < 0) distribution.most = 0;
    return {};
}

Result<Distribution> random_in(const toml::table& table, Unit unit, std::string_view what, Scope& scope) {
    TableReader reader(table, fmt::format("the distribution of '{}'", what));
    Distribution distribution;
    const toml::node* found = nullptr;
    for (const std::string_view kind : kRandomKinds) {
        const toml::node* node = reader.find(kind);
        if (node == nullptr) continue;
        if (found != nullptr) return fail_in(*node, "{} is given twice", reader.title());
        found = node;
        RIFTJIT_TRY_VOID(read_kind(kind, *node, unit, scope, distribution));
    }
    if (const toml::node* least = reader.find("least")) {
        RIFTJIT_TRY(value, number_in(*least, unit, "least", scope));
        distribution.least = value;
    }
    if (const toml::node* most = reader.find("most")) {
        RIFTJIT_TRY(value, number_in(*most, unit, "most", scope));
        distribution.most = value;
    }
    RIFTJIT_TRY(keeps_sign, reader.flag_or("keep_sign", false));
    if (keeps_sign) RIFTJIT_TRY_VOID(keep_sign(*table.get("keep_sign"), distribution));
    RIFTJIT_TRY_VOID(reader.finish());
    if (found == nullptr) return fail_in(table, "{} is one of normal, uniform, lognormal", reader.title());
    return distribution;
}

}  // namespace

Result<Distribution> distribution_in(const toml::node& node, Unit unit, std::string_view what, uint64_t values,
                                     Scope& scope) {
    Distribution distribution;
    if (const toml::table* table = node.as_table()) {
        RIFTJIT_TRY(random, random_in(*table, unit, what, scope));
        distribution = std::move(random);
    } else if (node.is_array() && values != 0) {
        RIFTJIT_TRY(numbers, numbers_in(node, unit, what, scope));
        if (numbers.size() != values) return fail_in(node, "'{}' has {} values for {}", what, numbers.size(), values);
        distribution.kind = Values{std::move(numbers)};
    } else {
        RIFTJIT_TRY(number, number_in(node, unit, what, scope));
        distribution.kind = Constant{number};
    }
    if (const std::string fault = distribution_fault(distribution); !fault.empty())
        return fail_in(node, "'{}'{} has {}", what, unit == kNoUnit ? "" : " in " + unit_text(unit), fault);
    return distribution;
}

Result<Window> window_in(TableReader& reader, Scope& scope) {
    Window window;
    const toml::node *start = reader.find("start"), *stop = reader.find("stop");
    if (start != nullptr) {
        RIFTJIT_TRY(time, number_in(*start, kMillisecond, "start", scope));
        if (time < 0) return fail_in(*start, "'start' is {} ms, before the run", time);
        window.start_ms = time;
    }
    if (stop != nullptr) {
        RIFTJIT_TRY(time, number_in(*stop, kMillisecond, "stop", scope));
        if (time <= window.start_ms)
            return fail_in(*stop, "'stop' is {} ms, not after 'start' at {} ms", time, window.start_ms);
        window.stop_ms = time;
    }
    return window;
}

namespace {

Result<std::pair<uint64_t, uint64_t>> range_in(const toml::node& node) {
    const std::string text = node.as_string()->get();
    const char* const end = text.data() + text.size();
    uint64_t first = 0, last = 0;
    const auto begin = std::from_chars(text.data(), end, first);
    if (begin.ec == std::errc() && std::string_view(begin.ptr, end).starts_with("..")) {
        const auto rest = std::from_chars(begin.ptr + 2, end, last);
        if (rest.ec == std::errc() && rest.ptr == end && first <= last) return std::pair(first, last);
    }
    return fail_in(node, "'neurons' is a list of numbers or a range such as \"0..99\", not \"{}\"", text);
}

}  // namespace

Result<std::vector<uint32_t>> neurons_in(const toml::node& node, uint32_t size, std::string_view population) {
    std::vector<uint32_t> neurons;
    const auto outside = [&](const toml::node& where, auto neuron) {
        return fail_in(where, "population {} has no neuron {}: its neurons are 0 to {}", population, neuron, size - 1);
    };
    if (node.is_string()) {
        RIFTJIT_TRY(range, range_in(node));
        if (range.second >= size) return outside(node, range.second);
        for (uint64_t i = range.first; i <= range.second; ++i) neurons.push_back(static_cast<uint32_t>(i));
        return neurons;
    }
    const toml::array* array = node.as_array();
    if (array == nullptr) return fail_in(node, "'neurons' is a list or a range, not {}", kind_text(node));
    if (array->empty()) return fail_in(node, "'neurons' is an empty list; without it all are recorded");
    for (const toml::node& element : *array) {
        const auto* integer = element.as_integer();
        if (integer == nullptr) return fail_in(element, "'neurons' holds whole numbers, not {}", kind_text(element));
        if (integer->get() < 0 || integer->get() >= int64_t(size)) return outside(element, integer->get());
        neurons.push_back(static_cast<uint32_t>(integer->get()));
    }
    std::sort(neurons.begin(), neurons.end());
    if (const auto twice = std::adjacent_find(neurons.begin(), neurons.end()); twice != neurons.end())
        return fail_in(node, "'neurons' has {} twice", *twice);
    return neurons;
}

}  // namespace riftjit::sim
