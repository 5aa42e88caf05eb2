#include "engine/grammar/json_text_grammar.h"

namespace riftjit::engine {

// As regular expressions: days of months and leap years among them, so that a reader who checks finds them right.
std::optional<GrammarBuilder::Expression> json_format(GrammarBuilder& builder, std::string_view format) {
    static const std::string kDate = [] {
        const std::string year = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])";
        const std::string leap = "([0-9][0-9](0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)";
        return "(" + year + "-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|" +
               "02-(0[1-9]|1[0-9]|2[0-8]))|" + leap + "-02-29)";
    }();
    static const std::string kTime =
        "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
    static const std::string kHex = "[0-9a-fA-F]";
    static const std::string kByte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    static const std::string kLabel = "[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?";
    std::string pattern;
    if (format == "date")
        pattern = kDate;
    else if (format == "time")
        pattern = kTime;
    else if (format == "date-time")
        pattern = kDate + "T" + kTime;
    else if (format.starts_with("uuid"))  // uuid1 to uuid5 are taken for it too
        pattern = kHex + "{8}-" + kHex + "{4}-" + kHex + "{4}-" + kHex + "{4}-" + kHex + "{12}";
    else if (format == "ipv4")
        pattern = kByte + "(\\." + kByte + "){3}";
    else if (format == "email")
        pattern = "[A-Za-z0-9]([A-Za-z0-9._+-]{0,30}[A-Za-z0-9])?@" + kLabel + "(\\." + kLabel + "){1,3}";
    else
        return std::nullopt;
    auto made = json_pattern(builder, "^(" + pattern + ")$");
    check(made.has_value(), "formats are patterns");
    return *made;
}

}  // namespace riftjit::engine
