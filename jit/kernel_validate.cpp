// What no back end can generate, refused with the op, the field and the value.
#include <algorithm>
#include <cmath>

#include "jit/kernel_spec.h"

namespace riftjit {

namespace {

// A row of this many floats is 1 GiB: every offset within a row stays a positive 32-bit displacement.
constexpr uint32_t kMaxRowElements = 1u << 28;
// tokens * heads must stay a 32-bit unit index for batches of up to 65535 tokens.
constexpr uint32_t kMaxHeads = 1u << 16;
// Kernels keep a whole head on the stack. All heads together stay within kMaxRowElements.
constexpr uint32_t kMaxHeadDim = 1u << 12;

// Remembers the first refusal; later claims are not looked at, so each may rely on those before it.
class Claims {
public:
    explicit Claims(std::string_view op) : op_(op) {}

    Claims& positive(std::string_view field, uint32_t value, uint32_t limit = kMaxRowElements) {
        if (is_fine() && value == 0) refuse("{} 0", field);
        if (is_fine() && value > limit) refuse("{} {} is above {}", field, value, limit);
        return *this;
    }
    Claims& at_least(std::string_view field, uint64_t value, std::string_view bound_text, uint64_t bound) {
        if (is_fine() && value < bound) refuse("{} {} is below {}, which is {}", field, value, bound_text, bound);
        if (is_fine() && value > kMaxRowElements) refuse("{} {} is above {}", field, value, kMaxRowElements);
        return *this;
    }
    Claims& multiple(std::string_view field, uint32_t value, uint32_t factor, std::string_view reason) {
        if (is_fine() && value % factor != 0) refuse("{} {} is not a multiple of {}, {}", field, value, factor, reason);
        return *this;
    }
    Claims& finite(std::string_view field, float value) {
        if (is_fine() && !std::isfinite(value)) refuse("{} is {}, not a finite number", field, value);
        return *this;
    }
    Claims& epsilon(float value) {
        finite("epsilon", value);
        if (is_fine() && value < 0) refuse("epsilon {} is negative", value);
        return *this;
    }
    Claims& weight(DType type, uint32_t width) {
        if (is_fine() && !traits(type).is_weight) refuse("weight type {} has no kernels", name(type));
        return multiple("width", width, traits(type).block_elements, fmt::format("the block of {}", name(type)));
    }
    Claims& cache_type(std::string_view field, DType type, uint32_t head_dim) {
        const bool is_known = type == DType::F16 || type == DType::F32 || type == DType::Q8_0;
        if (is_fine() && !is_known) refuse("{} {} is none of f16, f32, q8_0", field, name(type));
        return multiple("head_dim", head_dim, traits(type).block_elements, fmt::format("the block of {}", name(type)));
    }
    Claims& head_dim(uint32_t value) {
        return positive("head_dim", value, kMaxHeadDim).multiple("head_dim", value, 2, "a rotary pair");
    }

    bool is_fine() const { return result_.has_value(); }
    template <class... Args>
    void refuse(fmt::format_string<Args...> format, Args&&... args) {
        result_ = fail(ErrorKind::Unsupported, "{}: {}", op_, fmt::format(format, std::forward<Args>(args)...));
    }
    Result<void> result() const { return result_; }

private:
    std::string_view op_;
    Result<void> result_;
};

Result<void> validate_op(const EmbedSpec& spec) {
    return Claims("embed").positive("width", spec.width).weight(spec.weight, spec.width).result();
}

Result<void> validate_op(const RmsNormSpec& spec) {
    return Claims("rms_norm").positive("width", spec.width).epsilon(spec.epsilon).result();
}

Result<void> validate_op(const QuantizeSpec& spec) {
    Claims claims("quantize");
    claims.positive("width", spec.width);
    if (claims.is_fine() && spec.output == RowFormat::f32) claims.refuse("output f32 is what the input already is");
    return claims.result();
}

Result<void> validate_op(const MatmulSpec& spec) {
    return Claims("matmul")
        .positive("rows", spec.rows)
        .positive("width", spec.width)
        .weight(spec.weight, spec.width)
        .at_least("out_stride", spec.out_stride, "rows rounded up to 16", round_up(spec.rows, 16))
        .result();
}

Result<void> validate_op(const RopeSpec& spec) {
    Claims claims("rope");
    claims.head_dim(spec.head_dim)
        .positive("heads", spec.heads, kMaxHeads)
        .multiple("rotary_dims", spec.rotary_dims, 2, "a rotary pair")
        .at_least("row_stride", spec.row_stride, "heads times head_dim", uint64_t(spec.heads) * spec.head_dim)
        .epsilon(spec.epsilon);
    if (claims.is_fine() && spec.rotary_dims > spec.head_dim)
        claims.refuse("rotary_dims {} is above head_dim {}", spec.rotary_dims, spec.head_dim);
    if (spec.key_cache) claims.cache_type("key_cache", *spec.key_cache, spec.head_dim);
    return claims.result();
}

Result<void> validate_op(const ValueStoreSpec& spec) {
    return Claims("value_store")
        .head_dim(spec.head_dim)
        .positive("kv_heads", spec.kv_heads, kMaxHeads)
        .at_least("row_stride", spec.row_stride, "kv_heads times head_dim", uint64_t(spec.kv_heads) * spec.head_dim)
        .cache_type("cache_type", spec.cache_type, spec.head_dim)
        .result();
}

Result<void> validate_op(const AttentionSpec& spec) {
    Claims claims("attention");
    const uint64_t row = uint64_t(spec.heads) * spec.head_dim;
    claims.head_dim(spec.head_dim)
        .positive("heads", spec.heads, kMaxHeads)
        .positive("kv_heads", spec.kv_heads, kMaxHeads);
    if (claims.is_fine()) claims.multiple("heads", spec.heads, spec.kv_heads, "the number of kv_heads");
    return claims.at_least("q_stride", spec.q_stride, "heads times head_dim", row)
        .at_least("out_stride", spec.out_stride, "heads times head_dim rounded up to 16", round_up(row, 16))
        .cache_type("key_type", spec.key_type, spec.head_dim)
        .cache_type("value_type", spec.value_type, spec.head_dim)
        .finite("scale", spec.scale)
        .result();
}

Result<void> validate_op(const SwigluSpec& spec) {
    return Claims("swiglu")
        .positive("width", spec.width)
        .at_least("in_stride", spec.in_stride, "width", spec.width)
        .result();
}

void check_step(Claims& claims, const ElementwiseSpec& spec, size_t index) {
    const ElementwiseStep& step = spec.steps[index];
    const size_t values = spec.inputs.size() + index;
    if (claims.is_fine() && step.left >= values)
        claims.refuse("step {} reads value {} as left, of {} so far", index, step.left, values);
    if (claims.is_fine() && step.op == ElementwiseOp::add && step.right >= values)
        claims.refuse("step {} reads value {} as right, of {} so far", index, step.right, values);
    claims.finite(fmt::format("constant of step {}", index), step.constant);
}

Result<void> validate_op(const ElementwiseSpec& spec) {
    Claims claims("elementwise");
    claims.positive("width", spec.width)
        .at_least("out_stride", spec.out_stride, "width rounded up to 16", round_up(spec.width, 16));
    const auto count = [&](std::string_view what, size_t value, size_t limit) {
        if (claims.is_fine() && (value == 0 || value > limit)) claims.refuse("{} {}, not 1 to {}", value, what, limit);
    };
    count("inputs", spec.inputs.size(), kMaxElementwiseInputs);
    count("steps", spec.steps.size(), kMaxElementwiseSteps);
    for (size_t index = 0; claims.is_fine() && index < spec.inputs.size(); ++index)
        if (const uint32_t stride = spec.inputs[index].row_stride; stride != 0)
            claims.at_least(fmt::format("row_stride of input {}", index), stride, "width", spec.width);
    for (size_t index = 0; claims.is_fine() && index < spec.steps.size(); ++index) check_step(claims, spec, index);
    return claims.result();
}

Result<void> validate_op(const LifStepSpec& spec) {
    Claims claims("lif_step");
    claims.positive("neurons", spec.neurons, UINT32_MAX);
    if (claims.is_fine() && spec.excitatory > spec.neurons)
        claims.refuse("excitatory {} is above neurons, which is {}", spec.excitatory, spec.neurons);
    if (claims.is_fine() && spec.refractory_steps > UINT8_MAX)
        claims.refuse("refractory_steps {} is above {}", spec.refractory_steps, UINT8_MAX);
    for (const double value :
         {spec.weight_ee, spec.weight_ei, spec.weight_ie, spec.weight_ii, spec.decay_exc, spec.decay_inh, spec.membrane,
          spec.rest, spec.reset, spec.threshold, spec.drive, spec.drive_slope}) {
        if (claims.is_fine() && !std::isfinite(value)) claims.refuse("a constant is {}, not a finite number", value);
    }
    return claims.result();
}

std::string_view text(ColumnKind kind) {
    switch (kind) {
        case ColumnKind::none:
            return "nothing";
        case ColumnKind::number:
            return "a number";
        case ColumnKind::truth:
            return "a truth";
    }
    return "";
}

void check_operands(Claims& claims, const ColumnProgramSpec& spec, size_t index) {
    const ColumnStep& step = spec.steps[index];
    const ColumnOpTraits& op = traits(step.op);
    const std::array operands = {step.a, step.b, step.c};
    for (size_t i = 0; i < operands.size(); ++i) {
        if (!claims.is_fine() || op.operands[i] == ColumnKind::none) return;
        if (operands[i] >= index) {
            claims.refuse("step {} ({}) reads value {}, of {} so far", index, op.name, operands[i], index);
        } else if (const ColumnKind kind = traits(spec.steps[operands[i]].op).result; kind != op.operands[i]) {
            claims.refuse("step {} ({}) reads value {} as {}, which is {}", index, op.name, operands[i],
                          text(op.operands[i]), text(kind));
        }
    }
}

void check_step(Claims& claims, const ColumnProgramSpec& spec, size_t index) {
    const ColumnStep& step = spec.steps[index];
    if (size_t(step.op) >= kColumnOps)
        return claims.refuse("step {} has op {}, of {}", index, int(step.op), kColumnOps);
    const std::string_view op = traits(step.op).name;
    if ((step.op == ColumnOp::load || step.op == ColumnOp::store) && step.index >= spec.columns.size())
        return claims.refuse("step {} ({}) names column {}, of {}", index, op, step.index, spec.columns.size());
    if (step.op == ColumnOp::scalar && step.index >= spec.scalars)
        return claims.refuse("step {} ({}) names scalar {}, of {}", index, op, step.index, spec.scalars);
    if (std::isnan(step.number)) return claims.refuse("the number of step {} is NaN", index);
    check_operands(claims, spec, index);
}

Result<void> validate_op(const ColumnProgramSpec& spec) {
    Claims claims("column program");
    if (spec.columns.empty() || spec.columns.size() > kMaxColumns)
        claims.refuse("{} columns, not 1 to {}", spec.columns.size(), kMaxColumns);
    if (claims.is_fine() && (spec.steps.empty() || spec.steps.size() > kMaxColumnSteps))
        claims.refuse("{} steps, not 1 to {}", spec.steps.size(), kMaxColumnSteps);
    if (claims.is_fine() && spec.scalars > kMaxColumnSteps)
        claims.refuse("{} scalars, more than {}", spec.scalars, kMaxColumnSteps);
    for (size_t index = 0; claims.is_fine() && index < spec.steps.size(); ++index) check_step(claims, spec, index);
    if (claims.is_fine() && std::ranges::count(spec.steps, ColumnOp::fire, &ColumnStep::op) > 1)
        claims.refuse("it fires in more than one step");
    return claims.result();
}

Result<void> validate_op(const ReduceSpec& spec) { return Claims("reduce").positive("width", spec.width).result(); }

}  // namespace

Result<void> validate(const KernelSpec& spec) {
    return std::visit([](const auto& op) { return validate_op(op); }, spec);
}

}  // namespace riftjit
