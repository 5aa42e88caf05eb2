#include "sim/plots/plots.h"

#include <algorithm>
#include <filesystem>

#include "sim/plots/panels.h"

namespace riftjit::sim {

namespace {

constexpr std::string_view kPlotNames[] = {"raster", "rate", "isi", "summary"};
constexpr double kLeft = 82, kRight = 24;  // margins

struct Size {
    double width, height;
};
Size size_of(PlotKind kind) {
    switch (kind) {
        case PlotKind::raster:
            return {1000, 680};
        case PlotKind::rate:
            return {720, 440};
        case PlotKind::isi:
            return {1000, 440};
        case PlotKind::summary:
            return {1000, 940};
    }
    check(false, "a kind of plot");
    return {};
}

void draw_raster_and_rates(Canvas& canvas, const PlotData& data, double top, double bottom) {
    constexpr double kBetween = 30, kShareOfRaster = 0.72, kBelow = 44;
    const double width = size_of(PlotKind::raster).width - kLeft - kRight;
    const double height = bottom - top - kBelow - kBetween;
    draw_raster(canvas, data, {kLeft, top, width, height * kShareOfRaster});
    draw_rates_over_time(canvas, data,
                         {kLeft, top + height * kShareOfRaster + kBetween, width, height * (1 - kShareOfRaster)});
}

using DrawPanel = void (*)(Canvas&, const PlotData&, const Rectangle&);

// Panels side by side.
void draw_row(Canvas& canvas, const PlotData& data, double figure_width, double top, double bottom,
              std::span<const DrawPanel> panels) {
    const double slot = (figure_width - kRight) / double(panels.size());
    for (size_t i = 0; i < panels.size(); ++i)
        panels[i](canvas, data, {double(i) * slot + kLeft, top, slot - kLeft, bottom - top - 44});
}

void draw_figure(Canvas& canvas, PlotKind kind, const PlotData& data) {
    const Size size = size_of(kind);
    const double top = draw_heading(canvas, data, kLeft / 2, size.width - kRight) + 8;
    constexpr DrawPanel kIntervals[] = {draw_intervals, draw_variations};
    constexpr DrawPanel kThree[] = {draw_mean_rates, draw_intervals, draw_variations};
    constexpr DrawPanel kRate[] = {draw_mean_rates};
    constexpr double kShareOfTop = 0.68;
    const double divide = top + (size.height - top) * kShareOfTop;
    switch (kind) {
        case PlotKind::raster:
            return draw_raster_and_rates(canvas, data, top, size.height - 6);
        case PlotKind::rate:
            return draw_row(canvas, data, size.width, top, size.height, kRate);
        case PlotKind::isi:
            return draw_row(canvas, data, size.width, top, size.height - 6, kIntervals);
        case PlotKind::summary:
            draw_raster_and_rates(canvas, data, top, divide);
            return draw_row(canvas, data, size.width, divide + 26, size.height - 6, kThree);
    }
}

}  // namespace

std::string_view name(PlotKind kind) { return kPlotNames[size_t(kind)]; }

std::optional<PlotKind> plot_kind_from_name(std::string_view name) {
    const auto found = std::ranges::find(kPlotNames, name);
    if (found == std::end(kPlotNames)) return std::nullopt;
    return PlotKind(found - std::begin(kPlotNames));
}

PlotKind plot_kind_of_path(const std::string& path) {
    const std::string stem = std::filesystem::path(path).stem().string();
    for (const std::string_view kind : kPlotNames)
        if (stem.ends_with(kind)) return *plot_kind_from_name(kind);
    return PlotKind::summary;
}

Result<void> write_plot(const std::string& path, PlotKind kind, const Recording& recording, Existing existing) {
    const Size size = size_of(kind);
    return write_picture(path, size.width, size.height, existing,
                         [&](Canvas& canvas) { draw_figure(canvas, kind, PlotData(recording)); });
}

}  // namespace riftjit::sim
