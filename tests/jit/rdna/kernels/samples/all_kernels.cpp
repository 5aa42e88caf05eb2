#include "tests/jit/rdna/kernels/samples/all_kernels.h"

#include <vector>

namespace riftjit::rdna::kernels {
namespace {

template <class Spec>
KernelEntry entry(std::string_view name, Result<KernelProgram> (*assemble)(KernelTarget, const Spec&, PassOptions),
                  bool runs_in_wave64 = true) {
    return {name, runs_in_wave64,
            [assemble](KernelTarget target, PassOptions options) { return assemble(target, Spec{}, options); }};
}

KernelEntry entry(std::string_view name, const KernelSpec& spec, bool runs_in_wave64 = true) {
    return {name, runs_in_wave64,
            [spec](KernelTarget target, PassOptions options) { return kernel_program(target, spec, options); }};
}

}  // namespace

std::span<const KernelEntry> all_kernels() {
    static const std::vector<KernelEntry> kKernels = {
        entry("vector_add", vector_add),
        entry("swiglu", swiglu_spec(256), false),
        entry("swiglu_i16", swiglu_i16_spec(), false),
        entry("activation", activation_spec(), false),
        entry("rms_norm", rms_norm_spec(1024), false),
        entry("rms_norm_i16", rms_norm_i16_spec(), false),
        entry("layer_norm", layer_norm_spec(600), false),
        entry("quantize", quantize_spec(), false),
        entry("gather_rows", gather_rows_spec(), false),
        entry("elementwise", elementwise_spec(), false),
        entry("elementwise_chain", elementwise_chain_spec(), false),
        entry("rope", rope_spec(3, 128, 384), false),
        entry("rope_keys", rope_keys_spec(2), false),
        entry("value_store", value_store_spec(2), false),
        entry("attention", attention_spec(MatmulForm::vector), false),
        entry("attention_tile", attention_spec(MatmulForm::tile), false),
        entry("narrow_attention", narrow_attention_spec(MatmulForm::vector), false),
        entry("narrow_attention_tile", narrow_attention_spec(MatmulForm::tile), false),
        entry("matmul", matmul_spec(), false),
        entry("matmul_minima", matmul_minima_spec(), false),
        entry("matmul_tile", matmul_tile_spec(), false),
        entry("matmul_float", matmul_float_spec(), false),
        entry("embed", embed_spec(), false),
        entry("fused_matmul", fused_matmul_spec(), false),
        entry("gated_matmul", gated_matmul_spec(), false),
        entry("side_by_side", side_by_side_spec(), false),
        entry("highest", highest_spec(), false),
        entry("highest_parts", highest_parts_spec(), false),
        entry("highest_merge", highest_merge_spec(), false),
        entry("softmax", softmax),
        entry("argmax", argmax),
        entry("gemv_q8", gemv_q8),
        entry("matmul_f16", matmul_f16, false),
        entry("transpose", transpose),
        entry("histogram", histogram),
        entry("grid_barrier", grid_barrier),
        entry("reverse_copy", reverse_copy),
        entry("dot_f64", dot_f64),
    };
    return kKernels;
}

}  // namespace riftjit::rdna::kernels
