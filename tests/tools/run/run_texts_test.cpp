// Texts on their way in and out of `riftjit run`: escapes, files, standard input, templates, bytes that are no
// character.
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/host/oracle.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace run_texts_test {

using nlohmann::json;
using Arguments = std::vector<std::string>;

class Texts : public ::testing::Test {
protected:
    Outcome run(Arguments arguments, const std::string& input = "") {
        arguments.insert(arguments.begin(), {"run", "--temp", "0", "--no-perf"});
        return program_.run(arguments, input);
    }
    // The JSON object of a short run, or what was said in its place.
    json answer(Arguments arguments, const std::string& input = "") {
        if (std::ranges::find(arguments, "-n") == arguments.end()) arguments.insert(arguments.end(), {"-n", "1"});
        arguments.push_back("--json");
        const Outcome outcome = run(std::move(arguments), input);
        return outcome.exit_code == 0 ? json::parse(outcome.out) : json{{"prompt_ids", outcome.err}};
    }
    json prompt_ids(Arguments arguments, const std::string& input = "") {
        return answer(std::move(arguments), input)["prompt_ids"];
    }
    std::string write(const std::string& name, std::string_view bytes) {
        const std::string path = program_.folder() / name;
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }

    Program program_;
};

TEST_F(Texts, OfEveryFlagHaveTheirEscapesTurned) {
    const Arguments rest = {"-p", "Tell me a story.", "-n", "24"};
    const struct {
        std::string flag, escaped, meant;
        Arguments rest;
    } cases[] = {
        {"-p", "Tell\\tme\\n\\x41\\\"\\'\\\\", "Tell\tme\nA\"'\\", {"-n", "1"}},
        {"-sys", "Be\\nbrief", "Be\nbrief", {"-p", "Hi", "-n", "1"}},
        {"-r", "\\x65", "e", rest},
        {"-r", "\\n", "\n", rest},
        {"--dry-sequence-breaker", "\\x65", "e", {"-p", "a b a b a b", "-n", "8", "--dry-multiplier", "5"}},
    };
    for (const auto& [flag, escaped, meant, others] : cases) {
        const auto with = [&](const std::string& value, const Arguments& more) {
            Arguments arguments = {flag, value};
            arguments.insert(arguments.end(), others.begin(), others.end());
            arguments.insert(arguments.end(), more.begin(), more.end());
            json object = answer(arguments);
            return json{object["prompt_ids"], object["ids"], object["text"], object["stop_reason"]};
        };
        const json expected = with(meant, {"--no-escape"});
        EXPECT_EQ(with(escaped, {}), expected) << flag << escaped;
        EXPECT_EQ(with(escaped, {"-e"}), expected) << flag << escaped;
    }
    EXPECT_EQ(answer({"-r", "\\x65", "-p", "Tell me a story.", "-n", "24"})["stop_reason"], "word");
    EXPECT_EQ(answer({"-r", "\\x65", "-p", "Tell me a story.", "-n", "24", "--no-escape"})["stop_reason"], "length");
}

TEST_F(Texts, SayThatAnEmptyStopWordStopsNothing) {
    EXPECT_EQ(run({"-p", "Hi", "-n", "1", "-r", ""}).err, "warn: -r \"\": an empty text stops nothing\n");
}

TEST_F(Texts, OfFilesAndPipesHaveNoByteOrderMarkAndNoLastLineEnd) {
    const json plain = prompt_ids({"-p", "Hi there"}), system = prompt_ids({"-p", "Hi", "-sys", "Be brief"});
    const json two_lines = prompt_ids({"-p", "Hi\\r\\nthere\\n"});
    const std::string own = "{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}";
    const json rendered = prompt_ids({"-p", "Hi", "--chat-template", own});
    const std::string mark = "\xEF\xBB\xBF";
    for (const std::string& begin : {std::string(), mark}) {
        for (const char* end : {"", "\n", "\r\n"}) {
            EXPECT_EQ(prompt_ids({"-f", write("prompt", begin + "Hi there" + end)}), plain) << begin << end;
            EXPECT_EQ(prompt_ids({}, begin + "Hi there" + end), plain) << begin << end;
            EXPECT_EQ(prompt_ids({"-p", "Hi", "-sysf", write("system", begin + "Be brief" + end)}), system);
            EXPECT_EQ(prompt_ids({"-p", "Hi", "--chat-template-file", write("own", begin + own + end)}), rendered);
        }
        EXPECT_EQ(prompt_ids({"-f", write("prompt", begin + "Hi\r\nthere\n\r\n")}),
                  two_lines);  // one line end, no more
        EXPECT_EQ(prompt_ids({"-p", "Hi", "--chat-template", begin + own}), rendered);
    }
    const std::string kept = mark + "Hi\r\n";
    EXPECT_EQ(prompt_ids({"-bf", write("prompt", kept)}), prompt_ids({"-p", kept, "--no-escape"}));
}

TEST_F(Texts, AreKeptFromOneRunToTheNext) {
    const std::string file = program_.folder() / "text";
    const std::string start = "Tell me a long story about a fox and a lamp and a mill by the river.";
    const auto ask = [&](const Arguments& more) {
        Arguments arguments = {"-p", start, "-n", "6", "--prompt-cache", file};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return answer(arguments);
    };
    const json first = ask({}), second = ask({}), all = ask({"--prompt-cache-all"});
    EXPECT_EQ(first["ids"], second["ids"]) << first;
    EXPECT_GT(first["timings"]["prompt_n"], 10) << first;
    EXPECT_EQ(second["timings"]["prompt_n"], 1) << second;
    const auto size = std::filesystem::file_size(file);
    EXPECT_EQ(ask({"--prompt-cache-ro"})["timings"]["prompt_n"], 1);
    EXPECT_EQ(std::filesystem::file_size(file), size);
    write("text", "garbage");
    const Outcome damaged = run({"-p", start, "-n", "1", "--prompt-cache", file});
    EXPECT_EQ(damaged.exit_code, 0);
    EXPECT_NE(damaged.err.find("no text of riftjit's; the prompt is read anew"), std::string::npos) << damaged.err;
    EXPECT_EQ(ask({})["timings"]["prompt_n"], 1);
    EXPECT_EQ(run({"-p", start, "-n", "1", "--prompt-cache", file, "-ctk", "q8_0", "--strict"}).exit_code, 1);
    EXPECT_EQ(run({"-p", start, "--prompt-cache", program_.folder()}).exit_code, 1);
    // Before a model is loaded: nobody would write to it, or read what is written.
    const std::string fifo = program_.folder() / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const Outcome refused = run({"-p", start, "--prompt-cache", fifo});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(refused.err, "error: --prompt-cache " + fifo + ": is a FIFO, not a regular file\n");
}

TEST_F(Texts, OfUtf16AreRefused) {
    const std::string path = write("utf16", std::string_view("\xFF\xFEH\0i\0", 6));
    const std::string message = ": starts with the byte-order mark of UTF-16; expected UTF-8\n";
    for (const char* flag : {"-f", "-sysf", "--chat-template-file"}) {
        const Outcome outcome = run({flag, path, "-n", "1"}, "Hi");
        EXPECT_EQ(outcome.exit_code, 1) << flag;
        EXPECT_EQ(outcome.err, "error: " + path + message) << flag;
    }
    EXPECT_EQ(run({"-n", "1"}, "\xFE\xFF\x01\x02").err, "error: standard input" + message);
}

TEST_F(Texts, ThatAreEmptyAreNoPrompt) {
    for (const char* input : {"", "\n", "\r\n", "\xEF\xBB\xBF", "\xEF\xBB\xBF\n"}) {
        for (const Arguments& arguments : {Arguments{"-n", "4", "--json"}, {"-n", "4"}, {"-cnv"}, {"-st"}}) {
            const Outcome outcome = run(arguments, input);
            EXPECT_EQ(outcome.exit_code, 1) << arguments[0] << input;
            EXPECT_EQ(outcome.out, "");
            EXPECT_EQ(outcome.err, "error: the prompt is empty: nothing came from standard input; -p gives one\n");
        }
        EXPECT_EQ(run({"-f", write("prompt", input), "-n", "1"}).exit_code, 1) << input;
        const std::string path = write("empty", input);
        EXPECT_EQ(run({"-p", "Hi", "-sysf", path}).err, "error: " + path + ": the system message is empty\n") << input;
    }
    for (const char* nothing : {"", "\xEF\xBB\xBF"}) {
        const std::string path = write("empty", nothing);
        EXPECT_EQ(run({"-p", "Hi", "--chat-template-file", path}).err,
                  "error: " + path + ": the chat template is empty\n");
    }
}

TEST_F(Texts, ThatEndATerminalsInputAreNoPromptForAnObjectOrAFile) {
    struct Case {
        Arguments more;
        const char* terminal;
    };
    const std::string file = write("logits", "");
    for (const auto& [more, type] :
         {Case{{"--json"}, "dumb"}, {{"--json"}, "xterm"}, {{"--dump-logits", file}, "dumb"}}) {
        int terminal = -1;
        const pid_t process = forkpty(&terminal, nullptr, nullptr, nullptr);
        if (process == 0) {
            setenv("RIFTJIT_CACHE_DIR", (program_.folder() / "cache").c_str(), 1);
            setenv("TERM", type, 1);
            setenv("RIFTJIT_HISTORY", "off", 1);
            alarm(60);  // a prompt that is never met ends the test
            execl(RIFTJIT_BINARY, RIFTJIT_BINARY, "run", more[0].c_str(), more.size() > 1 ? more[1].c_str() : nullptr,
                  nullptr);
            _exit(127);
        }
        std::string seen;
        char byte = 0;
        while (read(terminal, &byte, 1) == 1) {
            seen += byte;
            if (seen.ends_with("\n> ") || seen.ends_with("\x1b[?2004h> ")) {
                EXPECT_EQ(::write(terminal, "\x04", 1), 1);
            }
        }
        int status = 0;
        waitpid(process, &status, 0);
        close(terminal);
        EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1) << more[0];
        EXPECT_NE(seen.find("error: the prompt is empty"), std::string::npos) << seen;
    }
}

TEST_F(Texts, OfTheCommandLineComeBeforeThoseOfAPipe) {
    const std::string note = "the prompt is that of the command line; standard input is not read\n";
    const std::string path = write("prompt", "Hi");
    for (const Arguments& arguments : {Arguments{"-p", "Hi"}, {"-f", path}, {"-bf", path}, {"--prompt-ids", "1"}}) {
        Arguments some = arguments;
        some.insert(some.end(), {"-n", "1"});
        EXPECT_EQ(run(some, "something else").err, note) << some[0];
        EXPECT_EQ(run(some, "").err, "") << some[0];
    }
}

TEST_F(Texts, AreRenderedByTemplatesOfLlamaCppsNames) {
    EXPECT_EQ(prompt_ids({"-p", "Hi", "--chat-template", "chatml"}),
              prompt_ids({"-no-cnv", "-p", "<|im_start|>user\\nHi<|im_end|>\\n<|im_start|>assistant\\n"}));
    EXPECT_EQ(prompt_ids({"-p", "Hi", "-sys", "Be brief", "--chat-template", "vicuna-orca"}),
              prompt_ids({"-no-cnv", "-p", "SYSTEM: Be brief\\nUSER: Hi\\nASSISTANT:"}));
}

TEST_F(Texts, ThatATemplateDropsAreWarnedAbout) {
    const std::string user = "the chat template drops or changes the message: its text is not in the prompt";
    const std::string system = ": the chat template drops or changes the system message: its text is not in the prompt";
    const std::string unread = ": changes nothing, the chat template does not read ";
    const std::string path = write("system", "Be brief");
    const std::string reads_user = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}";
    const struct {
        Arguments arguments;
        std::string warning;  // none: what is given is read
    } cases[] = {
        {{"--chat-template", "{{ bos_token }}a question"}, user},
        {{"--chat-template", "{{ messages[0].content[:2] }}"}, user},
        {{"--chat-template", reads_user, "-sys", "Be brief"}, "-sys" + system},
        {{"--chat-template", reads_user, "-sysf", path}, "-sysf" + system},
        {{"--chat-template", "yandex", "-sys", "Be brief"}, "-sys" + system},
        {{"--reasoning", "off"}, "--reasoning" + unread + "enable_thinking"},
        {{"--reasoning", "on"}, "--reasoning" + unread + "enable_thinking"},
        {{"--reasoning-budget", "0"}, "--reasoning-budget" + unread + "enable_thinking"},
        {{"--reasoning-effort", "low"}, "--reasoning-effort" + unread + "reasoning_effort"},
        {{"--chat-template-kwargs", R"({"enable_thinking":false})"},
         "--chat-template-kwargs" + unread + "enable_thinking"},
        {{"--chat-template-kwargs", R"({"date_string":"1 May"})"}, "--chat-template-kwargs" + unread + "date_string"},
        {{"--chat-template", "chatml", "--reasoning", "off"}, "--reasoning" + unread + "enable_thinking"},
        {{"--chat-template", reads_user + "{{ 1 if enable_thinking else 2 }}", "--reasoning", "off"}, ""},
        {{"--chat-template", reads_user + "{{ 2 if enable_thinking is false else 1 }}", "--reasoning", "on"}, ""},
        {{"--chat-template", reads_user + "{{ reasoning_effort or 'low' }}", "--reasoning-effort", "low"}, ""},
        {{"--chat-template", reads_user + "{% if messages|length > 1 and day %}x{% endif %}", "--chat-template-kwargs",
          R"({"day":"May"})"},
         ""},
        {{"--chat-template", "{{ messages[0].content + messages[1].content }}", "-sys", " Be brief "}, ""},
        {{"--chat-template-kwargs", R"({"add_generation_prompt":false})"}, ""},
        {{"-sys", "Be brief"}, ""},
    };
    for (const auto& [arguments, warning] : cases) {
        Arguments some = {"-p", "question?", "-n", "1"};
        some.insert(some.end(), arguments.begin(), arguments.end());
        const Outcome outcome = run(some);
        EXPECT_EQ(outcome.exit_code, 0) << arguments.back() << outcome.err;
        EXPECT_EQ(outcome.err, warning.empty() ? "" : "warn: " + warning + "\n") << arguments.back();
        some.push_back("--strict");
        const Outcome strict = run(some);
        EXPECT_EQ(strict.exit_code, warning.empty() ? 0 : 1) << arguments.back();
        if (!warning.empty()) {
            EXPECT_EQ(strict.out, "") << arguments.back();
        }
    }
}

TEST_F(Texts, ThatEndInsideACharacterAreStillCharacters) {
    const json whole = prompt_ids({"-no-cnv", "-p", "\xF0\x9F\x98\x80"});
    ASSERT_GT(whole.size(), 1u);  // the vocabulary has it in parts
    const Arguments forced = {"-p", "Hi", "-n", "1", "-l", std::to_string(whole[0].get<int>()) + "+1000"};
    EXPECT_EQ(run(forced).out, "\uFFFD\n");
    EXPECT_EQ(answer(forced)["text"], "\uFFFD");
}

TEST_F(Texts, LoseBytesThatHaveNoTokenAndSaySo) {
    const char* model = std::getenv("RIFTJIT_SMOLLM2");
    if (model == nullptr) return lack_oracle("RIFTJIT_SMOLLM2: tests/peer/fetch.sh");
    const std::string bytes =
        "Part (01)095\x1d"
        "17190508: expiry?";
    const json expected = prompt_ids({"-m", model, "-p", "Part (01)09517190508: expiry?"});
    const std::string path = write("prompt", bytes);
    for (const Arguments& arguments :
         {Arguments{"-f", path}, {"-bf", path}, {"-p", bytes}, {"-no-cnv", "-f", path}, {"-p", "Hi", "-sysf", path}}) {
        Arguments some = {"-m", model, "-n", "1"};
        some.insert(some.end(), arguments.begin(), arguments.end());
        some.push_back("--json");
        const Outcome outcome = run(some);
        EXPECT_EQ(outcome.exit_code, 0) << arguments[0];
        EXPECT_EQ(outcome.err, "warn: byte 0x1d has no token in this vocabulary and is left out\n") << arguments[0];
        if (arguments[0] != "-no-cnv" && arguments.size() == 2) {
            EXPECT_EQ(json::parse(outcome.out)["prompt_ids"], expected) << arguments[0];
        }
        some.push_back("--strict");
        EXPECT_EQ(run(some).exit_code, 1) << arguments[0];
    }
}

TEST_F(Texts, HelpSaysThatIgnoringTheEndChangesIds) {
    const std::string help = program_.run({"run", "--help"}).out;
    const size_t at = help.find("--ignore-eos");
    ASSERT_NE(at, std::string::npos);
    EXPECT_NE(help.substr(at, 300).find("differ from the greedy ones"), std::string::npos) << help.substr(at, 300);
}

}  // namespace run_texts_test
}  // namespace riftjit::tools
