#include "tools/bench/bench_plot.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/plots/axes.h"
#include "sim/plots/picture.h"

namespace riftjit::tools {

namespace {

constexpr double kWidth = 820, kHeight = 560, kLeft = 82, kRight = 24, kBelow = 50;

// The model, the test, and of its setup what is not the default.
std::string label_of(const BenchResult& result) {
    const BenchOptions defaults;
    const BenchSetup& setup = result.test.setup;
    std::string text =
        fmt::format("{}: {}", std::filesystem::path(result.model.filename).stem().string(), test_name(result.test));
    if (setup.batch != defaults.batches[0]) text += fmt::format(", -b {}", setup.batch);
    if (setup.ubatch != defaults.ubatches[0]) text += fmt::format(", -ub {}", setup.ubatch);
    if (setup.type_k != defaults.key_types[0]) text += fmt::format(", -ctk {}", name(setup.type_k));
    if (setup.type_v != defaults.value_types[0]) text += fmt::format(", -ctv {}", name(setup.type_v));
    return text;
}

bool is_same_but_for_threads(BenchResult one, const BenchResult& other) {
    one.test.setup.threads = other.test.setup.threads;
    return one.test.setup == other.test.setup && test_name(one.test) == test_name(other.test);
}

// Of all points, with a little room; half a decade at least, so that the axis has numbers.
sim::Axis axis_of(double least, double most, std::string label) {
    const double low = least / 1.15, high = std::max(most * 1.15, low * 3.2);
    return {low, high, std::move(label), sim::Scale::logarithmic};
}

// As many times as there are threads, as far as the panel goes.
void draw_ideal(sim::Canvas& canvas, const sim::Panel& panel, const ThreadLine::Point& from, double most_threads,
                double most_rate, sim::Colour colour) {
    const double factor = std::min(most_threads / from.threads, most_rate / from.rate);
    colour.opacity = 0.6;
    canvas.line(std::array{panel.at(from.threads, from.rate), panel.at(from.threads * factor, from.rate * factor)}, 0.6,
                colour);
}

void draw_line(sim::Canvas& canvas, const sim::Panel& panel, const ThreadLine& line, double least_rate,
               const sim::Colour& colour) {
    std::vector<sim::Point> points;
    for (const auto& [threads, rate, deviation] : line.points) {
        points.push_back(panel.at(threads, rate));
        const double low = std::max(rate - deviation, least_rate);
        canvas.line(std::array{panel.at(threads, low), panel.at(threads, rate + deviation)}, 1, colour);
    }
    canvas.line(points, 1.8, colour);
    canvas.dots(points, 6, 6, colour);
}

}  // namespace

std::vector<ThreadLine> thread_lines(std::span<const BenchResult> results) {
    std::vector<ThreadLine> lines;
    std::vector<const BenchResult*> firsts;
    for (const BenchResult& result : results) {
        const auto found = std::ranges::find_if(
            firsts, [&](const BenchResult* first) { return is_same_but_for_threads(*first, result); });
        const size_t index = found - firsts.begin();
        if (found == firsts.end()) {
            firsts.push_back(&result);
            lines.push_back({label_of(result), {}});
        }
        const Statistics rates = statistics(result.tokens_per_second());
        lines[index].points.push_back({result.test.setup.threads, rates.mean, rates.deviation});
    }
    for (ThreadLine& line : lines) std::ranges::stable_sort(line.points, {}, &ThreadLine::Point::threads);
    return lines;
}

Result<void> write_thread_plot(const std::string& path, std::span<const BenchResult> results) {
    const std::vector<ThreadLine> lines = thread_lines(results);
    if (lines.empty()) return fail(ErrorKind::Usage, "--plot: {}: there is no test to draw", path);
    std::vector<std::string> labels;
    double least_rate = lines[0].points[0].rate, most_rate = least_rate;
    uint32_t least_threads = lines[0].points[0].threads, most_threads = least_threads;
    for (const ThreadLine& line : lines) {
        labels.push_back(line.label);
        least_threads = std::min(least_threads, line.points.front().threads);
        most_threads = std::max(most_threads, line.points.back().threads);
        for (const auto& [threads, rate, deviation] : line.points) {
            least_rate = std::min(least_rate, std::max(rate - deviation, rate / 2));
            most_rate = std::max(most_rate, rate + deviation);
        }
    }
    const auto draw = [&](sim::Canvas& canvas) {
        const BenchResult& any = results.front();
        const double top =
            sim::draw_key(canvas, "Speed over threads", fmt::format("{}, level {}", any.processor, any.isa), labels,
                          kLeft / 2, kWidth - kRight);
        const sim::Axis x = axis_of(least_threads, most_threads, "threads"),
                        y = axis_of(least_rate, most_rate, "tokens per second");
        sim::Panel panel(canvas, {kLeft, top, kWidth - kLeft - kRight, kHeight - top - kBelow}, x, y);
        panel.draw_frame();
        for (size_t i = 0; i < lines.size(); ++i)
            draw_ideal(canvas, panel, lines[i].points.front(), x.high, y.high, sim::population_colour(i));
        for (size_t i = 0; i < lines.size(); ++i) draw_line(canvas, panel, lines[i], y.low, sim::population_colour(i));
    };
    return sim::write_picture(path, kWidth, kHeight, sim::Existing::replace, draw);
}

}  // namespace riftjit::tools
