// Kernel names: what distinguishes two specs, and no more, in [a-z0-9_] so that perf, gdb and shells take them as they
// are. A float is its eight hexadecimal bits. A field is left out only at the value its absence stands for.
#include <xxhash.h>

#include <array>
#include <bit>

#include "jit/kernel_spec.h"

namespace riftjit {

namespace {

std::string_view text(RowFormat format) {
    switch (format) {
        case RowFormat::f32:
            return "f32";
        case RowFormat::i16:
            return "i16";
        case RowFormat::bf16:
            return "bf16";
    }
    return "";
}
std::string_view text(MatmulForm form) { return form == MatmulForm::vector ? "vector" : "tile"; }
std::string_view text(RopePairing pairing) { return pairing == RopePairing::adjacent ? "adjacent" : "half"; }
std::string_view text(ReduceKind kind) {
    switch (kind) {
        case ReduceKind::argmax:
            return "argmax";
        case ReduceKind::collect_above:
            return "collect_above";
    }
    return "";
}
std::string_view text(ElementwiseOp op) {
    switch (op) {
        case ElementwiseOp::add:
            return "add";
        case ElementwiseOp::scale:
            return "scale";
    }
    return "";
}

std::string bits(float value) { return fmt::format("{:08x}", std::bit_cast<uint32_t>(value)); }
std::string_view when(bool condition, std::string_view suffix) { return condition ? suffix : ""; }
bool is_present(Presence presence) { return presence == Presence::present; }

struct Name {
    std::string operator()(const EmbedSpec& spec) const {
        return fmt::format("rj_embed_{}_w{}", name(spec.weight), spec.width);
    }
    std::string operator()(const RmsNormSpec& spec) const {
        return fmt::format("rj_rms_norm_w{}_e{}{}{}_{}{}", spec.width, bits(spec.epsilon),
                           when(is_present(spec.gain), "_gain"), when(spec.addend == Addend::residual, "_residual"),
                           text(spec.output), when(spec.rows == RowRange::last, "_last"));
    }
    std::string operator()(const QuantizeSpec& spec) const {
        return fmt::format("rj_quantize_w{}_{}", spec.width, text(spec.output));
    }
    std::string operator()(const MatmulSpec& spec) const {
        const bool has_own_stride = spec.out_stride != round_up(spec.rows, 16);
        return fmt::format("rj_matmul_{}_{}_n{}_k{}{}{}{}", text(spec.form), name(spec.weight), spec.rows, spec.width,
                           has_own_stride ? fmt::format("_s{}", spec.out_stride) : "",
                           when(spec.epilogue == Epilogue::accumulate, "_accumulate"),
                           when(is_present(spec.bias), "_bias"));
    }
    std::string operator()(const RopeSpec& spec) const {
        return fmt::format("rj_rope_{}_h{}_d{}_r{}_s{}{}_e{}{}", text(spec.pairing), spec.heads, spec.head_dim,
                           spec.rotary_dims, spec.row_stride, when(is_present(spec.norm), "_norm"), bits(spec.epsilon),
                           spec.key_cache ? fmt::format("_keys_{}", name(*spec.key_cache)) : "");
    }
    std::string operator()(const ValueStoreSpec& spec) const {
        return fmt::format("rj_value_store_{}_g{}_d{}_s{}", name(spec.cache_type), spec.kv_heads, spec.head_dim,
                           spec.row_stride);
    }
    std::string operator()(const AttentionSpec& spec) const {
        return fmt::format("rj_attention_{}_{}_{}_h{}_g{}_d{}_q{}_o{}_c{}", text(spec.form), name(spec.key_type),
                           name(spec.value_type), spec.heads, spec.kv_heads, spec.head_dim, spec.q_stride,
                           spec.out_stride, bits(spec.scale));
    }
    std::string operator()(const SwigluSpec& spec) const {
        return fmt::format("rj_swiglu_w{}_s{}_{}", spec.width, spec.in_stride, text(spec.output));
    }
    std::string operator()(const ElementwiseSpec& spec) const {  // a chain has no short text of its own
        const std::vector<std::byte> bytes = serialize(spec);
        return fmt::format("rj_elementwise_w{}_{:016x}", spec.width, XXH3_64bits(bytes.data(), bytes.size()));
    }
    std::string operator()(const ReduceSpec& spec) const {
        return fmt::format("rj_reduce_{}_w{}", text(spec.kind), spec.width);
    }
    std::string operator()(const LifStepSpec& spec) const {  // its many constants have no short text
        const std::vector<std::byte> bytes = serialize(spec);
        return fmt::format("rj_lif_step_n{}_{:016x}", spec.neurons, XXH3_64bits(bytes.data(), bytes.size()));
    }
    std::string operator()(const ColumnProgramSpec& spec) const {  // nor has a program
        const std::vector<std::byte> bytes = serialize(spec);
        return fmt::format("rj_columns_{}_c{}_s{}_{:016x}", name(spec.precision), spec.columns.size(),
                           spec.steps.size(), XXH3_64bits(bytes.data(), bytes.size()));
    }
};

std::string step_text(const ElementwiseStep& step) {
    if (step.op == ElementwiseOp::add) return fmt::format("add(v{}, v{})", step.left, step.right);
    return fmt::format("scale(v{}, {})", step.left, step.constant);
}

// "3 load, 5 multiply, 1 exp, ...", in the order of ColumnOp.
std::string op_counts(const ColumnProgramSpec& spec) {
    std::array<size_t, kColumnOps> counts{};
    for (const ColumnStep& step : spec.steps) ++counts[size_t(step.op)];
    std::string out;
    for (size_t op = 0; op < kColumnOps; ++op)
        if (counts[op] != 0)
            out += fmt::format("{}{} {}", when(!out.empty(), ", "), counts[op], traits(ColumnOp(op)).name);
    return out;
}

struct Description {
    std::string operator()(const EmbedSpec& spec) const {
        return fmt::format("embed {} rows of {}", name(spec.weight), spec.width);
    }
    std::string operator()(const RmsNormSpec& spec) const {
        return fmt::format("rms_norm {}, epsilon {}{}{}, to {}{}", spec.width, spec.epsilon,
                           when(is_present(spec.gain), ", gain"),
                           when(spec.addend == Addend::residual, ", residual added"), text(spec.output),
                           when(spec.rows == RowRange::last, ", last row only"));
    }
    std::string operator()(const QuantizeSpec& spec) const {
        return fmt::format("quantize {} to {}", spec.width, text(spec.output));
    }
    std::string operator()(const MatmulSpec& spec) const {
        return fmt::format("matmul {} {}x{}, {} form{}{}", name(spec.weight), spec.rows, spec.width, text(spec.form),
                           when(spec.epilogue == Epilogue::accumulate, ", accumulating"),
                           when(is_present(spec.bias), ", bias"));
    }
    std::string operator()(const RopeSpec& spec) const {
        const std::string target =
            spec.key_cache ? fmt::format("to the {} key cache", name(*spec.key_cache)) : "in place";
        return fmt::format("rope {} heads of {}, {} rotary dims in {} pairs{}, {}", spec.heads, spec.head_dim,
                           spec.rotary_dims, text(spec.pairing), when(is_present(spec.norm), ", normed"), target);
    }
    std::string operator()(const ValueStoreSpec& spec) const {
        return fmt::format("value_store {} heads of {} to the {} value cache", spec.kv_heads, spec.head_dim,
                           name(spec.cache_type));
    }
    std::string operator()(const AttentionSpec& spec) const {
        return fmt::format("attention {} heads on {} of {}, keys {}, values {}, {} form", spec.heads, spec.kv_heads,
                           spec.head_dim, name(spec.key_type), name(spec.value_type), text(spec.form));
    }
    std::string operator()(const SwigluSpec& spec) const {
        return fmt::format("swiglu {}, to {}", spec.width, text(spec.output));
    }
    std::string operator()(const ElementwiseSpec& spec) const {
        std::string chain;
        for (const ElementwiseStep& step : spec.steps) chain.append(chain.empty() ? "" : ", ").append(step_text(step));
        return fmt::format("elementwise {}, {} inputs: {}", spec.width, spec.inputs.size(), chain);
    }
    std::string operator()(const ReduceSpec& spec) const {
        return fmt::format("reduce {} over {}", text(spec.kind), spec.width);
    }
    std::string operator()(const LifStepSpec& spec) const {
        return fmt::format("one step of {} leaky integrate-and-fire neurons", spec.neurons);
    }
    std::string operator()(const ColumnProgramSpec& spec) const {
        return fmt::format("column program {}, {} columns, {} bytes per element, {} scalars, {} steps: {}",
                           name(spec.precision), spec.columns.size(), column_bytes(spec), spec.scalars,
                           spec.steps.size(), op_counts(spec));
    }
};

}  // namespace

std::string kernel_name(const KernelSpec& spec) { return std::visit(Name{}, spec); }
std::string describe(const KernelSpec& spec) { return std::visit(Description{}, spec); }

}  // namespace riftjit
