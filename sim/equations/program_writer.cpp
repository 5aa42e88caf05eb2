// Steps of a column program from a value graph.
#include <array>
#include <cmath>
#include <optional>

#include "sim/equations/value_graph.h"

namespace riftjit::sim {

namespace {

constexpr uint16_t kUnwritten = UINT16_MAX;

}  // namespace

// Writes each node that is reached once, operands first. A product that only one sum uses becomes part of it: a fused
// multiply-add, rounded once.
class ProgramWriter {
public:
    ProgramWriter(const ValueGraph& graph, ColumnProgramSpec& spec)
        : graph_(graph),
          spec_(spec),
          uses_(graph.nodes_.size()),
          is_counted_(uses_),
          written_(uses_.size(), kUnwritten) {}

    void count(Value value) {
        ++uses_[value];
        if (is_counted_[value]++ != 0) return;
        const Node& node = graph_.nodes_[value];
        if (const auto mean = graph_.number(node.a); node.op == ColumnOp::poisson && mean)
            if (!(*mean >= 0 && *mean <= kMostPoissonMean)) undrawable_mean_ = static_cast<double>(*mean);
        is_finite_ &= std::isfinite(node.number) && !(node.op == ColumnOp::divide && graph_.number(node.b) == 0.0L);
        fits_ &= spec_.precision == Precision::f64 || std::isfinite(static_cast<float>(node.number));
        for (size_t i = 0; i < operand_count(node.op); ++i) count(operands(node)[i]);
    }
    bool is_finite() const { return is_finite_; }                               // no constant is infinite or no number
    bool fits() const { return fits_; }                                         // nor in the program's precision
    std::optional<double> undrawable_mean() const { return undrawable_mean_; }  // of a Poisson number
    uint16_t write(Value value) {
        if (written_[value] != kUnwritten) return written_[value];
        const Node& node = graph_.nodes_[value];
        if (fuse(node)) return written_[value] = last_step();
        ColumnStep step{.op = node.op, .index = node.index, .number = static_cast<double>(node.number)};
        const std::array targets = {&step.a, &step.b, &step.c};
        for (size_t i = 0; i < operand_count(node.op); ++i) *targets[i] = write(operands(node)[i]);
        spec_.steps.push_back(step);
        return written_[value] = last_step();
    }

private:
    using Node = ValueGraph::Node;

    static std::array<Value, 3> operands(const Node& node) { return {node.a, node.b, node.c}; }
    static size_t operand_count(ColumnOp op) {
        size_t count = 0;
        while (count < 3 && traits(op).operands[count] != ColumnKind::none) ++count;
        return count;
    }
    uint16_t last_step() const { return static_cast<uint16_t>(spec_.steps.size() - 1); }

    bool is_lone_product(Value value) const {
        return graph_.nodes_[value].op == ColumnOp::multiply && uses_[value] == 1 && written_[value] == kUnwritten;
    }
    bool has_constant_factor(Value product) const { return graph_.number(graph_.nodes_[product].a).has_value(); }

    bool fuse(const Node& node) {
        if (node.op == ColumnOp::add && (is_lone_product(node.a) || is_lone_product(node.b))) {
            const bool is_left = is_lone_product(node.a);
            push_fused(is_left ? node.a : node.b, 1, is_left ? node.b : node.a);
            return true;
        }
        // c - k x: the sign goes into the constant.
        if (node.op == ColumnOp::subtract && is_lone_product(node.b) && has_constant_factor(node.b)) {
            push_fused(node.b, -1, node.a);
            return true;
        }
        return false;
    }
    void push_fused(Value product, int sign, Value addend) {
        const Node& factors = graph_.nodes_[product];
        ColumnStep step{.op = ColumnOp::fused_multiply_add};
        step.a = sign > 0 ? write(factors.a) : write_constant(-*graph_.number(factors.a));
        step.b = write(factors.b);
        step.c = write(addend);
        spec_.steps.push_back(step);
    }
    uint16_t write_constant(long double number) {
        spec_.steps.push_back({.op = ColumnOp::constant, .number = static_cast<double>(number)});
        return last_step();
    }

    const ValueGraph& graph_;
    ColumnProgramSpec& spec_;
    std::vector<uint32_t> uses_, is_counted_;
    std::vector<uint16_t> written_;
    bool is_finite_ = true, fits_ = true;
    std::optional<double> undrawable_mean_;
};

Result<ColumnProgramSpec> ValueGraph::program(Precision precision, const std::vector<ColumnType>& columns,
                                              uint32_t scalars, const std::vector<ColumnStore>& stores,
                                              Value fires) const {
    ColumnProgramSpec spec{.precision = precision, .scalars = scalars, .columns = columns};
    if (nodes_.size() >= kUnwritten || columns.size() > kMaxColumns)
        return fail(ErrorKind::Unsupported, "too long: {} values over {} columns, of at most {} and {}", nodes_.size(),
                    columns.size(), kUnwritten - 1, kMaxColumns);
    ProgramWriter writer(*this, spec);
    for (const ColumnStore& store : stores) writer.count(store.value);
    if (!is_false(fires)) writer.count(fires);
    if (!writer.is_finite()) return fail(ErrorKind::Usage, "{}", kConstantNotFinite);
    if (!writer.fits()) return fail(ErrorKind::Usage, "{}", kConstantBeyondSingle);
    if (const auto mean = writer.undrawable_mean())
        return fail(ErrorKind::Unsupported, "poisson() of a mean of {:.6g}: 0 to {} can be drawn in a step", *mean,
                    kMostPoissonMean);
    // Every load comes before the first store.
    std::vector<uint16_t> values;
    for (const ColumnStore& store : stores) values.push_back(writer.write(store.value));
    const uint16_t fired = is_false(fires) ? 0 : writer.write(fires);
    for (size_t i = 0; i < stores.size(); ++i)
        spec.steps.push_back({.op = ColumnOp::store, .a = values[i], .index = stores[i].column});
    if (!is_false(fires)) spec.steps.push_back({.op = ColumnOp::fire, .a = fired});
    if (spec.steps.size() > kMaxColumnSteps)
        return fail(ErrorKind::Unsupported, "too long: {} steps, of at most {}", spec.steps.size(), kMaxColumnSteps);
    return spec;
}

}  // namespace riftjit::sim
