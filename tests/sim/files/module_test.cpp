#include "sim/files/module.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace riftjit::sim {
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

}  // namespace module_test
}  // namespace riftjit::sim
