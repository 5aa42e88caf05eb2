#include "sim/equations/units.h"

#include <gtest/gtest.h>

namespace riftjit::sim {
namespace units_test {

double value(const std::string& text) {
    const Result<Quantity> quantity = parse_quantity({text});
    EXPECT_TRUE(quantity.has_value()) << (quantity ? "" : quantity.error().message);
    return quantity ? quantity->value : 0;
}
Unit unit(const std::string& text) { return parse_unit({text}).value().unit; }
std::string message(const std::string& text) { return parse_quantity({text, "net.toml", 12, 8}).error().message; }

TEST(Units, AreConsistentWithEachOther) {
    EXPECT_EQ(kPicofarad * kMillivolt / kMillisecond, kPicoampere);
    EXPECT_EQ(kNanosiemens * kMillivolt, kPicoampere);
    EXPECT_EQ(unit("MOhm") * unit("nA"), kMillivolt);
    EXPECT_EQ(unit("V*A*s/V/A"), kMillisecond);
    EXPECT_EQ(unit("1/ms"), unit("Hz"));
    EXPECT_EQ(unit("mV ms^-1"), unit("V/second"));
    EXPECT_EQ(unit("1"), kNoUnit);
}

TEST(Units, QuantitiesBecomeBaseUnitsRoundedOnce) {
    EXPECT_EQ(value("10 ms"), 10);
    EXPECT_EQ(value("-70 mV"), -70);
    EXPECT_EQ(value("0.1 s"), 100);
    EXPECT_EQ(value("8 Hz"), 0.008);  // the double nearest to 8/1000
    EXPECT_EQ(value("0.2 nA"), 200);
    EXPECT_EQ(value("1 nF"), 1000);
    EXPECT_EQ(value("0.01 uS"), 10);
    EXPECT_EQ(value("100 MOhm"), 0.1);
    EXPECT_EQ(value("0.02/ms"), 0.02);
    EXPECT_EQ(value("0.02 1/ms"), 0.02);
    EXPECT_EQ(value("3 µm"), 3);
    EXPECT_EQ(value("+0.5"), 0.5);
    EXPECT_EQ(value("2 kHz"), 2);
    EXPECT_EQ(value("585.39 pA/mV"), 585.39);
}

TEST(Units, AreWrittenAsTheyAreRead) {
    for (const char* text : {"mV", "pA", "ms", "pF", "nS", "um", "GOhm", "1/ms", "mV/ms", "pA/ms", "1", "mV^2",
                             "1/mV/ms", "mV ms", "1/ms^2"}) {
        EXPECT_EQ(unit_text(unit(text)), text);
    }
    EXPECT_EQ(unit_text(*power(kMillisecond, -0.5)), "1/ms^0.5");
    EXPECT_FALSE(power(kMillisecond, 0.3).has_value());
}

TEST(Units, RefusalsNameThePlaceAndTheText) {
    EXPECT_EQ(message("10 msec"), "net.toml:12:11: unknown unit 'msec'");
    EXPECT_EQ(message("10 mV/"), "net.toml:12:14: expected a unit, found the end");
    EXPECT_EQ(message("10 mV^x"), "net.toml:12:14: expected a whole exponent up to 9");
    EXPECT_EQ(message("10 (mV)"), "net.toml:12:11: expected a unit, found '('");
    EXPECT_EQ(message("fast"), "net.toml:12:8: expected a number such as \"10 ms\", found 'fast'");
    EXPECT_EQ(message("nan mV"), "net.toml:12:8: expected a number such as \"10 ms\", found 'nan mV'");
    EXPECT_EQ(message("inf ms"), "net.toml:12:8: expected a number such as \"10 ms\", found 'inf ms'");
    EXPECT_EQ(message("1e300 F"), "net.toml:12:8: '1e300 F' is too large");
    EXPECT_EQ(message(" "), "net.toml:12:8: expected a number with its unit, found nothing");
}

TEST(Units, AQuantityMustBeOfTheUnitAskedForUnlessItIsZero) {
    const SourceText volts{"3 mV", "net.toml", 4, 9};
    EXPECT_EQ(parse_quantity_of(volts, kMillivolt).value(), 3);
    EXPECT_EQ(parse_quantity_of(volts, kMillisecond).error().message, "net.toml:4:9: expected a unit of ms, found mV");
    EXPECT_EQ(parse_quantity_of(volts, kNoUnit).error().message,
              "net.toml:4:9: expected a number without a unit, found mV");
    EXPECT_EQ(parse_quantity_of({"3", "net.toml", 4, 9}, kMillivolt).error().message,
              "net.toml:4:9: expected a unit of mV, found no unit");
    EXPECT_EQ(parse_quantity_of({"0"}, kMillivolt).value(), 0);
}

TEST(SourceText, PlacesCountLinesAndColumnsOfTheFile) {
    const SourceText source{"V = 1\n  u = 2", "net.toml", 12, 8};
    EXPECT_EQ(place(source), "net.toml:12:8");
    EXPECT_EQ(place(source, 4), "net.toml:12:12");
    EXPECT_EQ(place(source, 8), "net.toml:13:3");
    EXPECT_EQ(place({"V"}), "text:1:1");
}

TEST(SourceText, SuggestsTheNearestNameOnlyWhereItIsNear) {
    const std::vector<std::string> known = {"tau_m", "tau_syn", "V", "E_L"};
    EXPECT_EQ(suggestion("taum", known), "; did you mean 'tau_m'?");
    EXPECT_EQ(suggestion("tau_sn", known), "; did you mean 'tau_syn'?");
    EXPECT_EQ(suggestion("E_l", known), "; did you mean 'E_L'?");
    EXPECT_EQ(suggestion("capacity", known), "");
    EXPECT_EQ(suggestion("x", known), "");
}

}  // namespace units_test
}  // namespace riftjit::sim
