#include "tools/model/cache_command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/jit/cache/cache_fixture.h"
#include "tests/tools/command_in_process.h"

namespace riftjit::tools {
namespace cache_command_test {

// `riftjit cache ...` in this process.
CommandOutcome cache_command(const std::vector<std::string>& arguments) {
    return run_in_process(add_cache_command, "cache", arguments);
}

nlohmann::json json_of(const std::vector<std::string>& arguments) {
    return nlohmann::json::parse(cache_command(arguments).output);
}

TEST(CacheCommand, CountsWhatTheCacheHolds) {
    const FilledCache cache;
    const CommandOutcome text = cache_command({"stat", "--cache-dir", cache.directory()});
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_TRUE(has_text(text.output, "directory    " + cache.entries() + "\nentries      1 ("));
    EXPECT_TRUE(matches(text.output, "x86_64-avx2 +1 "));
    const auto json = json_of({"stat", "--json", "--cache-dir", cache.directory()});
    EXPECT_EQ(json["directory"], cache.entries());
    EXPECT_EQ(json["entries"], 1);
    EXPECT_EQ(json["bytes"], std::filesystem::file_size(cache.entry_path()));
    EXPECT_EQ(json["targets"]["x86_64-avx2"]["entries"], 1);
    EXPECT_EQ(json["temporaries"]["files"], 0);
    EXPECT_EQ(json["other_files"], 0);
}

TEST(CacheCommand, ListsKernels) {
    const FilledCache cache;
    const std::string key = cache_key(test_spec(), Isa::avx2).hex;
    const CommandOutcome text = cache_command({"ls", "--cache-dir", cache.directory()});
    EXPECT_TRUE(
        matches(text.output,
                key + "  x86_64-avx2 +[0-9]+  [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}  rj_quantize_w1024_i16\n"));
    const auto json = json_of({"ls", "--json", "--cache-dir", cache.directory()});
    ASSERT_EQ(json.size(), 1u);
    EXPECT_EQ(json[0]["kernel"], "rj_quantize_w1024_i16");
    EXPECT_EQ(json[0]["key"], key);
    EXPECT_EQ(json[0]["problem"], "");
}

TEST(CacheCommand, ListsEntriesOfTimesThatNoCalendarHas) {
    const Scratch in_memory("/dev/shm");  // a file system that keeps any number of seconds
    const std::string directory = in_memory.path("cache");
    run_once(directory);
    const std::string entry = directory + "/v1/" + entry_file_name(cache_key(test_spec(), Isa::avx2));
    const timespec beyond[2] = {{int64_t(1) << 62, 0}, {int64_t(1) << 62, 0}};
    struct stat status{};
    utimensat(AT_FDCWD, entry.c_str(), beyond, 0);
    if (stat(entry.c_str(), &status) != 0 || status.st_mtime != beyond[1].tv_sec)
        GTEST_SKIP() << "/dev/shm does not keep such times";
    const CommandOutcome listed = cache_command({"ls", "--cache-dir", directory});
    EXPECT_EQ(listed.exit_code, 0);
    EXPECT_TRUE(has_text(listed.output, "out of range      rj_quantize_w1024_i16\n")) << listed.output;
}

TEST(CacheCommand, VerifyExitsWith1WhenAnEntryIsBad) {
    const FilledCache cache;
    const CommandOutcome sound = cache_command({"verify", "--cache-dir", cache.directory()});
    EXPECT_EQ(sound.exit_code, 0);
    EXPECT_EQ(sound.output, "1 sound, 0 bad\n");
    std::filesystem::resize_file(cache.entry_path(), 20);
    const CommandOutcome bad = cache_command({"verify", "--cache-dir", cache.directory()});
    EXPECT_EQ(bad.exit_code, 1);
    EXPECT_EQ(bad.output, cache.entry_name() + ": corrupt: truncated to 20 bytes\n0 sound, 1 bad\n");
    const CommandOutcome json = cache_command({"verify", "--json", "--cache-dir", cache.directory()});
    EXPECT_EQ(json.exit_code, 1);
    EXPECT_EQ(nlohmann::json::parse(json.output)["bad"][0]["reason"], "corrupt");
    EXPECT_TRUE(matches(cache_command({"ls", "--cache-dir", cache.directory()}).output,
                        "\\(corrupt: truncated to 20 bytes\\)\n"));
}

TEST(CacheCommand, PrunesAndClears) {
    const FilledCache cache;
    EXPECT_EQ(cache_command({"prune", "--max-bytes", "1M", "--cache-dir", cache.directory()}).output,
              "removed 0 files (0 B)\n");
    EXPECT_EQ(json_of({"prune", "--json", "--cache-dir", cache.directory()})["removed_files"], 0);  // below the cap
    EXPECT_EQ(json_of({"prune", "--max-bytes", "0", "--json", "--cache-dir", cache.directory()})["removed_files"], 1);
    run_once(cache.directory());
    EXPECT_TRUE(has_text(cache_command({"clear", "--cache-dir", cache.directory()}).output, "removed 1 file ("));
    EXPECT_FALSE(std::filesystem::exists(cache.entry_path()));
}

TEST(CacheCommand, RefusesADirectoryThatOthersMayWrite) {
    const FilledCache cache;
    std::filesystem::permissions(cache.directory(), std::filesystem::perms(0777));
    const CommandOutcome outcome = cache_command({"verify", "--cache-dir", cache.directory()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.errors, "error: " + cache.directory() + " may be written by group or others (mode 0777)\n");
}

TEST(CacheCommand, UnderstandsSizes) {
    EXPECT_EQ(parse_bytes("--max-bytes", "0").value(), 0u);
    EXPECT_EQ(parse_bytes("--max-bytes", "4096").value(), 4096u);
    EXPECT_EQ(parse_bytes("--max-bytes", "64K").value(), 65536u);
    EXPECT_EQ(parse_bytes("--max-bytes", "1.5M").value(), 1572864u);
    EXPECT_EQ(parse_bytes("--max-bytes", "2G").value(), uint64_t(2) << 30);
    for (const char* text : {"", "K", "-1", "1X", "1KB", "nan", "inf", "1e400", "99999999T", "abc"}) {
        const auto refused = parse_bytes("--max-bytes", text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().message,
                  fmt::format("--max-bytes: expected a size such as 4096, 64K, 100M or 2G, got \"{}\"", text));
    }
    const CommandOutcome outcome = cache_command({"prune", "--max-bytes", "lots", "--cache-dir", "/nonexistent"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(has_text(outcome.errors, "got \"lots\""));
}

TEST(CacheCommand, WantsASubcommandThatItKnows) {
    EXPECT_NE(cache_command({}).exit_code, 0);
    EXPECT_NE(cache_command({"shrink"}).exit_code, 0);
}

}  // namespace cache_command_test
}  // namespace riftjit::tools
