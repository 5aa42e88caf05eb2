#include "models/tokenizer/tokenizer_nfc.h"

#include <gtest/gtest.h>

#include <ctime>

namespace riftjit::models {
namespace tokenizer_nfc_test {

std::string nfc(std::string_view text) {
    std::string storage;
    return std::string(to_nfc(text, storage));
}

// Unicode Standard Annex #15: figures 3 to 5, and the cases that its table of quick checks tells apart.
TEST(Nfc, ComposesAsTheAnnexSays) {
    EXPECT_EQ(nfc("\u212b"), "\u00c5");  // a second name for a letter
    EXPECT_EQ(nfc("\u2126"), "\u03a9");
    EXPECT_EQ(nfc("A\u030a"), "\u00c5");
    EXPECT_EQ(nfc("o\u0302"), "\u00f4");
    EXPECT_EQ(nfc("\u1e9b\u0323"), "\u1e9b\u0323");   // figure 5: form C keeps both
    EXPECT_EQ(nfc("d\u0307\u0323"), "\u1e0d\u0307");  // the lower mark composes first
    EXPECT_EQ(nfc("\u1e0b\u0323"), "\u1e0d\u0307");
    EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");  // no composition, canonical order
    EXPECT_EQ(nfc("\u0958"), "\u0915\u093c");          // excluded from composition
    EXPECT_EQ(nfc("\u09c7\u09be"), "\u09cb");          // a second part that is no mark of a class
    EXPECT_EQ(nfc("\u1112\u1161\u11ab"), "\ud55c");    // Hangul by arithmetic
    EXPECT_EQ(nfc("\ud558\u11ab"), "\ud55c");
    EXPECT_EQ(nfc("\ufb01\u00bd\u216b"), "\ufb01\u00bd\u216b");  // compatibility characters stay
}

TEST(Nfc, LeavesNormalisedTextWhereItIs) {
    const std::string_view text = "Größe, Việt Nam, 한국어, ελληνικά, 日本語, 🙂, plain";
    std::string storage;
    EXPECT_EQ(to_nfc(text, storage).data(), text.data());
}

TEST(Nfc, KeepsInvalidBytesAndWhatSurroundsThem) {
    EXPECT_EQ(nfc("e\xff\u0301"), "e\xff\u0301");  // nothing composes across
    EXPECT_EQ(nfc("\xc3"
                  "e\u0301\xe2\x82"),
              "\xc3\u00e9\xe2\x82");
    EXPECT_EQ(nfc("\u0301\xff"
                  "a\u0301"),
              "\u0301\xff\u00e1");
    EXPECT_EQ(nfc(""), "");
}

TEST(Nfc, NormalisesEachSliceOfALongText) {
    std::string text, expected;
    for (int i = 0; i < 1000; ++i) {
        text += "plain words of ASCII e\u0301 und \u00fc, A\u030a\n";
        expected += "plain words of ASCII \u00e9 und \u00fc, \u00c5\n";
    }
    EXPECT_EQ(nfc(text), expected);
}

// Ordering marks by insertion would take 10^10 steps here.
TEST(Nfc, SortsLongRunsOfMarksInTime) {
    std::string text = "a", above, below;
    for (int i = 0; i < 100000; ++i) {
        text += "\u0307\u0323";
        above += "\u0307";
        below += i > 0 ? "\u0323" : "";
    }
    const std::clock_t start = std::clock();
    EXPECT_EQ(nfc(text),
              "\u1ea1" + below + above);  // one mark below composes with the letter, the one above is blocked
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5.0);
}

}  // namespace tokenizer_nfc_test
}  // namespace riftjit::models
