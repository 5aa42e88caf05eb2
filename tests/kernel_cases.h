// Specs of every op that each back end is tested over: widths around the vector and block sizes, odd head sizes, every
// option. Expected values come from the tests' own references in double.
#pragma once

#include <vector>

#include "jit/formats/cache_format.h"
#include "jit/kernel_spec.h"

namespace riftjit::kernel_cases {

// Around 16 lanes, around four vectors of them, around a block of 256, and a model's.
inline const std::vector<uint32_t> kWidths = {1, 2, 15, 16, 17, 40, 63, 64, 65, 255, 256, 257, 320, 576, 1000, 1024};
inline const std::vector<RowFormat> kRowFormats = {RowFormat::f32, RowFormat::i16, RowFormat::bf16, RowFormat::i8};

inline std::vector<RmsNormSpec> rms_norm() {
    std::vector<RmsNormSpec> specs;
    for (uint32_t width : kWidths)
        for (RowFormat output : kRowFormats)
            for (Presence gain : {Presence::absent, Presence::present})
                for (Addend addend : {Addend::none, Addend::residual})
                    specs.push_back({width, 1e-6f, gain, addend, output});
    return specs;
}

inline std::vector<GatherRowsSpec> gather_rows() {
    std::vector<GatherRowsSpec> specs;
    for (uint32_t width : kWidths) specs.push_back({width});
    return specs;
}

inline std::vector<LayerNormSpec> layer_norm() {
    std::vector<LayerNormSpec> specs;
    for (uint32_t width : kWidths)
        for (RowFormat output : kRowFormats)
            for (Presence bias : {Presence::absent, Presence::present}) specs.push_back({width, 1e-5f, bias, output});
    return specs;
}

inline std::vector<QuantizeSpec> quantize() {
    std::vector<QuantizeSpec> specs;
    for (uint32_t width : kWidths)
        for (RowFormat output : {RowFormat::i16, RowFormat::bf16, RowFormat::i8}) specs.push_back({width, output});
    return specs;
}

inline std::vector<SwigluSpec> swiglu() {
    std::vector<SwigluSpec> specs;
    for (uint32_t width : kWidths)
        for (RowFormat output : kRowFormats) specs.push_back({width, 2 * width + 3, output});
    for (uint32_t width : {33u, 272u})
        for (Activation activation : {Activation::silu, Activation::gelu_tanh, Activation::gelu_erf, Activation::relu,
                                      Activation::relu_squared, Activation::clamped_silu})
            for (Presence up : {Presence::present, Presence::absent})
                if (activation != Activation::clamped_silu || up == Presence::present)
                    for (RowFormat output : kRowFormats)
                        specs.push_back({width, 2 * width + 3, output, activation, up});
    return specs;
}

// Model sizes, and those that leave every kind of rest: of 16, of 32 (not for types with blocks), of 64.
inline const std::vector<uint32_t> kHeadDims = {2, 18, 40, 64, 80, 96, 112, 128, 192, 256};

inline bool fits(DType cache_type, uint32_t head_dim) { return head_dim % traits(cache_type).block_elements == 0; }

inline std::vector<ValueStoreSpec> value_store() {
    std::vector<ValueStoreSpec> specs;
    for (uint32_t head_dim : kHeadDims)
        for (uint32_t kv_heads : {1u, 3u})
            for (DType type : kCacheTypes)
                if (fits(type, head_dim)) specs.push_back({kv_heads, head_dim, kv_heads * head_dim + 5, type});
    return specs;
}

inline std::vector<RopeSpec> rope() {
    std::vector<RopeSpec> specs;
    const auto add = [&](uint32_t head_dim, uint32_t rotary_dims, RopePairing pairing, Presence norm) {
        RopeSpec spec{3, head_dim, rotary_dims, 3 * head_dim + 8, pairing, norm, 1e-6f, {}};
        specs.push_back(spec);
        for (DType type : kCacheTypes) {
            spec.key_cache = type;
            if (fits(type, head_dim)) specs.push_back(spec);
        }
    };
    for (uint32_t head_dim : kHeadDims)
        for (RopePairing pairing : {RopePairing::adjacent, RopePairing::half})
            for (Presence norm : {Presence::absent, Presence::present}) {
                add(head_dim, head_dim, pairing, norm);
                add(head_dim, head_dim / 4 * 2, pairing, norm);  // partial; none for the smallest
            }
    return specs;
}

inline std::vector<AttentionSpec> attention() {
    std::vector<AttentionSpec> specs;
    const auto add = [&](uint32_t group, uint32_t kv_heads, uint32_t head_dim, DType key_type, DType value_type) {
        const uint32_t width = group * kv_heads * head_dim, stride = static_cast<uint32_t>(round_up(width, 16));
        const float scale = 1.0f / 8;
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
            specs.push_back(
                {group * kv_heads, kv_heads, head_dim, width + 3, stride, key_type, value_type, scale, form});
    };
    for (uint32_t head_dim : kHeadDims)
        for (DType type : kCacheTypes)
            if (fits(type, head_dim)) add(2, 2, head_dim, type, type);
    for (uint32_t group : {1u, 3u, 4u, 5u, 6u, 7u, 8u, 11u})  // every blocking of the rows
        for (DType type : kCacheTypes) add(group, 1, 64, type, type);
    add(2, 3, 64, DType::Q8_0, DType::F16);
    add(2, 3, 64, DType::F16, DType::Q8_0);
    return specs;
}

// Windows around the lengths of tiles, blocks and segments, caps and sinks, alone and together. In tile form.
inline std::vector<AttentionSpec> attention_variants() {
    std::vector<AttentionSpec> specs;
    const auto add = [&](DType type, float softcap, uint32_t window, Presence sinks) {
        specs.push_back({6, 2, 32, 192 + 3, 192, type, type, 0.2f, MatmulForm::tile, softcap, window, sinks});
    };
    for (uint32_t window : {1u, 2u, 7u, 63u, 64u, 65u, 100u, 256u, 1000u, 1u << 31})
        add(DType::F16, 0, window, Presence::absent);
    for (DType type : kCacheTypes) {
        add(type, 2.0f, 0, Presence::absent);
        add(type, 0, 0, Presence::present);
        add(type, 3.0f, 33, Presence::present);
    }
    for (uint32_t window : {0u, 50u})  // of heads whose number is no power of two
        specs.push_back(
            {6, 2, 32, 192, 192, DType::F16, DType::F16, 0.2f, MatmulForm::tile, 0, window, Presence::absent, 8.0f});
    for (uint32_t head_dim : {40u, 256u})
        specs.push_back({3, 1, head_dim, 3 * head_dim, uint32_t(round_up(3 * head_dim, 16)), DType::F16, DType::F32,
                         0.1f, MatmulForm::tile, 5.0f, 20, Presence::present});
    return specs;
}

inline std::vector<ReduceSpec> reduce() {
    std::vector<ReduceSpec> specs;
    for (ReduceKind kind : {ReduceKind::argmax, ReduceKind::collect_above})
        for (uint32_t width : {1u, 2u, 15u, 16u, 17u, 63u, 64u, 65u, 100u, 1000u, 32003u})
            specs.push_back({kind, width});
    return specs;
}

// The ramp network's constants; every rest of eight neurons, all of one kind, the ends of the refractory time, and ids
// beyond 31 bits.
inline std::vector<LifStepSpec> lif_step() {
    const auto spec = [](uint32_t neurons, uint32_t excitatory, uint32_t refractory_steps) {
        return LifStepSpec{neurons,        excitatory,      0.2, 0.3, 0.3, 0.3, 0.01, 0.02, 0.01, -65, -70, -50, 45,
                           20.0 / neurons, refractory_steps};
    };
    std::vector<LifStepSpec> specs;
    for (uint32_t neurons : {1u, 2u, 7u, 8u, 9u, 15u, 16u, 17u, 63u, 64u, 65u, 1000u})
        specs.push_back(spec(neurons, neurons * 4 / 5, 20));
    for (uint32_t excitatory : {0u, 1u, 99u, 100u}) specs.push_back(spec(100, excitatory, 3));
    for (uint32_t refractory_steps : {0u, 1u, 255u}) specs.push_back(spec(100, 80, refractory_steps));
    specs.push_back(spec(UINT32_MAX, (1u << 31) + 13, 3));
    return specs;
}

inline constexpr ElementwiseOp kElementwiseOps[] = {ElementwiseOp::add, ElementwiseOp::scale, ElementwiseOp::softcap};

inline std::vector<ElementwiseSpec> elementwise() {
    std::vector<ElementwiseSpec> specs;
    for (uint32_t width : {1u, 7u, 8u, 9u, 16u, 17u, 40u, 100u})
        for (ElementwiseOp op : kElementwiseOps)  // two inputs, of which a unary step reads the second
            specs.push_back({width, uint32_t(round_up(width, 16)), {{width + 1}, {0}}, {{op, 1, 0, 1.7f}}});
    // A chain that reads six inputs and several of its own values again.
    using enum ElementwiseOp;
    specs.push_back({50,
                     64,
                     {{50}, {51}, {0}, {52}, {53}, {54}},
                     {{add, 0, 1, 0},
                      {add, 6, 2, 0},
                      {add, 3, 4, 0},
                      {add, 7, 8, 0},
                      {scale, 6, 0, -0.5f},
                      {add, 9, 10, 0},
                      {add, 11, 5, 0},
                      {add, 12, 7, 0}}});
    // 18 live values, more than AVX2 has registers: 12 products of 6 inputs, then the sum of all 18.
    ElementwiseSpec wide_chain{40, 48, {{40}, {41}, {42}, {0}, {43}, {44}}, {}};
    for (uint8_t i = 0; i < 12; ++i) wide_chain.steps.push_back({scale, uint8_t(i % 6), 0, 0.25f + float(i)});
    for (uint8_t i = 0; i < 11; ++i) wide_chain.steps.push_back({add, uint8_t(17 + i), uint8_t(16 - i), 0});
    for (uint8_t i = 0; i < 6; ++i) wide_chain.steps.push_back({add, uint8_t(28 + i), i, 0});
    specs.push_back(wide_chain);
    return specs;
}

inline std::vector<DType> weight_types() {
    std::vector<DType> types;
    for (const DTypeTraits& type : all_dtypes())
        if (type.is_weight) types.push_back(type.type);
    return types;
}

inline std::vector<EmbedSpec> embed() {
    std::vector<EmbedSpec> specs;
    for (DType type : weight_types()) specs.push_back({type, 512});
    return specs;
}

inline std::vector<MatmulSpec> matmul() {
    std::vector<MatmulSpec> specs;
    for (DType type : weight_types())
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile}) {
            specs.push_back({type, 40, 512, 48, form, Epilogue::store, Presence::absent});
            specs.push_back({type, 17, 256, 32, form, Epilogue::accumulate, Presence::present});
        }
    return specs;
}

// One program per op that gives a value, over columns of the precision's own type: column 3 is the result (a truth as 0
// or 1), columns 0 to 2 are the operands (a truth operand is that of x < 1).
inline ColumnProgramSpec column_op(ColumnOp op, Precision precision) {
    const ColumnType type = precision == Precision::f64 ? ColumnType::f64 : ColumnType::f32;
    ColumnProgramSpec spec{precision, 1, std::vector<ColumnType>(4, type), {}};
    const auto append = [&](const ColumnStep& step) {
        spec.steps.push_back(step);
        return uint16_t(spec.steps.size() - 1);
    };
    const uint16_t one = append({ColumnOp::constant, 0, 0, 0, 0, 1.0});
    const auto operand = [&](uint32_t column) {
        const ColumnKind kind = traits(op).operands[column];
        if (kind == ColumnKind::none) return uint16_t(0);
        const uint16_t number = append({ColumnOp::load, 0, 0, 0, column});
        return kind == ColumnKind::number ? number : append({ColumnOp::less, number, one});
    };
    const uint16_t a = operand(0), b = operand(1), c = operand(2);
    uint16_t result = append({op, a, b, c, 0, 0.75});
    if (traits(op).result == ColumnKind::truth) {
        const uint16_t zero = append({ColumnOp::constant, 0, 0, 0, 0, 0.0});
        result = append({ColumnOp::select, result, one, zero});
    }
    append({ColumnOp::store, result, 0, 0, 3});
    return spec;
}

// A column of one type to one of every type.
inline ColumnProgramSpec column_copies(Precision precision, ColumnType from) {
    constexpr ColumnType kTypes[] = {ColumnType::f64, ColumnType::f32, ColumnType::u8, ColumnType::u16,
                                     ColumnType::u32};
    ColumnProgramSpec spec{precision, 0, {from}, {{ColumnOp::load}}};
    for (ColumnType to : kTypes) {
        spec.columns.push_back(to);
        spec.steps.push_back({ColumnOp::store, 0, 0, 0, uint32_t(spec.columns.size() - 1)});
    }
    return spec;
}

// Fires where column 0 is at least 1.
inline ColumnProgramSpec column_fire(Precision precision) {
    return {
        precision,
        0,
        {ColumnType::f64},
        {{ColumnOp::load}, {ColumnOp::constant, 0, 0, 0, 0, 1.0}, {ColumnOp::less_equal, 1, 0}, {ColumnOp::fire, 2}}};
}

// 250 values, all alive at once: products of column 0 with different constants, then their sum from the last to the
// first, to column 1; and 40 truths, of which the last chooses first.
inline ColumnProgramSpec column_many_live(Precision precision) {
    ColumnProgramSpec spec{precision, 0, {ColumnType::f64, ColumnType::f64}, {{ColumnOp::load}}};
    const auto append = [&](const ColumnStep& step) {
        spec.steps.push_back(step);
        return uint16_t(spec.steps.size() - 1);
    };
    std::vector<uint16_t> products, truths;
    for (int i = 0; i < 250; ++i)
        products.push_back(append({ColumnOp::multiply, append({ColumnOp::constant, 0, 0, 0, 0, 0.25 + i}), 0}));
    for (int i = 0; i < 40; ++i)
        truths.push_back(append({ColumnOp::less, 0, append({ColumnOp::constant, 0, 0, 0, 0, i / 20.0 - 1})}));
    uint16_t sum = products.back();
    for (size_t i = products.size() - 1; i-- > 0;) sum = append({ColumnOp::add, sum, products[i]});
    for (size_t i = truths.size(); i-- > 0;) sum = append({ColumnOp::select, truths[i], sum, products[i]});
    append({ColumnOp::store, sum, 0, 0, 1});
    return spec;
}

inline std::vector<ColumnProgramSpec> column_programs() {
    std::vector<ColumnProgramSpec> specs;
    for (Precision precision : {Precision::f64, Precision::f32}) {
        for (size_t op = 0; op < kColumnOps; ++op)
            if (traits(ColumnOp(op)).result != ColumnKind::none) specs.push_back(column_op(ColumnOp(op), precision));
        for (ColumnType from : {ColumnType::f64, ColumnType::f32, ColumnType::u8, ColumnType::u16, ColumnType::u32})
            specs.push_back(column_copies(precision, from));
        specs.push_back(column_fire(precision));
        specs.push_back(column_many_live(precision));
    }
    return specs;
}

// The specs of all ops.
inline std::vector<KernelSpec> all() {
    std::vector<KernelSpec> specs;
    const auto append = [&](const auto& more) { specs.insert(specs.end(), more.begin(), more.end()); };
    append(embed());
    append(rms_norm());
    append(layer_norm());
    append(quantize());
    append(matmul());
    append(rope());
    append(value_store());
    append(attention());
    append(swiglu());
    append(elementwise());
    append(reduce());
    append(lif_step());
    append(column_programs());
    return specs;
}

}  // namespace riftjit::kernel_cases
