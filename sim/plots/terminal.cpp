// Plots of braille and block characters.
#include <algorithm>
#include <cmath>

#include "sim/plots/axes.h"
#include "sim/plots/panels.h"
#include "sim/plots/plot_data.h"
#include "sim/plots/plots.h"

namespace riftjit::sim {

namespace {

constexpr uint32_t kLeastColumns = 40, kMostColumns = 400, kRasterLines = 20, kHistogramLines = 8;
constexpr uint32_t kDotsAcross = 2, kDotsDown = 4;  // of a braille character

// One character that is filled from the bottom by so many eighths.
constexpr const char* kEighthsUp[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* kEighthsAcross[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

// U+2800 and a bit per dot, as UTF-8.
std::string braille(uint8_t dots) { return {char(0xE2), char(0xA0 | dots >> 6), char(0x80 | (dots & 0x3F))}; }
// Bits of the dots by column and row.
constexpr uint8_t kDotBits[kDotsAcross][kDotsDown] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

// Characters of UTF-8, each taken for one column.
size_t characters(std::string_view text) {
    return size_t(std::ranges::count_if(text, [](char byte) { return (uint8_t(byte) & 0xC0) != 0x80; }));
}
std::string first_characters(std::string_view text, size_t count) {
    size_t end = 0;
    for (size_t seen = 0; end < text.size(); ++end)
        if ((uint8_t(text[end]) & 0xC0) != 0x80 && seen++ == count) break;
    return std::string(text.substr(0, end));
}

class TerminalPlot {
public:
    TerminalPlot(const PlotData& data, uint32_t columns, TerminalColours colours) : data_(data), colours_(colours) {
        size_t longest = 4;
        for (const PopulationStatistics& population : data.statistics)
            longest = std::max(longest, characters(population.name));
        gutter_ = uint32_t(std::min<size_t>(longest, 12));
        width_ = std::clamp(columns, kLeastColumns, kMostColumns) - gutter_ - 2;
    }

    std::string take() { return std::move(text_); }

    void add_heading() {
        const RecordingHeader& header = data_.recording.header;
        add_text(fmt::format("{}: {} spikes in {} ms, {}", header.network_name,
                             grouped_count(data_.recording.spikes.size()), data_.duration_ms(), seed_text(header)));
    }

    // Every line of dots is one neuron; populations start on a new line of characters.
    void add_raster() {
        const std::vector<uint32_t> lines = share_lines();
        uint64_t shown = 0, neurons = 0;
        for (size_t population = 0; population < lines.size(); ++population) {
            const uint32_t count = std::min(lines[population] * kDotsDown, data_.trains[population].neurons());
            for (uint32_t line = 0; line * kDotsDown < count; ++line)
                add_line(line == 0 ? data_.statistics[population].name : "", "│", raster_line(population, line, count),
                         population);
            shown += count;
            neurons += data_.trains[population].neurons();
        }
        add_time_axis();
        text_ += fmt::format("{} {} of {} neurons, one per line of dots\n", std::string(gutter_, ' '),
                             grouped_count(shown), grouped_count(neurons));
    }

    void add_rates_over_time() {
        const uint32_t bin = std::max<uint32_t>(1, (data_.recording.summary.steps + width_ - 1) / width_);
        for (size_t population = 0; population < data_.trains.size(); ++population) {
            const RateCurve curve = data_.rate_curve(population, bin);
            const std::string peak =
                fmt::format("peak {:.3g} Hz in {:.4g} ms", curve.peak_hz, bin * data_.recording.header.step_ms);
            add_line(data_.statistics[population].name, "│", columns_of(curve.rates_hz, curve.peak_hz, 1)[0],
                     population);
            text_ += fmt::format("{} {}\n", std::string(gutter_, ' '), peak);
        }
    }

    void add_mean_rates() {
        double largest = 0;
        for (const PopulationStatistics& population : data_.statistics) largest = std::max(largest, population.rate_hz);
        constexpr uint32_t kRoomForNumber = 24;
        for (size_t i = 0; i < data_.statistics.size(); ++i) {
            const PopulationStatistics& population = data_.statistics[i];
            const double fraction = largest > 0 ? population.rate_hz / largest : 0;
            std::string number = fmt::format(" {:.4g} Hz", population.rate_hz);
            if (population.variation) number += fmt::format(", CV {:.2f}", *population.variation);
            add_line(population.name, "│", bar(fraction * std::max(8u, width_ - kRoomForNumber)), i, number);
        }
    }

    void add_histograms(const std::vector<Histogram>& histograms, const std::string& what) {
        for (size_t population = 0; population < histograms.size(); ++population) {
            const Histogram& histogram = histograms[population];
            if (histogram.values == 0) continue;
            const double largest = std::ranges::max(histogram.shares);
            add_text(fmt::format("{}, {}: at most {:.3g} % in a column", data_.statistics[population].name, what,
                                 100 * largest));
            for (const std::string& line : columns_of(histogram.shares, largest, kHistogramLines / 2))
                add_line("", "│", line, population);
            add_scale(histogram.edges, histogram.shares.size());
        }
    }

    uint32_t width() const { return width_; }

private:
    std::vector<uint32_t> share_lines() const {
        uint64_t neurons = 0;
        for (const SpikeTrains& trains : data_.trains) neurons += trains.neurons();
        std::vector<uint32_t> lines;
        for (const SpikeTrains& trains : data_.trains) {
            const double share = neurons == 0 ? 0 : double(trains.neurons()) / double(neurons);
            lines.push_back(std::max(1u, uint32_t(std::lround(share * kRasterLines))));
        }
        return lines;
    }

    std::string raster_line(size_t population, uint32_t line, uint32_t shown) const {
        const SpikeTrains& trains = data_.trains[population];
        std::vector<uint8_t> cells(width_);
        const double dots = double(width_) * kDotsAcross / std::max(1u, data_.recording.summary.steps);
        for (uint32_t row = 0; row < kDotsDown && line * kDotsDown + row < shown; ++row) {
            const uint64_t neuron = uint64_t(line * kDotsDown + row) * trains.neurons() / shown;
            for (const uint32_t step : trains[uint32_t(neuron)]) {
                const auto dot = std::min(uint32_t(step * dots), width_ * kDotsAcross - 1);
                cells[dot / kDotsAcross] |= kDotBits[dot % kDotsAcross][row];
            }
        }
        std::string text;
        for (const uint8_t cell : cells) text += braille(cell);
        return text;
    }

    // Bars upwards, one per value, over `lines` lines from the top.
    static std::vector<std::string> columns_of(const std::vector<double>& values, double largest, uint32_t lines) {
        std::vector<std::string> text(lines);
        for (const double value : values) {
            const double eighths = largest > 0 ? value / largest * 8 * lines : 0;
            // What is there is seen: at least an eighth.
            const auto filled = value > 0 ? std::max(1l, std::lround(eighths)) : 0l;
            for (uint32_t line = 0; line < lines; ++line)
                text[line] += kEighthsUp[std::clamp(filled - 8l * (lines - 1 - line), 0l, 8l)];
        }
        return text;
    }

    static std::string bar(double length) {
        const auto eighths = std::lround(length * 8);
        std::string text;
        for (long i = 0; i < eighths / 8; ++i) text += "█";
        return text + kEighthsAcross[eighths % 8];
    }

    void add_line(const std::string& label, const char* edge, const std::string& line, size_t population,
                  const std::string& after = "") {
        const std::string shown = first_characters(label, gutter_);
        text_ += std::string(gutter_ - characters(shown), ' ') + shown + edge;
        text_ += colours_ == TerminalColours::none ? line : coloured(line, population);
        text_ += after + "\n";
    }

    // Broken between words where it is too long.
    void add_text(std::string_view text) {
        const size_t most = gutter_ + 2 + width_;
        while (characters(text) > most) {
            const std::string head = first_characters(text, most);
            const size_t space = head.rfind(' ');
            const size_t cut = space == std::string::npos || space == 0 ? head.size() : space + 1;
            text_ += std::string(text.substr(0, cut)) + "\n";
            text.remove_prefix(cut);
        }
        text_ += std::string(text) + "\n";
    }

    static std::string coloured(const std::string& line, size_t population) {
        const Colour& colour = population_colour(population);
        return fmt::format("\x1b[38;2;{};{};{}m{}\x1b[0m", int(colour.red * 255), int(colour.green * 255),
                           int(colour.blue * 255), line);
    }

    void add_time_axis() {
        const std::string end = fmt::format("{:.6g} ms", data_.duration_ms());
        std::string line;
        for (uint32_t i = 0; i < width_; ++i) line += "─";
        text_ += std::string(gutter_, ' ') + "└" + line + "\n" + std::string(gutter_ + 1, ' ') + "0" +
                 std::string(width_ - 1 - std::min<size_t>(end.size(), width_ - 1), ' ') + end + "\n";
    }

    void add_scale(const std::vector<double>& edges, size_t columns) {
        const std::string low = fmt::format("{:.3g}", edges.front()), high = fmt::format("{:.3g}", edges.back());
        std::string line;
        for (size_t i = 0; i < columns; ++i) line += "─";
        text_ += std::string(gutter_, ' ') + "└" + line + "\n" + std::string(gutter_ + 1, ' ') + low +
                 std::string(columns - std::min(columns, low.size() + high.size()), ' ') + high + "\n";
    }

    const PlotData& data_;
    TerminalColours colours_;
    uint32_t gutter_, width_;
    std::string text_;
};

}  // namespace

std::string terminal_plot(PlotKind kind, const Recording& recording, uint32_t columns, TerminalColours colours) {
    const PlotData data(recording);
    TerminalPlot plot(data, columns, colours);
    plot.add_heading();
    if (kind == PlotKind::raster || kind == PlotKind::summary) {
        plot.add_raster();
        plot.add_rates_over_time();
    }
    if (kind == PlotKind::rate || kind == PlotKind::summary) plot.add_mean_rates();
    if (kind == PlotKind::isi || kind == PlotKind::summary) {
        const uint32_t bins = std::min(plot.width(), 60u);
        plot.add_histograms(data.interval_histograms(bins), "intervals in ms, logarithmic");
        plot.add_histograms(data.variation_histograms(std::min(plot.width(), 40u)), "CV of intervals");
    }
    return plot.take();
}

}  // namespace riftjit::sim
