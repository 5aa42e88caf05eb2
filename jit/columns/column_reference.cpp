#include "jit/columns/column_reference.h"

#include <cmath>
#include <numbers>

#include "jit/columns/philox.h"

namespace riftjit {

namespace {

double draw_normal(const PhiloxWords& words) {
    const double radius = std::sqrt(-2 * std::log1p(-uniform_f64(philox_first(words))));
    // In the extended precision of x86, in which the angle's rounding does not show.
    const long double angle = 2 * std::numbers::pi_v<long double> * uniform_f64(philox_second(words));
    return radius * static_cast<double>(std::cos(angle));
}

double draw_poisson(const PhiloxWords& words, double mean) {
    if (!(mean >= 0 && mean <= kMostPoissonMean)) return NAN;
    const double u = uniform_f64(philox_first(words));
    double probability = std::exp(-mean), sum = probability, count = 0;
    while (!(u < sum) && !(count >= mean && probability < kLeastPoissonProbability)) {
        count += 1;
        probability *= mean * (1 / count);
        sum += probability;
    }
    return count;
}

// One element's values; a truth is 0 or 1.
template <class Number>
class Element {
public:
    Element(const ColumnProgramSpec& spec, ColumnProgramArgs& args) : spec_(spec), args_(args) {}

    void run(uint32_t element) {
        element_ = element;
        values_.clear();
        for (const ColumnStep& step : spec_.steps) values_.push_back(apply(step));
    }

private:
    Number apply(const ColumnStep& step) {
        switch (step.op) {
            case ColumnOp::constant:
                return static_cast<Number>(step.number);
            case ColumnOp::scalar:
                return static_cast<Number>(args_.scalars[step.index]);
            case ColumnOp::load:
                return load(step.index);
            case ColumnOp::id:
                return static_cast<Number>(args_.first_id + element_);
            case ColumnOp::uniform:
            case ColumnOp::normal:
            case ColumnOp::poisson:
                return draw(step);
            case ColumnOp::store:
                store(step.index, value(step.a));
                return 0;
            case ColumnOp::fire:
                if (value(step.a) != 0) args_.fired[args_.fired_count++] = element_;
                return 0;
            default:
                return apply_arithmetic(step.op, value(step.a), value(step.b), value(step.c));
        }
    }
    // Unused operands name value 0.
    Number value(uint16_t operand) const { return operand < values_.size() ? values_[operand] : 0; }

    static Number apply_arithmetic(ColumnOp op, Number a, Number b, Number c) {
        switch (op) {
            case ColumnOp::add:
                return a + b;
            case ColumnOp::subtract:
                return a - b;
            case ColumnOp::multiply:
                return a * b;
            case ColumnOp::divide:
                return a / b;
            case ColumnOp::negate:
                return -a;
            case ColumnOp::absolute:
                return std::fabs(a);
            case ColumnOp::minimum:
                return a < b ? a : b;
            case ColumnOp::maximum:
                return a > b ? a : b;
            case ColumnOp::floor:
                return std::floor(a);
            case ColumnOp::square_root:
                return std::sqrt(a);
            case ColumnOp::fused_multiply_add:
                return std::fma(a, b, c);
            case ColumnOp::less:
                return a < b;
            case ColumnOp::less_equal:
                return a <= b;
            case ColumnOp::equal:
                return a == b;
            case ColumnOp::both:
                return a != 0 && b != 0;
            case ColumnOp::either:
                return a != 0 || b != 0;
            case ColumnOp::negation:
                return a == 0;
            case ColumnOp::select:
                return a != 0 ? b : c;
            default:
                return static_cast<Number>(apply_function(op, a, b));
        }
    }
    static double apply_function(ColumnOp op, double a, double b) {
        switch (op) {
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
            case ColumnOp::tanh:
                return std::tanh(a);
            default:  // power, the last of the functions
                return std::pow(a, b);
        }
    }
    Number draw(const ColumnStep& step) const {
        const uint32_t id = static_cast<uint32_t>(args_.first_id + element_);
        const PhiloxWords words = philox_draw(args_.key, id, step.index, args_.step);
        if (step.op == ColumnOp::normal) return static_cast<Number>(draw_normal(words));
        if (step.op == ColumnOp::poisson) return static_cast<Number>(draw_poisson(words, value(step.a)));
        if constexpr (sizeof(Number) == sizeof(float)) return uniform_f32(philox_first(words));
        return static_cast<Number>(uniform_f64(philox_first(words)));
    }
    template <class Stored>
    Stored& at(uint32_t column) const {
        return static_cast<Stored*>(args_.columns[column])[element_];
    }
    Number load(uint32_t column) const {
        switch (spec_.columns[column]) {
            case ColumnType::f64:
                return static_cast<Number>(at<double>(column));
            case ColumnType::f32:
                return static_cast<Number>(at<float>(column));
            case ColumnType::u8:
                return at<uint8_t>(column);
            case ColumnType::u16:
                return at<uint16_t>(column);
            case ColumnType::u32:
                return static_cast<Number>(at<uint32_t>(column));
        }
        return 0;
    }
    void store(uint32_t column, Number value) const {
        switch (spec_.columns[column]) {
            case ColumnType::f64:
                at<double>(column) = static_cast<double>(value);
                break;
            case ColumnType::f32:
                at<float>(column) = static_cast<float>(value);
                break;
            case ColumnType::u8:
                at<uint8_t>(column) = static_cast<uint8_t>(value);
                break;
            case ColumnType::u16:
                at<uint16_t>(column) = static_cast<uint16_t>(value);
                break;
            case ColumnType::u32:
                at<uint32_t>(column) = static_cast<uint32_t>(value);
                break;
        }
    }

    const ColumnProgramSpec& spec_;
    ColumnProgramArgs& args_;
    uint32_t element_ = 0;
    std::vector<Number> values_;
};

template <class Number>
void run_elements(const ColumnProgramSpec& spec, ColumnProgramArgs& args, uint32_t begin, uint32_t end) {
    args.fired_count = 0;
    Element<Number> element(spec, args);
    for (uint32_t index = begin; index < end; ++index) element.run(index);
}

}  // namespace

void run_column_program(const ColumnProgramSpec& spec, ColumnProgramArgs& args, uint32_t begin, uint32_t end) {
    spec.precision == Precision::f64 ? run_elements<double>(spec, args, begin, end)
                                     : run_elements<float>(spec, args, begin, end);
}

}  // namespace riftjit
