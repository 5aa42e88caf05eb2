#include "sim/equations/value_graph.h"

#include <algorithm>
#include <cmath>

namespace riftjit::sim {

namespace {

constexpr uint32_t kFirstSymbol = 1u << 20;  // column numbers from here on are symbols

long double fold_function(ColumnOp op, long double a) {
    switch (op) {
        case ColumnOp::absolute:
            return std::fabs(a);
        case ColumnOp::floor:
            return std::floor(a);
        case ColumnOp::square_root:
            return std::sqrt(a);
        case ColumnOp::exp:
            return std::exp(a);
        case ColumnOp::expm1:
            return std::expm1(a);
        case ColumnOp::log:
            return std::log(a);
        case ColumnOp::sin:
            return std::sin(a);
        case ColumnOp::cos:
            return std::cos(a);
        default:
            return std::tanh(a);
    }
}

}  // namespace

AffineForm& AffineForm::add(const AffineForm& other, long double scale) {
    constant += scale * other.constant;
    for (const auto& [atom, coefficient] : other.coefficients) {
        const long double sum = coefficients[atom] += scale * coefficient;
        if (sum == 0) coefficients.erase(atom);
    }
    return *this;
}

ValueGraph::ValueGraph() {
    // Two comparisons that are never folded stand for the truths.
    nodes_.push_back({.op = ColumnOp::constant});
    nodes_.push_back({.op = ColumnOp::constant});
    const Value zero = constant(0);
    nodes_[kFalse] = {.op = ColumnOp::less, .a = zero, .b = zero};
    nodes_[kTrue] = {.op = ColumnOp::less_equal, .a = zero, .b = zero};
}

Value ValueGraph::node(Node node) {
    const auto [found, is_new] = known_.try_emplace(node.key(), static_cast<Value>(nodes_.size()));
    if (is_new) nodes_.push_back(node);
    return found->second;
}

Value ValueGraph::constant(long double number) {
    if (std::isnan(number)) {  // equal to nothing, so no key
        nodes_.push_back({.op = ColumnOp::constant, .number = number});
        return static_cast<Value>(nodes_.size() - 1);
    }
    return node({.op = ColumnOp::constant, .number = number == 0 ? 0 : number});  // one zero
}
Value ValueGraph::leaf(ColumnOp op, uint32_t index) { return node({.op = op, .index = index}); }
Value ValueGraph::symbol(uint32_t number) {
    check(number < 64, "at most 64 symbols");
    return node({.op = ColumnOp::load, .index = kFirstSymbol + number, .symbols = uint64_t(1) << number});
}
Value ValueGraph::unary(ColumnOp op, Value a) { return node({.op = op, .a = a, .symbols = at(a).symbols}); }
Value ValueGraph::binary(ColumnOp op, Value a, Value b) {
    return node({.op = op, .a = a, .b = b, .symbols = at(a).symbols | at(b).symbols});
}

std::optional<long double> ValueGraph::number(Value value) const {
    if (at(value).op != ColumnOp::constant) return std::nullopt;
    return at(value).number;
}
bool ValueGraph::is_number(Value value, long double number) const {
    return at(value).op == ColumnOp::constant && at(value).number == number;
}

Value ValueGraph::add(Value a, Value b) {
    if (number(a) && number(b)) return constant(*number(a) + *number(b));
    if (is_number(a, 0)) return b;
    if (is_number(b, 0)) return a;
    if (at(b).op == ColumnOp::negate) return subtract(a, at(b).a);
    return binary(ColumnOp::add, std::min(a, b), std::max(a, b));
}

Value ValueGraph::subtract(Value a, Value b) {
    if (number(a) && number(b)) return constant(*number(a) - *number(b));
    if (is_number(b, 0)) return a;
    if (is_number(a, 0)) return negate(b);
    if (at(b).op == ColumnOp::negate) return add(a, at(b).a);
    return binary(ColumnOp::subtract, a, b);
}

Value ValueGraph::multiply(Value a, Value b) {
    if (number(a) && number(b)) return constant(*number(a) * *number(b));
    if (number(b)) std::swap(a, b);
    if (number(a)) {
        if (is_number(a, 0) || is_number(a, 1)) return is_number(a, 0) ? a : b;
        if (is_number(a, -1)) return negate(b);
        // One constant factor to a product.
        if (at(b).op == ColumnOp::multiply && number(at(b).a))
            return multiply(constant(*number(a) * *number(at(b).a)), at(b).b);
        if (at(b).op == ColumnOp::negate) return multiply(constant(-*number(a)), at(b).a);
        return binary(ColumnOp::multiply, a, b);
    }
    return binary(ColumnOp::multiply, std::min(a, b), std::max(a, b));
}

Value ValueGraph::divide(Value a, Value b) {
    if (number(a) && number(b)) return constant(*number(a) / *number(b));
    if (is_number(a, 0)) return a;
    // The reciprocal in extended precision costs one rounding more than a division, which is far slower.
    if (number(b) && *number(b) != 0 && std::isfinite(1 / *number(b))) return multiply(constant(1 / *number(b)), a);
    return binary(ColumnOp::divide, a, b);
}

Value ValueGraph::negate(Value a) {
    if (number(a)) return constant(-*number(a));
    if (at(a).op == ColumnOp::negate) return at(a).a;
    if (at(a).op == ColumnOp::subtract) return subtract(at(a).b, at(a).a);
    if (at(a).op == ColumnOp::multiply && number(at(a).a)) return multiply(constant(-*number(at(a).a)), at(a).b);
    return unary(ColumnOp::negate, a);
}

Value ValueGraph::power(Value base, Value exponent) {
    if (number(base) && number(exponent)) return constant(std::pow(*number(base), *number(exponent)));
    const std::optional<long double> constant_exponent = number(exponent);
    if (constant_exponent && *constant_exponent == 0.5L) return function(ColumnOp::square_root, base);
    if (!constant_exponent || std::fabs(*constant_exponent) > 8 || std::floor(*constant_exponent) != *constant_exponent)
        return binary(ColumnOp::power, base, exponent);
    Value product = constant(1), square = base;
    for (auto remaining = static_cast<uint32_t>(std::fabs(*constant_exponent)); remaining != 0; remaining >>= 1) {
        if ((remaining & 1) != 0) product = multiply(product, square);
        if (remaining > 1) square = multiply(square, square);
    }
    return *constant_exponent < 0 ? divide(constant(1), product) : product;
}

Value ValueGraph::select(Value condition, Value holds, Value otherwise) {
    if (is_true(condition) || holds == otherwise) return holds;
    if (is_false(condition)) return otherwise;
    if (at(condition).op == ColumnOp::negation) return select(at(condition).a, otherwise, holds);
    return node({.op = ColumnOp::select,
                 .a = condition,
                 .b = holds,
                 .c = otherwise,
                 .symbols = at(condition).symbols | at(holds).symbols | at(otherwise).symbols});
}

Value ValueGraph::both(Value a, Value b) {
    if (is_true(a) || is_false(b) || a == b) return b;
    if (is_true(b) || is_false(a)) return a;
    return binary(ColumnOp::both, std::min(a, b), std::max(a, b));
}
Value ValueGraph::either(Value a, Value b) {
    if (is_false(a) || is_true(b) || a == b) return b;
    if (is_false(b) || is_true(a)) return a;
    return binary(ColumnOp::either, std::min(a, b), std::max(a, b));
}
Value ValueGraph::negation(Value a) {
    if (is_true(a) || is_false(a)) return truth(is_false(a));
    if (at(a).op == ColumnOp::negation) return at(a).a;
    return unary(ColumnOp::negation, a);
}

Value ValueGraph::compare(ColumnOp op, Value a, Value b) {
    if (!number(a) || !number(b)) return binary(op, a, b);
    const long double left = *number(a), right = *number(b);
    return truth(op == ColumnOp::less ? left < right : op == ColumnOp::equal ? left == right : left <= right);
}

Value ValueGraph::multiply_add(Value a, Value b, Value c) {
    if (number(b)) std::swap(a, b);
    if ((number(a) && number(b)) || is_number(a, 0) || is_number(a, 1) || is_number(a, -1) || is_number(c, 0))
        return add(multiply(a, b), c);
    return node({.op = ColumnOp::fused_multiply_add,
                 .a = a,
                 .b = b,
                 .c = c,
                 .symbols = at(a).symbols | at(b).symbols | at(c).symbols});
}

Value ValueGraph::function(ColumnOp op, Value a) {
    return number(a) ? constant(fold_function(op, *number(a))) : unary(op, a);
}
Value ValueGraph::extreme(ColumnOp op, Value a, Value b) {
    if (a == b) return a;
    if (!number(a) || !number(b)) return binary(op, a, b);
    return (op == ColumnOp::minimum) == (*number(a) < *number(b)) ? a : b;
}
Value ValueGraph::draw(ColumnOp op, uint32_t draw, Value mean) {
    if (op == ColumnOp::poisson) return node({.op = op, .a = mean, .index = draw, .symbols = at(mean).symbols});
    return leaf(op, draw);
}

AffineForm ValueGraph::affine(Value value) {
    const auto known = affine_forms_.find(value);
    return known != affine_forms_.end() ? known->second : affine_forms_[value] = new_affine(value);
}

AffineForm ValueGraph::new_affine(Value value) {
    const Node& node = at(value);
    switch (node.op) {
        case ColumnOp::constant:
            return {.constant = node.number};
        case ColumnOp::add:
            return affine(node.a).add(affine(node.b), 1);
        case ColumnOp::subtract:
            return affine(node.a).add(affine(node.b), -1);
        case ColumnOp::negate:
            return AffineForm().add(affine(node.a), -1);
        case ColumnOp::multiply:  // a constant factor comes first
            if (number(node.a)) return AffineForm().add(affine(node.b), *number(node.a));
            break;
        default:
            break;
    }
    return {.coefficients = {{value, 1.0L}}};
}

Value ValueGraph::from_affine(const AffineForm& form) {
    Value sum = constant(form.constant);
    for (const auto& [atom, coefficient] : form.coefficients) sum = multiply_add(constant(coefficient), atom, sum);
    return sum;
}

ValueGraph::LinearParts ValueGraph::linear_in(Value value, Value symbol) {
    const auto known = linear_parts_.find({value, symbol});
    return known != linear_parts_.end() ? known->second : linear_parts_[{value, symbol}] = new_linear_in(value, symbol);
}

ValueGraph::LinearParts ValueGraph::new_linear_in(Value value, Value symbol) {
    const Node node = at(value);  // by value: new nodes may move it
    if ((node.symbols & at(symbol).symbols) == 0) return std::pair(constant(0), value);
    if (value == symbol) return std::pair(constant(1), constant(0));
    switch (node.op) {
        case ColumnOp::add:
        case ColumnOp::subtract: {
            const LinearParts left = linear_in(node.a, symbol), right = linear_in(node.b, symbol);
            if (!left || !right) return std::nullopt;
            if (node.op == ColumnOp::add)
                return std::pair(add(left->first, right->first), add(left->second, right->second));
            return std::pair(subtract(left->first, right->first), subtract(left->second, right->second));
        }
        case ColumnOp::negate: {
            const LinearParts inner = linear_in(node.a, symbol);
            if (!inner) return std::nullopt;
            return std::pair(negate(inner->first), negate(inner->second));
        }
        case ColumnOp::multiply: {
            const bool is_right = (at(node.a).symbols & at(symbol).symbols) == 0;
            const Value factor = is_right ? node.a : node.b;
            if ((at(factor).symbols & at(symbol).symbols) != 0) return std::nullopt;
            const LinearParts inner = linear_in(is_right ? node.b : node.a, symbol);
            if (!inner) return std::nullopt;
            return std::pair(multiply(factor, inner->first), multiply(factor, inner->second));
        }
        case ColumnOp::divide: {
            if ((at(node.b).symbols & at(symbol).symbols) != 0) return std::nullopt;
            const LinearParts inner = linear_in(node.a, symbol);
            if (!inner) return std::nullopt;
            // A part that is absent stays absent, by whatever it is divided.
            const auto part = [&](Value value) { return is_number(value, 0) ? value : divide(value, node.b); };
            return std::pair(part(inner->first), part(inner->second));
        }
        default:
            return std::nullopt;
    }
}

}  // namespace riftjit::sim
