#include "jit/columns/column_program.h"

#include <fmt/format.h>

namespace riftjit {

namespace {

constexpr ColumnKind kNone = ColumnKind::none, kNumber = ColumnKind::number, kTruth = ColumnKind::truth;

constexpr ColumnOpTraits source(std::string_view name) { return {name, kNumber, {}, 0}; }
constexpr ColumnOpTraits unary(std::string_view name, uint32_t flops) { return {name, kNumber, {kNumber}, flops}; }
constexpr ColumnOpTraits binary(std::string_view name, uint32_t flops) {
    return {name, kNumber, {kNumber, kNumber}, flops};
}
constexpr ColumnOpTraits comparison(std::string_view name) { return {name, kTruth, {kNumber, kNumber}, 1}; }

// In the order of ColumnOp.
constexpr std::array<ColumnOpTraits, kColumnOps> kTraits = {
    source("constant"),
    source("scalar"),
    source("load"),
    source("id"),
    binary("add", 1),
    binary("subtract", 1),
    binary("multiply", 1),
    binary("divide", 1),
    unary("negate", 1),
    unary("absolute", 1),
    binary("minimum", 1),
    binary("maximum", 1),
    unary("floor", 1),
    unary("square_root", 1),
    ColumnOpTraits{"fused_multiply_add", kNumber, {kNumber, kNumber, kNumber}, 2},
    unary("exp", 4),
    unary("expm1", 4),
    unary("log", 4),
    unary("sin", 4),
    unary("cos", 4),
    unary("tanh", 4),
    binary("power", 8),
    comparison("less"),
    comparison("less_equal"),
    comparison("equal"),
    ColumnOpTraits{"both", kTruth, {kTruth, kTruth}, 0},
    ColumnOpTraits{"either", kTruth, {kTruth, kTruth}, 0},
    ColumnOpTraits{"negation", kTruth, {kTruth}, 0},
    ColumnOpTraits{"select", kNumber, {kTruth, kNumber, kNumber}, 0},
    ColumnOpTraits{"uniform", kNumber, {}, 20},  // ten rounds of two products
    ColumnOpTraits{"normal", kNumber, {}, 30},
    unary("poisson", 40),
    ColumnOpTraits{"store", kNone, {kNumber}, 0},
    ColumnOpTraits{"fire", kNone, {kTruth}, 0},
};
static_assert(kTraits[size_t(ColumnOp::power)].name == "power" && kTraits[size_t(ColumnOp::select)].name == "select" &&
              kTraits[size_t(ColumnOp::fire)].name == "fire");

std::string step_text(const ColumnProgramSpec& spec, size_t index) {
    const ColumnStep& step = spec.steps[index];
    const auto column = [&] { return fmt::format("column {} ({})", step.index, name(spec.columns[step.index])); };
    switch (step.op) {
        case ColumnOp::constant:
            return fmt::format("v{} = {}", index, step.number);
        case ColumnOp::scalar:
            return fmt::format("v{} = scalar {}", index, step.index);
        case ColumnOp::load:
            return fmt::format("v{} = {}", index, column());
        case ColumnOp::store:
            return fmt::format("{} = v{}", column(), step.a);
        case ColumnOp::fire:
            return fmt::format("fire where v{}", step.a);
        default:
            break;
    }
    const ColumnOpTraits& op = traits(step.op);
    std::string text = fmt::format("v{} = {}", index, op.name);
    if (step.op == ColumnOp::uniform || step.op == ColumnOp::normal || step.op == ColumnOp::poisson)
        text += fmt::format(" draw {}", step.index);
    const std::array operands = {step.a, step.b, step.c};
    for (size_t i = 0; i < operands.size() && op.operands[i] != kNone; ++i)
        text += fmt::format("{} v{}", i == 0 ? "" : ",", operands[i]);
    return text;
}

}  // namespace

const ColumnOpTraits& traits(ColumnOp op) { return kTraits[static_cast<size_t>(op)]; }

uint32_t column_bytes(ColumnType type) {
    switch (type) {
        case ColumnType::f64:
            return 8;
        case ColumnType::f32:
        case ColumnType::u32:
            return 4;
        case ColumnType::u16:
            return 2;
        case ColumnType::u8:
            return 1;
    }
    return 0;
}

std::string_view name(ColumnType type) {
    constexpr std::array<std::string_view, 5> kNames = {"f64", "f32", "u8", "u16", "u32"};
    return kNames[static_cast<size_t>(type)];
}

std::string_view name(Precision precision) { return precision == Precision::f64 ? "f64" : "f32"; }

uint64_t column_bytes(const ColumnProgramSpec& spec) {
    std::vector<bool> is_loaded(spec.columns.size()), is_stored(spec.columns.size());
    for (const ColumnStep& step : spec.steps) {
        if (step.op == ColumnOp::load) is_loaded[step.index] = true;
        if (step.op == ColumnOp::store) is_stored[step.index] = true;
    }
    uint64_t bytes = 0;
    for (size_t column = 0; column < spec.columns.size(); ++column)
        bytes += column_bytes(spec.columns[column]) * (uint64_t(is_loaded[column]) + uint64_t(is_stored[column]));
    return bytes;
}

std::string column_program_text(const ColumnProgramSpec& spec) {
    std::string text;
    for (size_t index = 0; index < spec.steps.size(); ++index) text += step_text(spec, index) + '\n';
    return text;
}

}  // namespace riftjit
