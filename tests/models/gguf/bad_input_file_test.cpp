// Files that are no GGUF files, not whole, or not files at all (rows B23 to B25, B27 and B28 of the project's list of
// bad input): refused at once, saying what they are.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>

#include "models/gguf/gguf_mapping.h"
#include "tests/models/expect_message.h"

namespace riftjit::models {
namespace bad_input_file_test {

using namespace test;
namespace fs = std::filesystem;

std::string message_of(const fs::path& path) {
    const auto result = Gguf::open(path);
    return result ? "" : result.error().message;
}

// ---- B23 ----

constexpr uint64_t kTerabyte = uint64_t{1} << 40;

TEST(BadInputFile, B23TellsTheSizeFoundFromTheSizeNeeded) {
    const Image image = tiny_model().build();
    MemoryFile file(image.bytes);
    file.resize(kTerabyte);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(
        says(message_of(file.path()), {"has 1099511627776 bytes", "need only " + std::to_string(image.bytes.size())}));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(BadInputFile, B23TouchesNothingProportionalToTheSize) {
    // A terabyte that is claimed by one tensor: valid, and opened without reading it.
    GgufBuilder builder;
    builder.tensors.push_back({"huge", {uint64_t{1} << 38}, 0, ""});
    MemoryFile file(builder.bytes());
    file.resize(builder.bytes().size() + kTerabyte);
    rusage before = {}, after = {};
    getrusage(RUSAGE_SELF, &before);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(message_of(file.path()), "");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "KiB";
}

TEST(BadInputFile, B23ReadsNoMoreThanItsBoundOfMetadata) {
    // An array of 2^35 empty strings, every one of them a hole in a sparse file.
    GgufBuilder builder;
    builder.set("tokens", array_of(GgufType::string, uint64_t{1} << 30, ""));
    MemoryFile file(builder.bytes());
    file.resize(kTerabyte);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(says(message_of(file.path()), {"of key 'tokens'", "longer than the 134217728 bytes"}));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(BadInputFile, B23HoldsWithinALimitOfAddressSpace) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers reserve more address space than the limit; wants a build without them";
#endif
    const Bytes bytes = tiny_model().bytes();
    MemoryFile file(bytes);
    file.resize(kTerabyte);
    const auto open_within_limit = [&] {
        const rlimit limit = {1'500'000'000, 1'500'000'000};
        setrlimit(RLIMIT_AS, &limit);
        std::fprintf(stderr, "%s\n", message_of(file.path()).c_str());
        std::exit(1);
    };
    EXPECT_EXIT(open_within_limit(), ::testing::ExitedWithCode(1), "need only " + std::to_string(bytes.size()));
}

// ---- B24 ----

TEST(BadInputFile, B24SaysWhatAFileLooksLike) {
    struct Case {
        Bytes bytes;
        const char* said;
        const char* first_bytes;
    };
    for (const Case& c : {
             Case{"<!DOCTYPE html><html><body>404</body></html>", "HTML", "3c 21 44 4f (\"<!DO\")"},
             Case{"\r\n  <html>", "HTML", "0d 0a 20 20"},
             Case{"\xef\xbb\xbf<html>", "HTML", "ef bb bf 3c"},
             Case{"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
                  "this is a Git-LFS pointer; fetch the real file", "76 65 72 73 (\"vers\")"},
             Case{"{\"error\":\"Repository not found\"}", "JSON", "7b 22 65 72"},
             Case{" {\"error\":1}", "JSON", "20 7b 22 65"},
             Case{Bytes("PK\x03\x04\x14\0\0\0", 8), "ZIP", "50 4b 03 04"},
             Case{raw(uint64_t{64}) + "{\"__metadata__\":{}}", "safetensors", "40 00 00 00"},
             Case{Bytes("\x1f\x8b\x08\0", 4), "gzip", "1f 8b 08 00"},
             Case{Bytes(4096, '\0'), "zeros", "00 00 00 00"},
             Case{"tjgg\3", "predecessor of GGUF", "74 6a 67 67"},
             Case{"hello", "", "68 65 6c 6c (\"hell\")"},
         })
        EXPECT_TRUE(says(open_message(c.bytes), {"invalid magic characters", c.said, c.first_bytes, "47 47 55 46"}));
}

TEST(BadInputFile, B24NamesEmptyAndTinyFiles) {
    EXPECT_TRUE(says(open_message(Bytes()), {"the file is empty (0 bytes)"}));
    EXPECT_TRUE(says(open_message("GG"), {"file ends at byte 2 inside the magic characters"}));
    EXPECT_TRUE(says(open_message("XY"), {"invalid magic characters", "58 59"}));
}

// ---- B25 ----

// Three parts of a tiny model: the first without tensors, as `--no-tensor-first-split` writes it.
struct SplitModel {
    GgufBuilder parts[3];
    uint32_t total;
};

SplitModel split_model() {
    SplitModel model;
    model.parts[0] = tiny_model();
    std::vector<TestTensor> tensors = std::move(model.parts[0].tensors);
    model.total = static_cast<uint32_t>(tensors.size());
    model.parts[0].tensors.clear();
    for (size_t i = 0; i < tensors.size(); ++i) model.parts[1 + i % 2].tensors.push_back(tensors[i]);
    for (uint16_t number = 0; number < 3; ++number)
        model.parts[number]
            .set("split.no", {GgufType::u16, raw(number)})
            .set("split.count", {GgufType::u16, raw(uint16_t{3})})
            .set("split.tensors.count", i32(static_cast<int32_t>(model.total)));
    return model;
}

std::string part_name(int number, int count = 3) { return fmt::format("tiny-{:05}-of-{:05}.gguf", number, count); }

class SplitFiles {
public:
    explicit SplitFiles(const SplitModel& model) {
        for (int i = 0; i < 3; ++i) write(i + 1, model.parts[i]);
    }
    void write(int number, const GgufBuilder& builder) const { directory_.write(part_name(number), builder.bytes()); }
    fs::path path(int number = 1) const { return directory_.path() / part_name(number); }
    std::string message() const { return message_of(path()); }

private:
    TemporaryDirectory directory_;
};

TEST(BadInputFile, B25OpensAWholeSplitSet) {
    const SplitModel model = split_model();
    const SplitFiles files(model);
    const auto gguf = Gguf::open(files.path());
    ASSERT_TRUE(gguf) << gguf.error().message;
    EXPECT_EQ(gguf->tensors().size(), model.total);
    EXPECT_EQ(gguf->entries().size(), model.parts[0].entries.size());
    for (const TestTensor& tensor : tiny_model().tensors) {
        const GgufTensor* found = gguf->find_tensor(tensor.name);
        ASSERT_NE(found, nullptr) << tensor.name;
        EXPECT_EQ(std::memcmp(found->data.data(), tensor.data.data(), tensor.data.size()), 0) << tensor.name;
    }
    EXPECT_EQ(gguf->file_bytes(),
              model.parts[0].bytes().size() + model.parts[1].bytes().size() + model.parts[2].bytes().size());
    EXPECT_TRUE(load_model(files.path()));
}

TEST(BadInputFile, B25FollowsTheAlignmentOfEachPart) {
    SplitModel model = split_model();
    model.parts[2].set_alignment(128);
    const SplitFiles files(model);
    EXPECT_EQ(files.message(), "");
}

TEST(BadInputFile, B25NamesAMissingPart) {
    const SplitFiles files(split_model());
    fs::remove(files.path(2));
    EXPECT_TRUE(says(files.message(), {part_name(2), "No such file or directory", "part 2 of 3", part_name(1)}));
}

TEST(BadInputFile, B25RefusesSwappedParts) {
    const SplitModel model = split_model();
    const SplitFiles files(model);
    files.write(2, model.parts[2]);
    EXPECT_TRUE(
        says(files.message(), {part_name(2), "invalid split file idx: split.no is 2, expected 1 (part 2 of 3)"}));
}

TEST(BadInputFile, B25RefusesALaterPartGivenFirst) {
    const SplitFiles files(split_model());
    EXPECT_TRUE(says(message_of(files.path(2)), {"illegal split file idx: 1",
                                                 "model must be loaded with the first split", "-00001-of-00003.gguf"}));
}

TEST(BadInputFile, B25RefusesTwoSetsMixed) {
    SplitModel model = split_model();
    const SplitFiles files(model);
    model.parts[2].tensors.push_back(model.parts[1].tensors[0]);
    files.write(3, model.parts[2]);
    EXPECT_TRUE(says(files.message(), {part_name(3), "tensor 'token_embd.weight' is duplicated", part_name(2)}));
    model.parts[2].tensors.pop_back();
    model.parts[2].tensors.pop_back();
    files.write(3, model.parts[2]);
    EXPECT_TRUE(says(files.message(), {"corrupted model: " + std::to_string(model.total) + " tensors expected but " +
                                       std::to_string(model.total - 1) + " found"}));
}

TEST(BadInputFile, B25RefusesCountsThatDiffer) {
    SplitModel model = split_model();
    const SplitFiles files(model);
    model.parts[1].set("split.count", {GgufType::u16, raw(uint16_t{4})});
    files.write(2, model.parts[1]);
    EXPECT_TRUE(says(files.message(), {part_name(2), "split.count is 4, expected 3"}));
    model.parts[0].set("split.count", {GgufType::u16, raw(uint16_t{2})});
    files.write(1, model.parts[0]);
    EXPECT_TRUE(says(files.message(), {"invalid split file name", part_name(1), "-00001-of-00002.gguf"}));
}

TEST(BadInputFile, B25RefusesTotalsThatDiffer) {
    SplitModel model = split_model();
    for (const int part : {1, 2}) {
        SplitModel wrong = model;
        wrong.parts[part].set("split.tensors.count", i32(static_cast<int32_t>(model.total) + 7));
        EXPECT_TRUE(says(
            SplitFiles(wrong).message(),
            {part_name(part + 1),
             fmt::format("split.tensors.count is {}, expected {} as in", model.total + 7, model.total), part_name(1)}));
    }
    model.parts[1].erase("split.tensors.count");  // said once is enough
    EXPECT_TRUE(Gguf::open(SplitFiles(model).path()).has_value());
}

TEST(BadInputFile, B25RefusesPartsWithoutTheirNumber) {
    for (const char* key : {"split.no", "split.count"}) {
        SplitModel model = split_model();
        model.parts[1].erase(key);
        EXPECT_TRUE(
            says(SplitFiles(model).message(), {std::string("missing key ") + key + " in GGUF split", part_name(2)}));
    }
    SplitModel model = split_model();
    model.parts[0].erase("split.tensors.count");
    EXPECT_TRUE(says(SplitFiles(model).message(), {"missing key split.tensors.count"}));
    model.parts[0].erase("split.no");
    EXPECT_TRUE(says(SplitFiles(model).message(), {"missing key split.no in GGUF split", part_name(1)}));
    model.parts[0].set("split.count", string("3"));
    EXPECT_TRUE(says(SplitFiles(model).message(), {"key split.count", "wrong type string"}));
}

TEST(BadInputFile, B25RefusesNamesThatDoNotFitThePattern) {
    const TemporaryDirectory directory;
    for (const char* name : {"tiny.gguf", "tiny-1-of-3.gguf", "tiny-00001-of-00003.bin", "tiny-00002-of-00003.gguf"})
        EXPECT_TRUE(
            says(message_of(directory.write(name, split_model().parts[0].bytes())), {"invalid split file name", name}));
}

TEST(BadInputFile, B25TreatsACountOfOneAsASingleFile) {
    GgufBuilder builder = tiny_model();
    for (const uint16_t count : {uint16_t{0}, uint16_t{1}}) {
        builder.set("split.count", {GgufType::u16, raw(count)});
        EXPECT_EQ(open_message(builder), "");
    }
}

TEST(BadInputFile, B25ReportsAPartThatIsCutOff) {
    const SplitModel model = split_model();
    const SplitFiles files(model);
    fs::resize_file(files.path(3), fs::file_size(files.path(3)) - 1);
    EXPECT_TRUE(says(files.message(), {part_name(3), "data is not within the file bounds", "part 3 of 3"}));
}

// ---- B27 ----

TEST(BadInputFile, B27EndsWithAMessageWhenTheFileShrinksWhileInUse) {
    const auto read_after_truncation = [](LostPageHandler handler) {
        set_lost_page_handler(handler);
        MemoryFile file(tiny_model().bytes());
        const auto gguf = Gguf::open(file.path());
        check(gguf.has_value(), "the tiny model opens");
        file.resize(4096);
        // On a page that is gone by now.
        const volatile std::byte lost = gguf->find_tensor("output_norm.weight")->data.front();
        std::exit(lost == std::byte{0} ? 2 : 3);
    };
    constexpr const char* kLine =
        "^error: /proc/self/fd/[0-9]+: byte [0-9]+ can no longer be read: the file was truncated while in use";
    EXPECT_EXIT(read_after_truncation([] { _exit(7); }), ::testing::ExitedWithCode(7), kLine);
#if defined(__SANITIZE_ADDRESS__)
    EXPECT_DEATH(read_after_truncation(nullptr), "BUS");  // the sanitizer's handler was there before
#else
    EXPECT_EXIT(read_after_truncation(nullptr), ::testing::KilledBySignal(SIGBUS), kLine);
#endif
}

TEST(BadInputFile, B27LeavesOtherBusErrorsAlone) {
    const auto fault_elsewhere = [] {
        const MemoryFile model(tiny_model().bytes());
        const auto gguf = Gguf::open(model.path());
        MemoryFile other;
        other.resize(4096);
        const int descriptor = open(other.path().c_str(), O_RDONLY);
        const auto* page = static_cast<const volatile char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0));
        other.resize(0);
        std::exit(*page == 0 ? 2 : 3);
    };
#if defined(__SANITIZE_ADDRESS__)
    EXPECT_DEATH(fault_elsewhere(), "BUS");  // reported by the sanitizer's own handler
#else
    EXPECT_EXIT(fault_elsewhere(), ::testing::KilledBySignal(SIGBUS), "");
#endif
}

// ---- B28 ----

TEST(BadInputFile, B28RefusesWhatIsNoRegularFile) {
    const TemporaryDirectory directory;
    EXPECT_TRUE(says(message_of(directory.path()), {"is a directory, not a regular file"}));
    EXPECT_TRUE(says(message_of("/dev/zero"), {"/dev/zero: is a character device, not a regular file"}));
    EXPECT_TRUE(says(message_of("/dev/null"), {"is a character device"}));

    const fs::path fifo = directory.path() / "fifo.gguf";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_TRUE(says(message_of(fifo), {"is a FIFO, not a regular file"}));  // and returns, though nobody writes

    const int socket_descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    const fs::path socket_path = directory.path() / "s";
    ASSERT_LT(socket_path.native().size(), sizeof address.sun_path);
    std::strcpy(address.sun_path, socket_path.c_str());
    ASSERT_EQ(bind(socket_descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_TRUE(says(message_of(socket_path), {"is a socket, not a regular file"}));
    close(socket_descriptor);
}

TEST(BadInputFile, B28GivesTheSystemsReason) {
    const TemporaryDirectory directory;
    EXPECT_TRUE(
        says(message_of(directory.path() / "absent.gguf"), {"absent.gguf: cannot open: No such file or directory"}));
    fs::create_symlink("b.gguf", directory.path() / "a.gguf");
    fs::create_symlink("a.gguf", directory.path() / "b.gguf");
    EXPECT_TRUE(says(message_of(directory.path() / "a.gguf"), {"Too many levels of symbolic links"}));
    fs::create_symlink("nowhere", directory.path() / "dangling.gguf");
    EXPECT_TRUE(says(message_of(directory.path() / "dangling.gguf"), {"No such file or directory"}));
    EXPECT_TRUE(says(message_of(directory.path() / std::string(300, 'n')), {"File name too long"}));
    EXPECT_TRUE(says(message_of(""), {"cannot open: No such file or directory"}));
}

TEST(BadInputFile, B28RefusesAFileThatMayNotBeRead) {
    const TemporaryDirectory directory;
    const fs::path path = directory.write("secret.gguf", tiny_model().bytes());
    fs::permissions(path, fs::perms::none);
    const auto open_as_ordinary_user = [&] {
        constexpr uid_t kNobody = 65534;
        if (geteuid() == 0 && setuid(kNobody) != 0) std::exit(2);  // root may read every file
        std::fprintf(stderr, "%s\n", message_of(path).c_str());
        std::exit(1);
    };
    EXPECT_EXIT(open_as_ordinary_user(), ::testing::ExitedWithCode(1), "secret.gguf: cannot open: Permission denied");
}

TEST(BadInputFile, B28EscapesThePath) {
    const TemporaryDirectory directory;
    EXPECT_TRUE(says(message_of(directory.path() / "a\nb.gguf"), {"a\\x0ab.gguf: cannot open"}));
    const fs::path valid = directory.write("model.gguf", tiny_model().bytes());
    // The system would stop reading the path at the NUL, and open another file than the caller named.
    EXPECT_TRUE(says(message_of(fs::path(valid.native() + std::string("\0.bak", 5))), {"model.gguf\\x00.bak", "NUL"}));
    EXPECT_EQ(message_of(directory.write("line\nbreak.gguf", tiny_model().bytes())), "");
}

TEST(BadInputFile, B28FollowsSymbolicLinks) {
    const TemporaryDirectory directory;
    directory.write("model.gguf", tiny_model().bytes());
    fs::create_symlink("model.gguf", directory.path() / "link.gguf");
    EXPECT_EQ(message_of(directory.path() / "link.gguf"), "");
}

}  // namespace bad_input_file_test
}  // namespace riftjit::models
