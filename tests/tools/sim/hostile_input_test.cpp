// docs/HOSTILE_INPUT.md: its numbers are the program's, and the tests that it names exist.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "sim/files/isolated_read.h"
#include "sim/files/metadata.h"
#include "sim/network/description.h"
#include "sim/network/toml_reader.h"
#include "tests/tools/program.h"

namespace riftjit::tools {
namespace hostile_input_test {

const std::filesystem::path kSource = RIFTJIT_SOURCE_DIR;

std::string row_of(const std::string& table, const std::string& reader) {
    const size_t start = table.find("\n| " + reader + " |");
    return start == std::string::npos ? "" : table.substr(start + 1, table.find('\n', start + 1) - start - 1);
}

TEST(HostileInput, HasTheLimitsThatTheManualTells) {
    const std::string manual = read_whole(kSource / "docs/HOSTILE_INPUT.md");
    const std::string unpacked = fmt::format("{} MiB and {} times the file", sim::kUnpackedMiB, sim::kUnpackedRatio);
    const std::string hdf5 = row_of(manual, "HDF5: ours, SONATA, NWB, SONATA networks");
    const uint64_t memory_mib = sim::most_reading_bytes(0) >> 20,
                   ratio = sim::most_reading_bytes(1) - sim::most_reading_bytes(0);
    EXPECT_NE(hdf5.find(unpacked), std::string::npos) << hdf5;
    EXPECT_NE(hdf5.find(fmt::format("| {} MiB and {} times the file |", memory_mib, ratio)), std::string::npos) << hdf5;
    EXPECT_NE(hdf5.find(fmt::format("| {} s of the processor", sim::kReadSeconds)), std::string::npos) << hdf5;
    const std::string npz = row_of(manual, "npz");
    EXPECT_NE(npz.find(unpacked), std::string::npos) << npz;
    const std::string network = row_of(manual, "network");
    const std::string sizes =
        fmt::format("| {} MiB, {} keys, {} values; with variants, which are read each, {} MiB together |",
                    sim::kMostNetworkBytes >> 20, sim::kMostKeys, sim::kMostValues, sim::kMostVariantBytes >> 20);
    EXPECT_NE(network.find(sizes), std::string::npos) << network;
    EXPECT_NE(network.find(fmt::format("keys of more than {} parts", sim::kMostKeyParts)), std::string::npos)
        << network;
    const std::string metadata = row_of(manual, "metadata of a recording");
    EXPECT_NE(metadata.find(fmt::format("| {} values |", sim::kMostMetadataValues)), std::string::npos) << metadata;
}

// In `backticks`, in the last column and in the text: a suite or the name of one test.
TEST(HostileInput, NamesTestsThatExist) {
    std::string tests;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource / "tests"))
        if (entry.path().extension() == ".cpp") tests += read_whole(entry.path());
    const std::string manual = read_whole(kSource / "docs/HOSTILE_INPUT.md");
    const std::regex name("`([A-Z][A-Za-z0-9]+)`");
    size_t found = 0;
    for (std::sregex_iterator match(manual.begin(), manual.end(), name), end; match != end; ++match, ++found) {
        const std::string test = (*match)[1];
        const bool exists =
            std::regex_search(tests, std::regex("TEST(_F|_P)?\\((" + test + ",|[A-Za-z0-9]+,\\s*" + test + "\\))"));
        EXPECT_TRUE(exists) << test;
    }
    EXPECT_GT(found, 15u);
}

}  // namespace hostile_input_test
}  // namespace riftjit::tools
