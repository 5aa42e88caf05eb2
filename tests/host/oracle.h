// Oracles: programs, and data of peers, that tests compare with and that are no part of the build. Without one, the
// tests that ask it are skipped and say what they want; with RIFTJIT_REQUIRE_ORACLES=1, as in continuous integration,
// they fail.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace riftjit {

inline bool oracles_are_required() {
    const char* const required = std::getenv("RIFTJIT_REQUIRE_ORACLES");
    return required != nullptr && required == std::string_view("1");
}

// Ends the test that returns it: `return lack_oracle("llvm-mc-19");`.
inline void lack_oracle(std::string_view wanted) {
    if (oracles_are_required()) FAIL() << "RIFTJIT_REQUIRE_ORACLES=1, and this test wants " << wanted;
    GTEST_SKIP() << "wants " << wanted;
}

// For a part of a test, which is left out where this is false.
inline bool may_ask(bool is_present, std::string_view wanted) {
    EXPECT_TRUE(is_present || !oracles_are_required())
        << "RIFTJIT_REQUIRE_ORACLES=1, and a part of this test wants " << wanted;
    return is_present;
}

}  // namespace riftjit
