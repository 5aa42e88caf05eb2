#include "sim/plots/panels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/plots/picture.h"

namespace riftjit::sim {

namespace {

constexpr double kSmallSize = 11;
constexpr uint64_t kMostDots = 80'000;  // more are a solid area, and an SVG of many megabytes

struct TimeUnit {
    double ms;
    const char* label;
};
TimeUnit time_unit(const PlotData& data) {
    return data.duration_ms() >= 10'000 ? TimeUnit{1000, "time (s)"} : TimeUnit{1, "time (ms)"};
}
Axis time_axis(const PlotData& data) {
    const TimeUnit unit = time_unit(data);
    return {0, std::max(data.duration_ms(), data.recording.header.step_ms) / unit.ms, unit.label};
}

// The outline of a histogram, from and to the base line.
void draw_stairs(Canvas& canvas, const Panel& panel, const Histogram& histogram, const Colour& colour, double scale) {
    std::vector<Point> outline{panel.at(histogram.edges.front(), 0)};
    for (size_t bin = 0; bin < histogram.shares.size(); ++bin) {
        outline.push_back(panel.at(histogram.edges[bin], histogram.shares[bin] * scale));
        outline.push_back(panel.at(histogram.edges[bin + 1], histogram.shares[bin] * scale));
    }
    outline.push_back(panel.at(histogram.edges.back(), 0));
    canvas.line(outline, 1.5, colour);
}

double largest_share(const std::vector<Histogram>& histograms) {
    double largest = 0;
    for (const Histogram& histogram : histograms)
        for (const double share : histogram.shares) largest = std::max(largest, share);
    return largest;
}

// One histogram per population, as percentages.
void draw_histograms(Canvas& canvas, const std::vector<Histogram>& histograms, const Rectangle& area, Axis x,
                     const char* of_what, const char* none) {
    const double largest = largest_share(histograms);
    Panel panel(canvas, area, std::move(x), {0, largest > 0 ? round_up_nicely(100 * largest) : 100, of_what});
    panel.draw_frame();
    bool is_empty = true;
    for (size_t i = 0; i < histograms.size(); ++i) {
        if (histograms[i].values == 0) continue;
        draw_stairs(canvas, panel, histograms[i], population_colour(i), 100);
        is_empty = false;
    }
    if (is_empty) panel.say(none);
}

std::string describe_run(const PlotData& data) {
    const RecordingHeader& header = data.recording.header;
    return fmt::format("{} spikes in {:.6g} {}, step {} ms, {}{}", grouped_count(data.recording.spikes.size()),
                       data.duration_ms() / time_unit(data).ms, time_unit(data).ms == 1 ? "ms" : "s", header.step_ms,
                       seed_text(header), data.recording.is_finished ? "" : ", run not finished");
}

void draw_dots(Canvas& canvas, const PlotData& data, const RasterSample& sample, const Panel& panel) {
    const double ms = time_unit(data).ms;
    const double row_height = panel.area().height / double(std::max<size_t>(sample.rows.size(), 1));
    const double height = std::clamp(row_height, 0.8, 4.0), width = std::min(1.4, height + 0.4);
    std::vector<Point> dots;
    for (uint32_t population = 0; population < data.trains.size(); ++population) {
        dots.clear();
        for (uint32_t row = sample.first_rows[population]; row < sample.first_rows[population + 1]; ++row)
            for (const uint32_t step : data.trains[population][sample.rows[row].neuron])
                dots.push_back(panel.at(stamp_ms(data.recording.header, step) / ms, row + 0.5));
        canvas.dots(dots, width, height, population_colour(population));
    }
}

// Names beside their bands where there is room, and a line between bands.
void label_bands(Canvas& canvas, const PlotData& data, const RasterSample& sample, const Rectangle& area) {
    const double row_height = area.height / double(std::max<size_t>(sample.rows.size(), 1));
    double previous = -1e9;
    for (size_t population = 0; population < data.trains.size(); ++population) {
        const double top = area.y + sample.first_rows[population] * row_height;
        const double middle =
            area.y + (sample.first_rows[population] + sample.first_rows[population + 1]) * row_height / 2;
        if (population > 0) canvas.line(std::array{Point{area.x, top}, Point{area.x + area.width, top}}, 0.5, kQuiet);
        if (middle - previous < kSmallSize + 1) continue;
        canvas.text(data.statistics[population].name, {area.x - 7, middle + 0.36 * kSmallSize}, kSmallSize, Anchor::end,
                    population_colour(population));
        previous = middle;
    }
}

}  // namespace

std::string grouped_count(uint64_t value) {
    std::string digits = std::to_string(value);
    for (size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
    return digits;
}

double draw_heading(Canvas& canvas, const PlotData& data, double left, double right) {
    std::vector<std::string> texts;
    for (const PopulationStatistics& population : data.statistics) {
        texts.push_back(
            fmt::format("{} ({}): {:.3g} Hz", population.name, grouped_count(population.neurons), population.rate_hz));
        if (population.variation) texts.back() += fmt::format(", CV {:.2f}", *population.variation);
    }
    const std::string& title = data.recording.header.network_name;
    return draw_key(canvas, title.empty() ? "spikes" : title, describe_run(data), texts, left, right);
}

void draw_raster(Canvas& canvas, const PlotData& data, const Rectangle& area) {
    const RasterSample sample = data.choose_rows(uint32_t(area.height), kMostDots);
    const double rows = double(std::max<size_t>(sample.rows.size(), 1));
    const Panel panel(canvas, area, time_axis(data), {rows, 0, ""});  // the first population on top
    label_bands(canvas, data, sample, area);
    draw_dots(canvas, data, sample, panel);
    const double bottom = area.y + area.height;
    canvas.line(std::array{Point{area.x, area.y}, Point{area.x, bottom}, Point{area.x + area.width, bottom}}, 1,
                kQuiet);
    const std::string shown = sample.stride == 1
                                  ? fmt::format("all {} neurons", grouped_count(sample.neurons))
                                  : fmt::format("one neuron in {}: {} of {}", grouped_count(sample.stride),
                                                grouped_count(sample.rows.size()), grouped_count(sample.neurons));
    canvas.text(shown, {area.x + area.width, area.y - 5}, kSmallSize, Anchor::end, kQuiet);
}

void draw_rates_over_time(Canvas& canvas, const PlotData& data, const Rectangle& area) {
    const uint32_t bin = data.bin_steps(uint32_t(area.width / 3));
    const double bin_ms = bin * data.recording.header.step_ms, ms = time_unit(data).ms;
    std::vector<RateCurve> curves;
    double peak = 0;
    for (size_t i = 0; i < data.trains.size(); ++i) {
        curves.push_back(data.rate_curve(i, bin));
        peak = std::max(peak, curves.back().peak_hz);
    }
    Panel panel(canvas, area, time_axis(data), {0, round_up_nicely(peak), "rate (Hz)"});
    panel.draw_frame();
    for (size_t i = 0; i < curves.size(); ++i) {
        std::vector<Point> line;
        for (size_t k = 0; k < curves[i].rates_hz.size(); ++k) {
            const double end_ms = std::min((double(k) + 1) * bin_ms, data.duration_ms());
            line.push_back(panel.at(double(k) * bin_ms / ms, curves[i].rates_hz[k]));
            line.push_back(panel.at(end_ms / ms, curves[i].rates_hz[k]));
        }
        canvas.line(line, 1.1, population_colour(i));
    }
    canvas.text(fmt::format("bins of {:.6g} ms", bin_ms), {area.x + area.width, area.y - 5}, kSmallSize, Anchor::end,
                kQuiet);
}

void draw_mean_rates(Canvas& canvas, const PlotData& data, const Rectangle& area) {
    double largest = 0;
    for (const PopulationStatistics& population : data.statistics) largest = std::max(largest, population.rate_hz);
    const double count = double(std::max<size_t>(data.statistics.size(), 1));
    Panel panel(canvas, area, {0, count, ""}, {0, round_up_nicely(largest * 1.08), "mean rate (Hz)"});
    panel.draw_frame(Panel::Labels::only_y);
    const double slot = area.width / count, bottom = area.y + area.height;
    for (size_t i = 0; i < data.statistics.size(); ++i) {
        const double width = std::min(slot * 0.7, 70.0), middle = area.x + (double(i) + 0.5) * slot;
        const double top = panel.at(0, data.statistics[i].rate_hz).y;
        canvas.fill({middle - width / 2, top, width, bottom - top}, population_colour(i));
        canvas.text(fmt::format("{:.3g}", data.statistics[i].rate_hz), {middle, top - 4}, kSmallSize, Anchor::middle,
                    kInk);
        if (canvas.text_width(data.statistics[i].name, kSmallSize) < slot)
            canvas.text(data.statistics[i].name, {middle, bottom + 16}, kSmallSize, Anchor::middle, kInk);
    }
}

void draw_intervals(Canvas& canvas, const PlotData& data, const Rectangle& area) {
    const auto histograms = data.interval_histograms(60);
    const auto& edges = histograms.empty() ? std::vector<double>{1, 2} : histograms.front().edges;
    // At least one factor of three, so that the axis has numbers.
    const double low = edges.front() * 0.9, high = std::max(edges.back() * 1.1, low * 3);
    draw_histograms(canvas, histograms, area, {low, high, "interval between spikes (ms)", Scale::logarithmic},
                    "share of intervals (%)", "no neuron fired twice");
}

void draw_variations(Canvas& canvas, const PlotData& data, const Rectangle& area) {
    const auto histograms = data.variation_histograms(40);
    const double high = histograms.empty() ? 1 : histograms.front().edges.back();
    draw_histograms(canvas, histograms, area,
                    {0, high, fmt::format("CV of intervals ({} or more)", StatisticsOptions().least_intervals)},
                    "share of neurons (%)", "no neuron fired often enough");
}

}  // namespace riftjit::sim
