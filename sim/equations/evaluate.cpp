#include "sim/equations/evaluate.h"

#include "sim/equations/check.h"
#include "sim/equations/model.h"

namespace riftjit::sim {

namespace {

class Evaluator {
public:
    explicit Evaluator(const Environment& environment) : environment_(environment), graph_(environment.graph) {}

    Value value(const Expression& expression) {
        switch (expression.operation) {
            case Operation::number:
                return graph_.constant(expression.value);
            case Operation::name:
                return named(expression.name);
            case Operation::call:
                return call(expression);
            case Operation::negate:
                return graph_.negate(operand(expression, 0));
            case Operation::negation:
                return graph_.negation(operand(expression, 0));
            case Operation::select:
                return graph_.select(operand(expression, 0), operand(expression, 1), operand(expression, 2));
            default:
                return binary(expression.operation, operand(expression, 0), operand(expression, 1));
        }
    }

private:
    Value operand(const Expression& expression, size_t index) { return value(*expression.operands[index]); }

    Value named(const std::string& name) {
        if (const auto found = environment_.values.find(name); found != environment_.values.end()) return found->second;
        if (environment_.subexpressions != nullptr) {
            const auto found = environment_.subexpressions->find(name);
            if (found != environment_.subexpressions->end()) return subexpression(name, *found->second);
        }
        if (name == "dt") return graph_.constant(environment_.step_ms);
        const auto constant = named_constant(name);
        check(constant.has_value(), "names are resolved when a model is checked");
        return graph_.constant(constant->value);
    }
    // Once each: subexpressions of subexpressions would multiply.
    Value subexpression(const std::string& name, const Expression& expression) {
        const auto known = subexpressions_.find(name);
        return known != subexpressions_.end() ? known->second : subexpressions_[name] = value(expression);
    }
    Value binary(Operation operation, Value a, Value b) {
        switch (operation) {
            case Operation::add:
                return graph_.add(a, b);
            case Operation::subtract:
                return graph_.subtract(a, b);
            case Operation::multiply:
                return graph_.multiply(a, b);
            case Operation::divide:
                return graph_.divide(a, b);
            case Operation::power:
                return graph_.power(a, b);
            case Operation::less:
                return graph_.less(a, b);
            case Operation::less_equal:
                return graph_.less_equal(a, b);
            case Operation::greater:
                return graph_.less(b, a);
            case Operation::greater_equal:
                return graph_.less_equal(b, a);
            case Operation::equal:
                return graph_.equal(a, b);
            case Operation::not_equal:
                return graph_.negation(graph_.equal(a, b));
            case Operation::both:
                return graph_.both(a, b);
            default:
                return graph_.either(a, b);
        }
    }
    Value call(const Expression& call) {
        const std::string& name = call.name;
        if (name == "rand") return graph_.draw(ColumnOp::uniform, kFirstModelDraw + call.draw);
        if (name == "randn") return graph_.draw(ColumnOp::normal, kFirstModelDraw + call.draw);
        if (name == "previous") return environment_.previous->at(call.operands[0]->name);
        const Value a = operand(call, 0);
        if (name == "poisson") return graph_.draw(ColumnOp::poisson, kFirstModelDraw + call.draw, a);
        if (call.operands.size() == 1) return apply(name, a);
        const Value b = operand(call, 1);
        if (name == "where") return graph_.select(a, b, operand(call, 2));
        if (name == "clip")
            return graph_.extreme(ColumnOp::minimum, graph_.extreme(ColumnOp::maximum, a, b), operand(call, 2));
        if (name == "pow") return graph_.power(a, b);
        return graph_.extreme(name == "min" ? ColumnOp::minimum : ColumnOp::maximum, a, b);
    }
    Value apply(const std::string& name, Value a) {
        const Value zero = graph_.constant(0), one = graph_.constant(1);
        if (name == "int") return graph_.select(a, one, zero);
        if (name == "ceil") return graph_.negate(graph_.function(ColumnOp::floor, graph_.negate(a)));
        if (name == "sign")
            return graph_.select(graph_.less(zero, a), one,
                                 graph_.select(graph_.less(a, zero), graph_.constant(-1), zero));
        if (name == "exprel")  // (e^a - 1) / a, without its gap at 0
            return graph_.select(graph_.equal(a, zero), one, graph_.divide(graph_.function(ColumnOp::expm1, a), a));
        static const std::map<std::string, ColumnOp, std::less<>> kOps = {
            {"abs", ColumnOp::absolute}, {"sqrt", ColumnOp::square_root}, {"floor", ColumnOp::floor},
            {"exp", ColumnOp::exp},      {"expm1", ColumnOp::expm1},      {"log", ColumnOp::log},
            {"sin", ColumnOp::sin},      {"cos", ColumnOp::cos},          {"tanh", ColumnOp::tanh}};
        return graph_.function(kOps.at(name), a);
    }

    const Environment& environment_;
    ValueGraph& graph_;
    std::map<std::string, Value> subexpressions_;
};

}  // namespace

Value evaluate(const Expression& expression, const Environment& environment) {
    return Evaluator(environment).value(expression);
}

void execute(const Statement& statement, Environment& environment) {
    ValueGraph& graph = environment.graph;
    const Value value = evaluate(*statement.value, environment);
    if (statement.assignment == Assignment::set) {
        environment.values[statement.target] = value;
        return;
    }
    Value& target = environment.values.at(statement.target);
    switch (statement.assignment) {
        case Assignment::add:
            target = graph.add(target, value);
            break;
        case Assignment::subtract:
            target = graph.subtract(target, value);
            break;
        case Assignment::multiply:
            target = graph.multiply(target, value);
            break;
        default:
            target = graph.divide(target, value);
            break;
    }
}

}  // namespace riftjit::sim
