#include "tools/cli/output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "host/result.h"

namespace riftjit::tools {
namespace output_test {

TEST(OutputDeathTest, ABrokenInvariantEndsTheProgramWithItsLineAndCodeTwo) {
    EXPECT_EXIT(
        {
            prepare_process();
            check(false, "two is three");
        },
        testing::ExitedWithCode(2), "^internal error: two is three \\(.*\\), please report this line\n$");
}

TEST(OutputDeathTest, WhatWasPrintedBeforeABrokenInvariantIsNotLost) {
    EXPECT_EXIT(
        {
            prepare_process();
            dup2(STDERR_FILENO, STDOUT_FILENO);
            std::fputs("half an answer, ", stdout);
            check(false, "two is three");
        },
        testing::ExitedWithCode(2), "half an answer, internal error: two is three");
}

}  // namespace output_test
}  // namespace riftjit::tools
