#include "host/module.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/host/scratch.h"

namespace riftjit {
namespace module_test {

TEST(Modules, AreLookedForBesideTheFileThatTheCodeWasLoadedFrom) {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
    EXPECT_EQ(image_of(reinterpret_cast<const void*>(&load_module)), program);
    // A library has a file of its own.
    const std::filesystem::path library = image_of(dlsym(RTLD_DEFAULT, "malloc_trim"));
    EXPECT_TRUE(library.is_absolute());
    EXPECT_TRUE(library.filename().string().starts_with("libc")) << library;
}

TEST(Modules, ThatAreMissingAreNamed) {
    const auto missing = load_module("nothing");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message.find("libriftjit-nothing.so is neither beside the program nor at "), 0u);
}

TEST(Modules, ThatAreNotWholeAreRefusedBeforeTheyAreMapped) {
    const std::filesystem::path built =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libriftjit-plots.so";
    EXPECT_TRUE(require_whole_library(built));
    const Scratch scratch;
    const auto problem = [](const std::filesystem::path& path) {
        const auto result = require_whole_library(path);
        return result ? "accepted" : result.error().message;
    };
    const uint64_t whole = std::filesystem::file_size(built);
    for (const uint64_t bytes : {uint64_t(0), uint64_t(63), uint64_t(200), uint64_t(5000), whole / 2, whole - 1}) {
        const auto part = scratch.path("part.so");
        std::filesystem::copy_file(built, part, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(part, bytes);
        const std::string expected = bytes < 64 ? ": not a shared library" : ": truncated: " + std::to_string(bytes);
        EXPECT_EQ(problem(part).find(part + expected), 0u) << problem(part);
    }
    const auto fifo = scratch.path("fifo.so");
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(problem(fifo), fifo + ": not a regular file");  // and does not wait for a writer
}

}  // namespace module_test
}  // namespace riftjit
