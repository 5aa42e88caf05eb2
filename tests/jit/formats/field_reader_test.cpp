#include "jit/formats/field_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/jit/formats/random_blocks.h"

namespace riftjit {
namespace field_reader_test {

constexpr int kRuns = 50;

template <DType type, FieldRole role>
constexpr bool has_field() {
    for (const BitField& field : kWeightFormat<type>.fields)
        if (field.role == role) return field.bits() <= 16;
    return false;
}

template <DType type, FieldRole role, size_t plane>
void expect_plane(const std::byte* block) {
    constexpr const BitPlane& kPlane = kField<type, role>.planes[plane];
    uint16_t bits[kPlane.values()];
    read_plane<type, role, plane>(block, bits);
    const BitField alone{.role = role, .span = 1, .planes = {{kPlane.first_bit, kPlane.bits, kPlane.axes}}};
    for (uint32_t i = 0; i < kPlane.values(); ++i) ASSERT_EQ(bits[i], read_value(alone, block, i)) << "value " << i;
}

template <DType type, FieldRole role, class T>
void expect_values(const std::byte* block) {
    constexpr const BitField& kRead = kField<type, role>;
    T values[256];
    std::fill_n(values, 256, static_cast<T>(0xffff));
    read_values<type, role>(block, values);
    for (uint32_t i = 0; i < traits(type).block_elements / kRead.span; ++i)
        ASSERT_EQ(values[i], read_value(kRead, block, i)) << "value " << i;
}

template <DType type, FieldRole role>
void expect_field() {
    if constexpr (has_field<type, role>()) {
        SCOPED_TRACE(testing::Message() << name(type) << " role " << int(role));
        std::mt19937 random(3);
        for (int run = 0; run < kRuns; ++run) {
            const auto block = random_block(type, random);
            expect_values<type, role, uint16_t>(block.data());
            if constexpr (kField<type, role>.bits() <= 8) expect_values<type, role, uint8_t>(block.data());
            [&]<size_t... plane>(std::index_sequence<plane...>) {
                (expect_plane<type, role, plane>(block.data()), ...);
            }(std::make_index_sequence<kField<type, role>.planes.size()>());
        }
    }
}

template <DType type>
void expect_block() {
    using enum FieldRole;
    expect_field<type, scale>();
    expect_field<type, offset>();
    expect_field<type, minimum_scale>();
    expect_field<type, sub_scale>();
    expect_field<type, sub_minimum>();
    expect_field<type, code>();
    expect_field<type, digits>();
    expect_field<type, grid_row>();
    expect_field<type, signs>();
}

// read_value finds each bit by itself; the two read a block in different ways.
TEST(FieldReader, ReadsInBulkWhatIsReadValueByValue) {
    [&]<size_t... i>(std::index_sequence<i...>) {
        (expect_block<kWeightTypes[i]>(), ...);
    }(std::make_index_sequence<std::size(kWeightTypes)>());
}

}  // namespace field_reader_test
}  // namespace riftjit
