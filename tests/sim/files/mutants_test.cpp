// Damaged recordings and files of networks, read as convert reads them: docs/HOSTILE_INPUT.md.
#include <filesystem>

#include "sim/files/network_file.h"
#include "sim/files/recording_source.h"
#include "tests/mutants/campaign.h"
#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace mutants_test {

// Two populations, one projection of a few synapses.
class SmallNetwork final : public NetworkSource {
public:
    SmallNetwork() {
        description_ = {"small",
                        "name = \"small\"\n",
                        "riftjit sim",
                        "0.1.0",
                        "nest",
                        0.1,
                        1,
                        {{"E", 40}, {"I", 10}},
                        {{"E_I", "E", "I", "E -> I", "ex", "pA"}}};
    }
    const Description& description() const override { return description_; }
    Result<void> each_edge(size_t, const Take& take) const override {
        std::vector<NetworkEdge> edges;
        for (uint32_t source = 0; source < 40; ++source)
            for (uint32_t target = 0; target < 10; target += 3)
                edges.push_back({source, target, 1.5, 0.1 * target + 0.1});
        return take(edges);
    }
    uint64_t graph_hash() const override { return 7; }

private:
    Description description_;
};

class Mutants : public RecordingFiles, public testing::WithParamInterface<const char*> {
protected:
    std::string seed() const {
        const std::string format = GetParam();
        const Recording recording = sample_recording(60);
        if (format == "network") {
            EXPECT_TRUE(write_network_file(path("seed"), SmallNetwork(), Existing::refuse));
            return read_bytes(path("seed"));
        }
        if (format == "part") {
            auto writer = start_recording(path("seed"), RecordingFormat::npz, sample_header());
            EXPECT_TRUE(writer && (*writer)->append_spikes(recording.spikes) &&
                        (*writer)->append_states(0, recording.states[0]) &&
                        (*writer)->append_weights(0, recording.weights[0].values));
            return read_bytes(path("seed.part"));
        }
        EXPECT_TRUE(write_recording(path("seed"), *recording_format_from_name(format), recording));
        return read_bytes(path("seed"));
    }
};

TEST_P(Mutants, AreReadOrRefusedWithinTheirLimits) {
    const std::string format = GetParam(), whole = seed();
    const bool is_hdf5 = whole.starts_with("\x89HDF");
    const auto make = [&](uint64_t number, mutants::Random& random) {
        return format == "dat" && number % 2 == 0 ? mutants::changed_text(whole, random)
                                                  : mutants::changed(whole, random);
    };
    const auto convert = [&](const std::string& mutant) -> Result<void> {
        write_bytes(path("mutant"), mutant);
        RIFTJIT_TRY(recording, open_recording(path("mutant")));
        std::filesystem::remove(path("out"));
        return write_recording(path("out"), RecordingFormat::npz, *recording, Existing::replace);
    };
    const auto read = [&](const std::string& mutant) {
        mutants::Outcome outcome = mutants::outcome_of(convert(mutant));
        outcome.is_at_a_limit |= outcome.refusal.find("came to no end") != std::string::npos;
        return outcome;
    };
    mutants::Campaign("recording-" + format, make, read)
        .run(is_hdf5 ? 100 : 400, format == "network" ? mutants::Campaign::Whole::refused
                                                      : mutants::Campaign::Whole::taken);  // it holds no spikes
}

INSTANTIATE_TEST_SUITE_P(Formats, Mutants, testing::Values("h5", "sonata", "nwb", "network", "npz", "dat", "part"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace mutants_test
}  // namespace riftjit::sim
