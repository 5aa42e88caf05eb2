// Files opened by the programs that they are for.
#include <sys/wait.h>

#include <csignal>

#include "tests/host/oracle.h"
#include "tests/sim/files/python.h"

namespace riftjit::sim {
namespace peers_test {

class Peers : public ReadByPython {
protected:
    std::string write(RecordingFormat format) const {
        EXPECT_TRUE(write_recording(path(format), format, recording_));
        return path(format);
    }

    Recording recording_ = sample_recording();
    // Sums that both sides compute: spikes, their steps, their ids.
    std::string sums() const {
        uint64_t steps = 0, ids = 0;
        for (const Spike& spike : recording_.spikes) {
            steps += spike.step;
            ids += spike.id;
        }
        return fmt::format("{} {} {}\n", recording_.spikes.size(), steps, ids);
    }
    // The last weight and the synapses.
    std::string weights() const {
        return fmt::format("(25, 7) {} uint32 [80, 80, 80, 81, 99, 99, 99] [0, 79, 79, 4, 0, 1, 78]\n",
                           recording_.weights[0].values.back());
    }
};

TEST_F(Peers, NumpyReadsNpz) {
    EXPECT_EQ(python(kPython, R"(
import json, sys, numpy as np
f = np.load(sys.argv[1])
m = json.loads(f["metadata"].item())
print(len(f["step"]), f["step"].sum(dtype="u8"), f["id"].sum(dtype="u8"))
print(f["step"].dtype, f["id"].dtype, m["seed"], m["step_ms"], m["populations"][1]["name"], m["command_line"])
print(f["states/membrane"].shape, f["states/membrane"][49, 2, 1])
w = {key: f["weights/learned/" + key] for key in ("source", "target", "values")}
print(w["values"].shape, w["values"][24, 6], w["source"].dtype, w["source"][:].tolist(), w["target"][:].tolist())
)",
                     write(RecordingFormat::npz)),
              sums() + "uint32 uint32 16045690981402826360 0.1 I riftjit sim two.toml --record \"a b.h5\"\n" +
                  fmt::format("(50, 3, 2) {}\n", recording_.states[0].back()) + weights());
}

TEST_F(Peers, NumpyReadsDat) {
    EXPECT_EQ(python(kPython, R"(
import sys, numpy as np
t = np.loadtxt(sys.argv[1], skiprows=3)
print(len(t), int(np.rint(t[:, 1] / 0.1 - 1).sum()), int(t[:, 0].sum()) - len(t))
lines = open(sys.argv[1]).read().split("\n")
print([line[:2] for line in lines[:2]], repr(lines[2]), repr(lines[3]))
)",
                     write(RecordingFormat::nest_dat)),
              sums() + "['# ', '# '] 'sender\\ttime_ms' '1\\t0.100'\n");
}

TEST_F(Peers, H5pyReadsOurLayout) {
    if (!has(kPython, "h5py")) return lack_oracle("Debian's python3-h5py");
    EXPECT_EQ(python(kPython, R"(
import sys, h5py
f = h5py.File(sys.argv[1], "r")
print(len(f["spikes/step"]), f["spikes/step"][:].sum(dtype="u8"), f["spikes/id"][:].sum(dtype="u8"))
print(f.attrs["format"], f.attrs["seed"], f.attrs["step_ms"], f.attrs["compat"], f.attrs["finished"])
print(f["populations/name"].asstr()[1], f["populations/first_id"][1], f["populations/size"][1])
print([f["populations/windows/" + key][:].tolist() for key in ("population", "first_step", "end_step")])
g = f["states/membrane"]
print(g["values"].shape, g["values"][49, 2, 1], g.attrs["population"], list(g["variables"].asstr()))
w = f["weights/learned"]
print(w["values"].shape, w["values"][24, 6], w["source"].dtype, w["source"][:].tolist(), w["target"][:].tolist())
print([w.attrs[key] for key in ("projection", "source_population", "target_population", "unit")])
print(w.attrs["first_step"], w.attrs["interval_steps"])
)",
                     write(RecordingFormat::riftjit_h5)),
              sums() + "riftjit recording 16045690981402826360 0.1 nest 1\nI 80 20\n[[0, 0], [2, 253], [250, 500]]\n" +
                  fmt::format("(50, 3, 2) {} E ['V', 'g_e']\n", recording_.states[0].back()) + weights() +
                  "['I -> E', 'I', 'E', 'pA']\n39 20\n");
}

TEST_F(Peers, H5pyReadsSonata) {
    if (!has(kPython, "h5py")) return lack_oracle("Debian's python3-h5py");
    EXPECT_EQ(python(kPython, R"(
import sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "r")
E, I = f["spikes/E"], f["spikes/I"]
steps = sum(int(np.rint(p["timestamps"][:] / 0.1 - 1).sum()) for p in (E, I))
n = len(E["node_ids"]) + len(I["node_ids"])
print(n, steps, int(E["node_ids"][:].sum()) + int(I["node_ids"][:].sum()) + 80 * len(I["node_ids"]))
print(hex(f.attrs["magic"]), list(f.attrs["version"]), E["timestamps"].dtype, E["node_ids"].dtype)
kinds = h5py.check_enum_dtype(E.attrs.get_id("sorting").dtype)
print(E["timestamps"].attrs["units"], kinds["by_time"] == E.attrs["sorting"], f["riftjit"].attrs["seed"])
)",
                     write(RecordingFormat::sonata)),
              sums() + "0xa7a [0, 1] float64 uint64\nmilliseconds True 16045690981402826360\n");
}

// A file that h5py wrote, in the old file format and compressed, without anything of ours.
TEST_F(Peers, SonataOfOthersIsRead) {
    if (!has(kPython, "h5py")) return lack_oracle("Debian's python3-h5py");
    ASSERT_EQ(python(kPython, R"(
import sys, h5py, numpy as np
f = h5py.File(sys.argv[1], "w", libver="earliest")
for name, ids in (("b", [3, 0]), ("a", [1, 1, 4])):
    g = f.create_group("spikes/" + name)
    g.create_dataset("timestamps", data=np.arange(1, len(ids) + 1) * 0.5, compression="gzip")
    g.create_dataset("node_ids", data=np.array(ids, dtype="u8"))
)",
                     path("other.h5")),
              "");
    const auto read = read_recording(path("other.h5"), {.step_ms = 0.5});
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(read->header.populations, (std::vector<RecordedPopulation>{{"a", 0, 5, 2}, {"b", 5, 4, 2}}));
    EXPECT_EQ(read->spikes, (std::vector<Spike>{{0, 1}, {0, 8}, {1, 1}, {1, 5}, {2, 4}}));
}

// Compressed, 64-bit, without metadata: numpy.savez_compressed of two arrays.
TEST_F(Peers, NpzOfOthersIsRead) {
    ASSERT_EQ(python(kPython, R"(
import sys, numpy as np
np.savez_compressed(sys.argv[1], step=np.array([5, 2, 2]), id=np.array([0, 9, 1]))
)",
                     path("other.npz")),
              "");
    const auto read = read_recording(path("other.npz"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(read->spikes, (std::vector<Spike>{{2, 1}, {2, 9}, {5, 0}}));
    EXPECT_EQ(read->header.populations, (std::vector<RecordedPopulation>{{"all", 0, 10, 3}}));
}

// Between flushes the file is closed and sound: h5py opens it while the run goes on, and the run goes on after that.
TEST_F(Peers, H5pyLooksAtARunInProgress) {
    if (!has(kPython, "h5py")) return lack_oracle("Debian's python3-h5py");
    auto writer = RecordingWriter::create(path("live.h5"), RecordingFormat::riftjit_h5, sample_header());
    ASSERT_TRUE(writer) << message(writer);
    ASSERT_TRUE((*writer)->append_spikes(sample_spikes(0, 100)));
    ASSERT_TRUE((*writer)->flush());
    const std::string script = "import sys, h5py\nprint(len(h5py.File(sys.argv[1], 'r')['spikes/step']))\n";
    EXPECT_EQ(python(kPython, script, path("live.h5")), fmt::format("{}\n", sample_spikes(0, 100).size()));
    ASSERT_TRUE((*writer)->append_spikes(sample_spikes(100, 200)));
    ASSERT_TRUE((*writer)->flush());
    EXPECT_EQ(python(kPython, script, path("live.h5")), fmt::format("{}\n", sample_spikes(0, 200).size()));
}

class NwbPeers : public Peers {
protected:
    void SetUp() override {
        const char* const given = std::getenv("RIFTJIT_PEER_NWB");
        if (given == nullptr) return lack_oracle("RIFTJIT_PEER_NWB, a Python with pynwb and neo: tests/peer/fetch.sh");
        interpreter_ = given;
    }
    std::string interpreter_;
};

TEST_F(NwbPeers, PynwbFindsTheFileValidAndReadsIt) {
    EXPECT_EQ(python(interpreter_, R"(
import sys, warnings, json
warnings.simplefilter("ignore")
import numpy as np, pynwb
print(pynwb.validate(path=sys.argv[1]))
f = pynwb.NWBHDF5IO(sys.argv[1], "r").read()
units = f.units
times = [np.asarray(units["spike_times"][i]) for i in range(len(units))]
print(sum(map(len, times)), int(sum(np.rint(t / 1e-4 - 1).sum() for t in times)),
      sum(int(i) * len(t) for i, t in zip(units.id[:], times)))
print(len(units), units["population"][0], units["population"][86], json.loads(f.notes)["seed"])
print(*[np.round(units["obs_intervals"][i], 9).tolist() for i in (0, 79, 80, 86)])
series = f.acquisition["membrane_g_e"]
print(series.data.shape, series.unit, series.rate, series.data[49, 2])
w, synapses = f.acquisition["learned_w"], f.analysis["learned_synapses"]
print(w.data.shape, w.data[24, 6], synapses["source"].data.dtype, synapses["source"][:].tolist(), synapses["target"][:].tolist())
print(w.unit, w.starting_time, w.rate, synapses.id[:].tolist())
)",
                     write(RecordingFormat::nwb)),
              "[]\n" + sums() +
                  "87 E I 16045690981402826360\n"
                  "[[0.0002, 0.025], [0.0253, 0.05]] [[0.0002, 0.025], [0.0253, 0.05]] [[0.0, 0.05]] [[0.0, "
                  "0.05]]\n" +
                  fmt::format("(50, 3) nS 1000.0 {}\n", recording_.states[0].back()) + weights() +
                  "pA 0.004 500.0 [0, 1, 2, 3, 4, 5, 6]\n");
}

TEST_F(NwbPeers, NeoReadsTheSpikeTrains) {
    recording_.header.populations[0].windows = {{100, 500}};  // it takes one, not several
    std::erase_if(recording_.spikes, [](const Spike& spike) { return spike.id < 80 && spike.step < 100; });
    recording_.summary.spikes_hash = hash_spikes(recording_.spikes);
    EXPECT_EQ(python(interpreter_, R"(
import sys, warnings
warnings.simplefilter("ignore")
import h5py, neo, numpy as np
segment = neo.io.NWBIO(sys.argv[1], "r").read_all_blocks()[0].segments[0]
trains = segment.spiketrains
steps = [np.rint(t.rescale("ms").magnitude / 0.1 - 1) for t in trains]
with h5py.File(sys.argv[1], "r") as f: ids = f["units/id"][:]
print(sum(map(len, steps)), int(sum(s.sum() for s in steps)), sum(int(i) * len(s) for i, s in zip(ids, steps)))
print(len(trains), trains[0].t_start, trains[0].t_stop, trains[86].t_start)
)",
                     write(RecordingFormat::nwb)),
              sums() + "87 0.01 s 0.05 s 0.0 s\n");
}

// A unit table as others write it: ids of their own, no metadata of ours.
TEST_F(NwbPeers, NwbOfOthersIsRead) {
    ASSERT_EQ(python(interpreter_, R"(
import sys
from datetime import datetime, timezone
import pynwb
f = pynwb.NWBFile("session", "id", datetime.now(timezone.utc))
f.add_unit(spike_times=[0.001, 0.0025], id=17)
f.add_unit(spike_times=[0.002], id=4)
with pynwb.NWBHDF5IO(sys.argv[1], "w") as io: io.write(f)
)",
                     path("other.nwb")),
              "");
    const auto read = read_recording(path("other.nwb"));
    ASSERT_TRUE(read) << message(read);
    EXPECT_EQ(read->spikes, (std::vector<Spike>{{9, 0}, {19, 1}, {24, 0}}));
}

}  // namespace peers_test
}  // namespace riftjit::sim
