#include "jit/rdna/object/metadata.h"

#include "tests/jit/rdna/object/code_object_cases.h"

namespace riftjit::rdna {
namespace metadata_test {

using namespace test;

KernelMetadata full_kernel() {
    KernelMetadata kernel;
    kernel.name = std::string(300, 'n');
    kernel.symbol = kernel.name + ".kd";
    for (uint32_t i = 0; i < 300; ++i)
        kernel.args.push_back(
            {.offset = 8 * i,
             .size = 8,
             .value_kind = static_cast<ValueKind>(i % 31),
             .address_space = i % 7 == 6 ? std::nullopt : std::optional(static_cast<AddressSpace>(i % 7)),
             .name = std::string(i % 40, 'a'),
             .others = {{".is_const", {true}}, {".type_name", {std::string("float*")}}}});
    kernel.kernarg_bytes = 2400;
    kernel.lds_bytes = 65536;
    kernel.scratch_bytes = 127;
    kernel.wave_size = WaveSize::wave64;
    kernel.sgpr_count = 128;
    kernel.vgpr_count = 255;
    kernel.max_flat_workgroup_size = 1024;
    kernel.sgpr_spill_count = 256;
    kernel.vgpr_spill_count = 65535;
    kernel.uses_dynamic_stack = true;
    kernel.workgroup_processor_mode = false;
    kernel.uniform_work_group_size = true;
    kernel.required_workgroup_size = {8, 4, 2};
    kernel.others = {
        {".language_version", {MetadataValue::Array{{uint64_t{2}}, {uint64_t{0}}}}},
        {".later",
         {MetadataValue::Map{
             {"below", {int64_t{-3}}}, {"empty", {MetadataValue::Map{}}}, {"half", {0.5}}, {"none", {}}}}}};
    return kernel;
}

TEST(Metadata, SurviveWritingAndReading) {
    const Metadata metadata{CodeObjectVersion::v5,
                            "amdgcn-amd-amdhsa--gfx1100",
                            std::vector(20, full_kernel()),
                            {{"amdhsa.printf", {MetadataValue::Array{{std::string("1:1:4:%d; 'x'\n")}}}}}};
    const auto again = read_metadata(write_metadata(metadata));
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(*again, metadata);
}

TEST(Metadata, NameEveryKindAndSpaceOnce) {
    for (uint32_t i = 0; i < 31; ++i) EXPECT_EQ(value_kind_from_name(name(ValueKind(i))), ValueKind(i));
    for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(address_space_from_name(name(AddressSpace(i))), AddressSpace(i));
    EXPECT_FALSE(value_kind_from_name("hidden").has_value());
}

// Writes the smallest MsgPack: maps and arrays below 16 entries, strings below 32 bytes, numbers below 128 or of 16
// bits.
class Packed {
public:
    Packed& map(size_t entries) { return byte(0x80 + entries); }
    Packed& array(size_t entries) { return byte(0x90 + entries); }
    Packed& number(size_t value) { return value < 128 ? byte(value) : byte(0xCD).byte(value >> 8).byte(value & 0xFF); }
    Packed& text(std::string_view text) {
        byte(0xA0 + text.size());
        for (char c : text) byte(static_cast<uint8_t>(c));
        return *this;
    }
    Packed& byte(size_t value) {
        bytes_.push_back(std::byte(static_cast<uint8_t>(value)));
        return *this;
    }
    std::string error() const {
        const auto metadata = read_metadata(bytes_);
        return metadata ? "no error" : metadata.error().message;
    }

private:
    std::vector<std::byte> bytes_;
};

constexpr std::pair<std::string_view, uint32_t> kRequiredNumbers[] = {{".kernarg_segment_size", 8},
                                                                      {".kernarg_segment_align", 8},
                                                                      {".group_segment_fixed_size", 0},
                                                                      {".private_segment_fixed_size", 0},
                                                                      {".wavefront_size", 32},
                                                                      {".sgpr_count", 4},
                                                                      {".vgpr_count", 4},
                                                                      {".max_flat_workgroup_size", 256}};

// One kernel with an unknown key, `changed` (if not empty) set to another value or left out.
enum class Change : uint8_t { leave_out, set };
std::string error_with(std::string_view changed, Change change = Change::leave_out, uint32_t value = 0) {
    Packed packed;
    packed.map(2).text("amdhsa.version").array(2).number(1).number(2).text("amdhsa.kernels").array(1);
    packed.map(changed.empty() || change == Change::set ? 11 : 10).text(".from_the_future").array(1).map(0);
    for (const auto& [key, text] : {std::pair(".name", "k"), std::pair(".symbol", "k.kd")})
        if (key != changed) packed.text(key).text(text);
    for (const auto& [key, number] : kRequiredNumbers)
        if (key != changed)
            packed.text(key).number(number);
        else if (change == Change::set)
            packed.text(key).number(value);
    return packed.error();
}

TEST(Metadata, MayHoldKeysThatAreNotKnown) { EXPECT_EQ(error_with(""), "no error"); }

TEST(Metadata, NameTheRequiredKeyThatIsAbsent) {
    EXPECT_EQ(error_with(".name"), "metadata: kernel 0: .name is absent");
    EXPECT_EQ(error_with(".symbol"), "metadata: kernel \"k\": .symbol is absent");
    for (const auto& [key, value] : kRequiredNumbers)
        EXPECT_EQ(error_with(key), fmt::format("metadata: kernel \"k\": {} is absent", key));
}

TEST(Metadata, NameValuesThatCannotBe) {
    EXPECT_TRUE(has_text(error_with(".wavefront_size", Change::set, 16), ".wavefront_size 16 is neither 32 nor 64"));
    EXPECT_TRUE(has_text(error_with(".max_flat_workgroup_size", Change::set, 2048), "2048 is not 1 to 1024"));
    EXPECT_TRUE(has_text(error_with(".kernarg_segment_align", Change::set, 3), "3 is not a power of two"));
    EXPECT_EQ(Packed().error(), "metadata: 0 bytes are not MsgPack: insufficient bytes");
    EXPECT_EQ(Packed().number(3).error(), "metadata: not a map");
    EXPECT_EQ(Packed().map(0).error(), "metadata: amdhsa.version is absent");
    EXPECT_EQ(Packed().map(0).byte(0).error(), "metadata: 1 bytes follow the map of 1");
    EXPECT_EQ(Packed().map(1).text("amdhsa.version").array(2).number(1).number(9).error(),
              "metadata: amdhsa.version is 1.9, not 1.1 or 1.2");
    EXPECT_EQ(Packed().map(1).text("a").map(1).number(3).number(4).error(), "metadata: a: a key that is no string");
    EXPECT_EQ(Packed().map(2).text("a").number(3).text("a").number(4).error(),
              "metadata: the outermost map: two values of a");
    EXPECT_EQ(Packed().map(1).text("a").byte(0xC4).byte(1).byte(0).error(),  // binary
              "metadata: a: neither number, string, array nor map");
    EXPECT_EQ(Packed().map(1).text("amdhsa.version").number(1).error(), "metadata: amdhsa.version is not an array");
    EXPECT_EQ(Packed().map(1).text("amdhsa.version").array(2).number(1).number(2).error(),
              "metadata: amdhsa.kernels is absent");
}

TEST(Metadata, RefuseARequiredWorkgroupSizeThatIsNoThreeNumbers) {
    Metadata metadata{CodeObjectVersion::v5, std::nullopt, {full_kernel()}};
    metadata.kernels[0].name = "k";
    metadata.kernels[0].required_workgroup_size.reset();
    const auto error_of = [&](MetadataValue::Array sizes) {
        metadata.kernels[0].others = {{".reqd_workgroup_size", {std::move(sizes)}}};
        const auto again = read_metadata(write_metadata(metadata));
        return again ? "no error" : again.error().message;
    };
    EXPECT_EQ(error_of({{uint64_t{8}}, {uint64_t{4}}, {uint64_t{2}}}), "no error");
    EXPECT_EQ(error_of({{uint64_t{8}}, {uint64_t{4}}}),
              "metadata: kernel \"k\": .reqd_workgroup_size holds 2 numbers, not 3");
    EXPECT_EQ(error_of({{uint64_t{8}}, {uint64_t{4}}, {int64_t{-1}}}),
              "metadata: kernel \"k\": .reqd_workgroup_size is not a number of 32 bits");
}

TEST(Metadata, RefuseArgumentsOutsideTheirSegment) {
    Metadata metadata{CodeObjectVersion::v5, std::nullopt, {full_kernel()}};
    metadata.kernels[0].name = "k";
    metadata.kernels[0].kernarg_bytes = 2399;
    const auto again = read_metadata(write_metadata(metadata));
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().message,
              "metadata: kernel \"k\", argument 299: bytes 2392 to 2400 lie outside .kernarg_segment_size 2399");
}

TEST(Metadata, ClaimNoMoreMemoryThanTheirBytesExplain) {
    EXPECT_TRUE(has_text(Packed().byte(0xDD).byte(0xFF).byte(0xFF).byte(0xFF).byte(0xFF).error(), "are not MsgPack"));
    EXPECT_TRUE(has_text(Packed().byte(0xDF).byte(0x7F).byte(0xFF).byte(0xFF).byte(0xFF).error(), "are not MsgPack"));
    Packed deep;
    for (int i = 0; i < 1000; ++i) deep.array(1);
    EXPECT_TRUE(has_text(deep.error(), "are not MsgPack"));
}

}  // namespace metadata_test
}  // namespace riftjit::rdna
