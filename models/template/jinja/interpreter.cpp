#include "models/template/jinja/interpreter.h"

#include <algorithm>

namespace riftjit::models::jinja {

Value* Scope::find(std::string_view name) {
    for (Scope* scope = this; scope; scope = scope->parent) {
        for (auto& [variable, value] : scope->variables) {
            if (variable == name) return &value;
        }
    }
    return nullptr;
}

void Scope::set(std::string_view name, Value value) {
    for (auto& [variable, present] : variables) {
        if (variable != name) continue;
        present = std::move(value);
        return;
    }
    variables.emplace_back(name, std::move(value));
}

void Interpreter::keep(Scope& scope) {
    for (Scope* outer = &scope; outer; outer = outer->parent) outer->captured = true;
}

Interpreter::Interpreter(Runtime& runtime) : runtime_(runtime) { define_globals(*this, runtime); }

void Interpreter::define(std::string_view name, Value value) { globals_.set(name, std::move(value)); }

template <class Action>
Text Interpreter::capture(Action action) {
    outputs_.emplace_back(runtime_.budget);
    action();
    Text text = outputs_.back().build();
    outputs_.pop_back();
    return text;
}

template <class Action>
auto Interpreter::in_scope(Scope& parent, Action action) {
    runtime_.budget.work(1);
    const auto scope = kept_scopes_.insert(kept_scopes_.end(), Scope{&parent, {}});
    auto result = action(*scope);
    if (scope->captured) {
        runtime_.budget.memory(sizeof(Scope) + scope->variables.size() * sizeof(Value));
    } else {
        kept_scopes_.erase(scope);
    }
    return result;
}

Text Interpreter::run(const Body& body) {
    return capture([&] { in_scope(globals_, [&](Scope& scope) { return execute(body, scope); }); });
}

Interpreter::Flow Interpreter::execute(const Body& body, Scope& scope) {
    for (const Statement& statement : body) {
        try {
            const Budget::Level level(runtime_.budget);
            runtime_.budget.work(1);
            const Flow flow = std::visit([&](const auto& node) { return execute(node, scope); }, statement.node);
            if (flow != Flow::next) return flow;
        } catch (TemplateError& error) {
            if (!error.offset) error.offset = statement.offset;
            throw;
        }
    }
    return Flow::next;
}

void Interpreter::write(const Text& text) {
    if (outputs_.size() == 1) runtime_.budget.output(outputs_.back().size() + text.size());
    outputs_.back().append(text);
}

Interpreter::Flow Interpreter::execute(const Data& node, Scope&) {
    write(node.text);
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const Output& node, Scope& scope) {
    const Text text = to_text(runtime_.budget, evaluate(*node.value, scope));
    write(text);
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const If& node, Scope& scope) {
    for (const auto& [condition, body] : node.branches) {
        if (truthy(evaluate(*condition, scope))) return execute(body, scope);
    }
    return execute(node.otherwise, scope);
}

Interpreter::Flow Interpreter::execute(const For& node, Scope& scope) {
    return run_loop(node, iterate(runtime_.budget, evaluate(*node.items, scope)), 0, scope);
}

std::vector<Value> Interpreter::filter_items(const For& node, std::vector<Value> items, Scope& scope) {
    if (!node.condition) return items;
    return in_scope(scope, [&](Scope& inner) {
        std::vector<Value> kept;
        for (Value& value : items) {
            runtime_.budget.iterate();
            assign(node.target, value, inner);
            if (truthy(evaluate(*node.condition, inner))) kept.push_back(std::move(value));
        }
        return kept;
    });
}

Interpreter::Flow Interpreter::run_loop(const For& node, std::vector<Value> items, size_t depth, Scope& scope) {
    Loop* loop = runtime_.heap.loop(filter_items(node, std::move(items), scope), depth);
    if (loop->items.empty()) return in_scope(scope, [&](Scope& inner) { return execute(node.otherwise, inner); });
    if (node.recursive) {
        keep(scope);
        loop->recurse = runtime_.heap.callable("loop", [this, &node, depth, &scope](Arguments& arguments) {
            const Value nested = arguments.require("loop", "iterable");
            arguments.finish("loop");
            const Budget::Level level(runtime_.budget);
            return Value(capture([&] { run_loop(node, iterate(runtime_.budget, nested), depth + 1, scope); }));
        });
    }
    return in_scope(scope, [&](Scope& inner) {
        for (; loop->index < loop->items.size(); ++loop->index) {
            runtime_.budget.iterate();
            inner.variables.clear();
            inner.set("loop", loop);
            assign(node.target, loop->items[loop->index], inner);
            if (execute(node.body, inner) == Flow::break_loop) break;
        }
        loop->items.clear();
        loop->index = 0;
        return Flow::next;
    });
}

Interpreter::Flow Interpreter::execute(const Set& node, Scope& scope) {
    assign(node.target, evaluate(*node.value, scope), scope);
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const SetBlock& node, Scope& scope) {
    captured_.push_back(capture([&] { in_scope(scope, [&](Scope& inner) { return execute(node.body, inner); }); }));
    Value value = evaluate(*node.value, scope);
    captured_.pop_back();
    assign(node.target, std::move(value), scope);
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const FilterBlock& node, Scope& scope) {
    captured_.push_back(capture([&] { in_scope(scope, [&](Scope& inner) { return execute(node.body, inner); }); }));
    const Text text = to_text(runtime_.budget, evaluate(*node.value, scope));
    captured_.pop_back();
    write(text);
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const Scoped& node, Scope& scope) {
    return in_scope(scope, [&](Scope& inner) {
        for (const auto& [target, value] : node.variables) assign(target, evaluate(*value, scope), inner);
        return execute(node.body, inner);
    });
}

Interpreter::Flow Interpreter::execute(const Macro& node, Scope& scope) {
    scope.set(node.signature.name, make_macro(node.signature, node.body, scope));
    return Flow::next;
}

Interpreter::Flow Interpreter::execute(const CallBlock& node, Scope& scope) {
    const Call& call_node = std::get<Call>(node.call->node);
    Arguments values = arguments(call_node.arguments, scope);
    values.named.emplace_back("caller", make_macro(node.signature, node.body, scope));
    const Text text = to_text(runtime_.budget, call(call_node, std::move(values), scope));
    write(text);
    return Flow::next;
}

Callable* Interpreter::make_macro(const Signature& signature, const Body& body, Scope& scope) {
    keep(scope);
    return runtime_.heap.callable(signature.name, [this, &signature, &body, &scope](Arguments& arguments) {
        return call_macro(signature, body, scope, arguments);
    });
}

Value Interpreter::call_macro(const Signature& signature, const Body& body, Scope& scope, Arguments& arguments) {
    runtime_.budget.iterate();
    const Budget::Level level(runtime_.budget);
    return in_scope(scope, [&](Scope& inner) {
        bind(signature, inner, arguments);
        return Value(capture([&] { execute(body, inner); }));
    });
}

void Interpreter::bind(const Signature& signature, Scope& scope, Arguments& arguments) {
    const size_t count = signature.parameters.size(), without_default = count - signature.defaults.size();
    const size_t given = std::min(count, arguments.positional.size());
    for (size_t i = 0; i < count; ++i) {
        const std::string& name = signature.parameters[i];
        if (i < given) {
            scope.set(name, arguments.positional[i]);
            continue;
        }
        const auto named = std::ranges::find(arguments.named, name, &std::pair<std::string, Value>::first);
        if (named != arguments.named.end()) {
            scope.set(name, named->second);
            arguments.named.erase(named);
        } else if (i >= without_default) {
            scope.set(name, evaluate(*signature.defaults[i - without_default], scope));
        } else {
            scope.set(name, Value::undefined(fmt::format("parameter '{}' was not provided", name)));
        }
    }
    const auto caller = std::ranges::find(arguments.named, "caller", &std::pair<std::string, Value>::first);
    if (signature.uses_caller) {
        const bool has_caller = caller != arguments.named.end();
        scope.set("caller", has_caller ? caller->second : Value::undefined("there is no caller"));
        if (has_caller) arguments.named.erase(caller);
    }
    if (signature.uses_kwargs) {
        Dict* kwargs = runtime_.heap.dict();
        for (auto& [name, value] : arguments.named) kwargs->set(runtime_.budget, Value::literal(name), value);
        scope.set("kwargs", kwargs);
    } else if (!arguments.named.empty()) {
        refuse("macro '{}' has no parameter '{}'", signature.name, arguments.named.front().first);
    }
    std::vector<Value> rest(arguments.positional.begin() + static_cast<ptrdiff_t>(given), arguments.positional.end());
    if (signature.uses_varargs) {
        scope.set("varargs", runtime_.tuple(std::move(rest)));
    } else if (!rest.empty()) {
        refuse("macro '{}' takes {} arguments, got {}", signature.name, count, arguments.positional.size());
    }
}

void Interpreter::assign(const Target& target, Value value, Scope& scope) {
    if (const auto* name = std::get_if<std::string>(&target.node)) return scope.set(*name, std::move(value));
    if (const auto* attribute = std::get_if<Target::NamespaceAttribute>(&target.node)) {
        const Value* space = scope.find(attribute->space);
        if (!space || !space->is<Namespace*>()) refuse_at(target.offset, "'{}' is not a namespace", attribute->space);
        runtime_.budget.work(1);
        return space->as<Namespace*>()->set(attribute->attribute, std::move(value));
    }
    const auto& targets = std::get<std::vector<Target>>(target.node);
    const auto values = iterate(runtime_.budget, value);
    if (values.size() != targets.size()) {
        refuse_at(target.offset, "cannot unpack {} values into {} variables", values.size(), targets.size());
    }
    for (size_t i = 0; i < targets.size(); ++i) assign(targets[i], values[i], scope);
}

}  // namespace riftjit::models::jinja
