// Files that would go too deep, never end, or hide what they say.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "sim/network/description.h"
#include "sim/network/key_scan.h"
#include "tests/sim/network/network_text.h"

namespace riftjit::sim {
namespace hostile_files_test {

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

TEST(LongKeys, AreRefusedBeforeTheyBecomeTables) {
    const std::string key = repeated("a.", 99999) + "a";
    const std::string refused = ": a key of more than 32 parts";
    EXPECT_EQ(error_of(kSmall + key + " = 1\n"), "net.toml:9:64" + refused);
    EXPECT_EQ(error_of(kSmall + "[" + key + "]\n"), "net.toml:9:65" + refused);
    EXPECT_EQ(error_of(kSmall + "x = { " + key + " = 1 }\n"), "net.toml:9:70" + refused);
    EXPECT_EQ(error_of(kSmall + "\"q\"." + repeated(" 'a.b' . ", 40) + "a = 1\n"), "net.toml:9:282" + refused);
    EXPECT_FALSE(scan_keys(repeated("a.", 31) + "a = 1", 32).long_key);
    EXPECT_TRUE(scan_keys(repeated("a.", 32) + "a = 1", 32).long_key);
}

TEST(LongKeys, AreNotWhatStringsAndCommentsAndNumbersHold) {
    const std::string dots(40, '.');
    for (const std::string& text : {"x = \"" + dots + "\"", "x = '" + dots + "'", "x = \"\\\"" + dots + "\"",
                                    "x = \"\"\"\n" + dots + "\"\n\"\"\"", "x = '''" + dots + "'" + dots + "'''",
                                    "# " + dots, "x = [" + repeated("0.5, ", 99) + "]"})
        EXPECT_FALSE(scan_keys(text, 32).long_key) << text;
}

TEST(ManyKeys, AreCountedByTheirParts) {
    for (const auto& [text, parts] :
         {std::pair("a = 1\nb.c = 1.5\n", 3), std::pair("[a.b.c]\n[[d]]\n", 5),  // of a list of tables: list and table
          std::pair("x = [[1.5, 2.5],\n[3.5]]\n[y]\n", 2), std::pair("x = { a.b = 1.5, c = [{ d = 2 }] }\n", 5),
          std::pair("x = \"a = [b.c] = 1\" # [d]\n", 1)})
        EXPECT_EQ(scan_keys(text, 32).parts, size_t(parts)) << text;
}

TEST(ManyKeys, AreRefusedBeforeTheyBecomeTables) {
    std::string constants = kSmall + "[constants]\n", headers = kSmall;
    for (size_t i = 0; i < 1 << 19; ++i) constants += fmt::format("a{} = 0\n", i);
    for (size_t i = 0; i < 1 << 14; ++i) headers += fmt::format("[a{}{}]\n", i, repeated(".b", 31));
    const std::string refused = " keys, counting the parts of dotted ones: more than 524288";
    const size_t small = scan_keys(kSmall, 32).parts;
    EXPECT_EQ(error_of(constants), fmt::format("net.toml: {}{}", small + 1 + (1 << 19), refused));
    EXPECT_EQ(error_of(headers), fmt::format("net.toml: {}{}", small + (1 << 19), refused));
}

TEST(ManyVariants, AreRefusedWhereReadingEachWouldTakeLong) {
    std::string text = kSmall;
    for (int i = 0; i < 2000; ++i) text += fmt::format("[variants.v{}.simulation]\nseed = 1\n", i);
    EXPECT_EQ(error_of(text),
              fmt::format("net.toml: 2000 variants of {} bytes each are read: more than 16 MiB", text.size()));
}

TEST(ManyConstants, ThatNothingUsesAreToldInOneLine) {
    std::string text = kSmall + "[constants]\n";
    for (int i = 0; i < 9; ++i) text += fmt::format("a{} = 0\n", i);
    const auto network = parse_network(text, "net.toml");
    ASSERT_TRUE(network) << network.error().message;
    EXPECT_EQ(network->notes, std::vector<std::string>{"nothing uses 9 constants, such as 'a0'"});
}

TEST(Constants, DependOnEachOtherToABoundedDepth) {
    const auto chain = [](int length) {
        std::string text = kSmall + "[constants]\n";
        for (int i = 0; i < length; ++i) text += "c" + std::to_string(i) + " = \"c" + std::to_string(i + 1) + "\"\n";
        return text + "c" + std::to_string(length) + " = 1\n";
    };
    EXPECT_EQ(error_of(chain(499)), "");
    const std::string error = error_of(chain(8000));
    EXPECT_NE(error.find(": values depend on each other more than 500 names deep"), std::string::npos) << error;
}

class Unending : public ::testing::Test {
protected:
    Unending() : folder_(std::filesystem::temp_directory_path() / ("riftjit-unending-" + std::to_string(getpid()))) {
        std::filesystem::create_directories(folder_);
        EXPECT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    }
    ~Unending() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path folder_;
};

TEST_F(Unending, FilesAreRefusedByName) {
    for (const auto& [path, kind] :
         {std::pair(std::string("/dev/zero"), "a character device"),
          std::pair(std::string("/dev/null"), "a character device"), std::pair(folder_.string(), "a directory"),
          std::pair((folder_ / "fifo").string(), "a FIFO")}) {
        const std::string refused = path + ": is " + kind + ", not a regular file";
        const Result<Network> network = read_network(path);
        ASSERT_FALSE(network);
        EXPECT_EQ(network.error().message, refused);
        EXPECT_EQ(error_of(kSmall + "[population.S]\nmodel = \"spike_times\"\nsize = 1\nfile = \"" + path + "\"\n"),
                  "net.toml:12:9: " + refused);
        EXPECT_EQ(error_of(kSmall + "[[projection]]\nfrom = \"E\"\nto = \"E\"\nrule = \"list\"\nfile = \"" + path +
                           "\"\nweight = \"1 mV\"\ndelay = \"1 ms\"\n"),
                  "net.toml:13:9: " + refused);
    }
}

// A file of holes: its size alone says that it is none.
TEST_F(Unending, FilesOfATerabyteAreRefusedBeforeTheyAreRead) {
    const std::string path = folder_ / "holes";
    std::ofstream(path) << "x";
    std::filesystem::resize_file(path, uint64_t(1) << 40);
    const Result<Network> network = read_network(path);
    ASSERT_FALSE(network);
    EXPECT_EQ(network.error().message, path + ": more than 64 MiB, the most that is read");
    const std::string error =
        error_of(kSmall + "[population.S]\nmodel = \"spike_times\"\nsize = 1\nfile = \"" + path + "\"\n");
    EXPECT_TRUE(error.starts_with("net.toml:12:9: " + path + ": 1099511627776 bytes")) << error;
}

TEST(LongLists, AreRefusedBeforeTheyBecomeNodes) {
    std::string list = kSmall + "x = [";
    for (size_t i = 0; i < 1 << 21; ++i) list += "0,";
    EXPECT_EQ(error_of(list + "]\n"), "net.toml: more than 2097152 values; long lists may lie in files that it names");
}

TEST_F(Unending, ListsOfPairsHoldAPairAtLeast) {
    const std::string path = folder_ / "pairs";
    const std::string list = kSmall + "[[projection]]\nfrom = \"E\"\nto = \"E\"\nrule = \"list\"\nfile = \"" + path +
                             "\"\n",
                      values = "weight = \"1 mV\"\ndelay = \"1 ms\"\n";
    for (const std::string text : {"", "# nothing\n\n"}) {
        std::ofstream(path, std::ios::trunc) << text;
        EXPECT_EQ(error_of(list), "net.toml:13:9: " + path + ": it holds no pairs");
        EXPECT_EQ(error_of(list + values), "net.toml:13:9: " + path + ": it holds no pairs");
    }
}

TEST_F(Unending, FilesThatANetworkReadsAreKnown) {
    const std::string path = folder_ / "pairs";
    std::ofstream(path) << "0 0\n";
    const auto network = parse_network(
        kSmall + "[[projection]]\nfrom = \"E\"\nto = \"E\"\nrule = \"list\"\nfile = \"" + path +
            "\"\nweight = \"1 mV\"\ndelay = \"1 ms\"\n[[input]]\nkind = \"steps\"\nto = \"E\"\nfile = \"" + path +
            "\"\n",
        "net.toml");
    ASSERT_TRUE(network) << network.error().message;
    EXPECT_EQ(network->files, (std::vector<std::string>{path, path}));
}

TEST(Steps, AreOfALengthThatFilesCanTell) {
    const auto with_step = [](const std::string& step) {
        return error_of("[simulation]\nduration = \"1 ms\"\nstep = \"" + step +
                        "\"\n[population.E]\nmodel = \"relay\"\nsize = 1\n");
    };
    for (const std::string step : {"1e-300 ms", "1e-7 ms", "1e7 ms", "1e300 ms"})
        EXPECT_TRUE(with_step(step).starts_with("net.toml:3:9: a step of ")) << with_step(step);
    EXPECT_EQ(with_step("1e-7 ms"), "net.toml:3:9: a step of 1e-07 ms is not between 1e-06 and 1000000 ms");
}

TEST(Misspelt, RequiredKeysAreNamedWhereTheyStand) {
    EXPECT_EQ(error_of("[simulation]\ndurration = \"1 ms\"\n"),
              "net.toml:2:1: [simulation] has no key 'durration'; did you mean 'duration'?");
    EXPECT_EQ(error_of(kSmall + "[population.I]\nmodel = \"iaf_psc_exp\"\nsise = 3\n"),
              "net.toml:11:1: [population.I] has no key 'sise'; did you mean 'size'?");
    EXPECT_EQ(error_of(kSmall + "[[record]]\nspike = \"all\"\n"),
              "net.toml:10:1: [[record]] has no key 'spike'; did you mean 'spikes'?");
    EXPECT_EQ(error_of(kSmall + "[models.m]\nkin = \"neuron\"\nequations = \"x : 1\"\n"),
              "net.toml:10:1: unknown key 'kin' of a model; did you mean 'kind'?");
    EXPECT_EQ(error_of(kSmall + "[models.s]\nkind = \"synapse\"\n"), "net.toml:9:1: the model has no 'on_pre'");
}

TEST(Names, AreWhatExpressionsAndLinesCanHold) {
    EXPECT_EQ(error_of(kSmall + "[constants]\n\"a b\" = 1\n"),
              "net.toml:10:1: a constant's name has letters, digits and '_' and begins with no digit");
    EXPECT_EQ(error_of(kSmall + "[population.\"a\\u001bb\"]\nmodel = \"relay\"\nsize = 1\n"),
              "net.toml:9:1: the name of a population is a text of one line without control characters");
    const std::string projection =
        "[[projection]]\nfrom = \"E\"\nto = \"E\"\nrule = \"one_to_one\"\nweight = \"1 mV\"\ndelay = \"1 ms\"\n";
    const std::string dc = "[[input]]\nkind = \"dc\"\nto = \"E\"\namplitude = \"1 pA\"\n";
    const std::string refused = "'name' is a text of one line without control characters";
    for (const std::string name : {"\\u001b[31mred", "a\\nb", "\\u009b2J", "\\u007f", ""}) {
        const std::string key = "name = \"" + name + "\"\n";
        for (const auto& [text, line] :
             {std::pair(kSmall + projection + key, "net.toml:15:"), std::pair(kSmall + dc + key, "net.toml:13:"),
              std::pair(kSmall + "[[record]]\nspikes = \"all\"\n" + key, "net.toml:11:"),
              std::pair(key + kSmall, "net.toml:1:")}) {
            EXPECT_TRUE(error_of(text).starts_with(line)) << error_of(text);
            EXPECT_TRUE(error_of(text).ends_with(refused)) << error_of(text);
        }
    }
    EXPECT_EQ(error_of(kSmall + projection + "name = \"\u00e9t\u00e9\"\n"), "");
}

TEST(Messages, WriteControlCharactersOut) {
    EXPECT_EQ(error_of(kSmall + "[[input]]\nto = \"\\u001b[2J\\u009b\"\n"),
              "net.toml:10:9: there is no population '\\x1b[2J\\xc2\\x9b'; there is E");
    EXPECT_EQ(printable("E \xc2\xa0 \xc3\xa9 \n\x7f"), "E \xc2\xa0 \xc3\xa9 \\x0a\\x7f");
}

TEST(Variants, AreCheckedThoughNobodyChoosesThem) {
    EXPECT_EQ(error_of(kSmall + "[variants.x]\npopulations = 3\n"),
              "net.toml:10:1: [variants.x] has no key 'populations'; did you mean 'population'?");
    EXPECT_EQ(error_of(kSmall + "[variants.x]\nvariant = \"y\"\n"), "net.toml:10:1: [variants.x] has no key 'variant'");
    EXPECT_EQ(error_of(kSmall + "[variants.x]\npopulation = 3\n"),
              "net.toml:10:14: 'population' is a number here, but a table in the network");
    EXPECT_EQ(error_of(kSmall + "[variants.x.constants]\ng = 3\n"),
              "net.toml:10:1: the variant changes 'g', which is not among [constants]");
}

TEST(Variants, AreReadWhole) {
    const std::string variants = "[variants.x.population.E]\nparameters = { tau_m = \"10 mV\" }\n[variants.y]\n";
    EXPECT_EQ(error_of(kSmall + variants),
              "net.toml:10:25: 'tau_m' takes a value in ms, not one in mV (in variant 'x')");
    EXPECT_EQ(error_of("variant = \"x\"\n" + kSmall + variants),
              "net.toml:11:25: 'tau_m' takes a value in ms, not one in mV");
    EXPECT_EQ(error_of(kSmall + "[constants]\nn = 3\n[variants.x.constants]\nn = 0\n[population.F]\nmodel = \"relay\"\n"
                                "size = \"n\"\n"),
              "net.toml:15:9: 'size' is 0, below 1 (in variant 'x')");
    EXPECT_EQ(error_of(kSmall + "[[variants.x.record]]\nspikes = \"F\"\n"),
              "net.toml:10:11: there is no population 'F'; there is E (in variant 'x')");
    // What the command line changes, it changes in the variant that runs.
    EXPECT_TRUE(parse_network(kSmall + "[variants.x.simulation]\nseed = 2\n", "net.toml",
                              {.settings = {{"population.E.size", "7"}}}));
}

}  // namespace hostile_files_test
}  // namespace riftjit::sim
