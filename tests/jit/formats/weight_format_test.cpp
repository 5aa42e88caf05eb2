#include "jit/formats/weight_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/jit/formats/random_blocks.h"

namespace riftjit {
namespace weight_format_test {

TEST(WeightFormats, DescribeEveryWeightTypeOnce) {
    std::multiset<DType> described;
    for (const WeightFormat& format : weight_formats()) described.insert(format.type);
    for (const DTypeTraits& type : all_dtypes()) EXPECT_EQ(described.count(type.type), type.is_weight) << type.name;
    for (const DType type : described) EXPECT_EQ(weight_format(type).type, type);
}

class EveryFormat : public testing::TestWithParam<DType> {
protected:
    const WeightFormat& format = weight_format(GetParam());
    const uint32_t elements = traits(GetParam()).block_elements;
};

// Only the ternary digits of a byte share bits, through an axis without a stride.
TEST_P(EveryFormat, HasEveryBitOfABlockInOnePlane) {
    std::vector<int> planes_of_bit(traits(format.type).block_bytes * 8u);
    for (const BitField& field : format.fields) {
        for (const BitPlane& plane : field.planes) {
            std::set<uint32_t> bits;
            for (uint32_t i = 0; i < plane.values(); ++i)
                for (uint32_t bit = 0; bit < plane.bits; ++bit) bits.insert(plane.bit_of(plane.first_value + i) + bit);
            for (const uint32_t bit : bits) ++planes_of_bit.at(bit);
        }
    }
    for (size_t bit = 0; bit < planes_of_bit.size(); ++bit) EXPECT_EQ(planes_of_bit[bit], 1) << "bit " << bit;
}

// Every value of a field gets each of its bits from one plane.
TEST_P(EveryFormat, HasFieldsWithAValueForEveryElement) {
    for (const BitField& field : format.fields) {
        std::vector<uint64_t> bits_of_value(elements / field.span);
        for (const BitPlane& plane : field.planes) {
            for (uint32_t i = 0; i < plane.values(); ++i) {
                const uint64_t bits = ((uint64_t{1} << plane.bits) - 1) << plane.to_bit;
                EXPECT_EQ(bits_of_value.at(plane.first_value + i) & bits, 0u);
                bits_of_value[plane.first_value + i] |= bits;
            }
        }
        EXPECT_EQ(elements % field.span, 0u);
        for (const uint64_t bits : bits_of_value) EXPECT_EQ(bits, (uint64_t{1} << field.bits()) - 1);
    }
}

TEST_P(EveryFormat, ReadsEveryFieldOnceAndOnlyEarlierSteps) {
    std::multiset<FieldRole> roles;
    for (const BitField& field : format.fields) roles.insert(field.role);
    for (const FieldRole role : roles) EXPECT_EQ(roles.count(role), 1u);
    std::multiset<uint16_t> read;
    for (size_t i = 0; i < format.steps.size(); ++i) {
        const LaneStep& step = format.steps[i];
        if (step.op == LaneOp::field) read.insert(step.index);
        if (operand_count(step.op) > 0) {
            EXPECT_LT(step.a, i);
        }
        if (operand_count(step.op) > 1) {
            EXPECT_LT(step.b, i);
        }
    }
    EXPECT_EQ(read.size(), format.fields.size());
    for (uint16_t i = 0; i < format.fields.size(); ++i) EXPECT_EQ(read.count(i), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, EveryFormat, testing::ValuesIn(weight_types()), kTypeName);

TEST(WeightFormatDeathTest, IsAskedForWeightsAndTheFieldsTheyHave) {
    EXPECT_DEATH(weight_format(DType::I32), "holds weights");
    EXPECT_DEATH(weight_format(DType::Q4_0).field(FieldRole::signs), "has");
}

}  // namespace weight_format_test
}  // namespace riftjit
