#include "host/result.h"

#include <gtest/gtest.h>

#include <csignal>

namespace riftjit {
namespace result_test {

constexpr const char* kLine =
    "^internal error: two is three \\(.*result_test.cpp:[0-9]+\\), please report this line\n$";

TEST(ResultDeathTest, ABrokenInvariantSaysWhyAndAborts) {
    check(true, "nothing happens");
    EXPECT_EXIT(check(false, "two is three"), testing::KilledBySignal(SIGABRT), kLine);
}

TEST(ResultDeathTest, ABrokenInvariantEndsAsTheProgramSays) {
    const auto end = [](std::string_view line) {
        std::fputs(std::string(line).c_str(), stderr);
        std::quick_exit(7);
    };
    const auto break_invariant = [&] {
        set_internal_error_handler(end);
        check(false, "two is three");
    };
    EXPECT_EXIT(break_invariant(), testing::ExitedWithCode(7), kLine);
}

TEST(ResultDeathTest, NothingIsComputedAfterABrokenInvariant) {
    const auto break_invariant = [] {
        set_internal_error_handler([](std::string_view) {});  // one that comes back
        check(false, "two is three");
    };
    EXPECT_EXIT(break_invariant(), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace result_test
}  // namespace riftjit
