// `riftjit perplexity` beside what llama-perplexity printed of the same files (tests/data/make/make_perplexity.py).
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/host/scratch.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace perplexity_command_test {

using nlohmann::json;

const std::string kSource = RIFTJIT_SOURCE_DIR "/";
const std::string kData = kSource + "tests/data/perplexity/";
const std::string kText = kData + "stories.txt";
const std::string kNano = kSource + "tests/data/nano/nano-";

json recorded() {
    std::ifstream file(kData + "llama_perplexity.json");
    return json::parse(file);
}

class PerplexityCommand : public testing::Test {
protected:
    Outcome perplexity(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "perplexity");
        return program_.run(arguments);
    }
    json measured(std::vector<std::string> arguments) {
        arguments.emplace_back("--json");
        const Outcome outcome = perplexity(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        return json::parse(outcome.out, nullptr, false);
    }
    std::string path(const std::string& name) const { return (program_.folder() / name).string(); }
    Program program_;
};

TEST_F(PerplexityCommand, IsThePeersWithinHalfAPercent) {
    const json peer_runs = recorded()["runs"];
    EXPECT_EQ(peer_runs.size(), 6u);
    for (const json& run : peer_runs) {
        std::vector<std::string> arguments = {"-m", kSource + run["model"].get<std::string>(), "-f", kText,
                                              "-c", std::to_string(run["context"].get<int>())};
        if (run.contains("chunks")) arguments.insert(arguments.end(), {"--chunks", run["chunks"].dump()});
        if (run.contains("stride")) arguments.insert(arguments.end(), {"--ppl-stride", run["stride"].dump()});
        const json found = measured(arguments);
        ASSERT_EQ(found["running_ppl"].size(), run["running"].size()) << run.dump();
        for (size_t i = 0; i < run["running"].size(); ++i) {
            const double peer = run["running"][i];
            EXPECT_NEAR(found["running_ppl"][i], peer, 0.005 * peer) << run.dump() << i;
        }
        if (!run.contains("ppl")) continue;
        EXPECT_NEAR(found["ppl"], run["ppl"].get<double>(), 0.005 * run["ppl"].get<double>());
        EXPECT_NEAR(found["ppl_error"], run["error"].get<double>(), 0.01 * run["error"].get<double>());
    }
}

TEST_F(PerplexityCommand, PrintsWhatScriptsLookFor) {
    const std::vector<std::string> short_run = {"-m", kNano + "q8_0.gguf", "-f", kText, "-c", "64", "--chunks", "2"};
    const Outcome outcome = perplexity(short_run);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(matches(outcome.out,
                        "^\\[1\\][0-9]+\\.[0-9]{4},\\[2\\][0-9]+\\.[0-9]{4},\nFinal estimate: PPL = [0-9]+\\.[0-9]{4} "
                        "\\+/- [0-9]+\\.[0-9]{5}\n$"));
    auto with_lines = short_run;
    with_lines.insert(with_lines.end(), {"--ppl-output-type", "1"});
    EXPECT_TRUE(matches(perplexity(with_lines).out,
                        "^       0  [0-9]+\\.[0-9]{4}  [0-9.]+  [0-9.]+\n      64  [0-9]+\\.[0-9]{4}"));
    // The same bits with any number of threads and rows of a step.
    const json once = measured(short_run);
    auto other = short_run;
    other.insert(other.end(), {"-t", "3", "-ub", "17"});
    EXPECT_EQ(measured(other), once);
}

TEST_F(PerplexityCommand, ComparesWithThePeersBaseFile) {
    const json peer = recorded()["divergence"];
    const json found =
        measured({"-m", kNano + "q4_k.gguf", "--kl-divergence-base", kData + "nano-q8_0.kld", "--kl-divergence"});
    const auto expect_near = [&](const char* name, const char* peers, double share) {
        const double value = peer[peers][0];
        EXPECT_NEAR(found[name], value, share * value) << name;
    };
    expect_near("base_ppl", "Mean PPL(base)", 1e-5);  // the file's own
    expect_near("ppl", "Mean PPL(Q)", 0.01);          // of a model that knows nothing: its logits are all noise
    expect_near("kld", "Mean    KLD", 0.02);
    expect_near("delta_p_rms", "RMS Δp", 10);
    EXPECT_NEAR(100 * found["delta_p_rms"].get<double>(), peer["RMS Δp"][0].get<double>(), 0.01);
    EXPECT_NEAR(100 * found["same_top_p"].get<double>(), peer["Same top p"][0].get<double>(), 3);
    EXPECT_NEAR(found["kld_percentiles"]["50"], peer["Median  KLD"][0].get<double>(), 0.004);
    const Outcome table =
        perplexity({"-m", kNano + "q4_k.gguf", "--kl-divergence-base", kData + "nano-q8_0.kld", "--kl-divergence"});
    EXPECT_TRUE(matches(table.out, "\n   4 +[0-9.]+ ± +[0-9.]+ +0\\.[0-9]{5} ± "));
    EXPECT_TRUE(matches(table.out, "\nSame top p: [0-9.]+ ± [0-9.]+ %\n$"));
}

TEST_F(PerplexityCommand, WritesBaseFilesAsThePeerDoes) {
    const std::vector<std::string> write = {
        "-m", kNano + "q8_0.gguf", "-f", kText, "-c", "64", "--chunks", "4", "--kl-divergence-base", path("base.kld")};
    ASSERT_EQ(perplexity(write).exit_code, 0);
    const std::string ours = read_whole(path("base.kld")), peers = read_whole(kData + "nano-q8_0.kld");
    ASSERT_EQ(ours.size(), peers.size());
    const size_t head = 20 + 4 * 64 * 4;
    EXPECT_EQ(ours.substr(0, head), peers.substr(0, head));
    const json same =
        measured({"-m", kNano + "q8_0.gguf", "--kl-divergence-base", path("base.kld"), "--kl-divergence"});
    EXPECT_LT(same["kld"], 1e-7);
    EXPECT_EQ(same["same_top_p"], 1);
    const json other =
        measured({"-m", kNano + "q8_0.gguf", "--kl-divergence-base", kData + "nano-q8_0.kld", "--kl-divergence"});
    EXPECT_LT(other["kld"], 1e-3);
    const Outcome refused = perplexity(write);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(has_text(refused.err, "exists; --force overwrites it"));
    EXPECT_EQ(read_whole(path("base.kld")), ours);
}

TEST_F(PerplexityCommand, RefusesWhatCannotBe) {
    std::ofstream(path("short.txt")) << "Too short.";
    const std::string nano = kNano + "q8_0.gguf", kld = kData + "nano-q8_0.kld";
    struct Refused {
        std::vector<std::string> arguments;
        std::string message;
    };
    const std::vector<Refused> cases = {
        {{"-m", nano}, "no text: give -f FILE"},
        {{"-m", nano, "-f", path("absent.txt")}, "No such file or directory"},
        {{"-m", nano, "-f", path("short.txt")}, "tokens: at least 1024 are needed for windows of 512 (-c)"},
        {{"-m", nano, "-f", kText, "-c", "0"}, "0 is out of range"},
        {{"-m", nano, "-f", kText, "--chunks", "0"}, "--chunks 0: nothing would be read"},
        {{"-m", nano, "-f", kText, "-c", "64", "--ppl-stride", "65"}, "--ppl-stride 65: is above the context of 64"},
        {{"-m", nano, "-f", kText, "--ppl-stride", "8", "--kl-divergence-base", path("x")}, "do not overlap"},
        {{"-m", nano, "-f", kText, "--kl-divergence"}, "--kl-divergence-base FILE says what to compare with"},
        {{"-m", nano, "--kl-divergence", "--kl-divergence-base", kText}, "no file of log-probabilities"},
        {{"-m", nano, "--kl-divergence", "--kl-divergence-base", path("absent")}, "No such file or directory"},
        {{"--kl-divergence", "--kl-divergence-base", kld},
         "was made with a vocabulary of 512, the model has one of 4096"},
        {{"-m", nano, "-f", kText, "--kl-divergence-base", path("nowhere/x")}, "there is no folder"},
    };
    for (const auto& [arguments, message] : cases) {
        const Outcome outcome = perplexity(arguments);
        EXPECT_EQ(outcome.exit_code, 1) << message;
        EXPECT_EQ(outcome.out, "") << message;
        EXPECT_TRUE(has_text(outcome.err, message)) << message << ": " << outcome.err;
    }
    const Outcome unread =
        perplexity({"-m", nano, "-f", path("absent"), "-c", "32", "--kl-divergence", "--kl-divergence-base", kld});
    EXPECT_EQ(unread.exit_code, 0);
    EXPECT_TRUE(has_text(unread.err, "is not read, the text's tokens are in the base file"));
    EXPECT_TRUE(has_text(unread.err, "-c 32: is not taken, the base file has chunks of 64 tokens"));
}

}  // namespace perplexity_command_test
}  // namespace riftjit::tools
