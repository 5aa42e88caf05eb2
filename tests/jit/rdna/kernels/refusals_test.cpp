#include <gtest/gtest.h>

#include "tests/jit/rdna/kernels/samples/all_kernels.h"

namespace riftjit::rdna::kernels {
namespace refusals_test {

constexpr KernelTarget kWave32 = {Target::gfx1100, WaveSize::wave32}, kWave64 = {Target::gfx1100, WaveSize::wave64};

std::string message(const Result<KernelProgram>& result) { return result ? "" : result.error().message; }

TEST(KernelRefusals, NameAWorkgroupThatIsNoPowerOfTwoOfWholeWaves) {
    EXPECT_EQ(message(vector_add(kWave32, {.group_lanes = 96})),
              "vector_add: 96 lanes in a workgroup are not a power of two from 32 to 1024");
    EXPECT_EQ(message(vector_add(kWave64, {.group_lanes = 32})),
              "vector_add: 32 lanes in a workgroup are not a power of two from 64 to 1024");
    EXPECT_EQ(message(softmax(kWave32, {.width = 2048, .group_lanes = 2048})),
              "softmax: 2048 lanes in a workgroup are not a power of two from 32 to 1024");
    EXPECT_EQ(message(gemv_q8(kWave64, {.rows_per_group = 3})),
              "gemv_q8: 192 lanes in a workgroup are not a power of two from 64 to 1024");
    EXPECT_EQ(message(reverse_copy(kWave32, {.group_lanes = 0})),
              "reverse_copy: 0 lanes in a workgroup are not a power of two from 32 to 1024");
}

TEST(KernelRefusals, NameASizeThatIsNoMultiple) {
    EXPECT_EQ(message(softmax(kWave32, {.width = 0})), "softmax: width 0 is not a multiple of 128");
    EXPECT_EQ(message(gemv_q8(kWave32, {.columns = 48})), "gemv_q8: column count 48 is not a multiple of 32");
    EXPECT_EQ(message(matmul_f16(kWave32, {.m = 48})), "matmul_f16: row count m 48 is not a multiple of 32");
    EXPECT_EQ(message(matmul_f16(kWave32, {.n = 48})), "matmul_f16: column count n 48 is not a multiple of 32");
    EXPECT_EQ(message(matmul_f16(kWave32, {.k = 24})), "matmul_f16: depth k 24 is not a multiple of 16");
    EXPECT_EQ(message(transpose(kWave32, {.rows = 33})), "transpose: row count 33 is not a multiple of 32");
    EXPECT_EQ(message(transpose(kWave32, {.columns = 33})), "transpose: column count 33 is not a multiple of 32");
    EXPECT_EQ(message(dot_f64(kWave32, {.count = 100})), "dot_f64: element count 100 is not a multiple of 256");
}

TEST(KernelRefusals, NameASizeThatIsTooLarge) {
    EXPECT_EQ(message(softmax(kWave32, {.width = 128 * 17})), "softmax: elements per lane 17 is not within 1 to 16");
    EXPECT_EQ(message(argmax(kWave32, {.width = 0})), "argmax: width 0 is not within 1 to 1073741824");
    EXPECT_EQ(message(matmul_f16(kWave32, {.m = 65536, .n = 32768})),
              "matmul_f16: bytes of a matrix 8589934592 is not within 1 to 4294967296");
    EXPECT_EQ(message(transpose(kWave32, {.rows = 65536, .columns = 32768})),
              "transpose: bytes 8589934592 is not within 1 to 4294967296");
    EXPECT_EQ(message(histogram(kWave32, {.rounds = 0})), "histogram: rounds 0 is not within 1 to 1048576");
    EXPECT_EQ(message(grid_barrier(kWave32, {.phases = 65})), "grid_barrier: phases 65 is not within 1 to 64");
    EXPECT_EQ(message(reverse_copy(kWave32, {.chunks = 65})), "reverse_copy: chunks 65 is not within 1 to 64");
}

TEST(KernelRefusals, NameGroupsThatAreNoPowerOfTwo) {
    EXPECT_EQ(message(grid_barrier(kWave32, {.groups = 6})), "grid_barrier: 6 groups are not a power of two");
}

TEST(KernelRefusals, SayThatMatrixTilesNeedWavesOf32) {
    EXPECT_EQ(message(matmul_f16(kWave64, {})), "matmul_f16: only for waves of 32 lanes");
}

// --- ops of jit/kernel_spec.h

std::string refusal(const KernelSpec& spec, KernelTarget target = kWave32) {
    const std::string text = message(kernel_program(target, spec));
    const auto shape = launch_shape(target, spec);
    EXPECT_EQ(shape ? "" : shape.error().message, text) << "what is supported is what can be assembled";
    EXPECT_TRUE(shape || shape.error().kind == ErrorKind::Unsupported);
    return text;
}

template <class Spec, class T>
Spec with(Spec spec, T Spec::* field, T value) {
    spec.*field = value;
    return spec;
}

TEST(KernelRefusals, NameAnOpThatHasNoKernel) {
    EXPECT_EQ(refusal(ReduceSpec{ReduceKind::argmax, 256}), "gfx1100: no kernel for reduce argmax over 256");
    EXPECT_EQ(refusal(ConvolutionSpec{64, 4, Presence::present, ConvolutionGates::none, Presence::present}),
              "gfx1100: no kernel for convolution 64 channels, 4 taps, bias, silu");
    EXPECT_EQ(refusal(ScanSpec{4, 64, 128, 1}), "gfx1100: no kernel for scan 4 heads of 64, 128 states each, 1 groups");
    EXPECT_EQ(refusal(DeltaNetSpec{2, 4, 128, 128, HeadOrder::tiled, 1e-6f}),
              "gfx1100: no kernel for delta_net 4 heads of 128x128 on 2, tiled");
    EXPECT_EQ(refusal(HadamardSpec{256, 64}), "gfx1100: no kernel for hadamard 256 in parts of 64");
}

TEST(KernelRefusals, NameTypesOfACacheThatNoKernelHas) {
    for (const DType type : kCacheTypes) {
        const bool is_known = type == DType::F16 || type == DType::F32 || type == DType::Q8_0;
        const auto told = [&](std::string_view op) {
            if (is_known) return std::string();
            return fmt::format("gfx1100: {}: no kernel for a cache of {}, only of f16, f32 and q8_0", op, name(type));
        };
        EXPECT_EQ(refusal(with(value_store_spec(4), &ValueStoreSpec::cache_type, type)), told("value_store"));
        EXPECT_EQ(refusal(with(rope_keys_spec(4), &RopeSpec::key_cache, std::optional(type))), told("rope"));
        const AttentionSpec attention = attention_spec(MatmulForm::vector);
        EXPECT_EQ(refusal(with(attention, &AttentionSpec::key_type, type)), told("attention"));
        EXPECT_EQ(refusal(with(attention, &AttentionSpec::value_type, type)), told("attention"));
    }
}

TEST(KernelRefusals, NameWhatOfAnOpNoKernelDoes) {
    EXPECT_EQ(refusal(rms_norm_spec(1000)), "");
    EXPECT_EQ(refusal(rms_norm_i16_spec()), "");
    EXPECT_EQ(refusal(with(rms_norm_i16_spec(), &RmsNormSpec::output, RowFormat::i16_bf16)),
              "gfx1100: rms_norm: no kernel for rows that are neither f32 nor i16");
    EXPECT_EQ(refusal(with(layer_norm_spec(128), &LayerNormSpec::output, RowFormat::i16_bytes)),
              "gfx1100: layer_norm: no kernel for rows that are neither f32 nor i16");
    EXPECT_EQ(refusal(with(swiglu_spec(128), &SwigluSpec::output, RowFormat::bf16)),
              "gfx1100: swiglu: no kernel for rows that are neither f32 nor i16");
    EXPECT_EQ(refusal(with(quantize_spec(), &QuantizeSpec::output, RowFormat::bf16)),
              "gfx1100: quantize: no kernel for rows that are neither f32 nor i16");
    EXPECT_EQ(refusal(rope_spec(2, 128, 256)), "");
    EXPECT_EQ(refusal(with(rope_spec(2, 128, 256), &RopeSpec::own_gains, Presence::present)),
              "gfx1100: rope: no kernel for gains of each head's own");
    EXPECT_EQ(refusal(value_store_spec(2)), "");
    AttentionSpec attention = attention_spec(MatmulForm::tile);
    EXPECT_EQ(refusal(attention), "");
    EXPECT_EQ(refusal(with(attention, &AttentionSpec::sight, Sight::whole)),
              "gfx1100: attention: no kernel for queries that see what follows them");
    attention.head_dim = attention.q_stride = attention.out_stride = 2048;
    attention.heads = attention.kv_heads = 1;
    EXPECT_EQ(refusal(attention), "gfx1100: attention: no kernel for heads of 2048, more than 1024");
}

TEST(KernelRefusals, NameWavesOf64) {
    const std::pair<KernelSpec, std::string> ops[] = {
        {rms_norm_spec(128), "rms_norm"},
        {layer_norm_spec(128), "layer_norm"},
        {swiglu_spec(128), "swiglu"},
        {quantize_spec(), "quantize"},
        {gather_rows_spec(), "gather_rows"},
        {elementwise_spec(), "elementwise"},
        {rope_spec(1, 64, 64), "rope"},
        {value_store_spec(1), "value_store"},
        {attention_spec(MatmulForm::vector), "attention"},
    };
    for (const auto& [spec, name] : ops)
        EXPECT_EQ(refusal(spec, kWave64), "gfx1100: " + name + ": no kernel for waves of 64 lanes");
}

}  // namespace refusals_test
}  // namespace riftjit::rdna::kernels
