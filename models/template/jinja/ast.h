// A parsed template. Chains of operators are flat, so that only nesting makes the tree deep.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/template/jinja/value.h"

namespace riftjit::models::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;
struct Statement;
using Body = std::vector<Statement>;

struct CallArguments {
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<std::string, ExpressionPtr>> named;
    ExpressionPtr all_positional, all_named;  // *x, **x
};

// clang-format off
struct Literal { Value value; };
struct Name { std::string name; };
struct Captured {};  // what the enclosing set or filter block has rendered
struct ListLiteral { std::vector<ExpressionPtr> items; List::Kind kind; };
struct DictLiteral { std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries; };
enum class UnaryOperator : uint8_t { negate, plus, logical_not };
struct Unary { UnaryOperator op; ExpressionPtr operand; };
enum class BinaryOperator : uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
struct Arithmetic { ExpressionPtr first; std::vector<std::pair<BinaryOperator, ExpressionPtr>> rest; };
enum class ComparisonOperator : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };
struct Comparison { ExpressionPtr first; std::vector<std::pair<ComparisonOperator, ExpressionPtr>> rest; };
struct And { std::vector<ExpressionPtr> operands; };
struct Or { std::vector<ExpressionPtr> operands; };
struct Concatenation { std::vector<ExpressionPtr> operands; };  // a ~ b
struct Conditional { ExpressionPtr condition, then, otherwise; };  // otherwise may be absent
struct Attribute { ExpressionPtr object; std::string name; };
struct Item { ExpressionPtr object, index; };
struct Slice { ExpressionPtr object, begin, end, step; };  // the last three may be absent
struct Call { ExpressionPtr callee; CallArguments arguments; };
struct Filter { ExpressionPtr input; std::string name; CallArguments arguments; };
struct Test { ExpressionPtr input; std::string name; CallArguments arguments; };
// clang-format on

struct Expression {
    uint32_t offset;  // into the source
    std::variant<Literal, Name, Captured, ListLiteral, DictLiteral, Unary, Arithmetic, Comparison, And, Or,
                 Concatenation, Conditional, Attribute, Item, Slice, Call, Filter, Test>
        node;
};

// What an assignment writes to.
struct Target {
    struct NamespaceAttribute {
        std::string space, attribute;
    };
    uint32_t offset;
    std::variant<std::string, NamespaceAttribute, std::vector<Target>> node;
};

// Of macros and of call blocks.
struct Signature {
    std::string name;
    std::vector<std::string> parameters;
    std::vector<ExpressionPtr> defaults;  // of the last parameters
    bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
};

// clang-format off
struct Data { Text text; };
struct Output { ExpressionPtr value; };
struct If { std::vector<std::pair<ExpressionPtr, Body>> branches; Body otherwise; };
struct For { Target target; ExpressionPtr items, condition; Body body, otherwise; bool recursive; };
struct Set { Target target; ExpressionPtr value; };
struct SetBlock { Target target; ExpressionPtr value; Body body; };  // value: filters applied to Captured
struct Macro { Signature signature; Body body; };
struct CallBlock { Signature signature; ExpressionPtr call; Body body; };
struct FilterBlock { ExpressionPtr value; Body body; };
struct Scoped { std::vector<std::pair<Target, ExpressionPtr>> variables; Body body; };  // with, generation
struct Break {};
struct Continue {};
// clang-format on

struct Statement {
    uint32_t offset;
    std::variant<Data, Output, If, For, Set, SetBlock, Macro, CallBlock, FilterBlock, Scoped, Break, Continue> node;
};

}  // namespace riftjit::models::jinja
