// Every way in which the program writes JSON, on names and texts that are no UTF-8: JSON comes out, and no signal.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/program.h"
#include "tools/cli/command_table.h"
#include "tools/program.h"

namespace riftjit::tools {
namespace json_strings_test {

using Words = std::vector<std::string>;

struct JsonOption {
    std::string command;
    Words words;  // "--json", or "--output jsonl"
    bool operator<(const JsonOption& other) const {
        return std::tie(command, words) < std::tie(other.command, other.words);
    }
};

// What the tables of options have, so that a new one is asked for here.
std::vector<JsonOption> json_options() {
    CLI::App app;
    Command chosen;
    add_commands(app, chosen);
    std::vector<JsonOption> found;
    for (const CommandEntry& entry : command_table(app))
        for (const CommandEntry::Flag& flag : entry.flags) {
            const std::string& name = flag.names.back();
            if (flag.value.empty() && name.contains("json")) found.push_back({entry.name, {name}});
            for (const std::string& value : flag.values)
                if (value.contains("json")) found.push_back({entry.name, {name, value}});
        }
    return found;
}

class JsonStrings : public testing::Test {
protected:
    JsonStrings() {
        const std::filesystem::path shipped =
            std::filesystem::path(RIFTJIT_SOURCE_DIR) / "share/models/storyteller/storyteller-9m-q8_0.gguf";
        std::filesystem::create_symlink(shipped, path("m\xff.gguf"));
        std::filesystem::create_symlink(std::filesystem::path(RIFTJIT_SOURCE_DIR) / "tests/data/folders/llama",
                                        path("f\xff"));
        std::string network = program.run({"sim", "cuba", "--print-network"}).out;
        const size_t name = network.find("name = \"cuba\"\n");  // without it, the file's
        EXPECT_NE(name, std::string::npos);
        std::ofstream(path("n\xff.toml")) << network.erase(name, network.find('\n', name) - name);
        EXPECT_EQ(program.run({"sim", path("n\xff.toml"), "--steps", "200", "--record", path("r\xff.npz")}).exit_code,
                  0);
        std::ofstream(path("k.s")) << "  .globl kernel_name\nkernel_name:\n  s_endpgm\n";
        EXPECT_EQ(program.run({"asm", path("k.s"), "--target", "gfx1100"}).exit_code, 0);
        std::string object = read_whole(path("k.co"));
        for (size_t at = 0; (at = object.find("kernel_name", at)) != std::string::npos;)
            object.replace(at, 11, "kernel\xffname");
        std::ofstream(path("k\xff.co"), std::ios::binary) << object;
        std::ofstream(path("t\xff")) << "The fox had a lamp and the lamp had a fox, and both of them were very happy.";
        std::filesystem::create_directories(path("c\xff/v1"));
        for (const char* folder : {"c\xff", "c\xff/v1"})
            std::filesystem::permissions(path(folder), std::filesystem::perms::owner_all);
        std::ofstream(path("c\xff/v1/\xff.rjk")) << "\xff";
    }

    std::string path(const std::string& name) const { return program.folder() / name; }

    // Lines with which a command comes to write names and texts; all of them are run with each of its JSON options.
    std::map<std::string, std::vector<Words>> lines() const {
        const std::string model = path("m\xff.gguf"), cache = path("c\xff"), object = path("k\xff.co");
        const Words run = {"-m", model, "-p", "fox \xff\xfe", "-n", "3", "--temp", "0"};
        const auto with = [](Words words, const Words& more) {
            words.insert(words.end(), more.begin(), more.end());
            return words;
        };
        return {{"run",
                 {run,
                  with(run, {"-no-cnv"}),
                  with(run, {"--dump-logits", path("l\xff.npy")}),
                  with(run, {"--print-plan"}),
                  {"-m", model, "--target", "gfx1100", "--predict", "-c", "16"}}},
                {"bench",
                 {{"-m", model, "-p", "4", "-n", "1", "-r", "1", "-t", "1"},
                  // An error between two results.
                  {"-m", model + "," + object + "," + model, "-p", "4", "-n", "0", "-r", "1", "-t", "1"}}},
                {"sim",
                 {{path("n\xff.toml"), "--steps", "20"},
                  {path("n\xff.toml"), "--explain"},
                  {"--neurons", "1000", "--steps", "2"}}},
                {"sim convert", {{path("r\xff.npz"), "--to", "dat", "--output", path("o\xff.dat"), "--force"}}},
                {"disasm", {{object}}},
                {"emulate", {{object, "--grid", "1", "--group", "32"}}},
                {"targets", {{}}},
                {"devices", {{}}},
                {"selftest", {{}}},
                {"inspect", {{model}, {model, "--check-tensors"}}},
                {"convert", {{path("f\xff"), path("g\xff.gguf"), "--force"}}},
                {"imatrix", {{"-m", model, "-f", path("t\xff"), "-c", "8", "-o", path("i\xff"), "--force"}}},
                {"quantize", {{path("f\xff"), path("q\xff.gguf"), "Q8_0", "--force"}, {model, "Q8_0", "--dry-run"}}},
                {"perplexity",
                 {{"-m", model, "-f", path("t\xff"), "-c", "8"},
                  {"-m", model, "-f", path("t\xff"), "-c", "8", "--kl-divergence-base", path("b\xff"), "--force"}}},
                {"embed", {{"-m", model, "-p", "fox \xff\xfe\nlamp", "--pooling", "mean"}}},
                {"tokenize", {{"-m", model, "-p", "fox \xff\xfe"}}},
                {"warm", {{model, "--isa", "avx2", "--cache-dir", path("w\xff")}}},
                {"cache stat", {{"--cache-dir", cache}}},
                {"cache ls", {{"--cache-dir", cache}}},
                {"cache verify", {{"--cache-dir", cache}}},
                {"cache prune", {{"--cache-dir", cache}}},
                {"cache clear", {{"--cache-dir", cache}}}};
    }

    // Of an option that goes with other words, or reads its texts from standard input.
    static Words words_for(const JsonOption& option, Words line, std::string& input) {
        if (option.command == "bench" && option.words[0] == "--json") line = {"--peaks", "-t", "1"};
        if (option.words[0] == "--output-err") line.insert(line.end(), {"--output", "none"});
        if (option.words[0] == "--jsonl") {
            line.resize(2);
            input = "{\"text\": \"fox\"}\nno \xff JSON\n{\"text\": 7, \"\xff\": 8}\n";
        }
        line.insert(line.end(), option.words.begin(), option.words.end());
        return line;
    }

    // The whole text, or each of its lines, is JSON, which nlohmann's parser takes of UTF-8 alone.
    static bool is_json(const std::string& text) {
        if (nlohmann::json::accept(text)) return true;
        std::istringstream stream(text);
        size_t lines = 0;
        for (std::string line; std::getline(stream, line); ++lines)
            if (!nlohmann::json::accept(line)) return false;
        return lines > 0;
    }

    static std::string without_messages(const std::string& text) {
        std::istringstream stream(text);
        std::string rest;
        for (std::string line; std::getline(stream, line);)
            if (!line.starts_with("warn: ") && !line.starts_with("error: ")) rest += line + "\n";
        return rest;
    }

    void expect_json(const JsonOption& option, const Words& line) {
        std::string input;
        Words words;
        std::istringstream names(option.command);
        for (std::string name; names >> name;) words.push_back(name);
        const Words rest = words_for(option, line, input);
        words.insert(words.end(), rest.begin(), rest.end());
        std::string shown;
        for (const std::string& word : words) shown += word + " ";
        const Outcome outcome = program.run(words, input);
        EXPECT_LT(outcome.exit_code, 128) << shown << "\n" << outcome.err;
        // What went wrong is told in its place; `cache verify` and a line that is no request end in exit code 1 with
        // both.
        EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 1) << shown << "\n" << outcome.err;
        const std::string json = option.words[0] == "--output-err" ? without_messages(outcome.err) : outcome.out;
        EXPECT_TRUE(is_json(json)) << shown << "\n" << outcome.out << outcome.err;
    }

    Program program;
};

TEST_F(JsonStrings, AreWrittenAsUtf8ByEveryCommand) {
    const auto known = lines();
    for (const JsonOption& option : json_options()) {
        const auto found = known.find(option.command);
        if (found == known.end()) {
            ADD_FAILURE() << option.command << " " << option.words.front() << ": this test knows no line for it";
            continue;
        }
        for (const Words& line : found->second) expect_json(option, line);
    }
}

TEST_F(JsonStrings, HaveTheReplacementCharacterForWhatIsNoUtf8) {
    EXPECT_TRUE(program.run({"disasm", path("k\xff.co"), "--json"}).out.contains("kernel\uFFFDname"));
    EXPECT_TRUE(program.run({"sim", path("n\xff.toml"), "--steps", "2", "--json"}).out.contains("\"n\uFFFD\""));
    EXPECT_TRUE(program.run({"cache", "stat", "--json", "--cache-dir", path("c\xff")}).out.contains("c\uFFFD"));
}

TEST_F(JsonStrings, GivenAsJsonAreUtf8) {
    const Outcome outcome = program.run({"run", "-p", "a", "-n", "1", "--chat-template-kwargs", "{\"a\": \"\xff\"}"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(outcome.err.contains("--chat-template-kwargs")) << outcome.err;
}

// A font has nothing to do with it.
TEST_F(JsonStrings, AreDrawn) {
    for (const char* flag : {"--plot", "--roofline"}) {
        const std::string picture = path(std::string(flag).substr(2) + ".svg");
        const Outcome outcome = program.run({"bench", "-m", path("m\xff.gguf"), "-p", "4", "-n", "1", "-r", "1", "-t",
                                             flag == std::string("--plot") ? "1,2" : "1", flag, picture});
        EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_TRUE(read_whole(picture).contains("<svg"));
    }
}

}  // namespace json_strings_test
}  // namespace riftjit::tools
