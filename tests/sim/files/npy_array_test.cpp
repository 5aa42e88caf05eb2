#include "sim/files/npy_array.h"

#include <gtest/gtest.h>

#include <cstring>

namespace riftjit::sim {
namespace npy_array_test {

template <class T>
std::string npy_of(std::string_view descr, const std::vector<T>& values) {
    return npy_header(descr, {values.size()}) +
           std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

std::string message(const auto& result) { return result ? "no error" : result.error().message; }

TEST(NpyArrays, StartTheirElementsAtAMultipleOf64Bytes) {
    for (const auto& shape : std::vector<std::vector<uint64_t>>{{}, {7}, {123456789, 3}, {1, 2, 3}})
        EXPECT_EQ(npy_header("<u4", shape).size() % 64, 0u);
}

TEST(NpyArrays, HoldIntegersOfAnyWidthAsLongAsTheyFit) {
    const std::vector<uint32_t> expected{0, 1, 200};
    const auto read = [](const std::string& bytes) { return to_u32(*parse_npy(bytes)); };
    EXPECT_EQ(*read(npy_of<uint8_t>("|u1", {0, 1, 200})), expected);
    EXPECT_EQ(*read(npy_of<int16_t>("<i2", {0, 1, 200})), expected);
    EXPECT_EQ(*read(npy_of<uint32_t>("<u4", {0, 1, 200})), expected);
    EXPECT_EQ(*read(npy_of<int64_t>("<i8", {0, 1, 200})), expected);
    EXPECT_EQ(message(read(npy_of<int64_t>("<i8", {0, -1}))), "element 1 is not within 0 and 4294967295");
    EXPECT_EQ(message(read(npy_of<uint64_t>("<u8", {1ull << 32}))), "element 0 is not within 0 and 4294967295");
    EXPECT_EQ(message(read(npy_of<double>("<f8", {1.0}))), "type 'f8' and 1 axes; one axis of integers is read");
}

TEST(NpyArrays, RefuseShapesLargerThanTheirBytes) {
    EXPECT_EQ(message(parse_npy(npy_header("<u4", {1ull << 62, 4}) + "abcd")),
              "shape (4611686018427387904, 4) of 4 bytes each, but 4 bytes");
    EXPECT_EQ(message(parse_npy(npy_header("<u4", {2}) + "abcd")), "shape (2) of 4 bytes each, but 4 bytes");
}

TEST(NpyArrays, RefuseWhatTheyWouldMisread) {
    EXPECT_EQ(message(parse_npy(npy_header(">u4", {0}))), "type '>u4' or Fortran order");
    std::string fortran = npy_header("<u4", {0});
    fortran.replace(fortran.find("False"), 5, "True ");
    EXPECT_EQ(message(parse_npy(fortran)), "type '<u4' or Fortran order");
    EXPECT_EQ(message(parse_npy("\x93NUMPY")), "no .npy array");
}

}  // namespace npy_array_test
}  // namespace riftjit::sim
