// --device and `riftjit devices`, with a card that is the software machine behind HIP's stand-in (tests/hip_stand_in).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

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
        {{}, {"--target", "gfx1100"}, "--target gfx1100: goes with --dump-isa, --print-plan or --predict"},
        {{},
         {"--target", "gfx1100,gfx1030", "--print-plan"},
         "--target gfx1100,gfx1030: --dump-isa and --print-plan are for one target"},
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
    EXPECT_EQ(error({"--check", "none"}),
              "error: --check changes nothing with --device cpu, only with emulate:TARGET\n");
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

// ---- whole runs ----------------------------------------------------------------------------------------------------

std::string nano(const std::string& type) {
    return std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/nano/nano-" + type + ".gguf";
}

std::vector<std::string> short_run(const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", "-m", model, "--prompt-ids", "5,60,7,33,2", "-n",
                                          "4",   "-c", "64",  "--temp",       "0",           "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

std::string error_line(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    std::string line;
    std::istringstream lines(outcome.err);
    for (std::string each; std::getline(lines, each);) {
        if (each.starts_with("hip:0 (Software machine, gfx1100): ") && each.ends_with("are free")) continue;
        EXPECT_EQ(line, "") << outcome.err;
        line = each;
    }
    EXPECT_TRUE(line.starts_with("error: ")) << outcome.err;
    return line;
}

TEST(Devices, GiveTheProcessorsLogits) {
    Program program;
    for (const std::string type : {"q8_0", "q4_k", "bf16"}) {
        const auto hash = [&](const std::vector<std::string>& more) {
            const Outcome outcome = program.run(short_run(nano(type), more));
            EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
            if (outcome.exit_code != 0) return std::string();
            const auto json = nlohmann::json::parse(outcome.out);
            EXPECT_TRUE(more.back() == "avx2" || json.at("device").get<std::string>().contains("gfx1100"));
            return json.at("logits_hash").get<std::string>();
        };
        const std::string expected = hash({"--max-isa", "avx2"});
        EXPECT_EQ(hash({"--check", "none", "-t", "2", "--device", "emulate:gfx1100"}), expected) << type;
        if (type == "q4_k") {
            EXPECT_EQ(hash({"--device", "emulate:gfx1100"}), expected) << "checked";
        }
        const auto environment = stand_in("checks=none");
        EXPECT_EQ(hash({"--device", "hip"}), expected) << type;
    }
}

// On an NVIDIA GPU by way of PTX (tests/hip_stand_in/ptx), whose place the host takes.
TEST(Devices, GiveTheProcessorsLogitsByWayOfPtx) {
    Program program;
    const Environment environment(
        Variables{{"RIFTJIT_HIP_LIBRARY", kLibrary},
                  {"RIFTJIT_STAND_IN", "devices=gfx1030,machine=" RIFTJIT_HIP_STAND_IN "_cuda"},
                  {"RIFTJIT_CUDA_LIBRARY", RIFTJIT_HIP_STAND_IN "/libcuda.so.1"}});
    const std::vector<std::string> codes = {"-ctk", "q8_0", "-ctv", "q8_0"};
    for (const auto& [type, cache] : {std::pair{"q8_0", codes}, {"q4_k", {}}, {"iq4_xs", codes}, {"f16", {}}}) {
        const auto hash = [&](std::vector<std::string> more) {
            more.insert(more.end(), cache.begin(), cache.end());
            const Outcome outcome = program.run(short_run(nano(type), more));
            EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
            return outcome.exit_code != 0 ? "" : nlohmann::json::parse(outcome.out).at("logits_hash").dump();
        };
        EXPECT_EQ(hash({"--device", "hip"}), hash({"--max-isa", "avx2"})) << type;
    }
}

TEST(Devices, NeedNoCompilerOnceTheCacheIsWarm) {
    Program program;
    const std::string model = nano("q4_k");
    ASSERT_EQ(program.run({"warm", model, "--target", "gfx1030,gfx1201"}).exit_code, 0);
    const auto required = [&](const std::string& device) {
        return program.run(short_run(model, {"--cache-mode", "require", "--check", "none", "--device", device}));
    };
    for (const char* device : {"emulate:gfx1030", "emulate:gfx1201"}) {
        const Outcome outcome = required(device);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        if (outcome.exit_code != 0) continue;
        EXPECT_EQ(nlohmann::json::parse(outcome.out).at("cache").at("misses"), 0);
    }
    EXPECT_EQ(required("emulate:gfx1100").exit_code, 4);

    for (const auto& entry : std::filesystem::recursive_directory_iterator(program.folder() / "cache"))
        if (entry.is_regular_file()) std::filesystem::resize_file(entry, entry.file_size() / 2);
    EXPECT_EQ(required("emulate:gfx1030").exit_code, 4);
    const Outcome repaired = program.run(short_run(model, {"--check", "none", "--device", "emulate:gfx1030"}));
    EXPECT_EQ(repaired.exit_code, 0) << repaired.err;
    EXPECT_NE(repaired.err.find("; compiling instead\n"), std::string::npos) << repaired.err;
    EXPECT_EQ(repaired.err.find("warn: "), repaired.err.rfind("warn: ")) << repaired.err;
    EXPECT_EQ(required("emulate:gfx1030").exit_code, 0);
}

TEST(Devices, ShowTheCodeOfAnyGpu) {
    Program program;
    for (const char* target : {"gfx1030", "gfx1151", "gfx1200"}) {
        const Outcome outcome = program.run({"run", "-m", nano("q4_k"), "--target", target, "--dump-isa", "swiglu"});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_NE(outcome.out.find(std::string("; target       ") + target), std::string::npos);
        EXPECT_NE(outcome.out.find(" waves per SIMD\n"), std::string::npos);
        std::ofstream(program.folder() / "swiglu.s") << outcome.out;
        const Outcome assembled = program.run(
            {"asm", program.folder() / "swiglu.s", "--target", target, "-o", program.folder() / "swiglu.co"});
        EXPECT_EQ(assembled.exit_code, 0) << assembled.err;
        EXPECT_EQ(program.run({"run", "-m", nano("q4_k"), "--target", target, "--print-plan"}).exit_code, 0);
    }
}

TEST(Predictions, AreCountedPerKernelAndToken) {
    Program program;
    const auto predict = [&](const std::string& targets, const std::string& context) {
        const Outcome outcome =
            program.run({"run", "-m", nano("q4_k"), "-c", context, "--target", targets, "--json", "--predict"});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return outcome.exit_code == 0 ? nlohmann::json::parse(outcome.out) : nlohmann::json();
    };
    const auto json = predict("gfx1100,gfx1030,gfx1103", "300");
    ASSERT_TRUE(json.contains("predictions"));
    EXPECT_TRUE(json.at("what").get<std::string>().starts_with("bounds from counts, not measurements"));
    EXPECT_EQ(json.at("position"), 299);
    ASSERT_EQ(json.at("predictions").size(), 3u);
    const std::vector<std::pair<std::string, size_t>> expected = {{"gfx1100", 2}, {"gfx1030", 3}, {"gfx1103", 0}};
    for (size_t i = 0; i < expected.size(); ++i) {
        const auto& of_target = json.at("predictions")[i];
        EXPECT_EQ(of_target.at("target"), expected[i].first);
        EXPECT_EQ(of_target.at("cards").size(), expected[i].second);
        uint64_t least = 0, lines = 0, launches = 0;
        for (const auto& kernel : of_target.at("kernels")) {
            least += kernel.at("least_bytes").get<uint64_t>();
            launches += kernel.at("launches").get<uint64_t>();
            EXPECT_GT(kernel.at("slots").at("valu"), 0) << kernel;
            EXPECT_GT(kernel.at("bytes_in_flight_per_wave"), 0) << kernel;
            EXPECT_EQ(kernel.at("scratch_bytes"), 0) << kernel;
            EXPECT_GE(kernel.at("waves_per_simd"), 8) << kernel;
            // Nothing is computed from bytes that were never read.
            EXPECT_GE(kernel.at("asked_bytes"), kernel.at("least_bytes")) << kernel;
            EXPECT_GE(kernel.at("line_bytes"), kernel.at("least_bytes")) << kernel;
            EXPECT_EQ(kernel.at("line_bytes").get<uint64_t>() % 128, 0u) << kernel;
            lines += kernel.at("line_bytes").get<uint64_t>();
        }
        EXPECT_EQ(of_target.at("token").at("least_bytes"), least);
        EXPECT_EQ(of_target.at("token").at("line_bytes"), lines);
        EXPECT_EQ(of_target.at("token").at("launches"), launches);
        for (const auto& card : of_target.at("cards")) {
            const auto& bound = card.at("token");
            EXPECT_GE(bound.at("either_us"), bound.at("memory_us"));
            EXPECT_GE(bound.at("either_us"), bound.at("issue_us"));
            EXPECT_NEAR(bound.at("memory_us"), 1e-3 * double(least) / card.at("gb_per_second").get<double>(), 1e-6);
            EXPECT_EQ(card.at("kernels").size(), of_target.at("kernels").size());
        }
    }
    // Positions that are read count: keys and values of f16.
    const auto shorter = predict("gfx1100", "200");
    ASSERT_TRUE(shorter.contains("predictions"));
    const auto least_of = [](const nlohmann::json& of) {
        return of.at("predictions")[0].at("token").at("least_bytes").get<uint64_t>();
    };
    const uint64_t of_100_positions = least_of(json) - least_of(shorter);
    EXPECT_EQ(of_100_positions % 100, 0u);
    EXPECT_GT(of_100_positions, 0u);

    const Outcome text = program.run({"run", "-m", nano("q4_k"), "-c", "300", "--predict", "--target", "gfx1100"});
    EXPECT_EQ(text.exit_code, 0) << text.err;
    EXPECT_TRUE(text.out.starts_with("bounds from counts, not measurements")) << text.out;
    EXPECT_NE(line_of(text.out, "RX 7900 XTX"), "");
}

TEST(Predictions, AreOfGpusThatAreNamed) {
    Program program;
    EXPECT_EQ(error_line(program.run({"run", "--predict"})),
              "error: --predict: expected a number of tokens, or --target with the GPUs to predict for");
    EXPECT_EQ(error_line(program.run({"run", "--target", "gfx1100,avx2", "--predict"})),
              "error: --target x86_64-avx2: --predict is of GPUs; riftjit bench measures processors");
}

TEST(Predictions, LeaveANumberOfTokensWhatItWas) {
    Program program;
    const Outcome outcome = program.run(short_run(nano("q4_k"), {"--predict", "2"}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(outcome.out).at("ids").size(), 2u);
    for (const char* all : {"-1", "-2"})
        EXPECT_EQ(program.run({"run", "-m", nano("q4_k"), "--prompt-ids", "5", "-c", "8", "-n", all}).exit_code, 0);
}

TEST(Devices, NameAKernelThatHasNoEnd) {
    const Environment environment(
        Variables{{"RIFTJIT_HIP_LIBRARY", kLibrary}, {"RIFTJIT_STAND_IN", "hang=9"}, {"RIFTJIT_HIP_PATIENCE", "1"}});
    Program program;
    const std::string line = error_line(program.run(short_run(nano("q8_0"), {"--device", "hip"})));
    EXPECT_NE(line.find("rj_"), std::string::npos) << line;
    EXPECT_TRUE(line.ends_with(" has not ended within 1 seconds (RIFTJIT_HIP_PATIENCE)")) << line;
}

TEST(Devices, LoadNothingThatWillNotFit) {
    const auto environment = stand_in("");
    Program program;
    const std::string line = error_line(program.run({"run", "-m", nano("q8_0"), "--prompt-ids", "1", "-n", "1", "-c",
                                                     "20000000", "--device", "hip", "--log-verbosity", "1"}));
    EXPECT_NE(line.find(" KV cache of 20000000 positions (-c), "), std::string::npos) << line;
    EXPECT_TRUE(line.ends_with(" of 8589934592 are free")) << line;
}

TEST(Devices, SayWhatChangesNothingOnThem) {
    const auto environment = stand_in("");
    Program program;
    const Outcome outcome =
        program.run(short_run(nano("q8_0"), {"--device", "hip", "-t", "3", "-ngl", "99", "--perf-map"}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.err.find("warn: -t 3: the processor's threads compute nothing with --device hip\n"),
              std::string::npos);
    EXPECT_NE(outcome.err.find("warn: --perf-map: names the processor's code alone, not that of hip\n"),
              std::string::npos);
    EXPECT_EQ(outcome.err.find("-ngl"), std::string::npos);
}

}  // namespace devices_test
}  // namespace riftjit::tools
