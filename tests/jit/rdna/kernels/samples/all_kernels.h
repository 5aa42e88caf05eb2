// The project's kernels and the samples in one list.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "jit/rdna/kernels/kernels.h"
#include "tests/jit/rdna/kernels/samples/samples.h"

namespace riftjit::rdna::kernels {

// What the project's kernels do of their ops.
inline RmsNormSpec rms_norm_spec(uint32_t width) {
    return {width, 1e-5f, Presence::present, Addend::none, RowFormat::f32};
}
// A residual before it and codes behind it; the last wave has no block.
inline RmsNormSpec rms_norm_i16_spec() { return {576, 1e-5f, Presence::present, Addend::residual, RowFormat::i16}; }
inline LayerNormSpec layer_norm_spec(uint32_t width) { return {width, 1e-5f, Presence::present, RowFormat::f32}; }
inline SwigluSpec swiglu_spec(uint32_t width) { return {width, width, RowFormat::f32}; }
inline SwigluSpec swiglu_i16_spec() { return {270, 541, RowFormat::i16}; }  // of rows whose end is not aligned
inline SwigluSpec activation_spec() {                                       // of a gate alone
    return {270, 271, RowFormat::i16, Activation::gelu_erf, Presence::absent};
}
inline QuantizeSpec quantize_spec() { return {2310, RowFormat::i16}; }  // two workgroups
inline GatherRowsSpec gather_rows_spec() { return {130}; }
inline ElementwiseSpec elementwise_spec() {  // (a / 2 + b) + bias
    return {100,
            112,
            {{101}, {112}, {0}},
            {{ElementwiseOp::scale, 0, 0, 0.5f}, {ElementwiseOp::add, 3, 1, 0}, {ElementwiseOp::add, 4, 2, 0}}};
}
// clamp(softcap(sqrt(a * a)) / divisor), times one element of each row of b
inline ElementwiseSpec elementwise_chain_spec() {
    return {100,
            112,
            {{101}, {112, 7}, {0}},
            {{ElementwiseOp::multiply, 0, 0, 0},
             {ElementwiseOp::square_root, 3, 0, 0},
             {ElementwiseOp::softcap, 4, 0, 2.5f},
             {ElementwiseOp::divide, 5, 2, 0},
             {ElementwiseOp::at_least, 6, 0, 0.25f},
             {ElementwiseOp::at_most, 7, 0, 3.0f},
             {ElementwiseOp::multiply, 8, 1, 0}}};
}
inline RopeSpec rope_spec(uint32_t heads, uint32_t head_dim, uint32_t row_stride) {
    return {heads, head_dim, head_dim, row_stride, RopePairing::half, Presence::absent, 0, std::nullopt};
}
inline RopeSpec rope_keys_spec(uint32_t heads) {
    return {heads, 64, 48, heads * 64, RopePairing::adjacent, Presence::present, 1e-5f, DType::Q8_0};
}
inline ValueStoreSpec value_store_spec(uint32_t heads) { return {heads, 64, heads * 64, DType::Q8_0}; }
inline AttentionSpec attention_spec(MatmulForm form) {
    if (form == MatmulForm::tile) return {4, 2, 32, 128, 128, DType::F16, DType::Q8_0, 0.2f, form};
    return {4, 2, 64, 256, 256, DType::F16, DType::Q8_0, 0.05f, form};  // whose waves exchange all that they can
}
// The same with all that scores may undergo, in a window or in chunks.
inline AttentionSpec narrow_attention_spec(MatmulForm form) {
    AttentionSpec spec = attention_spec(form);
    spec.softcap = 4;
    spec.alibi = 4;
    spec.sinks = Presence::present;
    (form == MatmulForm::tile ? spec.chunk : spec.window) = form == MatmulForm::tile ? 128 : 300;
    return spec;
}
// More steps than a workgroup has waves, of which the last is short and of a wave that has had another; two panels, of
// which the last has rows that there are not.
inline MatmulSpec matmul_spec(Epilogue epilogue = Epilogue::store) {
    return {DType::Q8_0, 40, 9 * 256 + 32, 48, MatmulForm::vector, epilogue, Presence::absent};
}
inline MatmulSpec matmul_minima_spec() {
    return {DType::Q4_K, 32, 512, 32, MatmulForm::vector, Epilogue::accumulate, Presence::present};
}
inline MatmulSpec matmul_tile_spec() {
    return {DType::Q4_K, 40, 512, 48, MatmulForm::tile, Epilogue::store, Presence::present};
}
inline MatmulSpec matmul_float_spec() {
    return {DType::F16, 40, 71, 48, MatmulForm::tile, Epilogue::accumulate, Presence::absent};
}
inline EmbedSpec embed_spec() { return {DType::Q4_K, 768}; }
inline FusedMatmulSpec fused_matmul_spec() {
    return {matmul_spec(Epilogue::accumulate), RowSource::quantize, 0, Presence::absent, Gating::none};
}
inline FusedMatmulSpec gated_matmul_spec() {
    return {{DType::Q4_K, 32, 512, 32, MatmulForm::vector, Epilogue::store, Presence::absent},
            RowSource::rms_norm,
            1e-5f,
            Presence::present,
            Gating::silu};
}
inline HighestSpec highest_spec() { return {300, HighestStage::whole}; }  // whose last wave has no element
inline HighestSpec highest_parts_spec() { return {kHighestPart + 700, HighestStage::parts}; }
inline HighestSpec highest_merge_spec() { return {kHighestPart + 700, HighestStage::merge}; }
inline SideBySideSpec side_by_side_spec() { return {{matmul_spec(), rope_spec(2, 64, 128)}}; }

// Every kernel with a spec, for tests that go over all of them.
struct KernelEntry {
    std::string_view name;
    bool runs_in_wave64;
    std::function<Result<KernelProgram>(KernelTarget, PassOptions)> assemble;
};
std::span<const KernelEntry> all_kernels();

}  // namespace riftjit::rdna::kernels
