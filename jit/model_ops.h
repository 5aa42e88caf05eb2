// The ops of language models, each described once (op_description.h says what each part is for).
#pragma once

#include <bit>

#include "jit/op_description.h"

namespace riftjit {

// Operations per element; a transcendental function counts as four, a division as one.
inline constexpr uint64_t kSiluFlops = 6;  // x / (1 + exp(-x))
inline uint64_t norm_flops(uint64_t width, Presence gain) { return width * (is_present(gain) ? 4 : 3); }

template <>
struct OpTraits<EmbedSpec> {
    static constexpr std::string_view kName = "embed";
    static void fields(auto& spec, auto&& visit) {
        auto& [weight, width] = spec;
        visit("", weight), visit("w", width);
    }
    static Signature arguments(const EmbedSpec& spec) {
        return {sizeof(EmbedArgs),
                {other(Role::packed, "table", offsetof(EmbedArgs, table)),
                 other(Role::token_ids, "ids", offsetof(EmbedArgs, ids)),
                 f32_rows("out", offsetof(EmbedArgs, out), kWrite, spec.width),
                 other(Role::batch, "batch", offsetof(EmbedArgs, batch))}};
    }
    static uint32_t units(const EmbedSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const EmbedSpec& spec) { return {0, row_bytes(spec.weight, spec.width)}; }
    static void check(const EmbedSpec& spec, Claims& claims) {
        claims.positive("width", spec.width).weight(spec.weight, spec.width);
    }
    static std::string text(const EmbedSpec& spec) {
        return fmt::format("embed {} rows of {}", name(spec.weight), spec.width);
    }
};

template <>
struct OpTraits<RmsNormSpec> {
    static constexpr std::string_view kName = "rms_norm";
    static void fields(auto& spec, auto&& visit) {
        auto& [width, epsilon, gain, addend, output] = spec;
        visit("w", width), visit("e", epsilon), visit("gain", gain), visit("", addend), visit("", output);
    }
    static Signature arguments(const RmsNormSpec& spec) {
        const bool adds = spec.addend == Addend::residual;
        return {sizeof(RmsNormArgs),
                {f32_rows("x", offsetof(RmsNormArgs, x), adds ? kUpdate : kRead, spec.width),
                 only_if(adds, f32_rows("addend", offsetof(RmsNormArgs, addend), kRead, spec.width)),
                 vector_of(spec.width, "gain", offsetof(RmsNormArgs, gain), spec.gain),
                 rows_in(spec.output, "out", offsetof(RmsNormArgs, out), kWrite, spec.width),
                 other(Role::batch, "batch", offsetof(RmsNormArgs, batch))}};
    }
    static uint32_t units(const RmsNormSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const RmsNormSpec& spec) {
        const uint64_t added = spec.addend == Addend::residual ? spec.width : 0;
        return {norm_flops(spec.width, spec.gain) + added, is_present(spec.gain) ? spec.width * sizeof(float) : 0};
    }
    static void check(const RmsNormSpec& spec, Claims& claims) {
        claims.positive("width", spec.width).epsilon(spec.epsilon);
    }
    static std::string text(const RmsNormSpec& spec) {
        return fmt::format("rms_norm {}{}{}, to {}", spec.width, when(is_present(spec.gain), ", gain"),
                           when(spec.addend == Addend::residual, ", residual"), riftjit::text(spec.output));
    }
};

template <>
struct OpTraits<GatherRowsSpec> {
    static constexpr std::string_view kName = "gather_rows";
    static void fields(auto& spec, auto&& visit) {
        auto& [width] = spec;
        visit("w", width);
    }
    static Signature arguments(const GatherRowsSpec& spec) {
        return {sizeof(GatherRowsArgs),
                {f32_rows("x", offsetof(GatherRowsArgs, x), kRead, spec.width),
                 f32_rows("out", offsetof(GatherRowsArgs, out), kWrite, spec.width),
                 other(Role::batch, "batch", offsetof(GatherRowsArgs, batch))}};
    }
    static uint32_t units(const GatherRowsSpec&, uint32_t outputs) { return outputs; }
    static KernelCost cost(const GatherRowsSpec&) { return {0, 0}; }
    static void check(const GatherRowsSpec& spec, Claims& claims) { claims.positive("width", spec.width); }
    static std::string text(const GatherRowsSpec& spec) { return fmt::format("gather_rows {}", spec.width); }
};

template <>
struct OpTraits<LayerNormSpec> {
    static constexpr std::string_view kName = "layer_norm";
    static void fields(auto& spec, auto&& visit) {
        auto& [width, epsilon, bias, output] = spec;
        visit("w", width), visit("e", epsilon), visit("bias", bias), visit("", output);
    }
    static Signature arguments(const LayerNormSpec& spec) {
        return {sizeof(LayerNormArgs),
                {f32_rows("x", offsetof(LayerNormArgs, x), kRead, spec.width),
                 vector_of(spec.width, "gain", offsetof(LayerNormArgs, gain), Presence::present),
                 vector_of(spec.width, "bias", offsetof(LayerNormArgs, bias), spec.bias),
                 rows_in(spec.output, "out", offsetof(LayerNormArgs, out), kWrite, spec.width),
                 other(Role::batch, "batch", offsetof(LayerNormArgs, batch))}};
    }
    static uint32_t units(const LayerNormSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const LayerNormSpec& spec) {
        const uint64_t vectors = is_present(spec.bias) ? 2 : 1;
        return {(6 + vectors - 1) * spec.width, vectors * spec.width * sizeof(float)};
    }
    static void check(const LayerNormSpec& spec, Claims& claims) {
        claims.positive("width", spec.width).epsilon(spec.epsilon);
    }
    static std::string text(const LayerNormSpec& spec) {
        return fmt::format("layer_norm {}{}, to {}", spec.width, when(is_present(spec.bias), ", bias"),
                           riftjit::text(spec.output));
    }
};

template <>
struct OpTraits<QuantizeSpec> {
    static constexpr std::string_view kName = "quantize";
    static void fields(auto& spec, auto&& visit) {
        auto& [width, output] = spec;
        visit("w", width), visit("", output);
    }
    static Signature arguments(const QuantizeSpec& spec) {
        return {sizeof(QuantizeArgs),
                {f32_rows("x", offsetof(QuantizeArgs, x), kRead, spec.width),
                 rows_in(spec.output, "out", offsetof(QuantizeArgs, out), kWrite, spec.width),
                 other(Role::batch, "batch", offsetof(QuantizeArgs, batch))}};
    }
    static uint32_t units(const QuantizeSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const QuantizeSpec& spec) {
        return {is_quantized(spec.output) ? 2 * uint64_t(spec.width) : 0, 0};
    }
    static void check(const QuantizeSpec& spec, Claims& claims) {
        claims.positive("width", spec.width);
        if (claims.is_fine() && spec.output == RowFormat::f32) claims.refuse("output f32 is what the input already is");
    }
    static std::string text(const QuantizeSpec& spec) {
        return fmt::format("quantize {} to {}", spec.width, riftjit::text(spec.output));
    }
};

template <>
struct OpTraits<MatmulSpec> {
    static constexpr std::string_view kName = "matmul";
    static void fields(auto& spec, auto&& visit) {
        auto& [weight, rows, width, out_stride, form, epilogue, bias, order, activations] = spec;
        visit("", form), visit("", weight), visit("n", rows), visit("k", width);
        visit("s", out_stride, uint32_t(round_up(rows, 16))), visit("", epilogue), visit("bias", bias);
        visit("", order), visit("", activations);
    }
    static Signature arguments(const MatmulSpec& spec) {
        const Access out = spec.epilogue == Epilogue::accumulate ? kUpdate : kWrite;
        return {sizeof(MatmulArgs),
                {other(Role::packed, "weights", offsetof(MatmulArgs, weights)),
                 vector_of(spec.rows, "bias", offsetof(MatmulArgs, bias), spec.bias),
                 {"x", offsetof(MatmulArgs, x), Role::rows, kRead, Presence::present, {}, spec.width},
                 f32_rows("out", offsetof(MatmulArgs, out), out, spec.rows, spec.out_stride),
                 other(Role::batch, "batch", offsetof(MatmulArgs, batch))}};
    }
    static uint32_t units(const MatmulSpec& spec, uint32_t) { return uint32_t(round_up(spec.rows, 16) / 16); }
    static uint32_t grain(const MatmulSpec& spec) { return spec.form == MatmulForm::tile ? 2 : 1; }  // pairs of panels
    static KernelCost cost(const MatmulSpec& spec) {
        uint64_t flops = 2 * uint64_t(spec.rows) * spec.width;
        uint64_t weight_bytes = spec.rows * row_bytes(spec.weight, spec.width);
        if (spec.epilogue == Epilogue::accumulate) flops += spec.rows;
        if (is_present(spec.bias)) {
            flops += spec.rows;
            weight_bytes += spec.rows * sizeof(float);
        }
        return {flops, weight_bytes};
    }
    static void check(const MatmulSpec& spec, Claims& claims) {
        claims.positive("rows", spec.rows)
            .positive("width", spec.width)
            .weight(spec.weight, spec.width)
            .at_least("out_stride", spec.out_stride, "rows rounded up to 16", round_up(spec.rows, 16));
        if (claims.is_fine() && spec.activations != Activations::i13 && !is_quantized(spec.weight))
            claims.refuse("activations of 8 bits beside weights of {}", name(spec.weight));
    }
    static std::string text(const MatmulSpec& spec) {
        return fmt::format("matmul {} {}x{}, {} form{}{}{}{}", name(spec.weight), spec.rows, spec.width,
                           riftjit::text(spec.form), when(spec.epilogue == Epilogue::accumulate, ", accumulating"),
                           when(is_present(spec.bias), ", bias"),
                           when(spec.order == KOrder::lanes64, ", sums in lanes64"),
                           when(spec.activations == Activations::i8, ", activations of 8 bits"));
    }
};

template <>
struct OpTraits<FusedMatmulSpec> {
    static constexpr std::string_view kName = "fused_matmul";
    static void fields(auto& spec, auto&& visit) {
        auto& [product, source, epsilon, gain, gating] = spec;
        OpTraits<MatmulSpec>::fields(product, visit);
        visit("", source), visit("e", epsilon), visit("gain", gain), visit("", gating);
    }
    static Signature arguments(const FusedMatmulSpec& spec) {
        const MatmulSpec& product = spec.product;
        const Access out = product.epilogue == Epilogue::accumulate ? kUpdate : kWrite;
        return {sizeof(FusedMatmulArgs),
                {other(Role::packed, "weights", offsetof(FusedMatmulArgs, weights)),
                 other(Role::packed, "up_weights", offsetof(FusedMatmulArgs, up_weights), kRead,
                       present_if(spec.gating != Gating::none)),
                 vector_of(product.rows, "bias", offsetof(FusedMatmulArgs, bias), product.bias),
                 f32_rows("x", offsetof(FusedMatmulArgs, x), kRead, product.width),
                 vector_of(product.width, "gain", offsetof(FusedMatmulArgs, gain), spec.gain),
                 f32_rows("out", offsetof(FusedMatmulArgs, out), out, product.rows, product.out_stride),
                 other(Role::batch, "batch", offsetof(FusedMatmulArgs, batch))}};
    }
    static uint32_t units(const FusedMatmulSpec& spec, uint32_t rows) {
        return OpTraits<MatmulSpec>::units(spec.product, rows);
    }
    static KernelCost cost(const FusedMatmulSpec& spec) {
        KernelCost cost = OpTraits<MatmulSpec>::cost(spec.product);
        if (spec.gating != Gating::none) {
            cost.flops = 2 * cost.flops + (kSiluFlops + 1) * spec.product.rows;
            cost.weight_bytes *= 2;
        }
        if (spec.source == RowSource::rms_norm) {
            cost.flops += norm_flops(spec.product.width, spec.gain);
            cost.weight_bytes += is_present(spec.gain) ? spec.product.width * sizeof(float) : 0;
        }
        return cost;
    }
    static void check(const FusedMatmulSpec& spec, Claims& claims) {
        OpTraits<MatmulSpec>::check(spec.product, claims);
        claims.epsilon(spec.epsilon);
        if (claims.is_fine() && spec.product.form != MatmulForm::vector) claims.refuse("only in vector form");
        if (claims.is_fine() && spec.source == RowSource::quantize && is_present(spec.gain))
            claims.refuse("a gain without a norm");
        if (claims.is_fine() && spec.gating != Gating::none &&
            (is_present(spec.product.bias) || spec.product.epilogue != Epilogue::store))
            claims.refuse("a gated product with bias or accumulation");
    }
    static std::string text(const FusedMatmulSpec& spec) {
        return fmt::format("{}{}, its row {}", when(spec.gating != Gating::none, "two gated by silu: "),
                           OpTraits<MatmulSpec>::text(spec.product),
                           spec.source == RowSource::quantize ? "quantised" : "normed");
    }
};

template <>
struct OpTraits<RopeSpec> {
    static constexpr std::string_view kName = "rope";
    static void fields(auto& spec, auto&& visit) {
        auto& [heads, head_dim, rotary_dims, row_stride, pairing, norm, epsilon, key_cache, own_gains] = spec;
        visit("", pairing), visit("h", heads), visit("d", head_dim), visit("r", rotary_dims), visit("s", row_stride);
        visit("norm", norm), visit("e", epsilon), visit("keys", key_cache);
        visit("gains", own_gains);
    }
    static Signature arguments(const RopeSpec& spec) {
        const bool stores = spec.key_cache.has_value();
        const uint32_t width = spec.heads * spec.head_dim;
        return {
            sizeof(RopeArgs),
            {f32_rows("x", offsetof(RopeArgs, x), stores ? kRead : kUpdate, width, spec.row_stride),
             vector_of(is_present(spec.own_gains) ? width : spec.head_dim, "gain", offsetof(RopeArgs, gain), spec.norm),
             other(Role::table, "table", offsetof(RopeArgs, table), kRead, present_if(spec.rotary_dims != 0)),
             other(Role::cache, "cache", offsetof(RopeArgs, cache), kWrite, present_if(stores)),
             other(Role::batch, "batch", offsetof(RopeArgs, batch))}};
    }
    static uint32_t units(const RopeSpec& spec, uint32_t tokens) { return tokens * spec.heads; }
    static KernelCost cost(const RopeSpec& spec) {
        uint64_t flops = 3 * uint64_t(spec.rotary_dims);  // per pair: four products, two sums
        if (is_present(spec.norm)) flops += norm_flops(spec.head_dim, Presence::present);
        return {flops * spec.heads, is_present(spec.norm) ? spec.head_dim * sizeof(float) : 0};
    }
    static void check(const RopeSpec& spec, Claims& claims) {
        claims.head_dim(spec.head_dim)
            .positive("heads", spec.heads, kMaxHeads)
            .multiple("rotary_dims", spec.rotary_dims, 2, "a rotary pair")
            .at_least("row_stride", spec.row_stride, "heads times head_dim", uint64_t(spec.heads) * spec.head_dim)
            .epsilon(spec.epsilon);
        if (claims.is_fine() && spec.rotary_dims > spec.head_dim)
            claims.refuse("rotary_dims {} is above head_dim {}", spec.rotary_dims, spec.head_dim);
        if (spec.key_cache) claims.cache_type("key_cache", *spec.key_cache, spec.head_dim);
    }
    static std::string text(const RopeSpec& spec) {
        return fmt::format(
            "rope {} heads of {}, {} rotary dims in {} pairs{}, {}", spec.heads, spec.head_dim, spec.rotary_dims,
            riftjit::text(spec.pairing),
            when(is_present(spec.norm), is_present(spec.own_gains) ? ", normed by gains of their own" : ", normed"),
            spec.key_cache ? fmt::format("to the {} key cache", name(*spec.key_cache)) : "in place");
    }
};

template <>
struct OpTraits<ValueStoreSpec> {
    static constexpr std::string_view kName = "value_store";
    static void fields(auto& spec, auto&& visit) {
        auto& [kv_heads, head_dim, row_stride, cache_type] = spec;
        visit("", cache_type), visit("g", kv_heads), visit("d", head_dim), visit("s", row_stride);
    }
    static Signature arguments(const ValueStoreSpec& spec) {
        return {sizeof(ValueStoreArgs),
                {f32_rows("v", offsetof(ValueStoreArgs, v), kRead, spec.kv_heads * spec.head_dim, spec.row_stride),
                 other(Role::cache, "cache", offsetof(ValueStoreArgs, cache), kWrite),
                 other(Role::batch, "batch", offsetof(ValueStoreArgs, batch))}};
    }
    static uint32_t units(const ValueStoreSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const ValueStoreSpec&) { return {0, 0}; }
    static void check(const ValueStoreSpec& spec, Claims& claims) {
        claims.head_dim(spec.head_dim)
            .positive("kv_heads", spec.kv_heads, kMaxHeads)
            .at_least("row_stride", spec.row_stride, "kv_heads times head_dim", uint64_t(spec.kv_heads) * spec.head_dim)
            .cache_type("cache_type", spec.cache_type, spec.head_dim);
    }
    static std::string text(const ValueStoreSpec& spec) {
        return fmt::format("value_store {} heads of {} to the {} value cache", spec.kv_heads, spec.head_dim,
                           name(spec.cache_type));
    }
};

template <>
struct OpTraits<AttentionSpec> {
    static constexpr std::string_view kName = "attention";
    static void fields(auto& spec, auto&& visit) {
        auto& [heads, kv_heads, head_dim, q_stride, out_stride, key_type, value_type, scale, form, softcap, window,
               sinks, alibi, sight, chunk] = spec;
        visit("", form), visit("", key_type), visit("", value_type), visit("h", heads), visit("g", kv_heads);
        visit("d", head_dim), visit("q", q_stride), visit("o", out_stride), visit("c", scale);
        visit("cap", softcap, 0.0f), visit("w", window, 0u), visit("sinks", sinks);
        visit("alibi", alibi, 0.0f), visit("", sight), visit("k", chunk, 0u);
    }
    static Signature arguments(const AttentionSpec& spec) {
        const uint32_t width = spec.heads * spec.head_dim;
        return {sizeof(AttentionArgs),
                {f32_rows("q", offsetof(AttentionArgs, q), kRead, width, spec.q_stride),
                 other(Role::cache, "keys", offsetof(AttentionArgs, keys)),
                 other(Role::cache, "values", offsetof(AttentionArgs, values)),
                 f32_rows("out", offsetof(AttentionArgs, out), kWrite, width, spec.out_stride),
                 vector_of(spec.heads, "sinks", offsetof(AttentionArgs, sinks), spec.sinks),
                 other(Role::batch, "batch", offsetof(AttentionArgs, batch))}};
    }
    static uint32_t units(const AttentionSpec& spec, uint32_t tiles) { return spec.kv_heads * tiles; }
    static KernelCost cost(const AttentionSpec& spec) { return {4 * uint64_t(spec.heads) * spec.head_dim, 0}; }
    static void check(const AttentionSpec& spec, Claims& claims) {
        const uint64_t row = uint64_t(spec.heads) * spec.head_dim;
        claims.head_dim(spec.head_dim)
            .positive("heads", spec.heads, kMaxHeads)
            .positive("kv_heads", spec.kv_heads, kMaxHeads);
        if (claims.is_fine()) claims.multiple("heads", spec.heads, spec.kv_heads, "the number of kv_heads");
        claims.at_least("q_stride", spec.q_stride, "heads times head_dim", row)
            .at_least("out_stride", spec.out_stride, "heads times head_dim rounded up to 16", round_up(row, 16))
            .cache_type("key_type", spec.key_type, spec.head_dim)
            .cache_type("value_type", spec.value_type, spec.head_dim)
            .finite("scale", spec.scale)
            .finite("softcap", spec.softcap);
        claims.finite("alibi", spec.alibi);
        if (claims.is_fine() && spec.softcap < 0) claims.refuse("softcap {} is negative", spec.softcap);
        if (claims.is_fine() && spec.alibi < 0) claims.refuse("alibi {} is negative", spec.alibi);
        constexpr uint32_t kLongestBothWays = 1u << 30;  // a position and half of it stay below 2^31
        if (claims.is_fine() && spec.sight == Sight::whole && spec.window > kLongestBothWays)
            claims.refuse("window {} is above {}", spec.window, kLongestBothWays);
        if (claims.is_fine() && (spec.chunk & (spec.chunk - 1)) != 0)
            claims.refuse("chunk {} is no power of two", spec.chunk);
        if (claims.is_fine() && spec.chunk != 0 && spec.window != 0) claims.refuse("a window and chunks");
        if (claims.is_fine() && spec.chunk != 0 && spec.sight == Sight::whole) claims.refuse("whole texts and chunks");
    }
    static std::string text(const AttentionSpec& spec) {
        return fmt::format("attention {} heads on {} of {}, keys {}, values {}, {} form{}{}{}{}{}{}", spec.heads,
                           spec.kv_heads, spec.head_dim, name(spec.key_type), name(spec.value_type),
                           riftjit::text(spec.form),
                           spec.window != 0 ? fmt::format(", window {}", spec.window) : std::string(),
                           spec.softcap != 0 ? fmt::format(", softcap {}", spec.softcap) : std::string(),
                           when(is_present(spec.sinks), ", sinks"),
                           spec.alibi != 0 ? fmt::format(", alibi {}", spec.alibi) : std::string(),
                           when(spec.sight == Sight::whole, ", of whole texts"),
                           spec.chunk != 0 ? fmt::format(", chunks of {}", spec.chunk) : std::string());
    }
};

template <>
struct OpTraits<SwigluSpec> {
    static constexpr std::string_view kName = "swiglu";
    static void fields(auto& spec, auto&& visit) {
        auto& [width, in_stride, output, activation, up, xielu] = spec;
        auto& [positive, negative, linear, limit] = xielu;
        visit("w", width), visit("s", in_stride), visit("", output), visit("", activation);
        visit("up", up, Presence::present);
        visit("p", positive, 0.0f), visit("n", negative, 0.0f), visit("l", linear, 0.0f), visit("m", limit, 0.0f);
    }
    static Signature arguments(const SwigluSpec& spec) {
        return {
            sizeof(SwigluArgs),
            {f32_rows("gate", offsetof(SwigluArgs, gate), kRead, spec.width, spec.in_stride),
             only_if(is_present(spec.up), f32_rows("up", offsetof(SwigluArgs, up), kRead, spec.width, spec.in_stride)),
             rows_in(spec.output, "out", offsetof(SwigluArgs, out), kWrite, spec.width),
             other(Role::batch, "batch", offsetof(SwigluArgs, batch))}};
    }
    static uint32_t units(const SwigluSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const SwigluSpec& spec) { return {(kSiluFlops + 1) * spec.width, 0}; }
    static void check(const SwigluSpec& spec, Claims& claims) {
        claims.positive("width", spec.width)
            .at_least("in_stride", spec.in_stride, "width", spec.width)
            .finite("positive", spec.xielu.positive)
            .finite("negative", spec.xielu.negative)
            .finite("linear", spec.xielu.linear)
            .finite("limit", spec.xielu.limit);
        if (claims.is_fine() && spec.xielu.limit > 0) claims.refuse("limit {} is above 0", spec.xielu.limit);
    }
    static std::string text(const SwigluSpec& spec) {
        if (spec.activation == Activation::silu && is_present(spec.up))
            return fmt::format("swiglu {}, to {}", spec.width, riftjit::text(spec.output));
        return fmt::format("{} {}{}, to {}",
                           spec.activation == Activation::silu ? "silu" : riftjit::text(spec.activation), spec.width,
                           when(is_present(spec.up), ", gated"), riftjit::text(spec.output));
    }
};

template <>
struct OpTraits<ElementwiseSpec> {
    static constexpr std::string_view kName = "elementwise";
    static void fields(auto& spec, auto&& visit) {
        auto& [width, out_stride, inputs, steps] = spec;
        visit("w", width), visit.rest(out_stride, inputs, steps);
    }
    static Signature arguments(const ElementwiseSpec& spec) {
        Signature signature{sizeof(ElementwiseArgs), {}};
        for (size_t i = 0; i < spec.inputs.size(); ++i) {
            const size_t offset = offsetof(ElementwiseArgs, inputs) + i * sizeof(float*);
            const uint32_t stride = spec.inputs[i].row_stride;
            const uint32_t column = spec.inputs[i].column, width = column == kWholeRow ? spec.width : column + 1;
            signature.arguments.push_back(stride == 0 ? vector_of(spec.width, "input", offset, Presence::present)
                                                      : f32_rows("input", offset, kRead, width, stride));
        }
        signature.arguments.push_back(
            f32_rows("out", offsetof(ElementwiseArgs, out), kWrite, spec.width, spec.out_stride));
        signature.arguments.push_back(other(Role::batch, "batch", offsetof(ElementwiseArgs, batch)));
        return signature;
    }
    static uint32_t units(const ElementwiseSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const ElementwiseSpec& spec) { return {spec.steps.size() * spec.width, 0}; }
    static void check(const ElementwiseSpec& spec, Claims& claims) {
        claims.positive("width", spec.width)
            .at_least("out_stride", spec.out_stride, "width rounded up to 16", round_up(spec.width, 16));
        const auto count = [&](std::string_view what, size_t value, size_t limit) {
            if (claims.is_fine() && (value == 0 || value > limit))
                claims.refuse("{} {}, not 1 to {}", value, what, limit);
        };
        count("inputs", spec.inputs.size(), kMaxElementwiseInputs);
        count("steps", spec.steps.size(), kMaxElementwiseSteps);
        for (size_t index = 0; claims.is_fine() && index < spec.inputs.size(); ++index)
            check_input(spec, index, claims);
        for (size_t index = 0; claims.is_fine() && index < spec.steps.size(); ++index) check_step(spec, index, claims);
    }
    static void check_input(const ElementwiseSpec& spec, size_t index, Claims& claims) {
        const auto& [stride, column] = spec.inputs[index];
        const std::string what = fmt::format("row_stride of input {}", index);
        if (column == kWholeRow) {
            if (stride != 0) claims.at_least(what, stride, "width", spec.width);
        } else {
            claims.at_least(what, stride, "column and 1", uint64_t(column) + 1);
        }
    }
    static void check_step(const ElementwiseSpec& spec, size_t index, Claims& claims) {
        const ElementwiseStep& step = spec.steps[index];
        const size_t values = spec.inputs.size() + index;
        if (claims.is_fine() && step.left >= values)
            claims.refuse("step {} reads value {} as left, of {} so far", index, step.left, values);
        if (claims.is_fine() && has_two_operands(step.op) && step.right >= values)
            claims.refuse("step {} reads value {} as right, of {} so far", index, step.right, values);
        claims.finite(fmt::format("constant of step {}", index), step.constant);
        if (claims.is_fine() && step.op == ElementwiseOp::softcap && !(step.constant > 0))
            claims.refuse("constant of step {} is {}, not above 0", index, step.constant);
    }
    static std::string text(const ElementwiseSpec& spec) {
        std::string chain;
        for (const ElementwiseStep& step : spec.steps)
            chain += fmt::format(
                "{}{}(v{}, {})", when(!chain.empty(), ", "), riftjit::text(step.op), step.left,
                has_two_operands(step.op) ? fmt::format("v{}", step.right) : fmt::format("{}", step.constant));
        return fmt::format("elementwise {}, {} inputs: {}", spec.width, spec.inputs.size(), chain);
    }
};

// ---- running states -------------------------------------------------------------------------------------------------

template <>
struct OpTraits<ConvolutionSpec> {
    static constexpr std::string_view kName = "convolution";
    static constexpr bool kWalksRuns = true;
    static void fields(auto& spec, auto&& visit) {
        auto& [channels, taps, bias, gates, silu] = spec;
        visit("w", channels), visit("k", taps), visit("bias", bias), visit("", gates), visit("silu", silu);
    }
    static Signature arguments(const ConvolutionSpec& spec) {
        const bool is_gated = spec.gates == ConvolutionGates::both;
        const uint32_t padded = channel_blocks(spec.channels) * kChannelBlock;
        return {sizeof(ConvolutionArgs),
                {f32_rows("x", offsetof(ConvolutionArgs, x), kRead, spec.channels),
                 only_if(is_gated, f32_rows("in_gate", offsetof(ConvolutionArgs, in_gate), kRead, spec.channels)),
                 only_if(is_gated, f32_rows("out_gate", offsetof(ConvolutionArgs, out_gate), kRead, spec.channels)),
                 vector_of(padded * spec.taps, "weights", offsetof(ConvolutionArgs, weights), Presence::present),
                 vector_of(spec.channels, "bias", offsetof(ConvolutionArgs, bias), spec.bias),
                 state_of(spec.channels, spec.taps - 1, offsetof(ConvolutionArgs, state)),
                 f32_rows("out", offsetof(ConvolutionArgs, out), kWrite, spec.channels),
                 other(Role::batch, "batch", offsetof(ConvolutionArgs, batch))}};
    }
    static uint32_t units(const ConvolutionSpec& spec, uint32_t runs) { return runs * channel_blocks(spec.channels); }
    static KernelCost cost(const ConvolutionSpec& spec) {
        const uint64_t gates = spec.gates == ConvolutionGates::both ? 2 : 0;
        const uint64_t flops = 2 * spec.taps + gates + (is_present(spec.silu) ? kSiluFlops : 0);
        const uint64_t numbers = spec.taps + (is_present(spec.bias) ? 1 : 0);
        return {flops * spec.channels, numbers * spec.channels * sizeof(float)};
    }
    static void check(const ConvolutionSpec& spec, Claims& claims) {
        claims.positive("channels", spec.channels).positive("taps", spec.taps, kMaxTaps);
        if (claims.is_fine() && spec.taps < 2)
            claims.refuse("taps {}: of the past there is nothing to keep", spec.taps);
        if (claims.is_fine() && uint64_t(spec.channels) * spec.taps > kMaxRowElements)
            claims.refuse("channels {} times taps {} are above {}", spec.channels, spec.taps, kMaxRowElements);
    }
    static std::string text(const ConvolutionSpec& spec) {
        return fmt::format("convolution {} channels, {} taps{}{}{}", spec.channels, spec.taps,
                           when(is_present(spec.bias), ", bias"), when(is_present(spec.silu), ", silu"),
                           when(spec.gates == ConvolutionGates::both, ", gated"));
    }
};

template <>
struct OpTraits<ScanSpec> {
    static constexpr std::string_view kName = "scan";
    static constexpr bool kWalksRuns = true;
    static void fields(auto& spec, auto&& visit) {
        auto& [heads, head_dim, states, groups] = spec;
        visit("h", heads), visit("d", head_dim), visit("n", states), visit("g", groups);
    }
    static uint32_t channels(const ScanSpec& spec) { return spec.heads * spec.head_dim; }
    static Signature arguments(const ScanSpec& spec) {
        const uint32_t width = channels(spec), shared = spec.groups * spec.states;
        const uint32_t decays = spec.head_dim == 1 ? channel_blocks(width) * kChannelBlock * spec.states : spec.heads;
        return {
            sizeof(ScanArgs),
            {f32_rows("x", offsetof(ScanArgs, x), kRead, width),
             f32_rows("time", offsetof(ScanArgs, time), kRead, spec.heads),
             f32_rows("b", offsetof(ScanArgs, b), kRead, shared), f32_rows("c", offsetof(ScanArgs, c), kRead, shared),
             vector_of(spec.heads, "time_bias", offsetof(ScanArgs, time_bias), Presence::present),
             vector_of(decays, "decay", offsetof(ScanArgs, decay), Presence::present),
             vector_of(spec.heads, "skip", offsetof(ScanArgs, skip), Presence::present),
             state_of(width, spec.states, offsetof(ScanArgs, state)),
             f32_rows("out", offsetof(ScanArgs, out), kWrite, width),
             other(Role::batch, "batch", offsetof(ScanArgs, batch))}};
    }
    static uint32_t units(const ScanSpec& spec, uint32_t runs) { return runs * channel_blocks(channels(spec)); }
    static KernelCost cost(const ScanSpec& spec) {
        const uint64_t of_number = 6 + (spec.head_dim == 1 ? 5 : 0), of_channel = 4 + 10;
        return {(of_number * spec.states + of_channel) * channels(spec), uint64_t(spec.heads) * 3 * sizeof(float)};
    }
    static void check(const ScanSpec& spec, Claims& claims) {
        claims.positive("heads", spec.heads, kMaxRowElements)
            .positive("head_dim", spec.head_dim, kMaxRowElements)
            .positive("states", spec.states, kMaxStates)
            .positive("groups", spec.groups, kMaxHeads)
            .multiple("states", spec.states, 4, "sums side by side");
        if (claims.is_fine() && spec.head_dim != 1)
            claims.multiple("head_dim", spec.head_dim, kChannelBlock, "a block of channels")
                .multiple("heads", spec.heads, spec.groups, "the number of groups");
        if (claims.is_fine() && spec.head_dim == 1 && spec.groups != 1)
            claims.refuse("groups {} of channels that are heads", spec.groups);
        if (claims.is_fine() && uint64_t(spec.heads) * spec.head_dim * spec.states > kMaxRowElements)
            claims.refuse("heads {} times head_dim {} times states {} are above {}", spec.heads, spec.head_dim,
                          spec.states, kMaxRowElements);
    }
    static std::string text(const ScanSpec& spec) {
        if (spec.head_dim == 1) return fmt::format("scan {} channels, {} states each", spec.heads, spec.states);
        return fmt::format("scan {} heads of {}, {} states each, {} groups", spec.heads, spec.head_dim, spec.states,
                           spec.groups);
    }
};

template <>
struct OpTraits<DeltaNetSpec> {
    static constexpr std::string_view kName = "delta_net";
    static constexpr bool kWalksRuns = true;
    static void fields(auto& spec, auto&& visit) {
        auto& [key_heads, value_heads, key_dim, value_dim, order, epsilon] = spec;
        visit("g", key_heads), visit("h", value_heads), visit("k", key_dim), visit("v", value_dim);
        visit("", order), visit("e", epsilon);
    }
    static uint32_t channels(const DeltaNetSpec& spec) { return spec.value_heads * spec.value_dim; }
    static Signature arguments(const DeltaNetSpec& spec) {
        const uint32_t keys = spec.key_heads * spec.key_dim, heads = spec.value_heads;
        const uint32_t gates = spec.order == HeadOrder::grouped ? 2 * heads : heads;
        return {sizeof(DeltaNetArgs),
                {f32_rows("q", offsetof(DeltaNetArgs, q), kRead, keys),
                 f32_rows("k", offsetof(DeltaNetArgs, k), kRead, keys),
                 f32_rows("v", offsetof(DeltaNetArgs, v), kRead, channels(spec)),
                 f32_rows("alpha", offsetof(DeltaNetArgs, alpha), kRead, gates),
                 f32_rows("beta", offsetof(DeltaNetArgs, beta), kRead, gates),
                 vector_of(heads, "time_bias", offsetof(DeltaNetArgs, time_bias), Presence::present),
                 vector_of(heads, "decay", offsetof(DeltaNetArgs, decay), Presence::present),
                 state_of(channels(spec), spec.key_dim, offsetof(DeltaNetArgs, state)),
                 f32_rows("out", offsetof(DeltaNetArgs, out), kWrite, channels(spec)),
                 other(Role::batch, "batch", offsetof(DeltaNetArgs, batch))}};
    }
    static uint32_t units(const DeltaNetSpec& spec, uint32_t runs) { return runs * channel_blocks(channels(spec)); }
    static KernelCost cost(const DeltaNetSpec& spec) {
        return {7 * uint64_t(spec.key_dim) * channels(spec), uint64_t(spec.value_heads) * 2 * sizeof(float)};
    }
    static void check(const DeltaNetSpec& spec, Claims& claims) {
        claims.positive("key_heads", spec.key_heads, kMaxHeads)
            .positive("value_heads", spec.value_heads, kMaxHeads)
            .positive("key_dim", spec.key_dim, kMaxHeadDim)
            .positive("value_dim", spec.value_dim, kMaxHeadDim)
            .multiple("key_dim", spec.key_dim, kChannelBlock, "a vector")
            .multiple("value_dim", spec.value_dim, kChannelBlock, "a block of channels")
            .epsilon(spec.epsilon);
        if (claims.is_fine())
            claims.multiple("value_heads", spec.value_heads, spec.key_heads, "the number of key_heads");
        if (claims.is_fine() && uint64_t(spec.value_heads) * spec.value_dim * spec.key_dim > kMaxRowElements)
            claims.refuse("value_heads {} times value_dim {} times key_dim {} are above {}", spec.value_heads,
                          spec.value_dim, spec.key_dim, kMaxRowElements);
    }
    static std::string text(const DeltaNetSpec& spec) {
        return fmt::format("delta_net {} heads of {}x{} on {}, {}", spec.value_heads, spec.key_dim, spec.value_dim,
                           spec.key_heads, riftjit::text(spec.order));
    }
};

template <>
struct OpTraits<WkvSpec> {
    static constexpr std::string_view kName = "wkv";
    static constexpr bool kWalksRuns = true;
    static void fields(auto& spec, auto&& visit) {
        auto& [heads, head_dim, rule, centered] = spec;
        visit("", rule), visit("h", heads), visit("d", head_dim), visit("centered", centered);
    }
    static uint32_t channels(const WkvSpec& spec) { return spec.heads * spec.head_dim; }
    static Signature arguments(const WkvSpec& spec) {
        const uint32_t width = channels(spec);
        const bool is_v7 = spec.rule == WkvRule::v7;
        const Presence of_v7 = present_if(is_v7);
        return {sizeof(WkvArgs),
                {f32_rows("r", offsetof(WkvArgs, r), kRead, width), f32_rows("w", offsetof(WkvArgs, w), kRead, width),
                 f32_rows("k", offsetof(WkvArgs, k), kRead, width), f32_rows("v", offsetof(WkvArgs, v), kRead, width),
                 only_if(is_v7, f32_rows("a", offsetof(WkvArgs, a), kRead, width)),
                 vector_of(width, "mix", offsetof(WkvArgs, mix), Presence::present),
                 vector_of(width, "key_scale", offsetof(WkvArgs, key_scale), of_v7),
                 vector_of(width, "key_rate", offsetof(WkvArgs, key_rate), of_v7),
                 state_of(width, spec.head_dim, offsetof(WkvArgs, state)),
                 only_if(is_v7, f32_rows("bonus", offsetof(WkvArgs, bonus), kWrite, width)),
                 f32_rows("out", offsetof(WkvArgs, out), kWrite, width),
                 other(Role::batch, "batch", offsetof(WkvArgs, batch))}};
    }
    static uint32_t units(const WkvSpec& spec, uint32_t runs) { return runs * channel_blocks(channels(spec)); }
    static KernelCost cost(const WkvSpec& spec) {
        const uint64_t each = spec.rule == WkvRule::v7 ? 9 : 5, vectors = spec.rule == WkvRule::v7 ? 3 : 1;
        return {each * spec.head_dim * channels(spec), vectors * channels(spec) * sizeof(float)};
    }
    static void check(const WkvSpec& spec, Claims& claims) {
        claims.positive("heads", spec.heads, kMaxHeads)
            .positive("head_dim", spec.head_dim, kMaxHeadDim)
            .multiple("head_dim", spec.head_dim, kChannelBlock, "a block of channels");
        if (claims.is_fine() && uint64_t(spec.heads) * spec.head_dim * spec.head_dim > kMaxRowElements)
            claims.refuse("heads {} times head_dim {} squared are above {}", spec.heads, spec.head_dim,
                          kMaxRowElements);
    }
    static std::string text(const WkvSpec& spec) {
        return fmt::format("wkv {}, {} heads of {}{}", riftjit::text(spec.rule), spec.heads, spec.head_dim,
                           when(is_present(spec.centered), ", centered"));
    }
};

template <>
struct OpTraits<HighestSpec> {
    static constexpr std::string_view kName = "highest";
    static void fields(auto& spec, auto&& visit) {
        auto& [width, stage] = spec;
        visit("", stage), visit("w", width);
    }
    static Signature arguments(const HighestSpec& spec) {
        constexpr uint32_t kFloats = kHighest * sizeof(IndexedLogit) / sizeof(float);
        const bool merges = spec.stage == HighestStage::merge, is_whole = spec.stage == HighestStage::whole;
        return {sizeof(HighestArgs),
                {only_if(!merges, f32_rows("x", offsetof(HighestArgs, x), kRead, spec.width)),
                 only_if(!is_whole, f32_rows("parts", offsetof(HighestArgs, parts), merges ? kRead : kWrite,
                                             highest_parts(spec.width) * kFloats)),
                 only_if(merges || is_whole, f32_rows("out", offsetof(HighestArgs, out), kWrite, kFloats)),
                 other(Role::batch, "batch", offsetof(HighestArgs, batch))}};
    }
    static uint32_t units(const HighestSpec&, uint32_t rows) { return rows; }
    static KernelCost cost(const HighestSpec&) { return {0, 0}; }
    static void check(const HighestSpec& spec, Claims& claims) {
        claims.positive("width", spec.width);
        if (claims.is_fine() && spec.stage == HighestStage::whole && highest_parts(spec.width) > 1)
            claims.refuse("width {} is above {}, which one launch takes", spec.width, kHighestPart);
    }
    static std::string text(const HighestSpec& spec) {
        return fmt::format("highest {} of {}{}{}", kHighest, spec.width,
                           when(spec.stage == HighestStage::parts, ", of parts"),
                           when(spec.stage == HighestStage::merge, ", of all parts"));
    }
};

// ---- mixtures of experts ----

// Operations of softmax or sigmoid per logit, and the comparisons of a choice.
inline uint64_t route_flops(uint32_t experts, uint32_t used) { return (kSiluFlops + used) * uint64_t(experts); }
// Of a batch: that many experts at most have a pair.
inline uint32_t most_groups(uint32_t experts, uint32_t used, uint32_t tokens) {
    return uint32_t(std::min<uint64_t>(experts, uint64_t(used) * tokens));
}
inline void claim_experts(Claims& claims, uint32_t experts, uint32_t used) {
    claims.positive("experts", experts, kMaxExperts).positive("used", used);
    if (claims.is_fine() && used > experts) claims.refuse("{} of {} experts are used", used, experts);
}

template <>
struct OpTraits<RouteSpec> {
    static constexpr std::string_view kName = "route";
    static void fields(auto& spec, auto&& visit) {
        auto& [experts, used, scoring, bias, normed, scale, groups, groups_used, scales] = spec;
        visit("", scoring), visit("n", experts), visit("u", used), visit("bias", bias), visit("normed", normed);
        visit("c", scale, 1.0f), visit("g", groups, 1u), visit("of", groups_used, 1u);
        visit("scales", scales);
    }
    static Signature arguments(const RouteSpec& spec) {
        return {sizeof(RouteArgs),
                {f32_rows("logits", offsetof(RouteArgs, logits), kRead, spec.experts),
                 vector_of(spec.experts, "bias", offsetof(RouteArgs, bias), spec.bias),
                 other(Role::routes, "choices", offsetof(RouteArgs, choices), kWrite),
                 vector_of(spec.experts, "scales", offsetof(RouteArgs, scales), spec.scales),
                 other(Role::batch, "batch", offsetof(RouteArgs, batch))}};
    }
    static uint32_t units(const RouteSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const RouteSpec& spec) {
        return {route_flops(spec.experts, spec.used), is_present(spec.bias) ? spec.experts * sizeof(float) : 0};
    }
    static void check(const RouteSpec& spec, Claims& claims) {
        claim_experts(claims, spec.experts, spec.used);
        claims.finite("scale", spec.scale).positive("groups", spec.groups).positive("groups_used", spec.groups_used);
        if (claims.is_fine()) claims.multiple("experts", spec.experts, spec.groups, "the number of groups");
        if (spec.scoring == Scoring::sparse_mixer && (is_present(spec.bias) || spec.groups != 1))
            claims.refuse("a sparse mixer with a bias or groups");
        if (!claims.is_fine() || spec.groups == 1) return;
        if (spec.groups_used > spec.groups)
            claims.refuse("{} of {} groups are used", spec.groups_used, spec.groups);
        else if (spec.groups_used * (spec.experts / spec.groups) < spec.used)
            claims.refuse("{} groups of {} experts have fewer than {}", spec.groups_used, spec.experts / spec.groups,
                          spec.used);
        else if (spec.experts / spec.groups < 2)
            claims.refuse("groups of one expert");
    }
    static std::string text(const RouteSpec& spec) {
        return fmt::format(
            "route to {} of {} experts by {}{}{}{}{}{}", spec.used, spec.experts, riftjit::text(spec.scoring),
            when(is_present(spec.bias), ", bias"), when(is_present(spec.normed), ", normed"),
            spec.scale != 1 ? fmt::format(", times {}", spec.scale) : std::string(),
            spec.groups != 1 ? fmt::format(", in {} of {} groups", spec.groups_used, spec.groups) : std::string(),
            when(is_present(spec.scales), ", each scaled"));
    }
};

template <>
struct OpTraits<GroupPairsSpec> {
    static constexpr std::string_view kName = "group_pairs";
    static void fields(auto& spec, auto&& visit) {
        auto& [experts, used] = spec;
        visit("n", experts), visit("u", used);
    }
    static Signature arguments(const GroupPairsSpec&) {
        return {sizeof(GroupPairsArgs),
                {other(Role::routes, "choices", offsetof(GroupPairsArgs, choices), kUpdate),
                 other(Role::routes, "groups", offsetof(GroupPairsArgs, groups), kWrite),
                 other(Role::routes, "tokens", offsetof(GroupPairsArgs, tokens), kWrite),
                 other(Role::batch, "batch", offsetof(GroupPairsArgs, batch))}};
    }
    static uint32_t units(const GroupPairsSpec&, uint32_t) { return 1; }
    static KernelCost cost(const GroupPairsSpec&) { return {0, 0}; }
    static void check(const GroupPairsSpec& spec, Claims& claims) { claim_experts(claims, spec.experts, spec.used); }
    static std::string text(const GroupPairsSpec& spec) {
        return fmt::format("group_pairs of {} experts, {} a token", spec.experts, spec.used);
    }
};

template <>
struct OpTraits<GatherPairsSpec> {
    static constexpr std::string_view kName = "gather_pairs";
    static void fields(auto& spec, auto&& visit) {
        auto& [width, used, format] = spec;
        visit("", format), visit("w", width), visit("u", used);
    }
    static Signature arguments(const GatherPairsSpec& spec) {
        return {sizeof(GatherPairsArgs),
                {rows_in(spec.format, "x", offsetof(GatherPairsArgs, x), kRead, spec.width),
                 other(Role::routes, "tokens", offsetof(GatherPairsArgs, tokens)),
                 pairs(rows_in(spec.format, "out", offsetof(GatherPairsArgs, out), kWrite, spec.width), spec.used),
                 other(Role::batch, "batch", offsetof(GatherPairsArgs, batch))}};
    }
    static uint32_t units(const GatherPairsSpec& spec, uint32_t tokens) { return tokens * spec.used; }
    static KernelCost cost(const GatherPairsSpec&) { return {0, 0}; }
    static void check(const GatherPairsSpec& spec, Claims& claims) {
        claims.positive("width", spec.width).positive("used", spec.used, kMaxExperts);
    }
    static std::string text(const GatherPairsSpec& spec) {
        return fmt::format("gather_pairs {} {}, {} a token", riftjit::text(spec.format), spec.width, spec.used);
    }
};

template <>
struct OpTraits<ExpertMatmulSpec> {
    static constexpr std::string_view kName = "expert_matmul";
    static void fields(auto& spec, auto&& visit) {
        auto& [product, experts, used, shared_row] = spec;
        OpTraits<MatmulSpec>::fields(product, visit);
        visit("of", experts), visit("u", used), visit("shared", shared_row);
    }
    static Signature arguments(const ExpertMatmulSpec& spec) {
        const MatmulSpec& product = spec.product;
        const Argument x = {"x",          offsetof(ExpertMatmulArgs, x), Role::rows, kRead, Presence::present, {},
                            product.width};
        return {sizeof(ExpertMatmulArgs),
                {other(Role::packed, "weights", offsetof(ExpertMatmulArgs, weights)),
                 vector_of(spec.experts * product.rows, "bias", offsetof(ExpertMatmulArgs, bias), product.bias),
                 is_present(spec.shared_row) ? x : pairs(x, spec.used),
                 other(Role::routes, "groups", offsetof(ExpertMatmulArgs, groups), kRead,
                       present_if(spec.used != spec.experts)),
                 pairs(f32_rows("out", offsetof(ExpertMatmulArgs, out), kWrite, product.rows, product.out_stride),
                       spec.used),
                 other(Role::batch, "batch", offsetof(ExpertMatmulArgs, batch))}};
    }
    static uint32_t units(const ExpertMatmulSpec& spec, uint32_t tokens) {
        return most_groups(spec.experts, spec.used, tokens) * OpTraits<MatmulSpec>::units(spec.product, tokens);
    }
    static uint32_t grain(const ExpertMatmulSpec& spec) { return OpTraits<MatmulSpec>::grain(spec.product); }
    // Of one token's experts: those of many tokens are between as many and all.
    static KernelCost cost(const ExpertMatmulSpec& spec) {
        const KernelCost one = OpTraits<MatmulSpec>::cost(spec.product);
        return {one.flops * spec.used, one.weight_bytes * spec.used};
    }
    static void check(const ExpertMatmulSpec& spec, Claims& claims) {
        OpTraits<MatmulSpec>::check(spec.product, claims);
        claim_experts(claims, spec.experts, spec.used);
        if (claims.is_fine() && uint64_t(spec.experts) * spec.product.rows > kMaxRowElements)
            claims.refuse("{} experts of {} rows: more than {}", spec.experts, spec.product.rows, kMaxRowElements);
        if (claims.is_fine() && spec.product.epilogue != Epilogue::store) claims.refuse("accumulates");
    }
    static std::string text(const ExpertMatmulSpec& spec) {
        if (spec.used == spec.experts)
            return fmt::format("{} heads, each {}", spec.used, OpTraits<MatmulSpec>::text(spec.product));
        return fmt::format("{} of {} experts, {}{}", spec.used, spec.experts, OpTraits<MatmulSpec>::text(spec.product),
                           when(is_present(spec.shared_row), ", of one row"));
    }
};

template <>
struct OpTraits<WeighPairsSpec> {
    static constexpr std::string_view kName = "weigh_pairs";
    static void fields(auto& spec, auto&& visit) {
        auto& [width, used] = spec;
        visit("w", width), visit("u", used);
    }
    static Signature arguments(const WeighPairsSpec& spec) {
        return {sizeof(WeighPairsArgs),
                {other(Role::routes, "choices", offsetof(WeighPairsArgs, choices), kUpdate),
                 pairs(f32_rows("first", offsetof(WeighPairsArgs, first), kUpdate, spec.width), spec.used),
                 pairs(f32_rows("second", offsetof(WeighPairsArgs, second), kUpdate, spec.width), spec.used),
                 other(Role::batch, "batch", offsetof(WeighPairsArgs, batch))}};
    }
    static uint32_t units(const WeighPairsSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const WeighPairsSpec& spec) { return {2 * uint64_t(spec.width) * spec.used, 0}; }
    static void check(const WeighPairsSpec& spec, Claims& claims) {
        claims.positive("width", spec.width).positive("used", spec.used, kMaxExperts);
    }
    static std::string text(const WeighPairsSpec& spec) {
        return fmt::format("weigh_pairs {} of {}, twice", spec.used, spec.width);
    }
};

template <>
struct OpTraits<CombineSpec> {
    static constexpr std::string_view kName = "combine";
    static void fields(auto& spec, auto&& visit) {
        auto& [width, used, shared, gate] = spec;
        visit("w", width), visit("u", used), visit("shared", shared), visit("gate", gate);
    }
    static Signature arguments(const CombineSpec& spec) {
        return {sizeof(CombineArgs),
                {pairs(f32_rows("pairs", offsetof(CombineArgs, pairs), kRead, spec.width), spec.used),
                 other(Role::routes, "choices", offsetof(CombineArgs, choices)),
                 only_if(is_present(spec.shared), f32_rows("shared", offsetof(CombineArgs, shared), kRead, spec.width)),
                 only_if(is_present(spec.gate), f32_rows("gate", offsetof(CombineArgs, gate), kRead, 1)),
                 f32_rows("out", offsetof(CombineArgs, out), kWrite, spec.width),
                 other(Role::batch, "batch", offsetof(CombineArgs, batch))}};
    }
    static uint32_t units(const CombineSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const CombineSpec& spec) {
        return {uint64_t(spec.width) * (2 * spec.used + (is_present(spec.gate) ? 1 : 0)), 0};
    }
    static void check(const CombineSpec& spec, Claims& claims) {
        claims.positive("width", spec.width).positive("used", spec.used, kMaxExperts);
        if (claims.is_fine() && is_present(spec.gate) && !is_present(spec.shared)) claims.refuse("a gate of nothing");
    }
    static std::string text(const CombineSpec& spec) {
        return fmt::format("combine {} rows of {}{}{}", spec.used, spec.width,
                           when(is_present(spec.shared), ", and a shared one"), when(is_present(spec.gate), ", gated"));
    }
};

template <>
struct OpTraits<HadamardSpec> {
    static constexpr std::string_view kName = "hadamard";
    static constexpr uint32_t kLeastSize = 16, kMostSize = 512;
    static void fields(auto& spec, auto&& visit) {
        auto& [width, size] = spec;
        visit("w", width), visit("n", size);
    }
    static Signature arguments(const HadamardSpec& spec) {
        return {sizeof(HadamardArgs),
                {f32_rows("x", offsetof(HadamardArgs, x), kRead, spec.width),
                 f32_rows("out", offsetof(HadamardArgs, out), kWrite, spec.width),
                 other(Role::batch, "batch", offsetof(HadamardArgs, batch))}};
    }
    static uint32_t units(const HadamardSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const HadamardSpec& spec) { return {uint64_t(spec.width) * std::bit_width(spec.size), 0}; }
    static void check(const HadamardSpec& spec, Claims& claims) {
        claims.positive("width", spec.width);
        if (!claims.is_fine()) return;
        if (!std::has_single_bit(spec.size) || spec.size < kLeastSize || spec.size > kMostSize)
            claims.refuse("size {} is no power of two from {} to {}", spec.size, kLeastSize, kMostSize);
        else if (spec.width % spec.size != 0)
            claims.refuse("width {} is not a multiple of size {}", spec.width, spec.size);
    }
    static std::string text(const HadamardSpec& spec) {
        return fmt::format("hadamard {} in parts of {}", spec.width, spec.size);
    }
};

template <>
struct OpTraits<SplitHeadsSpec> {
    static constexpr std::string_view kName = "split_heads";
    static void fields(auto& spec, auto&& visit) {
        auto& [heads, head_stride, offset, width, in_stride, output] = spec;
        visit("h", heads), visit("d", head_stride), visit("o", offset), visit("w", width), visit("s", in_stride);
        visit("", output);
    }
    static Signature arguments(const SplitHeadsSpec& spec) {
        return {sizeof(SplitHeadsArgs),
                {f32_rows("x", offsetof(SplitHeadsArgs, x), kRead, spec.heads * spec.head_stride, spec.in_stride),
                 pairs(rows_in(spec.output, "out", offsetof(SplitHeadsArgs, out), kWrite, spec.width), spec.heads),
                 other(Role::batch, "batch", offsetof(SplitHeadsArgs, batch))}};
    }
    static uint32_t units(const SplitHeadsSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const SplitHeadsSpec& spec) {
        return {is_quantized(spec.output) ? 2 * uint64_t(spec.heads) * spec.width : 0, 0};
    }
    static void check(const SplitHeadsSpec& spec, Claims& claims) {
        claims.positive("heads", spec.heads, kMaxHeads)
            .positive("width", spec.width)
            .at_least("head_stride", spec.head_stride, "offset and width", uint64_t(spec.offset) + spec.width)
            .at_least("in_stride", spec.in_stride, "heads times head_stride", uint64_t(spec.heads) * spec.head_stride);
    }
    static std::string text(const SplitHeadsSpec& spec) {
        return fmt::format("split_heads {} of {}, elements {} to {}, to {}", spec.heads, spec.head_stride, spec.offset,
                           spec.offset + spec.width - 1, riftjit::text(spec.output));
    }
};

template <>
struct OpTraits<JoinHeadsSpec> {
    static constexpr std::string_view kName = "join_heads";
    static void fields(auto& spec, auto&& visit) {
        auto& [heads, head_stride, offset, first_width, in_stride, width, rows] = spec;
        visit("h", heads), visit("d", head_stride), visit("o", offset), visit("f", first_width), visit("s", in_stride);
        visit("w", width), visit("", rows);
    }
    static Signature arguments(const JoinHeadsSpec& spec) {
        const bool has_rows = spec.width != 0 && spec.rows != HeadRows::zeros;
        const uint32_t x_width = spec.head_stride == 0 ? spec.offset + spec.first_width : spec.heads * spec.head_stride;
        const auto rows = [&](uint32_t width) { return f32_rows("rows", offsetof(JoinHeadsArgs, rows), kRead, width); };
        return {
            sizeof(JoinHeadsArgs),
            {only_if(spec.first_width != 0, f32_rows("x", offsetof(JoinHeadsArgs, x), kRead, x_width, spec.in_stride)),
             only_if(has_rows, spec.rows == HeadRows::by_token ? rows(spec.heads * spec.width)
                                                               : pairs(rows(spec.width), spec.heads)),
             f32_rows("out", offsetof(JoinHeadsArgs, out), kWrite, spec.heads * (spec.first_width + spec.width)),
             other(Role::batch, "batch", offsetof(JoinHeadsArgs, batch))}};
    }
    static uint32_t units(const JoinHeadsSpec&, uint32_t tokens) { return tokens; }
    static KernelCost cost(const JoinHeadsSpec&) { return {0, 0}; }
    static void check(const JoinHeadsSpec& spec, Claims& claims) {
        claims.positive("heads", spec.heads, kMaxHeads);
        if (claims.is_fine() && spec.first_width == 0 && spec.width == 0) claims.refuse("heads of no elements");
        if (claims.is_fine() && uint64_t(spec.heads) * (uint64_t(spec.first_width) + spec.width) > kMaxRowElements)
            claims.refuse("{} heads of {} + {} elements", spec.heads, spec.first_width, spec.width);
        if (spec.first_width == 0) return;
        if (spec.head_stride == 0) {
            claims.at_least("in_stride", spec.in_stride, "offset and first_width",
                            uint64_t(spec.offset) + spec.first_width);
            return;
        }
        claims
            .at_least("head_stride", spec.head_stride, "offset and first_width",
                      uint64_t(spec.offset) + spec.first_width)
            .at_least("in_stride", spec.in_stride, "heads times head_stride", uint64_t(spec.heads) * spec.head_stride);
    }
    static std::string text(const JoinHeadsSpec& spec) {
        return fmt::format("join_heads {} of {} + {}{}", spec.heads, spec.first_width, spec.width,
                           spec.rows == HeadRows::zeros ? " zeros" : "");
    }
};

// question(traits, spec) of a part.
inline auto ask_part(const SideBySidePart& part, auto&& question) {
    return std::visit([&]<class Spec>(const Spec& spec) { return question(OpTraits<Spec>{}, spec); }, part);
}

template <>
struct OpTraits<SideBySideSpec> {
    static constexpr std::string_view kName = "side_by_side";
    static void fields(auto& spec, auto&& visit) {
        auto& [parts] = spec;
        visit.rest(parts);
    }
    // Batches come last, wherever they lie in the struct.
    static Signature arguments(const SideBySideSpec& spec) {
        Signature all;
        std::vector<Argument> batches;
        for (const SideBySidePart& part : spec.parts) {
            const Signature own = ask_part(part, [](auto traits, const auto& op) { return traits.arguments(op); });
            for (Argument argument : own.arguments) {
                argument.offset_bytes += all.args_bytes;
                (argument.role == Role::batch ? batches : all.arguments).push_back(argument);
            }
            all.args_bytes += own.args_bytes;
        }
        all.arguments.insert(all.arguments.end(), batches.begin(), batches.end());
        return all;
    }
    static uint32_t units(const SideBySideSpec& spec, uint32_t rows) {
        uint32_t units = 0;
        for (const SideBySidePart& part : spec.parts)
            units += ask_part(part, [&](auto traits, const auto& op) { return traits.units(op, rows); });
        return units;
    }
    static KernelCost cost(const SideBySideSpec& spec) {
        KernelCost sum{};
        for (const SideBySidePart& part : spec.parts) {
            const KernelCost own = ask_part(part, [](auto traits, const auto& op) { return traits.cost(op); });
            sum.flops += own.flops;
            sum.weight_bytes += own.weight_bytes;
        }
        return sum;
    }
    static void check(const SideBySideSpec& spec, Claims& claims) {
        if (spec.parts.empty()) claims.refuse("no parts");
        for (const SideBySidePart& part : spec.parts)
            ask_part(part, [&](auto traits, const auto& op) { return traits.check(op, claims); });
    }
    static std::string text(const SideBySideSpec& spec) {
        std::string words = "side by side";
        for (const SideBySidePart& part : spec.parts)
            words += (words.ends_with("side") ? ": " : "; ") +
                     ask_part(part, [](auto traits, const auto& op) { return traits.text(op); });
        return words;
    }
};

}  // namespace riftjit
