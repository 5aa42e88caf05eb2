// Tensor ranges and tensor data that must be refused or reported (rows B10 to B13 of the project's list of bad input).
#include <gtest/gtest.h>

#include "models/gguf/gguf_data_check.h"
#include "tests/models/expect_message.h"

namespace riftjit::models {
namespace bad_input_data_test {

using namespace test;

TEST(BadInputData, B10RefusesOffsetsOutsideTheDataSection) {
    const Image valid = tiny_model().build();
    const uint64_t section = valid.bytes.size() - (valid.header_bytes + 31) / 32 * 32;
    for (const uint64_t offset : {uint64_t{0} - 32, uint64_t{1} << 63, section / 32 * 32, section / 32 * 32 + 32}) {
        GgufBuilder builder = tiny_model();
        TestTensor& tensor = builder.tensor("output_norm.weight");  // the last, of 128 bytes
        tensor.data.clear();
        tensor.offset = offset;
        Bytes bytes = builder.bytes();
        bytes.resize(valid.bytes.size());
        EXPECT_TRUE(says(open_message(bytes), {"tensor 'output_norm.weight' (info at byte",
                                               "offset " + std::to_string(offset) + " + 128 bytes",
                                               "outside the data section of " + std::to_string(section) + " bytes"}));
    }
}

TEST(BadInputData, B10RefusesOffsetsThatAreNotAligned) {
    GgufBuilder builder = tiny_model();
    builder.tensor("output_norm.weight").offset = 33;
    EXPECT_TRUE(says(open_message(builder),
                     {"tensor 'output_norm.weight'", "offset 33", "not a multiple of general.alignment 32"}));
    builder.set_alignment(64).tensor("output_norm.weight").offset = 32;
    EXPECT_TRUE(says(open_message(builder), {"offset 32", "not a multiple of general.alignment 64"}));
}

TEST(BadInputData, B11RefusesOverlaps) {
    struct Case {
        uint64_t a, b;  // offsets of tensors of 128 and 64 bytes
        const char* said;
    };
    for (const Case& c : {Case{0, 0, "overlap bytes 0 to 128 of tensor 'a'"}, Case{0, 32, "bytes 32 to 96"},
                          Case{0, 96, "bytes 96 to 160"}, Case{32, 0, "overlap bytes 0 to 64 of tensor 'b'"}}) {
        GgufBuilder builder;
        builder.add_f32("a", {32}, std::vector<float>(32, 1)).add_f32("b", {16}, std::vector<float>(16, 1));
        builder.tensor("a").offset = c.a;
        builder.tensor("b").offset = c.b;
        EXPECT_TRUE(says(open_message(builder), {"tensor 'a'", "tensor 'b'", "overlap", c.said}));
    }
}

TEST(BadInputData, B11FindsAnOverlapBehindAShorterNeighbour) {
    GgufBuilder builder;
    builder.add_f32("long", {64}, std::vector<float>(64, 1)).add_f32("inside", {8}, std::vector<float>(8, 1));
    builder.add_f32("also inside", {8}, std::vector<float>(8, 1));
    builder.tensor("inside").offset = 32;
    builder.tensor("also inside").offset = 96;
    EXPECT_TRUE(says(open_message(builder), {"overlap", "tensor 'long'"}));
}

// ---- --check-tensors ----

struct OneTensor {
    explicit OneTensor(const TestTensor& tensor) {
        GgufBuilder builder;
        builder.tensors.push_back(tensor);
        file.write(0, builder.bytes());
    }
    std::vector<Finding> check() const {
        const auto gguf = Gguf::open(file.path());
        riftjit::check(gguf.has_value(), gguf ? "" : gguf.error().message);
        return check_tensors(*gguf);
    }
    MemoryFile file;
};

TestTensor f32_tensor(const std::vector<float>& values) {
    return {"norm", {values.size()}, 0, Bytes(reinterpret_cast<const char*>(values.data()), values.size() * 4)};
}

TEST(BadInputData, B12ReportsTheBlockAndTheByteOfANan) {
    std::vector<float> values(40, 1.0f);
    values[17] = std::numeric_limits<float>::quiet_NaN();
    values[23] = -std::numeric_limits<float>::infinity();
    const OneTensor tensor(f32_tensor(values));
    const std::vector<Finding> findings = tensor.check();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].level, FindingLevel::error);
    EXPECT_EQ(findings[0].tensor, "norm");
    // 24 header + 8 + 4 name + 4 dimensions + 8 extent + 4 type + 8 offset = 60, padded to 64.
    EXPECT_TRUE(says(findings[0].message, {"tensor 'norm' (info at byte 24)",
                                           "block 17 (at byte 132): value is NaN; 2 of 40 blocks are affected"}));
}

TEST(BadInputData, B12TakesSubnormalAndNegativeZeroValuesForGranted) {
    std::vector<float> values(40, 1.0f);
    values[3] = -0.0f;
    values[4] = std::numeric_limits<float>::denorm_min();
    EXPECT_TRUE(OneTensor(f32_tensor(values)).check().empty());
}

TEST(BadInputData, B12NotesSubnormalAndNegativeZeroScales) {
    for (const uint16_t bits : {uint16_t{0x0001}, uint16_t{0x8000}}) {
        Bytes data;
        for (int block = 0; block < 4; ++block)
            data += raw(block == 2 ? bits : uint16_t{0x3c00}) + Bytes(16, '\x77');  // Q4_0
        const std::vector<Finding> findings = OneTensor({"w", {32, 4}, 2, data}).check();
        ASSERT_EQ(findings.size(), 1u);
        EXPECT_EQ(findings[0].level, FindingLevel::note);
        EXPECT_TRUE(says(findings[0].message, {"block 2", "scale is", "1 of 4 blocks are affected"}));
    }
}

TEST(BadInputData, B12RefusesTheExponentThatMxfp4Reserves) {
    Bytes data;
    for (int block = 0; block < 3; ++block) data += (block == 1 ? "\xff" : "\x80") + Bytes(16, '\x11');
    const std::vector<Finding> findings = OneTensor({"w", {96}, 39, data}).check();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].level, FindingLevel::error);
    EXPECT_TRUE(says(findings[0].message, {"block 1", "exponent 255"}));
}

TEST(BadInputData, B13ReportsHolesOfZeros) {
    std::vector<float> values(4096, 1.0f);
    std::fill(values.begin() + 1000, values.begin() + 2100, 0.0f);  // 4400 bytes
    std::fill(values.begin() + 3000, values.begin() + 3500, 0.0f);  // 2000 bytes: ordinary
    const std::vector<Finding> findings = OneTensor(f32_tensor(values)).check();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].level, FindingLevel::warning);
    // The bytes of 1.0f are 00 00 80 3f, so that the hole begins where a block does and reaches two bytes further.
    EXPECT_TRUE(says(findings[0].message, {"tensor 'norm'", "blocks 1000 to 2100", "all zero"}));
}

TEST(BadInputData, B13ReportsATensorOfNothingButZeros) {
    const std::vector<Finding> findings = OneTensor({"w", {32, 4}, 8, Bytes(4 * 34, '\0')}).check();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].level, FindingLevel::warning);
    EXPECT_TRUE(says(findings[0].message, {"tensor 'w'", "blocks 0 to 3", "all zero"}));
}

}  // namespace bad_input_data_test
}  // namespace riftjit::models
