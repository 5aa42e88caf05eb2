#include <gtest/gtest.h>

#include "tools/run/drafting.h"

namespace riftjit::tools {
namespace synthetic_guesses_test {

DraftChoice choice(const std::string& rates, double length = 0) {
    DraftChoice choice;
    choice.type = "ngram-simple";
    choice.most_copied = 3;
    choice.synthetic_rates = rates;
    choice.synthetic_length = length;
    return choice;
}

std::string error_of(const DraftChoice& choice) {
    const auto shares = synthetic_shares(choice);
    return shares ? "" : shares.error().message;
}

TEST(SyntheticShares, AreThoseOfWhatCameBefore) {
    EXPECT_EQ(*synthetic_shares(choice("")), std::vector<double>());
    EXPECT_EQ(*synthetic_shares(choice("0.8,0.4,0.1")), (std::vector<double>{0.8, 0.4 / 0.8, 0.1 / 0.4}));
    EXPECT_EQ(*synthetic_shares(choice("1,0,0")), (std::vector<double>{1, 0, 0}));
}

TEST(SyntheticShares, YieldTheLengthThatWasAskedFor) {
    for (const double length : {1.0, 1.5, 2.0, 3.9, 4.0}) {
        const std::vector<double> shares = *synthetic_shares(choice("", length));
        ASSERT_EQ(shares.size(), 3u);
        double sum = 1, term = 1;
        for (const double share : shares) sum += term *= share;
        EXPECT_NEAR(sum, length, 1e-12);  // halved 53 times; the sum grows at most six times as fast as a share
    }
}

TEST(SyntheticShares, AreRefusedWhereTheyAreNone) {
    for (const char* odd :
         {"0.5,0.4", "0.5,0.4,0.3,0.2", "0.5,x,0.1", "0.5,,0.1", "1.5,1,1", "-0.1,0,0", "nan,0,0", "0.5,0.6,0.1"})
        EXPECT_NE(error_of(choice(odd)).find(std::string("--spec-synth-rates ") + odd), std::string::npos) << odd;
    EXPECT_NE(error_of(choice("", 4.5)).find("--spec-synth-len 4.5"), std::string::npos);
    EXPECT_NE(error_of(choice("1,1,1", 2)).find("give one"), std::string::npos);
    DraftChoice nothing = choice("1,1,1");
    nothing.type = "none";
    EXPECT_NE(error_of(nothing).find("nothing guesses"), std::string::npos);
}

}  // namespace synthetic_guesses_test
}  // namespace riftjit::tools
