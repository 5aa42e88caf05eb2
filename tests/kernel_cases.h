// Specs of every op that each back end is tested over: widths around the vector and block sizes, odd head sizes, every
// option. Expected values come from the tests' own references in double.
#pragma once

#include <array>
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
                                      Activation::relu_squared, Activation::clamped_silu, Activation::sigmoid})
            for (Presence up : {Presence::present, Presence::absent})
                if (activation != Activation::clamped_silu || up == Presence::present)
                    for (RowFormat output : kRowFormats)
                        specs.push_back({width, 2 * width + 3, output, activation, up});
    for (const Xielu& xielu : {Xielu{1.5f, 0.75f, 0.5f, -1e-6f}, Xielu{0.25f, 2.0f, -1.0f, 0.0f}})
        for (Presence up : {Presence::present, Presence::absent})
            specs.push_back({33, 70, RowFormat::f32, Activation::xielu, up, xielu});
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
    for (uint32_t chunk : {1u, 8u, 32u, 64u, 128u, 256u, 512u}) {
        AttentionSpec spec{6, 2, 32, 192 + 3, 192, DType::F16, DType::F16, 0.2f, MatmulForm::tile};
        spec.chunk = chunk;
        specs.push_back(spec);
    }
    for (uint32_t window : {0u, 50u})  // of heads whose number is no power of two
        specs.push_back(
            {6, 2, 32, 192, 192, DType::F16, DType::F16, 0.2f, MatmulForm::tile, 0, window, Presence::absent, 8.0f});
    for (uint32_t head_dim : {40u, 256u})
        specs.push_back({3, 1, head_dim, 3 * head_dim, uint32_t(round_up(3 * head_dim, 16)), DType::F16, DType::F32,
                         0.1f, MatmulForm::tile, 5.0f, 20, Presence::present});
    return specs;
}

// Of whole texts: every blocking of the rows, windows around the lengths of tiles, blocks and segments, biases, caps
// and sinks. In tile form.
inline std::vector<AttentionSpec> attention_whole() {
    std::vector<AttentionSpec> specs;
    const auto add = [&](uint32_t group, uint32_t kv_heads, uint32_t head_dim, DType type, uint32_t window = 0,
                         float alibi = 0, float softcap = 0, Presence sinks = Presence::absent) {
        const uint32_t width = group * kv_heads * head_dim;
        specs.push_back({group * kv_heads, kv_heads, head_dim, width + 3, uint32_t(round_up(width, 16)), type, type,
                         0.2f, MatmulForm::tile, softcap, window, sinks, alibi, Sight::whole});
    };
    for (uint32_t head_dim : kHeadDims)
        if (fits(DType::F16, head_dim)) add(1, 2, head_dim, DType::F16);
    for (DType type : kCacheTypes) add(3, 1, 64, type);
    for (uint32_t window : {1u, 2u, 3u, 14u, 16u, 17u, 64u, 129u, 512u, 1000u, 1u << 30})
        add(2, 1, 32, DType::F16, window);
    add(1, 6, 32, DType::F16, 0, 8.0f);  // heads whose number is no power of two
    add(1, 4, 32, DType::F32, 100, 8.0f);
    add(2, 2, 32, DType::Q8_0, 33, 0, 3.0f, Presence::present);
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

inline constexpr ElementwiseOp kElementwiseOps[] = {
    ElementwiseOp::add,    ElementwiseOp::scale,    ElementwiseOp::softcap, ElementwiseOp::multiply,
    ElementwiseOp::divide, ElementwiseOp::at_least, ElementwiseOp::at_most, ElementwiseOp::square_root};

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
    // Elements that stand for their rows, as a row of one and among others.
    for (uint32_t width : {1u, 17u, 100u})
        specs.push_back({width,
                         uint32_t(round_up(width, 16)),
                         {{width}, {16, 0}, {48, 33}},
                         {{multiply, 0, 1, 0},
                          {add, 3, 2, 0},
                          {at_least, 4, 0, -0.5f},
                          {square_root, 2, 0, 0},
                          {divide, 5, 0, 0},
                          {add, 6, 5, 0}}});
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

// Channels around a block of 16, and a model's; two taps and more than models have.
inline std::vector<ConvolutionSpec> convolution() {
    std::vector<ConvolutionSpec> specs;
    for (uint32_t channels : {1u, 15u, 16u, 17u, 96u})
        for (uint32_t taps : {2u, 3u, 4u, 9u})
            for (ConvolutionGates gates : {ConvolutionGates::none, ConvolutionGates::both})
                for (Presence silu : {Presence::absent, Presence::present})
                    specs.push_back({channels, taps, silu, gates, silu});
    specs.push_back({48, 4, Presence::absent, ConvolutionGates::none, Presence::present});
    specs.push_back({48, 4, Presence::present, ConvolutionGates::both, Presence::absent});
    return specs;
}

inline std::vector<ScanSpec> scan() {
    return {{1, 1, 16, 1},  {15, 1, 4, 1},  {16, 1, 16, 1},  {40, 1, 16, 1}, {48, 1, 64, 1}, {1, 16, 4, 1},
            {3, 16, 16, 1}, {6, 32, 32, 2}, {4, 64, 128, 1}, {8, 16, 64, 8}, {2, 48, 12, 2}};
}

inline std::vector<DeltaNetSpec> delta_net() {
    std::vector<DeltaNetSpec> specs;
    for (HeadOrder order : {HeadOrder::grouped, HeadOrder::tiled}) {
        specs.push_back({1, 1, 16, 16, order, 1e-6f});
        specs.push_back({2, 4, 32, 32, order, 1e-6f});
        specs.push_back({2, 6, 48, 16, order, 1e-2f});
        specs.push_back({3, 3, 80, 32, order, 1e-6f});
        specs.push_back({1, 2, 128, 128, order, 1e-6f});
    }
    return specs;
}

inline std::vector<WkvSpec> wkv() {
    std::vector<WkvSpec> specs;
    for (WkvRule rule : {WkvRule::v6, WkvRule::v7})
        for (Presence centered : {Presence::absent, Presence::present}) {
            specs.push_back({1, 16, rule, centered});
            specs.push_back({3, 32, rule, centered});
            specs.push_back({2, 64, rule, centered});
            specs.push_back({1, 80, rule, centered});
        }
    return specs;
}

// The specs of all ops.
// One expert and several, as many as fill vectors and not; groups of two experts and of more.
inline std::vector<RouteSpec> route() {
    std::vector<RouteSpec> specs;
    for (const auto& [experts, used] : {std::pair{1u, 1u}, {6u, 3u}, {16u, 16u}, {40u, 17u}, {128u, 8u}, {257u, 6u}})
        for (Scoring scoring : {Scoring::softmax, Scoring::sigmoid, Scoring::softmax_of_chosen, Scoring::sparse_mixer})
            for (Presence bias : {Presence::absent, Presence::present})
                for (Presence normed : {Presence::absent, Presence::present})
                    if (scoring != Scoring::sparse_mixer || bias == Presence::absent)
                        specs.push_back({experts, used, scoring, bias, normed, 1.0f, 1, 1});
    for (const auto& [experts, used, groups, groups_used] :
         {std::array{8u, 3u, 4u, 2u}, {96u, 5u, 3u, 1u}, {256u, 8u, 8u, 4u}, {40u, 4u, 20u, 17u}})
        specs.push_back(
            {experts, used, Scoring::sigmoid, Presence::present, Presence::present, 2.5f, groups, groups_used});
    specs.push_back({40, 17, Scoring::softmax, Presence::absent, Presence::present, 1.0f, 1, 1, Presence::present});
    return specs;
}

inline std::vector<GroupPairsSpec> group_pairs() { return {{1, 1}, {6, 3}, {128, 8}, {40, 40}}; }

inline std::vector<GatherPairsSpec> gather_pairs() {
    std::vector<GatherPairsSpec> specs;
    for (uint32_t width : kWidths)
        for (RowFormat format : kRowFormats) specs.push_back({width, 3, format});
    return specs;
}

inline std::vector<CombineSpec> combine() {
    std::vector<CombineSpec> specs;
    for (uint32_t width : kWidths)
        for (uint32_t used : {1u, 3u, 20u}) {
            specs.push_back({width, used, Presence::absent, Presence::absent});
            specs.push_back({width, used, Presence::present, Presence::absent});
            specs.push_back({width, used, Presence::present, Presence::present});
        }
    return specs;
}

inline std::vector<ExpertMatmulSpec> expert_matmul() {
    std::vector<ExpertMatmulSpec> specs;
    for (const DTypeTraits& type : all_dtypes()) {
        if (!type.is_weight) continue;
        const bool is_block = type.block_elements > 1;
        for (MatmulForm form : {MatmulForm::vector, MatmulForm::tile})
            for (Activations activations : {Activations::i13, Activations::i8}) {
                if (!is_block && activations == Activations::i8) continue;
                const MatmulSpec product{
                    type.type,        40,         is_block ? 512u : 100u, 48, form, Epilogue::store, Presence::present,
                    KOrder::sequence, activations};
                specs.push_back({product, 5, 2, Presence::absent});
                specs.push_back({product, 3, 3, Presence::absent});  // heads: nothing is chosen
            }
    }
    return specs;
}

// Heads side by side and with gaps; parts at their beginning, middle and end.
inline std::vector<SplitHeadsSpec> split_heads() {
    std::vector<SplitHeadsSpec> specs;
    for (RowFormat output : kRowFormats)
        for (const auto& [heads, stride, offset, width] :
             {std::array{1u, 40u, 0u, 40u}, {3u, 64u, 0u, 33u}, {4u, 96u, 32u, 64u}, {2u, 600u, 64u, 512u}})
            specs.push_back({heads, stride, offset, width, uint32_t(round_up(heads * stride, 16)), output});
    return specs;
}

// Every size, one part and several.
inline std::vector<HadamardSpec> hadamard() {
    std::vector<HadamardSpec> specs;
    for (uint32_t size = 16; size <= 512; size *= 2)
        for (const uint32_t parts : {1u, 3u}) specs.push_back({parts * size, size});
    return specs;
}

inline std::vector<JoinHeadsSpec> join_heads() {
    std::vector<JoinHeadsSpec> specs;
    for (const auto& [heads, stride, offset, first_width, width] :
         {std::array{1u, 64u, 0u, 64u, 512u}, {3u, 40u, 7u, 33u, 17u}, {4u, 96u, 64u, 32u, 64u}, {5u, 1u, 0u, 0u, 40u}})
        specs.push_back({heads, stride, offset, first_width, uint32_t(round_up(heads * stride, 16)), width});
    // Rows that have all heads, or none; the same first part for each; first parts alone.
    specs.push_back({3, 40, 7, 33, 128, 17, HeadRows::by_token});
    specs.push_back({4, 0, 5, 16, 32, 48, HeadRows::by_token});
    specs.push_back({3, 40, 0, 40, 128, 24, HeadRows::zeros});
    specs.push_back({4, 64, 0, 40, 256, 0, HeadRows::zeros});
    specs.push_back({1, 0, 48, 16, 112, 0, HeadRows::zeros});
    return specs;
}

inline std::vector<WeighPairsSpec> weigh_pairs() { return {{1, 1}, {48, 3}, {100, 2}, {257, 20}}; }

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
    append(convolution());
    append(scan());
    append(delta_net());
    append(wkv());
    append(reduce());
    append(lif_step());
    append(column_programs());
    append(route());
    append(group_pairs());
    append(gather_pairs());
    append(expert_matmul());
    append(combine());
    append(split_heads());
    append(join_heads());
    append(weigh_pairs());
    append(hadamard());
    return specs;
}

}  // namespace riftjit::kernel_cases
