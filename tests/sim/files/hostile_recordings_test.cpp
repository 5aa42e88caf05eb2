// Recordings that mean ill: that name other files, unpack to a thousandfold, or say of themselves what cannot be.
#include <sys/stat.h>

#include "sim/files/isolated_read.h"
#include "sim/files/metadata.h"
#include "sim/files/recording_source.h"
#include "sim/files/unpacked_limit.h"
#include "tests/host/oracle.h"
#include "tests/sim/files/python.h"

namespace riftjit::sim {
namespace hostile_recordings_test {

class HostileRecordings : public ReadByPython {
protected:
    void make(const std::string& script) const {
        EXPECT_EQ(python(kPython, "import sys, h5py, numpy as np\nfolder = sys.argv[1] + '/'\n" + script, folder_), "");
    }
    std::string outcome(const std::string& file) const {
        const auto read = read_recording(path(file));
        if (read) return fmt::format("{} spikes", read->spikes.size());
        const std::string& text = read.error().message;
        EXPECT_TRUE(text.starts_with(path(file) + ": ")) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        return text.substr(path(file).size() + 2);
    }
};

// ---- other files ----------------------------------------------------------------------------------------------------

// A layout of ours, of SONATA and of NWB each; `take(file, path)` puts something in place of a part of it.
constexpr const char* kPutInPlace = R"(
import shutil
secret = folder + "secret"
np.arange(4000, dtype="<u8").tofile(secret)
with h5py.File(folder + "other.h5", "w") as f:
    f["numbers"] = np.arange(50, dtype="u8")
    f["group/numbers"] = np.arange(50, dtype="u8")
def external(f, path, dtype):
    del f[path]
    f.create_dataset(path, shape=(50,), dtype=dtype, external=[(secret, 0, h5py.h5f.UNLIMITED)])
def link(f, path, dtype):
    del f[path]
    f[path] = h5py.ExternalLink("other.h5", "/numbers")
def soft(f, path, dtype):
    del f[path]
    f["way"] = h5py.ExternalLink("other.h5", "/group")
    f[path] = h5py.SoftLink("/way/numbers")
def virtual(f, path, dtype):
    del f[path]
    layout = h5py.VirtualLayout(shape=(50,), dtype=dtype)
    layout[:] = h5py.VirtualSource(folder + "other.h5", "/numbers", shape=(50,))
    f.create_virtual_dataset(path, layout)
for layout, paths in {"h5": {"spikes/step": "u4", "spikes/id": "u4", "populations/size": "u4",
                             "states/membrane/values": "f8", "weights/learned/source": "u4"},
                      "sonata": {"spikes/E/timestamps": "f8", "spikes/I/node_ids": "u8"},
                      "nwb": {"units/spike_times": "f8", "units/spike_times_index": "u4", "units/id": "u4",
                              "acquisition/learned_w/data": "f8", "analysis/learned_synapses/source": "u4"}}.items():
    for path, dtype in paths.items():
        for way in (external, link, soft, virtual):
            name = "-".join([layout, way.__name__, path.replace("/", "-")])
            shutil.copyfile(folder + "spikes." + layout, folder + name + ".h5")
            with h5py.File(folder + name + ".h5", "r+", libver="latest") as f:
                way(f, path, dtype)
    for group in ("spikes", "populations", "units", "riftjit", "general"):
        with h5py.File(folder + "spikes." + layout, "r") as f:
            if group not in f: continue
        shutil.copyfile(folder + "spikes." + layout, folder + layout + "-group-" + group + ".h5")
        with h5py.File(folder + layout + "-group-" + group + ".h5", "r+") as f:
            del f[group]
            f[group] = h5py.ExternalLink("other.h5", "/group")
)";

TEST_F(HostileRecordings, ThatNameOtherFilesAreRefusedWithTheirNames) {
    if (!has(kPython, "h5py")) return lack_oracle("python3-h5py");
    for (const RecordingFormat format : {RecordingFormat::riftjit_h5, RecordingFormat::sonata, RecordingFormat::nwb})
        ASSERT_TRUE(write_recording(path(format), format, sample_recording()));
    make(kPutInPlace);
    size_t tried = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        const std::string name = entry.path().filename();
        if (name.find('-') == std::string::npos) continue;
        ++tried;
        const std::string refused = outcome(name);
        EXPECT_TRUE(refused.ends_with(", which is not read")) << name << ": " << refused;
        const std::string other = name.find("external") != std::string::npos ? path("secret") : "other.h5";
        EXPECT_NE(refused.find(other), std::string::npos) << name << ": " << refused;
    }
    EXPECT_EQ(tried, 4 * (5 + 2 + 5) + 6u);
    EXPECT_TRUE(outcome("sonata-external-spikes-I-node_ids.h5")
                    .starts_with("dataset node_ids: its elements lie in another file, " + path("secret")));
    EXPECT_EQ(outcome("h5-link-spikes-step.h5"),
              "dataset spikes/step: step is a link to /numbers in another file, other.h5, which is not read");
    EXPECT_EQ(outcome("sonata-group-spikes.h5"),
              "group spikes: spikes is a link to /group in another file, other.h5, which is not read");
    EXPECT_EQ(outcome("nwb-virtual-units-spike_times.h5"),
              "dataset units/spike_times: it is virtual, made of " + path("other.h5") + ", which is not read");
}

// The other file is not even opened: a FIFO would be waited for.
TEST_F(HostileRecordings, ThatNameAFifoAreNotWaitedFor) {
    if (!has(kPython, "h5py")) return lack_oracle("python3-h5py");
    ASSERT_TRUE(write_recording(path("spikes.sonata"), RecordingFormat::sonata, sample_recording()));
    make(R"(
with h5py.File(folder + "spikes.sonata", "r+", libver="latest") as f:
    del f["spikes/E"], f["spikes/I/node_ids"]
    f["spikes/E"] = h5py.ExternalLink(folder + "fifo", "/numbers")
    layout = h5py.VirtualLayout(shape=(50,), dtype="u8")
    layout[:] = h5py.VirtualSource(folder + "fifo", "/numbers", shape=(50,))
    f.create_virtual_dataset("spikes/I/node_ids", layout)
)");
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    EXPECT_TRUE(outcome("spikes.sonata").ends_with(path("fifo") + ", which is not read"));
}

// ---- memory ---------------------------------------------------------------------------------------------------------

TEST_F(HostileRecordings, ThatUnpackToAThousandfoldAreRefusedAndTenMillionZerosAreNot) {
    if (!has(kPython, "h5py")) return lack_oracle("python3-h5py");
    make(R"(
zeros = lambda count, dtype: np.zeros(count, dtype=dtype)
np.savez_compressed(folder + "bomb", step=zeros(75_000_000, "u4"), id=zeros(1, "u4"))
np.savez_compressed(folder + "legal", step=zeros(10_000_000, "u4"), id=zeros(10_000_000, "u4"))
import zlib
chunk = zlib.compress(bytes(8_000_000), 9)  # a million zeros
def spikes(name, chunks):
    with h5py.File(folder + name, "w") as f:
        for column, dtype in (("timestamps", "f8"), ("node_ids", "u8")):
            d = f.create_dataset("spikes/all/" + column, (chunks * 1_000_000,), dtype, chunks=(1_000_000,), compression="gzip")
            for i in range(chunks): d.id.write_direct_chunk((i * 1_000_000,), chunk)
        f["spikes/all/timestamps"].attrs["units"] = "milliseconds"
spikes("bomb.h5", 36)
spikes("legal.h5", 10)
)");
    const auto npz_bytes = std::filesystem::file_size(path("bomb.npz"));
    EXPECT_EQ(outcome("bomb.npz"),
              fmt::format("its arrays unpack to 300000260 bytes; of a file of {} bytes 256 MiB and 32 times its size "
                          "are read: store them uncompressed",
                          npz_bytes));
    EXPECT_EQ(outcome("legal.npz"), "10000000 spikes");
    const auto legal = read_recording(path("legal.h5"), {0.1, "brian2"});
    ASSERT_TRUE(legal) << message(legal);
    EXPECT_EQ(legal->spikes.size(), 10'000'000u);
    const auto h5_bytes = std::filesystem::file_size(path("bomb.h5"));
    EXPECT_EQ(outcome("bomb.h5"),
              fmt::format("timestamps: its arrays unpack to 288000000 bytes; of a file of {} bytes 256 MiB and 32 "
                          "times its size are read: store them uncompressed",
                          h5_bytes));
}

TEST(UnpackedLimit, GrowsWithTheFileAndDoesNotOverflow) {
    EXPECT_EQ(most_unpacked_bytes(0), 256u << 20);
    EXPECT_EQ(most_unpacked_bytes(1'000'000'000), (256u << 20) + 32'000'000'000);
    EXPECT_GT(most_unpacked_bytes(UINT64_MAX), uint64_t(1) << 62);
    EXPECT_TRUE(refuse_beyond_unpacked(256 << 20, 0));
    EXPECT_FALSE(refuse_beyond_unpacked((256 << 20) + 1, 0));
}

// ---- texts of variable length ---------------------------------------------------------------------------------------

class HostileTexts : public HostileRecordings {
protected:
    HostileTexts() {
        EXPECT_TRUE(write_recording(path("whole"), RecordingFormat::riftjit_h5, sample_recording()));
        whole_ = read_bytes(path("whole"));
        heap_ = whole_.find("GCOL");
        EXPECT_NE(heap_, std::string::npos);
    }
    template <class Integer>
    std::string with(size_t offset, Integer value) const {
        std::string bytes = whole_;
        write_bytes(path("changed.h5"),
                    bytes.replace(offset, sizeof value, reinterpret_cast<char*>(&value), sizeof value));
        return outcome("changed.h5");
    }
    // What is told of each reference to the heap that is changed; those in attributes fail their checksums.
    template <class Integer>
    std::vector<std::string> with_references(ptrdiff_t from_address, Integer value) const {
        const uint64_t address = heap_;
        const std::string sought(reinterpret_cast<const char*>(&address), sizeof address);
        std::vector<std::string> told;
        for (size_t at = 0; (at = whole_.find(sought, at)) != std::string::npos; ++at)
            if (const std::string text = with(size_t(ptrdiff_t(at) + from_address), value); text.contains(": a text: "))
                told.push_back(text.substr(text.find(": a text: ") + 10));
        return told;
    }

    std::string whole_;
    size_t heap_;
};

// libhdf5 comes to no end with the last.
TEST_F(HostileTexts, InHeapsWhoseObjectsDoNotFit) {
    const size_t first = heap_ + 16, size = first + 8, left = 4096 - 16;
    const auto told = [&](uint64_t bytes) {
        return fmt::format("attribute format: a text: object 1 of {} bytes where the heap at {} has {} left", bytes,
                           heap_, left);
    };
    EXPECT_EQ(with<uint64_t>(size, UINT64_MAX - 15), told(UINT64_MAX - 15));
    EXPECT_EQ(with<uint64_t>(size, left), told(left));
    EXPECT_EQ(with<uint64_t>(heap_ + 8, uint64_t(1) << 40),
              fmt::format("attribute format: a text: heaps of more bytes than the file's {}", whole_.size()));
    EXPECT_EQ(with<uint64_t>(heap_ + 8, 16), fmt::format("attribute format: a text: there is no heap at {}", heap_));
    EXPECT_EQ(with<uint16_t>(first, 7777),
              fmt::format("attribute format: a text: the heap at {} has no object 1", heap_));
    std::string bytes = whole_;
    write_bytes(path("changed.h5"), bytes.replace(first, 16, std::string(16, '\0')));
    EXPECT_EQ(
        outcome("changed.h5"),
        fmt::format("attribute format: a text: object 0 of 0 bytes where the heap at {} has {} left", heap_, left));
}

// libhdf5 takes 4 GiB for the first.
TEST_F(HostileTexts, OfReferencesThatLeadNowhere) {
    const auto lengths = with_references<uint32_t>(-4, UINT32_MAX);
    EXPECT_FALSE(lengths.empty());
    for (const std::string& told : lengths) EXPECT_TRUE(told.starts_with("of 4294967295 bytes, but object ")) << told;
    const auto addresses = with_references<uint64_t>(0, uint64_t(1) << 62);
    EXPECT_FALSE(addresses.empty());
    for (const std::string& told : addresses) {
        if (told.starts_with("object ")) continue;  // the number of the address stands in a heap, too
        EXPECT_EQ(told, fmt::format("16 bytes at {} of a file of {}", uint64_t(1) << 62, whole_.size()));
    }
}

// Of other programs: chunks, and addresses and sizes of 4 bytes.
TEST_F(HostileTexts, AreNoneOfThoseThatH5pyWrites) {
    if (!has(kPython, "h5py")) return lack_oracle("python3-h5py");
    ASSERT_TRUE(write_recording(path("spikes.nwb"), RecordingFormat::nwb, sample_recording()));
    make(R"(
made = h5py.h5p.create(h5py.h5p.FILE_CREATE)
made.set_sizes(4, 4)
with h5py.File(folder + "spikes.nwb", "r") as old:
    with h5py.File(h5py.h5f.create((folder + "small.h5").encode(), fcpl=made)) as f:
        for name in old: old.copy(name, f, name)
        for name, value in old.attrs.items(): f.attrs[name] = value
        notes = old["general/notes"][()]
        del f["general/notes"]
        f.create_dataset("general/notes", data=[notes], dtype=h5py.string_dtype(), chunks=(1,), compression="gzip")
)");
    const auto old = read_recording(path("spikes.nwb")), small = read_recording(path("small.h5"));
    ASSERT_TRUE(old && small) << message(old) << "; " << message(small);
    EXPECT_EQ(small->header, old->header);
}

// What libhdf5 does with a damaged size: it asks for gigabytes, and fills them.
TEST(IsolatedMemory, EndsWhereTheFilesMemoryDoes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer ends the process";
#endif
    const auto read = read_in_child(
        []() -> Result<Recording> {
            std::vector<std::vector<char>> all;
            for (int i = 0; i < 1000; ++i) all.emplace_back(8 << 20, char(i));
            return Recording{};
        },
        50'000);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message,
              "needs more memory than there is, or than 772 MiB, the most for a file of 50000 bytes");
    const auto of_library = read_in_child(
        []() -> Result<Recording> { return fail(ErrorKind::Format, "x: memory allocation failed for chunk"); }, 0);
    ASSERT_FALSE(of_library);
    EXPECT_EQ(of_library.error().kind, ErrorKind::OutOfMemory);
}

// ---- what it says of itself -----------------------------------------------------------------------------------------

class HostileMetadata : public HostileRecordings {
protected:
    // With the first `from` of its metadata changed.
    std::string changed(const std::string& from, const std::string& to) const {
        std::string bytes = read_bytes(path("spikes.dat"));
        const size_t place = bytes.find(from);
        EXPECT_NE(place, std::string::npos) << from;
        write_bytes(path("changed.dat"), bytes.replace(place, from.size(), to));
        return outcome("changed.dat");
    }
};

TEST_F(HostileMetadata, NamesFieldAndValueAndWhatIsAllowed) {
    const Recording recording = without_states(sample_recording());
    ASSERT_TRUE(write_recording(path("spikes.dat"), RecordingFormat::nest_dat, recording));
    const std::string of_line = "line 1: its metadata: ";
    for (const std::string step : {"1e308", "1e-300", "0", "-0.1", "1e7"})
        EXPECT_EQ(changed("\"step_ms\":0.1", "\"step_ms\":" + step),
                  fmt::format("line 1: its step_ms is {}, not between 1e-06 and 1000000", std::stod(step)));
    const std::string spikes = fmt::format("\"spikes\":{}", recording.summary.spikes);
    for (const std::string count : {"0", "1"})
        EXPECT_EQ(changed(spikes, "\"spikes\":" + count),
                  fmt::format("its \"spikes\" is {}, but {} are there", count, recording.spikes.size()));
    for (const std::string steps : {"0", "499"})
        EXPECT_EQ(changed("\"steps\":500", "\"steps\":" + steps),
                  fmt::format("its \"steps\" is {}, but a spike is of step 499", steps));
    EXPECT_EQ(changed("\"step_ms\":0.1", "\"step_ms\":\"0.1\""), of_line + "\"step_ms\" is string, not a number");
    EXPECT_EQ(changed("\"steps\":500", "\"steps\":-1"), of_line + "\"steps\" is -1, not a whole number from 0 on");
    EXPECT_EQ(changed("\"steps\":500", "\"steps\":4294967296"),
              of_line + "\"steps\" is 4294967296, not at most 4294967295");
    EXPECT_EQ(changed("\"steps\":500", "\"steps\":null"), of_line + "\"steps\" is null, not a whole number from 0 on");
    EXPECT_EQ(changed("\"steps\":500", "\"stepz\":500"), of_line + "\"steps\" is missing");
    EXPECT_EQ(changed("\"finished\":true", "\"finished\":1"), of_line + "\"finished\" is 1, not true or false");
    EXPECT_EQ(changed("\"compat\":\"nest\"", "\"compat\":[]"), of_line + "\"compat\" is array, not a text");
    EXPECT_EQ(changed("\"states\":[]", "\"states\":{}"), of_line + "\"states\" is object, not a list");
    EXPECT_EQ(changed("\"states\":[]", "\"states\":[1]"), of_line + "where \"name\" should stand is no object");
    EXPECT_EQ(changed("\"size\":80", "\"size\":80.5"), of_line + "\"size\" is 80.5, not a whole number from 0 on");
    EXPECT_EQ(changed("\"version\":1", "\"version\":2"), of_line + "\"version\" is 2; 1 alone is known");
    EXPECT_EQ(changed("\"spikes_hash\":\"", "\"spikes_hash\":\"x"),
              of_line + "\"spikes_hash\" is no hexadecimal number");
}

TEST_F(HostileMetadata, OfMoreSamplesThanStepsIsRefusedInEveryFormat) {
    Recording recording = sample_recording();
    recording.summary.steps = 480;
    recording.spikes = sample_spikes(0, 400);
    recording.summary.spikes_hash = hash_spikes(recording.spikes);
    for (const RecordingFormat format : {RecordingFormat::riftjit_h5, RecordingFormat::npz, RecordingFormat::nwb}) {
        ASSERT_TRUE(write_recording(path("spikes"), format, recording, Existing::replace));
        EXPECT_EQ(outcome("spikes"), "recorder membrane: 50 samples, more than the 480 \"steps\" of the run have");
    }
}

// Two bytes of text become sixteen of a parsed value.
TEST(HostileMetadataText, HasABoundedNumberOfValues) {
    std::string text = R"({"format":"riftjit recording","command_line":"[[[\",,,","states":[)";
    for (size_t i = 0; i < kMostMetadataValues; ++i) text += "0,";
    const auto read = metadata_from_json_text(text + "0]}");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "its metadata: more than 16777216 values");
    EXPECT_EQ(metadata_from_json_text(text.substr(0, 1000) + "0]}").error().message,
              "its metadata: \"version\" is missing");
}

TEST_F(HostileMetadata, OfAStepBeyondAllSenseIsNotWrittenEither) {
    Recording recording = sample_recording();
    recording.header.step_ms = 1e308;
    EXPECT_EQ(message(write_recording(path("spikes.npz"), RecordingFormat::npz, recording)),
              "its step_ms is 1e+308, not between 1e-06 and 1000000");
}

// ---- what is no file ------------------------------------------------------------------------------------------------

TEST_F(HostileRecordings, ThatAreNoFilesAreRefusedByKind) {
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    for (const auto& [file, kind] :
         {std::pair(path("fifo"), "a FIFO"), std::pair(std::string("/dev/zero"), "a character device"),
          std::pair(folder_.string(), "a directory")}) {
        const std::string refused = file + ": is " + kind + ", not a regular file";
        EXPECT_EQ(message(read_recording(file)), refused);
        EXPECT_EQ(message(open_recording(file)), refused);
        EXPECT_EQ(message(write_recording(file, RecordingFormat::npz, sample_recording(), Existing::replace)), refused);
    }
}

}  // namespace hostile_recordings_test
}  // namespace riftjit::sim
