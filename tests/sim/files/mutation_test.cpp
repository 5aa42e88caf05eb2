// Damaged files: every format, a thousand mutations each. What a reader may do is refuse in one line, or read.
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <random>

#include "sim/files/hdf5_module.h"
#include "sim/files/recording_source.h"
#include "tests/mutants/campaign.h"
#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace mutation_test {

class Mutations : public RecordingFiles, public testing::WithParamInterface<RecordingFormat> {};

constexpr std::string_view kRead = "read";

std::string outcome(const Result<Recording>& read) { return read ? std::string(kRead) : read.error().message; }

// What libhdf5 makes of each of some files in one child: a child for every file takes three times as long. Answers end
// before the file that crashes it or never ends.
std::vector<std::string> outcomes_in_one_child(const std::string& damaged, std::span<const std::string> files) {
    const auto module = load_hdf5_module();
    if (!module) return {};
    int ends[2];
    if (pipe(ends) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
        const rlimit time{1, 2}, no_core{0, 0};
        setrlimit(RLIMIT_CPU, &time);
        setrlimit(RLIMIT_CORE, &no_core);
        mallopt(M_MMAP_THRESHOLD, 1 << 28);  // libhdf5 asks for half a MiB a file: keep its pages
        mallopt(M_TRIM_THRESHOLD, 1 << 28);
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL}) std::signal(signal, SIG_DFL);
        for (const std::string& file : files) {
            write_bytes(damaged, file);
            std::string text;
            try {
                text = outcome((*module)->read(damaged, {}));
            } catch (const std::bad_alloc&) {
                _exit(1);  // as good as a crash: read_recording() says how it ends
            }
            text += '\0';
            if (write(ends[1], text.data(), text.size()) != ssize_t(text.size())) _exit(1);
        }
        _exit(0);
    }
    close(ends[1]);
    std::string told;
    char buffer[4096];
    for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;) told.append(buffer, size_t(count));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    std::vector<std::string> outcomes;
    for (size_t start = 0, end; (end = told.find('\0', start)) != std::string::npos; start = end + 1)
        outcomes.push_back(told.substr(start, end - start));
    return outcomes;
}

TEST_P(Mutations, AreReadOrRefusedInOneLine) {
    constexpr size_t kFiles = 1000, kOfChild = 25, kApart = 5;
    const std::string whole = path("whole"), damaged = path("damaged");
    const Recording recording = sample_recording(60);
    ASSERT_TRUE(write_recording(whole, GetParam(), recording));
    const std::string bytes = read_bytes(whole);
    mutants::Random random(1);
    const std::string_view signature = std::string_view(bytes).substr(0, 8);
    const bool is_hdf5 = signature.starts_with("\x89HDF");
    size_t refused = 0, apart = 0;
    for (size_t first = 0; first < kFiles; first += kOfChild) {
        std::vector<std::string> files(kOfChild), outcomes;
        for (std::string& file : files) file = mutants::changed(bytes, random);
        for (size_t i = 0; i < kOfChild; ++i) {
            // Of those that libhdf5 reads every fifth also goes the whole way, and every one that has no answer.
            if (is_hdf5 && outcomes.size() <= i && files[i].starts_with(signature)) {
                const auto rest = std::span(files).subspan(i);
                const auto run = std::ranges::find_if(rest, [&](auto& file) { return !file.starts_with(signature); });
                for (std::string& one : outcomes_in_one_child(damaged, {rest.begin(), run}))
                    outcomes.push_back(std::move(one));
            }
            const bool is_answered = outcomes.size() > i;
            if (!is_answered || i % kApart == 0) {
                write_bytes(damaged, files[i]);
                const std::string found = outcome(read_recording(damaged));
                if (!is_answered) outcomes.push_back(found);
                EXPECT_EQ(outcomes[i], found) << first + i;
                ++apart;
            }
            const std::string& text = outcomes[i];
            if (text == kRead) continue;
            ++refused;
            ASSERT_TRUE(text.starts_with(damaged + ": ")) << first + i << ": " << text;
            ASSERT_EQ(text.find('\n'), std::string::npos) << first + i << ": " << text;
        }
    }
    EXPECT_GT(refused, 100u);
    EXPECT_TRUE(apart < kFiles || !is_hdf5);
    RecordProperty("apart", static_cast<int>(apart));
}

// PATH.part by the way that holds it and by the way that does not: both refuse in one line, or give the same spikes.
TEST_F(RecordingFiles, InPartAreReadAlikeFromDiskAndInMemory) {
    const std::string damaged = path("damaged.part");
    auto writer = start_recording(path("whole"), RecordingFormat::npz, sample_header());
    ASSERT_TRUE(writer) << message(writer);
    for (uint32_t step = 0; step < 400; step += 40) {
        ASSERT_TRUE((*writer)->append_spikes(sample_spikes(step, step + 40)));
        ASSERT_TRUE((*writer)->append_weights(0, sample_weights(step, step + 40)));
    }
    const std::string bytes = read_bytes(path("whole.part"));
    mutants::Random random(2);
    size_t opened = 0;
    for (int round = 0; round < 1000; ++round) {
        write_bytes(damaged, round == 0 ? bytes : mutants::changed(bytes, random));
        const auto held = read_recording(damaged);
        const auto source = open_recording(damaged);
        for (const std::string& text : {message(held), message(source)})
            ASSERT_TRUE(text == "no error" || (text.starts_with(damaged + ": ") && text.find('\n') == text.npos))
                << text;
        ASSERT_EQ(held.has_value(), source.has_value()) << message(held) << "; " << message(source);
        if (!held) continue;
        ++opened;
        ASSERT_EQ((*source)->metadata().summary, held->summary);
        ASSERT_EQ((*source)->metadata().header, held->header);
    }
    EXPECT_GT(opened, 20u);
}

INSTANTIATE_TEST_SUITE_P(Formats, Mutations, testing::ValuesIn(kAllFormats),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace mutation_test
}  // namespace riftjit::sim
