#include "runtime/logits_hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace riftjit::runtime {
namespace logits_hash_test {

// Expected digests: xxhash 4.1.0 for Python, xxh3_128_hexdigest of the little-endian floats.
TEST(LogitsHash, EqualsXxh3OfTheBytes) {
    LogitsHash none;
    EXPECT_EQ(none.hex(), "99aa06d3014798d86001c324468d497f");

    LogitsHash few;
    few.add(std::vector<float>{1.0f, -2.5f, 0.0f, 3.25f, 1e-30f});
    EXPECT_EQ(few.hex(), "a53512cf3e143186a681575cf3c476c2");
}

TEST(LogitsHash, DoesNotDependOnHowLogitsAreSplitOverCalls) {
    std::vector<float> logits(1000);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = float(i) * 0.5f;
    for (size_t cut : {0, 1, 63, 500, 1000}) {
        LogitsHash hash;
        hash.add(std::span(logits).first(cut));
        hash.add(std::span(logits).subspan(cut));
        EXPECT_EQ(hash.hex(), "58c2a6a59fc1c3ae047af7b184831a2e") << "cut at " << cut;
    }
}

TEST(LogitsHash, SeesASingleBit) {
    LogitsHash positive, negative;
    positive.add(std::vector<float>{0.0f});
    negative.add(std::vector<float>{-0.0f});
    EXPECT_NE(positive.hex(), negative.hex());
}

}  // namespace logits_hash_test
}  // namespace riftjit::runtime
