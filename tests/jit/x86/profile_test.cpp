#include "jit/profile.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "jit/x86/host_kernels.h"
#include "tests/host/oracle.h"
#include "tests/jit/cache/cache_fixture.h"

// What gdb reads of the process: the protocol's own declarations.
extern "C" {
struct JitCodeEntry {
    JitCodeEntry* next_entry;
    JitCodeEntry* prev_entry;
    const char* symfile_addr;
    uint64_t symfile_size;
};
struct JitDescriptor {
    uint32_t version;
    uint32_t action_flag;
    JitCodeEntry* relevant_entry;
    JitCodeEntry* first_entry;
};
extern JitDescriptor riftjit_test_descriptor asm("__jit_debug_descriptor");
}

namespace riftjit {
namespace profile_test {

std::vector<std::string> registered_names() {
    std::vector<std::string> names;
    for (const JitCodeEntry* entry = riftjit_test_descriptor.first_entry; entry != nullptr; entry = entry->next_entry) {
        const auto* first = reinterpret_cast<const std::byte*>(entry->symfile_addr);
        const auto object = read_x86_object({first, entry->symfile_size});
        names.push_back(object ? object->name : object.error().message);
    }
    return names;
}

// One kernel after the other, sealed each time, so that both are told.
struct Profiled {
    explicit Profiled(Profile sinks) : cache(compile_test_object, DiskCache::disabled()), kernels(cache, sinks) {
        first = kernels.get(test_spec(16), Isa::avx2).value();
        EXPECT_TRUE(kernels.seal());
        second = kernels.get(test_spec(32), Isa::avx2).value();
        EXPECT_TRUE(kernels.seal());
    }
    KernelCache cache;
    x86::HostKernels kernels;
    KernelFunction first, second;
};

TEST(Profile, WritesOneLinePerKernelToThePerfMap) {
    const std::string answer = in_child([] {  // with a process id, and so a map, of its own
        const Profiled profiled(Profile::perf_map);
        const std::vector<std::byte> map = read_file(perf_map_path());
        std::string text(reinterpret_cast<const char*>(map.data()), map.size());
        const auto line = [](KernelFunction function, uint32_t width) {
            return fmt::format("{:x} 3 {}\n", reinterpret_cast<uintptr_t>(function), kernel_name(test_spec(width)));
        };
        const bool is_right = text == line(profiled.first, 16) + line(profiled.second, 32);
        std::filesystem::remove(perf_map_path());
        return is_right ? std::string("right") : text;
    });
    EXPECT_EQ(answer, "right");
}

TEST(Profile, FollowsNoLinkAtThePerfMapsName) {
    const Scratch scratch;
    const std::string answer = in_child([&] {
        std::filesystem::create_symlink(scratch.path("victim"), perf_map_path());
        KernelCache cache(compile_test_object, DiskCache::disabled());
        x86::HostKernels kernels(cache, Profile::perf_map);
        std::ignore = kernels.get(test_spec(), Isa::avx2);
        const auto sealed = kernels.seal();
        std::filesystem::remove(perf_map_path());
        return sealed ? "sealed" : sealed.error().message;
    });
    EXPECT_TRUE(matches(answer, "^perf map: cannot open /tmp/perf-[0-9]+.map: Too many levels of symbolic links$"));
    EXPECT_FALSE(std::filesystem::exists(scratch.path("victim")));
}

TEST(Profile, RegistersKernelsWithGdbWhileTheyLive) {
    std::filesystem::remove(perf_map_path());  // of an earlier process with this id
    EXPECT_TRUE(registered_names().empty());
    {
        const Profiled profiled(Profile::gdb);
        EXPECT_EQ(registered_names(), (std::vector<std::string>{"rj_quantize_w32_i16", "rj_quantize_w16_i16"}));
        EXPECT_EQ(riftjit_test_descriptor.version, 1u);
        EXPECT_FALSE(std::filesystem::exists(perf_map_path()));
    }
    EXPECT_TRUE(registered_names().empty());
}

TEST(Profile, TellsNobodyUnlessAsked) {
    std::filesystem::remove(perf_map_path());  // of an earlier process with this id
    KernelCache cache(compile_test_object, DiskCache::disabled());
    x86::HostKernels kernels(cache);
    ASSERT_TRUE(kernels.get(test_spec(), Isa::avx2));
    ASSERT_TRUE(kernels.seal());
    EXPECT_TRUE(registered_names().empty());
    EXPECT_FALSE(std::filesystem::exists(perf_map_path()));
}

TEST(Profile, GivesGdbTheAddressOfTheCode) {
    const Profiled profiled(Profile::gdb);
    const JitCodeEntry* entry = riftjit_test_descriptor.first_entry->next_entry;
    const Scratch scratch;
    const auto* first = reinterpret_cast<const std::byte*>(entry->symfile_addr);
    write_file(scratch.path("placed.o"), {first, entry->symfile_size});
    if (!has_command("readelf")) return lack_oracle("binutils (readelf)");
    EXPECT_TRUE(has_text(
        output_of("readelf -W -S " + scratch.path("placed.o")),
        fmt::format(".text             PROGBITS        {:016x}", reinterpret_cast<uintptr_t>(profiled.first))));
}

// Also the program of the test below.
TEST(Profile, LetsRegisteredKernelsRun) {
    const Profiled profiled(Profile::gdb);
    uint32_t stored = 0;
    profiled.first(&stored, 1, 2);
    EXPECT_EQ(stored, 1u);
}

// A program that calls a kernel under gdb: the break point is found by the kernel's name, the back-trace names it.
TEST(Profile, LetsGdbStopAtAKernelByName) {
    if (!has_command("gdb")) return lack_oracle("gdb");
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string output = output_of(
        "DEBUGINFOD_URLS= timeout 60 gdb -batch -nx -ex 'set breakpoint pending on' -ex 'break rj_quantize_w16_i16' "
        "-ex run -ex bt "
        "-ex 'info symbol $pc' --args " +
        program + " --gtest_filter=Profile.LetsRegisteredKernelsRun 2>&1");
    if (output.find("ptrace: Operation not permitted") != std::string::npos)
        GTEST_SKIP() << "wants the right to trace processes";
    EXPECT_TRUE(matches(output, "Breakpoint 1, 0x[0-9a-f]+ in rj_quantize_w16_i16 \\(\\)"));
    EXPECT_TRUE(matches(output, "#0 +0x[0-9a-f]+ in rj_quantize_w16_i16 \\(\\)"));
    EXPECT_TRUE(has_text(output, "TestBody"));  // with debug information gdb leaves the class out
}

}  // namespace profile_test
}  // namespace riftjit
