// The bar on a terminal: what it says and that it leaves nothing behind.
#include "tools/cli/step_progress.h"

#include <gtest/gtest.h>

#include "tests/tools/program.h"
#include "tests/tools/terminal.h"

namespace riftjit::tools {
namespace step_progress_test {

TEST(ProgressLine, SaysWhatIsDoneAndHowLongTheRestWillTake) {
    EXPECT_EQ(progress_line(25, 100, 30, "groups"), "[#####               ]  25 %, 25 of 100 groups, 1:30 left");
    EXPECT_EQ(progress_line(0, 100, 30), "[                    ]   0 %, 0 of 100 steps");
    EXPECT_EQ(progress_line(1, 1, 2), "[####################] 100 %, 1 of 1 steps, 0:00 left");
}

TEST(ProgressLine, LosesWholePartsOnANarrowTerminal) {
    const std::string line = progress_line(25, 100, 30, "groups");  // 57 columns
    EXPECT_EQ(fitted(line, 58), line);
    EXPECT_EQ(fitted(line, 57), "[#####               ]  25 %, 25 of 100 groups") << "the last column may wrap";
    EXPECT_EQ(fitted(line, 40), "[#####               ]  25 %");
    EXPECT_EQ(fitted(line, 10), "[#####   ");
    EXPECT_EQ(fitted(line, 0), "");
}

// A wave that counts to 200'000: some hundredths of a second.
constexpr std::string_view kCount =
    ".globl count\ncount:\n    s_mov_b32 s4, 200000\nagain:\n    s_sub_u32 s4, s4, 1\n    s_cmp_lg_u32 s4, 0\n"
    "    s_cbranch_scc1 again\n    s_endpgm\n";

class Bar : public testing::Test {
protected:
    Bar() : object_(program_.folder() / "k.co") {
        const std::string source = program_.folder() / "k.s";
        std::ofstream(source) << kCount;
        EXPECT_EQ(program_.run({"asm", source, "--target", "gfx1100", "-o", object_}).exit_code, 0);
    }
    std::vector<std::string> count(std::vector<std::string> more) const {
        std::vector<std::string> arguments = {"emulate", object_, "count"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }

    Program program_;
    std::string object_;
};

TEST_F(Bar, IsWipedBeforeTheReportAndNeverWraps) {
    for (const unsigned short columns : {100, 40, 12}) {
        const std::string shown =
            run_on_terminal(count({"--grid", "40", "--group", "1", "--resident", "one"}), columns).shown;
        const size_t report = shown.find("count on gfx1100");
        ASSERT_NE(report, std::string::npos) << shown;
        const std::string bars = shown.substr(0, report);
        if (bars.empty()) GTEST_SKIP() << "wants a machine that takes a tenth of a second for 24 million instructions";
        EXPECT_TRUE(bars.starts_with("\r["));
        EXPECT_NE(bars.find("[#"), std::string::npos) << "no bar has grown";
        EXPECT_TRUE(bars.ends_with("\x1b[K\r\x1b[K")) << "the last bar is not wiped";
        for (size_t at = 0, end = 0; (end = bars.find("\x1b[K", at)) != std::string::npos; at = end + 3)
            EXPECT_LE(end - at, columns) << "a carriage return and fewer characters than there are columns";
        EXPECT_EQ(bars.find('\n'), std::string::npos);
    }
}

TEST_F(Bar, ShowsThatASingleWorkgroupIsAlive) {
    const std::string shown = run_on_terminal(count({"--grid", "1", "--group", "1024"}), 80).shown;
    if (!shown.starts_with("\r["))
        GTEST_SKIP() << "wants a machine that takes a tenth of a second for 19 million instructions";
    EXPECT_TRUE(shown.starts_with("\r[                    ]   0 %, 0 of 1 workgroups\x1b[K")) << shown;
}

TEST_F(Bar, KeepsOutOfTheTraceAndOfFiles) {
    const TerminalOutcome traced =
        run_on_terminal(count({"--grid", "1", "--group", "1", "--limit", "20k", "--trace"}), 80);
    EXPECT_EQ(traced.shown.find("\x1b["), std::string::npos);
    EXPECT_NE(traced.shown.find("0.0 count+0x0000"), std::string::npos);
    EXPECT_EQ(program_.run(count({"--grid", "1", "--group", "1024"})).err, "");
}

}  // namespace step_progress_test
}  // namespace riftjit::tools
