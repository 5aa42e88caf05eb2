// The functions that templates may call without an object.
#include <ctime>

#include "models/template/jinja/interpreter.h"

namespace riftjit::models::jinja {

namespace {

Value range(Runtime& runtime, Arguments& arguments) {
    const Integer first = arguments.take_integer("range", "start", std::nullopt);
    const auto second = arguments.take("stop");
    const Integer step = arguments.take_integer("range", "step", Integer(1));
    arguments.finish("range");
    if (second && !second->integer()) refuse("range: expected an integer, got {}", type_name(*second));
    if (step == 0) refuse("range: a step of 0");
    const Integer begin = second ? first : 0, end = second ? *second->integer() : first;
    const Integer count = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
    if (count > kMaxRange) refuse("range: {} items, more than the {} allowed", count, kMaxRange);
    std::vector<Value> items;
    for (Integer i = 0; i < count; ++i) items.push_back(begin + i * step);
    return runtime.list(std::move(items));
}

Value make_namespace(Runtime& runtime, Arguments& arguments) {
    Namespace* space = runtime.heap.make_namespace();
    if (const auto initial = arguments.positional.empty() ? std::nullopt : arguments.take("")) {
        if (!initial->is<Dict*>()) refuse("namespace: expected a dictionary, got {}", type_name(*initial));
        for (const auto& [key, value] : initial->as<Dict*>()->entries) {
            if (!key.is<Text>()) refuse("namespace: expected names, got {}", type_name(key));
            space->set(key.as<Text>().view(), value);
        }
    }
    for (auto& [name, value] : std::exchange(arguments.named, {})) space->set(name, std::move(value));
    arguments.finish("namespace");
    return space;
}

Value make_dict(Runtime& runtime, Arguments& arguments) {
    Dict* dict = runtime.heap.dict();
    if (const auto initial = arguments.positional.empty() ? std::nullopt : arguments.take("")) {
        if (initial->is<Dict*>()) {
            for (const auto& [key, value] : initial->as<Dict*>()->entries) dict->set(runtime.budget, key, value);
        } else {
            for (const Value& pair : iterate(runtime.budget, *initial)) {
                const auto entry = iterate(runtime.budget, pair);
                if (entry.size() != 2) refuse("dict: expected pairs, got {} values", entry.size());
                dict->set(runtime.budget, entry[0], entry[1]);
            }
        }
    }
    for (auto& [name, value] : std::exchange(arguments.named, {})) {
        dict->set(runtime.budget, Value::literal(name), std::move(value));
    }
    arguments.finish("dict");
    return dict;
}

Value raise_exception(Runtime& runtime, Arguments& arguments) {
    const Text message = to_text(runtime.budget, arguments.require("raise_exception", "message"));
    throw TemplateError{ErrorKind::Usage, std::string(message.view().substr(0, 4096)), std::nullopt};
}

Value strftime_now(Runtime& runtime, Arguments& arguments) {
    const Text format = arguments.require_text("strftime_now", "format");
    arguments.finish("strftime_now");
    const std::time_t now = std::chrono::system_clock::to_time_t(runtime.now);
    std::tm local{};
    localtime_r(&now, &local);
    char text[1024];
    const std::string pattern(format.view());
    const size_t size = std::strftime(text, sizeof text, pattern.c_str(), &local);
    if (size == 0 && !pattern.empty())
        refuse("strftime_now: the result of '{}' is empty or too long", pattern.substr(0, 64));
    return Text(std::string(text, size), format.origin());
}

}  // namespace

void define_globals(Interpreter& interpreter, Runtime& runtime) {
    using Function = Value (*)(Runtime&, Arguments&);
    constexpr std::pair<std::string_view, Function> kFunctions[] = {{"range", range},
                                                                    {"namespace", make_namespace},
                                                                    {"dict", make_dict},
                                                                    {"raise_exception", raise_exception},
                                                                    {"strftime_now", strftime_now}};
    for (const auto& [name, function] : kFunctions) {
        interpreter.define(name, runtime.heap.callable(std::string(name), [&runtime, function](Arguments& arguments) {
            return function(runtime, arguments);
        }));
    }
}

}  // namespace riftjit::models::jinja
