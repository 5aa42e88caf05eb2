#include "sim/plots/plots.h"

#include <algorithm>
#include <random>

#include "tests/sim/files/recordings.h"

namespace riftjit::sim {
namespace plots_test {

constexpr PlotKind kAllKinds[] = {PlotKind::raster, PlotKind::rate, PlotKind::isi, PlotKind::summary};

// Poisson-like trains of two populations over 500 ms.
Recording busy_recording() {
    Recording recording;
    recording.header = sample_header();
    recording.header.states.clear();
    recording.header.populations = {{"excitatory", 0, 800, {}}, {"inhibitory", 800, 200, {}}};
    std::mt19937 random(2);
    for (uint32_t step = 0; step < 5000; ++step)
        for (uint32_t id = 0; id < 1000; ++id)
            if (random() % 500 == 0) recording.spikes.push_back({step, id});
    recording.summary = {5000, recording.spikes.size(), hash_spikes(recording.spikes), 0};
    return recording;
}

Recording silent_recording(std::vector<RecordedPopulation> populations) {
    Recording recording = sample_recording(0);
    recording.header.states.clear();
    recording.header.populations = std::move(populations);
    recording.spikes.clear();
    return recording;
}

uint32_t big_endian(const std::string& bytes, size_t offset) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | uint8_t(bytes[offset + i]);
    return value;
}

using Plots = RecordingFiles;

TEST_F(Plots, AreWholePngFiles) {
    for (const PlotKind kind : kAllKinds) {
        const std::string file = path(std::string(name(kind)) + ".png");
        const auto written = write_plot(file, kind, busy_recording());
        ASSERT_TRUE(written) << message(written);
        const std::string bytes = read_bytes(file);
        EXPECT_TRUE(bytes.starts_with("\x89PNG\r\n\x1a\n"));
        EXPECT_TRUE(bytes.ends_with(std::string("IEND\xAE\x42\x60\x82")));
        EXPECT_GE(big_endian(bytes, 16), 1400u);  // width
        EXPECT_GE(big_endian(bytes, 20), 800u);   // height
    }
}

TEST_F(Plots, AreSvgFilesOfEveryColour) {
    ASSERT_TRUE(write_plot(path("p.svg"), PlotKind::summary, busy_recording()));
    const std::string svg = read_bytes(path("p.svg"));
    EXPECT_TRUE(svg.starts_with("<?xml"));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    for (const char* const colour : {"rgb(0%,44.705882%,69.803922%)", "rgb(83.529412%,36.862745%,0%)"})
        EXPECT_NE(svg.find(colour), std::string::npos) << colour;
}

TEST_F(Plots, AreDrawnWhereThereIsNothingToShow) {
    for (const auto& populations : std::vector<std::vector<RecordedPopulation>>{
             {}, {{"none", 0, 0, {}}}, {{"silent", 0, 5, {}}}, {{"not recorded", 0, 5, 0}}})
        for (const PlotKind kind : kAllKinds) {
            const Recording recording = silent_recording(populations);
            EXPECT_TRUE(write_plot(path("p.png"), kind, recording, Existing::replace));
            EXPECT_FALSE(terminal_plot(kind, recording, 80).empty());
        }
}

TEST_F(Plots, TakeTheirKindFromTheName) {
    EXPECT_EQ(plot_kind_of_path("a/raster.png"), PlotKind::raster);
    EXPECT_EQ(plot_kind_of_path("brunel-isi.svg"), PlotKind::isi);
    EXPECT_EQ(plot_kind_of_path("rate.svg"), PlotKind::rate);
    EXPECT_EQ(plot_kind_of_path("brunel.png"), PlotKind::summary);
}

TEST_F(Plots, NameTheFileThatCannotBeWritten) {
    const Recording recording = sample_recording();
    EXPECT_EQ(message(write_plot(path("p.gif"), PlotKind::rate, recording)),
              path("p.gif") + ": its ending names no kind of picture; .png and .svg do");
    EXPECT_EQ(message(write_plot(path("no-folder/p.png"), PlotKind::rate, recording)),
              path("no-folder/p.png") + ": No such file or directory");
    write_bytes(path("p.png"), "precious");
    EXPECT_EQ(message(write_plot(path("p.png"), PlotKind::rate, recording)),
              path("p.png") + ": exists, and is not replaced unless forced");
    EXPECT_EQ(read_bytes(path("p.png")), "precious");
}

// Every character that plots use is one column wide; bytes that continue a character are none.
size_t columns_of(const std::string& line) {
    return size_t(std::ranges::count_if(line, [](char byte) { return (uint8_t(byte) & 0xC0) != 0x80; }));
}

TEST_F(Plots, OfTheTerminalKeepToItsWidth) {
    for (const PlotKind kind : kAllKinds)
        for (const uint32_t columns : {60u, 80u, 133u, 300u}) {
            const std::string text = terminal_plot(kind, busy_recording(), columns);
            for (size_t start = 0; start < text.size();) {
                const size_t end = text.find('\n', start);
                ASSERT_NE(end, std::string::npos);
                const std::string line = text.substr(start, end - start);
                EXPECT_LE(columns_of(line), columns) << line;
                start = end + 1;
            }
        }
}

// Four neurons, one per line of dots; neuron 1 fires once in the middle: row 1 of the only line of characters.
TEST_F(Plots, OfTheTerminalPutADotWhereANeuronFired) {
    Recording recording = silent_recording({{"four", 0, 4, {}}});
    recording.summary.steps = 1000;
    recording.spikes = {{500, 1}};
    const std::string text = terminal_plot(PlotKind::raster, recording, 80);
    size_t dots = 0, empty = 0;
    for (size_t at = text.find("\xE2\xA0\x82"); at != std::string::npos; at = text.find("\xE2\xA0\x82", at + 1)) ++dots;
    for (size_t at = text.find("\xE2\xA0\x80"); at != std::string::npos; at = text.find("\xE2\xA0\x80", at + 1))
        ++empty;
    EXPECT_EQ(dots, 1u);  // U+2802, the second dot of the left column
    EXPECT_EQ(empty, 80u - 4 - 2 - 1);
    EXPECT_NE(text.find("4 of 4 neurons, one per line of dots"), std::string::npos);
}

TEST_F(Plots, OfTheTerminalAreColouredOnlyWhenAsked) {
    EXPECT_EQ(terminal_plot(PlotKind::rate, busy_recording(), 80).find('\x1b'), std::string::npos);
    EXPECT_NE(terminal_plot(PlotKind::rate, busy_recording(), 80, TerminalColours::ansi).find("\x1b[38;2;0;114;178m"),
              std::string::npos);
}

}  // namespace plots_test
}  // namespace riftjit::sim
