#include "runtime/cpu/peaks.h"

#include <gtest/gtest.h>

#include <set>

namespace riftjit::runtime {
namespace peaks_test {

TEST(Peaks, EachHasItsOwnName) {
    std::set<std::string_view> names;
    for (const x86::Peak peak : kPeaks) names.insert(name(peak));
    EXPECT_EQ(names.size(), kPeaks.size());
}

TEST(Peaks, AreMeasuredWhereTheLevelHasTheInstruction) {
    const auto peaks = measure_peaks(Isa::avx2, 2);
    ASSERT_TRUE(peaks) << peaks.error().message;
    EXPECT_EQ(peaks->threads, 2u);
    for (size_t i = 0; i < kPeaks.size(); ++i) {
        ASSERT_EQ(peaks->values[i].has_value(), x86::generate_peak(kPeaks[i], Isa::avx2).has_value());
        if (!peaks->values[i]) continue;
        EXPECT_GT(peaks->values[i]->one_thread, 0.0);
        EXPECT_GT(peaks->values[i]->all_threads, 0.0);
    }
}

}  // namespace peaks_test
}  // namespace riftjit::runtime
