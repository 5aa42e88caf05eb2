#include "jit/x86/backend.h"

#include <gtest/gtest.h>

#include "jit/x86/kv_layout.h"

namespace riftjit::x86 {
namespace backend_test {

TEST(BackendX86, ChecksTheSpecBeforeItGenerates) {
    const auto object = compile(QuantizeSpec{0, RowFormat::i16}, Isa::avx512);
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(object.error().message, "quantize: width 0");
}

TEST(BackendX86, TurnsWhatAnEmitterThrowsIntoAnError) {
    // 32768 rows do not fit the stack, which only the generator knows.
    const AttentionSpec spec{4096, 1, 256, 1 << 20, 1 << 20, DType::F16, DType::F16, 1.0f, MatmulForm::tile};
    const auto object = compile(spec, Isa::avx2);
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().kind, ErrorKind::Encoding);
    EXPECT_EQ(object.error().message,
              kernel_name(spec) + " for avx2: 32768 rows of head_dim 256 need more than 1048576 bytes of stack");
}

TEST(BackendX86, NamesTheObjectAfterTheKernelAndTheLevel) {
    const SwigluSpec spec{100, 200, RowFormat::f32};
    for (Isa isa : all_isas()) {
        const auto object = compile(spec, isa);
        ASSERT_TRUE(object) << object.error().message;
        EXPECT_EQ(object->name, kernel_name(spec));
        EXPECT_TRUE(object->target == isa);
        const auto read = read_x86_object(object->elf);
        ASSERT_TRUE(read);
        EXPECT_EQ(read->name, kernel_name(spec));
    }
}

TEST(BackendX86, ReadsActivationsInTheFormatOfTheWeight) {
    for (Isa isa : all_isas()) {
        EXPECT_EQ(backend(isa).activation_format(DType::F32, Activations::i13), RowFormat::f32);
        EXPECT_EQ(backend(isa).activation_format(DType::F16, Activations::i13), RowFormat::f32);
        const bool has_digits = isa == Isa::amx_int8;
        for (const DType type : {DType::Q4_K, DType::TQ1_0})
            EXPECT_EQ(backend(isa).activation_format(type, Activations::i13),
                      has_digits ? RowFormat::i16_bytes : RowFormat::i16);
        EXPECT_EQ(backend(isa).activation_format(DType::Q8_0, Activations::i13),
                  has_digits ? RowFormat::i16_bf16 : RowFormat::i16);
        EXPECT_EQ(backend(isa).activation_format(DType::NVFP4, Activations::i13), RowFormat::i16);
        EXPECT_EQ(backend(isa).activation_format(DType::BF16, Activations::i13),
                  has_bf16(isa) ? RowFormat::bf16 : RowFormat::f32);
    }
}

TEST(BackendX86, RefusesAnOrderOfAdditionsThatItsMatmulsDoNotHave) {
    MatmulSpec spec{DType::F32, 16, 64, 16, MatmulForm::vector, Epilogue::store, Presence::absent};
    EXPECT_TRUE(backend(Isa::avx2).supports(spec));
    spec.order = KOrder::lanes64;
    const auto object = compile(spec, Isa::avx2);
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().kind, ErrorKind::Unsupported);
    EXPECT_EQ(object.error().message, "x86_64-avx2: no kernel for matmul f32 16x64, vector form, sums in lanes64");
}

TEST(KvLayout, SizesPagesOfKeysAndValues) {
    EXPECT_EQ(key_panel_bytes(DType::F16, 128), 16u * 128 * 2);
    EXPECT_EQ(key_panel_bytes(DType::F32, 128), 16u * 128 * 4);
    EXPECT_EQ(key_panel_bytes(DType::Q8_0, 128), 16u * 128 + (128 / 32) * 16 * 2);  // codes, then f16 scales
    EXPECT_EQ(value_row_bytes(DType::F16, 128), 128u * 2);
    EXPECT_EQ(value_row_bytes(DType::Q8_0, 128), 128u + (128 / 32) * 2);
    // Pages of 256 positions.
    for (Isa isa : all_isas()) {
        EXPECT_EQ(backend(isa).key_page_bytes(DType::F16, 8, 128), 256u * 8 * 128 * 2);
        EXPECT_EQ(backend(isa).value_page_bytes(DType::Q8_0, 3, 64), 256u * 3 * (64 + 4));
    }
}

}  // namespace backend_test
}  // namespace riftjit::x86
