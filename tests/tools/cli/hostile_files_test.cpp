// Files that are no files, have no end, or are to be written over what is read: what every command does about them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/tools/program.h"

namespace riftjit::tools {
namespace hostile_files_test {

using Words = std::vector<std::string>;

class HostileFiles : public testing::Test {
protected:
    std::string path(const std::string& name) const { return program.folder() / name; }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name), std::ios::binary) << text;
        return path(name);
    }
    // Its exit code, in a shell with $riftjit and this folder.
    int shell(const std::string& script) const {
        const std::string file =
            write("script.sh", "export RIFTJIT_CACHE_DIR=" + path("cache") + "\ncd " + program.folder().string() +
                                   "\nriftjit=" + RIFTJIT_BINARY + "\n" + script + "\n");
        const int status = std::system(("bash " + file).c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    std::string refusal(const Words& words) {
        const Outcome outcome = program.run_within(20, words);
        EXPECT_EQ(outcome.exit_code, 1) << words[0] << " " << words[1];
        EXPECT_EQ(outcome.out, "");
        return outcome.err;
    }
    // Options that name a file to be read whole; where the file's name goes.
    static std::vector<Words> readers() {
        return {{"run", "-f", "FILE"},
                {"run", "--binary-file", "FILE"},
                {"run", "-p", "a", "-sysf", "FILE"},
                {"run", "-p", "a", "--chat-template-file", "FILE"},
                {"asm", "FILE", "--target", "gfx1100", "-o", "/dev/null"},
                {"disasm", "FILE"},
                {"emulate", "FILE", "--grid", "1", "--group", "32"}};
    }
    static Words named(Words words, const std::string& file) {
        std::ranges::replace(words, "FILE", file);
        return words;
    }
    static std::vector<Words> model_readers() {
        return {{"run", "-p", "a", "-m", "FILE"},      {"run", "-p", "a", "-md", "FILE"},     {"inspect", "FILE"},
                {"tokenize", "-p", "a", "-m", "FILE"}, {"bench", "-o", "none", "-m", "FILE"}, {"warm", "FILE"}};
    }

    Program program;
};

TEST_F(HostileFiles, OfDevicesAndFifosAreRefusedByWhatTheyAre) {
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    for (const Words& reader : readers()) {
        EXPECT_EQ(refusal(named(reader, "/dev/zero")),
                  "error: /dev/zero is a device, not a file: it may have no end\n");
        EXPECT_EQ(refusal(named(reader, path("fifo"))),
                  "error: " + path("fifo") + " is a FIFO, not a file: it may have no end\n");
    }
    for (const Words& reader : model_readers()) {
        EXPECT_TRUE(
            refusal(named(reader, "/dev/zero")).contains("/dev/zero: is a character device, not a regular file"));
        EXPECT_TRUE(refusal(named(reader, path("fifo"))).contains(": is a FIFO, not a regular file"));
    }
}

TEST_F(HostileFiles, FromShellsAndStandardInputAreRead) {
    write("prompt", "Once upon a time");
    const std::string run = "$riftjit run -n 2 --temp 0 --no-perf ";
    EXPECT_EQ(
        shell(run + "-f prompt > a && " + run + "-f <(cat prompt) > b && " + run + "-f /dev/stdin < prompt > c && " +
              "cat prompt | " + run + "-f /dev/stdin > d && cmp a b && cmp a c && cmp a d"),
        0);
    write("k.s", "  .globl k\nk:\n  s_endpgm\n");
    EXPECT_EQ(shell("$riftjit asm <(cat k.s) --target gfx1100 -o - | $riftjit disasm /dev/stdin > listing"), 0);
}

TEST_F(HostileFiles, WithoutAnEndAreReadAsFarAsTheLimit) {
    for (const char* command : {"run -f /dev/stdin", "run", "tokenize --stdin", "tokenize --jsonl",
                                "run -p a -sysf /dev/stdin", "run -f <(cat /dev/zero)"}) {
        // The memory is the limit's, its copies', and the model's.
        EXPECT_EQ(shell("(ulimit -v 1000000; exec $riftjit " + std::string(command) + " < /dev/zero > out 2> err)"), 1);
        const std::string err = read_whole(path("err"));
        EXPECT_TRUE(err.contains("33554432 bytes")) << command << ": " << err;
    }
}

TEST_F(HostileFiles, ThatAreReadAreNotWritten) {
    const std::filesystem::path shipped =
        std::filesystem::path(RIFTJIT_SOURCE_DIR) / "share/models/storyteller/storyteller-9m-q8_0.gguf";
    std::filesystem::copy_file(shipped, path("m.gguf"));
    std::filesystem::create_symlink(path("m.gguf"), path("link"));
    std::filesystem::create_hard_link(path("m.gguf"), path("other"));
    const auto size = std::filesystem::file_size(path("m.gguf"));
    for (const char* name : {"m.gguf", "link", "other", "./m.gguf"})
        EXPECT_EQ(refusal({"run", "-m", path("m.gguf"), "--prompt-ids", "1", "--dump-logits", path(name)}),
                  "error: --dump-logits " + path(name) + ": the logits would replace the model\n");
    EXPECT_EQ(refusal({"run", "--prompt-ids", "1", "-md", path("m.gguf"), "--dump-logits", path("link")}),
              "error: --dump-logits " + path("link") + ": the logits would replace the file of -md\n");
    EXPECT_EQ(std::filesystem::file_size(path("m.gguf")), size);
    const std::string text = write("text", "{{ messages }}");
    for (const Words& words :
         {Words{"-f", text}, {"-bf", text}, {"-p", "a", "-sysf", text}, {"-p", "a", "--chat-template-file", text}}) {
        Words all = {"run", "--dump-logits", text};
        all.insert(all.end(), words.begin(), words.end());
        EXPECT_EQ(refusal(all), "error: --dump-logits " + text + ": the logits would replace the file of " +
                                    words[words.size() - 2] + "\n");
    }
    EXPECT_EQ(read_whole(text), "{{ messages }}");
    std::filesystem::rename(path("m.gguf"), path("m.svg"));
    for (const char* flag : {"--plot", "--roofline"})
        EXPECT_EQ(refusal({"bench", "-m", path("m.svg"), "-t", flag == std::string("--plot") ? "1,2" : "1", flag,
                           path("m.svg"), "--force"}),
                  "error: " + std::string(flag) + " " + path("m.svg") + ": the picture would replace the model\n");
    EXPECT_EQ(std::filesystem::file_size(path("m.svg")), size);
    write("k.s", "  .globl k\nk:\n  s_endpgm\n");
    EXPECT_TRUE(refusal({"asm", path("k.s"), "--target", "gfx1100", "-o", path("k.s")}).contains("would replace"));
}

// Every file that a command writes: an old one stays, and nothing else is left beside it.
TEST_F(HostileFiles, ThatCannotBeWrittenLeaveTheOldOneWhole) {
    std::string source = "  .globl k\n  .kernarg_size 8\nk:\n";
    for (int i = 0; i < 2000; ++i) source += "  s_nop 0\n";
    write("k.s", source + "  s_endpgm\n");
    ASSERT_EQ(shell("$riftjit asm k.s --target gfx1100"), 0);
    std::filesystem::create_directories(path("full"));
    const struct {
        const char *file, *command, *message;
    } writers[] = {
        {"logits", "run --prompt-ids 1,2 --cache-mode off --dump-logits full/logits", "full/logits: File too large"},
        {"k.co", "asm k.s --target gfx1100 -o full/k.co", "cannot write full/k.co: File too large"},
        {"buffer", "emulate k.co --grid 1 --group 32 --buffer zero:100000 --out 0:full/buffer",
         "cannot write full/buffer: File too large"},
        {"p.svg", "bench -p 4 -n 0 -r 1 -t 1,2 -o none --cache-mode off --force --plot full/p.svg",
         "full/p.svg: File too large"},
    };
    for (const auto& writer : writers) {
        const std::string name = std::string("full/") + writer.file;
        write(name, "precious");
        EXPECT_EQ(shell("(ulimit -f 1; exec $riftjit " + std::string(writer.command) + " > out 2> err)"), 1) << name;
        const std::string err = read_whole(path("err"));
        EXPECT_TRUE(err.contains(writer.message)) << name << ": " << err;
        // On a busy machine bench warns before it, which is no fault.
        const std::string from_error = err.substr(std::min(err.find("error: "), err.size()));
        EXPECT_EQ(std::ranges::count(from_error, '\n'), 1) << err;
        EXPECT_EQ(read_whole(path(name)), "precious") << name;
        std::filesystem::remove(path(name));
        EXPECT_TRUE(std::filesystem::is_empty(path("full"))) << name;
    }
}

TEST_F(HostileFiles, ReplaceWhatALinkLeadsTo) {
    write("old", "precious");
    std::filesystem::create_symlink("old", path("link"));
    EXPECT_EQ(program.run({"run", "--prompt-ids", "1,2", "--dump-logits", path("link"), "--no-perf"}).exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
    EXPECT_TRUE(read_whole(path("old")).starts_with("\x93NUMPY"));
}

TEST_F(HostileFiles, ThatAreFullAreNamedByEveryCommandThatPrints) {
    write("k.s", "  .globl k\nk:\n  s_endpgm\n");
    ASSERT_EQ(shell("$riftjit asm k.s --target gfx1100"), 0);
    for (const char* command : {"--help",
                                "--version",
                                "run --help",
                                "run --usage",
                                "cache --help",
                                "cache stat",
                                "cache ls",
                                "cache ls --json",
                                "cache verify",
                                "cache prune",
                                "cache clear",
                                "targets",
                                "targets --json",
                                "devices",
                                "inspect",
                                "tokenize -p a",
                                "tokenize -p a --json",
                                "disasm k.co",
                                "disasm k.co --json",
                                "emulate k.co --grid 1 --group 32",
                                "man-page",
                                "completion bash",
                                "run -p a -n 2 --json",
                                "run -p a --print-plan",
                                "run --dump-isa swiglu"}) {
        EXPECT_EQ(shell("$riftjit " + std::string(command) + " > /dev/full 2> err"), 1) << command;
        EXPECT_TRUE(read_whole(path("err")).ends_with("error: standard output: No space left on device\n"))
            << command << ": " << read_whole(path("err"));
    }
}

}  // namespace hostile_files_test
}  // namespace riftjit::tools
