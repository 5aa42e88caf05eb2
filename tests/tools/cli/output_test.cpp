#include "tools/cli/output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <stdexcept>
#include <thread>

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

TEST(OutputDeathTest, AnExceptionOnAnyThreadEndsTheProgramInALine) {
    EXPECT_EXIT(
        {
            prepare_process();
            std::thread([] { throw std::bad_alloc(); }).join();
        },
        testing::ExitedWithCode(1), "^error: out of memory\n$");
    EXPECT_EXIT(
        {
            prepare_process();
            std::thread([] { throw std::runtime_error("what nobody expects"); }).join();
        },
        testing::ExitedWithCode(2), "^internal error: what nobody expects, please report this line\n$");
}

}  // namespace output_test
}  // namespace riftjit::tools
