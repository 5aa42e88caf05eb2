// The ops of the sampler and of the simulator, each described once (op_description.h). No plan launches them.
#pragma once

#include "jit/op_description.h"

namespace riftjit {

template <>
struct OpTraits<ReduceSpec> {
    static constexpr std::string_view kName = "reduce";
    static void fields(auto& spec, auto&& visit) {
        auto& [kind, width] = spec;
        visit("", kind), visit("w", width);
    }
    static Signature arguments(const ReduceSpec&) { return {}; }
    static uint32_t units(const ReduceSpec&, uint32_t) { return 1; }
    static KernelCost cost(const ReduceSpec& spec) { return {spec.width, 0}; }
    static void check(const ReduceSpec& spec, Claims& claims) { claims.positive("width", spec.width); }
    static std::string text(const ReduceSpec& spec) {
        return fmt::format("reduce {} over {}", riftjit::text(spec.kind), spec.width);
    }
};

template <>
struct OpTraits<LifStepSpec> {
    static constexpr std::string_view kName = "lif_step";
    static void fields(auto& spec, auto&& visit) {
        auto& [neurons, excitatory, ee, ei, ie, ii, decay_exc, decay_inh, membrane, rest, reset, threshold, drive,
               drive_slope, refractory_steps] = spec;
        visit("n", neurons);
        visit.rest(excitatory, ee, ei, ie, ii, decay_exc, decay_inh, membrane, rest, reset, threshold, drive,
                   drive_slope, refractory_steps);
    }
    static Signature arguments(const LifStepSpec&) { return {}; }
    static uint32_t units(const LifStepSpec& spec, uint32_t) { return spec.neurons; }
    // Two arrivals folded in and two decays (8), the drive (4), the membrane (4), the comparison.
    static KernelCost cost(const LifStepSpec& spec) { return {17 * uint64_t(spec.neurons), 0}; }
    static void check(const LifStepSpec& spec, Claims& claims) {
        claims.positive("neurons", spec.neurons, UINT32_MAX);
        if (claims.is_fine() && spec.excitatory > spec.neurons)
            claims.refuse("excitatory {} is above neurons, which is {}", spec.excitatory, spec.neurons);
        if (claims.is_fine() && spec.refractory_steps > UINT8_MAX)
            claims.refuse("refractory_steps {} is above {}", spec.refractory_steps, UINT8_MAX);
        for (const double value :
             {spec.weight_ee, spec.weight_ei, spec.weight_ie, spec.weight_ii, spec.decay_exc, spec.decay_inh,
              spec.membrane, spec.rest, spec.reset, spec.threshold, spec.drive, spec.drive_slope}) {
            if (claims.is_fine() && !std::isfinite(value))
                claims.refuse("a constant is {}, not a finite number", value);
        }
    }
    static std::string text(const LifStepSpec& spec) {
        return fmt::format("one step of {} leaky integrate-and-fire neurons", spec.neurons);
    }
};

template <>
struct OpTraits<ColumnProgramSpec> {
    static constexpr std::string_view kName = "column_program";
    static void fields(auto& spec, auto&& visit) {
        auto& [precision, scalars, columns, steps] = spec;
        visit("", precision), visit("s", scalars), visit.rest(columns, steps);
    }
    static Signature arguments(const ColumnProgramSpec&) { return {}; }
    static uint32_t units(const ColumnProgramSpec&, uint32_t elements) { return elements; }
    static KernelCost cost(const ColumnProgramSpec& spec) {
        uint64_t flops = 0;
        for (const ColumnStep& step : spec.steps) flops += traits(step.op).flops;
        return {flops, 0};
    }

    static void check(const ColumnProgramSpec& spec, Claims& claims) {
        if (spec.columns.empty() || spec.columns.size() > kMaxColumns)
            claims.refuse("{} columns, not 1 to {}", spec.columns.size(), kMaxColumns);
        if (claims.is_fine() && (spec.steps.empty() || spec.steps.size() > kMaxColumnSteps))
            claims.refuse("{} steps, not 1 to {}", spec.steps.size(), kMaxColumnSteps);
        if (claims.is_fine() && spec.scalars > kMaxColumnSteps)
            claims.refuse("{} scalars, more than {}", spec.scalars, kMaxColumnSteps);
        for (size_t index = 0; claims.is_fine() && index < spec.steps.size(); ++index) check_step(spec, index, claims);
        if (claims.is_fine() && std::ranges::count(spec.steps, ColumnOp::fire, &ColumnStep::op) > 1)
            claims.refuse("it fires in more than one step");
    }
    static void check_step(const ColumnProgramSpec& spec, size_t index, Claims& claims) {
        const ColumnStep& step = spec.steps[index];
        if (size_t(step.op) >= kColumnOps)
            return claims.refuse("step {} has op {}, of {}", index, int(step.op), kColumnOps);
        const std::string_view op = traits(step.op).name;
        if ((step.op == ColumnOp::load || step.op == ColumnOp::store) && step.index >= spec.columns.size())
            return claims.refuse("step {} ({}) names column {}, of {}", index, op, step.index, spec.columns.size());
        if (step.op == ColumnOp::scalar && step.index >= spec.scalars)
            return claims.refuse("step {} ({}) names scalar {}, of {}", index, op, step.index, spec.scalars);
        if (std::isnan(step.number)) return claims.refuse("the number of step {} is NaN", index);
        check_operands(spec, index, claims);
    }
    static void check_operands(const ColumnProgramSpec& spec, size_t index, Claims& claims) {
        static constexpr std::array<std::string_view, 3> kKinds = {"nothing", "a number", "a truth"};
        const ColumnStep& step = spec.steps[index];
        const ColumnOpTraits& op = traits(step.op);
        const std::array operands = {step.a, step.b, step.c};
        for (size_t i = 0; i < operands.size(); ++i) {
            if (!claims.is_fine() || op.operands[i] == ColumnKind::none) return;
            if (operands[i] >= index) {
                claims.refuse("step {} ({}) reads value {}, of {} so far", index, op.name, operands[i], index);
            } else if (const ColumnKind kind = traits(spec.steps[operands[i]].op).result; kind != op.operands[i]) {
                claims.refuse("step {} ({}) reads value {} as {}, which is {}", index, op.name, operands[i],
                              kKinds[size_t(op.operands[i])], kKinds[size_t(kind)]);
            }
        }
    }

    static std::string text(const ColumnProgramSpec& spec) {
        return fmt::format("column program {}, {} columns, {} bytes per element, {} scalars, {} steps: {}",
                           name(spec.precision), spec.columns.size(), column_bytes(spec), spec.scalars,
                           spec.steps.size(), op_counts(spec));
    }
    // "3 load, 5 multiply, 1 exp, ...", in the order of ColumnOp.
    static std::string op_counts(const ColumnProgramSpec& spec) {
        std::array<size_t, kColumnOps> counts{};
        for (const ColumnStep& step : spec.steps) ++counts[size_t(step.op)];
        std::string out;
        for (size_t op = 0; op < kColumnOps; ++op)
            if (counts[op] != 0)
                out += fmt::format("{}{} {}", when(!out.empty(), ", "), counts[op], traits(ColumnOp(op)).name);
        return out;
    }
};

}  // namespace riftjit
