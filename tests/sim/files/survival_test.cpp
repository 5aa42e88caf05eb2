// What was flushed is there after a kill and on a full disk.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <functional>
#include <random>
#include <thread>

#include "sim/files/recording_source.h"
#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace survival_test {

class Survival : public RecordingFiles, public testing::WithParamInterface<RecordingFormat> {
protected:
    // What a reader finds after the run ended early.
    std::string remains() const {
        const std::string file = path("spikes");
        return std::filesystem::exists(file + ".part") ? file + ".part" : file;
    }

    // Everything up to `flushed_steps` at least, and nothing that was not appended.
    static void expect_prefix(const Result<Recording>& read, uint32_t flushed_steps) {
        ASSERT_TRUE(read) << message(read);
        EXPECT_FALSE(read->is_finished);
        const std::vector<Spike> flushed = sample_spikes(0, flushed_steps);
        ASSERT_GE(read->spikes.size(), flushed.size());
        const uint32_t last = read->spikes.empty() ? 0 : read->spikes.back().step + 1;
        const std::vector<Spike> appended = sample_spikes(0, last);
        ASSERT_LE(read->spikes.size(), appended.size());
        EXPECT_TRUE(std::equal(read->spikes.begin(), read->spikes.end(), appended.begin()));
        if (!lost_in(GetParam(), sample_header()).empty()) return;
        ASSERT_EQ(read->weights.size(), 1u);
        const std::vector<double>& weights = read->weights[0].values;
        ASSERT_GE(weights.size(), sample_weights(0, flushed_steps).size());
        EXPECT_EQ(read->weights[0].synapses, sample_synapses());
        EXPECT_EQ(weights, sample_weights(0, uint32_t(weights.size() / sample_synapses().size() *
                                                      sample_header().weights[0].interval_steps)));
    }
};

constexpr uint32_t kStepsPerBlock = 40;

// Appends and flushes for ever; writes a byte for each block that is flushed.
[[noreturn]] void record_for_ever(const std::string& path, RecordingFormat format, int done) {
    auto writer = start_recording(path, format, sample_header());
    for (uint32_t step = 0; writer; step += kStepsPerBlock) {
        if (!(*writer)->append_spikes(sample_spikes(step, step + kStepsPerBlock)) ||
            !(*writer)->append_weights(0, sample_weights(step, step + kStepsPerBlock)) || !(*writer)->flush())
            break;
        if (write(done, ".", 1) != 1) break;
    }
    _exit(1);
}

TEST_P(Survival, OfAKillAtAnyMoment) {
    std::mt19937 random(5);
    for (int round = 0; round < 12; ++round) {
        std::filesystem::remove(path("spikes"));
        std::filesystem::remove(path("spikes.part"));
        int pipe_ends[2];
        ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
        const pid_t child = fork();
        if (child == 0) record_for_ever(path("spikes"), GetParam(), pipe_ends[1]);
        close(pipe_ends[1]);
        char byte = 0;
        ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);  // the first block is flushed
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        uint32_t blocks = 1;
        while (read(pipe_ends[0], &byte, 1) == 1) ++blocks;
        close(pipe_ends[0]);
        expect_prefix(read_recording(remains()), blocks * kStepsPerBlock);
    }
}

struct Ending {
    uint32_t flushed_steps = 0;
    std::string error;
};

// Until the disk, or what stands for one, is full.
Ending record_until_refused(const std::string& path, RecordingFormat format) {
    Ending ending;
    auto writer = start_recording(path, format, sample_header());
    if (!writer) return {0, writer.error().message};
    for (uint32_t step = 0; step < 10'000'000; step += 4000) {
        auto done = (*writer)->append_spikes(sample_spikes(step, step + 4000));
        if (done) done = (*writer)->append_weights(0, sample_weights(step, step + 4000));
        if (done) done = (*writer)->flush();
        if (!done) {
            ending.error = done.error().message;
            break;
        }
        ending.flushed_steps = step + 4000;
    }
    return ending;
}

TEST_P(Survival, OfAFileThatMayNotGrow) {
    // In a process of its own: the limit and the signal are the process's.
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{1'500'000, 1'500'000};
        setrlimit(RLIMIT_FSIZE, &limit);
        const Ending ending = record_until_refused(path("spikes"), GetParam());
        write_bytes(path("ending"), fmt::format("{} {}", ending.flushed_steps, ending.error));
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    const std::string ending = read_bytes(path("ending"));
    EXPECT_EQ(ending.substr(ending.find(' ') + 1), remains() + ": File too large");
    const auto flushed = uint32_t(std::stoul(ending));
    EXPECT_GE(flushed, 8000u);
    expect_prefix(read_recording(remains()), flushed);
}

enum class Verdict : int { survived, no_mount, no_refusal, unreadable };

// Runs `test` in a process whose test folder is a disk of its own.
int on_a_small_disk(const std::filesystem::path& folder, const std::function<Verdict()>& test,
                    const char* size = "size=1500k") {
    const pid_t child = fork();
    if (child == 0) {
        const bool is_mounted = unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
                                mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                                mount("tmpfs", folder.c_str(), "tmpfs", 0, size) == 0;
        _exit(int(is_mounted ? test() : Verdict::no_mount));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_P(Survival, OfAFullDisk) {
    const int verdict = on_a_small_disk(folder_, [&] {
        const Ending ending = record_until_refused(path("spikes"), GetParam());
        EXPECT_EQ(ending.error, remains() + ": No space left on device");
        if (HasFailure()) return Verdict::no_refusal;
        expect_prefix(read_recording(remains()), ending.flushed_steps);
        return HasFailure() ? Verdict::unreadable : Verdict::survived;
    });
    if (verdict == int(Verdict::no_mount)) GTEST_SKIP() << "wants a machine that lets it mount a tmpfs";
    EXPECT_EQ(verdict, int(Verdict::survived));
}

// One block that does not fit as a whole: what does is kept. 20,000 spikes are 160 KB as two columns of u32.
TEST_P(Survival, OfABlockThatIsLargerThanTheDisk) {
    const int verdict = on_a_small_disk(
        folder_,
        [&] {
            auto writer = start_recording(path("spikes"), GetParam(), sample_header());
            EXPECT_TRUE(writer) << message(writer);
            if (!writer) return Verdict::no_refusal;
            std::vector<Spike> spikes = sample_spikes(0, 7'000);
            spikes.resize(15'000);
            auto done = (*writer)->append_spikes(spikes);
            if (done) done = (*writer)->flush();
            if (done) done = (*writer)->append_spikes(sample_spikes(7'000, 50'000));
            if (done) done = (*writer)->flush();
            EXPECT_EQ(message(done), remains() + ": No space left on device");
            const auto read = read_recording(remains());
            EXPECT_TRUE(read) << message(read);
            if (HasFailure()) return Verdict::no_refusal;
            // SONATA has 16 bytes per spike, dat more as the times grow.
            EXPECT_GE(read->spikes.size(), GetParam() == RecordingFormat::sonata ? 10'000u : 15'000u);
            const std::vector<Spike> rest = sample_spikes(7'000, 50'000);
            spikes.insert(spikes.end(), rest.begin(), rest.end());
            EXPECT_TRUE(std::equal(read->spikes.begin(), read->spikes.end(), spikes.begin()));
            return HasFailure() ? Verdict::unreadable : Verdict::survived;
        },
        "size=256k");
    if (verdict == int(Verdict::no_mount)) GTEST_SKIP() << "wants a machine that lets it mount a tmpfs";
    EXPECT_EQ(verdict, int(Verdict::survived));
}

// Calls after every step flush once a second, and then all that was appended.
TEST_P(Survival, OfWhatWasAppendedASecondAgo) {
    const auto spikes_in_file = [&] {
        const auto read = read_recording(remains());
        EXPECT_TRUE(read) << message(read);
        return read ? read->spikes.size() : 0;
    };
    auto writer = start_recording(path("spikes"), GetParam(), sample_header());
    ASSERT_TRUE(writer) << message(writer);
    ASSERT_TRUE((*writer)->append_spikes(sample_spikes(0, 100)));
    ASSERT_TRUE((*writer)->flush_when_due());
    std::this_thread::sleep_for(std::chrono::milliseconds(1'050));
    const auto last_flush = std::chrono::steady_clock::now();
    ASSERT_TRUE((*writer)->flush_when_due());
    EXPECT_EQ(spikes_in_file(), sample_spikes(0, 100).size());
    if (GetParam() != RecordingFormat::riftjit_h5 && GetParam() != RecordingFormat::sonata) return;
    // These hold rows back in between: a call that is not due flushes nothing.
    ASSERT_TRUE((*writer)->append_spikes(sample_spikes(100, 200)));
    ASSERT_TRUE((*writer)->flush_when_due());
    if (std::chrono::steady_clock::now() - last_flush > std::chrono::milliseconds(900))
        GTEST_SKIP() << "wants a machine that comes this far within a second";
    EXPECT_EQ(spikes_in_file(), sample_spikes(0, 100).size());
}

// ---- of what was there before: the file that a run replaces is whole until the new one is
// ----------------------------

// By --record, until the disk is full; and by one write of the whole, as convert does.
TEST_P(Survival, OfTheOldFileWhereTheNewOneDoesNotFit) {
    const std::string old(300'000, 'o');
    const int verdict = on_a_small_disk(folder_, [&] {
        write_bytes(path("spikes"), old);
        auto writer = RecordingWriter::create(path("spikes"), GetParam(), sample_header(), Existing::replace);
        EXPECT_TRUE(writer) << message(writer);
        if (!writer) return Verdict::unreadable;
        std::string error;
        auto done = (*writer)->append_synapses(0, sample_synapses());
        for (uint32_t step = 0; done && step < 10'000'000; step += 4000) {
            done = (*writer)->append_spikes(sample_spikes(step, step + 4000));
            if (done) done = (*writer)->flush();
        }
        EXPECT_EQ(message(done), path("spikes.part") + ": No space left on device");
        EXPECT_TRUE(read_bytes(path("spikes")) == old);
        const auto part = read_recording(path("spikes.part"));
        EXPECT_TRUE(part) << message(part);
        writer->reset();
        std::filesystem::remove(path("spikes.part"));
        const Recording large = sample_recording(150'000);
        EXPECT_EQ(message(write_recording(path("spikes"), GetParam(), large, Existing::replace)),
                  path("spikes") + ": No space left on device");
        EXPECT_TRUE(read_bytes(path("spikes")) == old);
        EXPECT_FALSE(std::filesystem::exists(path("spikes.new")));
        return HasFailure() ? Verdict::unreadable : Verdict::survived;
    });
    if (verdict == int(Verdict::no_mount)) GTEST_SKIP() << "wants a machine that lets it mount a tmpfs";
    EXPECT_EQ(verdict, int(Verdict::survived));
}

TEST_P(Survival, OfTheOldFileUntilTheRunIsOver) {
    write_bytes(path("real"), "precious");
    std::filesystem::create_symlink("real", path("spikes"));
    auto writer = RecordingWriter::create(path("spikes"), GetParam(), sample_header(), Existing::replace);
    ASSERT_TRUE(writer) << message(writer);
    ASSERT_TRUE((*writer)->append_synapses(0, sample_synapses()));
    ASSERT_TRUE((*writer)->append_spikes(sample_spikes(0, 200)));
    ASSERT_TRUE((*writer)->flush());
    EXPECT_EQ(read_bytes(path("real")), "precious");
    const uint64_t count = sample_spikes(0, 200).size();
    const auto finished = (*writer)->finish({200, count, hash_spikes(sample_spikes(0, 200)), 0});
    ASSERT_TRUE(finished) << message(finished);
    EXPECT_TRUE(std::filesystem::is_symlink(path("spikes")));
    EXPECT_FALSE(std::filesystem::exists(path("real.part")));
    EXPECT_FALSE(std::filesystem::exists(path("spikes.part")));
    EXPECT_EQ(read_recording(path("real"))->spikes.size(), count);
}

// npz and nwb are made at the end and need as much space again: what cannot be made then is still in PATH.part.
using SurvivalInPart = Survival;

TEST_P(SurvivalInPart, OfADiskThatIsFullAtTheEnd) {
    const int verdict = on_a_small_disk(folder_, [&] {
        const std::vector<Spike> spikes = sample_spikes(0, 50'000);  // 8 bytes each, about 1 MB
        auto writer = start_recording(path("spikes"), GetParam(), sample_header());
        if (!writer || !(*writer)->append_spikes(spikes) || !(*writer)->flush()) return Verdict::unreadable;
        const auto finished = (*writer)->finish({50'000, spikes.size(), hash_spikes(spikes), 0});
        if (!std::filesystem::exists(path("spikes.part"))) return finished ? Verdict::survived : Verdict::no_refusal;
        EXPECT_TRUE(message(finished).starts_with(path("spikes") + ": ")) << message(finished);
        EXPECT_TRUE(
            message(finished).ends_with("No space left on device; what was recorded is in " + path("spikes.part")))
            << message(finished);
        if (HasFailure()) return Verdict::no_refusal;
        const auto read = read_recording(remains());
        return read && read->spikes == spikes ? Verdict::survived : Verdict::unreadable;
    });
    if (verdict == int(Verdict::no_mount)) GTEST_SKIP() << "wants a machine that lets it mount a tmpfs";
    EXPECT_EQ(verdict, int(Verdict::survived));
}

// Wherever the disk ends, in the last metadata too: a file is made as a whole, or PATH.part is kept.
TEST_P(SurvivalInPart, OfADiskThatIsFullAnywhereInTheEnd) {
    const std::vector<Spike> spikes = sample_spikes(0, 200);
    for (uint32_t kilobytes = 8; kilobytes <= 160; kilobytes += 4) {
        const int verdict = on_a_small_disk(
            folder_,
            [&] {
                auto writer = start_recording(path("spikes"), GetParam(), sample_header());
                if (!writer || !(*writer)->append_spikes(spikes) || !(*writer)->flush()) return Verdict::survived;
                const auto finished = (*writer)->finish({200, spikes.size(), hash_spikes(spikes), 0});
                if (finished.has_value() == std::filesystem::exists(path("spikes.part"))) return Verdict::no_refusal;
                const auto read = read_recording(remains());
                return read && read->spikes == spikes ? Verdict::survived : Verdict::unreadable;
            },
            fmt::format("size={}k", kilobytes).c_str());
        if (verdict == int(Verdict::no_mount)) GTEST_SKIP() << "wants a machine that lets it mount a tmpfs";
        EXPECT_EQ(verdict, int(Verdict::survived)) << kilobytes << " KB";
    }
}

// In kB, of this process: VmRSS, VmHWM.
uint64_t status_kb(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1));
    return 0;
}

// 96 MB of states and 16 MB of spikes become a file a few blocks at a time.
TEST_P(SurvivalInPart, OfARecordingThatIsLargerThanMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer keeps what is freed for a while";
#endif
    constexpr uint32_t kNeurons = 50'000, kSamples = 120, kSteps = 900'000;
    RecordingHeader header = sample_header();
    header.populations = {{"E", 0, kNeurons, {}}};
    header.states = {{"V", "E", {"V", "w"}, {"mV", "nS"}, {}, 1, 0}};
    for (uint32_t id = 0; id < kNeurons; ++id) header.states[0].neurons.push_back(id);
    header.weights.clear();
    auto writer = start_recording(path("spikes"), GetParam(), header);
    ASSERT_TRUE(writer) << message(writer);
    std::vector<double> sample(header.states[0].sample_values());
    for (uint32_t i = 0; i < kSamples; ++i) {
        std::ranges::fill(sample, i);
        ASSERT_TRUE((*writer)->append_states(0, sample));
    }
    uint64_t spikes = 0, hash = kSpikesHashStart;
    for (uint32_t step = 0; step < kSteps; step += 10'000) {
        const std::vector<Spike> some = sample_spikes(step, step + 10'000);
        ASSERT_TRUE((*writer)->append_spikes(some));
        spikes += some.size();
        hash = hash_spikes(some, hash);
    }
    std::ofstream("/proc/self/clear_refs") << "5\n";  // the peak from now on
    const uint64_t before = status_kb("VmRSS");
    const auto finished = (*writer)->finish({kSteps, spikes, hash, 0});
    ASSERT_TRUE(finished) << message(finished);
    // Blocks of a megabyte, the neurons' ids as text, and for nwb the 2^21 spikes that are regrouped at a time.
    EXPECT_LT(status_kb("VmHWM") - before, 40'000u);
    EXPECT_GT(std::filesystem::file_size(path("spikes")), 110'000'000u);
    const auto read = read_recording(path("spikes"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(read->spikes.size(), spikes);
    ASSERT_EQ(read->states[0].size(), kSamples * sample.size());
    for (size_t i = 0; i < read->states[0].size(); i += 4999) ASSERT_EQ(read->states[0][i], double(i / sample.size()));
}

// What a killed run left, 48 MB of states and 16 MB of spikes: converted without being held.
TEST_P(SurvivalInPart, OfAConversionOfWhatIsLargerThanMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer keeps what is freed for a while";
#endif
    RecordingHeader header = sample_header();
    header.states.resize(1);
    auto writer = start_recording(path("spikes"), GetParam(), header);
    ASSERT_TRUE(writer) << message(writer);
    uint64_t spikes = 0, hash = kSpikesHashStart;
    const std::vector<double> samples(10'000 * header.states[0].sample_values(), 0.5);
    for (uint32_t step = 0; step < 1'000'000; step += 10'000) {
        const std::vector<Spike> some = sample_spikes(step, step + 10'000);
        ASSERT_TRUE((*writer)->append_spikes(some));
        ASSERT_TRUE((*writer)->append_states(0, samples));
        spikes += some.size();
        hash = hash_spikes(some, hash);
    }
    writer->reset();
    std::ofstream("/proc/self/clear_refs") << "5\n";  // the peak from now on
    const uint64_t before = status_kb("VmRSS");
    const auto source = open_recording(path("spikes.part"));
    ASSERT_TRUE(source) << message(source);
    EXPECT_FALSE((*source)->metadata().is_finished);
    EXPECT_EQ((*source)->metadata().summary.spikes_hash, hash);
    const auto written = write_recording(path("out"), GetParam(), **source, Existing::refuse);
    ASSERT_TRUE(written) << message(written);
    EXPECT_LT(status_kb("VmHWM") - before, 40'000u);
    const auto read = read_recording(path("out"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(read->spikes.size(), spikes);
    EXPECT_EQ(hash_spikes(read->spikes), hash);
    EXPECT_EQ(read->weights[0].synapses, sample_synapses());
    EXPECT_EQ(read->states[0].size(), 100 * samples.size());
}

TEST_P(SurvivalInPart, OfAnEndThatCannotBeWritten) {
    auto writer = start_recording(path("spikes"), GetParam(), sample_header());
    ASSERT_TRUE(writer) << message(writer);
    ASSERT_TRUE((*writer)->append_spikes(sample_spikes(0, 200)));
    ASSERT_TRUE((*writer)->flush());
    std::filesystem::create_directory(path("spikes"));
    const auto finished = (*writer)->finish({200, sample_spikes(0, 200).size(), hash_spikes(sample_spikes(0, 200)), 0});
    EXPECT_EQ(message(finished),
              path("spikes") + ": is a directory, not a regular file; what was recorded is in " + path("spikes.part"));
    const auto read = read_recording(path("spikes.part"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(read->spikes, sample_spikes(0, 200));
}

INSTANTIATE_TEST_SUITE_P(Formats, Survival, testing::ValuesIn(kAllFormats),
                         [](const auto& info) { return std::string(name(info.param)); });
INSTANTIATE_TEST_SUITE_P(Formats, SurvivalInPart, testing::Values(RecordingFormat::nwb, RecordingFormat::npz),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace survival_test
}  // namespace riftjit::sim
