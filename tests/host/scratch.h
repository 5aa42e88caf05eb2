// A directory of its own for a test, and the few file and command helpers that tests of jit/ share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <span>
#include <string>
#include <vector>

namespace riftjit {

class Scratch {
public:
    explicit Scratch(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
        std::string pattern = (parent / "riftjit-test-XXXXXX").string();
        directory_ = mkdtemp(pattern.data());
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    const std::filesystem::path& directory() const { return directory_; }
    std::string path(const std::string& name) const { return (directory_ / name).string(); }

private:
    std::filesystem::path directory_;
};

inline void write_file(const std::string& path, std::span<const std::byte> bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
    file.close();
    ASSERT_TRUE(file.good()) << path;
    std::filesystem::permissions(path, std::filesystem::perms(0600));  // whatever the umask is
}

// A tree of files by their paths in it.
inline void write_files(const std::filesystem::path& root, const std::map<std::string, std::string>& texts) {
    for (const auto& [path, text] : texts) {
        std::filesystem::create_directories((root / path).parent_path());
        std::ofstream(root / path) << text;
    }
}

inline std::vector<std::byte> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

inline std::string output_of(const std::string& command) {
    std::string output;
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    for (size_t count; (count = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, count);
    pclose(pipe);
    return output;
}

inline bool has_command(const std::string& name) {
    return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

inline ::testing::AssertionResult has_text(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << '"' << part << "\" is not in \"" << text << '"';
}

// Any part of the text.
inline ::testing::AssertionResult matches(const std::string& text, const std::string& expression) {
    if (std::regex_search(text, std::regex(expression))) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << '"' << expression << "\" matches nothing in \"" << text << '"';
}

}  // namespace riftjit
