// The tools that come with the program, on files of all kinds and on calls that are wrong.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "host/file_descriptor.h"
#include "host/json_text.h"
#include "server/tools/tool.h"

namespace riftjit::server {
namespace builtin_tools_test {

namespace fs = std::filesystem;

class BuiltinTools : public testing::Test {
protected:
    BuiltinTools() {
        std::string pattern = testing::TempDir() + "riftjit-tools-XXXXXX";
        folder_ = fs::canonical(mkdtemp(pattern.data())).string();
    }
    ~BuiltinTools() override { fs::remove_all(folder_); }

    void write(const std::string& name, std::string_view text) const {
        fs::create_directories(fs::path(path(name)).parent_path());
        std::ofstream(path(name), std::ios::binary) << text;
    }
    std::string read(const std::string& name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::string path(const std::string& name) const { return folder_ + "/" + name; }

    Outcome<Json> run(const std::string& name, const Json& parameters,
                      const std::function<bool(std::string_view)>& say = nullptr,
                      const std::function<bool()>& is_wanted = nullptr) const {
        const auto tools = builtin_tools();
        const auto tool = std::ranges::find(tools, name, &Tool::name);
        if (tool == tools.end()) throw std::runtime_error("no tool " + name);
        return tool->run({parameters, folder_, is_wanted, say});
    }
    Json answer(const std::string& name, const Json& parameters) const {
        const auto result = run(name, parameters);
        EXPECT_TRUE(result) << (result ? "" : result.error().message);
        return result ? *result : Json();
    }
    std::string text(const std::string& name, const Json& parameters) const {
        const Json result = answer(name, parameters);
        EXPECT_TRUE(result.contains("plain_text_response")) << result;
        return result.value("plain_text_response", "");
    }
    // Without the folder, which each run has of its own.
    std::string error(const std::string& name, const Json& parameters) const {
        const Json result = answer(name, parameters);
        EXPECT_TRUE(result.contains("error")) << result;
        std::string line = result.value("error", "");
        while (line.contains(folder_)) line.replace(line.find(folder_), folder_.size(), "FOLDER");
        return line;
    }
    void refused(const std::string& name, const Json& parameters, int status, const std::string& why) const {
        const auto result = run(name, parameters);
        ASSERT_FALSE(result) << *result;
        EXPECT_EQ(result.error().status, status);
        EXPECT_EQ(result.error().message, why);
    }

    std::string folder_;
};

TEST_F(BuiltinTools, AreDescribedForModels) {
    std::vector<std::string> names;
    for (const Tool& tool : builtin_tools()) {
        names.push_back(tool.name);
        EXPECT_FALSE(tool.description.empty() || tool.title.empty()) << tool.name;
        EXPECT_EQ(tool.parameters["type"], "object") << tool.name;
        EXPECT_TRUE(tool.parameters["properties"].is_object()) << tool.parameters;
        EXPECT_TRUE(tool.parameters["required"].is_array()) << tool.parameters;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"read_file", "write_file", "edit_file", "file_glob_search",
                                               "grep_search", "exec_shell_command", "get_info"}));
}

TEST_F(BuiltinTools, ReadTextsAndLinesOfThem) {
    write("a.txt", "one\ntwo\r\nthree");
    EXPECT_EQ(text("read_file", {{"path", "a.txt"}}), "one\ntwo\r\nthree");
    EXPECT_EQ(text("read_file", {{"path", path("a.txt")}, {"start_line", 2}, {"end_line", 2}}), "two\r\n");
    EXPECT_EQ(text("read_file", {{"path", "x/../a.txt"}, {"start_line", 3}, {"append_loc", true}}), "3→three");
    EXPECT_EQ(text("read_file", {{"path", "a.txt"}, {"end_line", -1}}), "one\ntwo\r\nthree");
    EXPECT_EQ(error("read_file", {{"path", "a.txt"}, {"start_line", 4}}), "FOLDER/a.txt: has 3 lines, none of them 4");
    EXPECT_EQ(error("read_file", {{"path", "a.txt"}, {"start_line", 3}, {"end_line", 1}}),
              "end_line 1 is before start_line 3");
    write("empty", "");
    EXPECT_EQ(text("read_file", {{"path", "empty"}}), "");
    fs::create_symlink("a.txt", path("link"));
    EXPECT_EQ(text("read_file", {{"path", "link"}, {"end_line", 1}}), "one\n");
}

TEST_F(BuiltinTools, CutLongTextsAtLinesAndSayWhereTheyGoOn) {
    std::string long_text;
    for (int i = 1; i <= 20000; ++i) long_text += "line " + std::to_string(i) + "\n";
    write("long", long_text);
    std::string joined;
    for (int64_t next = 1, calls = 0; next > 0 && calls < 10; ++calls) {
        std::string part = text("read_file", {{"path", "long"}, {"start_line", next}});
        EXPECT_LE(part.size(), (64u << 10) + 200);
        const size_t note = part.rfind("[cut behind line ");
        next = note == part.npos ? 0 : std::stol(part.substr(part.rfind(' ')));
        joined += part.substr(0, note);
    }
    EXPECT_EQ(joined, long_text);
    write("wide", std::string(100000, 'w'));
    const std::string wide = text("read_file", {{"path", "wide"}});
    EXPECT_EQ(wide.substr(0, 65536), std::string(65536, 'w'));
    EXPECT_TRUE(wide.substr(65536).starts_with("\n[cut behind line 1:")) << wide.substr(65536);
}

TEST_F(BuiltinTools, TakeNoHugeFileWhole) {
    std::string lines;
    while (lines.size() < (20 << 20)) lines += "line\n";
    write("huge", "first\n" + lines + "last\n");
    EXPECT_EQ(text("read_file", {{"path", "huge"}, {"end_line", 1}}), "first\n");
    EXPECT_EQ(text("read_file", {{"path", "huge"}, {"start_line", 2 + lines.size() / 5}}), "last\n");
    EXPECT_EQ(error("edit_file", {{"path", "huge"}, {"edits", {{{"old_text", "first"}, {"new_text", "x"}}}}}),
              "FOLDER/huge: has more than 16777216 bytes");
    EXPECT_TRUE(text("grep_search", {{"path", "."}, {"pattern", "first"}}).contains("[1 files are no text, too long"));
}

TEST_F(BuiltinTools, RefuseWhatIsNoTextFile) {
    write("binary", std::string("a\0b", 3));
    write("secret", "s");
    fs::create_directory(path("folder"));
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    fs::create_symlink("loop", path("loop"));
    fs::create_symlink("nowhere", path("dangling"));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::pair<const char*, const char*> wrong[] = {
        {"binary", "FOLDER/binary: is no text (it has NUL bytes)"},
        {"folder", "FOLDER/folder: is a directory, not a regular file"},
        {"fifo", "FOLDER/fifo: is a FIFO, not a regular file"},
        {"/dev/zero", "/dev/zero: is a character device, not a regular file"},
        {"socket", "FOLDER/socket: No such device or address"},
        {"loop", "FOLDER/loop: Too many levels of symbolic links"},
        {"dangling", "FOLDER/dangling: No such file or directory"},
        {"none", "FOLDER/none: No such file or directory"},
        {"secret/x", "FOLDER/secret/x: Not a directory"}};
    for (const auto& [name, why] : wrong) {
        EXPECT_EQ(error("read_file", {{"path", name}}), why);
        EXPECT_EQ(error("edit_file", {{"path", name}, {"edits", {{{"old_text", "a"}, {"new_text", "x"}}}}}), why);
    }
    EXPECT_EQ(error("grep_search", {{"path", "fifo"}, {"pattern", "a"}}), "FOLDER/fifo: is a FIFO, not a regular file");
    EXPECT_TRUE(text("grep_search", {{"path", "."}, {"pattern", "s"}}).starts_with("secret:s\n"))
        << "what is no file is passed over in folders";
}

TEST_F(BuiltinTools, WriteFilesWholeWithTheirFoldersAndPermissions) {
    const Json written = answer("write_file", {{"path", "new/deep/a.txt"}, {"content", "text\n"}});
    EXPECT_EQ(written, (Json{{"result", "file written successfully"}, {"path", path("new/deep/a.txt")}, {"bytes", 5}}));
    EXPECT_EQ(read("new/deep/a.txt"), "text\n");
    fs::permissions(path("new/deep/a.txt"), fs::perms(0751));
    fs::create_symlink("new/deep/a.txt", path("link"));
    answer("write_file", {{"path", "link"}, {"content", ""}});
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(read("new/deep/a.txt"), "");
    EXPECT_EQ(fs::status(path("new/deep/a.txt")).permissions(), fs::perms(0751));
    size_t files = 0;
    for (const auto& entry : fs::directory_iterator(path("new/deep"))) files += entry.is_regular_file();
    EXPECT_EQ(files, 1u) << "no temporary file stays";
}

TEST_F(BuiltinTools, WriteOverNothingButFiles) {
    fs::create_directory(path("folder"));
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    write("file", "kept");
    fs::create_symlink("nowhere", path("dangling"));
    const auto write_error = [&](const char* name) { return error("write_file", {{"path", name}, {"content", "x"}}); };
    EXPECT_EQ(write_error("folder"), "FOLDER/folder: is a directory, not a regular file");
    EXPECT_EQ(write_error("fifo"), "FOLDER/fifo: is a FIFO, not a regular file");
    EXPECT_EQ(write_error("/dev/null"), "/dev/null: is a character device, not a regular file");
    EXPECT_EQ(write_error("dangling"), "FOLDER/dangling: is a symbolic link that leads nowhere");
    EXPECT_EQ(write_error("file/below"), "FOLDER/file: Not a directory");
    EXPECT_EQ(read("file"), "kept");
    if (geteuid() == 0) return;  // whom no permission stops
    fs::permissions(path("file"), fs::perms(0400));
    EXPECT_EQ(write_error("file"), "FOLDER/file: Permission denied");
}

// A disk that is full, or here a limit: the file is as it was.
TEST_F(BuiltinTools, LeaveAFileAsItWasWhereItsSuccessorCannotBeWritten) {
    write("file", "kept");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit little{1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    const std::string told = error("write_file", {{"path", "file"}, {"content", std::string(5000, 'x')}});
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old_handler);
    EXPECT_EQ(told, "FOLDER/file: File too large");
    EXPECT_EQ(read("file"), "kept");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(BuiltinTools, EditTexts) {
    write("a", "line1\nline2\n");
    const Json edits = {{{"old_text", "line2"}, {"new_text", "2"}}, {{"old_text", "line1"}, {"new_text", "1"}}};
    EXPECT_EQ(answer("edit_file", {{"path", "a"}, {"edits", edits}}),
              (Json{{"result", "file edited successfully"}, {"path", path("a")}, {"edits_applied", 2}}));
    EXPECT_EQ(read("a"), "1\n2\n");
    EXPECT_EQ(error("edit_file", {{"path", "a"}, {"edits", edits}}),
              "FOLDER/a: edits[0].old_text is not there; it must be the file's text, to the byte");
    EXPECT_EQ(read("a"), "1\n2\n");
}

TEST_F(BuiltinTools, FindFiles) {
    for (const char* name : {"b.cpp", "a.cpp", "src/x.h", "src/deep/y.cpp", "build/made.cpp", ".git/config"})
        write(name, "");
    fs::create_directory_symlink("..", path("src/up"));
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    EXPECT_EQ(text("file_glob_search", {{"path", "."}}),
              "a.cpp\nb.cpp\nsrc/deep/y.cpp\nsrc/x.h\n\n---\nTotal matches: 4\n");
    EXPECT_EQ(text("file_glob_search", {{"path", folder_}, {"include", "*.cpp"}, {"exclude", "src/**"}}),
              "a.cpp\nb.cpp\n\n---\nTotal matches: 2\n");
    EXPECT_EQ(text("file_glob_search", {{"path", "."}, {"type", "dir"}}),
              ".git/\nbuild/\nsrc/\nsrc/deep/\nsrc/up/\n\n---\nTotal matches: 5\n");
    EXPECT_EQ(text("file_glob_search", {{"path", "."}, {"max_depth", 1}, {"limit", 1}}),
              "a.cpp\n\n---\nTotal matches: 2\n[the first 1 of them; a narrower pattern shows others]\n");
    const Json all = answer("file_glob_search", {{"path", "src"}, {"type", "all"}});
    EXPECT_EQ(all["base"], path("src"));
    EXPECT_EQ(all["entries"][0], (Json{{"path", "deep"}, {"type", "dir"}}));
    EXPECT_EQ(error("file_glob_search", {{"path", "none"}}), "FOLDER/none: No such file or directory");
    EXPECT_EQ(error("file_glob_search", {{"path", "a.cpp"}}), "FOLDER/a.cpp: Not a directory");
    EXPECT_EQ(error("file_glob_search", {{"path", "."}, {"type", "x"}}), "invalid type: x (expected file, dir or all)");
    for (int i = 0; i < 150; ++i) write("many/" + std::to_string(i), "");
    EXPECT_EQ(answer("file_glob_search", {{"path", "many"}, {"limit", 1000}})["entries"].size(), 100u);
}

TEST_F(BuiltinTools, FindLines) {
    write("a.txt", "The fox\nfoxes.\nno\n");
    write("b/c.md", "a (fox) and \xff bytes fox\n");
    write("build/x.txt", "fox");
    EXPECT_EQ(text("grep_search", {{"path", "."}, {"pattern", "fox"}}),
              "a.txt:The fox\na.txt:foxes.\nb/c.md:a (fox) and \uFFFD bytes fox\n\n---\nTotal matches: 3\n");
    EXPECT_EQ(
        text("grep_search", {{"path", "."}, {"pattern", "^FOX\\w+"}, {"ignore_case", true}, {"include", "*.txt"}}),
        "a.txt:foxes.\n\n---\nTotal matches: 1\n");
    EXPECT_EQ(
        text("grep_search", {{"path", "."}, {"pattern", "(fox)"}, {"literal", true}, {"return_line_numbers", true}}),
        "b/c.md:1:a (fox) and \uFFFD bytes fox\n\n---\nTotal matches: 1\n");
    EXPECT_EQ(text("grep_search", {{"path", "a.txt"}, {"pattern", "foxes"}, {"context_lines", 1}}),
              "a.txt-1-The fox\na.txt:2:foxes.\na.txt-3-no\n--\n\n---\nTotal matches: 1\n");
    EXPECT_EQ(error("grep_search", {{"path", "."}, {"pattern", "(fox"}}),
              "invalid regex: missing closing parenthesis (at byte 4)");
    EXPECT_EQ(error("grep_search", {{"path", "none"}, {"pattern", "a"}}), "FOLDER/none: there is none");
    std::string many;
    for (int i = 0; i < 300; ++i) many += "fox " + std::string(1000, 'x') + "\n";
    write("many", many);
    const std::string found = text("grep_search", {{"path", "many"}, {"pattern", "fox"}});
    EXPECT_LT(found.size(), 70000u);
    EXPECT_TRUE(found.ends_with("Total matches: 100\n[there are more; a narrower path or pattern shows others]\n"));
}

TEST_F(BuiltinTools, GiveUpExpressionsThatNeverEnd) {
    write("a", std::string(200, 'a') + "!\n");
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(error("grep_search", {{"path", "a"}, {"pattern", "^(a+)+$"}}),
              "the regex was given up: match limit exceeded");
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST_F(BuiltinTools, RunCommands) {
    EXPECT_EQ(text("exec_shell_command", {{"command", "echo out; echo err >&2; pwd; cat; exit 3"}}),
              "out\nerr\n" + folder_ + "\n\n[exit code: 3]");
    EXPECT_EQ(text("exec_shell_command", {{"command", "kill -9 $$"}}), "\n[exit code: 137]");
    EXPECT_EQ(text("exec_shell_command", {{"command", "printf '\\377\\303'"}}), "\xff\uFFFD\n[exit code: 0]");
    EXPECT_EQ(text("exec_shell_command", {{"command", "echo a; exec >&- 2>&-; sleep 0.3; exit 4"}}),
              "a\n\n[exit code: 4]");
}

TEST_F(BuiltinTools, EndCommandsThatAreLateAndWhatTheyLeave) {
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(text("exec_shell_command", {{"command", "trap '' TERM; echo a; sleep 100"}, {"timeout", 1}}),
              "a\n\n[exit code: 137] [exit due to timed out]");
    const std::string left = text("exec_shell_command", {{"command", "sleep 100 & echo $!"}});
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8));
    const auto process = pid_t(std::stol(left));
    std::ifstream status("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(status, line);
    EXPECT_TRUE(line.empty() || line.contains(") Z")) << line;
}

TEST_F(BuiltinTools, KeepSoMuchOfWhatACommandWrites) {
    const std::string some = text("exec_shell_command", {{"command", "printf 123456"}, {"max_output_size", 4}});
    EXPECT_EQ(some, "1234\n[2 bytes of 6 are left out]\n[exit code: 0]");
    const std::string endless = text("exec_shell_command", {{"command", "yes"}, {"timeout", 1}});
    EXPECT_LT(endless.size(), 17000u);
    EXPECT_TRUE(endless.ends_with("[exit code: 137] [exit due to timed out]")) << endless.substr(16000);
}

TEST_F(BuiltinTools, SayWhatACommandWritesAsItComes) {
    std::vector<std::string> said;
    const auto begun = std::chrono::steady_clock::now();
    const auto result = run("exec_shell_command", {{"command", "echo one; sleep 0.5; echo two; sleep 100"}},
                            [&](std::string_view part) {
                                said.emplace_back(part);
                                return said.size() < 2;  // and then the client leaves
                            });
    ASSERT_TRUE(result);
    EXPECT_EQ(said, (std::vector<std::string>{"one\n", "two\n"}));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST_F(BuiltinTools, EndWhenNobodyWaits) {
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(run("exec_shell_command", {{"command", "sleep 100"}, {"timeout", 60}}, nullptr,
                    [&] { return std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(300); }));
    write("a", "text");
    EXPECT_EQ((*run("read_file", {{"path", "a"}}, nullptr, [] { return false; }))["error"],
              path("a") + ": was interrupted");
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
}

TEST_F(BuiltinTools, NameTheParameterThatIsWrong) {
    for (const char* name : {"read_file", "write_file", "edit_file", "file_glob_search", "grep_search"})
        refused(name, Json::object(), 400, "\"path\" is missing");
    refused("exec_shell_command", {{"command", 5}}, 400, "\"command\": expected a string, got 5");
    refused("exec_shell_command", {{"command", std::string("a\0b", 3)}}, 400, "\"command\": has a NUL byte");
    refused("exec_shell_command", {{"command", "a"}, {"timeout", 0}}, 400,
            "\"timeout\": expected an integer from 1 to 2147483647, got 0");
    refused("read_file", {{"path", ""}}, 400, "\"path\": expected a path");
    refused("read_file", {{"path", std::string("a\0b", 3)}}, 400, "\"path\": expected a path");
    refused("read_file", {{"path", "a"}, {"start_line", "1"}}, 400,
            "\"start_line\": expected an integer from 1 to 9223372036854775807, got \"1\"");
    refused("write_file", {{"path", "a"}}, 400, "\"content\" is missing");
    refused("edit_file", {{"path", "a"}, {"edits", Json::array()}}, 400,
            "\"edits\": expected an array with an edit in it");
    refused("edit_file", {{"path", "a"}, {"edits", {5}}}, 400, "\"edits[0]\": expected an object");
    refused("edit_file", {{"path", "a"}, {"edits", {{{"old_text", "a"}}}}}, 400, "\"new_text\" is missing");
    refused("grep_search", {{"path", "a"}}, 400, "\"pattern\" is missing");
    refused("file_glob_search", {{"path", "a"}, {"include", std::string(5000, '*')}}, 400,
            "\"include\": a pattern has at most 4096 bytes");
    EXPECT_FALSE(fs::exists(path("a")));
}

TEST_F(BuiltinTools, TellWhereTheyAre) {
    const std::string info = text("get_info", Json::object());
    EXPECT_TRUE(info.starts_with("OS: Linux ")) << info;
    EXPECT_TRUE(info.ends_with("working directory: " + folder_ + "\n")) << info;
}

}  // namespace builtin_tools_test
}  // namespace riftjit::server
