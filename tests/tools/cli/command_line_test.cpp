// Flags, their spellings, and what is made from them: completion and the manual page.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/host/oracle.h"
#include "tests/tools/program.h"
#include "tools/cli/arguments.h"
#include "tools/cli/command_table.h"
#include "tools/cli/refused_flags.h"
#include "tools/cli/suggestion.h"
#include "tools/run/run_command.h"

namespace riftjit::tools {
namespace command_line_test {

std::vector<std::string> normalized(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "riftjit");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    const auto result = normalize_arguments(static_cast<int>(argv.size()), argv.data());
    return result ? *result : std::vector<std::string>{"error: " + result.error().message};
}

using Words = std::vector<std::string>;

TEST(CommandLine, ReadsSingleDashNamesOfSeveralLetters) {
    EXPECT_EQ(normalized({"run", "-ctk", "q8_0", "-no-cnv", "-ub", "64"}),
              (Words{"run", "--cache-type-k", "q8_0", "--no-conversation", "--ubatch-size", "64"}));
    EXPECT_EQ(normalized({"-n", "-1", "-sys=be kind"}), (Words{"-n", "-1", "--system-prompt=be kind"}));
}

TEST(CommandLine, TakesUnderscoresForDashesInNamesOnly) {
    EXPECT_EQ(normalized({"--top_k=5", "--cache_type_k", "q8_0", "some_file"}),
              (Words{"--top-k=5", "--cache-type-k", "q8_0", "some_file"}));
}

TEST(CommandLine, LeavesTextAlone) {
    EXPECT_EQ(normalized({"-p", "--top_k", "-r", "-md"}), (Words{"-p", "--top_k", "-r", "-md"}));
}

TEST(CommandLine, RefusesWithTheReason) {
    EXPECT_EQ(normalized({"--swa-full"}), (Words{"error: --swa-full is not implemented in this build"}));
    EXPECT_EQ(normalized({"--spec_ngram_min_hits=3"})[0].substr(0, 45),
              "error: --spec-ngram-min-hits is not implement");
    EXPECT_FALSE(refusal_of("--top-k"));
    EXPECT_FALSE(refusal_of("--spec"));  // only whole names
}

// Nothing that llama.cpp's own program takes may be unknown here: it works, or the reason is named.
TEST(CommandLine, AnswersEveryFlagOfLlamaCompletion) {
    CLI::App app;
    Command chosen;
    add_run_command(app, chosen);
    const CLI::App* run = app.get_subcommand("run");
    std::ifstream file(std::string(RIFTJIT_SOURCE_DIR) + "/tests/data/tools/llama-completion-flags.txt");
    size_t count = 0;
    for (std::string flag; std::getline(file, flag); ++count) {
        if (refusal_of(flag) || flag == "--version") continue;
        const Words words = normalized({flag});
        EXPECT_NE(run->get_option_no_throw(words.at(0)), nullptr) << flag;
    }
    EXPECT_GT(count, 200u);
}

TEST(CommandLine, SuggestsOnlyWhatIsNear) {
    const Words known = {"--top-k", "--top-p", "--temp"};
    EXPECT_EQ(closest("--topk", known), "--top-k");
    EXPECT_EQ(closest("--tmep", known), "--temp");
    EXPECT_EQ(closest("--grammar", known), "");
}

TEST(CommandTable, KnowsNamesValuesAndHelpOfFlags) {
    CLI::App app;
    Command chosen;
    add_run_command(app, chosen);
    const auto table = command_table(app);
    ASSERT_EQ(table.size(), 2u);
    EXPECT_EQ(table[0].subcommands, Words{"run"});
    const auto flag = [&](const std::string& name) {
        for (const auto& flag : table[1].flags) {
            if (std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end()) return flag;
        }
        return CommandEntry::Flag{};
    };
    EXPECT_EQ(flag("--cache-type-k").names, (Words{"-ctk", "--cache-type-k"}));
    EXPECT_EQ(flag("-ctk").values,
              (Words{"f16", "f32", "q8_0", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "rq4"}));
    EXPECT_EQ(flag("-ctk").help, "type of cached keys");
    EXPECT_TRUE(flag("-m").takes_file());
    EXPECT_EQ(flag("--no-mmap").names, Words{});  // hidden
    EXPECT_EQ(flag("--strict").value, "");
}

std::string completed(Program& program, const std::string& words) {
    std::ofstream(program.folder() / "completion.bash") << program.run({"completion", "bash"}).out;
    std::ofstream script(program.folder() / "complete.sh");
    script << "source " << (program.folder() / "completion.bash").string() << "\nCOMP_WORDS=(" << words
           << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_riftjit\necho \"${COMPREPLY[*]}\" > "
           << (program.folder() / "reply").string() << "\n";
    script.close();
    EXPECT_EQ(std::system(("bash " + (program.folder() / "complete.sh").string()).c_str()), 0);
    return read_whole(program.folder() / "reply");
}

TEST(Completion, CompletesCommandsFlagsAndValuesInBash) {
    Program program;
    EXPECT_EQ(completed(program, "riftjit in"), "inspect\n");
    EXPECT_EQ(completed(program, "riftjit cache ver"), "verify\n");
    EXPECT_EQ(completed(program, "riftjit run --cache-mode r"), "rw ro require\n");
    EXPECT_EQ(completed(program, "riftjit run -ctk q8"), "q8_0\n");
    EXPECT_EQ(completed(program, "riftjit run --repeat-l"), "--repeat-last-n\n");
    EXPECT_EQ(completed(program, "riftjit run --max-isa amx"), "amx_bf16 amx_int8\n");
    EXPECT_EQ(completed(program, "riftjit bench -o js"), "json jsonl\n");
    EXPECT_EQ(completed(program, "riftjit warm --isa avx2,amx_i"), "avx2,amx_int8\n");
    EXPECT_EQ(completed(program, "riftjit run -m /etc/passw"), "\n") << "the shell knows folders and blanks in names";
}

TEST(Completion, KnowsNetworksThatComeWithTheProgramAndFilesOfNetworks) {
    Program program;
    for (const char* name : {"bronze.toml", "bronze.txt"}) std::ofstream(program.folder() / name) << "";
    std::filesystem::create_directory(program.folder() / "brown");
    EXPECT_EQ(completed(program, "riftjit sim br"), "brunel\n");
    EXPECT_EQ(completed(program, "riftjit sim --json cu"), "cuba\n");
    const std::string start = (program.folder() / "bro").string();
    EXPECT_EQ(completed(program, "riftjit sim " + start), start + "nze.toml " + start + "wn\n");
    EXPECT_EQ(completed(program, "riftjit sim --print-n"), "--print-network\n");
}

TEST(Completion, KnowsChipsChecksSchedulesAndTheKernelsOfAFile) {
    Program program;
    const std::string source = program.folder() / "k.s", object = program.folder() / "k.co";
    std::ofstream(source)
        << ".p2align 8\n.globl scale\nscale:\n  s_endpgm\n.p2align 8\n.globl shift\nshift:\n  s_endpgm\n";
    ASSERT_EQ(program.run({"asm", source, "--target", "gfx1100", "-o", object}).exit_code, 0);
    EXPECT_EQ(completed(program, "riftjit asm --target gfx12"), "gfx1200 gfx1201\n");
    EXPECT_EQ(completed(program, "riftjit disasm --target gfx103"),
              "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036\n");
    EXPECT_EQ(completed(program, "riftjit emulate --schedule r"), "random reversed\n");
    EXPECT_EQ(completed(program, "riftjit emulate --check n"), "none\n");
    EXPECT_EQ(completed(program, "riftjit emulate --check all,-hazard-s"), "all,-hazard-sgpr-read\n");
    const std::string command = RIFTJIT_BINARY " emulate " + object;
    EXPECT_EQ(completed(program, command + " \"\""), "scale shift\n");
    EXPECT_EQ(completed(program, RIFTJIT_BINARY " disasm " + object + " sh"), "shift\n");
    EXPECT_EQ(completed(program, command + " shift sc"), "\n") << "one kernel is named already";
    EXPECT_EQ(completed(program, command + " scale --sch"), "--schedule\n");
}

TEST(Completion, SpeaksToZshAndFish) {
    Program program;
    EXPECT_TRUE(program.run({"completion", "zsh"}).out.starts_with("#compdef riftjit\n"));
    const std::string fish = program.run({"completion", "fish"}).out;
    EXPECT_NE(fish.find("complete -c riftjit -n '__fish_seen_subcommand_from run' -s m -l model -r -F -d "),
              std::string::npos);
    EXPECT_NE(fish.find("-o ctk -l cache-type-k -x -a 'f16 f32 q8_0 bf16 q4_0 q4_1 q5_0 q5_1 iq4_nl rq4'"),
              std::string::npos)
        << fish.substr(0, 500);
    EXPECT_NE(fish.find("__fish_seen_subcommand_from emulate' -l target -x -a 'gfx1030 "), std::string::npos);
    EXPECT_NE(fish.find("__fish_seen_subcommand_from emulate' -a '(__riftjit_kernels)'"), std::string::npos);
}

// "run", "serve", ... as --help lists them.
Words commands_of_help(Program& program) {
    const std::string help = program.run({"--help"}).out;
    std::istringstream lines(help.substr(help.find("Subcommands:\n") + 13));
    Words commands;
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line) && !line.empty()) commands.push_back(line.substr(2, line.find(' ', 2) - 2));
    return commands;
}

TEST(ManPage, NamesEveryCommandAndFlag) {
    Program program;
    const std::string page = program.run({"man-page"}).out;
    EXPECT_TRUE(page.starts_with(".TH RIFTJIT 1"));
    ASSERT_EQ(program.run({"man-page", "--folder", program.folder()}).exit_code, 0);
    EXPECT_EQ(read_whole(program.folder() / "riftjit.1"), page);
    const auto has = [](const std::string& text, const std::string& part) {
        EXPECT_NE(text.find(part), std::string::npos) << part;
    };
    for (const char* part : {".SH EXIT STATUS", ".SH ENVIRONMENT", ".SH EXAMPLES"}) has(page, part);
    size_t pages = 0;
    for (const std::string& command : commands_of_help(program)) {
        has(page, ".BR riftjit\\-" + command + " (1)\n");
        const std::string own = read_whole(program.folder() / ("riftjit-" + command + ".1"));
        has(own, ".B riftjit " + command + "\n");
        has(own, "\\-\\-help");
        ++pages;
    }
    EXPECT_GE(pages, 17u);
    const std::string run = read_whole(program.folder() / "riftjit-run.1");
    for (const char* part :
         {".TH RIFTJIT\\-RUN 1", ".SH EXAMPLES",
          ".B \\-ctk, \\-\\-cache\\-type\\-k \\fIf16|f32|q8_0|bf16|q4_0|q4_1|q5_0|q5_1|iq4_nl|rq4\\fR"})
        has(run, part);
    has(read_whole(program.folder() / "riftjit-cache.1"), ".SH \"riftjit cache verify\"");
    const Outcome refused = program.run({"man-page", "--folder", program.folder() / "nowhere"});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find("nowhere"), std::string::npos) << refused.err;
}

TEST(ManPage, IsRoffWithoutMistakes) {
    if (std::system("command -v groff > /dev/null") != 0) return lack_oracle("groff");
    Program program;
    ASSERT_EQ(program.run({"man-page", "--folder", program.folder()}).exit_code, 0);
    const std::string command =
        "cd " + program.folder().string() +
        " && for page in *.1; do groff -man -Tutf8 -ww $page > /dev/null 2>> warnings || exit 1; done";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(read_whole(program.folder() / "warnings"), "");
}

}  // namespace command_line_test
}  // namespace riftjit::tools
