#include "jit/kernel_spec.h"

#include <bit>
#include <type_traits>

namespace riftjit {

namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
    using Visitors::operator()...;
};

// Appends fields little-endian at their declared width; a vector is its length and its elements.
class FieldWriter {
public:
    template <class... Fields>
    void put_all(const Fields&... fields) {
        (put(fields), ...);
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    template <class Integer>
        requires std::is_integral_v<Integer>
    void put(Integer value) {
        for (size_t byte = 0; byte < sizeof(Integer); ++byte)
            bytes_.push_back(std::byte(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * byte))));
    }
    template <class Enum>
        requires std::is_enum_v<Enum>
    void put(Enum value) {
        put(static_cast<std::underlying_type_t<Enum>>(value));
    }
    void put(double value) { put(std::bit_cast<uint64_t>(value)); }
    void put(float value) { put(std::bit_cast<uint32_t>(value)); }
    void put(const std::optional<DType>& type) { put_all(type.has_value(), type.value_or(DType::F32)); }
    void put(const ColumnStep& step) { put_all(step.op, step.a, step.b, step.c, step.index, step.number); }
    void put(const ElementwiseInput& input) { put(input.row_stride); }
    void put(const ElementwiseStep& step) { put_all(step.op, step.left, step.right, step.constant); }
    template <class Element>
    void put(const std::vector<Element>& elements) {
        put(static_cast<uint32_t>(elements.size()));
        for (const Element& element : elements) put(element);
    }

    std::vector<std::byte> bytes_;
};

// Structured bindings name every field, so a field that is added to a spec does not compile until it is listed here.
const auto kWriteFields = [](FieldWriter& writer) {
    return Overloaded{
        [&](const EmbedSpec& spec) {
            const auto& [weight, width] = spec;
            writer.put_all(weight, width);
        },
        [&](const RmsNormSpec& spec) {
            const auto& [width, epsilon, gain, addend, output, rows] = spec;
            writer.put_all(width, epsilon, gain, addend, output, rows);
        },
        [&](const QuantizeSpec& spec) {
            const auto& [width, output] = spec;
            writer.put_all(width, output);
        },
        [&](const MatmulSpec& spec) {
            const auto& [weight, rows, width, out_stride, form, epilogue, bias] = spec;
            writer.put_all(weight, rows, width, out_stride, form, epilogue, bias);
        },
        [&](const RopeSpec& spec) {
            const auto& [heads, head_dim, rotary_dims, row_stride, pairing, norm, epsilon, key_cache] = spec;
            writer.put_all(heads, head_dim, rotary_dims, row_stride, pairing, norm, epsilon, key_cache);
        },
        [&](const ValueStoreSpec& spec) {
            const auto& [kv_heads, head_dim, row_stride, cache_type] = spec;
            writer.put_all(kv_heads, head_dim, row_stride, cache_type);
        },
        [&](const AttentionSpec& spec) {
            const auto& [heads, kv_heads, head_dim, q_stride, out_stride, key_type, value_type, scale, form] = spec;
            writer.put_all(heads, kv_heads, head_dim, q_stride, out_stride, key_type, value_type, scale, form);
        },
        [&](const SwigluSpec& spec) {
            const auto& [width, in_stride, output] = spec;
            writer.put_all(width, in_stride, output);
        },
        [&](const ElementwiseSpec& spec) {
            const auto& [width, out_stride, inputs, steps] = spec;
            writer.put_all(width, out_stride, inputs, steps);
        },
        [&](const ReduceSpec& spec) {
            const auto& [kind, width] = spec;
            writer.put_all(kind, width);
        },
        [&](const LifStepSpec& spec) {
            const auto& [neurons, excitatory, ee, ei, ie, ii, decay_exc, decay_inh, membrane, rest, reset, threshold,
                         drive, drive_slope, refractory_steps] = spec;
            writer.put_all(neurons, excitatory, ee, ei, ie, ii, decay_exc, decay_inh, membrane, rest, reset, threshold,
                           drive, drive_slope, refractory_steps);
        },
        [&](const ColumnProgramSpec& spec) {
            const auto& [precision, scalars, columns, steps] = spec;
            writer.put_all(precision, scalars, columns, steps);
        },
    };
};

// Operations per element; a transcendental function counts as four, a division as one.
constexpr uint64_t kSiluFlops = 6;  // x / (1 + exp(-x))

uint64_t program_flops(const ColumnProgramSpec& spec) {
    uint64_t flops = 0;
    for (const ColumnStep& step : spec.steps) flops += traits(step.op).flops;
    return flops;
}

uint64_t norm_flops(uint64_t width, Presence gain) { return width * (gain == Presence::present ? 4 : 3); }

KernelCost matmul_cost(const MatmulSpec& spec) {
    uint64_t flops = 2 * uint64_t(spec.rows) * spec.width;
    uint64_t weight_bytes = spec.rows * row_bytes(spec.weight, spec.width);
    if (spec.epilogue == Epilogue::accumulate) flops += spec.rows;
    if (spec.bias == Presence::present) {
        flops += spec.rows;
        weight_bytes += spec.rows * sizeof(float);
    }
    return {flops, weight_bytes};
}

KernelCost rope_cost(const RopeSpec& spec) {
    uint64_t flops = 3 * uint64_t(spec.rotary_dims);  // per pair: four products, two sums
    uint64_t weight_bytes = 0;
    if (spec.norm == Presence::present) {
        flops += norm_flops(spec.head_dim, Presence::present);
        weight_bytes = spec.head_dim * sizeof(float);
    }
    return {flops * spec.heads, weight_bytes};
}

}  // namespace

RowFormat activation_format(DType weight, Isa isa) {
    if (weight == DType::F32 || weight == DType::F16) return RowFormat::f32;
    if (weight == DType::BF16) return has_bf16(isa) ? RowFormat::bf16 : RowFormat::f32;
    return RowFormat::i16;
}

// Q8_0 in the cache is split in codes and scales, yet takes the bytes of its blocks: 34 for 32 elements.
uint64_t key_panel_bytes(DType cache_type, uint32_t head_dim) { return row_bytes(cache_type, uint64_t(16) * head_dim); }

uint64_t value_row_bytes(DType cache_type, uint32_t head_dim) { return row_bytes(cache_type, head_dim); }

uint64_t key_cache_bytes(DType cache_type, uint32_t kv_heads, uint32_t head_dim, uint32_t positions) {
    return round_up(positions, kKvSegment) / 16 * kv_heads * key_panel_bytes(cache_type, head_dim);
}

uint64_t value_cache_bytes(DType cache_type, uint32_t kv_heads, uint32_t head_dim, uint32_t positions) {
    return round_up(positions, kKvSegment) * kv_heads * value_row_bytes(cache_type, head_dim);
}

// Eight tokens share each read of a key and value panel.
uint32_t attention_tile_tokens(const AttentionSpec& spec) { return spec.form == MatmulForm::vector ? 1 : 8; }

std::vector<std::byte> serialize(const KernelSpec& spec) {
    FieldWriter writer;
    writer.put_all(static_cast<uint8_t>(spec.index()));
    std::visit(kWriteFields(writer), spec);
    return writer.take();
}

uint32_t unit_count(const KernelSpec& spec, uint32_t tokens) {
    return std::visit(Overloaded{
                          [&](const EmbedSpec&) { return tokens; },
                          [&](const RmsNormSpec& norm) { return norm.rows == RowRange::last ? 1 : tokens; },
                          [&](const QuantizeSpec&) { return tokens; },
                          [&](const MatmulSpec& matmul) { return uint32_t(round_up(matmul.rows, 16) / 16); },
                          [&](const RopeSpec& rope) { return tokens * rope.heads; },
                          [&](const ValueStoreSpec&) { return tokens; },
                          [&](const AttentionSpec& attention) {
                              const uint32_t tile = attention_tile_tokens(attention);
                              return attention.kv_heads * uint32_t(round_up(tokens, tile) / tile);
                          },
                          [&](const SwigluSpec&) { return tokens; },
                          [&](const ElementwiseSpec&) { return tokens; },
                          [&](const ReduceSpec&) { return uint32_t(1); },
                          [&](const LifStepSpec& lif) { return lif.neurons; },
                          [&](const ColumnProgramSpec&) { return tokens; },
                      },
                      spec);
}

// Two arrivals folded in and two decays (8), the drive (4), the membrane (4), the comparison.
static constexpr uint64_t kLifStepFlops = 17;

KernelCost cost(const KernelSpec& spec) {
    return std::visit(
        Overloaded{
            [](const EmbedSpec& embed) { return KernelCost{0, row_bytes(embed.weight, embed.width)}; },
            [](const RmsNormSpec& norm) {
                const uint64_t added = norm.addend == Addend::residual ? norm.width : 0;
                const uint64_t gain_bytes = norm.gain == Presence::present ? norm.width * sizeof(float) : 0;
                return KernelCost{norm_flops(norm.width, norm.gain) + added, gain_bytes};
            },
            [](const QuantizeSpec& quantize) {
                return KernelCost{quantize.output == RowFormat::i16 ? 2 * uint64_t(quantize.width) : 0, 0};
            },
            [](const MatmulSpec& matmul) { return matmul_cost(matmul); },
            [](const RopeSpec& rope) { return rope_cost(rope); },
            [](const ValueStoreSpec&) { return KernelCost{0, 0}; },
            [](const AttentionSpec& attention) {
                return KernelCost{4 * uint64_t(attention.heads) * attention.head_dim, 0};
            },
            [](const SwigluSpec& swiglu) { return KernelCost{(kSiluFlops + 1) * swiglu.width, 0}; },
            [](const ElementwiseSpec& chain) { return KernelCost{chain.steps.size() * chain.width, 0}; },
            [](const ReduceSpec& reduce) { return KernelCost{reduce.width, 0}; },
            [](const LifStepSpec& lif) { return KernelCost{kLifStepFlops * uint64_t(lif.neurons), 0}; },
            [](const ColumnProgramSpec& program) { return KernelCost{program_flops(program), 0}; },
        },
        spec);
}

}  // namespace riftjit
