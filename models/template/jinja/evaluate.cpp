// The interpreter's expressions.
#include <algorithm>

#include "models/template/jinja/interpreter.h"

namespace riftjit::models::jinja {

Value Interpreter::evaluate(const Expression& expression, Scope& scope) {
    try {
        const Budget::Level level(runtime_.budget);
        runtime_.budget.work(1);
        return std::visit([&](const auto& node) { return evaluate(node, scope); }, expression.node);
    } catch (TemplateError& error) {
        if (!error.offset) error.offset = expression.offset;
        throw;
    }
}

Value Interpreter::evaluate(const Name& node, Scope& scope) {
    if (const Value* value = scope.find(node.name)) return *value;
    return Value::undefined(fmt::format("'{}' is undefined", node.name));
}

Value Interpreter::evaluate(const ListLiteral& node, Scope& scope) {
    std::vector<Value> items;
    for (const ExpressionPtr& element : node.items) items.push_back(evaluate(*element, scope));
    return runtime_.heap.list(std::move(items), node.kind);
}

Value Interpreter::evaluate(const DictLiteral& node, Scope& scope) {
    Dict* dict = runtime_.heap.dict();
    for (const auto& [key, value] : node.entries) {
        const Value name = evaluate(*key, scope);
        dict->set(runtime_.budget, name, evaluate(*value, scope));
    }
    return dict;
}

Value Interpreter::evaluate(const Unary& node, Scope& scope) {
    const Value operand = evaluate(*node.operand, scope);
    switch (node.op) {
        case UnaryOperator::negate:
            return negate(operand);
        case UnaryOperator::plus:
            return negate(negate(operand));
        case UnaryOperator::logical_not:
            return !truthy(operand);
    }
    return None{};
}

Value Interpreter::evaluate(const Arithmetic& node, Scope& scope) {
    Value value = evaluate(*node.first, scope);
    for (const auto& [op, operand] : node.rest) value = arithmetic(runtime_, op, value, evaluate(*operand, scope));
    return value;
}

bool Interpreter::compare(ComparisonOperator op, const Value& left, const Value& right) {
    Budget& budget = runtime_.budget;
    switch (op) {
        case ComparisonOperator::equal:
            return equal(budget, left, right);
        case ComparisonOperator::not_equal:
            return !equal(budget, left, right);
        case ComparisonOperator::less:
            return less(budget, left, right);
        case ComparisonOperator::greater:
            return less(budget, right, left);
        case ComparisonOperator::less_equal:
            return less(budget, left, right) || equal(budget, left, right);
        case ComparisonOperator::greater_equal:
            return less(budget, right, left) || equal(budget, left, right);
        case ComparisonOperator::in:
            return contains(budget, right, left);
        case ComparisonOperator::not_in:
            return !contains(budget, right, left);
    }
    return false;
}

// a < b < c means a < b and b < c.
Value Interpreter::evaluate(const Comparison& node, Scope& scope) {
    Value left = evaluate(*node.first, scope);
    for (const auto& [op, operand] : node.rest) {
        Value right = evaluate(*operand, scope);
        if (!compare(op, left, right)) return false;
        left = std::move(right);
    }
    return true;
}

Value Interpreter::evaluate(const And& node, Scope& scope) {
    Value value;
    for (const ExpressionPtr& operand : node.operands) {
        value = evaluate(*operand, scope);
        if (!truthy(value)) break;
    }
    return value;
}

Value Interpreter::evaluate(const Or& node, Scope& scope) {
    Value value;
    for (const ExpressionPtr& operand : node.operands) {
        value = evaluate(*operand, scope);
        if (truthy(value)) break;
    }
    return value;
}

Value Interpreter::evaluate(const Concatenation& node, Scope& scope) {
    TextBuilder builder(runtime_.budget);
    for (const ExpressionPtr& operand : node.operands) {
        builder.append(to_text(runtime_.budget, evaluate(*operand, scope)));
    }
    return builder.build();
}

Value Interpreter::evaluate(const Conditional& node, Scope& scope) {
    if (truthy(evaluate(*node.condition, scope))) return evaluate(*node.then, scope);
    if (node.otherwise) return evaluate(*node.otherwise, scope);
    return Value::undefined("the condition of an inline if without else was false");
}

Value Interpreter::evaluate(const Attribute& node, Scope& scope) {
    return attribute(runtime_, evaluate(*node.object, scope), node.name);
}

Value Interpreter::evaluate(const Item& node, Scope& scope) {
    const Value object = evaluate(*node.object, scope);
    return item(runtime_, object, evaluate(*node.index, scope));
}

std::optional<Integer> Interpreter::slice_bound(const ExpressionPtr& node, Scope& scope) {
    if (!node) return std::nullopt;
    const Value value = evaluate(*node, scope);
    if (value.is<None>()) return std::nullopt;
    if (const auto integer = value.integer()) return *integer;
    refuse("a slice needs integers, not {}", type_name(value));
}

Value Interpreter::evaluate(const Slice& node, Scope& scope) {
    const Value object = evaluate(*node.object, scope);
    SliceBounds bounds;
    bounds.begin = slice_bound(node.begin, scope);
    bounds.end = slice_bound(node.end, scope);
    bounds.step = slice_bound(node.step, scope);
    return slice(runtime_, object, bounds);
}

Arguments Interpreter::arguments(const CallArguments& nodes, Scope& scope) {
    Arguments result;
    for (const ExpressionPtr& node : nodes.positional) result.positional.push_back(evaluate(*node, scope));
    if (nodes.all_positional) {
        const auto more = iterate(runtime_.budget, evaluate(*nodes.all_positional, scope));
        result.positional.insert(result.positional.end(), more.begin(), more.end());
    }
    for (const auto& [name, node] : nodes.named) result.named.emplace_back(name, evaluate(*node, scope));
    if (nodes.all_named) {
        const Value more = evaluate(*nodes.all_named, scope);
        if (!more.is<Dict*>()) refuse("** needs a dictionary, not {}", type_name(more));
        for (const auto& [key, value] : more.as<Dict*>()->entries) {
            if (!key.is<Text>()) refuse("** needs names, not {}", type_name(key));
            result.named.emplace_back(key.as<Text>().view(), value);
        }
    }
    return result;
}

Value Interpreter::evaluate(const Call& node, Scope& scope) {
    return call(node, arguments(node.arguments, scope), scope);
}

Value Interpreter::call(const Call& node, Arguments arguments, Scope& scope) {
    // A method that is called at once needs no object of its own.
    if (const auto* method_name = std::get_if<Attribute>(&node.callee->node)) {
        const Value object = evaluate(*method_name->object, scope);
        if (const Method method = find_method(object, method_name->name)) return method(runtime_, object, arguments);
    }
    const Value callee = evaluate(*node.callee, scope);
    if (callee.is<Undefined>()) refuse_undefined(callee);
    if (const auto* loop = callee.get_if<Loop*>()) {
        if (!(*loop)->recurse) refuse("the loop must be marked 'recursive' to be called");
        return (*loop)->recurse->call(arguments);
    }
    if (!callee.is<Callable*>()) refuse("{} is not a function", type_name(callee));
    return callee.as<Callable*>()->call(arguments);
}

Value Interpreter::evaluate(const Filter& node, Scope& scope) {
    const FilterFunction filter = find_filter(node.name);
    if (!filter) refuse("unknown filter '{}'", node.name);
    const Value input = evaluate(*node.input, scope);
    Arguments values = arguments(node.arguments, scope);
    return filter(runtime_, input, values);
}

Value Interpreter::evaluate(const Test& node, Scope& scope) {
    const TestFunction test = find_test(node.name);
    if (!test) refuse("unknown test '{}'", node.name);
    const Value input = evaluate(*node.input, scope);
    Arguments values = arguments(node.arguments, scope);
    return test(runtime_, input, values);
}

}  // namespace riftjit::models::jinja
