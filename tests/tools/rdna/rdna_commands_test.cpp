// riftjit asm, disasm and targets, as a user runs them.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/tools/program.h"
#include "tests/tools/terminal.h"

namespace riftjit::tools {
namespace rdna_commands_test {

constexpr const char* kFill =
    "    .text\n"
    "    .globl fill\n"
    "    .kernarg_size 8\n"
    "fill:\n"
    "    s_load_b64 s[2:3], s[0:1], 0x8\n"
    "    v_lshlrev_b32 v1, 2, v0\n"
    "    s_waitcnt lgkmcnt(0)\n"
    "    s_cbranch_scc0 done_already\n"
    "    global_store_b32 v1, v0, s[2:3]\n"
    "done_already:\n"
    "    s_endpgm\n";

TEST(AsmCommand, MakesAnObjectWhoseListingAssemblesToTheSameWords) {
    Program program;
    const std::string source = program.folder() / "k.s", object = program.folder() / "k.co";
    std::ofstream(source) << kFill;
    Outcome outcome = program.run({"asm", source, "--target", "gfx1100", "-o", object});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    outcome = program.run({"disasm", object, "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json["target"], "gfx1100");
    const auto& kernel = json["kernels"][0];
    EXPECT_EQ(kernel["name"], "fill");
    EXPECT_EQ(kernel["wave_size"], 32);
    // The first words are those of the published spot check of this load.
    EXPECT_EQ(kernel["instructions"][0]["words"], nlohmann::json({"f4040080", "f8000008"}));
    std::string listing = "    .text\n    .globl fill\nfill:\n", words;
    for (const auto& instruction : kernel["instructions"]) {
        if (instruction.contains("label")) listing += instruction["label"].get<std::string>() + ":\n";
        listing += instruction["text"].get<std::string>() + "\n";
        words += instruction["words"].dump();
    }
    std::ofstream(source) << listing;
    ASSERT_EQ(program.run({"asm", source, "--target", "gfx1100", "-o", object}).exit_code, 0);
    const auto again = nlohmann::json::parse(program.run({"disasm", object, "--json"}).out);
    std::string words_again;
    for (const auto& instruction : again["kernels"][0]["instructions"]) words_again += instruction["words"].dump();
    EXPECT_EQ(words_again, words);
}

// Names and words of the kernels in an object.
std::string code_of(Program& program, const std::string& object) {
    const auto json = nlohmann::json::parse(program.run({"disasm", object, "--json"}).out);
    std::string words;
    for (const auto& kernel : json["kernels"]) {
        words += kernel["name"].get<std::string>() + ":";
        for (const auto& instruction : kernel["instructions"]) words += instruction["words"].dump();
    }
    return words;
}

TEST(DisasmCommand, PrintsAFileThatAssemblesToTheSameKernels) {
    Program program;
    const std::string source = program.folder() / "k.s", object = program.folder() / "k.co";
    const std::string kernel =
        ":\n    s_mov_b32 s4, 9\nagainNAME:\n    s_sub_u32 s4, s4, 1\n    s_cmp_lg_u32 s4, 0\n"
        "    s_cbranch_scc1 againNAME\n    s_endpgm\n";
    std::string text = "    .kernarg_size 16\n    .lds_size 64\n";
    for (const std::string name : {"first", "second"}) {
        std::string body = ".p2align 8\n.globl " + name + "\n" + name + kernel + ".size " + name + ", .-" + name + "\n";
        for (size_t at = 0; (at = body.find("NAME")) != std::string::npos;) body.replace(at, 4, name);
        text += body;
    }
    for (const std::string wave : {"32", "64"}) {
        std::ofstream(source) << text << "    .wave_size " << wave << "\n";
        Outcome outcome = program.run({"asm", source, "--target", "gfx1201", "-o", object});
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        const std::string code = code_of(program, object), bytes = read_whole(object);
        EXPECT_NE(code.find("second:"), std::string::npos);
        outcome = program.run({"disasm", object});
        EXPECT_NE(outcome.out.find("s_cbranch_scc1 .L2_0"), std::string::npos) << outcome.out;
        std::ofstream(source) << outcome.out;
        outcome = program.run({"asm", source, "-o", object});  // the listing names its target
        ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
        EXPECT_EQ(code_of(program, object), code);
        EXPECT_EQ(read_whole(object), bytes);
    }
}

TEST(AsmCommand, TakesADashForStandardInputAndOutput) {
    Program program;
    const std::string source = program.folder() / "k.s", object = program.folder() / "k.co";
    std::ofstream(source) << kFill;
    ASSERT_EQ(program.run({"asm", source, "--target", "gfx1100", "-o", object}).exit_code, 0);
    const Outcome outcome = program.run({"asm", "-", "--target", "gfx1100", "-o", "-"}, kFill);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, read_whole(object));
    EXPECT_FALSE(std::filesystem::exists("-"));
    EXPECT_EQ(program.run({"disasm", "-"}, outcome.out).out, program.run({"disasm", object}).out);
    EXPECT_EQ(program.run({"asm", "--hex", "-", "-o", "-", "--target", "gfx1100"}, "s_endpgm\n").out, "bfb00000\n");
    EXPECT_EQ(program.run({"disasm", "--hex", "-", "--target", "gfx1100"}, "bfb00000\n").out, "s_endpgm\n");
    EXPECT_EQ(program.run({"asm", "-", "--target", "gfx1100"}, kFill).err,
              "error: -o is needed when the source is standard input; -o - writes standard output\n");
    const Outcome full = program.run({"asm", source, "--target", "gfx1100", "-o", "-"}, "", "/dev/full");
    EXPECT_EQ(full.exit_code, 1);
    EXPECT_EQ(full.err, "error: standard output: No space left on device\n");
}

TEST(AsmCommand, WritesToAFifoThatSomebodyReads) {
    Program program;
    const std::string source = program.folder() / "k.s", fifo = program.folder() / "fifo";
    std::ofstream(source) << kFill;
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const std::vector<std::string> assemble = {"asm", source, "--target", "gfx1100", "-o", fifo};
    const Outcome alone = program.run(assemble);
    EXPECT_EQ(alone.exit_code, 1);
    EXPECT_EQ(alone.err, "error: cannot write " + fifo + ": a FIFO that nobody reads\n");
    auto reader = std::async(std::launch::async, [&] { return read_whole(fifo); });
    Outcome read;
    do {
        read = program.run(assemble);
    } while (read.exit_code != 0 && read.err == alone.err);  // until the reader is there
    EXPECT_EQ(read.exit_code, 0) << read.err;
    EXPECT_EQ(reader.get(), program.run({"asm", source, "--target", "gfx1100", "-o", "-"}).out);
}

TEST(AsmCommand, NeverReplacesItsSourceByWhateverName) {
    Program program;
    const std::string source = program.folder() / "k.s", link = program.folder() / "link.s";
    std::ofstream(source) << kFill;
    std::filesystem::create_symlink("k.s", link);
    for (const auto& [from, to] : {std::pair{source, link}, {link, source}}) {
        const Outcome outcome = program.run({"asm", from, "--target", "gfx1100", "-o", to});
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.err, "error: " + from + ": the output would replace the source; name another file with -o\n");
    }
    EXPECT_EQ(read_whole(source), kFill);
}

TEST(AsmCommand, WritesWhatALinkLeadsToAndKeepsTheLink) {
    Program program;
    const std::string source = program.folder() / "k.s", object = program.folder() / "k.co",
                      link = program.folder() / "link.co";
    std::ofstream(source) << kFill;
    const Outcome piped = program.run({"asm", source, "--target", "gfx1100", "-o", "-"});
    std::filesystem::create_symlink("k.co", link);
    for (int i = 0; i < 2; ++i) {  // the first makes the file
        ASSERT_EQ(program.run({"asm", source, "--target", "gfx1100", "-o", link}).exit_code, 0);
        EXPECT_TRUE(std::filesystem::is_symlink(link));
        EXPECT_EQ(read_whole(object), piped.out);
    }
    // As /dev/stdout does.
    const std::string stdout_link = program.folder() / "stdout";
    std::filesystem::create_symlink("/proc/self/fd/1", stdout_link);
    EXPECT_EQ(program.run({"asm", source, "--target", "gfx1100", "-o", stdout_link}).out, piped.out);
    EXPECT_TRUE(std::filesystem::is_symlink(stdout_link));
}

TEST(AsmCommand, SaysThatInputCannotBeRead) {
    Program program;
    for (const std::string command : {"asm", "disasm"}) {
        const Outcome outcome =
            program.run_from(program.folder(), {command, "--hex", "--target", "gfx1100"});  // a folder has no bytes
        EXPECT_EQ(outcome.exit_code, 1);
        EXPECT_EQ(outcome.err, "error: cannot read standard input: Is a directory\n");
    }
    const std::string holes = program.folder() / "holes";
    std::ofstream(holes).close();
    std::filesystem::resize_file(holes, uint64_t{1} << 40);
    EXPECT_EQ(program.run({"disasm", holes}).err, "error: " + holes + " is longer than 1073741824 bytes\n");
    EXPECT_EQ(program.run({"disasm", ""}).err, "error: FILE: expected a name, got \"\"\n");
    EXPECT_EQ(program.run({"asm", holes, "--target", "gfx1100", "-o", program.folder()}).err,
              "error: cannot write " + program.folder().string() + ": Is a directory\n");
}

TEST(AsmCommand, SendsNoBytesToATerminal) {
    Program program;
    const std::string source = program.folder() / "k.s";
    std::ofstream(source) << kFill;
    const TerminalOutcome outcome = run_on_terminal({"asm", source, "--target", "gfx1100", "-o", "-"}, 120);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.shown,
              "error: standard output is a terminal, and these are bytes: redirect it, or name a file\r\n");
}

TEST(DisasmCommand, ListsTheKernelsWithWhatTheyTake) {
    Program program;
    const std::string source = program.folder() / "k.s", object = program.folder() / "k.co";
    std::ofstream(source) << kFill << "    .lds_size 64\n";
    ASSERT_EQ(program.run({"asm", source, "--target", "gfx1100", "-o", object}).exit_code, 0);
    EXPECT_EQ(program.run({"disasm", object, "--kernels"}).out,
              "fill  wave32, 8 VGPRs, 64 bytes of LDS; 8 bytes of arguments (.kernarg_size)\n");
    EXPECT_EQ(program.run({"disasm", object, "--kernels", "--json"}).err, "error: --kernels writes lines: no --json\n");
}

// Published spot checks of three generations.
TEST(AsmCommand, TranslatesLinesToHexAndBack) {
    const std::pair<const char*, const char*> cases[] = {
        {"gfx1030", "bf8cc07f"}, {"gfx1100", "bf89fc07"}, {"gfx1201", "be804ec1"}};
    const std::string texts[] = {"s_waitcnt lgkmcnt(0)", "s_waitcnt lgkmcnt(0)", "s_barrier_signal -1"};
    Program program;
    for (size_t i = 0; i < 3; ++i) {
        const Outcome hex = program.run({"asm", "--target", cases[i].first, "--hex"}, texts[i] + "\n");
        EXPECT_EQ(hex.exit_code, 0) << hex.err;
        EXPECT_EQ(hex.out, std::string(cases[i].second) + "\n");
        const Outcome text = program.run({"disasm", "--target", cases[i].first, "--hex"}, hex.out);
        EXPECT_EQ(text.out, texts[i] + "\n");
    }
}

TEST(AsmCommand, NamesTheLineThatItCannotTranslate) {
    Program program;
    const Outcome outcome =
        program.run({"asm", "--target", "gfx1030", "--hex"}, "s_endpgm\nv_wmma_f32_16x16x16_f16 v0\ns_nop 0\n");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.out, "bf810000\n\nbf800000\n");
    EXPECT_NE(outcome.err.find("line 2"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("gfx1030"), std::string::npos) << outcome.err;
}

TEST(DisasmCommand, ReadsWordsOfEightDigitsAndClipsWhatItQuotes) {
    Program program;
    const std::vector<std::string> command = {"disasm", "--target", "gfx1030", "--hex"};
    const Outcome comments = program.run(command, "bf810000 ; end\nbf810000 // end\n# only that\nbf810000#\n");
    EXPECT_EQ(comments.exit_code, 0) << comments.err;
    EXPECT_EQ(comments.out, "s_endpgm\ns_endpgm\n\ns_endpgm\n");
    EXPECT_EQ(program.run(command, "0xbf810000\n").out, "s_endpgm\n");
    EXPECT_EQ(program.run(command, "bf81\n").err, "error: line 1: 'bf81' is no word of 8 hex digits\n");
    const Outcome control = program.run(command, "\x1b[2J\n" + std::string(4000, 'x') + "\n");
    EXPECT_EQ(control.err, "error: line 1: '\\x1b[2J' is no word of 8 hex digits\nerror: line 2: '" +
                               std::string(80, 'x') + "...' is no word of 8 hex digits\n");
    const Outcome endless = program.run(command, std::string(100'000, 'x'));
    EXPECT_EQ(endless.err, "error: line 1: more than 4096 bytes\n");
}

TEST(AsmCommand, RefusesWhatItCannotDoInOneLine) {
    Program program;
    const std::string source = program.folder() / "k.s";
    std::ofstream(source) << "fill:\n    v_add_f33 v0, v1, v2\n";
    Outcome outcome = program.run({"asm", source, "--target", "gfx1100", "-o", program.folder() / "k.co"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("k.s:2:"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(program.folder() / "k.co"));
    outcome = program.run({"asm", source, "--target", "gfx999"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.err.find("gfx999"), std::string::npos) << outcome.err;
    outcome = program.run({"disasm", source});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(outcome.err.starts_with("error: " + source + ": ")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(TargetsCommand, ListsEveryChipWithWhatItsTableHas) {
    Program program;
    const auto json = nlohmann::json::parse(program.run({"targets", "--json"}).out);
    ASSERT_EQ(json.size(), 17u);
    EXPECT_EQ(json[0]["name"], "gfx1030");
    EXPECT_EQ(json[0]["has"], nlohmann::json({"dot2-f16", "dot4-i8", "dot8-i4", "sdwa"}));
    // RDNA 3 brought WMMA and VOPD, RDNA 4 matrices of fp8 (AMD's ISA guides, "new features").
    const auto names = [&](size_t chip) { return json[chip]["has"].get<std::set<std::string>>(); };
    EXPECT_EQ(json[7]["name"], "gfx1100");
    EXPECT_TRUE(names(7).contains("wmma-f16") && names(7).contains("wmma-iu8") && names(7).contains("vopd"));
    EXPECT_FALSE(names(7).contains("wmma-fp8") || names(7).contains("sdwa"));
    EXPECT_TRUE(names(16).contains("wmma-f16") && names(16).contains("wmma-iu8") && names(16).contains("wmma-fp8"));
    EXPECT_GT(json[16]["rows"], 1000);
    const Outcome table = program.run({"targets"});
    EXPECT_NE(table.out.find("gfx1201"), std::string::npos);
}

}  // namespace rdna_commands_test
}  // namespace riftjit::tools
