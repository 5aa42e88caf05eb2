#include "tools/rdna/emulate_arguments.h"

#include <gtest/gtest.h>

#include <cmath>

namespace riftjit::tools {
namespace emulate_arguments_test {

std::string hex(const std::string& scalar) {
    const auto bytes = parse_scalar(scalar);
    if (!bytes) return bytes.error().message;
    std::string text;
    for (const std::byte byte : *bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

TEST(EmulateArguments, ScalarsAreLittleEndianBytesOfTheirType) {
    EXPECT_EQ(hex("u32:7"), "07000000");
    EXPECT_EQ(hex("u8:0xff"), "ff");
    EXPECT_EQ(hex("i16:-2"), "feff");
    EXPECT_EQ(hex("u64:18446744073709551615"), "ffffffffffffffff");
    EXPECT_EQ(hex("f32:1"), "0000803f");
    EXPECT_EQ(hex("f64:-0.5"), "000000000000e0bf");
    EXPECT_EQ(hex("hex:00ff10"), "00ff10");
}

// IEEE 754 binary16: 1 is 3c00, the largest number 7bff, the smallest 0001; a number is rounded once. 1 + 2^-11 is a
// tie that goes to even, and anything above it must not become that tie on its way through f32.
TEST(EmulateArguments, HalvesAreRoundedOnce) {
    EXPECT_EQ(hex("f16:1"), "003c");
    EXPECT_EQ(hex("f16:-65504"), "fffb");
    EXPECT_EQ(hex("f16:5.9604644775390625e-08"), "0100");
    EXPECT_EQ(hex("f16:1.00048828125"), "003c");
    EXPECT_EQ(hex("f16:1.000488281250001"), "013c");
    EXPECT_EQ(hex("f16:-1.000488281250001"), "01bc");
    EXPECT_EQ(hex("f16:1.000488281249999"), "003c");
    EXPECT_EQ(hex("f16:inf"), "007c");
}

TEST(EmulateArguments, RefuseScalarsThatAreNone) {
    EXPECT_EQ(hex("u8:256"), "--scalar u8:256: 256 is out of range, expected 0 to 255");
    EXPECT_EQ(hex("i8:-129"), "--scalar i8:-129: -129 is out of range, expected -128 to 127");
    EXPECT_EQ(hex("u32:-1"), "--scalar u32:-1: expected an integer, got \"-1\"");
    EXPECT_EQ(hex("u32:7x"), "--scalar u32:7x: expected an integer, got \"7x\"");
    EXPECT_EQ(hex("f32:1e99"), "--scalar f32:1e99: 1e99 is out of range");
    EXPECT_EQ(hex("hex:123"), "--scalar hex:123: expected two hex digits a byte, got \"123\"");
    EXPECT_TRUE(hex("7").starts_with("--scalar 7: expected TYPE:VALUE"));
    EXPECT_TRUE(hex("u24:7").starts_with("--scalar u24:7: type \"u24\" is not known"));
}

TEST(EmulateArguments, BuffersAreFilesOrSizes) {
    const auto zero = parse_buffer("zero:3"), undefined = parse_buffer("undefined:4096");
    ASSERT_TRUE(zero && undefined);
    EXPECT_EQ(zero->bytes, std::vector<std::byte>(3));
    EXPECT_TRUE(undefined->is_undefined);
    EXPECT_EQ(undefined->size, 4096u);
    EXPECT_EQ(parse_buffer("zero:x").error().message, "--buffer zero:x: expected a number of bytes up to 17179869184");
    EXPECT_TRUE(parse_buffer("/nowhere/x.bin").error().message.ends_with("/nowhere/x.bin: No such file or directory"));
}

TEST(EmulateArguments, SavedBuffersAreCountedFrom0) {
    const auto saved = parse_saved_buffer("1:y:z.bin", 2);
    ASSERT_TRUE(saved);
    EXPECT_EQ(saved->buffer, 1u);
    EXPECT_EQ(saved->path, "y:z.bin");
    EXPECT_EQ(parse_saved_buffer("2:y", 2).error().message, "--out 2:y: there are 2 buffers, counted from 0");
    EXPECT_EQ(parse_saved_buffer("y", 2).error().message, "--out y: expected N:FILE, N counting buffers from 0");
    EXPECT_EQ(parse_saved_buffer("1:", 2).error().message, "--out 1:: expected N:FILE, N counting buffers from 0");
}

PassedValue scalar(size_t size, unsigned value) {
    PassedValue passed{.bytes = std::vector<std::byte>(size), .is_buffer = false};
    passed.bytes[0] = std::byte(value);
    return passed;
}
PassedValue buffer(unsigned value) {
    PassedValue passed = scalar(8, value);
    passed.is_buffer = true;
    return passed;
}

rdna::LoadedKernel add_kernel() {
    rdna::LoadedKernel kernel{};
    kernel.name = "add";
    kernel.metadata.args = {{.offset = 0, .size = 8, .value_kind = rdna::ValueKind::global_buffer, .name = "a"},
                            {.offset = 8, .size = 1, .value_kind = rdna::ValueKind::by_value, .name = "n"},
                            {.offset = 12, .size = 4, .value_kind = rdna::ValueKind::by_value, .name = "m"},
                            {.offset = 16, .size = 8, .value_kind = rdna::ValueKind::hidden_global_offset_x}};
    return kernel;
}

TEST(EmulateArguments, LieWhereTheMetadataSays) {
    const PassedValue values[] = {buffer(1), scalar(1, 2), scalar(4, 3)};
    const auto bytes = lay_out_arguments(add_kernel(), values);
    ASSERT_TRUE(bytes) << bytes.error().message;
    ASSERT_EQ(bytes->size(), 16u);
    EXPECT_EQ(bytes->at(0), std::byte{1});
    EXPECT_EQ(bytes->at(8), std::byte{2});
    EXPECT_EQ(bytes->at(12), std::byte{3});
}

TEST(EmulateArguments, RefuseWhatTheKernelDoesNotTake) {
    const std::string takes = "kernel add takes --buffer a, --scalar n (1 byte), --scalar m (4 bytes); ";
    const PassedValue too_few[] = {buffer(1)};
    EXPECT_EQ(lay_out_arguments(add_kernel(), too_few).error().message, takes + "1 are given");
    const PassedValue wrong_size[] = {buffer(1), scalar(2, 2), scalar(4, 3)};
    EXPECT_EQ(lay_out_arguments(add_kernel(), wrong_size).error().message, takes + "argument 1 is a scalar of 2 bytes");
    const PassedValue no_buffer[] = {scalar(8, 1), scalar(1, 2), scalar(4, 3)};
    EXPECT_EQ(lay_out_arguments(add_kernel(), no_buffer).error().message, takes + "argument 0 is a scalar of 8 bytes");
}

TEST(EmulateArguments, FollowEachOtherWithoutMetadata) {
    rdna::LoadedKernel kernel{};
    kernel.name = "plain";
    kernel.descriptor.kernarg_bytes = 16;
    const PassedValue values[] = {scalar(1, 1), scalar(4, 2), buffer(3)};
    const auto bytes = lay_out_arguments(kernel, values);
    ASSERT_TRUE(bytes) << bytes.error().message;
    ASSERT_EQ(bytes->size(), 16u);
    EXPECT_EQ(bytes->at(4), std::byte{2});
    EXPECT_EQ(bytes->at(8), std::byte{3});
    const PassedValue too_many[] = {buffer(1), buffer(2), scalar(1, 3)};
    EXPECT_EQ(lay_out_arguments(kernel, too_many).error().message,
              "kernel plain takes 16 bytes of arguments (.kernarg_size), 17 are given");
}

}  // namespace emulate_arguments_test
}  // namespace riftjit::tools
