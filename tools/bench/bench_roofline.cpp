#include "tools/bench/bench_roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "runtime/cpu/peaks.h"
#include "sim/plots/axes.h"
#include "sim/plots/picture.h"
#include "tools/bench/bench_peaks.h"

namespace riftjit::tools {

namespace {

constexpr double kNamedShare = 0.03;

// The name of those that bound some kernel: byte dot products outside tiles do not.
std::string_view roof_name(x86::Peak peak) {
    switch (peak) {
        case x86::Peak::f32_fma:
            return "f32 FMA";
        case x86::Peak::bf16_dot:
            return "bf16 dot";
        case x86::Peak::i16_dot:
            return "i16 dot";
        case x86::Peak::bf16_tile:
            return "bf16 tile";
        case x86::Peak::i8_tile:
            return "i8 tile";
        case x86::Peak::read:
        case x86::Peak::i8_dot:
            break;
    }
    return "";
}

// Such a kernel has a place in the picture: what moves data and computes nothing has none.
bool is_drawn(const KernelWork& kernel) { return kernel.operations > 0 && kernel.bytes > 0 && kernel.seconds > 0; }
double intensity(const KernelWork& kernel) { return kernel.operations / kernel.bytes; }
double rate(const KernelWork& kernel) { return 1e-9 * kernel.operations / kernel.seconds; }

// "matmul q8_0 768x256 20 %": the plan's colour says the form.
std::string kernel_label(const KernelWork& kernel) {
    return fmt::format("{} {:.0f} %", kernel.op.substr(0, kernel.op.find(',')), 100 * kernel.share);
}

std::string plan_label(const BenchResult& result, const PlanWork& plan) {
    double drawn = 0;
    for (const KernelWork& kernel : plan.kernels)
        if (is_drawn(kernel)) drawn += kernel.share;
    return fmt::format("{}, {} plan: {:.1f} % of the time drawn", test_name(result.test),
                       plan.is_decode ? "decode" : "prompt", 100 * drawn);
}

struct Range {
    double low = INFINITY, high = 0;
    void include(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

class RooflinePicture {
public:
    static constexpr double kWidth = 900, kHeight = 620;

    RooflinePicture(sim::Canvas& canvas, const Roofs& roofs, std::span<const BenchResult> results)
        : canvas_(canvas),
          roofs_(roofs),
          results_(results),
          top_(draw_legend()),
          x_(x_axis()),
          y_(y_axis()),
          panel_(canvas, {kLeft, top_, kWidth - kLeft - kRight, kHeight - top_ - kBelow}, x_, y_) {}

    void draw() {
        panel_.draw_frame();
        draw_reads();
        for (const Roof& roof : roofs_.arithmetic) draw_roof(roof);
        for (const Roof& roof : roofs_.arithmetic) draw_roof_name(roof);
        struct Named {
            const KernelWork* kernel;
            size_t plan;
        };
        std::vector<Named> named;
        for_each_kernel([&](const KernelWork& kernel, size_t plan) {
            const double side = std::max(3.0, 34 * std::sqrt(kernel.share));
            sim::Colour colour = sim::population_colour(plan);
            colour.opacity = 0.7;
            const sim::Point at = place(kernel);
            canvas_.dots(std::array{at}, side, side, colour);
            taken_.push_back({at.x - side / 2, at.y - side / 2, side, side});
            if (kernel.share >= kNamedShare) named.push_back({&kernel, plan});
        });
        std::ranges::stable_sort(named, std::greater(), [](const Named& one) { return one.kernel->share; });
        for (const auto& [kernel, plan] : named) draw_name(*kernel, sim::population_colour(plan));
    }

private:
    static constexpr double kLeft = 92, kRight = 24, kBelow = 50, kTextSize = 10;

    void for_each_kernel(auto&& visit) const {
        size_t index = 0;
        for (const BenchResult& result : results_)
            for (const PlanWork& plan : result.work) {
                for (const KernelWork& kernel : plan.kernels)
                    if (is_drawn(kernel)) visit(kernel, index);
                ++index;
            }
    }

    double draw_legend() const {
        std::vector<std::string> labels;
        for (const BenchResult& result : results_)
            for (const PlanWork& plan : result.work) labels.push_back(plan_label(result, plan));
        const BenchResult& any = results_.front();
        return sim::draw_key(canvas_,
                             fmt::format("Roofline: {}", std::filesystem::path(any.model.filename).stem().string()),
                             fmt::format("{}, level {}, {} thread{}", any.processor, any.isa, any.test.setup.threads,
                                         any.test.setup.threads == 1 ? "" : "s"),
                             labels, kLeft / 2, kWidth - kRight);
    }

    // Where the roofs meet the reads is in the picture, with room to their right for names.
    sim::Axis x_axis() const {
        Range range;
        for (const Roof& roof : roofs_.arithmetic) range.include(roof.rate / roofs_.read);
        for_each_kernel([&](const KernelWork& kernel, size_t) { range.include(intensity(kernel)); });
        return {range.low / 3, range.high * 4, "operations per byte read", sim::Scale::logarithmic};
    }
    sim::Axis y_axis() const {
        Range range;
        for (const Roof& roof : roofs_.arithmetic) range.include(roof.rate);
        for_each_kernel([&](const KernelWork& kernel, size_t) { range.include(rate(kernel)); });
        return {range.low / 2, range.high * 2, "10^9 operations per second", sim::Scale::logarithmic};
    }

    sim::Point place(const KernelWork& kernel) const { return panel_.at(intensity(kernel), rate(kernel)); }

    void text(const std::string& text, const sim::Point& at, const sim::Colour& colour) {
        canvas_.text(text, at, kTextSize, sim::Anchor::start, colour);
        taken_.push_back(box_of(text, at));
    }
    sim::Rectangle box_of(const std::string& text, const sim::Point& at) const {
        return {at.x, at.y - kTextSize, canvas_.text_width(text, kTextSize), kTextSize + 2};
    }

    // Its name lies left of the line, where no kernel that reads memory can be.
    void draw_reads() {
        const double highest = roofs_.arithmetic.empty() ? y_.high : roofs_.arithmetic.back().rate;
        const double from = std::max(x_.low, y_.low / roofs_.read), to = std::min(x_.high, highest / roofs_.read);
        if (from >= to) return;
        const sim::Point start = panel_.at(from, from * roofs_.read), end = panel_.at(to, to * roofs_.read);
        canvas_.line(std::array{start, end}, 1.4, sim::kInk);
        const double width = canvas_.text_width(roofs_.read_label, kTextSize);
        const double right = std::max((start.x + end.x) / 2, panel_.area().x + width + 12);
        const double fraction = std::min(1.0, (right - start.x) / (end.x - start.x));
        text(roofs_.read_label, {right - width - 8, start.y + fraction * (end.y - start.y)}, sim::kInk);
        constexpr int kPieces = 100;
        for (int i = 0; i <= kPieces; ++i)
            taken_.push_back(
                {start.x + i * (end.x - start.x) / kPieces, start.y + i * (end.y - start.y) / kPieces, 1, 1});
    }

    void draw_roof(const Roof& roof) {
        const sim::Point start = panel_.at(std::clamp(roof.rate / roofs_.read, x_.low, x_.high), roof.rate),
                         end = panel_.at(x_.high, roof.rate);
        canvas_.line(std::array{start, end}, 1.4, sim::kInk);
        taken_.push_back({start.x, start.y - 1, end.x - start.x, 2});
    }
    // Above its line, or below it where another is close.
    void draw_roof_name(const Roof& roof) {
        const sim::Point end = panel_.at(x_.high, roof.rate);
        const double x = end.x - canvas_.text_width(roof.label, kTextSize);
        for (double away = 0; away < panel_.area().height; away += 2)
            for (const double y : {end.y - 4 - away, end.y + kTextSize + 3 + away})
                if (!is_taken(box_of(roof.label, {x, y}))) return text(roof.label, {x, y}, sim::kInk);
    }

    bool is_taken(const sim::Rectangle& box) const {
        return std::ranges::any_of(taken_, [&](const sim::Rectangle& other) {
            return box.x < other.x + other.width && other.x < box.x + box.width && box.y < other.y + other.height &&
                   other.y < box.y + box.height;
        });
    }

    // Beside the square, or as near as there is room, with a line to it.
    void draw_name(const KernelWork& kernel, const sim::Colour& colour) {
        const std::string name = kernel_label(kernel);
        const double width = canvas_.text_width(name, kTextSize), gap = 17 * std::sqrt(kernel.share) + 6;
        const sim::Rectangle& area = panel_.area();
        const sim::Point from = place(kernel);
        const auto fits = [&](const sim::Point& at) {
            const sim::Rectangle box = box_of(name, at);
            return box.x > area.x && box.x + box.width < area.x + area.width && box.y > area.y &&
                   box.y + box.height < area.y + area.height && !is_taken(box);
        };
        for (double away = 0; away < area.height; away += 4)
            for (const double down : {away, -away})
                for (const double x : {from.x + gap + away / 4, from.x - gap - away / 4 - width}) {
                    const sim::Point at{x, from.y + down + kTextSize / 3};
                    if (!fits(at)) continue;
                    if (away > 0) {
                        const sim::Point to{x > from.x ? x - 2 : x + width + 2, at.y - kTextSize / 3};
                        sim::Colour thin = colour;
                        thin.opacity = 0.6;
                        canvas_.line(std::array{from, to}, 0.6, thin);
                    }
                    return text(name, at, colour);
                }
        text(name, {from.x + gap, from.y}, colour);  // over others rather than not at all
    }

    sim::Canvas& canvas_;
    const Roofs& roofs_;
    std::span<const BenchResult> results_;
    double top_;
    sim::Axis x_, y_;
    sim::Panel panel_;
    std::vector<sim::Rectangle> taken_;  // by squares, texts and roofs
};

}  // namespace

Roofs roofs_of(const nlohmann::ordered_json& peaks) {
    Roofs roofs{};
    for (const x86::Peak peak : runtime::kPeaks) {
        const auto rate = rate_of_all_threads(peaks, peak);
        if (!rate) continue;
        if (peak == x86::Peak::read) {
            roofs.read = *rate;
            roofs.read_label = fmt::format("memory {:.1f} GB/s", *rate);
        } else if (const std::string_view name = roof_name(peak); !name.empty()) {
            roofs.arithmetic.push_back({fmt::format("{} {:.0f} GOP/s", name, *rate), *rate});
        }
    }
    std::ranges::stable_sort(roofs.arithmetic, {}, &Roof::rate);
    return roofs;
}

Result<void> write_roofline(const std::string& path, const Roofs& roofs, std::span<const BenchResult> results) {
    const bool has_kernel = std::ranges::any_of(results, [](const BenchResult& result) {
        return std::ranges::any_of(result.work,
                                   [](const PlanWork& plan) { return std::ranges::any_of(plan.kernels, is_drawn); });
    });
    if (!has_kernel) return fail(ErrorKind::Usage, "--roofline: {}: there is no kernel to draw", path);
    return sim::write_picture(path, RooflinePicture::kWidth, RooflinePicture::kHeight, sim::Existing::replace,
                              [&](sim::Canvas& canvas) { RooflinePicture(canvas, roofs, results).draw(); });
}

}  // namespace riftjit::tools
