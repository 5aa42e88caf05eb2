#include "sim/files/recording.h"

#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "host/available_memory.h"
#include "host/module.h"
#include "sim/files/metadata.h"
#include "sim/files/unfinished_file.h"
#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace recording_test {

class Formats : public RecordingFiles, public testing::WithParamInterface<RecordingFormat> {};

TEST_P(Formats, HoldEverythingThatTheyDoNotNameAsLost) {
    const Recording recording = sample_recording();
    ASSERT_TRUE(write_recording(path("spikes"), GetParam(), recording));
    const auto read = read_recording(path("spikes"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(*read, as_held_by(GetParam(), recording));
}

TEST_P(Formats, ConvertIntoEveryOtherWithoutChangingASpike) {
    const Recording recording = sample_recording();
    ASSERT_TRUE(write_recording(path("first"), GetParam(), recording));
    const auto first = read_recording(path("first"));
    ASSERT_TRUE(first) << message(first);
    for (const RecordingFormat other : kAllFormats) {
        ASSERT_TRUE(write_recording(path(other), other, *first));
        const auto second = read_recording(path(other));
        ASSERT_TRUE(second) << name(other) << ": " << message(second);
        EXPECT_EQ(*second, as_held_by(other, *first)) << name(other);
    }
}

TEST_P(Formats, KeepTheSeedAndTheHashes) {
    ASSERT_TRUE(write_recording(path("spikes"), GetParam(), sample_recording()));
    const auto read = read_recording(path("spikes"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(read->header.seed, 0xDEADBEEF12345678u);
    EXPECT_EQ(read->header.step_ms, 0.1);
    EXPECT_EQ(read->summary.graph_hash, 0xFEDCBA9876543210u);
    EXPECT_EQ(read->header.command_line, sample_header().command_line);
    EXPECT_EQ(read->header.network_text, sample_header().network_text);
}

// As a run does it: blocks, flushes between some of them.
TEST_P(Formats, GrowToTheSameRecordingAsWrittenWhole) {
    const Recording recording = sample_recording(500);
    auto writer = start_recording(path("spikes"), GetParam(), recording.header);
    ASSERT_TRUE(writer) << message(writer);
    for (uint32_t step = 0; step < 500; step += 50) {
        ASSERT_TRUE((*writer)->append_spikes(sample_spikes(step, step + 50)));
        for (size_t i = 0; i < recording.states.size(); ++i) {
            const size_t share = recording.states[i].size() / 10;
            ASSERT_TRUE((*writer)->append_states(i, std::span(recording.states[i]).subspan(step / 50 * share, share)));
        }
        const std::span<const double> weights = recording.weights[0].values;
        if (step % 100 == 0) {
            ASSERT_TRUE((*writer)->append_weights(0, weights.subspan(step / 20 * 7, 5 * 7)));
        }
        if (step % 100 == 0) {
            ASSERT_TRUE((*writer)->flush());
        }
    }
    const auto finished = (*writer)->finish(recording.summary);
    ASSERT_TRUE(finished) << message(finished);
    const auto read = read_recording(path("spikes"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(*read, as_held_by(GetParam(), recording));
    EXPECT_FALSE(std::filesystem::exists(path("spikes.part")));
}

TEST_P(Formats, HoldARunWithoutSpikes) {
    Recording recording = sample_recording(0);
    recording.spikes.clear();
    recording.summary.spikes_hash = hash_spikes({});
    ASSERT_TRUE(write_recording(path("spikes"), GetParam(), recording));
    const auto read = read_recording(path("spikes"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(*read, as_held_by(GetParam(), recording));
}

TEST_P(Formats, GiveTimesByTheRulesOfTheRun) {
    for (const char* const compat : {"nest", "brian2"})
        for (const double step_ms : {0.1, 0.05, 1.0, 1.0 / 3, 0.0125}) {
            Recording recording = sample_recording();
            recording.header.compat = compat;
            recording.header.step_ms = step_ms;
            recording.spikes.push_back({4'000'000'000, 5});
            recording.summary.steps = 4'000'000'001;
            recording.summary.spikes_hash = hash_spikes(recording.spikes);
            ASSERT_TRUE(write_recording(path("spikes"), GetParam(), recording, Existing::replace));
            const auto read = read_recording(path("spikes"));
            ASSERT_TRUE(read) << compat << " " << step_ms << ": " << message(read);
            EXPECT_EQ(read->spikes, recording.spikes) << compat << " " << step_ms;
        }
}

TEST_P(Formats, LeaveAnExistingFileAloneUnlessToldToReplaceIt) {
    write_bytes(path("spikes"), "precious");
    const std::string refusal = path("spikes") + ": exists, and is not replaced unless forced";
    EXPECT_EQ(message(write_recording(path("spikes"), GetParam(), sample_recording())), refusal);
    EXPECT_EQ(message(RecordingWriter::create(path("spikes"), GetParam(), sample_header())), refusal);
    EXPECT_EQ(read_bytes(path("spikes")), "precious");
    ASSERT_TRUE(write_recording(path("spikes"), GetParam(), sample_recording(), Existing::replace));
    EXPECT_TRUE(read_recording(path("spikes")));
}

TEST_P(Formats, NameTheFileThatCannotBeWritten) {
    const std::string nowhere = path("no-folder/spikes"), expected = nowhere + ": No such file or directory";
    EXPECT_EQ(message(write_recording(nowhere, GetParam(), sample_recording())), expected);
    const auto writer = RecordingWriter::create(nowhere, GetParam(), sample_header());
    EXPECT_EQ(message(writer).substr(0, nowhere.size()), nowhere);
    EXPECT_TRUE(message(writer).ends_with(": No such file or directory")) << message(writer);
}

TEST_P(Formats, RefuseToReplaceWhatIsNoFile) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    EXPECT_EQ(message(write_recording(path("pipe"), GetParam(), sample_recording(), Existing::replace)),
              path("pipe") + ": is a FIFO, not a regular file");
}

TEST_P(Formats, RefuseHeadersThatContradictThemselves) {
    RecordingHeader header = sample_header();
    header.populations[1].first_id = 79;
    EXPECT_EQ(message(RecordingWriter::create(path("spikes"), GetParam(), header)),
              "population I: its ids from 79 overlap others or leave 32 bits");
    header = sample_header();
    header.states[0].neurons[0] = 80;
    EXPECT_EQ(message(RecordingWriter::create(path("spikes"), GetParam(), header)),
              "recorder membrane: neuron 80 is not in population E");
    header = sample_header();
    header.populations[0].name = "a/b";
    EXPECT_EQ(message(RecordingWriter::create(path("spikes"), GetParam(), header)),
              "population \"a/b\": recordings take no name that is empty or \".\", or holds \"/\"");
}

// The hash in the file is the run's; spikes that differ from it are damage, however well-formed.
TEST_P(Formats, NoticeAChangedSpike) {
    Recording recording = sample_recording();
    recording.spikes[7].id ^= 1;
    std::ranges::sort(recording.spikes);
    ASSERT_TRUE(write_recording(path("spikes"), GetParam(), recording));
    EXPECT_NE(message(read_recording(path("spikes"))).find("its spikes have the hash"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, Formats, testing::ValuesIn(kAllFormats),
                         [](const auto& info) { return std::string(name(info.param)); });

using Recordings = RecordingFiles;

// A handler that runs again and again beside the writing of headers meets one before it is whole sooner or later.
TEST_F(Recordings, InHdf5AreRemovedByASignalUntilTheirHeaderIsWhole) {
    std::atomic<bool> is_over = false;
    std::thread handler([&] {
        while (!is_over) remove_unfinished_file();
    });
    bool was_removed = false;
    for (int attempt = 0; attempt < 1000 && !was_removed; ++attempt) {
        const auto writer = RecordingWriter::create(path("spikes"), RecordingFormat::riftjit_h5, sample_header());
        was_removed = !std::filesystem::exists(path("spikes"));
        std::filesystem::remove(path("spikes"));
    }
    is_over = true;
    handler.join();
    EXPECT_TRUE(was_removed);
    const auto writer = RecordingWriter::create(path("spikes"), RecordingFormat::riftjit_h5, sample_header());
    ASSERT_TRUE(writer) << message(writer);
    remove_unfinished_file();
    EXPECT_TRUE(std::filesystem::exists(path("spikes")));
}

TEST_F(Recordings, TakeTheirFormatFromTheEndingOfTheName) {
    EXPECT_EQ(format_of_path("a/spikes.h5"), RecordingFormat::riftjit_h5);
    EXPECT_EQ(format_of_path("a/spikes.sonata.h5"), RecordingFormat::sonata);
    EXPECT_EQ(format_of_path("spikes.hdf5"), RecordingFormat::riftjit_h5);
    EXPECT_EQ(format_of_path("spikes.nwb"), RecordingFormat::nwb);
    EXPECT_EQ(format_of_path("spikes.npz"), RecordingFormat::npz);
    EXPECT_EQ(format_of_path("spikes.dat"), RecordingFormat::nest_dat);
    EXPECT_EQ(message(format_of_path("spikes.txt")),
              "spikes.txt: its ending names no format; .h5, .hdf5, .sonata.h5, .nwb, .npz and .dat do");
}

// One round by hand: ((start ^ 3) · p ^ 5) · p modulo 2^64, p = 1099511628211, computed with Python's integers.
TEST_F(Recordings, HashStepAndIdOfEverySpikeOneValuePerRound) {
    EXPECT_EQ(hash_spikes({}), 1469598103934665603u);
    const Spike spike{3, 5};
    EXPECT_EQ(hash_spikes({&spike, 1}), 0x9a5ee600c54017ffu);
    const std::vector<Spike> spikes = sample_spikes(0, 100);
    EXPECT_EQ(hash_spikes(std::span(spikes).subspan(20), hash_spikes(std::span(spikes).first(20))),
              hash_spikes(spikes));
}

TEST_F(Recordings, RefuseFilesOfNoKnownContent) {
    EXPECT_EQ(message(read_recording(path("none"))), path("none") + ": No such file or directory");
    EXPECT_EQ(message(read_recording(folder_)), folder_.string() + ": is a directory, not a regular file");
    for (const std::string& bytes : {std::string(), std::string("hello\n"), std::string(64, '\0')}) {
        write_bytes(path("other"), bytes);
        EXPECT_EQ(message(read_recording(path("other"))),
                  path("other") + ": starts like no recording: not HDF5, npz, NEST .dat or .part");
    }
}

TEST_F(Recordings, ReadWhatNestWrites) {
    write_bytes(path("ms.dat"),
                "# NEST version: 3.6.0\n# RecordingBackendASCII version: 2\n"
                "sender\ttime_ms\n3\t0.100\n1\t0.300\n3\t12.500\n");
    const auto milliseconds = read_recording(path("ms.dat"));
    ASSERT_TRUE(milliseconds) << message(milliseconds);
    EXPECT_EQ(milliseconds->spikes, (std::vector<Spike>{{0, 2}, {2, 0}, {124, 2}}));
    EXPECT_EQ(milliseconds->header.populations, (std::vector<RecordedPopulation>{{"all", 0, 3, 2}}));
    write_bytes(path("steps.dat"),
                "# NEST version: 3.6.0\n# RecordingBackendASCII version: 2\n"
                "sender\ttime_step\ttime_offset\n3\t1\t0.000\n1\t3\t0.000\n3\t125\t0.000\n");
    const auto steps = read_recording(path("steps.dat"));
    ASSERT_TRUE(steps) << message(steps);
    EXPECT_EQ(steps->spikes, milliseconds->spikes);
    write_bytes(path("2.gdf"), "3\t0.1\n1\t0.3\n3\t12.5");  // NEST 2: no header
    const auto gdf = read_recording(path("2.gdf"));
    ASSERT_TRUE(gdf) << message(gdf);
    EXPECT_EQ(gdf->spikes, milliseconds->spikes);
}

// Its author's seed, end and silent neurons are not known, and nothing is made up for them, in any later format either.
TEST_F(Recordings, OfOthersHaveNoSeedAndAreWhole) {
    write_bytes(path("other.dat"), "3\t0.1\n1\t0.3\n3\t12.5\n");
    const auto other = read_recording(path("other.dat"));
    ASSERT_TRUE(other) << message(other);
    EXPECT_EQ(other->header.seed, std::nullopt);
    EXPECT_EQ(seed_text(other->header), "no seed");
    EXPECT_TRUE(other->is_finished);
    EXPECT_EQ(other->summary, (RunSummary{125, 3, hash_spikes(other->spikes), 0}));
    for (const RecordingFormat format : kAllFormats) {
        ASSERT_TRUE(write_recording(path(format), format, *other)) << name(format);
        const auto again = read_recording(path(format));
        ASSERT_TRUE(again) << name(format) << ": " << message(again);
        EXPECT_EQ(*again, *other) << name(format);
    }
}

// Also at the last step that 32 bits count.
TEST_F(Recordings, OfOthersEndWithTheirLastSpike) {
    write_bytes(path("late.dat"), "1\t429496729.6\n");
    const auto late = read_recording(path("late.dat"));
    ASSERT_TRUE(late) << message(late);
    EXPECT_EQ(late->spikes, (std::vector<Spike>{{UINT32_MAX, 0}}));
    EXPECT_EQ(late->summary.steps, UINT32_MAX);
    write_bytes(path("none.dat"), "sender\ttime_ms\n");
    const auto none = read_recording(path("none.dat"));
    ASSERT_TRUE(none) << message(none);
    EXPECT_EQ(none->summary.steps, 0u);
}

TEST_F(Recordings, NameTheLineOfANestFileThatIsWrong) {
    const std::string head = "# NEST\n# RecordingBackendASCII version: 2\nsender\ttime_ms\n1\t0.1\n";
    const std::vector<std::pair<std::string, std::string>> cases{
        {"1\tx\n", "line 5: \"1\tx\" is not a sender and a time"},
        {"1\t0.2\t7\n", "line 5: \"1\t0.2\t7\" is not a sender and a time"},
        {"0\t0.2\n", "line 5: sender 0 is not within 1 and 4294967295"},
        {"1\t0.25\n", "line 5: time 0.25 ms is not a whole number of steps of 0.1 ms"},
        {"1\tnan\n", "line 5: time nan ms is not a whole number of steps of 0.1 ms"},
        {"1\t0.0\n", "line 5: time 0 ms lies outside the steps 0 to 4294967295 of 0.1 ms"},
        {"sender\ttime_ms\tV_m\n",
         "line 5: columns \"sender\ttime_ms\tV_m\": only sender with time_ms or time_step and time_offset"}};
    for (const auto& [row, expected] : cases) {
        write_bytes(path("bad.dat"), head + row);
        EXPECT_EQ(message(read_recording(path("bad.dat"))), path("bad.dat") + ": " + expected);
    }
    write_bytes(path("fine.dat"), head + "1\t0.25\n");
    EXPECT_TRUE(read_recording(path("fine.dat"), {.step_ms = 0.05}));
}

// A size that a file only claims must not be allocated: 2^32 elements of an npy array that holds 8 bytes.
TEST_F(Recordings, RefuseSizesThatAFileOnlyClaims) {
    ASSERT_TRUE(write_recording(path("a.npz"), RecordingFormat::npz, sample_recording(20)));
    std::string bytes = read_bytes(path("a.npz"));
    const size_t shape = bytes.find("'shape': (");
    ASSERT_NE(shape, std::string::npos);
    const size_t step_shape = bytes.find("'shape': (", bytes.find("step.npy"));
    bytes.replace(step_shape + 10, 3, "999");
    write_bytes(path("b.npz"), bytes);
    EXPECT_NE(message(read_recording(path("b.npz"))).find("array step"), std::string::npos);
}

// Sparse files of three quarters of the memory: as text or blocks they fit, with what is made of them they do not.
TEST_F(Recordings, NameTheMemoryThatReadingThemTakes) {
    ASSERT_TRUE(write_recording(path("a.dat"), RecordingFormat::nest_dat, sample_recording(20)));
    std::error_code error;
    const uint64_t bytes = available_memory() / 4 * 3;
    std::filesystem::resize_file(path("a.dat"), bytes, error);
    if (error) GTEST_SKIP() << "wants a file system of sparse files";
    const std::string text = message(read_recording(path("a.dat")));
    EXPECT_TRUE(text.starts_with(fmt::format("{}: reading it takes {} bytes of memory, ", path("a.dat"), 2 * bytes)))
        << text;
    EXPECT_TRUE(text.ends_with(" are available")) << text;
}

// A sender of 2^32 − 1 is one neuron, not four thousand million.
TEST_F(Recordings, OfOthersTakeNoMemoryForNeuronsThatNeverFired) {
    write_bytes(path("huge.dat"), "4294967295 1.0\n17 2.0\n");
    const auto other = read_recording(path("huge.dat"));
    ASSERT_TRUE(other) << message(other);
    EXPECT_EQ(other->header.populations, (std::vector<RecordedPopulation>{{"all", 0, UINT32_MAX, 2}}));
    ASSERT_TRUE(write_recording(path("huge.npz"), RecordingFormat::npz, *other));
    const auto again = read_recording(path("huge.npz"));
    ASSERT_TRUE(again) << message(again);
    const auto written = write_recording(path("huge.nwb"), RecordingFormat::nwb, *again);
    ASSERT_TRUE(written) << message(written);
    EXPECT_LT(std::filesystem::file_size(path("huge.nwb")), 100'000u);
    const auto units = read_recording(path("huge.nwb"));
    ASSERT_TRUE(units) << message(units);
    EXPECT_EQ(*units, *other);
}

TEST_F(Recordings, NameTheMemoryThatTheyNeedBeforeTheyTakeIt) {
    Recording recording = sample_recording(10);
    recording.header.populations.push_back({"many", 100, UINT32_MAX - 100, {}});
    const uint64_t bytes = uint64_t(UINT32_MAX - 10) * 12;  // I records 10 of 20
    if (available_memory() > bytes) GTEST_SKIP() << "wants a machine of less than 52 GB";
    const std::string text = message(write_recording(path("many.nwb"), RecordingFormat::nwb, recording));
    EXPECT_TRUE(text.starts_with(path("many.nwb") + fmt::format(": {} units, one per recorded neuron, need {} bytes of "
                                                                "memory, ",
                                                                UINT32_MAX - 10, bytes)))
        << text;
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// Not which of the silent neurons were recorded, but which fired.
TEST_F(Recordings, HaveNoUnitsOfNeuronsThatMayNotHaveBeenRecorded) {
    Recording recording = without_states(sample_recording());
    recording.header.populations = {{"E", 0, 80, 40}, {"silent", 80, 2, {}}, {"I", 82, 18, {}}};
    ASSERT_TRUE(write_recording(path("a.nwb"), RecordingFormat::nwb, recording));
    const auto read = read_recording(path("a.nwb"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(*read, recording);
}

TEST_F(Recordings, SayWhatAFormatHasNoPlaceFor) {
    const Recording recording = sample_recording(10);
    EXPECT_EQ(lost_in(RecordingFormat::nest_dat, recording.header),
              (std::vector<std::string>{"states of recorder membrane", "states of recorder one",
                                        "weights of recorder learned"}));
    EXPECT_EQ(lost_in(RecordingFormat::sonata, recording.header).size(), 3u);
    for (const RecordingFormat whole : {RecordingFormat::riftjit_h5, RecordingFormat::nwb, RecordingFormat::npz})
        EXPECT_TRUE(lost_in(whole, recording.header).empty());
}

TEST_F(Recordings, RefuseSynapsesThatCannotBe) {
    const auto refusal = [&](const auto& change) {
        Recording recording = sample_recording(40);
        change(recording);
        std::filesystem::remove(path("a.h5"));
        const auto written = write_recording(path("a.h5"), RecordingFormat::riftjit_h5, recording);
        return written ? message(read_recording(path("a.h5"))) : message(written);
    };
    EXPECT_EQ(refusal([](Recording& r) { r.weights[0].synapses[3].target = 80; }),
              path("a.h5") + ": recorder learned: a synapse from neuron 81 to 80, which are not in I and E");
    EXPECT_EQ(refusal([](Recording& r) { r.weights[0].synapses.pop_back(); }),
              path("a.h5") + ": recorder learned: 6 synapses and 14 weights, 7 synapses are declared");
    EXPECT_EQ(refusal([](Recording& r) { r.header.weights[0].target = "X"; }), "recorder learned: no population X");
    EXPECT_EQ(refusal([](Recording& r) { r.header.weights[0].name = "membrane"; }),
              "recorder \"membrane\" stands twice");
}

// One bit of each place where these 16 bytes stand; returns the places.
template <class T>
size_t flip_bits_at(std::string& bytes, std::span<const T> values) {
    const std::string_view pattern(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    size_t places = 0;
    for (size_t at = 0; (at = bytes.find(pattern, at)) != std::string::npos; at += pattern.size(), ++places)
        bytes[at] ^= 1;
    return places;
}

// No hash is of them: what notices is the checksum of each chunk of HDF5, or of each array of npz.
TEST_F(Recordings, NoticeABitOfAStateAWeightOrASynapseThatChanged) {
    const Recording recording = sample_recording();
    const std::span states = recording.states[1], weights = recording.weights[0].values;
    const std::vector<uint32_t> targets = {0, 79, 79, 4};  // of sample_synapses()
    for (const RecordingFormat format : {RecordingFormat::riftjit_h5, RecordingFormat::nwb, RecordingFormat::npz}) {
        ASSERT_TRUE(write_recording(path(format), format, recording));
        const std::string whole = read_bytes(path(format));
        const auto expect_noticed = [&](const auto& values, const char* what) {
            std::string bytes = whole;
            ASSERT_GE(flip_bits_at(bytes, values), 1u) << name(format) << " " << what;
            write_bytes(path("flipped"), bytes);
            EXPECT_FALSE(read_recording(path("flipped"))) << name(format) << " " << what;
        };
        expect_noticed(states.subspan(8, 2), "states");
        expect_noticed(weights.subspan(8, 2), "weights");
        expect_noticed(std::span<const uint32_t>(targets), "synapses");
    }
}

// A kill in the middle of a write leaves a chunk whose checksum fits neither what was there nor what was to come.
TEST_F(Recordings, OfARunThatWasKilledAreReadWithoutTheChecksumsOfChunks) {
    const Recording recording = sample_recording();
    const std::span states = recording.states[1];
    auto writer = start_recording(path("spikes"), RecordingFormat::riftjit_h5, recording.header);
    ASSERT_TRUE(writer && (*writer)->append_states(1, states) && (*writer)->flush());
    std::string bytes = read_bytes(path("spikes"));
    ASSERT_EQ(flip_bits_at(bytes, states.last(2)), 1u);
    write_bytes(path("torn"), bytes);
    const auto read = read_recording(path("torn"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_TRUE(
        std::ranges::equal(std::span(read->states[1]).first(states.size() - 2), states.first(states.size() - 2)));
}

// A row of HDF5 then has several chunks, the last of them in part.
TEST_F(Recordings, HoldSamplesThatAreLongerThanAChunk) {
    Recording recording = sample_recording();
    constexpr uint32_t kSynapses = 300'001, kSamples = 3;
    recording.header.weights[0].synapses = kSynapses;
    recording.weights = {{std::vector(kSynapses, SynapseEnds{80, 5}), std::vector<double>(kSynapses * kSamples)}};
    for (double value = 1; double& weight : recording.weights[0].values) weight = value++;
    for (const RecordingFormat format : {RecordingFormat::riftjit_h5, RecordingFormat::nwb}) {
        ASSERT_TRUE(write_recording(path(format), format, recording));
        const auto read = read_recording(path(format));
        ASSERT_TRUE(read) << message(read);
        EXPECT_TRUE(*read == recording) << name(format);
        // Weights and ends (NWB: with numbers of rows), and little beside them.
        const uint64_t expected = kSynapses * (8 * kSamples + 8 + (format == RecordingFormat::nwb ? 8 : 0));
        EXPECT_LT(std::filesystem::file_size(path(format)), expected + 150'000) << name(format);
    }
}

// Killed before the synapses were all in the file: no sample can be there.
TEST_F(Recordings, LeaveOutWeightsWhoseSynapsesAreNotThere) {
    for (const RecordingFormat format : {RecordingFormat::riftjit_h5, RecordingFormat::npz}) {
        auto writer = RecordingWriter::create(path("spikes"), format, sample_header());
        ASSERT_TRUE(writer) << message(writer);
        ASSERT_TRUE((*writer)->append_synapses(0, std::vector(3, SynapseEnds{80, 0})));
        ASSERT_TRUE((*writer)->append_spikes(sample_spikes(0, 100)));
        ASSERT_TRUE((*writer)->flush());
        const auto read = read_recording(path(format == RecordingFormat::npz ? "spikes.part" : "spikes"));
        ASSERT_TRUE(read) << message(read);
        EXPECT_EQ(read->spikes, sample_spikes(0, 100));
        EXPECT_TRUE(read->header.weights.empty());
        std::filesystem::remove(path("spikes"));
    }
}

TEST_F(Recordings, QuoteNoNetworkWhoseTextDoesNotEnd) {
    RecordingHeader header = sample_header();
    header.network_text = std::string(20'000, '#');
    std::string text = to_json_text({header, {}, true});
    text.resize(text.size() - 2);  // of the network's text, which comes last
    const auto parsed = metadata_from_json_text(text);
    ASSERT_FALSE(parsed);
    EXPECT_NE(parsed.error().message.find("missing closing quote"), std::string::npos) << parsed.error().message;
    EXPECT_LT(parsed.error().message.size(), 200u) << parsed.error().message;
}

TEST_F(Recordings, NameTheModuleThatIsMissing) {
    const std::string text = message(load_module("absent"));
    EXPECT_TRUE(text.starts_with("libriftjit-absent.so is neither beside the program nor at ")) << text;
    EXPECT_TRUE(text.ends_with("lib/riftjit/libriftjit-absent.so: that part is not installed")) << text;
}

}  // namespace recording_test
}  // namespace riftjit::sim
