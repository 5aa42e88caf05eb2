// Runs a parsed template.
#pragma once

#include <list>
#include <memory>

#include "models/template/jinja/ast.h"
#include "models/template/jinja/runtime.h"

namespace riftjit::models::jinja {

// Variables of a block. Reading looks outwards; assigning stays here.
struct Scope {
    Scope* parent;
    std::vector<std::pair<std::string_view, Value>> variables;
    bool captured = false;  // a macro that was defined here may still read it when the block has ended

    Value* find(std::string_view name);  // here and outwards
    void set(std::string_view name, Value value);
};

class Interpreter {
public:
    explicit Interpreter(Runtime& runtime);

    void define(std::string_view name, Value value);  // name must outlive the interpreter
    Text run(const Body& body);                       // throws TemplateError

private:
    enum class Flow : uint8_t { next, break_loop, continue_loop };

    Flow execute(const Body& body, Scope& scope);
    Flow execute(const Data& node, Scope& scope);
    Flow execute(const Output& node, Scope& scope);
    Flow execute(const If& node, Scope& scope);
    Flow execute(const For& node, Scope& scope);
    Flow execute(const Set& node, Scope& scope);
    Flow execute(const SetBlock& node, Scope& scope);
    Flow execute(const Macro& node, Scope& scope);
    Flow execute(const CallBlock& node, Scope& scope);
    Flow execute(const FilterBlock& node, Scope& scope);
    Flow execute(const Scoped& node, Scope& scope);
    Flow execute(const Break&, Scope&) { return Flow::break_loop; }
    Flow execute(const Continue&, Scope&) { return Flow::continue_loop; }

    Value evaluate(const Expression& expression, Scope& scope);
    Value evaluate(const Literal& node, Scope&) { return node.value; }
    Value evaluate(const Name& node, Scope& scope);
    Value evaluate(const Captured&, Scope&) { return captured_.back(); }
    Value evaluate(const ListLiteral& node, Scope& scope);
    Value evaluate(const DictLiteral& node, Scope& scope);
    Value evaluate(const Unary& node, Scope& scope);
    Value evaluate(const Arithmetic& node, Scope& scope);
    Value evaluate(const Comparison& node, Scope& scope);
    Value evaluate(const And& node, Scope& scope);
    Value evaluate(const Or& node, Scope& scope);
    Value evaluate(const Concatenation& node, Scope& scope);
    Value evaluate(const Conditional& node, Scope& scope);
    Value evaluate(const Attribute& node, Scope& scope);
    Value evaluate(const Item& node, Scope& scope);
    Value evaluate(const Slice& node, Scope& scope);
    Value evaluate(const Call& node, Scope& scope);
    Value evaluate(const Filter& node, Scope& scope);
    Value evaluate(const Test& node, Scope& scope);

    Arguments arguments(const CallArguments& nodes, Scope& scope);
    Value call(const Call& node, Arguments arguments, Scope& scope);
    bool compare(ComparisonOperator op, const Value& left, const Value& right);
    std::optional<Integer> slice_bound(const ExpressionPtr& node, Scope& scope);

    void assign(const Target& target, Value value, Scope& scope);
    Flow run_loop(const For& node, std::vector<Value> items, size_t depth, Scope& scope);
    std::vector<Value> filter_items(const For& node, std::vector<Value> items, Scope& scope);

    static void keep(Scope& scope);  // beyond its block, with those around it

    // A callable that renders `body` with its parameters bound, in a scope inside the one that defined it.
    Callable* make_macro(const Signature& signature, const Body& body, Scope& scope);
    Value call_macro(const Signature& signature, const Body& body, Scope& scope, Arguments& arguments);
    void bind(const Signature& signature, Scope& scope, Arguments& arguments);

    template <class Action>
    Text capture(Action action);  // what `action` writes
    template <class Action>
    auto in_scope(Scope& parent, Action action);  // runs action(scope) in a fresh scope

    void write(const Text& text);  // to the innermost capture

    Runtime& runtime_;
    std::list<Scope> kept_scopes_;  // captured ones
    Scope globals_{nullptr, {}};
    std::vector<TextBuilder> outputs_;  // innermost capture last
    std::vector<Value> captured_;
};

// range, namespace, dict, raise_exception, strftime_now
void define_globals(Interpreter& interpreter, Runtime& runtime);

}  // namespace riftjit::models::jinja
