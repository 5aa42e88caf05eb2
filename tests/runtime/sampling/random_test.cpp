#include "runtime/sampling/random.h"

#include <gtest/gtest.h>

namespace riftjit::runtime {
namespace random_test {

// llama.cpp draws with these; the tests are linked with the library that most builds of it have.
TEST(Random, HasTheNumbersOfTheStandardLibrary) {
    for (const uint32_t seed : {0u, 1u, 42u, 4242u, 0xFFFF'FFFEu}) {
        Random doubles(seed), floats(seed);
        std::mt19937 of_doubles(seed), of_floats(seed);
        std::uniform_real_distribution<double> as_double(0, 1);
        std::uniform_real_distribution<float> as_float(0, 1);
        for (int i = 0; i < 2000; ++i) {
            ASSERT_EQ(doubles.uniform(), as_double(of_doubles)) << "seed " << seed << ", number " << i;
            ASSERT_EQ(floats.uniform_float(), as_float(of_floats)) << "seed " << seed << ", number " << i;
        }
    }
}

}  // namespace random_test
}  // namespace riftjit::runtime
