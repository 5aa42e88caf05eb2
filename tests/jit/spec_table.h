// One spec per op, and for every field a variation that differs in that field alone: what keys and names must tell
// apart.
#pragma once

#include <vector>

#include "jit/kernel_spec.h"

namespace riftjit {

inline const EmbedSpec kEmbed{DType::Q4_K, 1024};
inline const RmsNormSpec kRmsNorm{1024, 1e-6f, Presence::present, Addend::none, RowFormat::i16, RowRange::all};
inline const QuantizeSpec kQuantize{1024, RowFormat::i16};
inline const MatmulSpec kMatmul{DType::Q4_K, 4096, 4096, 4096, MatmulForm::vector, Epilogue::store, Presence::absent};
inline const RopeSpec kRope{16, 128, 128, 2048, RopePairing::half, Presence::absent, 1e-6f, DType::F16};
inline const ValueStoreSpec kValueStore{8, 128, 1024, DType::F16};
inline const AttentionSpec kAttention{16, 8, 128, 2048, 2048, DType::F16, DType::F16, 0.125f, MatmulForm::vector};
inline const SwigluSpec kSwiglu{3072, 6144, RowFormat::i16};
inline const ElementwiseSpec kElementwise{
    1024, 1024, {{1024}, {0}}, {{ElementwiseOp::add, 0, 1, 0.0f}, {ElementwiseOp::scale, 2, 0, 2.0f}}};
inline const ReduceSpec kReduce{ReduceKind::argmax, 151936};

// Column 0 += draw 1 * scalar 1, and fires where that reaches 1.
inline const ColumnProgramSpec kColumnProgram{Precision::f64,
                                              2,
                                              {ColumnType::f64, ColumnType::u8},
                                              {{ColumnOp::load},
                                               {ColumnOp::uniform, 0, 0, 0, 1},
                                               {ColumnOp::scalar, 0, 0, 0, 1},
                                               {ColumnOp::fused_multiply_add, 1, 2, 0},
                                               {ColumnOp::constant, 0, 0, 0, 0, 1.0},
                                               {ColumnOp::less_equal, 4, 3},
                                               {ColumnOp::store, 3},
                                               {ColumnOp::fire, 5}}};

inline std::vector<KernelSpec> valid_specs() {
    return {kEmbed,     kRmsNorm, kQuantize,    kMatmul, kRope,         kValueStore,
            kAttention, kSwiglu,  kElementwise, kReduce, kColumnProgram};
}

template <class Spec, class Change>
Spec with(Spec spec, Change change) {
    change(spec);
    return spec;
}

// Every spec of the table is distinct. Not all are valid: keys must not collide even for what is refused.
inline std::vector<KernelSpec> distinct_specs() {
    std::vector<KernelSpec> specs = valid_specs();
    const auto vary = [&](const auto& base, auto... changes) { (specs.push_back(with(base, changes)), ...); };
    vary(kEmbed, [](auto& s) { s.weight = DType::Q5_K; }, [](auto& s) { s.width = 2048; });
    vary(
        kRmsNorm, [](auto& s) { s.width = 1040; }, [](auto& s) { s.epsilon = 1e-5f; },
        [](auto& s) { s.gain = Presence::absent; }, [](auto& s) { s.addend = Addend::residual; },
        [](auto& s) { s.output = RowFormat::f32; }, [](auto& s) { s.output = RowFormat::bf16; },
        [](auto& s) { s.rows = RowRange::last; });
    vary(kQuantize, [](auto& s) { s.width = 1040; }, [](auto& s) { s.output = RowFormat::bf16; });
    vary(
        kMatmul, [](auto& s) { s.weight = DType::Q6_K; }, [](auto& s) { s.rows = 4095; },
        [](auto& s) { s.width = 8192; }, [](auto& s) { s.out_stride = 8192; },
        [](auto& s) { s.form = MatmulForm::tile; }, [](auto& s) { s.epilogue = Epilogue::accumulate; },
        [](auto& s) { s.bias = Presence::present; });
    vary(
        kRope, [](auto& s) { s.heads = 8; }, [](auto& s) { s.head_dim = 64; }, [](auto& s) { s.rotary_dims = 64; },
        [](auto& s) { s.row_stride = 4096; }, [](auto& s) { s.pairing = RopePairing::adjacent; },
        [](auto& s) { s.norm = Presence::present; }, [](auto& s) { s.epsilon = 1e-5f; },
        [](auto& s) { s.key_cache.reset(); }, [](auto& s) { s.key_cache = DType::Q8_0; });
    vary(
        kValueStore, [](auto& s) { s.kv_heads = 4; }, [](auto& s) { s.head_dim = 64; },
        [](auto& s) { s.row_stride = 2048; }, [](auto& s) { s.cache_type = DType::F32; });
    vary(
        kAttention, [](auto& s) { s.heads = 32; }, [](auto& s) { s.kv_heads = 4; }, [](auto& s) { s.head_dim = 64; },
        [](auto& s) { s.q_stride = 4096; }, [](auto& s) { s.out_stride = 4096; },
        [](auto& s) { s.key_type = DType::F32; }, [](auto& s) { s.value_type = DType::F32; },
        [](auto& s) { s.scale = 0.25f; }, [](auto& s) { s.form = MatmulForm::tile; });
    vary(
        kSwiglu, [](auto& s) { s.width = 3088; }, [](auto& s) { s.in_stride = 3072; },
        [](auto& s) { s.output = RowFormat::f32; });
    vary(
        kElementwise, [](auto& s) { s.width = 1008; }, [](auto& s) { s.out_stride = 2048; },
        [](auto& s) { s.inputs[1].row_stride = 1024; }, [](auto& s) { s.inputs.push_back({0}); },
        [](auto& s) { s.steps.pop_back(); }, [](auto& s) { s.steps[0].op = ElementwiseOp::scale; },
        [](auto& s) { s.steps[0].left = 1; }, [](auto& s) { s.steps[0].right = 0; },
        [](auto& s) { s.steps[1].constant = 3.0f; });
    vary(kReduce, [](auto& s) { s.kind = ReduceKind::collect_above; }, [](auto& s) { s.width = 151935; });
    vary(
        kColumnProgram, [](auto& s) { s.precision = Precision::f32; }, [](auto& s) { s.scalars = 3; },
        [](auto& s) { s.columns[1] = ColumnType::u16; }, [](auto& s) { s.columns.pop_back(); },
        [](auto& s) { s.steps.pop_back(); }, [](auto& s) { s.steps[1].op = ColumnOp::normal; },
        [](auto& s) { s.steps[3].a = 2; }, [](auto& s) { s.steps[3].b = 1; }, [](auto& s) { s.steps[3].c = 2; },
        [](auto& s) { s.steps[1].index = 2; }, [](auto& s) { s.steps[4].number = 2.0; });
    return specs;
}

}  // namespace riftjit
