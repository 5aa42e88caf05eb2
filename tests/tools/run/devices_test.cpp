// --device and `riftjit devices`, with a card that is the software machine behind HIP's stand-in (tests/hip_stand_in).
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace devices_test {

const std::string kLibrary = RIFTJIT_HIP_STAND_IN "/whole/libamdhip64.so.7";

// What programs started meanwhile find in their environment.
using Variables = std::vector<std::pair<std::string, std::string>>;
class Environment {
public:
    explicit Environment(Variables variables) : variables_(std::move(variables)) {
        for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
    }
    ~Environment() {
        for (const auto& [name, value] : variables_) unsetenv(name.c_str());
    }
    Environment(const Environment&) = delete;

private:
    Variables variables_;
};

Environment stand_in(const std::string& what) {
    return Environment(Variables{{"RIFTJIT_HIP_LIBRARY", kLibrary}, {"RIFTJIT_STAND_IN", what}});
}

std::string line_of(const std::string& text, const std::string& start) {
    const size_t at = ("\n" + text).find("\n" + start);
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(Devices, AreListedWithWhatIsInTheWay) {
    const auto environment = stand_in("devices=gfx1100+gfx906+gfx1036");
    Program program;
    const Outcome outcome = program.run({"devices"});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(line_of(outcome.out, "cpu "), "");
    EXPECT_EQ(line_of(outcome.out, "hip:0"), "hip:0       Software machine, gfx1100, 8589934592 bytes");
    EXPECT_TRUE(line_of(outcome.out, "hip:1").ends_with(": no code is generated for gfx906, see riftjit targets"));
    EXPECT_TRUE(line_of(outcome.out, "hip:2").ends_with(": integrated, and so taken only as --device hip:2"));
    EXPECT_EQ(program.run({"run", "--list-devices"}).out, outcome.out);

    const auto json = nlohmann::json::parse(program.run({"devices", "--json"}).out);
    EXPECT_EQ(json.at("hip").at("library"), kLibrary);
    EXPECT_EQ(json.at("hip").at("devices").size(), 3u);
    EXPECT_EQ(json.at("hip").at("devices")[1].at("used"), "never");
    EXPECT_EQ(json.at("hip").at("devices")[2].at("gfx"), "gfx1036");
    EXPECT_FALSE(json.at("cpu").at("levels").empty());
}

// Where the system looks for libraries, by the name of a release.
TEST(Devices, AreThoseOfTheLibraryThatTheSystemFinds) {
    const Environment environment(Variables{{"LD_LIBRARY_PATH", RIFTJIT_HIP_STAND_IN "/whole"}});
    Program program;
    EXPECT_NE(line_of(program.run({"devices"}).out, "hip:0"), "");
    const auto json = nlohmann::json::parse(program.run({"devices", "--json"}).out);
    EXPECT_EQ(json.at("hip").at("library"), "libamdhip64.so.7");
}

TEST(Devices, AreRefusedInOneLine) {
    struct Case {
        Variables environment;
        std::vector<std::string> arguments;
        std::string error;
    };
    const std::pair<std::string, std::string> library{"RIFTJIT_HIP_LIBRARY", kLibrary};
    const std::string lacking = RIFTJIT_HIP_STAND_IN "/lacking/libamdhip64.so.7";
    const std::vector<Case> cases = {
        {{{"RIFTJIT_HIP_LIBRARY", "/nowhere.so"}}, {"--device", "hip"}, "HIP: /nowhere.so: cannot open shared object"},
        {{{"RIFTJIT_HIP_LIBRARY", lacking}}, {"--device", "hip"}, lacking + " lacks hipEventCreateWithFlags"},
        {{library, {"RIFTJIT_STAND_IN", "devices="}}, {"--device", "hip"}, "HIP: hipInit: no ROCm-capable device"},
        {{library, {"RIFTJIT_STAND_IN", "devices=gfx906"}}, {"--device", "hip"}, "no device that can be used: hip:0"},
        {{library, {"RIFTJIT_STAND_IN", "devices=gfx906+gfx1100"}},
         {"--device", "hip:0"},
         "hip:0 (Software machine, gfx906): no code is generated for gfx906"},
        {{library}, {"--device", "hip:2"}, "--device hip:2: there is no such device; there are hip:0"},
        {{library, {"RIFTJIT_HIP_PATIENCE", "soon"}}, {"--device", "hip"}, "RIFTJIT_HIP_PATIENCE: expected seconds"},
        {{}, {"--device", "hip:x"}, "\"hip:x\" is not known, expected cpu, hip, hip:N or emulate:TARGET"},
        {{}, {"-dev", "emulate:gfx9"}, "\"--device\": \"gfx9\" is not known, expected one of gfx1030, "},
        {{}, {"--check", "none"}, "--check changes nothing with --device cpu, only with emulate:TARGET"},
        {{}, {"--target", "gfx1100"}, "--target gfx1100: goes with --dump-isa or --print-plan"},
        {{}, {"--target", "gfx1"}, "\"--target\": \"gfx1\" is not known, expected one of gfx1030, "},
    };
    Program program;
    for (const Case& each : cases) {
        const Environment environment(each.environment);
        std::vector<std::string> arguments = {"run", "-p", "a", "-n", "1"};
        arguments.insert(arguments.end(), each.arguments.begin(), each.arguments.end());
        const Outcome outcome = program.run(arguments);
        EXPECT_EQ(outcome.exit_code, 1) << each.error;
        EXPECT_EQ(outcome.out, "") << each.error;
        EXPECT_TRUE(outcome.err.starts_with("error: ")) << outcome.err;
        EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
        EXPECT_NE(outcome.err.find(each.error), std::string::npos) << outcome.err;
    }
}

TEST(Devices, AreNotMeasuredInTheirPlace) {
    Program program;
    const auto error = [&](const std::vector<std::string>& arguments) {
        std::vector<std::string> all = {"bench"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const Outcome outcome = program.run(all);
        EXPECT_EQ(outcome.exit_code, 1);
        return outcome.err;
    };
    EXPECT_EQ(error({"--device", "emulate:gfx1100"}),
              "error: --device emulate:gfx1100: the time that the software machine takes says nothing of a GPU's\n");
    EXPECT_EQ(error({"--device", "hip", "--peaks"}),
              "error: --peaks measures the processor, and --device hip is none\n");
    EXPECT_EQ(error({"--device", "hip:1", "-t", "1"}),
              "error: -t: the processor's threads compute nothing with --device hip:1\n");
}

TEST(Devices, TakeNoPlanFromAnotherTarget) {
    Program program;
    const Outcome here = program.run({"run", "--print-plan", "--max-isa", "avx2"}),
                  named = program.run({"run", "--print-plan", "--target", "avx2", "--device", "emulate:gfx1100"});
    EXPECT_EQ(here.exit_code, 0) << here.err;
    EXPECT_EQ(named.exit_code, 0) << named.err;
    // Of a context of its own: the arena is for as many rows as fit it.
    EXPECT_EQ(std::ranges::count(here.out, '\n'), std::ranges::count(named.out, '\n'));
}

}  // namespace devices_test
}  // namespace riftjit::tools
