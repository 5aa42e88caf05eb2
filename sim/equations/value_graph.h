// Values of a column program as a graph in which equal expressions are one node: constants are folded on the way in
// (in extended precision, rounded once when the program is written), and what nothing stores never comes out.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "host/result.h"
#include "jit/columns/column_program.h"

namespace riftjit::sim {

using Value = uint32_t;  // a node

// How the error of a program with such a constant ends.
inline constexpr std::string_view kConstantNotFinite =
    "a constant is not finite (a division by 0, or the root or logarithm of a negative number)";

inline constexpr std::string_view kConstantBeyondSingle = "a constant is more than single precision holds";

// constant + sum of coefficient * atom. Atoms are nodes that are not themselves sums or multiples.
struct AffineForm {
    long double constant = 0;
    std::map<Value, long double> coefficients;  // none of them 0

    AffineForm& add(const AffineForm& other, long double scale);
    bool is_zero() const { return constant == 0 && coefficients.empty(); }
    bool operator==(const AffineForm&) const = default;
};

struct ColumnStore {
    uint32_t column;
    Value value;
};

class ValueGraph {
public:
    ValueGraph();

    Value constant(long double number);
    Value load(uint32_t column) { return leaf(ColumnOp::load, column); }
    Value scalar(uint32_t index) { return leaf(ColumnOp::scalar, index); }
    Value truth(bool holds) const { return holds ? kTrue : kFalse; }
    // A stand-in for a state while derivatives are analysed: at most 64, never part of a program.
    Value symbol(uint32_t number);

    Value add(Value a, Value b);
    Value subtract(Value a, Value b);
    Value multiply(Value a, Value b);
    Value divide(Value a, Value b);
    Value negate(Value a);
    Value power(Value base, Value exponent);
    Value select(Value condition, Value holds, Value otherwise);
    Value both(Value a, Value b);
    Value either(Value a, Value b);
    Value negation(Value a);
    Value less(Value a, Value b) { return compare(ColumnOp::less, a, b); }
    Value less_equal(Value a, Value b) { return compare(ColumnOp::less_equal, a, b); }
    Value equal(Value a, Value b) { return compare(ColumnOp::equal, a, b); }
    Value multiply_add(Value a, Value b, Value c);           // a * b + c, rounded once
    Value function(ColumnOp op, Value a);                    // absolute, floor, square_root, exp ... tanh
    Value extreme(ColumnOp op, Value a, Value b);            // minimum, maximum
    Value draw(ColumnOp op, uint32_t draw, Value mean = 0);  // uniform, normal, poisson

    std::optional<long double> number(Value value) const;  // of a constant
    bool is_true(Value value) const { return value == kTrue; }
    bool is_false(Value value) const { return value == kFalse; }
    // Bit i: symbol i is part of it.
    uint64_t symbols_in(Value value) const { return nodes_[value].symbols; }

    AffineForm affine(Value value);
    Value from_affine(const AffineForm& form);
    // (a, b) with value = a * symbol + b, free of the symbol; none where the value is not linear in it.
    using LinearParts = std::optional<std::pair<Value, Value>>;
    LinearParts linear_in(Value value, Value symbol);

    // The program that makes the stores, then fires where `fires` holds (never: kFalse).
    Result<ColumnProgramSpec> program(Precision precision, const std::vector<ColumnType>& columns, uint32_t scalars,
                                      const std::vector<ColumnStore>& stores, Value fires) const;

private:
    using Key = std::tuple<ColumnOp, Value, Value, Value, uint32_t, long double>;
    struct Node {
        ColumnOp op;
        Value a = 0, b = 0, c = 0;
        uint32_t index = 0;
        long double number = 0;
        uint64_t symbols = 0;
        Key key() const { return {op, a, b, c, index, number}; }
    };
    static constexpr Value kFalse = 0, kTrue = 1;

    Value leaf(ColumnOp op, uint32_t index);
    Value node(Node node);
    Value unary(ColumnOp op, Value a);
    Value binary(ColumnOp op, Value a, Value b);
    Value compare(ColumnOp op, Value a, Value b);
    bool is_number(Value value, long double number) const;
    AffineForm new_affine(Value value);
    LinearParts new_linear_in(Value value, Value symbol);
    const Node& at(Value value) const { return nodes_[value]; }

    std::vector<Node> nodes_;
    std::map<Key, Value> known_;
    // Results so far, since sums may share their parts.
    std::map<Value, AffineForm> affine_forms_;
    std::map<std::pair<Value, Value>, LinearParts> linear_parts_;

    friend class ProgramWriter;
};

}  // namespace riftjit::sim
